"""Fields with some terms switched off, and the vector of parameters that is left to solve for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from prophecy._arrays import Array, Counts, Mask
from prophecy.laws import flow
from prophecy.laws.flow import EIGHTH, EXPONENTIAL, LOGARITHM, RATE, ROOT, SHIFT, SIGN, SINE, TANH, Tableau, Terms
from prophecy.laws.kernels import entry

# Of |r x + s| and 1 / (r x + s) only s is free, of exp(r x + s) only r: the rest is a factor. Where several rates or
# bends are there, all but the largest are free. Logarithms and roots are of variables in their own units.
_FREE_RATES = (SINE, TANH, EXPONENTIAL)
_FIXED_SHIFTS = (EXPONENTIAL, LOGARITHM, ROOT)
STEEP = 6.0  # of the argument of tanh: from -3 to 3 it goes from one end to the other, but for half a per cent


@dataclass(frozen=True, eq=False)
class SparseField:
    """theta, mask: (size, variables); a term whose mask is off is not there. shaped: whether functions may change.
    given: terms beside those of the mask whose coefficients are known, None for none. inputs: how many of the last
    variables are inputs: given at every sample, held until the next, and without an equation."""

    terms: Terms
    theta: Array
    mask: Mask
    shaped: bool = True
    given: Mask | None = None
    inputs: int = 0

    @classmethod
    def of(cls, terms: Terms, theta: Array | None = None) -> SparseField:
        shape = terms.size, terms.variables
        return cls(terms, np.zeros(shape) if theta is None else theta, np.ones(shape, dtype=np.bool_))

    @property
    def own(self) -> Mask:
        """(variables,): which have an equation."""
        return np.arange(self.terms.variables) < self.terms.variables - self.inputs

    @cached_property
    def parameters(self) -> tuple[Counts, Counts]:
        """chosen and whose, as `tangents` wants them: coefficients first, then shifts and rates of functions."""
        whose, chosen = np.nonzero(self.mask.T)
        extra: list[tuple[int, int]] = []
        terms = self.terms
        factors = np.unique(terms.factors[self.mask.any(axis=1)])
        for j in factors[factors >= terms.variables] - terms.variables if self.shaped else ():
            shape = np.concatenate([terms.rates[j], terms.bends[j].reshape(-1)])
            extra += [(int(j), SHIFT if i < 0 else RATE - i) for i in movable(int(terms.kinds[j]), shape)]
        more = np.array(extra, dtype=np.int64).reshape(-1, 2)
        return np.append(chosen, more[:, 0]).astype(np.int64), np.append(whose, more[:, 1]).astype(np.int64)

    @property
    def count(self) -> int:
        """How many parameters there are."""
        return len(self.parameters[0])

    @property
    def coefficients(self) -> int:
        """How many of them are coefficients of terms."""
        return int(self.mask.sum())

    @property
    def vector(self) -> Array:
        """The coefficients, and 0 for each of the other parameters."""
        return np.append(self.theta.T[self.mask.T], np.zeros(self.count - self.coefficients))

    def only(self, alive: Mask, vector: Array) -> SparseField:
        """The field with those of its terms that are alive, and with these coefficients."""
        mask, theta = np.zeros_like(self.mask), np.zeros_like(self.theta)
        mask.T[self.mask.T], theta.T[self.mask.T] = alive[: self.coefficients], vector[: self.coefficients]
        return self.with_mask(mask, theta)

    def moved(self, change: Array) -> SparseField:
        """The field with its parameters changed by that much."""
        theta = self.theta.copy()
        theta.T[self.mask.T] += change[: self.coefficients]
        terms = self.terms
        if len(change) > self.coefficients:
            shifts, rates, bends = terms.shifts.copy(), terms.rates.copy(), terms.bends.copy()
            v = terms.variables
            for j, owner, by in zip(*(a[self.coefficients :] for a in (*self.parameters, change)), strict=True):
                if owner == SHIFT:
                    shifts[j] += by
                elif RATE - owner < v:
                    rates[j, RATE - owner] += by
                else:
                    bends[j].reshape(-1)[RATE - owner - v] += by
            terms = terms._replace(shifts=shifts, rates=rates, bends=bends)
        return replace(self, terms=terms, theta=theta)

    def jumping(self, path: Array) -> SparseField | None:
        """The same with signs in the place of those tanh that are steeper than samples tell apart: that go from one end
        to the other within half of the steps across them. None where there are none. path: (time, variables)."""
        terms, kinds = self.terms, self.terms.kinds.copy()
        for j in np.nonzero(kinds == TANH)[0]:
            at = terms.functions[j].sums(path)
            across = np.abs(np.diff(at))[at[1:] * at[:-1] < 0]
            if len(across) and np.median(across) > STEEP:
                kinds[j] = SIGN
        return None if (kinds == terms.kinds).all() else replace(self, terms=terms._replace(kinds=kinds))

    def with_mask(self, mask: Mask, theta: Array | None = None) -> SparseField:
        held = 0.0 if self.given is None else np.where(self.given, self.theta, 0.0)
        return replace(self, mask=mask, theta=np.where(mask, self.theta if theta is None else theta, held))

    @property
    def there(self) -> Mask:
        """Which terms each equation has, (size, variables)."""
        return self.mask if self.given is None else self.mask | self.given

    def steps(self, tableau: Tableau, points: Array, substeps: int | Counts) -> Array:
        """Every one of (points, variables) one sample later, by as many substeps, one number or one for each."""
        return np.asarray(entry.tangents(self.terms, self.theta, tableau, (), (), points, substeps, False)[0])

    def tangents(self, tableau: Tableau, points: Array, substeps: int | Counts) -> tuple[Array, Array]:
        """One sample later, and the derivatives with the start and the parameters (`kernels/flow.pyx`)."""
        ends, tangent = entry.tangents(self.terms, self.theta, tableau, *self.parameters, points, substeps)
        return ends, tangent

    def paths(
        self,
        starts: Array,
        horizon: int,
        tolerance: float,
        bound: float,
        kicks: Array = flow.NO_KICKS,
        fields: Sequence[SparseField] = (),
    ) -> Array:
        """The next samples from each of (starts, variables), NaN from where they leave: (starts, horizon, v).

        tolerance: of a step, in standard deviations. kicks: (starts, horizon, variables), added at every sample.
        fields: each path's own, of the same terms with other parameters.
        """
        every = fields or [self]
        thetas = np.stack([field.theta for field in every])
        shapes = [np.stack([getattr(field.terms, name) for field in every]) for name in ("rates", "shifts", "bends")]
        return np.asarray(flow.paths(self.terms, thetas, shapes, EIGHTH, starts, horizon, tolerance, bound, kicks))

    def substeps(self, tableau: Tableau, states: Array, tolerance: float | Array, most: int = 8) -> Counts:
        """The fewest substeps (1, 2, 4 ... most) with which the step from each of (states, variables) has converged.

        tolerance: one for all, or (variables,), in standard deviations.
        """
        counts = np.ones(len(states), dtype=np.int64)
        rest = np.arange(len(states))
        coarse, count = self.steps(tableau, states, 1), 1
        while count < most and len(rest):
            fine = self.steps(tableau, states[rest], 2 * count)
            apart = ~(np.abs(fine - coarse) < tolerance).all(axis=1)
            rest, coarse, count = rest[apart], fine[apart], 2 * count
            counts[rest] = count
        return counts


def movable(kind: int, shape: Array) -> list[int]:
    """What of a function is free, the rest being a factor: -1 for its shift, then places of its rates and bends."""
    there = np.nonzero(shape)[0]
    if kind not in _FREE_RATES:
        there = there[there != np.argmax(np.abs(shape))]
    return [*([] if kind in _FIXED_SHIFTS else [-1]), *there.tolist()]


def eliminated(
    value: Array, root: Array, alive: Mask, limit: float, most: int, enough: int | None = None
) -> tuple[Array, Array, Mask]:
    """Backward elimination under a quadratic cost: the minimiser and a square root of its covariance, (entries, any),
    without the weak terms; the others follow as far as they are correlated with these.

    The term whose removal costs least goes first, as long as that is at most `limit`, and at most `most` of them go.
    alive: the entries that may go; as long as more than `enough` of them are left they go whatever that costs.
    """
    removable, enough = alive.copy(), len(value) if enough is None else enough
    for _ in range(most):
        variance = np.einsum("pr,pr->p", root, root)
        loss = np.where(removable, value**2 / np.maximum(variance, 1e-300), np.inf)
        weakest = int(np.argmin(loss))
        if not loss[weakest] <= limit and removable.sum() <= enough:
            break
        share = root @ root[weakest] / max(variance[weakest], 1e-300)
        value, root = value - share * value[weakest], root - np.outer(share, root[weakest])
        removable[weakest], value[weakest] = False, 0.0
    return value, root, removable


def circles(values: Array, phases: int) -> list[tuple[int, int]]:
    """Each partner a quarter of a period later, and the sinusoid it belongs to: the one it makes a circle with."""
    own, squares = values.shape[1] - phases, values**2 / np.mean(values**2, axis=0)
    apart = np.std(squares[:, :own, None] + squares[:, None, own:], axis=0)
    return [(int(i), own + partner) for partner, i in enumerate(np.argmin(apart, axis=0))]


def free(terms: Terms, circles: list[tuple[int, int]], clocked: bool) -> SparseField:
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
