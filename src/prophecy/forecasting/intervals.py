"""How wide the distribution around the path of a map or a law is: as its rolling forecasts were wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from prophecy._forecast import PROBABILITIES
from prophecy.laws.settings import DEFAULT, Settings

Array = NDArray[np.float64]

_UPPER = PROBABILITIES[len(PROBABILITIES) // 2 + 1 :]
_LEVELS = 2 * _UPPER - 1


def _nearby(errors: Array) -> Array:
    """Root mean square at each step together with the steps within a quarter of its distance."""
    there = np.isfinite(errors)
    squares = np.where(there, errors, 0.0) ** 2
    total = np.concatenate([[0.0], np.cumsum(squares.sum(axis=0))])
    count = np.concatenate([[0], np.cumsum(there.sum(axis=0))])
    steps = np.arange(errors.shape[1])
    reach = np.ceil((steps + 1) / 4).astype(np.intp)
    low, high = np.maximum(steps - reach, 0), np.minimum(steps + reach + 1, len(steps))
    number = count[high] - count[low]
    return np.asarray(np.sqrt((total[high] - total[low]) / np.maximum(number, 1)))


def dependence(errors: Array, settings: Settings = DEFAULT) -> Array:
    """(steps - 1,): the correlation of consecutive errors of rolling forecasts, each step with those around it."""
    scale = _nearby(errors)
    scores = errors / np.where(scale > 0, scale, 1.0)
    products = scores[:, 1:] * scores[:, :-1]
    there = np.isfinite(products)
    if not there.any():
        return np.full(errors.shape[1] - 1, settings.dependence)
    total = np.cumsum(np.where(there, products, 0.0).sum(axis=0))
    squares = np.where(there, (scores[:, 1:] ** 2 + scores[:, :-1] ** 2) / 2, 0.0).sum(axis=0)
    pooled = float(total[-1]) / max(float(squares.sum()), 1e-300)
    local = np.where(there, products, 0.0).sum(axis=0) / np.maximum(squares, 1e-300)
    share = there.sum(axis=0) / (there.sum(axis=0) + settings.dependence_pairs)
    return np.asarray(np.clip(share * local + (1 - share) * pooled, -0.99, 0.999))


def half_widths(
    errors: Array, paths: Array, values: Array, settings: Settings = DEFAULT, novel: Array | float = 1.0
) -> Array:
    """(upper probabilities, horizon, variables): half the width of intervals at levels 2 p - 1, never narrowing.

    errors: (origins, steps, variables) of rolling forecasts, NaN where the context had ended: the quantile of their
    size, each step borrowing from the steps within a quarter of its distance. Towards the last step and beyond it the
    width is that of the twins: paths[1:] started a typical first error away from paths[0], and what separates them, on
    the scale at which it agrees with the last rolling errors, says how errors grow here.
    novel: (horizon,), how many times as large errors may be as rolling ones, because the path goes where none went.
    No interval is wider than the difference between unrelated moments of the context, except in proportion where the
    path has left its range.
    """
    horizon = paths.shape[1]
    ceiling = unrelated(values, settings)
    rolling = _rolling(errors, ceiling, settings)[:, :horizon]
    steps = rolling.shape[1]
    twins = _twins(paths)
    late = slice(2 * steps // 3, steps)
    scale = np.quantile(rolling[:, late] / np.maximum(twins[late], 1e-300), settings.twins_agree, axis=1)
    widths = np.where(scale < 1e100, scale, 0.0)[:, None] * twins
    widths[:, : late.start] = 0.0
    widths[:, :steps] = np.maximum(widths[:, :steps], rolling)
    if horizon > steps:
        widths[:, steps:] = np.maximum(widths[:, steps:], _grown(rolling, horizon - steps))
    widths = np.maximum.accumulate(widths, axis=1) * np.broadcast_to(novel, horizon)[:, None]
    widths = np.minimum(widths, ceiling[:, None])
    low, high = values.min(axis=0), values.max(axis=0)
    outside = np.maximum(paths[0] - high, low - paths[0]) / np.maximum(high - low, 1e-300)
    return np.asarray(widths * (1 + np.maximum(outside, 0.0)) + settings.interval_rounding * (1 + np.abs(paths[0])))


def _rolling(errors: Array, ceiling: Array, settings: Settings) -> Array:
    """Quantiles of the rolling errors. Forecasts that overlap say little more than one of them: at step k the last part
    of the context, as long as all forecasts together, counts for its length divided by k independent ones. A step at
    which nothing was observed is as uncertain as the next one.
    """
    size = np.abs(errors)
    widths = np.empty((len(_LEVELS), *size.shape[1:]))
    span = int(np.isfinite(errors[:, :, 0]).any(axis=0).sum()) * settings.rolling_span
    for k in reversed(range(widths.shape[1])):
        reach = (k + 1) // 4
        nearby = size[:, max(0, k - reach) : k + reach + 1].reshape(-1, size.shape[2])
        sound = nearby[~np.isnan(nearby).any(axis=1)]
        further = widths[:, k + 1] if k + 1 < widths.shape[1] else ceiling
        widths[:, k] = upper_quantiles(sound, min(len(sound), span / (k + 1))) if len(sound) else further
    return np.minimum(np.maximum.accumulate(widths, axis=1), ceiling[:, None])


def upper_quantiles(sample: Array, independent: float) -> Array:
    """At each level the quantile that `independent` draws need so that a new one stays below it so often.

    Beyond the largest error the widths go on in proportion to those of a normal distribution.
    """
    shares = _LEVELS * (1 + 1 / independent)
    found = np.quantile(sample, np.minimum(shares, 1.0), axis=0, method="higher")
    inside = max(int(np.sum(shares <= 1.0)), 1)
    beyond = ndtri(_UPPER[inside - 1 :]) / ndtri(_UPPER[inside - 1])
    beyond = beyond.reshape(-1, *[1] * (found.ndim - 1))
    found[inside - 1 :] = np.maximum(found[inside - 1 :], found[inside - 1] * beyond)
    return np.asarray(found)


def _twins(paths: Array) -> Array:
    """Root mean square distance of the twins that stayed, smoothed by never narrowing."""
    gaps = paths[1:] - paths[0]
    return np.maximum.accumulate(np.sqrt(np.mean(np.nan_to_num(gaps, nan=1.0) ** 2, axis=0)), axis=0)


def _grown(widths: Array, further: int) -> Array:
    """Widths that go on growing at the mean rate of their second half."""
    half = widths.shape[1] // 2
    tiny = np.finfo(np.float64).tiny
    last, middle = np.maximum(widths[:, -1], tiny), np.maximum(widths[:, half], tiny)
    growth = np.log(last / middle) / max(widths.shape[1] - 1 - half, 1)
    steps = np.arange(1, further + 1)[:, None]
    return np.asarray(widths[:, -1:] * np.exp(np.minimum(growth[:, None] * steps, 700.0)))


def unrelated(values: Array, settings: Settings) -> Array:
    """(levels, variables): quantiles of |difference| between samples far apart."""
    recent = values[-settings.unrelated_latest :]
    shifts = np.unique(np.linspace(len(recent) // 4, len(recent) // 2, 8).astype(np.intp))
    gaps = np.concatenate([np.abs(recent[shift:] - recent[:-shift]) for shift in shifts])
    return np.asarray(np.quantile(gaps, _LEVELS, axis=0))
