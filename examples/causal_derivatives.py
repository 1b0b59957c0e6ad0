"""Causal derivatives beside the methods of PyNumDiff, on PyNumDiff's own simulated signals.

Online, a derivative at time t may use samples up to t alone. PyNumDiff's methods are made for whole recordings, so each
is run on the samples up to t and its last value taken. Their settings are tuned *in hindsight*, knowing the true
derivative: once for every signal and noise level by itself, and once to the best single setting for all of them, which
is what somebody could use who does not know the truth. Ours has no settings. Takes about a minute.

    python examples/causal_derivatives.py causal_derivatives.json
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from prophecy.adapters.pynumdiff import prophecydiff

DT, NOISE, START = 0.01, (0.001, 0.01, 0.1), 200
Method = Callable[[np.ndarray], np.ndarray]


def signals(noise: float) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, noisy samples and true derivative of each signal of `pynumdiff.utils.simulate` made of one variable."""
    from pynumdiff.utils import simulate

    for name in ("sine", "triangle", "pop_dyn", "linear_autonomous", "pi_cruise_control", "lorenz_x"):
        noisy, _, slope = getattr(simulate, name)(4, dt=DT, noise_type="normal", noise_parameters=(0, noise))
        yield name, np.ravel(noisy), np.ravel(slope)


def rivals() -> dict[str, list[Method]]:
    """Methods with all the settings they are tuned over."""
    import pynumdiff as pnd

    return {
        "finite difference": [lambda x: pnd.finitediff(x, DT, order=2)[1]],
        "Savitzky–Golay": [
            lambda x, d=d, w=w: pnd.savgoldiff(x, DT, degree=d, window_size=w, smoothing_win=1)[1]
            for d in (1, 2, 3)
            for w in (7, 15, 31, 61, 121)
        ],
        "sliding polynomial": [
            lambda x, d=d, w=w: pnd.polydiff(x[-3 * w :], DT, degree=d, window_size=w)[1]
            for d in (2, 4)
            for w in (11, 31, 81)
        ],
        "Kalman": [
            lambda x, o=o, q=q: pnd.rtsdiff(x, DT, order=o, log_qr_ratio=q, forwardbackward=False)[1]
            for o in (1, 2, 3)
            for q in range(2, 15, 2)
        ],
    }


def online(method: Method, x: np.ndarray, places: range) -> np.ndarray:
    """The method's last value, with no more than the samples up to each place."""
    return np.array([np.ravel(method(x[: k + 1]))[-1] for k in places])


def rms(error: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(error))))


def compare(noise: float, every: int) -> list[dict[str, object]]:
    """One row per signal: our error, and those of each rival with each of its settings."""
    rows: list[dict[str, object]] = []
    for name, x, slope in signals(noise):
        places = range(START, len(x), every)
        row: dict[str, object] = {
            "signal": name,
            "noise": noise,
            "ours": rms(prophecydiff(x, DT)[1][places] - slope[places]),
        }
        for rival, settings in rivals().items():
            row[rival] = [rms(online(method, x, places) - slope[places]) for method in settings]
        rows.append(row)
    return rows


def table(rows: list[dict[str, object]]) -> str:
    """Markdown: errors with settings tuned per row, and below how much larger than ours they are over all rows."""
    names = [name for name in rows[0] if name not in ("signal", "noise", "ours")]
    lines = ["| signal | noise | ours, no settings | " + " | ".join(f"{name}, tuned" for name in names) + " |"]
    lines.append("|" + "---|" * (3 + len(names)))
    errors = {name: np.array([row[name] for row in rows]) for name in names}
    ours = np.array([row["ours"] for row in rows])
    for k, row in enumerate(rows):
        cells = [ours[k], *(errors[name][k].min() for name in names)]
        marked = [f"**{cell:.3g}**" if cell == min(cells) else f"{cell:.3g}" for cell in cells]
        lines.append(f"| {row['signal']} | {row['noise']} | " + " | ".join(marked) + " |")
    tuned = [_mean_ratio(errors[name].min(axis=1), ours) for name in names]
    single = [min(_mean_ratio(column, ours) for column in errors[name].T) for name in names]
    lines.append("| *all, relative to ours* | | 1 | " + " | ".join(f"{ratio:.2f}" for ratio in tuned) + " |")
    lines.append("| *all, one setting for all* | | 1 | " + " | ".join(f"{ratio:.2f}" for ratio in single) + " |")
    return "\n".join(lines)


def _mean_ratio(errors: np.ndarray, ours: np.ndarray) -> float:
    return float(np.exp(np.mean(np.log(errors / ours))))


def main(path: Path, every: int = 20) -> list[dict[str, object]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [row for noise in NOISE for row in compare(noise, every)]
    path.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))
    return rows


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "causal_derivatives.json"))
