"""How wide an interval must be: as wide as the rolling forecasts inside the context were wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def half_widths(errors: Array, values: Array, horizon: int, level: float) -> Array:
    """The `level` quantile of the absolute errors at each step, (horizon, variables), never narrowing.

    errors: (origins, steps, variables), NaN where the context had ended. Each step borrows the errors of steps within
    a quarter of its distance. Beyond the last step the width goes on growing at the rate it had, up to that of
    the difference between unrelated moments of the context: no forecast is worse than that.
    """
    size = np.abs(errors)
    steps = size.shape[1]
    ceiling = _unrelated(values, level)
    widths = np.empty((min(steps, horizon), values.shape[1]))
    for k in range(len(widths)):
        reach = (k + 1) // 4
        nearby = size[:, max(0, k - reach) : k + reach + 1].reshape(-1, size.shape[2])
        sound = nearby[~np.isnan(nearby).any(axis=1)]
        widths[k] = _upper_quantile(sound, level) if len(sound) else ceiling
    widths = np.minimum(np.maximum.accumulate(widths, axis=0), ceiling)
    if horizon <= len(widths):
        return widths
    half = len(widths) // 2
    tiny = np.finfo(np.float64).tiny
    growth = np.log(np.maximum(widths[-1], tiny) / np.maximum(widths[half], tiny)) / max(len(widths) - 1 - half, 1)
    further = np.arange(1, horizon - len(widths) + 1)[:, None]
    grown = widths[-1] * np.exp(np.minimum(growth * further, 700.0))
    return np.concatenate([widths, np.minimum(grown, ceiling)])


def _upper_quantile(sample: Array, level: float) -> Array:
    """The conformal quantile: the ceil(level (n + 1))-th smallest, the largest if there are too few."""
    rank = min(len(sample) - 1, int(np.ceil(level * (len(sample) + 1))) - 1)
    return np.asarray(np.sort(sample, axis=0)[rank])


def _unrelated(values: Array, level: float) -> Array:
    """The `level` quantile of |difference| between samples far apart."""
    length = len(values)
    shifts = np.unique(np.linspace(length // 4, length // 2, 8).astype(np.intp))
    recent = values[-4096:]
    gaps = np.concatenate([np.abs(recent[s:] - recent[:-s]) for s in shifts if 0 < s < len(recent)])
    return np.asarray(np.quantile(gaps, level, axis=0))
