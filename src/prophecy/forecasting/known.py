"""What is known in advance: prices, holidays, weather. A linear effect, solved in context, taken out of the series.

The effect b of regressors r on x is solved by ridge regression of differences d, from one value or season to the next
or from a local mean, whichever leaves least: trends and seasons of both would pass for an effect. The ridge has the
least leave-one-out error. Candidates describe x - r b where that explains more than it costs (Akaike):

    gain = flatness (ν + 1) / 2 Σ [log(1 + d² / ν s²) - log(1 + (d - r b)² / ν s²)] > known_cost · regressors

s is 1.48 medians of |d|, the mean where most are 0. x are values or their logarithms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prophecy._arrays import Array, Mask
from prophecy._forecast import PROBABILITIES
from prophecy.forecasting.series import VALUES, Scale, Series, logarithms
from prophecy.forecasting.settings import Settings

SHOWN = 4  # regressors whose size is reported
_LOW, _MIDDLE, _HIGH = np.searchsorted(PROBABILITIES, [0.16, 0.5, 0.84])


@dataclass(frozen=True, eq=False)
class Known:
    """Regressors over past and future, (time + horizon, regressors), with their names if they have any."""

    values: Array
    names: tuple[str, ...]

    @property
    def plain(self) -> tuple[str, ...]:
        """Names for equations: u, or u1, u2, …, where none were given."""
        count = self.values.shape[1]
        return self.names or (("u",) if count == 1 else tuple(f"u{i + 1}" for i in range(count)))

    def latest(self, ahead: int, samples: int | None = None, stride: int = 1) -> Known:
        """At the last `samples` moments, `stride` rows apart, and at those ahead; less the mean of the past, 0 where
        missing."""
        last = len(self.values) - ahead - 1
        at = last + stride * np.arange(1 - (samples or last + 1), -(-ahead // stride) + 1)
        rows = self.values[np.minimum(at, last + ahead)]
        centre = np.array([np.nanmean(x) if np.isfinite(x).any() else 0.0 for x in rows[at <= last].T])
        return Known(np.where(np.isfinite(rows), rows - centre, 0.0), self.names)

    @classmethod
    def of(cls, known: Any, time: int, horizon: int) -> Known:
        """Checked: one row for each value and each step ahead, none of those ahead missing."""
        given, names = (known.values, known.names) if isinstance(known, Known) else (known, ())
        values = np.asarray(given, dtype=np.float64)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != time + horizon:
            raise ValueError(
                f"known must be (time + horizon, regressors) = ({time} + {horizon}, …), got shape {values.shape}"
            )
        if not np.isfinite(values[time:]).all():
            row = int(np.argwhere(~np.isfinite(values[time:]))[0, 0])
            raise ValueError(f"known is missing {row + 1} steps ahead; it must be given over the whole horizon")
        return cls(np.where(np.isfinite(values), values, np.nan), names)


@dataclass(frozen=True, eq=False)
class Effect:
    """size: (regressors,); doubt: its covariance; gain: nats. known: (time + horizon, regressors), on what scale."""

    size: Array
    doubt: Array
    gain: float
    known: Array
    scale: Scale = VALUES

    def rest(self, y: Array) -> Array:
        """What the effect leaves of the past, on the scale."""
        return np.asarray(self.scale.of(y) - self.known[: len(y)] @ self.size)

    def without(self, series: Series) -> Series:
        return replace(series, y=self.scale.back(self.rest(series.y))) if self.size.any() else series

    def back(self, grid: Array) -> Array:
        """The effect ahead, added to quantiles (probabilities, horizon), which its doubt widens."""
        if not self.size.any():
            return grid
        ahead, middle = self.known[-grid.shape[1] :], grid[_MIDDLE]
        doubt = np.sqrt(np.einsum("tr,rs,ts->t", ahead, self.doubt, ahead))
        doubt *= 1.0 if self.scale is VALUES else np.abs(middle)
        wider = middle + (grid - middle) * np.hypot(1, 2 * doubt / np.maximum(grid[_HIGH] - grid[_LOW], 1e-300))
        moved = ahead @ self.size
        return np.asarray(wider + moved if self.scale is VALUES else wider * np.exp(moved))


def chosen(series: Series, known: Array, settings: Settings) -> Effect:
    """The effect of what is known, (time + horizon, regressors), on values or on logarithms, whichever leave smaller
    changes for their slope; 0 where it does not pay."""
    scales = (VALUES, logarithms(series.sign)) if series.sign else (VALUES,)
    found = [(solved(scale.of(series.y), series.seen, known, series.seasons, settings), scale) for scale in scales]

    def likelihood(effect: Effect) -> float:
        change = np.abs(np.diff(effect.rest(series.y))).mean() + 1e-300
        return float(np.mean(effect.scale.log_slope(series.y)) - np.log(change))

    return max((replace(effect, scale=scale) for effect, scale in found), key=likelihood)


def explained(raw: Array, known: Array, settings: Settings) -> Array:
    """(time, variables): the effects on raw, NaN where missing."""
    return np.stack([known[: len(raw)] @ solved(x, ~np.isnan(x), known, (), settings).size for x in raw.T], axis=1)


def solved(x: Array, seen: Mask, known: Array, seasons: Sequence[int], settings: Settings) -> Effect:
    """The effect, from the differences that leave least; 0 where it does not pay."""
    count = known.shape[1]
    none = Effect(np.zeros(count), np.zeros((count, count)), 0.0, known)
    x, lags = np.where(seen, x, np.nan), [lag for lag in (0, 1, *seasons) if lag < len(x) // 3]
    tried = [each for lag in lags for each in _effects(x, known, lag, settings)]
    best = min(tried, key=lambda each: each[0], default=(0.0, none))[1]
    return best if best.gain > settings.known_cost * count else none


def _differences(rows: Array, lag: int) -> Array:
    """From `lag` rows before; with lag 0 from the mean of as many rows before and after, an eighth of all at most (but
    eight), so that a line leaves nothing."""
    if lag:
        return np.asarray(rows[lag:] - rows[:-lag])
    there, at = np.isfinite(rows), np.arange(len(rows))
    reach = np.minimum(max(4, len(rows) // 16), np.minimum(at, at[::-1]))
    totals = [np.append(0.0, np.cumsum(each)) for each in (np.where(there, rows, 0.0), there)]
    sums, counts = (total[at + reach + 1] - total[at - reach] for total in totals)
    return np.asarray(rows - sums / np.maximum(counts, 1))


def _effects(x: Array, known: Array, lag: int, settings: Settings) -> Iterator[tuple[float, Effect]]:
    """The leave-one-out error and the effect of every ridge."""
    target, source = _differences(x, lag), np.column_stack([_differences(each, lag) for each in known[: len(x)].T])
    there = np.isfinite(target)
    source, target = source[there], target[there]
    if len(target) < 4 or not source.any():
        return
    size = np.sqrt(np.mean(source**2, axis=0))
    scale = np.where(size > 1e-12 * np.max(size), size, np.inf)
    left, power, right = np.linalg.svd(source / scale, full_matrices=False)
    (low, high), nu = np.log10(settings.readout_ridges), settings.tails
    usual = float(1.4826 * np.median(np.abs(target)) or np.mean(np.abs(target))) + 1e-300
    for ridge in 10.0 ** np.arange(low, high + 0.5) * len(target):
        shrunk = power**2 / (power**2 + ridge)
        off = (target - left @ (shrunk * (left.T @ target))) / np.maximum(1 - left**2 @ shrunk, 1e-6)
        loss = float(np.mean(off**2))
        effect = right.T @ (power / (power**2 + ridge) * (left.T @ target)) / scale
        doubt = loss * (right.T / (power**2 + ridge)) @ right / np.outer(scale, scale)
        surprise = [np.log1p((each / usual) ** 2 / nu).sum() for each in (target, target - source @ effect)]
        yield loss, Effect(effect, doubt, settings.flatness * (nu + 1) / 2 * float(surprise[0] - surprise[1]), known)


def known_note(beside: Known, effects: Sequence[Effect]) -> str:
    """Which regressors do what, largest first; on logarithms as a share."""
    found = [np.abs(effect.size) * np.std(effect.known, axis=0) * np.sqrt(effect.gain) for effect in effects]
    if not np.any(found):
        return "What is known in advance was not used: it explains too little."
    names = beside.names or [f"regressor {i + 1}" for i in range(len(found[0]))]
    sizes = [
        [f"{v:+.3g}" if one.scale is VALUES else f"{100 * np.expm1(v):+.3g} %" for v in one.size] for one in effects
    ]
    order = np.argsort(-np.max(found, axis=0))[:SHOWN]
    said = [f"{names[i]} {', '.join(each[i] for each in sizes[:SHOWN])} per unit" for i in order]
    more = f" and {len(found[0]) - SHOWN} more" if len(found[0]) > SHOWN else ""
    return f"Known in advance: {'; '.join(said)}{more}."
