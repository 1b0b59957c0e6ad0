"""Models that continue a series along the flow of a field found by assimilation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics import flow
from prophecy.dynamics.assimilation import Assimilated, Problem, assimilate
from prophecy.dynamics.families import propose, with_functions
from prophecy.dynamics.features import Units, monomial_count
from prophecy.dynamics.flow import EIGHTH, FOURTH, Tableau
from prophecy.dynamics.guesses import one_step, roughness, smoothed
from prophecy.dynamics.smoother import filtered
from prophecy.dynamics.sparse import SparseField

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

_BOUND = 30.0  # standard deviations: a path that far out does not come back
_LATEST = 1024  # samples that are assimilated
_WINDOW = 128  # samples before an origin that its state is estimated from
_OFFSET = 5.0  # standard deviations: means up to this stay in, so that sparse equations stay sparse
_MOST = 200  # parameters before any is removed
_EXACT = 1e-6  # a residual, in standard deviations, that only the true equations leave
_CLEAN = 1e-3  # noise, in standard deviations, below which single steps may be solved for exactly
_SETTLED = (3.0, 0.3)  # model errors, as shares of the noise, on the way to a state


@dataclass(frozen=True, eq=False)
class FittedFlow:
    """A field and where the series is on its flow. The field's variables are values + offset, in standard deviations.

    residual: what it left of the series. exact: the samples are taken as they are.
    """

    found: Assimilated
    field: SparseField
    offset: Array
    residual: float
    exact: bool
    conclusive: bool
    end: Array

    @property
    def _tableau(self) -> Tableau:
        return EIGHTH if self.exact else FOURTH

    @property
    def _substeps(self) -> int:
        tolerance = max(3e-9, 0.1 * self.residual) if self.exact else 1e-3 * self.residual
        return self.field.substeps(self._tableau, self.found.states, tolerance)

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        """Follow the flow from the state at each origin: (origins, horizon, variables)."""
        x = values + self.offset
        states = x[origins - 1] if self.exact else self._located(x, origins)
        thetas = np.broadcast_to(self.field.theta, (len(states), *self.field.theta.shape)).copy()
        return self._follow(self.field, thetas, states, horizon)

    def _follow(self, field: SparseField, thetas: Array, states: Array, horizon: int) -> Array:
        bound = _BOUND + float(np.abs(self.offset).max())
        ahead = flow.paths(field.terms, thetas, self._tableau, states, horizon, self._substeps, bound)
        return np.asarray(ahead - self.offset)

    def ensemble(self, steps: int, count: int, seed: int) -> Array:
        """Paths from the end of the series, (count, steps, variables): parameters and last state as uncertain as they are."""
        fields, states = self.found.draws(count, seed)
        return np.concatenate(
            [self._follow(each, each.theta[None], state[None], steps) for each, state in zip(fields, states, strict=True)]
        )

    def _located(self, x: Array, origins: Indices) -> Array:
        """The state before each origin, from the samples before it alone. Origins close to each other share a pass."""
        out = np.empty((len(origins), x.shape[1]))
        order = np.argsort(origins)
        groups = np.split(order, np.nonzero(np.diff(origins[order]) > _WINDOW)[0] + 1)
        for group in groups:
            first, last = int(origins[group].min()), int(origins[group].max())
            if len(group) == 1 and last == len(self.end) and np.array_equal(x[:last], self.end):
                out[group] = self.found.states[-1]
                continue
            start = max(0, first - _WINDOW)
            out[group] = self._states(x[start:last])[origins[group] - 1 - start]
        return out

    def _states(self, x: Array) -> Array:
        """The state at every sample as the samples up to it tell: the filter along the smoothed trajectory."""
        noise = self.found.noise
        problem = Problem(self.field, x, np.ones_like(x), noise, smoothed(x, noise), fixed=True)
        for looseness in (*(each for each in _SETTLED if each > self.found.looseness), self.found.looseness):
            problem.at(looseness)
            problem.improve(4, 1e-2)
        ends, tangent = self.field.tangents(FOURTH, problem.states[:-1], problem.substeps, False)
        tight = 1 / (problem.looseness * noise)
        seen = problem.seen / noise
        return np.asarray(
            problem.states + filtered(x - problem.states, seen, ends - problem.states[1:], tangent, tight, 1e-3)
        )


def fit_flow(values: Array, known: Mask, units: Units, before: FittedFlow | None = None) -> FittedFlow | None:
    """The field whose single trajectory passes best through (time, variables), in standard deviations around the mean.

    Powers up to degree 2, then 3, then powers and functions, until one trajectory explains everything up to the noise;
    the evidence decides between them. before: what the earlier part of the series led to.
    """
    centre = units.centre / units.scale
    offset = np.where(np.abs(centre) < _OFFSET, centre, 0.0)
    x = (values + offset)[-_LATEST:]
    seen = np.repeat(known[: len(values)][-_LATEST:, None], x.shape[1], axis=1).astype(np.float64)
    if before is not None:
        found = assimilate(SparseField.of(before.field.terms), x, seen, before.found)
    else:
        found = _search(x, seen, Units(units.centre - offset * units.scale, units.scale))
    return None if found is None else _finished(found, x, offset, values)


def _search(x: Array, seen: Array, units: Units) -> Assimilated | None:
    variables = x.shape[1]
    best: Assimilated | None = None
    for degree in (2, 3):
        if monomial_count(variables, degree) * variables > min(_MOST, seen.sum() / 3):
            break
        found = assimilate(SparseField.of(flow.polynomial_terms(variables, degree)), x, seen)
        if found is not None and (best is None or found.evidence > best.evidence):
            best = found
        if best is not None and best.tight:
            return best
    functions = propose(best.states if best is not None else smoothed(x, roughness(x)), units)
    if functions:
        found = assimilate(SparseField.of(with_functions(variables, 2, functions)), x, seen)
        if found is not None and (best is None or found.evidence > best.evidence):
            best = found
    return best


def _finished(found: Assimilated, x: Array, offset: Array, values: Array) -> FittedFlow:
    field, residual, exact = found.field, float(np.sqrt(np.mean(found.noise**2))), False
    if residual < _CLEAN:
        substeps = field.substeps(EIGHTH, x, 1e-9)
        polished, rest = one_step(field, x, EIGHTH, substeps)
        left = float(np.sqrt(np.mean(rest**2)))
        if left < residual:
            field, residual, exact = polished, left, True
    spare = x.size > 3 * field.count
    conclusive = spare and (residual < _EXACT if exact else found.tight)
    return FittedFlow(found, field, offset, residual, exact, conclusive, values + offset)
