"""Labelled anomalies, by the published rule of the Numenta Anomaly Benchmark.

On the development files (38 of NAB's 58; benchmarks.nab_data makes FOLDER from the public ones), in the standard
profile: with the threshold chosen on every other file and scored on the rest (both ways, averaged), the same for ten
random halves (mean and standard deviation over the twenty scores), and with the best threshold for all files, as NAB's
own table has it.

The rule, written from its description (Lavin and Ahmad, "Evaluating Real-time Anomaly Detection Algorithms", 2015): a
labelled window is worth 1 if it is hit at its very beginning, less the later it is hit (a sigmoid over the window), and
-1 if it is missed. A detection outside costs 0.11, less shortly after a window. The first 15 % of a file (at most 750
rows) are not scored. Detecting nothing is 0 on the scale of the total, and everything at once 100.
"""

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
from benchmarks.harness import Array, Measurement, Options, Result, option

Windows = list[tuple[int, int]]  # first and last row of each, in order
SPLITS, SEED = 10, 5
FALSE = 0.11
PROBATION, LONGEST_PROBATION = 0.15, 750


def sigmoid(position: Array) -> Array:
    """2/(1 + exp(5 y)) - 1: near 1 at y = -1, the left edge of a window, 0 at y = 0, its end, near -1 beyond."""
    return 2.0 / (1.0 + np.exp(5.0 * np.minimum(position, 100.0))) - 1.0


def weights(rows: int, windows: Windows) -> tuple[Array, NDArray[np.int64]]:
    """What a detection at each row is worth (the best in its window counts; outside, each), and its window or -1."""
    worth, inside = np.full(rows, -FALSE), np.full(rows, -1)
    for i, (first, last) in enumerate(windows):
        place, width = np.arange(first, last + 1), last - first + 1
        worth[place] = sigmoid(-(last - place + 1.0) / width) / sigmoid(np.array(-1.0))
        inside[place] = i
        after = np.arange(last + 1, windows[i + 1][0] if i + 1 < len(windows) else rows)
        position = (after - last) / max(width - 1.0, 1.0)
        worth[after] = FALSE * np.where(position > 3.0, -1.0, sigmoid(position))
    return worth, inside


def curve(scores: list[Array], windows: list[Windows]) -> tuple[Array, Array]:
    """Thresholds in falling order, and the total over all files when rows at or above each are detections."""
    rows: list[tuple[Array, Array, NDArray[np.int64]]] = []
    total = 0
    for score, some in zip(scores, windows, strict=True):
        worth, inside = weights(len(score), some)
        start = min(int(PROBATION * len(score)), LONGEST_PROBATION)
        rows.append((score[start:], worth[start:], np.where(inside[start:] >= 0, inside[start:] + total, -1)))
        total += len(some)
    score, worth, window = (np.concatenate(part) for part in zip(*rows, strict=True))
    order = np.argsort(-score, kind="stable")
    score, worth, window = score[order], worth[order], window[order]
    gain = np.where(window < 0, worth, 0.0)
    best = np.full(total, -1.0)  # of each window so far: missed
    for k in np.flatnonzero(window >= 0):
        gain[k] = max(worth[k] - best[window[k]], 0.0)
        best[window[k]] = max(best[window[k]], worth[k])
    last = np.append(score[1:] != score[:-1], True)
    return score[last], 50.0 * np.cumsum(gain)[last] / total


def optimal(scores: list[Array], windows: list[Windows]) -> tuple[float, float]:
    """The threshold with the largest total, and that total; nothing detected counts 0."""
    thresholds, totals = curve(scores, windows)
    best = int(np.argmax(totals))
    return (float(thresholds[best]), float(totals[best])) if totals[best] > 0.0 else (np.inf, 0.0)


def at(threshold: float, scores: list[Array], windows: list[Windows]) -> float:
    thresholds, totals = curve(scores, windows)
    below = np.flatnonzero(thresholds >= threshold)
    return float(totals[below[-1]]) if len(below) else 0.0


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


def alarm(values: Array) -> Array:
    """What `Prophecy` reports, as -log10 of its false-alarm rate: more digits than 1 - rate shows."""
    reported = np.nan_to_num(prophecy.Prophecy().follow(values).alarm)
    return np.asarray(-np.log10(np.maximum(1.0 - reported, 1e-16)))


METHODS: dict[str, Callable[[Array], Array]] = {
    "prophecy, alarm": alarm,
    "prophecy, raw surprise": lambda values: np.nan_to_num(prophecy.Prophecy().follow(values).score),
    "windowed Gaussian": windowed_gaussian,
    "rolling median": rolling_median,
}


def files(folder: Path) -> dict[str, tuple[Array, Windows]]:
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


def crossed(scores: list[Array], windows: list[Windows], halves: Any) -> list[float]:
    """The score of each half with the threshold that is best for the other."""
    found = []
    for train, test in (halves, halves[::-1]):
        threshold, _ = optimal([scores[i] for i in train], [windows[i] for i in train])
        found.append(at(threshold, [scores[i] for i in test], [windows[i] for i in test]))
    return found


def measured(options: Options) -> Result:
    if not (options.data / "nab_dev.npz").is_file():
        options.refuse(f"{options.data} has no nab_dev.npz: python -m benchmarks.nab_data NAB FOLDER makes it")
    known = files(options.data)
    windows = [labels for _, labels in known.values()]
    halves = [list(range(first, len(known), 2)) for first in (0, 1)]
    rng = np.random.default_rng(SEED)
    random = [np.array_split(rng.permutation(len(known)), 2) for _ in range(SPLITS)]
    out: Result = {"files": len(known), "windows": sum(len(labels) for labels in windows)}
    for method, score in METHODS.items():
        scores = [score(values) for values, _ in known.values()]
        chosen = crossed(scores, windows, halves)
        several = [score for pair in random for score in crossed(scores, windows, pair)]
        best, total = optimal(scores, windows)
        spread = {"mean": float(np.mean(several)), "standard deviation": float(np.std(several))}
        out[method] = {"threshold from the other half": float(np.mean(chosen)), "halves": chosen}
        out[method] |= {"ten random halves": spread, "best threshold for all": total, "that threshold": best}
    return out


FOLDER = option("--data", type=Path, required=True, metavar="FOLDER", help="what nab_data.py made")
BENCHMARK = Measurement(__doc__, measured, (FOLDER,))
