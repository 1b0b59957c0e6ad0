"""The search for the field whose single trajectory passes best through a series."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from prophecy._arrays import Array, Mask
from prophecy.laws import flow
from prophecy.laws.context import Units, monomial_count
from prophecy.laws.families import Proposal, propose, quotients
from prophecy.laws.flow import SparseField, Terms
from prophecy.laws.noise_free import exactly
from prophecy.laws.problem import Assimilated, assimilate
from prophecy.laws.settings import LAWS, LawSettings
from prophecy.laws.trajectory import FittedFlow
from prophecy.laws.weak_form import Budget, roughness, smoothed


class Search:
    """The field whose single trajectory passes best through (time, variables), in standard deviations around the mean.

    Powers up to degree 2, then 3, then powers and functions, until one trajectory explains everything up to the noise;
    the evidence decides between them. known: rows, or single values, that were observed. phases: how many of the last
    variables are quarter-period partners of others. clocked: whether the last variable is time, which goes on evenly
    and multiplies other terms at most once. units: of the field's variables.
    """

    def __init__(
        self, values: Array, known: Mask, units: Units, phases: int = 0, laws: LawSettings = LAWS, clocked: bool = False
    ) -> None:
        centre = units.centre / units.scale
        self._offset = np.where(np.abs(centre) < laws.centred, centre, 0.0)
        self._values, self._laws = values, laws
        there = np.broadcast_to(known if known.ndim == 2 else known[:, None], values.shape)
        self._x, self._seen = (values + self._offset)[-laws.latest :], there[-laws.latest :].astype(np.float64)
        self._circles, self._clocked = _circles(values, phases), clocked
        self.units = Units(units.centre - self._offset * units.scale, units.scale)
        self._rough = roughness(self._x, self._seen > 0)
        # Whether samples may be exact; and whether they show more than noise, and are not too far apart for that.
        self._finest, self._resolved = (bool(self._rough.max() < most) for most in (laws.clean, laws.resolved))
        if not self._finest:
            self._x, self._seen = _after_gap(self._x, self._seen, laws)
        self._known = np.asarray(self._seen.all(axis=1))
        self._work, self._noisy_work = Budget(laws.work_exact), Budget(2 * laws.work)
        variables = self._x.shape[1]
        self._fields = [
            _free(flow.polynomial_terms(variables, degree), self._circles, clocked)
            for degree in ((2, 4) if clocked else (2, 3, 4))
            if monomial_count(variables, degree) * variables <= min(laws.most_exact, self._seen.sum() / 3)
        ]

    def best(self) -> FittedFlow | None:
        """The field of powers, through exact samples if there is one, or the best of all."""
        return self.exact_powers() or self.others()

    def exact_powers(self) -> FittedFlow | None:
        """The field of powers that takes every sample to the next up to rounding."""
        return self._exact(self._fields[:2], self._work)

    def of_libraries(self) -> FittedFlow | None:
        """The first law of the user's own libraries."""
        found = (self.of(library.field(self.units)) for library in self._laws.libraries)
        return next((each for each in found if each is not None and each.conclusive), None)

    def of(self, field: SparseField) -> FittedFlow | None:
        """The member of a small family that passes through exact samples, or else through noise."""
        found = self._exact([field], self._work) if self._finest else None
        return found or (self._assimilated(field) if field.coefficients <= self._laws.most_quadratic else None)

    def with_inputs(self, inputs: Array) -> FittedFlow | None:
        """The law of the first variables with the last ones as inputs, of degree 2. inputs: (time, inputs), scaled like
        the values, as far ahead as they are known."""
        count = inputs.shape[1]
        field = replace(SparseField.of(flow.polynomial_terms(self._x.shape[1], 2)), inputs=count)
        mask = field.mask & field.own
        mask[flow.powers(field.terms)[:, ~field.own].sum(axis=1) > 1] = False
        found = self._assimilated(field.with_mask(mask))
        return None if found is None else replace(found, inputs=inputs + self._offset[-count:])

    def others(self) -> FittedFlow | None:
        """The best of all that is not powers through exact samples."""
        best, v = self._powers(), self._x.shape[1]
        if v > self._laws.most_variables or self._clocked or not self._resolved or (best is not None and best.short):
            return best
        return self._functions(best)

    def quotients(self) -> FittedFlow | None:
        """The quotient of polynomials that takes every sample to the next up to rounding."""
        if self._circles or self._clocked or self._x.shape[1] > self._laws.most_variables:
            return None
        return self._exact(quotients(self._x, self._laws), Budget(self._laws.work_exact))

    def _exact(self, fields: Iterable[SparseField], budget: Budget) -> FittedFlow | None:
        """The first of these families with a member that takes every sample to the next up to rounding."""
        for field in fields:
            if budget.left > 0:
                found = exactly(field, self._x, self._known, budget, self._laws)
                if found is not None:
                    return self._finished(found)
        return None

    def _powers(self) -> FittedFlow | None:
        """The field of powers with the highest evidence; the first that is a law."""
        best: FittedFlow | None = None
        for field, most in zip(self._fields, (self._laws.most_quadratic, self._laws.most_parameters), strict=False):
            if field.coefficients > most or (best is not None and best.conclusive):
                break
            best = self._better(best, field)
        return best

    def _functions(self, best: FittedFlow | None) -> FittedFlow | None:
        """The field of powers and functions that the smooth path proposes, where it is better than the best so far.

        The states of a field that is not the law follow that field: what it lacks shows along the plain smooth path.
        """
        laws, path = self._laws, smoothed(self._x, self._rough)
        rounds, others = list[list[Proposal]](), list[Proposal]()
        for proposals, rivals in propose(path, self.units, 2, float(self._rough.max()), laws):
            if (found := self._exact_of(proposals)) is not None:
                return found
            rounds.append([*proposals, *rivals])
            others += rivals
            if not self._finest:
                best = self._through_noise(rounds[-1], best)
                if _with_functions(best) or self._noisy_work.left <= 0:
                    return best
        found = self._exact_of(others)
        if found is None and self._finest:
            found = self._exact(self._fields[2:], Budget(laws.work_exact))
        for proposals in rounds if self._finest and found is None else ():
            best = self._through_noise(proposals, best)
            if _with_functions(best):
                break
        return found or best

    def _exact_of(self, proposals: list[Proposal]) -> FittedFlow | None:
        hopeful = (self._with(each) for each in proposals if each.left < self._laws.hopeful)
        return self._exact(hopeful, self._work)

    def _through_noise(self, proposals: list[Proposal], best: FittedFlow | None) -> FittedFlow | None:
        """The best of the fields with most functions, and of the one before."""
        most = max(len(each.functions) for each in proposals)
        for field in (self._with(each) for each in proposals if len(each.functions) == most):
            if field.count <= self._laws.most_parameters:
                best = self._better(best, field)
        jumping = best.field.jumping(best.found.states) if best is not None else None
        return best if jumping is None else self._better(best, jumping)

    def _better(self, best: FittedFlow | None, field: SparseField) -> FittedFlow | None:
        """The best so far or the family through noise, whichever has the higher evidence."""
        found = self._assimilated(field)
        if best is None or found is None:
            return found if best is None else best
        return found if found.found.evidence > best.found.evidence else best

    def _assimilated(self, field: SparseField) -> FittedFlow | None:
        """The family through noise, within its own share of the work and what is left for all."""
        given = min(self._laws.work, self._noisy_work.left)
        if given <= 0 or not self._resolved:
            return None
        budget = Budget(given)
        found = assimilate(field, self._x, self._seen, budget, self._laws)
        self._noisy_work.left += min(0.0, budget.left - given)
        return None if found is None else self._finished(found)

    def _with(self, proposal: Proposal) -> SparseField:
        return _free(proposal.terms, self._circles, self._clocked)

    def _finished(self, found: Assimilated) -> FittedFlow:
        measured = self._x[:, : self._x.shape[1] - len(self._circles)]
        return finished(found, self._x, measured, self._seen, self._offset, self._values, self._laws)


