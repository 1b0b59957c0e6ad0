"""Labelled anomalies, by NAB's published rule: `python -m benchmarks.nab --data FOLDER`.

Compares `Prophecy.follow(...).alarm` with its own raw surprise, a windowed Gaussian and a rolling median, each
causal, on the development files (38 of NAB's 58). Reported are the standard profile with the threshold chosen on
every other file and scored on the rest (both ways, averaged), the same for ten random halves (mean and standard
deviation over the twenty scores: one split alone moves by several points), and with the best threshold for all files,
as NAB's own table has it. FOLDER is what benchmarks.nab_data makes from the public files, which nothing that is
shipped needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import log_ndtr

import prophecy
from benchmarks import nab_score
from benchmarks.harness import Options, option, single

Array = NDArray[np.float64]
SPLITS, SEED = 10, 5


def windowed_gaussian(values: Array, window: int = 6400) -> Array:
    """-log of the normal tail of each value among the `window` before it."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    squares = np.concatenate([[0.0], np.cumsum(values * values)])
    k = np.arange(1, len(values))
    first = np.maximum(k - window, 0)
    mean = (sums[k] - sums[first]) / (k - first)
    spread = np.sqrt(np.maximum((squares[k] - squares[first]) / (k - first) - mean * mean, 1e-12))
    return np.concatenate([[0.0], -log_ndtr(-np.abs(values[1:] - mean) / spread)])


def rolling_median(values: Array, window: int = 100) -> Array:
    """Distance from the median of the `window` values before, over its mean so far."""
    before = np.concatenate([np.full(window, values[0]), values])[:-1]
    distance = np.abs(values - np.median(sliding_window_view(before, window), axis=1))
    usual = np.cumsum(distance) / np.arange(1, len(values) + 1)
    return np.asarray(distance / np.maximum(usual, 1e-12))


def surprise(values: Array) -> Array:
    """The surprise of every value, without anything else."""
    return np.nan_to_num(prophecy.Prophecy().follow(values).score)


def alarm(values: Array) -> Array:
    """What `Prophecy` reports, as -log10 of its false-alarm rate: more digits than 1 - rate shows."""
    reported = np.nan_to_num(prophecy.Prophecy().follow(values).alarm)
    return np.asarray(-np.log10(np.maximum(1.0 - reported, 1e-16)))


METHODS: dict[str, Callable[[Array], Array]] = {
    "prophecy, alarm": alarm,
    "prophecy, raw surprise": surprise,
    "windowed Gaussian": windowed_gaussian,
    "rolling median": rolling_median,
}


def files(folder: Path) -> dict[str, tuple[Array, list[tuple[int, int]]]]:
    """Name → values and labelled windows as first and last row."""
    data = np.load(folder / "nab_dev.npz")
    labels = json.loads((folder / "nab_dev_windows.json").read_text())
    found = {}
    for name in sorted(labels):
        times, windows = data[f"{name}/time"], []
        for pair in labels[name]:
            begin, end = (datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp() for moment in pair)
            rows = np.flatnonzero((times >= begin) & (times <= end))
            windows.append((int(rows[0]), int(rows[-1])))
        found[name] = (data[f"{name}/value"].astype(np.float64), windows)
    return found


def crossed(scores: list[Array], windows: list[list[tuple[int, int]]], halves: Any) -> list[float]:
    """The score of each half with the threshold that is best for the other."""
    found = []
    for train, test in (halves, halves[::-1]):
        threshold, _ = nab_score.optimal([scores[i] for i in train], [windows[i] for i in train])
        found.append(nab_score.at(threshold, [scores[i] for i in test], [windows[i] for i in test]))
    return found


def measured(options: Options) -> dict[str, Any]:
    if not (options.data / "nab_dev.npz").is_file():
        options.refuse(f"{options.data} has no nab_dev.npz: python -m benchmarks.nab_data NAB FOLDER makes it")
    known = files(options.data)
    windows = [labels for _, labels in known.values()]
    halves = [list(range(first, len(known), 2)) for first in (0, 1)]
    rng = np.random.default_rng(SEED)
    random = [np.array_split(rng.permutation(len(known)), 2) for _ in range(SPLITS)]
    out: dict[str, Any] = {"files": len(known), "windows": sum(len(labels) for labels in windows)}
    for method, score in METHODS.items():
        scores = [score(values) for values, _ in known.values()]
        chosen = crossed(scores, windows, halves)
        several = [score for pair in random for score in crossed(scores, windows, pair)]
        best, total = nab_score.optimal(scores, windows)
        out[method] = {
            "threshold from the other half": float(np.mean(chosen)),
            "halves": chosen,
            "ten random halves": {"mean": float(np.mean(several)), "standard deviation": float(np.std(several))},
            "best threshold for all": total,
            "that threshold": best,
        }
        more = f"ten random halves {np.mean(several):.1f}, best threshold for all {total:.1f}"
        print(f"{method:24s} {np.mean(chosen):6.1f} ({more})", flush=True)
    return out


if __name__ == "__main__":
    folder = option("--data", type=Path, required=True, metavar="FOLDER", help="what nab_data.py made")
    single(__doc__, measured, folder)
