"""Models that continue a series along the flow of a field found by assimilation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics import flow
from prophecy.dynamics.assimilation import Assimilated, Problem, assimilate, step_by_step
from prophecy.dynamics.families import Proposal, propose
from prophecy.dynamics.features import Units, monomial_count
from prophecy.dynamics.flow import EIGHTH, FOURTH, Tableau, Terms
from prophecy.dynamics.guesses import Budget, interpolated, linear_field, one_step, roughness, smoothed
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
_SPARE = 30.0  # nats that a term beside functions must be worth: these can imitate many others
_HOPEFUL = 0.02  # share of the rises: functions that leave more of a smooth path are not the law of exact samples
_CLEAN = 1e-3  # noise, in standard deviations, below which single steps may be solved for exactly
_ROUGHLY = 1e-4  # standard deviations: a field that misses half of the steps by more is not exact
_NEARLY = 3e-6  # the same after two half steps
_RESOLVED = 0.25  # standard deviations: rougher series are sampled too coarsely to tell noise from dynamics
_ALIKE = 5.0  # standard errors of an autocorrelation above which a remainder is not noise
# Derivatives per sample that a family may take: half a second per 5e3 with 512 samples. Powers to degree 2 come first
# and have the most; larger families took up to 5e3 where they were the law.
_WORK, _WORK_LARGE = 1.5e4, 6e3
_WORK_EXACT = 1.5e4  # the same for all families together as long as samples are taken to be exact
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
            ahead = self.field.paths(self._tableau, states, steps, self._substeps, self._bound, kicks, thetas)
            return ahead - self.offset
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
    """The same terms with parameters and states from a part of the series alone."""
    x, seen = _read(values, known, whole.offset)
    if whole.found.looseness > _USELESS or whole.field.count > seen.sum() / 3:
        return None
    found = assimilate(whole.field, x, seen, whole.found, Budget(_WORK_LARGE))
    return None if found is None else replace(_finished(found, x, whole.offset, values, []), allowed=whole.allowed)


def _read(values: Array, known: Mask, offset: Array) -> tuple[Array, Array]:
    """The latest samples in the field's variables, and 1 for each that was observed."""
    x = (values + offset)[-_LATEST:]
    return x, np.repeat(known[: len(values)][-_LATEST:, None], x.shape[1], axis=1).astype(np.float64)


def _search(x: Array, seen: Array, units: Units, circles: list[tuple[int, int]]) -> Assimilated | None:
    """Families from the smallest on, until one trajectory of one of them passes through everything."""
    variables = x.shape[1]
    complete, tiny = bool(seen.all()), _tiny(x)
    best: Assimilated | None = None
    work = Budget(_WORK_EXACT)
    sizes = [monomial_count(variables, degree) * variables for degree in (2, 3)]
    fields = [
        _free(flow.polynomial_terms(variables, degree), circles)
        for degree, size in zip((2, 3), sizes, strict=True)
        if size <= min(_MOST, seen.sum() / 3)
    ]
    for field in fields if complete else ():
        found = _exact(field, x, work)
        if found is not None:
            return found
    for field in fields if not tiny else ():
        best = _better(best, assimilate(field, x, seen, None, Budget(_WORK if best is None else _WORK_LARGE)))
        if best is not None and best.tight and _white(best, x[:, : variables - len(circles)]):
            return best
    rough = roughness(x)
    proposal: Proposal | None = None
    for proposal in propose(best.states if best is not None else smoothed(x, rough), units, noise=float(rough.max())):
        hopeful = complete and proposal.left < _HOPEFUL
        found = _exact(_free(proposal.terms(variables), circles), x, work) if hopeful and work.left > 0 else None
        if found is not None:
            return found
    if proposal is not None and not tiny:
        field = _free(proposal.terms(variables), circles)
        best = _better(best, assimilate(field, x, seen, None, Budget(_WORK_LARGE)))
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


def _exact(field: SparseField, x: Array, budget: Budget) -> Assimilated | None:
    """The member of the family that takes every sample to the next up to rounding; None if none does.

    Least absolute errors on the way: where a few steps are too fast for the first guess, the others lead.
    """
    shaped = len(field.terms.kinds) > 0
    starts = [interpolated(field, x, 8, even=False, nats=_SPARE * shaped)] if len(x) > 8 else []
    starts += [start for start in (linear_field(field, x),) if start is not None and not shaped]
    costs = [float(np.median(np.nan_to_num(np.abs(x[1:] - each.steps(EIGHTH, x[:-1], 1)), nan=9.0))) for each in starts]
    for index in np.argsort(costs):
        rough, rest = one_step(starts[index], x, EIGHTH, 1, 12, robust=True, budget=budget)
        if _NEARLY < np.median(np.abs(rest)) < _ROUGHLY:
            rough, rest = one_step(rough, x, EIGHTH, 2, 6, robust=True, budget=budget)
        found = step_by_step(rough, x, budget) if np.median(np.abs(rest)) < _NEARLY else None
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
