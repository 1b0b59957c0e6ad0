"""Candidates, and the choice between them by rolling forecasts inside the context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_LOST = np.sqrt(2.0)  # how far two unrelated moments of a series are from each other, in spreads
_GOOD = 0.003  # rolling forecasts this close, in spreads, end the search
_GLANCE = 8  # steps of the short forecasts that decide which candidates of a tier get long ones
_FINALISTS = 3


class Model(Protocol):
    """Anything that continues a series from any origin: values[:origin] is known there."""

    @property
    def residual(self) -> float: ...

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array: ...


Fit = Callable[[Array, Indices, Mapping[str, Model]], Model | None]


@dataclass(frozen=True)
class Candidate:
    name: str
    fit: Fit


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate that was fitted to the early part of the context and made to forecast the rest."""

    candidate: Candidate
    model: Model
    errors: Array  # (origins, horizon, variables), NaN beyond the context
    score: float


@dataclass(frozen=True, eq=False)
class Rolling:
    """Where the early part ends and from where the rest is forecast."""

    early: int
    origins: Indices
    horizon: int

    @classmethod
    def over(cls, length: int, horizon: int) -> Rolling:
        early = max(4, int(0.7 * length))
        last = max(early, length - max(1, length // 20))
        count = min(16, last - early + 1)
        origins = np.unique(np.linspace(early, last, count).astype(np.intp))
        return cls(early, origins, min(horizon, length - early))

    def errors(self, model: Model, values: Array, horizon: int | None = None) -> Array:
        """Forecast minus truth for every origin; forecasts that left count as infinitely wrong."""
        horizon = min(horizon or self.horizon, self.horizon)
        forecast = model.rollout(values, self.origins, horizon)
        ahead = self.origins[:, None] + np.arange(horizon)
        truth = np.where((ahead < len(values))[..., None], values[np.minimum(ahead, len(values) - 1)], np.nan)
        return np.where(np.isnan(truth), np.nan, np.where(np.isfinite(forecast), forecast, np.inf) - truth)


def score(errors: Array) -> float:
    """Mean over origins and steps of the distance in spreads, lost forecasts counting as unrelated moments do."""
    distance = np.sqrt(np.mean(errors**2, axis=2))
    return float(np.nanmean(np.minimum(distance, _LOST)))


def trials(tiers: Sequence[Sequence[Candidate]], values: Array, rows: Indices, rolling: Rolling) -> list[Trial]:
    """Tier after tier of candidates, best first, until one is good."""
    found: list[Trial] = []
    known: dict[str, Model] = {}
    early, early_rows = values[: rolling.early], rows[rows < rolling.early - 1]
    for tier in tiers:
        glances = []
        for candidate in tier:
            model = candidate.fit(early, early_rows, known)
            if model is None:
                continue
            known[candidate.name] = model
            glances.append((score(rolling.errors(model, values, _GLANCE)), len(glances), candidate, model))
        for _, _, candidate, model in sorted(glances)[:_FINALISTS]:
            errors = rolling.errors(model, values)
            found.append(Trial(candidate, model, errors, score(errors)))
        found.sort(key=lambda trial: trial.score)
        if found and found[0].score < _GOOD:
            break
    return found
