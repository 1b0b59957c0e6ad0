"""Single values that have nothing to do with the series around them: set aside like missing ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics.settings import Settings

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_NEAR = np.array([-4, -3, -2, 2, 3, 4])  # neighbours that are no part of a run of two


def outliers(raw: Array, settings: Settings) -> Mask:
    """Which values of (time, variables), NaN where missing, are set aside.

    A value, alone or with one neighbour, that lies more than `outlier_ranges` times the range of the `outlier_around`
    samples on either side outside that range. Spikes that come again belong to the series: three of them, or two alike.
    The newest samples are never set aside (a level may have changed), nor are those of series that are often at one
    value (rare events).
    """
    found = np.zeros(raw.shape, dtype=np.bool_)
    for variable, column in enumerate(raw.T):
        place = np.nonzero(~np.isnan(column))[0]
        found[place[_events(column[place], settings)], variable] = True
    return found


def _events(x: Array, settings: Settings) -> list[int]:
    if len(x) < settings.outlier_least:
        return []
    middle = np.arange(-_NEAR[0], len(x) - _NEAR[-1])
    near = np.stack([x[middle + offset] for offset in _NEAR])
    low, high = near.min(axis=0), near.max(axis=0)
    excess = np.maximum(x[middle] - high, low - x[middle]) - settings.outlier_ranges * (high - low)
    order = np.argsort(-excess)[: settings.outliers_compared]
    standing = sorted(int(middle[k]) for k in order if excess[k] > 0)
    events: list[tuple[list[int], float]] = []
    while standing:
        run = [standing.pop(0)]
        if standing and standing[0] == run[0] + 1:
            run.append(standing.pop(0))
        height = _height(x, run, settings)
        if height != 0.0:
            events.append((run, height))
    if len(events) > settings.outlier_most or not events or _often_one_value(x, settings):
        return []
    heights = np.array([height for _, height in events])
    if len(events) > 1 and heights.min() * heights.max() > 0:
        size = np.sort(np.abs(heights))
        if size[0] > settings.outlier_alike * size[-1]:
            return []
    return [k for run, _ in events for k in run]


def _height(x: Array, run: list[int], settings: Settings) -> float:
    """How far a run is from the middle of what is around it; 0 where that is not far enough."""
    reach = settings.outlier_around
    around = np.concatenate([x[max(run[0] - reach, 0) : run[0]], x[run[-1] + 1 : run[-1] + 1 + reach]])
    low, high = float(around.min()), float(around.max())
    least = settings.outlier_ranges * (high - low)
    outside = [max(x[k] - high, low - x[k]) > least > 0 for k in run]
    return float(np.mean(x[run]) - np.median(around)) if all(outside) else 0.0


def _often_one_value(x: Array, settings: Settings) -> bool:
    return bool(np.unique(x, return_counts=True)[1].max() >= settings.rare_zeros * len(x))
