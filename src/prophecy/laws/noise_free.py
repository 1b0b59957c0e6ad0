"""Fields that take every sample to the next up to rounding: where there is no noise, every sample is a state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.ndimage import uniform_filter1d

from prophecy._arrays import Array, Counts, Mask
from prophecy.laws.damped import LEAST, Damped
from prophecy.laws.flow import EIGHTH, FOURTH, SparseField
from prophecy.laws.problem import Assimilated, Steps, one_step
from prophecy.laws.select_terms import eliminated, shortest, widened
from prophecy.laws.settings import LAWS, ExactSettings, LawSettings
from prophecy.laws.weak_form import Budget, WeakForm, regression

_UNKNOWN = 1e-12  # of the largest singular value: below are kinks that no sample has come to


def exactly(field: SparseField, x: Array, known: Mask, budget: Budget, laws: LawSettings = LAWS) -> Assimilated | None:
    """The member of a family that takes every sample to the next up to rounding, if one does.

    Powers are solved for from the slowest moments on: samples too far apart for the fast ones are still close enough
    there. The steps whose path two polynomials agree on best come first; then, time and again, twice as many, those
    that the field so far misses least. Noise shows at once: no field explains even the first. Functions, found along
    the whole path, and the coefficients of many powers are solved for from all steps. known: the samples that were
    observed; steps to and from the others do not count.
    """
    steps, there, count = Steps.of(x, known), np.nonzero(known[:-1] & known[1:])[0], 2 * field.terms.size
    if len(there) <= 8:
        return None
    shaped = len(field.terms.kinds) > 0
    slow = not shaped and 2 * count <= len(there)
    order = np.argsort(np.pad(WeakForm(x).error, 2, constant_values=np.inf)[there])
    chosen = order[:count] if slow else order
    rough = regression(field, x, nats=laws.spare * shaped, steps=there[chosen] - 2 if slow else None)
    left = np.inf
    while budget.left > 0:
        few, share = Steps(*(np.ascontiguousarray(each[chosen]) for each in steps)), len(chosen) / len(there)
        own = Budget(budget.left / share)
        substeps = rough.substeps(EIGHTH, few.before, laws.exact.rounding)
        rough, rest = one_step(rough, few, EIGHTH, substeps, 12, robust=True, budget=own)
        budget.left = own.left * share
        before, left = left, float(np.median(np.nan_to_num(np.abs(rest), nan=np.inf)))
        if not left < laws.growing or (share == 1 and not 3 * laws.exact.rounding < left < 0.5 * before):
            break
        missed = np.nan_to_num(np.abs(steps.missed(rough, EIGHTH, 2)), nan=np.inf).max(axis=1)
        chosen = np.argsort(missed)[: 2 * len(chosen)]
    else:
        return None
    found = step_by_step(rough, x, steps, budget, laws.exact) if left < 3 * laws.exact.rounding else None
    if found is None and (jumping := rough.jumping(x)) is not None:
        found = step_by_step(jumping, x, steps, budget, laws.exact)
    return found


def step_by_step(
    field: SparseField,
    values: Array,
    steps: Steps,
    budget: Budget | None = None,
    exact: ExactSettings = LAWS.exact,
) -> Assimilated | None:
    """The field that takes each value to the next up to rounding, terms that do nothing removed; None if it does not.

    Without noise every sample is a state, and the equations of single steps are all there is. A step that is repeated,
    such as one at rest, is one equation: a field needs twice as many of those as it has parameters.
    """
    first = exact.share * exact.rounding  # what steps are judged by is more than the integrator's own error
    for tolerance in (first, exact.integrated):
        substeps = field.substeps(EIGHTH, steps.before, tolerance, exact.most_substeps)
        rest = steps.missed(field, EIGHTH, substeps)
        if tolerance == first and _most(rest, exact) < exact.rounding:
            continue
        if tolerance == first:
            field, rest = one_step(field, steps, EIGHTH, substeps, 6, robust=True, budget=budget)
        while True:
            before = _most(rest, exact)
            substeps = np.maximum(substeps, field.substeps(EIGHTH, steps.before, tolerance, exact.most_substeps))
            field, rest = one_step(field, steps, EIGHTH, substeps, 12, far=max(exact.close, 3 * before), budget=budget)
            if _most(rest, exact) < exact.rounding or _most(rest, exact) > 0.5 * before:
                break
        if not _most(rest, exact) < exact.rounding:
            return None
    solved = _Solved(field, rest, steps, substeps, exact).thinned()
    short = solved.shortened(field)
    last = short.weighed()
    explained = (last.typical == last.rest).all(axis=1)
    different = np.unique(np.column_stack(steps)[explained], axis=0)
    if not 0 < 2 * last.field.count <= len(different) * rest.shape[1]:
        return None
    return last.taken(values, chosen=short is not solved)


def solved_again(found: Assimilated, values: Array, known: Mask, exact: ExactSettings) -> Assimilated:
    """The same terms and functions solved from other samples."""
    steps = Steps.of(values, known)
    substeps = found.field.substeps(EIGHTH, steps.before, exact.integrated, exact.most_substeps)
    field, rest = one_step(found.field, steps, EIGHTH, substeps, 6, far=exact.close)
    return _Solved(field, rest, steps, substeps, exact).taken(values, found.chosen)


@dataclass(frozen=True, eq=False)
class _Solved:
    """A field solved from single steps, and what it leaves of each, (steps, variables)."""

    field: SparseField
    rest: Array
    steps: Steps
    substeps: Counts
    exact: ExactSettings

    @cached_property
    def typical(self) -> Array:
        """What is left without the few steps that no fixed number of substeps follows; `level`: its size."""
        return np.asarray(np.where(np.abs(self.rest) < 10 * _most(self.rest, self.exact), self.rest, 0.0))

    @property
    def level(self) -> float:
        return float(np.sqrt(np.mean(self.typical**2)))

    def again(self, field: SparseField, iterations: int) -> _Solved:
        """Another field, solved from the same steps."""
        field, rest = one_step(field, self.steps, EIGHTH, self.substeps, iterations, far=self.exact.close)
        return replace(self, field=field, rest=rest)

    @cached_property
    def tangent(self) -> Array:
        """The derivatives of every step with the parameters: (steps, variables, parameters)."""
        ends = self.field.tangents(FOURTH, self.steps.before, np.maximum(2, self.substeps))
        return ends[1][:, :, self.field.terms.variables :]

    @cached_property
    def freedom(self) -> Array:
        """A square root of the covariance of the parameters; steps that leave say nothing about them. What nothing
        determines is held."""
        system = self.tangent.reshape(self.rest.size, self.field.count)
        system = np.where(np.asarray(np.isfinite(system).all(axis=1))[:, None], system, 0.0)
        return Damped(system, np.zeros(len(system)), long=True).root(_UNKNOWN) * self.level

    def thinned(self) -> _Solved:
        """The field without the terms that do nothing, the doubtful ones last."""
        here, sure = self, self.exact.sure * np.log(self.rest.size)
        for limit in (25 * sure, 25 * sure, sure, sure):
            field, terms = here.field, np.arange(here.field.count) < here.field.coefficients
            if not field.count:
                break
            value, _, alive = eliminated(field.vector, here.freedom, terms, limit, field.coefficients)
            if (alive == terms).all():
                continue
            trial = here.again(field.only(alive, value), 3)
            if trial.level < max(1.5 * here.level, self.exact.negligible):
                here = trial
        return here

    def shortened(self, family: SparseField) -> _Solved:
        """The field with the fewest terms where its family's are combinations of each other along the samples.

        Functions may have to move to where fewer terms suffice: there fewer are tried that come close at first.
        """
        found, wide = widened(self.field, family)
        for share in (self.exact.moved, 1.0) if len(wide.terms.kinds) else (1.0,):
            left = share * max(3 * self.level, self.exact.negligible)
            field = shortest(found, wide, self.steps.before, left)
            trial = None if field is None else self.again(field, 6)
            if trial is not None and trial.level < max(1.5 * self.level, self.exact.negligible):
                return trial.thinned()
        return self

    def weighed(self) -> _Solved:
        """The field once more, each step counted by what steps around it are missed by: whoever integrated the series
        was more accurate where little happened."""
        exact, count = self.exact, self.field.count
        if not count or len(self.rest) < 4 * exact.around:
            return self
        around = uniform_filter1d(self.typical**2, exact.around, axis=0, mode="nearest")
        least = np.maximum(exact.least, 1e-3 * np.sqrt(np.mean(self.typical**2, axis=0)))
        weight = np.where(self.typical == self.rest, 1 / np.sqrt(np.maximum(around, least**2)), 0.0)
        system = np.where(weight[..., None] > 0, weight[..., None] * self.tangent, 0.0).reshape(-1, count)
        target = np.where(weight > 0, weight * self.rest, 0.0).reshape(-1)
        field = self.field.moved(Damped(system, target, long=True)(LEAST))
        trial = replace(self, field=field, rest=self.steps.missed(field, EIGHTH, self.substeps))
        return trial if trial.level < 1.5 * self.level else self

    def taken(self, values: Array, chosen: bool) -> Assimilated:
        """The field whose states are the samples; what it leaves says how well its parameters are known."""
        rest, least = self.rest, self.exact.least
        noise = np.maximum(np.sqrt(np.mean(self.typical**2, axis=0)), least)
        evidence = -float(np.log(noise).sum()) * len(rest) - 0.5 * self.field.count * np.log(values.size)
        last = np.column_stack([np.diag(1 / noise), np.zeros((len(noise), self.field.count))])
        stray = np.sqrt(np.mean(np.minimum(np.nan_to_num(np.abs(rest), nan=1.0), 1.0) ** 2, axis=0))
        stray = np.maximum(stray, noise)
        return Assimilated(self.field, values, noise, 0.0, self.freedom, last, evidence, stray, chosen)


def _most(rest: Array, exact: ExactSettings) -> float:
    """What all but a few of the steps miss by less than."""
    return float(np.quantile(np.nan_to_num(np.abs(rest), nan=1.0), exact.most_steps))
