"""The laboratory's candidates, and their ranking by rolling forecasts inside the context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics.context import Rows
from prophecy.dynamics.settings import Settings

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

_LOST = np.sqrt(2.0)  # how far two unrelated moments of a series are from each other, in standard deviations


class Model(Protocol):
    """Anything that continues a series from any origin: values[:origin] is known there."""

    @property
    def residual(self) -> float:
        """What it left of the context it was solved from, in standard deviations."""

    @property
    def conclusive(self) -> bool:
        """Whether it explains that context so well that no other candidate need be tried."""

    @property
    def whole_past(self) -> bool:
        """Whether a forecast depends on more than the latest samples."""

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array: ...


Fit = Callable[[Array, Rows, Sequence[Model]], Model | None]


@dataclass(frozen=True)
class Candidate:
    """fit(values, rows, models found so far): a candidate that builds on another finds it there by its type."""

    name: str
    fit: Fit


@dataclass(frozen=True)
class Tier:
    """Candidates tried together; the `finalists` that were best one step ahead go on to long forecasts."""

    candidates: Sequence[Candidate]
    finalists: int = 2


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate that was fitted to the early part of the context and made to forecast the rest."""

    candidate: Candidate
    model: Model
    errors: Array  # (origins, horizon, variables), NaN beyond the context
    score: float


@dataclass(frozen=True, eq=False)
class Rolling:
    """Where the early part ends and from where the rest is forecast. known: which samples were observed.

    Forecasts start after observed samples and are compared with observed samples: a bridge over a gap knows its end.
    """

    early: int
    origins: Indices
    horizon: int
    known: Mask

    @classmethod
    def over(cls, known: Mask, horizon: int, season: int, settings: Settings) -> Rolling:
        """season: the shortest there is, in samples; the early part should hold it twice."""
        length, seen = len(known), np.nonzero(known)[0]
        long = length >= settings.rolling_long
        share = settings.rolling_early_long if long else settings.rolling_early_short
        early = max(5, int(seen[max(int(share * len(seen)), 1) - 1]) + 1) if len(seen) > 1 else length
        early = min(max(early, min(2 * season + 2, length - 2)), length - 1)
        if not known[early:].any():
            return cls.over(np.ones(length, dtype=np.bool_), horizon, season, settings)
        last = max(early, length - max(1, len(seen) // 20))
        count = min(settings.rolling_forecasts, last - early + 1)
        spread = np.linspace(early, last, count).astype(np.intp)
        after_seen = np.maximum.accumulate(np.where(known, np.arange(1, length + 1), 0))
        origins = np.unique(np.maximum(after_seen[spread - 1], early))
        wait = seen[np.minimum(np.searchsorted(seen, origins), len(seen) - 1)] - origins
        nearest = int(np.median(wait[wait >= 0])) + 1
        reach = 2 * (length - early) // 3 if long else length - early
        return cls(early, origins, max(nearest, min(horizon, max(1, reach))), known)

    def errors(self, model: Model, values: Array) -> Array:
        """Forecast minus truth from every origin, NaN where nothing was observed and after the end of the context."""
        return self._errors(model, values, self.origins, self.horizon)

    def glance(self, model: Model, values: Array, settings: Settings) -> float:
        """The typical error one step ahead, from every moment of the rest."""
        origins = np.arange(self.early, len(values))
        origins = origins[self.known[origins - 1]][-settings.laboratory.glance_origins :]
        distance = np.sqrt(np.mean(self._errors(model, values, origins, 1) ** 2, axis=2))
        distance = distance[~np.isnan(distance)]
        return float(np.median(distance)) if distance.size else 0.0

    def soon_lost(self, model: Model, values: Array, best: Array, settings: Settings) -> bool:
        """Whether a first stretch of the forecasts is already much worse than the best so far."""
        stretch = min(settings.laboratory.first_stretch, self.horizon)
        first = self._errors(model, values, self.origins, stretch)
        return score(first) > 2 * score(best[:, :stretch]) + settings.laboratory.slight

    def _errors(self, model: Model, values: Array, origins: Indices, horizon: int) -> Array:
        forecast = model.rollout(values, origins, horizon)
        ahead = origins[:, None] + np.arange(horizon)
        inside = np.minimum(ahead, len(values) - 1)
        truth = np.where(((ahead < len(values)) & self.known[inside])[..., None], values[inside], np.nan)
        return np.where(np.isnan(truth), np.nan, np.where(np.isfinite(forecast), forecast, np.inf) - truth)


def score(errors: Array) -> float:
    """Mean distance over origins and steps, in standard deviations; the lost count as unrelated moments do."""
    distance = np.sqrt(np.mean(errors**2, axis=2))
    distance = distance[~np.isnan(distance)]
    return float(np.mean(np.minimum(distance, _LOST))) if distance.size else np.nan


def trials(tiers: Iterable[Tier], values: Array, rows: Rows, rolling: Rolling, settings: Settings) -> list[Trial]:
    """Tier after tier of candidates, best first, until one is good."""
    found: list[Trial] = []
    known: list[Model] = []
    early, early_rows = values[: rolling.early], rows.before(rolling.early)
    for tier in tiers:
        glances: list[tuple[float, int, Candidate, Model]] = []
        for candidate in tier.candidates:
            model = candidate.fit(early, early_rows, known)
            if model is None:
                continue
            known.append(model)
            contested = len(tier.candidates) > tier.finalists
            glances.append(
                (rolling.glance(model, values, settings) if contested else 0.0, len(glances), candidate, model)
            )
        for _, _, candidate, model in sorted(glances)[: tier.finalists]:
            if found and rolling.soon_lost(model, values, found[0].errors, settings):
                continue
            errors = rolling.errors(model, values)
            found.append(Trial(candidate, model, errors, score(errors)))
        found.sort(key=lambda trial: trial.score)
        if found and (found[0].score < settings.laboratory.good_enough or found[0].model.conclusive):
            break
    return found
