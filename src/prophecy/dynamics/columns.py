"""Candidates for ordinary series: each variable on its own, in its own units.

What is smoothed, read out or averaged here needs no second variable; the laboratory's candidates (`candidates`) see all
of them together. Both are rolled and mixed alike (`mixing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics.direct import fit_readout, hippo, lags
from prophecy.dynamics.plain import Drift, Growth, MeanProfile, RareEvents
from prophecy.dynamics.settings import Settings
from prophecy.dynamics.smoothers import FittedSmoothers, fit_smoothers

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


class Kind(Enum):
    """What a candidate is: priors, intervals and ablations go by this, never by a name."""

    SMOOTHERS = "smoothers"
    LOG_SMOOTHERS = "smoothers of logarithms"
    THETA = "Theta"
    READOUT = "direct readout"
    SEASONAL_READOUT = "direct readout of what a season leaves"
    HIPPO_READOUT = "direct readout of a HiPPO memory"
    PROFILE = "mean profile"
    LONG_PROFILE = "mean profile over the longer season"
    COPY = "copy"
    DRIFT = "drift"
    GROWTH = "season with growth"
    RARE = "rare events"
    LABORATORY = "laboratory"


class ColumnModel(Protocol):
    def rollout(self, y: Array, origins: Indices, horizon: int) -> Array:
        """(origins, horizon) paths, in units of y."""


@dataclass(frozen=True)
class Column:
    """One variable: its values, gaps filled, which of them were seen, and the seasons worth looking at."""

    y: Array
    seen: Mask
    seasons: tuple[int, ...]
    horizon: int

    def before(self, end: int) -> Column:
        return Column(self.y[:end], self.seen[:end], self.seasons, self.horizon)


@dataclass(frozen=True)
class ColumnCandidate:
    """fit: None where the column is too short, or has no logarithm, or no season."""

    kind: Kind
    label: str
    fit: Callable[[Column], ColumnModel | None]


@dataclass(frozen=True, eq=False)
class SmootherModel:
    fitted: FittedSmoothers
    seen: Mask

    def rollout(self, y: Array, origins: Indices, horizon: int) -> Array:
        return self.spread(y, origins, horizon)[0]

    def spread(self, y: Array, origins: Indices, horizon: int) -> tuple[Array, Array]:
        """Paths, and the standard deviations of their errors to come, both in units of y."""
        paths, deviation = self.fitted.run(y, self.seen[: len(y)], origins, horizon)
        if not self.fitted.log:
            return paths, deviation
        return np.exp(paths), np.exp(paths) * deviation


def candidates(column: Column, settings: Settings) -> Iterator[ColumnCandidate]:
    """All that may work for a column of this length and these seasons, of the kinds that settings allow."""
    for candidate in _all(column, settings):
        if candidate.kind.name not in settings.without:
            yield candidate


def _all(column: Column, settings: Settings) -> Iterator[ColumnCandidate]:
    positive = bool((column.y > 0).all())
    seen = column.seen
    for log in (False, True) if positive else (False,):
        of = " of logarithms" if log else ""
        kind = Kind.LOG_SMOOTHERS if log else Kind.SMOOTHERS
        yield ColumnCandidate(kind, f"smoothers{of}", _smoothers(log, False, seen, settings))
        yield ColumnCandidate(Kind.THETA, f"Theta{of}", _smoothers(log, True, seen, settings))
    short, long = min(column.seasons, default=1), max(column.seasons, default=1)
    if np.mean(seen) >= settings.readout_seen:
        yield from _readouts(column, positive, short, settings)
    yield ColumnCandidate(Kind.COPY, "last value", lambda c: Drift(0.0))
    yield ColumnCandidate(Kind.DRIFT, "straight line", lambda c: Drift(1.0))
    if short > 1:
        yield ColumnCandidate(Kind.GROWTH, "season with growth", _profile(Growth(short), 2 * short))
        for cycles in settings.profile_cycles:
            label = f"mean of {cycles} seasons of {short}" if cycles > 1 else f"last season of {short}"
            yield ColumnCandidate(Kind.PROFILE, label, _profile(MeanProfile(short, cycles), cycles * short))
        week = long if long > short else 7 * short
        for cycles in settings.long_profile_cycles:
            label = f"mean of {cycles} seasons of {week}" if cycles > 1 else f"last season of {week}"
            yield ColumnCandidate(Kind.LONG_PROFILE, label, _profile(MeanProfile(week, cycles), cycles * week))
    if positive is False and _rare(column, settings):
        yield ColumnCandidate(Kind.RARE, "rate of rare events", lambda c: RareEvents(settings.rare_rates))


def _rare(column: Column, settings: Settings) -> bool:
    y = column.y[column.seen]
    return bool(len(y) and (y >= 0).all() and np.mean(y == 0) >= settings.rare_zeros)


def _readouts(column: Column, positive: bool, short: int, settings: Settings) -> Iterator[ColumnCandidate]:
    counts = [k * short for k in settings.readout_seasons] if short > 1 else list(settings.readout_lags)
    for log in (False, True) if positive else (False,):
        of = " of logarithms" if log else ""
        for count in counts:
            if 2 <= count <= settings.readout_most and len(column.y) >= 3 * count:
                label = f"direct readout of {count} values{of}"
                yield ColumnCandidate(Kind.READOUT, label, _readout(lags(count), (), log, settings))
        if short > 1 and 2 * short <= settings.readout_most:
            label = f"direct readout of {2 * short} values less their season{of}"
            fit = _readout(lags(2 * short), column.seasons, log, settings)
            yield ColumnCandidate(Kind.SEASONAL_READOUT, label, fit)
        count, window = (2 * short, 7 * short) if short > 1 else (8, 64)
        if window <= settings.readout_most and len(column.y) >= 3 * window:
            memory = hippo(count, window, min(settings.hippo_order, window // 2))
            label = f"direct readout of a HiPPO memory of {window} values{of}"
            yield ColumnCandidate(Kind.HIPPO_READOUT, label, _readout(memory, (), log, settings))


def _smoothers(log: bool, half_slope: bool, seen: Mask, settings: Settings) -> Callable[[Column], ColumnModel | None]:
    def fit(column: Column) -> ColumnModel | None:
        fitted = fit_smoothers(column.y, column.seasons, log, half_slope, settings)
        return None if fitted is None else SmootherModel(fitted, seen)

    return fit


def _readout(
    memory: Array, seasons: tuple[int, ...], log: bool, settings: Settings
) -> Callable[[Column], ColumnModel | None]:
    return lambda column: fit_readout(column.y, column.horizon, memory, seasons, log, settings)


def _profile(model: ColumnModel, least: int) -> Callable[[Column], ColumnModel | None]:
    return lambda column: model if len(column.y) >= least else None
