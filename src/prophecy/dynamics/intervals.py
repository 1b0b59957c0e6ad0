"""How wide an interval must be: as wide as the rolling forecasts inside the context were wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def half_widths(errors: Array, paths: Array, values: Array, level: float) -> Array:
    """Half the width of the interval at each step, (horizon, variables), never narrowing.

    errors: (origins, steps, variables) of rolling forecasts, NaN where the context had ended: the `level` quantile of
    their size, each step borrowing from the steps within a quarter of its distance. Towards the last step and beyond
    it the width is that of the twins: paths[1:] started a typical first error away from paths[0], and what separates
    them, on the scale at which it agrees with the last rolling errors, says how errors grow here.
    No interval is wider than the difference between unrelated moments of the context.
    """
    horizon = paths.shape[1]
    ceiling = _unrelated(values, level)
    rolling = _rolling(errors, level, ceiling)[:horizon]
    twins = _twins(paths)
    late = slice(2 * len(rolling) // 3, len(rolling))
    scale = np.quantile(rolling[late] / np.maximum(twins[late], 1e-300), 0.8, axis=0)
    widths = np.where(scale < 1e100, scale, 0.0) * twins
    widths[: late.start] = 0.0
    widths[: len(rolling)] = np.maximum(widths[: len(rolling)], rolling)
    if horizon > len(rolling):
        widths[len(rolling) :] = np.maximum(widths[len(rolling) :], _grown(rolling, horizon - len(rolling)))
    return np.minimum(np.maximum.accumulate(widths, axis=0), ceiling)


def _rolling(errors: Array, level: float, ceiling: Array) -> Array:
    """Quantiles of the rolling errors. Forecasts that overlap say little more than one of them: at step k the last part
    of the context, as long as all forecasts together, counts for its length divided by k independent ones. A step at
    which nothing was observed is as uncertain as the next one.
    """
    size = np.abs(errors)
    widths = np.empty(size.shape[1:])
    span = int(np.isfinite(errors[:, :, 0]).any(axis=0).sum()) * 1.5
    for k in reversed(range(len(widths))):
        reach = (k + 1) // 4
        nearby = size[:, max(0, k - reach) : k + reach + 1].reshape(-1, size.shape[2])
        sound = nearby[~np.isnan(nearby).any(axis=1)]
        independent = min(len(sound), span / (k + 1))
        further = widths[k + 1] if k + 1 < len(widths) else ceiling
        widths[k] = _upper_quantile(sound, level, independent) if len(sound) else further
    return np.minimum(np.maximum.accumulate(widths, axis=0), ceiling)


def _twins(paths: Array) -> Array:
    """Root mean square distance of the twins that stayed, smoothed by never narrowing."""
    gaps = paths[1:] - paths[0]
    return np.maximum.accumulate(np.sqrt(np.mean(np.nan_to_num(gaps, nan=1.0) ** 2, axis=0)), axis=0)


def _grown(widths: Array, further: int) -> Array:
    """Widths that go on growing at the mean rate of their second half."""
    half = len(widths) // 2
    tiny = np.finfo(np.float64).tiny
    growth = np.log(np.maximum(widths[-1], tiny) / np.maximum(widths[half], tiny)) / max(len(widths) - 1 - half, 1)
    return np.asarray(widths[-1] * np.exp(np.minimum(growth * np.arange(1, further + 1)[:, None], 700.0)))


def _upper_quantile(sample: Array, level: float, independent: float) -> Array:
    """The quantile that `independent` draws need so that a new one stays below it with probability `level`."""
    share = min(1.0, level * (1 + 1 / independent))
    return np.asarray(np.quantile(sample, share, axis=0, method="higher"))


def _unrelated(values: Array, level: float) -> Array:
    """The `level` quantile of |difference| between samples far apart."""
    recent = values[-4096:]
    shifts = np.unique(np.linspace(len(recent) // 4, len(recent) // 2, 8).astype(np.intp))
    gaps = np.concatenate([np.abs(recent[shift:] - recent[:-shift]) for shift in shifts])
    return np.asarray(np.quantile(gaps, level, axis=0))
