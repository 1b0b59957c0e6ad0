"""What is known in advance: prices, holidays, weather. A linear effect, solved in context, kept where it helps.

The effect b of regressors x on a series y is solved by ridge regression, not of y on x themselves (trends and seasons
of both would pass for an effect) but of their differences: from one value to the next, from one season to the next, or
from a local mean. The ridge is the one with the least leave-one-out error, in closed form from one singular value
decomposition. Then y - x b is forecast by the usual candidates and x b of the future added.

Which differences, and whether any, is decided by rolling forecasts: the last stretches of the context are forecast with
effects solved before them, and with none. An effect that does not lower the error is not used, and a note reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy._forecast import Forecast, QuantileGrid
from prophecy.forecasting.bounds import bounded, checked_bounds
from prophecy.forecasting.context import read
from prophecy.forecasting.settings import DEFAULT, Settings

Array = NDArray[np.float64]

SHOWN = 4  # regressors whose size is reported


@dataclass(frozen=True, eq=False)
class Known:
    """Regressors over past and future, (time + horizon, regressors), with names for `explain`."""

    values: Array
    names: tuple[str, ...]

    @property
    def plain(self) -> tuple[str, ...]:
        """Names for equations: u, or u1, u2, …, where none were given."""
        count = len(self.names)
        if self.names != _numbered(count):
            return self.names
        return ("u",) if count == 1 else tuple(f"u{i + 1}" for i in range(count))

    @classmethod
    def of(cls, known: Any, time: int, horizon: int) -> Known:
        """Checked: one row for each value and each step ahead, none of those ahead missing."""
        names: Sequence[str] = ()
        if isinstance(known, Known):
            known, names = known.values, known.names
        values = np.asarray(known, dtype=np.float64)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != time + horizon:
            raise ValueError(
                f"known must be (time + horizon, regressors) = ({time} + {horizon}, …), got shape {values.shape}"
            )
        if not np.isfinite(values[time:]).all():
            row = int(np.argwhere(~np.isfinite(values[time:]))[0, 0])
            raise ValueError(f"known is missing {row + 1} steps ahead; it must be given over the whole horizon")
        values = np.where(np.isfinite(values), values, np.nan)
        return cls(values, tuple(names) or _numbered(values.shape[1]))


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"regressor {i + 1}" for i in range(count))


def forecast_with(
    forecast: Callable[..., Forecast], values: ArrayLike, horizon: int, level: float, known: Any, **options: Any
) -> Forecast:
    """`forecast` with what is known in advance; `options` are its others (season, bounds, settings)."""
    raw = np.asarray(values, dtype=np.float64)
    series = raw[:, None] if raw.ndim == 1 else raw
    beside = Known.of(known, len(series), horizon)
    filled = _filled(beside.values, len(series))
    limits, how = checked_bounds(options.pop("bounds", None)), options.get("settings", DEFAULT)
    season = options.get("season")
    lags = [1, *sorted({round(float(s)) for s in np.atleast_1d(season if season is not None else [])})]
    kinds: list[int] = [0, *(lag for lag in lags if 1 <= lag < len(series) // 3)]
    chosen, errors = _rolled(forecast, series, horizon, filled, kinds, options, how)
    if chosen is None:
        made = forecast(values, horizon, level, bounds=limits, **options)
        why = "too few values to tell whether it helps" if errors is None else "it did not help in rolling forecasts"
        return _noted(made, f"What is known in advance was not used: {why}{_compared(errors)}.")
    effect, doubt = _solved(series, filled[: len(series)], chosen, how)
    rest = series - filled[: len(series)] @ effect
    made = forecast(rest if raw.ndim == 2 else rest[:, 0], horizon, level, **options)
    added = filled[len(series) :] @ effect
    unsure = np.sqrt(np.einsum("tr,vrs,ts->tv", filled[len(series) :], doubt, filled[len(series) :]))
    return _together(
        made, series, raw.ndim, added, unsure, limits, level, options, _words(effect, beside, filled, errors)
    )


def _filled(known: Array, time: int) -> Array:
    """Regressors less their mean over the past, missing ones 0; those that never change have no effect."""
    past = known[:time]
    centre = np.array([np.nanmean(column) if np.isfinite(column).any() else 0.0 for column in past.T])
    return np.where(np.isfinite(known), known - centre, 0.0)


def _differences(rows: Array, lag: int) -> Array:
    """From `lag` rows before; with lag 0 from a local mean over an eighth of the rows (at least eight)."""
    if lag:
        return rows[lag:] - rows[:-lag]
    width = max(8, len(rows) // 8) | 1
    there = np.isfinite(rows)
    window = np.ones(width)
    sums = np.stack(
        [np.convolve(np.where(ok, column, 0.0), window, "same") for column, ok in zip(rows.T, there.T, strict=True)],
        axis=1,
    )
    counts = np.stack([np.convolve(ok.astype(float), window, "same") for ok in there.T], axis=1)
    return np.asarray(rows - sums / np.maximum(counts, 1))


def _solved(series: Array, known: Array, lag: int, how: Settings) -> tuple[Array, Array]:
    """Effects (regressors, variables) with the ridge of least leave-one-out error, and their covariances."""
    target, source = _differences(series, lag), _differences(known, lag)
    effect = np.zeros((known.shape[1], series.shape[1]))
    doubt = np.zeros((series.shape[1], known.shape[1], known.shape[1]))
    for i, column in enumerate(target.T):
        there = np.isfinite(column)
        x, y = source[there], column[there]
        size = np.sqrt(np.mean(x**2, axis=0)) if len(x) else np.zeros(known.shape[1])
        scale = np.where(size > 1e-12 * np.max(size, initial=1e-300), size, np.inf)
        if len(y) < 4 or not np.isfinite(scale).any():
            continue
        left, power, right = np.linalg.svd(x / scale, full_matrices=False)
        best = np.inf
        low, high = np.log10(how.known_ridges)
        for ridge in 10.0 ** np.arange(low, high + 0.5) * len(y):
            shrunk = power**2 / (power**2 + ridge)
            fitted = left @ (shrunk * (left.T @ y))
            leverage = np.sum(left**2 * shrunk, axis=1)
            loss = float(np.mean(((y - fitted) / np.maximum(1 - leverage, 1e-6)) ** 2))
            if loss < best:
                best = loss
                effect[:, i] = right.T @ (power / (power**2 + ridge) * (left.T @ y)) / scale
                inverse = (right.T / (power**2 + ridge)) @ right
                doubt[i] = loss * inverse / np.outer(scale, scale)
    return effect, doubt


def _rolled(
    forecast: Callable[..., Forecast],
    series: Array,
    horizon: int,
    known: Array,
    kinds: list[int],
    options: dict[str, Any],
    how: Settings,
) -> tuple[int | None, dict[str, float] | None]:
    """The kind of differences whose rolling forecasts are best, None for none; mean errors with and without."""
    span = min(horizon, max(1, (len(series) - how.outlier_least) // (how.known_folds + 1)))
    cuts = [len(series) - span * k for k in range(how.known_folds, 0, -1)]
    if cuts[0] < how.outlier_least or not np.ptp(known[: len(series)], axis=0).any():
        return None, None
    totals = dict.fromkeys([None, *kinds], 0.0)
    for cut in cuts:
        truth = series[cut : cut + span]
        for kind in totals:
            effect = (
                np.zeros((known.shape[1], series.shape[1]))
                if kind is None
                else _solved(series[:cut], known[:cut], kind, how)[0]
            )
            made = forecast(series[:cut] - known[:cut] @ effect, span, 0.9, **options)
            off = np.abs(truth - np.asarray(made.point).reshape(truth.shape) - known[cut : cut + span] @ effect)
            scale = np.nanmean(np.abs(np.diff(series[:cut], axis=0)), axis=0)
            totals[kind] += float(np.nanmean(off / np.where(scale > 0, scale, 1.0)))
    best = min(kinds, key=lambda kind: totals[kind])
    errors = {"with": totals[best] / how.known_folds, "without": totals[None] / how.known_folds}
    return (best if totals[best] < how.known_worth * totals[None] else None), errors


def _together(
    made: Forecast,
    series: Array,
    ndim: int,
    added: Array,
    unsure: Array,
    limits: Any,
    level: float,
    options: dict[str, Any],
    note: str,
) -> Forecast:
    """The forecast of the rest, moved by the effect and as much wider as the effect is unsure."""
    grid = made.distribution
    assert isinstance(grid, QuantileGrid)
    values = grid.values.reshape(len(grid.values), len(added), -1)
    middle = values[len(values) // 2]
    spread = (values[-7] - values[6]) / 2.5631  # of a normal distribution, from its tenths on either side
    wider = np.sqrt(1 + (unsure / np.where(spread > 0, spread, np.inf)) ** 2)
    moved = middle + (values - middle) * wider + added
    settings = {"settings": options["settings"]} if "settings" in options else {}
    point = np.asarray(made.point).reshape(added.shape) + added
    moved, point, remarks = bounded(moved, point, read(series, **settings), limits)
    if ndim == 1:
        moved, point = moved[..., 0], point[..., 0]
    distribution = QuantileGrid.of(moved, grid.next_step, grid.between)
    return Forecast.from_grid(distribution, level, made.method, (*made.notes, *remarks, note), point)


def _words(effect: Array, beside: Known, filled: Array, errors: dict[str, float] | None) -> str:
    """Which regressors do what, largest first, and what they brought."""
    moves = np.abs(effect) * np.std(filled, axis=0)[:, None]
    order = np.argsort(-moves.max(axis=1))
    parts = []
    for i in order[:SHOWN]:
        sizes = ", ".join(f"{value:+.3g}" for value in effect[i, :SHOWN])
        parts.append(f"{beside.names[i]} {sizes} per unit")
    more = f" and {len(order) - SHOWN} more" if len(order) > SHOWN else ""
    return f"Known in advance: {'; '.join(parts)}{more}{_compared(errors)}."


def _compared(errors: dict[str, float] | None) -> str:
    if errors is None:
        return ""
    return f" (rolling errors {errors['with']:.3g} with, {errors['without']:.3g} without, in usual steps)"


def _noted(made: Forecast, note: str) -> Forecast:
    from dataclasses import replace

    return replace(made, notes=(*made.notes, note))
