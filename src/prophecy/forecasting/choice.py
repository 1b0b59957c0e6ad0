"""The laboratory's candidates, and their ranking by rolling forecasts inside the context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting import scorer
from prophecy.laws.context import Rows
from prophecy.laws.settings import Settings

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


class Rolling(scorer.Rolling):
    """The scorer's origins, for models of all variables together."""

    @classmethod
    def of_all(cls, known: Mask, steps: int, settings: Settings) -> Self:
        """Fewer origins, later, without seasons: models of all variables need much of the context, and each of their
        forecasts is costly."""
        how = settings.laboratory
        rest = int((1 - how.rolled_early) * len(known))
        fewer = replace(settings.ordinary, origins=how.rolled, early=how.rolled_early, leads=1)
        return cls.over(known, max(1, min(steps, 2 * rest // 3)), 1, fewer)

    def errors(self, model: Model, values: Array) -> Array:
        """Forecast minus truth from every origin, NaN where nothing was observed and after the end of the context."""
        return self._errors(model, values, self.origins, self.steps)

    def glance(self, model: Model, values: Array, settings: Settings) -> float:
        """The typical error one step ahead, from every moment of the rest."""
        origins = np.arange(self.early, len(values))
        origins = origins[self.known[origins - 1]][-settings.laboratory.glance_origins :]
        distance = np.sqrt(np.mean(self._errors(model, values, origins, 1) ** 2, axis=2))
        distance = distance[~np.isnan(distance)]
        return float(np.median(distance)) if distance.size else 0.0

    def soon_lost(self, model: Model, values: Array, best: Array, settings: Settings) -> bool:
        """Whether a first stretch of the forecasts is already much worse than the best so far."""
        stretch = min(settings.laboratory.first_stretch, self.steps)
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
