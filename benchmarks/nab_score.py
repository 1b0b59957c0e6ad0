"""The published scoring rule of the Numenta Anomaly Benchmark (standard profile), written from its description.

A labelled window is worth 1 if it is hit at its very beginning, less the later it is hit (a sigmoid over the window),
and -1 if it is missed. A detection outside costs 0.11, less shortly after a window. The first 15 % of a file (at most
750 rows) are for learning and not scored. The total is put on a scale on which detecting nothing is 0 and everything at
once 100 (Lavin and Ahmad, "Evaluating Real-time Anomaly Detection Algorithms", 2015).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TRUE_POSITIVE, FALSE_POSITIVE, FALSE_NEGATIVE = 1.0, 0.11, 1.0
PROBATION, LONGEST_PROBATION = 0.15, 750


def sigmoid(position: Array) -> Array:
    """2/(1 + exp(5 y)) - 1: near 1 at y = -1, the left edge of a window, 0 at y = 0, its end, near -1 beyond."""
    return 2.0 / (1.0 + np.exp(5.0 * np.minimum(position, 100.0))) - 1.0


def probation(rows: int) -> int:
    """Rows at the beginning of a file that are not scored."""
    return min(int(PROBATION * rows), LONGEST_PROBATION)


def weights(rows: int, windows: list[tuple[int, int]]) -> tuple[Array, NDArray[np.int64]]:
    """What a detection at each row is worth (the best in its window counts; outside, each), and its window or -1.

    windows: first and last row of each, in order.
    """
    worth = np.full(rows, -FALSE_POSITIVE)
    inside = np.full(rows, -1)
    for i, (first, last) in enumerate(windows):
        place = np.arange(first, last + 1)
        width = last - first + 1
        worth[place] = TRUE_POSITIVE * sigmoid(-(last - place + 1.0) / width) / sigmoid(np.array(-1.0))
        inside[place] = i
        end = windows[i + 1][0] if i + 1 < len(windows) else rows
        after = np.arange(last + 1, end)
        position = (after - last) / max(width - 1.0, 1.0)
        worth[after] = FALSE_POSITIVE * np.where(position > 3.0, -1.0, sigmoid(position))
    return worth, inside


def curve(scores: list[Array], windows: list[list[tuple[int, int]]]) -> tuple[Array, Array]:
    """Thresholds in falling order, and the normalised total over all files when rows at or above each are
    detections."""
    rows: list[tuple[Array, Array, NDArray[np.int64]]] = []
    total = 0
    for score, some in zip(scores, windows, strict=True):
        worth, inside = weights(len(score), some)
        start = probation(len(score))
        rows.append((score[start:], worth[start:], np.where(inside[start:] >= 0, inside[start:] + total, -1)))
        total += len(some)
    score, worth, window = (np.concatenate(part) for part in zip(*rows, strict=True))
    order = np.argsort(-score, kind="stable")
    score, worth, window = score[order], worth[order], window[order]
    gain = np.where(window < 0, worth, 0.0)
    best = np.zeros(total)
    hit = np.zeros(total, dtype=bool)
    for k in np.flatnonzero(window >= 0):
        i = window[k]
        if not hit[i]:
            gain[k] = worth[k] + FALSE_NEGATIVE
            hit[i], best[i] = True, worth[k]
        elif worth[k] > best[i]:
            gain[k] = worth[k] - best[i]
            best[i] = worth[k]
    raw = -FALSE_NEGATIVE * total + np.cumsum(gain)
    last = np.append(score[1:] != score[:-1], True)
    perfect, nothing = TRUE_POSITIVE * total, -FALSE_NEGATIVE * total
    return score[last], 100.0 * (raw[last] - nothing) / (perfect - nothing)


def optimal(scores: list[Array], windows: list[list[tuple[int, int]]]) -> tuple[float, float]:
    """The threshold with the largest total, and that total; nothing detected counts 0."""
    thresholds, totals = curve(scores, windows)
    best = int(np.argmax(totals))
    if totals[best] <= 0.0:
        return np.inf, 0.0
    return float(thresholds[best]), float(totals[best])


def at(threshold: float, scores: list[Array], windows: list[list[tuple[int, int]]]) -> float:
    """The total of these files with this threshold."""
    thresholds, totals = curve(scores, windows)
    below = np.flatnonzero(thresholds >= threshold)
    return float(totals[below[-1]]) if len(below) else 0.0
