"""How candidates are mixed: by the errors of their rolling forecasts inside the context, held back by a prior."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics.choice import Rolling
from prophecy.dynamics.columns import Column, ColumnModel, Kind, SmootherModel, candidates
from prophecy.dynamics.settings import Settings

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Rolled:
    """A candidate rolled over the context and fitted to all of it.

    errors: (origins, steps), forecast minus truth, NaN where there is nothing to compare with or it could not be
    rolled. path: (horizon,). deviations: (origins, steps) and (horizon,), the standard deviations of its errors that
    it expects itself, or None.
    """

    kind: Kind
    label: str
    errors: Array
    path: Array
    deviations: tuple[Array, Array] | None = None


@dataclass(frozen=True, eq=False)
class Mixture:
    """One variable's mixture: weights of the parts, the path they make, and the rolling errors of that path."""

    parts: list[Rolled]
    weights: Array
    path: Array
    errors: Array

    def smoothers(self) -> tuple[Array, Array, Array] | None:
        """Errors they rolled with, standard deviations they expected then and expect now; each by its weight."""
        chosen = [
            (w + 1e-9, part) for w, part in zip(self.weights, self.parts, strict=True) if part.deviations is not None
        ]
        if not chosen:
            return None
        shares = np.array([w for w, _ in chosen]) / sum(w for w, _ in chosen)
        errors = sum(share * part.errors for share, (_, part) in zip(shares, chosen, strict=True))
        expected = [part.deviations for _, part in chosen if part.deviations is not None]
        then, now = (sum(s * each[k] for s, each in zip(shares, expected, strict=True)) for k in (0, 1))
        return np.asarray(errors), np.asarray(then), np.asarray(now)

    def weight(self, kind: Kind) -> float:
        """What all parts of a kind contribute."""
        return float(sum(w for w, part in zip(self.weights, self.parts, strict=True) if part.kind is kind))

    def disagreement(self) -> Array:
        """(horizon,): the weighted standard deviation of the paths around their mean, of parts that could be rolled.

        What could not be rolled says nothing about errors; where nothing could, all parts count.
        """
        rolled = np.array([bool(np.isfinite(part.errors).any()) for part in self.parts])
        weights = np.where(rolled, self.weights, 0.0) if self.weights[rolled].sum() > 0 else self.weights
        paths = np.array([part.path for part in self.parts])
        weights = weights / weights.sum()
        return np.asarray(np.sqrt(weights @ (paths - weights @ paths) ** 2))

    def shares(self) -> list[tuple[float, str]]:
        """Who contributed how much, the largest first."""
        order = np.argsort(-self.weights)
        return [(float(self.weights[i]), self.parts[i].label) for i in order if self.weights[i] > 0]


def roll(column: Column, rolling: Rolling, settings: Settings) -> list[Rolled]:
    """Every candidate fitted to the early part and rolled over the rest, and fitted to everything."""
    found = []
    wanted = replace(column, horizon=max(column.horizon, rolling.horizon))
    early, end = wanted.before(rolling.early), np.array([len(column.y)])
    ahead = rolling.origins[:, None] + np.arange(rolling.horizon)
    inside = np.minimum(ahead, len(column.y) - 1)
    truth = np.where((ahead < len(column.y)) & column.seen[inside], column.y[inside], np.nan)
    for candidate in candidates(column, settings):
        final = candidate.fit(wanted)
        if final is None:
            continue
        paths, expected = _followed(final, column.y, end, column.horizon)
        if not np.isfinite(paths).all():
            continue
        before = candidate.fit(early)
        if before is None:
            errors, rolled = np.full(truth.shape, np.nan), None
        else:
            errors, rolled = _followed(before, column.y, rolling.origins, rolling.horizon)
            errors = errors - truth
        deviations = None
        if expected is not None:
            deviations = np.zeros(truth.shape) if rolled is None else rolled, expected[0]
        found.append(Rolled(candidate.kind, candidate.label, errors, paths[0], deviations))
    return found


def _followed(model: ColumnModel, y: Array, origins: Indices, horizon: int) -> tuple[Array, Array | None]:
    """Paths, and the standard deviations the model itself expects of their errors, where it does."""
    if isinstance(model, SmootherModel):
        return model.spread(y, origins, horizon)
    return model.rollout(y, origins, horizon), None


def score(errors: Array) -> float:
    """Mean over the steps of the mean size at each; NaN where nothing was rolled."""
    size = np.abs(errors)
    counted = ~np.isnan(size)
    per_step = np.where(counted, size, 0.0).sum(axis=0) / np.maximum(counted.sum(axis=0), 1)
    there = counted.any(axis=0)
    return float(per_step[there].mean()) if there.any() else np.nan


def mixed(column: Column, parts: list[Rolled], settings: Settings) -> Mixture:
    """Weights prior x (score / best score) ** -power.

    power grows with the number of rolling forecasts, from nothing (the prior alone decides) towards `mixing_power`. A
    candidate that could not be rolled is taken to be as bad as the worst quarter of those that could.
    """
    scores = np.array([score(part.errors) for part in parts])
    weights = np.array([settings.prior(part.kind.name) for part in parts])
    rolled = np.isfinite(scores)
    if rolled.any():
        folds = max(int((~np.isnan(part.errors[:, 0])).sum()) for part in parts)
        power = settings.mixing_power * folds / (folds + settings.mixing_folds)
        floor = settings.mixing_rounding * (float(np.std(column.y)) or 1.0)
        unknown = float(np.quantile(scores[rolled], settings.mixing_unrolled))
        relative = (np.where(rolled, scores, unknown) + floor) / (float(scores[rolled].min()) + floor)
        weights = weights * relative**-power
    weights = np.where(weights < settings.mixing_least * weights.max(), 0.0, weights)
    weights = weights / weights.sum()
    path = weights @ np.array([part.path for part in parts])
    errors = np.zeros_like(parts[0].errors)
    total = np.zeros_like(errors)
    for weight, part in zip(weights, parts, strict=True):
        there = np.isfinite(part.errors)
        errors += np.where(there, weight * part.errors, 0.0)
        total += np.where(there, weight, 0.0)
    return Mixture(parts, weights, path, np.where(total > 0, errors / np.where(total > 0, total, 1.0), np.nan))
