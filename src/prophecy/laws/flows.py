"""The search for the field whose single trajectory passes best through a series."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from prophecy.laws import flow
from prophecy.laws.assimilation import Assimilated, assimilate
from prophecy.laws.context import Units, monomial_count
from prophecy.laws.families import Proposal, propose
from prophecy.laws.fitted import FittedFlow
from prophecy.laws.noise_free import exactly, grown, step_by_step
from prophecy.laws.problem import Steps
from prophecy.laws.quotients import quotients
from prophecy.laws.settings import LAWS, LawSettings
from prophecy.laws.sparse import SparseField, circles, free
from prophecy.laws.weak_form import Budget, roughness, smoothed

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Search:
    """The field whose single trajectory passes best through (time, variables), in standard deviations around the mean.

    Powers up to degree 2, then 3, then powers and functions, until one trajectory explains everything up to the noise;
    the evidence decides between them. phases: how many of the last variables are quarter-period partners of others.
    clocked: whether the last variable is time, which goes on evenly and multiplies other terms at most once. units: of
    the field's variables.
    """

    def __init__(
        self, values: Array, known: Mask, units: Units, phases: int = 0, laws: LawSettings = LAWS, clocked: bool = False
    ) -> None:
        centre = units.centre / units.scale
        self._offset = np.where(np.abs(centre) < laws.centred, centre, 0.0)
        self._values, self._laws = values, laws
        self._x, self._seen = _read(values, known, self._offset, laws)
        self._circles, self._clocked = circles(values, phases), clocked
        self.units = Units(units.centre - self._offset * units.scale, units.scale)
        self._rough = roughness(self._x, self._seen > 0)
        if not self._finest:
            self._x, self._seen = _after_gap(self._x, self._seen, laws)
        self._known = np.asarray(self._seen.all(axis=1))
        self._complete = bool(np.mean(self._known[1:] & self._known[:-1]) > laws.complete)
        self._work, self._noisy_work = Budget(laws.work_exact), Budget(2 * laws.work)
        variables = self._x.shape[1]
        self._fields = [
            free(flow.polynomial_terms(variables, degree), self._circles, clocked)
            for degree in ((2, 4) if clocked else (2, 3, 4))
            if monomial_count(variables, degree) * variables <= min(laws.most_exact, self._seen.sum() / 3)
        ]

    @property
    def _finest(self) -> bool:
        return bool(self._rough.max() < self._laws.clean)

    def exact_powers(self) -> FittedFlow | None:
        """The field of powers that takes every sample to the next up to rounding."""
        for field in self._fields[:2] if self._complete else ():
            found = exactly(field, self._x, self._known, self._work, self._laws)
            if found is not None:
                return self._finished(found)
        return None

    def from_slow_moments(self) -> FittedFlow | None:
        """The quadratic field of exact samples too far apart for paths between them to be known, but at slow moments:
        a few milliseconds where there is none."""
        small = self._x.shape[1] <= self._laws.most_variables and self._complete
        found = grown(self._fields[0], self._x, self._known, self._laws) if small else None
        return None if found is None else self._finished(found)

    def of_libraries(self) -> FittedFlow | None:
        """The first law of the user's own libraries."""
        for library in self._laws.libraries:
            found = self.of(library.field(self.units))
            if found is not None and found.conclusive:
                return found
        return None

    def of(self, field: SparseField) -> FittedFlow | None:
        """The member of a small family that passes through exact samples, or else through noise."""
        found = None
        if self._finest and self._complete:
            found = exactly(field, self._x, self._known, self._work, self._laws)
        if found is None and field.coefficients <= self._laws.most_quadratic:
            found = self._assimilated(field)
        return None if found is None else self._finished(found)

    def with_inputs(self, inputs: Array) -> FittedFlow | None:
        """The law of the first variables with the last ones as inputs, of degree 2. inputs: (time, inputs), scaled like
        the values, as far ahead as they are known."""
        count = inputs.shape[1]
        field = replace(SparseField.of(flow.polynomial_terms(self._x.shape[1], 2)), inputs=count)
        mask = field.mask & field.own
        mask[flow.powers(field.terms)[:, ~field.own].sum(axis=1) > 1] = False
        found = self._assimilated(field.with_mask(mask))
        return None if found is None else replace(self._finished(found), inputs=inputs + self._offset[-count:])

    def others(self) -> FittedFlow | None:
        """The best of all that is not powers through exact samples."""
        best = self._powers()
        few = self._x.shape[1] <= self._laws.most_variables and not self._clocked
        if few and (best is None or not self._law(best) or best.field.count > self._laws.short * self._x.shape[1]):
            best = self._functions(best)
        return None if best is None else self._finished(best)

    def _powers(self) -> Assimilated | None:
        """The field of powers with the highest evidence; the first that is a law."""
        best: Assimilated | None = None
        for field, most in zip(self._fields, (self._laws.most_quadratic, self._laws.most_parameters), strict=False):
            if field.coefficients > most or not self._noisy:
                break
            best = _better(best, self._assimilated(field))
            best = self._made_exact(best)
            if best is not None and self._law(best):
                break
        return best

    def _made_exact(self, found: Assimilated | None) -> Assimilated | None:
        """A field found in spite of gaps in samples without noise, solved again from the steps that have none."""
        steps = Steps.of(self._x, self._known)
        if self._complete or found is None or found.noise.max() > self._laws.clean or not found.field.count:
            return found
        if 3 * found.field.count > steps.before.size:
            return found
        exact = step_by_step(found.field, self._x, steps, Budget(self._laws.work_exact), self._laws.exact)
        return found if exact is None else exact

    def _assimilated(self, field: SparseField) -> Assimilated | None:
        """The family through noise, within its own share of the work and what is left for all."""
        given = min(self._laws.work, self._noisy_work.left)
        if given <= 0:
            return None
        budget = Budget(given)
        found = assimilate(field, self._x, self._seen, budget, self._laws)
        self._noisy_work.left += min(0.0, budget.left - given)
        return found

    def _functions(self, best: Assimilated | None) -> Assimilated | None:
        """The field of powers and functions that the smooth path proposes, where it is better than the best so far.

        The states of a field that is not the law follow that field: what it lacks shows along the plain smooth path.
        """
        laws, path, noise = self._laws, smoothed(self._x, self._rough), float(self._rough.max())
        rounds, others = list[list[Proposal]](), list[Proposal]()
        for proposals, rivals in propose(path, self.units, 2, noise, laws):
            found = self._exact_of(proposals)
            if found is not None:
                return found
            rounds.append([*proposals, *rivals])
            others += rivals
            if not self._finest:
                best = self._through_noise(rounds[-1], best)
                if self._with_functions(best) or self._noisy_work.left <= 0:
                    return best
        found = self._exact_of(others)
        if found is not None:
            return found
        for field in self._fields[2:] if self._complete and self._finest else ():
            found = exactly(field, self._x, self._known, Budget(laws.work_exact), laws)
            if found is not None:
                return found
        for proposals in rounds if self._finest else ():
            best = self._through_noise(proposals, best)
            if self._with_functions(best):
                break
        return best

    def _exact_of(self, proposals: list[Proposal]) -> Assimilated | None:
        """The first of the proposed fields that takes every sample to the next up to rounding."""
        for proposal in proposals:
            if self._complete and proposal.left < self._laws.hopeful and self._work.left > 0:
                found = exactly(self._with(proposal), self._x, self._known, self._work, self._laws)
                if found is not None:
                    return found
        return None

    def _with_functions(self, found: Assimilated | None) -> bool:
        return found is not None and len(found.field.terms.kinds) > 0 and self._law(found)

    def _through_noise(self, proposals: list[Proposal], best: Assimilated | None) -> Assimilated | None:
        """The best of the fields with most functions, and of the one before."""
        most = max(len(each.functions) for each in proposals)
        for proposal in proposals if self._noisy else ():
            field = self._with(proposal)
            if len(proposal.functions) < most or field.count > self._laws.most_parameters:
                continue
            best = _better(best, self._assimilated(field))
        jumping = best.field.jumping(best.states) if best is not None else None
        return best if jumping is None else _better(best, self._assimilated(jumping))

    def quotients(self) -> FittedFlow | None:
        """The quotient of polynomials that takes every sample to the next up to rounding."""
        if not self._complete or self._circles or self._clocked or self._x.shape[1] > self._laws.most_variables:
            return None
        budget = Budget(self._laws.work_exact)
        for field in quotients(self._x, self._laws):
            found = exactly(field, self._x, self._known, budget, self._laws)
            if found is not None:
                return self._finished(found)
        return None

    @property
    def _noisy(self) -> bool:
        """Whether states can be estimated: rougher series are noise, or sampled too coarsely."""
        return bool(self._rough.max() < self._laws.resolved)

    def _law(self, found: Assimilated) -> bool:
        """Whether one trajectory passes through everything and leaves nothing but noise."""
        if found.looseness == 0:
            return True  # every step between samples was taken up to rounding
        return found.looseness <= self._laws.one_trajectory and _white(found, self._measured, self._seen, self._laws)

    def _with(self, proposal: Proposal) -> SparseField:
        return free(proposal.terms(self._x.shape[1]), self._circles, self._clocked)

    @property
    def _measured(self) -> Array:
        return np.asarray(self._x[:, : self._x.shape[1] - len(self._circles)])

    def _finished(self, found: Assimilated) -> FittedFlow:
        return finished(found, self._x, self._measured, self._seen, self._offset, self._values, self._laws)


