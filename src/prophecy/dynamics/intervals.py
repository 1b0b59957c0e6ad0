"""How wide distributions are: what smoothers expect, corrected by how wrong rolling forecasts were."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from prophecy._forecast import PROBABILITIES
from prophecy.dynamics.choice import Rolling
from prophecy.dynamics.columns import Column, Kind
from prophecy.dynamics.mixing import Mixture
from prophecy.dynamics.settings import DEFAULT, Settings

Array = NDArray[np.float64]

_UPPER = PROBABILITIES[len(PROBABILITIES) // 2 + 1 :]
_LEVELS = 2 * _UPPER - 1
_SOLVED = (Kind.READOUT, Kind.SEASONAL_READOUT, Kind.HIPPO_READOUT, Kind.LABORATORY)  # parts with many coefficients


def offsets(mixture: Mixture, column: Column, rolling: Rolling, settings: Settings) -> Array:
    """(probabilities, horizon): how far each quantile is from the path.

    Student's distribution around the path, as wide as errors are large and candidates disagree: with few samples the
    scale itself is uncertain, with many a normal distribution is approached. Below the path of a positive series the
    step is taken in logarithms.
    """
    n = int(column.seen.sum())
    scale = scales(mixture, column, rolling, settings)
    freedom = settings.tail_freedom(n)
    at = np.asarray(stdtrit(freedom, PROBABILITIES))[:, None] * scale
    if bool((column.y > 0).all()):
        level = np.maximum(mixture.path, 1e-300)
        at = np.where(at < 0, level * np.expm1(np.minimum(at / level, 0.0)), at)
    return np.asarray(at)


def scales(mixture: Mixture, column: Column, rolling: Rolling, settings: Settings) -> Array:
    """(horizon,): the scale of the errors at each step, in units of the column.

    The smoothers say how errors grow in closed form. Two ratios correct them, each as far as there are independent
    rolling forecasts to trust it: how much better the mixture rolled than the smoothers did, and how much worse the
    smoothers rolled than they expected (less for the parts that were solved from the early part alone and not again).
    Until there are such forecasts, the candidates' disagreement stands in for them. Where the context is long against
    the step, no scale is larger than the differences between values that many (whole seasons) apart.
    """
    smoothers = mixture.smoothers()
    steps = np.arange(1, len(mixture.path) + 1)
    ceiling = _differences(column, max(len(steps), rolling.horizon), settings)
    if smoothers is None:
        finite = np.where(np.isfinite(ceiling), ceiling, np.std(column.y))
        expected, rolled = finite[: len(steps)], np.broadcast_to(finite[: rolling.horizon], mixture.errors.shape)
        errors = None
    else:
        errors, rolled, expected = smoothers
        rolled, expected = np.minimum(rolled, ceiling[: rolling.horizon]), np.minimum(expected, ceiling[: len(steps)])
    n = int(column.seen.sum())
    expected = expected * (settings.scale_floor + settings.scale_samples / n + settings.scale_short * steps / n**2)
    disagreement = settings.disagreement * mixture.disagreement()
    if not np.isfinite(mixture.errors).any():
        return np.hypot(expected, disagreement)
    own, counted = _nearby(mixture.errors)
    smoother = own if errors is None else _nearby(np.where(np.isfinite(mixture.errors), errors, np.nan))[0]
    claimed = _nearby(np.where(np.isfinite(mixture.errors), rolled, np.nan))[0]
    independent = np.minimum((len(column.y) - rolling.early) / np.arange(1, len(own) + 1), counted)
    trust = independent / (independent + settings.scale_folds)
    solved = sum(mixture.weight(kind) for kind in _SOLVED)
    change = _log_ratio(own, smoother) * independent / (independent + settings.scale_skill_folds)
    change = change + trust * (_log_ratio(smoother, claimed) + solved * np.log(settings.scale_refit))
    further = max(len(steps) - len(change), 0)
    change, trust = (np.concatenate([x, np.full(further, x[-1])])[: len(steps)] for x in (change, trust))
    grown = expected * np.exp(change)
    disagreement = disagreement * (1 - trust)
    shape = expected / _never_falling(expected)
    return np.asarray(shape * _never_falling(np.hypot(grown, disagreement) / shape))


def _never_falling(x: Array) -> Array:
    """x without its falls: halfway between the largest so far and the smallest still to come."""
    return np.asarray((np.maximum.accumulate(x) + np.minimum.accumulate(x[::-1])[::-1]) / 2)


def _differences(column: Column, horizon: int, settings: Settings) -> Array:
    """The root mean square difference of values as many whole seasons apart as cover each step; inf where few."""
    season = min(column.seasons, default=1)
    most = int(len(column.y) / settings.scale_spans)
    found = np.full(horizon, np.inf)
    y = column.y[-settings.season_searched :]
    for first in range(0, min(horizon, most), season):
        lag = first + season
        if lag < len(y):
            found[first : first + season] = np.sqrt(np.mean((y[lag:] - y[:-lag]) ** 2))
    found[most:] = np.inf
    return np.maximum.accumulate(found)


def _log_ratio(a: Array, b: Array) -> Array:
    sound = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
    return np.asarray(np.log(np.where(sound, a, 1.0) / np.where(sound, b, 1.0)))


def _nearby(errors: Array) -> tuple[Array, Array]:
    """Root mean square at each step together with the steps within a quarter of its distance, and of how many."""
    there = np.isfinite(errors)
    squares = np.where(there, errors, 0.0) ** 2
    total = np.concatenate([[0.0], np.cumsum(squares.sum(axis=0))])
    count = np.concatenate([[0], np.cumsum(there.sum(axis=0))])
    steps = np.arange(errors.shape[1])
    reach = np.ceil((steps + 1) / 4).astype(np.intp)
    low, high = np.maximum(steps - reach, 0), np.minimum(steps + reach + 1, len(steps))
    number = count[high] - count[low]
    return np.sqrt((total[high] - total[low]) / np.maximum(number, 1)), number.astype(np.float64)


def rare_quantiles(column: Column, rate: Array, settings: Settings = DEFAULT) -> Array:
    """(probabilities, horizon) of rare events: those of the values seen, their middle the expected rate."""
    values = np.sort(column.y[column.seen][-settings.rare_latest :])
    place = PROBABILITIES * (len(values) + 1) - 1
    found = np.interp(place, np.arange(len(values)), values)
    found = np.where(place > len(values) - 1, values[-1] * settings.rare_beyond, found)
    grid = np.repeat(found[:, None], len(rate), axis=1)
    grid[len(PROBABILITIES) // 2] = rate
    return grid


def dependence(errors: Array, settings: Settings = DEFAULT) -> Array:
    """(steps - 1,): the correlation of consecutive errors of rolling forecasts, each step with those around it."""
    scale = _nearby(errors)[0]
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
