"""Models that continue a series along the flow of a field found by assimilation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics import flow
from prophecy.dynamics.assimilation import Assimilated, Problem, assimilate, step_by_step
from prophecy.dynamics.families import Proposal, propose
from prophecy.dynamics.features import Units, monomial_count
from prophecy.dynamics.flow import EIGHTH, FOURTH, Tableau, Terms
from prophecy.dynamics.guesses import Budget, interpolated, linear_field, one_step, roughness, smoothed
from prophecy.dynamics.settings import LAWS, LawSettings
from prophecy.dynamics.smoother import filtered
from prophecy.dynamics.sparse import SparseField

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

_BOUND = 30.0  # standard deviations: a path that far out does not come back
_WINDOW = 128  # samples before an origin that its state is estimated from
_OFFSET = 5.0  # standard deviations: means up to this stay in, so that sparse equations stay sparse
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
    whole_past: bool = False

    @property
    def _tableau(self) -> Tableau:
        return EIGHTH if self.exact else FOURTH

    @cached_property
    def _substeps(self) -> int:
        tolerance = max(3e-9, 0.1 * self.residual) if self.exact else 1e-3 * self.residual
        return self.field.substeps(self._tableau, self.found.states, tolerance)

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        """Follow the flow from the state at each origin: (origins, horizon, variables)."""
        x = values + self.offset
        states = x[origins - 1] if self.exact else self._located(x, origins)
        return self.field.paths(self._tableau, states, horizon, self._substeps, self._bound) - self.offset

    @property
    def _bound(self) -> float:
        return _BOUND + float(np.abs(self.offset).max())

    def ensemble(self, steps: int, count: int, seed: int, wider: float = 1.0) -> Array:
        """Paths from the end of the series, (count, steps, variables), under drawn parameters, last states and errors
        of the field at every step, all of them `wider` times as large as they are known to be."""
        fields, states = self.found.draws(count, seed, wider)
        kicks = np.random.default_rng(seed + 1).standard_normal((count, steps, states.shape[1])) * (
            wider * self.found.missed
        )
        if not len(self.field.terms.kinds):
            thetas = np.stack([each.theta for each in fields])
            together = self.field.paths(self._tableau, states, steps, self._substeps, self._bound, kicks, thetas)
            return together - self.offset
        ahead = [
            each.paths(self._tableau, state[None], steps, self._substeps, self._bound, kick[None])
            for each, state, kick in zip(fields, states, kicks, strict=True)
        ]
        return np.concatenate(ahead) - self.offset

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


def fit_flow(values: Array, known: Mask, units: Units, phases: int = 0, laws: LawSettings = LAWS) -> FittedFlow | None:
    """The field whose single trajectory passes best through (time, variables), in standard deviations around the mean.

    Powers up to degree 2, then 3, then powers and functions, until one trajectory explains everything up to the noise;
    the evidence decides between them. phases: how many of the last variables are quarter-period partners of others.
    """
    centre = units.centre / units.scale
    offset = np.where(np.abs(centre) < _OFFSET, centre, 0.0)
    x, seen = _read(values, known, offset, laws)
    circles = _circles(values, phases)
    found = _search(x, seen, Units(units.centre - offset * units.scale, units.scale), circles, laws)
    return None if found is None else _finished(found, x, offset, values, circles, laws)


def fit_part(values: Array, known: Mask, whole: FittedFlow, laws: LawSettings = LAWS) -> FittedFlow | None:
    """The same terms with parameters and states from a part of the series alone."""
    x, seen = _read(values, known, whole.offset, laws)
    if whole.found.looseness > laws.useless or whole.field.count > seen.sum() / 3:
        return None
    found = assimilate(whole.field, x, seen, whole.found, Budget(laws.work), laws)
    return None if found is None else _finished(found, x, whole.offset, values, [], laws)


def _read(values: Array, known: Mask, offset: Array, laws: LawSettings) -> tuple[Array, Array]:
    """The latest samples in the field's variables, and 1 for each that was observed."""
    x = (values + offset)[-laws.latest :]
    return x, np.repeat(known[: len(values)][-laws.latest :, None], x.shape[1], axis=1).astype(np.float64)


