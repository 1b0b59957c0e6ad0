"""What is known in advance: prices, holidays, weather. A linear effect, solved in context, judged by the one scorer.

Every candidate of one variable is tried with and without. The effect b of regressors r on x is solved by ridge
regression of differences, from one value or season to the next or from a local mean, whichever leaves least: trends and
seasons of both would pass for an effect. The ridge has the least leave-one-out error. The candidate describes x - r b.

What the effect explains of all differences d, the few holidays in the early part too, is the prior of candidates with it:

    gain = flatness (ν + 1) / 2 Σ [log(1 + d² / ν s²) - log(1 + (d - r b)² / ν s²)],   s from the median of |d|
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from prophecy._arrays import Array, Indices, Mask
from prophecy.forecasting.series import VALUES, Ahead, Candidate, Fitted, Scale, Series, logarithms
from prophecy.forecasting.settings import Settings

if TYPE_CHECKING:
    from prophecy.forecasting.mixture import Mixture

SHOWN = 4  # regressors whose size is reported
_SURE = 300.0  # nats: a prior that nothing outweighs and a float still holds


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

    def thinned(self, samples: int, ahead: int, stride: int) -> Known:
        """At the last `samples` moments, `stride` rows apart, and those after them up to the last `ahead` rows."""
        last = len(self.values) - ahead - 1
        at = last + stride * np.arange(1 - samples, -(-ahead // stride) + 1)
        return Known(self.values[np.minimum(at, len(self.values) - 1)], self.names)

    def latest(self, samples: int, ahead: int) -> Array:
        """The last rows, each column less its mean over the past, 0 where missing."""
        rows = self.values[-samples - ahead :]
        past = rows[:samples]
        centre = np.array([np.nanmean(column) if np.isfinite(column).any() else 0.0 for column in past.T])
        return np.where(np.isfinite(rows), rows - centre, 0.0)

    def past(self, ahead: int) -> Array:
        """All rows but the last."""
        return self.latest(len(self.values) - ahead, ahead)[:-ahead]

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


@dataclass(frozen=True, eq=False)
class Effect:
    """size: (regressors,); doubt: its covariance; gain: how many nats it explains."""

    size: Array
    doubt: Array
    gain: float

    @classmethod
    def none(cls, regressors: int) -> Effect:
        return cls(np.zeros(regressors), np.zeros((regressors, regressors)), 0.0)


@dataclass(frozen=True, eq=False)
class Adjusted:
    """A candidate of what an effect leaves. known: (time, regressors)."""

    effect: Effect
    known: Array
    rest: Fitted

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> Ahead:
        moved, times = self.known @ self.effect.size, np.arange(steps)
        locations, deviations = self.rest.predictive(x - moved[: len(x)], seen, origins, steps)
        ahead = np.minimum(origins[:, None] + times, len(moved) - 1)
        if deviations is not None:
            unsure = np.einsum("tr,rs,ts->t", self.known, self.effect.doubt, self.known)
            deviations = np.sqrt(deviations**2 + unsure[ahead])
        return np.asarray(locations + moved[ahead]), deviations


def adjusted(some: Iterable[Candidate], series: Series, settings: Settings) -> Iterator[Candidate]:
    """The same candidates with the regressors of the series, where their effect pays for itself."""
    if series.known is None:
        return
    known = series.known

    @cache
    def effect(scale: Scale) -> Effect:
        return solved(scale.of(series.y), series.seen, known[: len(series.y)], series.seasons, settings)

    count, gain = known.shape[1], effect(VALUES).gain
    for candidate in some:

        def fit(x: Array, seen: Mask, steps: int, candidate: Candidate = candidate) -> Fitted | None:
            found = effect(candidate.scale)
            rest = candidate.fit(x - known[: len(x)] @ found.size, seen, steps) if found.size.any() else None
            return None if rest is None else Adjusted(found, known, rest)

        share = candidate.share * math.exp(min(gain, _SURE) - settings.known_cost * count)
        yield replace(candidate, label=f"{candidate.label} with what is known", fit=fit, share=share, regressors=count)


def explained(raw: Array, known: Array, settings: Settings) -> Array:
    """(time, variables): the effects on raw, NaN where missing, that pay for themselves; elsewhere 0."""
    found = [solved(column, ~np.isnan(column), known, (), settings) for column in raw.T]
    cost = settings.known_cost * known.shape[1]
    return np.stack([known @ each.size * (each.gain > cost) for each in found], axis=1)


def solved(x: Array, seen: Mask, known: Array, seasons: Sequence[int], settings: Settings) -> Effect:
    """The effect, from the differences that leave least; 0 where none is told."""
    best = np.inf, Effect.none(known.shape[1])
    for lag in (0, 1, *seasons):
        if lag < len(x) // 3:
            best = min(best, _effect(np.where(seen, x, np.nan), known, lag, settings), key=lambda each: each[0])
    return best[1]


def _differences(rows: Array, lag: int) -> Array:
    """From `lag` rows before; with lag 0 from a local mean over an eighth of the rows (at least eight)."""
    if lag:
        return np.asarray(rows[lag:] - rows[:-lag])
    window = np.ones(max(8, len(rows) // 8) | 1)
    there = np.isfinite(rows)
    around = slice(len(window) // 2, len(window) // 2 + len(rows))  # also where the window is the longer one
    sums, counts = (np.convolve(each, window)[around] for each in (np.where(there, rows, 0.0), there.astype(float)))
    return np.asarray(rows - sums / np.maximum(counts, 1))


def _effect(x: Array, known: Array, lag: int, settings: Settings) -> tuple[float, Effect]:
    """The least leave-one-out error, and the effect with the ridge that has it."""
    target, source = _differences(x, lag), np.column_stack([_differences(each, lag) for each in known.T])
    there = np.isfinite(target)
    source, target = source[there], target[there]
    best = np.inf, Effect.none(known.shape[1])
    size = np.sqrt(np.mean(source**2, axis=0)) if len(target) else np.zeros(known.shape[1])
    scale = np.where(size > 1e-12 * np.max(size, initial=1e-300), size, np.inf)
    if len(target) < 4 or not np.isfinite(scale).any():
        return best
    left, power, right = np.linalg.svd(source / scale, full_matrices=False)
    low, high = np.log10(settings.readout_ridges)
    for ridge in 10.0 ** np.arange(low, high + 0.5) * len(target):
        shrunk = power**2 / (power**2 + ridge)
        off = (target - left @ (shrunk * (left.T @ target))) / np.maximum(1 - left**2 @ shrunk, 1e-6)
        loss = float(np.mean(off**2))
        if loss < best[0]:
            effect = right.T @ (power / (power**2 + ridge) * (left.T @ target)) / scale
            doubt = loss * (right.T / (power**2 + ridge)) @ right / np.outer(scale, scale)
            best = loss, Effect(effect, doubt, _gain(target, target - source @ effect, settings))
    return best


def _gain(before: Array, after: Array, settings: Settings) -> float:
    """What is said at the top of differences before and after an effect is taken out."""
    usual, nu = 1.4826 * float(np.median(np.abs(before))) + 1e-300, settings.tails
    surprise = [float(np.log1p((each / usual) ** 2 / nu).sum()) for each in (before, after)]
    return settings.flatness * (nu + 1) / 2 * (surprise[0] - surprise[1])


def known_note(beside: Known, mixtures: Sequence[Mixture], settings: Settings) -> str:
    """Which regressors do what, largest first: as a share where logarithms have most of the weight."""
    if max(mixture.weight(lambda one: one.regressors > 0) for mixture in mixtures) < 0.5:
        return "What is known in advance was not used: it did not help in rolling forecasts."
    found, said = [], []
    for mixture in mixtures:
        one, share = mixture.series, mixture.weight(lambda each: each.scale is not VALUES) > 0.5
        scale, known = logarithms(one.sign) if share else VALUES, np.asarray(one.known)[: len(one.y)]
        effect = solved(scale.of(one.y), one.seen, known, one.seasons, settings).size
        found.append(np.abs(effect) * np.std(known, axis=0) * (np.std(one.y) if share else 1.0))
        said.append([f"{100 * np.expm1(v):+.3g} %" if share else f"{v:+.3g}" for v in effect])
    order = np.argsort(-np.max(found, axis=0))
    parts = [f"{beside.names[i]} {', '.join(each[i] for each in said[:SHOWN])} per unit" for i in order[:SHOWN]]
    more = f" and {len(order) - SHOWN} more" if len(order) > SHOWN else ""
    return f"Known in advance: {'; '.join(parts)}{more}."
