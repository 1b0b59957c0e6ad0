"""Values that nothing around them confirms: set aside like missing ones, for every candidate.

A value is wild where it is more than `outlier_deviations` robust deviations away from the median of the values before it
and from that of those after it, on the scale of the values and, if all others are positive, on that of their logarithms.
The newest value has nothing after it: it is believed if earlier jumps of its size stayed more often than they went.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from prophecy.forecasting.settings import Settings

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def outliers(raw: Array, settings: Settings) -> Mask:
    """Which values of (time, variables), NaN where missing, are set aside."""
    found = np.zeros(raw.shape, dtype=np.bool_)
    for variable, column in enumerate(raw.T):
        place = np.nonzero(~np.isnan(column))[0]
        if len(place) < settings.outlier_least:
            continue
        x = column[place]
        wild = _wild(x, settings)
        if wild.any() and (x[~wild] > 0).all():
            some = x > 0
            again = ~some
            again[some] = _wild(np.log(x[some]), settings)
            wild &= again
        if 0 < wild.sum() <= settings.outlier_share * len(x):
            found[place[wild], variable] = True
    return found


def _wild(x: Array, settings: Settings) -> Mask:
    k = settings.outlier_neighbours
    middle = np.median(sliding_window_view(x, k), axis=1)
    before, after = np.full(len(x), np.nan), np.full(len(x), np.nan)
    before[k:], after[: len(x) - k] = middle[:-1], middle[1:]
    changes = np.abs(x - before)[k:]
    usual = float(np.median(changes)) * 1.4826
    if not usual > 0:
        return np.zeros(len(x), dtype=np.bool_)
    far = settings.outlier_deviations * usual
    from_before, from_after = np.abs(x - before) > far, np.abs(x - after) > far
    wild = from_before & from_after
    wild[:k], wild[len(x) - k :] = from_after[:k], False
    for t in range(len(x) - k, len(x) - 1):  # the few last ones: confirmed by any later value
        wild[t] = from_before[t] and (np.abs(x[t + 1 :] - x[t]) > far).all()
    stayed = int((from_before & ~from_after)[:-k].sum())
    wild[-1] = bool(from_before[-1]) and stayed <= k * int(wild[:-1].sum())
    return wild