def _search(
    x: Array, seen: Array, units: Units, circles: list[tuple[int, int]], laws: LawSettings
) -> Assimilated | None:
    """Families from the smallest on, until one trajectory of one of them passes through everything."""
    variables = x.shape[1]
    rough = roughness(x)
    complete, tiny = bool(seen.all()), bool(rough.max() < _CLEAN)
    noisy = not tiny and bool(rough.max() < laws.resolved)
    best: Assimilated | None = None
    work = Budget(laws.work_exact)
    sizes = [monomial_count(variables, degree) * variables for degree in (2, 3)]
    fields = [
        _free(flow.polynomial_terms(variables, degree), circles)
        for degree, size in zip((2, 3), sizes, strict=True)
        if size <= min(laws.most_parameters, seen.sum() / 3)
    ]
    for field in fields if complete else ():
        found, left = _exact(field, x, work, laws)
        if found is not None:
            return found
        if not tiny and left > laws.noise_like * float(np.median(rough)):
            break  # what is left of single steps is as large as the noise seems to be: higher powers leave it too
    for field in fields if noisy else ():
        best = _better(best, assimilate(field, x, seen, None, Budget(laws.work), laws))
        if best is not None and best.tight and _white(best, x[:, : variables - len(circles)], laws):
            return best
    proposal: Proposal | None = None
    path = best.states if best is not None else smoothed(x, rough)
    for proposal in propose(path, units, noise=float(rough.max()), laws=laws):
        hopeful = complete and proposal.left < laws.hopeful and work.left > 0
        found = _exact(_free(proposal.terms(variables), circles), x, work, laws)[0] if hopeful else None
        if found is not None:
            return found
    if proposal is not None and noisy:
        field = _free(proposal.terms(variables), circles)
        best = _better(best, assimilate(field, x, seen, None, Budget(laws.work), laws))
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


def _white(found: Assimilated, seen: Array, laws: LawSettings) -> bool:
    """Whether what is left is noise: values one and two samples apart have nothing to do with each other.

    Variables without noise, such as a phase that is a function of time, leave rounding and do not count.
    """
    rest = seen - found.states[:, : seen.shape[1]]
    rest = rest[:, rest.std(axis=0) > _CLEAN * 1e-4]
    rest = rest / rest.std(axis=0)
    return all(
        bool((np.abs(np.mean(rest[lag:] * rest[:-lag], axis=0)) < laws.alike / np.sqrt(len(seen))).all())
        for lag in (1, 2)
    )


def _better(one: Assimilated | None, other: Assimilated | None) -> Assimilated | None:
    if one is None or other is None:
        return other if one is None else one
    return other if other.evidence > one.evidence else one


def _exact(field: SparseField, x: Array, budget: Budget, laws: LawSettings) -> tuple[Assimilated | None, float]:
    """The member of the family that takes every sample to the next up to rounding, None if none does; and the median
    error of the best attempt, in standard deviations.

    Least absolute errors on the way: where a few steps are too fast for the first guess, the others lead.
    """
    shaped = len(field.terms.kinds) > 0
    starts = [interpolated(field, x, 8, even=False, nats=laws.spare * shaped)] if len(x) > 8 else []
    starts += [start for start in (linear_field(field, x),) if start is not None and not shaped]
    costs = [float(np.median(np.nan_to_num(np.abs(x[1:] - each.steps(EIGHTH, x[:-1], 1)), nan=9.0))) for each in starts]
    left = np.inf
    for index in np.argsort(costs):
        rough, rest = one_step(starts[index], x, EIGHTH, 1, 12, robust=True, budget=budget)
        if laws.nearly < np.median(np.abs(rest)) < laws.roughly:
            rough, rest = one_step(rough, x, EIGHTH, 2, 6, robust=True, budget=budget)
        left = min(left, float(np.median(np.nan_to_num(np.abs(rest), nan=np.inf))))
        found = step_by_step(rough, x, budget) if np.median(np.abs(rest)) < laws.nearly else None
        if found is not None:
            return found, left
    return None, left


def _finished(
    found: Assimilated, x: Array, offset: Array, values: Array, circles: list[tuple[int, int]], laws: LawSettings
) -> FittedFlow:
    residual = float(np.sqrt(np.mean(found.noise**2)))
    exact = residual < _EXACT
    seen = x[:, : x.shape[1] - len(circles)]
    noise_only = exact or (float(roughness(x).max()) < laws.resolved and _white(found, seen, laws))
    conclusive = found.tight and x.size > 3 * found.field.count and noise_only
    return FittedFlow(found, found.field, offset, residual, exact, conclusive, values + offset)
