"""Values at uneven times brought to an even grid, where that tells them better than taking the times for even."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST = 16  # values of a variable that say how smooth it is
BETTER = 0.5  # of the error at times taken for even: noise, which no times explain, leaves about all of it
NEAR = 2.0  # steps between the values around a grid time, at most: farther apart it is a gap
DEGREE = 9  # of the splines: with twenty samples a turn they are read to 1e-9 of the range, those of degree 5 to 1e-7
OUTSIDE = 1e-6  # steps beyond the first or last value: rounding of times


def interpolated(values: Array, at: Array, places: Array) -> Array | None:
    """(rows, variables) at grid times `places`, or None where they are better taken as they are.

    at: of each row, in steps of the grid, rising. Where values between their neighbours follow from these at the true
    times with less than half of the error that even times leave, in the median, their curves are read at the grid's
    times instead: splines through all values. Grid times in a gap are NaN.
    """
    even = np.cumsum(np.maximum(np.rint(np.diff(at, prepend=at[0] - 1)), 1.0))
    out = np.full((len(places), values.shape[1]), np.nan)
    gains = []
    for variable, column in enumerate(values.T):
        there = np.isfinite(column)
        if there.sum() < LEAST:
            return None
        x, y = at[there], column[there]
        gains.append((_off(x, y), _off(even[there], y)))
        out[:, variable] = _curve(x, y, places)
    true, taken = np.array(gains).T
    spread = np.nanstd(values, axis=0)
    size = np.where(spread > 0, spread, 1.0)
    better = bool(np.sum(true / size) < BETTER * np.sum(taken / size))
    return out if better and np.isfinite(out).any(axis=0).all() else None


def _off(x: Array, y: Array) -> float:
    """How far values are from the cubic through two neighbours on either side, in the median."""
    nodes = np.stack([x[:-4], x[1:-3], x[3:-1], x[4:]])
    around = np.stack([y[:-4], y[1:-3], y[3:-1], y[4:]])
    guess = np.zeros(len(x) - 4)
    for j in range(4):
        others = [k for k in range(4) if k != j]
        guess += around[j] * np.prod([(x[2:-2] - nodes[k]) / (nodes[j] - nodes[k]) for k in others], axis=0)
    return float(np.median(np.abs(guess - y[2:-2])))


def _curve(x: Array, y: Array, places: Array) -> Array:
    from scipy.interpolate import make_interp_spline

    out = np.asarray(make_interp_spline(x, y, k=DEGREE)(places))
    right = np.clip(np.searchsorted(x, places), 1, len(x) - 1)
    gap = (x[right] - x[right - 1] > NEAR) & (places > x[right - 1]) & (places < x[right])
    out[gap | (places < x[0] - OUTSIDE) | (places > x[-1] + OUTSIDE)] = np.nan
    return out