def _with_functions(found: FittedFlow | None) -> bool:
    return found is not None and len(found.field.terms.kinds) > 0 and found.conclusive


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
        if size > 2 * found.noise[variable]:
            return False  # the noise is held near its first estimate: here, of rows at rest
        for lag in (1, 2):
            both = there[lag:] & there[:-lag]
            alike = np.mean((rest[lag:] * rest[:-lag])[both]) / size**2 if both.any() else 0.0
            if not abs(alike) < laws.alike / np.sqrt(both.sum()):
                return False
    return True


def finished(
    found: Assimilated, x: Array, measured: Array, seen: Array, offset: Array, values: Array, laws: LawSettings
) -> FittedFlow:
    left = seen[:, : measured.shape[1]] * (measured - found.states[:, : measured.shape[1]])
    exact = max(found.residual, np.sqrt(np.mean(left**2))) < laws.exact.rounding
    rough = roughness(x, seen > 0)[found.field.own]
    noise_only = exact or (float(rough.max()) < laws.resolved and _white(found, measured, seen, laws))
    different = x.shape[1] * len(np.unique(x, axis=0))  # a row that is repeated, such as one at rest, counts once
    conclusive = found.looseness <= laws.one_trajectory and different > 3 * found.field.count and noise_only
    return FittedFlow(found, offset, exact, conclusive, values + offset, laws, seen=seen)


def _circles(values: Array, phases: int) -> list[tuple[int, int]]:
    """Each partner a quarter of a period later, and the sinusoid it belongs to: the one it makes a circle with."""
    own, squares = values.shape[1] - phases, values**2 / np.mean(values**2, axis=0)
    apart = np.std(squares[:, :own, None] + squares[:, None, own:], axis=0)
    return [(int(i), own + partner) for partner, i in enumerate(np.argmin(apart, axis=0))]


def _free(terms: Terms, circles: list[tuple[int, int]], clocked: bool) -> SparseField:
    """All terms, except those that a circle makes equal to others (a phase turns on its own and acts linearly), and
    except powers of a clock, what would change its pace, and more than cubic terms besides it."""
    field = SparseField.of(terms)
    mask, powers = field.mask.copy(), flow.powers(terms)
    for pair in circles:
        within = powers[:, list(pair)].sum(axis=1)
        mask[within > 1] = False
        alone = (within == 1) & (powers.sum(axis=1) == 1) | (powers.sum(axis=1) == 0)
        for i in pair:
            mask[~alone, i] = False
    if clocked:
        clock = terms.variables - 1
        mask[(powers[:, clock] > 1) | (powers[:, :clock].sum(axis=1) > 3)] = False
        mask[1:, clock] = False
    return field.with_mask(mask)
