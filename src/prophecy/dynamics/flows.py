"""Models that continue a series along the flow of a field found by assimilation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics import flow
from prophecy.dynamics.assimilation import Assimilated, Budget, Problem, assimilate, step_by_step
from prophecy.dynamics.families import propose, with_functions
from prophecy.dynamics.features import Units, monomial_count
from prophecy.dynamics.flow import EIGHTH, FOURTH, Tableau, Terms
from prophecy.dynamics.guesses import interpolated, linear_field, one_step, roughness, smoothed
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
_ROUGHLY = 3e-3  # standard deviations: a field that misses by more after one step is not exact
_RESOLVED = 0.25  # standard deviations: rougher series are sampled too coarsely to tell noise from dynamics
_ALIKE = 5.0  # standard errors of an autocorrelation above which a remainder is not noise
_WORK = 1.5e4  # derivatives per sample: a second for 512 samples
_USELESS = 1.0  # model error as a share of the noise: a field that needs more has little to say
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
    allowed: SparseField
    whole_past: bool = False

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
        """Paths from the end of the series, (count, steps, variables), under drawn parameters and last states."""
        fields, states = self.found.draws(count, seed)
        return np.concatenate(
            [
                self._follow(each, each.theta[None], state[None], steps)
                for each, state in zip(fields, states, strict=True)
            ]
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


def fit_flow(values: Array, known: Mask, units: Units, phases: int = 0) -> FittedFlow | None:
    """The field whose single trajectory passes best through (time, variables), in standard deviations around the mean.

    Powers up to degree 2, then 3, then powers and functions, until one trajectory explains everything up to the noise;
    the evidence decides between them. phases: how many of the last variables are quarter-period partners of others.
    """
    centre = units.centre / units.scale
    offset = np.where(np.abs(centre) < _OFFSET, centre, 0.0)
    x, seen = _read(values, known, offset)
    found = _search(x, seen, Units(units.centre - offset * units.scale, units.scale), _circles(values, phases))
    return None if found is None else _finished(found, x, offset, values, _circles(values, phases))


def fit_part(values: Array, known: Mask, whole: FittedFlow) -> FittedFlow | None:
    """The same family solved from a part of the series, without what the whole had led to."""
    x, seen = _read(values, known, whole.offset)
    terms = whole.field.terms
    if whole.found.looseness > _USELESS or terms.size * terms.variables > seen.sum() / 3:
        return None
    found = assimilate(whole.allowed, x, seen, None, Budget(_WORK / 2))
    return None if found is None else replace(_finished(found, x, whole.offset, values, []), allowed=whole.allowed)


def _read(values: Array, known: Mask, offset: Array) -> tuple[Array, Array]:
    """The latest samples in the field's variables, and 1 for each that was observed."""
    x = (values + offset)[-_LATEST:]
    return x, np.repeat(known[: len(values)][-_LATEST:, None], x.shape[1], axis=1).astype(np.float64)


def _search(x: Array, seen: Array, units: Units, circles: list[tuple[int, int]]) -> Assimilated | None:
    """Families from the smallest on, until one trajectory of one of them passes through everything."""
    variables = x.shape[1]
    complete = bool(seen.all())
    best: Assimilated | None = None
    for degree in (2, 3):
        size = monomial_count(variables, degree) * variables
        if size > min(_MOST, seen.sum() / 3):
            break
        field = _free(flow.polynomial_terms(variables, degree), circles)
        found = _exact(field, x) if complete else None
        best = _better(
            best,
            found if found is not None or _tiny(x) else assimilate(field, x, seen, None, Budget(_WORK)),
        )
        if best is not None and best.tight:
            return best
    functions = propose(best.states if best is not None else smoothed(x, roughness(x)), units)
    if functions:
        field = _free(with_functions(variables, 2, functions), circles)
        found = _exact(field, x) if complete else None
        best = _better(
            best, found if found is not None or _tiny(x) else assimilate(field, x, seen, None, Budget(_WORK / 2))
        )
    return best


def _circles(values: Array, phases: int) -> list[tuple[int, int]]:
    """Each partner a quarter of a period later, and the sinusoid it belongs to: the one it makes a circle with."""
    variables = values.shape[1]
    found = []
    for partner in range(variables - phases, variables):
        rest = [
            float(
                np.std(
                    values[:, i] ** 2 / np.mean(values[:, i] ** 2)
                    + values[:, partner] ** 2 / np.mean(values[:, partner] ** 2)
                )
            )
            for i in range(variables - phases)
        ]
        found.append((int(np.argmin(rest)), partner))
    return found


def _free(terms: Terms, circles: list[tuple[int, int]]) -> SparseField:
    """All terms, except those that a circle makes equal to others: a phase turns on its own and acts linearly."""
    field = SparseField.of(terms)
    mask, powers = field.mask.copy(), flow.powers(terms)
    for pair in circles:
        within = powers[:, list(pair)].sum(axis=1)
        mask[within > 1] = False
        alone = (within == 1) & (powers.sum(axis=1) == 1) | (powers.sum(axis=1) == 0)
        for i in pair:
            mask[~alone, i] = False
    return field.with_mask(mask)


def _white(found: Assimilated, seen: Array) -> bool:
    """Whether what is left is noise: values one and two samples apart have nothing to do with each other.

    Variables without noise, such as a phase that is a function of time, leave rounding and do not count.
    """
    rest = seen - found.states[:, : seen.shape[1]]
    rest = rest[:, rest.std(axis=0) > _CLEAN * 1e-4]
    rest = rest / rest.std(axis=0)
    return all(
        bool((np.abs(np.mean(rest[lag:] * rest[:-lag], axis=0)) < _ALIKE / np.sqrt(len(seen))).all()) for lag in (1, 2)
    )


def _tiny(x: Array) -> bool:
    """Whether there is so little noise, if any, that a field either fits exactly or not at all."""
    return bool(roughness(x).max() < _CLEAN)


def _better(one: Assimilated | None, other: Assimilated | None) -> Assimilated | None:
    if one is None or other is None:
        return other if one is None else one
    return other if other.evidence > one.evidence else one


def _exact(field: SparseField, x: Array) -> Assimilated | None:
    """The member of the family that takes every sample to the next up to rounding; None if none does."""
    starts = [interpolated(field, x, width) for width in (8, 4) if width < len(x)]
    starts += [start for start in (linear_field(field, x),) if start is not None]
    costs = [float(np.median(np.nan_to_num(np.abs(x[1:] - each.steps(FOURTH, x[:-1], 4)), nan=9.0))) for each in starts]
    for index in np.argsort(costs)[:2]:
        rough, rest = one_step(starts[index], x, FOURTH, 4)
        if np.median(np.abs(rest)) < _ROUGHLY and not np.sqrt(np.mean(rest**2)) < _ROUGHLY:
            rough, rest = one_step(rough, x, FOURTH, 4, 20)
        found = step_by_step(rough, x) if np.sqrt(np.mean(rest**2)) < _ROUGHLY else None
        if found is not None:
            return found
    return None


def _finished(found: Assimilated, x: Array, offset: Array, values: Array, circles: list[tuple[int, int]]) -> FittedFlow:
    allowed = _free(found.field.terms, circles)
    residual = float(np.sqrt(np.mean(found.noise**2)))
    exact = residual < _EXACT
    noise_only = exact or (float(roughness(x).max()) < _RESOLVED and _white(found, x[:, : x.shape[1] - len(circles)]))
    conclusive = found.tight and x.size > 3 * found.field.count and noise_only
    return FittedFlow(found, found.field, offset, residual, exact, conclusive, values + offset, allowed)
