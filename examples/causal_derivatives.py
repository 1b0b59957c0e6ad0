"""Causal derivatives beside the methods of PyNumDiff, on PyNumDiff's own simulated signals.

Online, a derivative at time t may use samples up to t alone. PyNumDiff's methods are made for whole recordings, so each
is run on the samples up to t and its last value taken, and its settings are tuned *in hindsight* for every signal and
noise level, knowing the true derivative. Ours has no settings. Takes about a minute.

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
    """One row per signal: the error of each method, the tuned ones at their best."""
    rows: list[dict[str, object]] = []
    for name, x, slope in signals(noise):
        places = range(START, len(x), every)
        errors = {"ours, no settings": rms(prophecydiff(x, DT)[1][places] - slope[places])}
        for rival, settings in rivals().items():
            errors[rival] = min(rms(online(method, x, places) - slope[places]) for method in settings)
        rows.append({"signal": name, "noise": noise, **errors})
    return rows


def table(rows: list[dict[str, object]]) -> str:
    """Markdown."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows:
        best = min(value for value in list(row.values())[2:] if isinstance(value, float))
        cells = [f"**{v:.3g}**" if v == best else f"{v:.3g}" for v in list(row.values())[2:]]
        lines.append(f"| {row['signal']} | {row['noise']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(path: Path, every: int = 20) -> list[dict[str, object]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [row for noise in NOISE for row in compare(noise, every)]
    path.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))
    return rows


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "causal_derivatives.json"))