def fit_flow(
    values: Array, known: Mask, units: Units, phases: int = 0, laws: LawSettings = LAWS, clocked: bool = False
) -> FittedFlow | None:
    """The whole search at once."""
    search = Search(values, known, units, phases, laws, clocked)
    return search.exact_powers() or search.others()


def _read(values: Array, known: Mask, offset: Array, laws: LawSettings) -> tuple[Array, Array]:
    """The latest samples in the field's variables, and 1 for each that was observed. known: rows, or single values."""
    x, there = (values + offset)[-laws.latest :], known[: len(values)][-laws.latest :]
    seen = there if there.ndim == 2 else np.repeat(there[:, None], x.shape[1], axis=1)
    return x, seen.astype(np.float64)


def _after_gap(x: Array, seen: Array, laws: LawSettings) -> tuple[Array, Array]:
    """The rows after the last gap that is too long for noise to be followed through, where they are enough.

    Steps between exact samples need no such cut: those across a gap do not count.
    """
    there = np.flatnonzero(seen.any(axis=1))
    after = there[1:][np.diff(there) > laws.unbridged]
    if not len(after) or len(x) - after[-1] < max(laws.after_gap * len(x), laws.shortest):
        return x, seen
    return x[after[-1] :], seen[after[-1] :]


def _white(found: Assimilated, measured: Array, seen: Array, laws: LawSettings) -> bool:
    """Whether what is left is noise: values one and two samples apart have nothing to do with each other.

    Variables without noise, such as a phase that is a function of time, leave rounding and do not count, nor do values
    that were missing: what they were filled with misses the path by more than noise, for as long as the gap lasts.
    """
    for variable, column in enumerate(measured.T):
        there = seen[:, variable] > 0
        rest = column - found.states[:, variable]
        size = float(rest[there].std()) if there.any() else 0.0
        if size <= max(laws.noiseless, laws.converged * found.noise[variable]):
            continue  # rounding, or errors of integration where the noise is taken to be more than there is
        for lag in (1, 2):
            both = there[lag:] & there[:-lag]
            alike = np.mean((rest[lag:] * rest[:-lag])[both]) / size**2 if both.any() else 0.0
            if not abs(alike) < laws.alike / np.sqrt(both.sum()):
                return False
    return True


def _better(one: Assimilated | None, other: Assimilated | None) -> Assimilated | None:
    if one is None or other is None:
        return other if one is None else one
    return other if other.evidence > one.evidence else one


def finished(
    found: Assimilated, x: Array, measured: Array, seen: Array, offset: Array, values: Array, laws: LawSettings
) -> FittedFlow:
    residual = float(np.sqrt(np.mean(found.noise**2)))
    exact = residual < laws.exact.rounding
    rough = roughness(x, seen > 0)[found.field.own]
    noise_only = exact or (float(rough.max()) < laws.resolved and _white(found, measured, seen, laws))
    conclusive = found.looseness <= laws.one_trajectory and x.size > 3 * found.field.count and noise_only
    return FittedFlow(found, offset, residual, exact, conclusive, values + offset, laws, seen=seen)
