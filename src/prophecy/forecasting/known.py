"""What is known in advance: prices, holidays, weather. A linear effect, solved in context, judged by the one scorer.

Every candidate of one variable is tried with and without. The effect b of regressors r on x is solved by ridge
regression of differences, from one value or season to the next or from a local mean, whichever leaves least: trends and
seasons of both would pass for an effect. The ridge has the least leave-one-out error. The candidate describes x - r b.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prophecy._arrays import Array, Indices, Mask
from prophecy.forecasting.series import Ahead, Candidate, Fitted, Series
from prophecy.forecasting.settings import Settings

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
class Adjusted:
    """A candidate of what an effect leaves. effect: (regressors,), doubt: its covariance, known: (time, regressors)."""

    effect: Array
    doubt: Array
    known: Array
    rest: Fitted

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> Ahead:
        moved, times = self.known @ self.effect, np.arange(steps)
        locations, deviations = self.rest.predictive(x - moved[: len(x)], seen, origins, steps)
        ahead = np.minimum(origins[:, None] + times, len(moved) - 1)
        if deviations is not None:
            unsure = np.einsum("tr,rs,ts->t", self.known, self.doubt, self.known)
            deviations = np.sqrt(deviations**2 + unsure[ahead])
        return np.asarray(locations + moved[ahead]), deviations


def adjusted(some: Iterable[Candidate], series: Series, settings: Settings) -> Iterator[Candidate]:
    """The same candidates with the regressors of the series."""
    if series.known is None:
        return
    known = series.known
    for candidate in some:

        def fit(x: Array, seen: Mask, steps: int, candidate: Candidate = candidate) -> Fitted | None:
            effect, doubt = solved(x, seen, known[: len(x)], series.seasons, settings)
            rest = candidate.fit(x - known[: len(x)] @ effect, seen, steps) if effect.any() else None
            return None if rest is None else Adjusted(effect, doubt, known, rest)

        count, label = known.shape[1], f"{candidate.label} with what is known"
        share = candidate.share * math.exp(-settings.known_cost * count)
        yield replace(candidate, label=label, fit=fit, share=share, regressors=count)


def solved(x: Array, seen: Mask, known: Array, seasons: Sequence[int], settings: Settings) -> tuple[Array, Array]:
    """The effect, (regressors,), and its covariance, from the differences that leave least; 0 where none is told."""
    best = np.inf, np.zeros(known.shape[1]), np.zeros((known.shape[1],) * 2)
    for lag in (0, 1, *seasons):
        if lag < len(x) // 3:
            best = min(best, _effect(np.where(seen, x, np.nan), known, lag, settings), key=lambda each: each[0])
    return best[1:]


def _differences(rows: Array, lag: int) -> Array:
    """From `lag` rows before; with lag 0 from a local mean over an eighth of the rows (at least eight)."""
    if lag:
        return np.asarray(rows[lag:] - rows[:-lag])
    window = np.ones(max(8, len(rows) // 8) | 1)
    there = np.isfinite(rows)
    around = slice(len(window) // 2, len(window) // 2 + len(rows))  # also where the window is the longer one
    sums, counts = (np.convolve(each, window)[around] for each in (np.where(there, rows, 0.0), there.astype(float)))
    return np.asarray(rows - sums / np.maximum(counts, 1))


def _effect(x: Array, known: Array, lag: int, settings: Settings) -> tuple[float, Array, Array]:
    """The least leave-one-out error, the effect with the ridge that has it, and its covariance."""
    target, source = _differences(x, lag), np.column_stack([_differences(each, lag) for each in known.T])
    there = np.isfinite(target)
    source, target = source[there], target[there]
    best = np.inf, np.zeros(known.shape[1]), np.zeros((known.shape[1],) * 2)
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
            best = loss, effect, loss * (right.T / (power**2 + ridge)) @ right / np.outer(scale, scale)
    return best


def known_note(beside: Known, columns: Sequence[Series], shares: Sequence[float], settings: Settings) -> str:
    """Which regressors do what, largest first. shares: the weight of candidates with them, of each variable."""
    if max(shares, default=0.0) < 0.5:
        return "What is known in advance was not used: it did not help in rolling forecasts."
    given = [(column, column.known) for column in columns if column.known is not None]
    found = [solved(one.y, one.seen, rows[: len(one.y)], one.seasons, settings)[0] for one, rows in given]
    effects, spread = np.column_stack(found), np.std(given[0][1], axis=0)
    order = np.argsort(-(np.abs(effects) * spread[:, None]).max(axis=1))
    parts = [f"{beside.names[i]} {', '.join(f'{v:+.3g}' for v in effects[i, :SHOWN])} per unit" for i in order[:SHOWN]]
    more = f" and {len(order) - SHOWN} more" if len(order) > SHOWN else ""
    return f"Known in advance: {'; '.join(parts)}{more}."
