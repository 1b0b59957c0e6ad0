"""`forecast`: the next values of a series from its own past."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from prophecy import _checks, _machine
from prophecy._arrays import Array
from prophecy._forecast import PROBABILITIES, Forecast, QuantileGrid
from prophecy.forecasting.bounds import Bounds, bounded, checked_bounds
from prophecy.forecasting.context import LARGEST, read
from prophecy.forecasting.known import Known
from prophecy.forecasting.settings import DEFAULT, Settings
from prophecy.forecasting.solve import Solution, followed, solve
from prophecy.laws import inputs
from prophecy.laws.context import Context

_USUAL = 1e-50, 1e50  # largest values between which products of a few of them are far from over- and underflow


def forecast(
    values: ArrayLike,
    horizon: int,
    level: float = 0.9,
    *,
    season: float | Sequence[float] | None = None,
    bounds: Bounds = None,
    known: ArrayLike | Known | None = None,
    settings: Settings | None = None,
) -> Forecast:
    """Predict the next `horizon` samples of (time,) or (time, variables) from the context alone.

    Candidates are rolled over the context and mixed by how well they did; the interval holds each value with
    probability `level`, and `quantile` and `samples` of the answer give the rest of the distribution. Missing values
    are NaN. See docs/forecasting.md.

    season: samples in a season worth looking at, one or several; None looks for them.
    bounds: (low, high), either may be None: no value lies outside. A series that was never negative stays so.
    known: regressors over past and future, (time + horizon, regressors); see `prophecy.forecasting.known`.
    settings: other constants of the search (`prophecy.forecasting.settings.Settings`), for experiments.

    >>> wave = np.sin(np.arange(200) / 5)
    >>> ahead = forecast(wave, horizon=50)
    >>> bool(np.abs(ahead.point - np.sin(np.arange(200, 250) / 5)).max() < 1e-6)
    True
    """
    horizon, level, settings = _checks.whole("horizon", horizon), _level(level), settings or DEFAULT
    limits, periods = checked_bounds(bounds), _checks.seasons(season)
    settings = replace(settings, negative=limits is not None and limits[0] < 0)
    exponent = _unusual(values) if known is None else 0
    beside = None if known is None else Known.of(known, len(np.asarray(values)), horizon)
    with _machine.ONE_BLAS_THREAD, np.errstate(all="ignore"):
        ready = read(_times(values, exponent), settings, None if beside is None else beside.latest(horizon).values)
        grid, next_step, between, point, found = _quantiles(ready, ready.overdue + horizon, periods, settings, beside)
        law = None if found is None else found.system
        inside = None if limits is None else (_times(limits[0], exponent), _times(limits[1], exponent))
        grid, point, remarks = bounded(grid, point, ready, inside, settings, law is not None)
    grid, point = (_times(each, -exponent) for each in (grid[:, ready.overdue :], point[ready.overdue :]))
    next_step = next_step[ready.overdue :]
    if np.ndim(values) == 1:
        grid, point, next_step = grid[..., 0], point[..., 0], next_step[..., 0]
    made = QuantileGrid.of(grid, next_step, between if np.ndim(values) == 2 and len(between) > 1 else None)
    method, notes = (found.method, found.notes) if found else ("constant", ())
    notes = (*notes, *remarks, *ready.notes)
    if exponent:
        far = f"The values are far from 1: they were multiplied by 2 ** {exponent}, and so are figures in these notes."
        notes, law = (*notes, far), None if law is None else law.scaled(-exponent)
    return replace(Forecast.from_grid(made, level, method, notes, point), system=law)


def _unusual(values: ArrayLike) -> int:
    """The power of two that brings values of unusual size near 1; 0 for all others."""
    array = np.asarray(values)
    if array.dtype.kind != "f" or not array.size:
        return 0
    largest = float(np.nanmax(np.abs(array), initial=0.0))
    unusual = 0 < largest < _USUAL[0] or _USUAL[1] < largest <= LARGEST
    return -int(np.frexp(largest)[1]) if unusual else 0


def _times(values: ArrayLike, exponent: int) -> Any:
    """values times 2 ** exponent, exact but for subnormal numbers; in two steps, as the power may be no float."""
    return np.ldexp(np.ldexp(np.asarray(values), exponent // 2), exponent - exponent // 2) if exponent else values


def _level(level: float) -> float:
    number = _checks.positive("level", level)
    if number >= 1:
        raise ValueError(f"level must be between 0 and 1, got {level}; 0.9 asks for nine values in ten")
    return number


def _quantiles(
    context: Context, horizon: int, season: object, settings: Settings, beside: Known | None
) -> tuple[Array, Array, Array, Array, Solution | None]:
    """Quantiles (probabilities, horizon, variables) at every sample, correlations in time and between variables, and
    the point (horizon, variables)."""
    variables = len(context.varying)
    grid = np.tile(context.full[-1], (len(PROBABILITIES), horizon, 1))
    next_step, between = np.zeros((horizon - 1, variables)), np.eye(variables)
    if not context.varying.any():
        return grid, next_step, between, grid[0], None
    driven = None
    if beside is not None:
        driven = inputs.decide(context, beside.plain, beside.values, horizon - context.overdue, settings)
    steps = -(-horizon // context.stride)
    if driven is not None:
        found = followed(context, driven, settings)
    else:
        beside = None if beside is None else beside.latest(horizon, len(context.values), context.stride)
        found = solve(context, steps, season, settings, beside)
    grid[:, :, context.varying] = _at_every_sample(context, found, horizon)
    point = grid[len(PROBABILITIES) // 2].copy()
    if found.point is not None:
        point[:, context.varying] = _finer(context, found.point, horizon)
    correlation = found.next_step if len(found.next_step) else np.zeros((1, found.quantiles.shape[2]))
    place = np.minimum(np.arange(horizon - 1) // context.stride, len(correlation) - 1)
    next_step[:, context.varying] = np.sign(correlation[place]) * np.abs(correlation[place]) ** (1 / context.stride)
    between[np.ix_(context.varying, context.varying)] = found.between
    return grid, next_step, between, point, found


def _at_every_sample(context: Context, found: Solution, horizon: int) -> Array:
    """Quantiles at every sample from those at every `stride`-th: the median by splines, distances by lines."""
    stride = context.stride
    if stride == 1:
        return found.quantiles[:, :horizon]
    median = found.quantiles[len(PROBABILITIES) // 2]
    coarse, at = np.arange(1, len(median) + 1) * stride, np.arange(1, horizon + 1)
    distance = np.apply_along_axis(lambda wide: np.interp(at, coarse, wide), 1, found.quantiles - median)
    return np.asarray(_finer(context, median, horizon) + distance)


def _finer(context: Context, path: Array, horizon: int) -> Array:
    """(horizon, variables) at every sample from a path at every `stride`-th."""
    stride = context.stride
    if stride == 1:
        return path[:horizon]
    from scipy.interpolate import make_interp_spline

    past = context.full[(len(context.full) - 1) % stride :: stride][-4:, context.varying]
    joined, at = np.concatenate([past, path]), np.arange(1, horizon + 1)
    times = stride * np.arange(1 - len(past), len(path) + 1)
    return np.asarray(make_interp_spline(times, joined, k=min(7, len(joined) - 1))(at))
