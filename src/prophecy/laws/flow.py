"""Fields: tables of terms, some of them switched off, methods of integration, and the compiled functions that follow.

f_i(x) = sum_p theta[p, i] phi_p(x). phi_0 = 1 and every other phi_p is an earlier one times a *factor*: a variable, or
a function of a weighted sum of variables. `kernels/unrolled.pyx` evaluates them, `kernels/flow.pyx` follows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from scipy.integrate import DOP853

from prophecy._arrays import Array, Counts, Mask
from prophecy.laws.context import Units
from prophecy.laws.kernels import entry

features, paths = entry.features, entry.paths
SINE, TANH, MODULUS, SIGN = entry.SINE, entry.TANH, entry.MODULUS, entry.SIGN
EXPONENTIAL, RECIPROCAL, LOGARITHM, ROOT = entry.EXPONENTIAL, entry.RECIPROCAL, entry.LOGARITHM, entry.ROOT

#: In the place of a variable's number: the parameter is a function's shift, or (-2 - j) its rate along variable j, or
#: (-2 - variables - a * variables - b) the coefficient of x_a x_b in what it is taken of.
SHIFT, RATE = -1, -2


class Terms(NamedTuple):
    """The table a field is evaluated from.

    parents[p], factors[p]: term p is term parents[p] times factor factors[p]; term 0 is the constant 1.
    Factors 0 ... variables - 1 are the variables; factor variables + j is the function kinds[j] of
    x @ bends[j] @ x + rates[j] @ x + shifts[j].
    """

    variables: int
    parents: Counts
    factors: Counts
    kinds: Counts
    rates: Array
    shifts: Array
    bends: Array

    @property
    def size(self) -> int:
        return len(self.parents)

    @property
    def functions(self) -> list[Function]:
        every = zip(self.kinds, self.rates, self.shifts, self.bends, strict=True)
        return [
            Function(int(kind), tuple(rates), float(shift), tuple(bends.reshape(-1)) if bends.any() else ())
            for kind, rates, shift, bends in every
        ]


class Function(NamedTuple):
    """kind(x @ bends @ x + rates @ x + shift); bends: row by row, () for none."""

    kind: int
    rates: tuple[float, ...]
    shift: float = 0.0
    bends: tuple[float, ...] = ()

    @property
    def _bends(self) -> Array:
        return np.reshape(self.bends or np.zeros(len(self.rates) ** 2), (len(self.rates), -1))

    def sums(self, points: Array) -> Array:
        """What it is taken of at (points, variables): (points,)."""
        bent = np.einsum("ka,ab,kb->k", points, self._bends, points) if self.bends else 0.0
        return np.asarray(bent + points @ np.array(self.rates) + self.shift)

    def of(self, kind: int, factor: float = 1.0, shift: float = 0.0) -> Function:
        """That kind of function of `factor` times the same sum, and `shift`."""
        rates, bends = factor * np.array(self.rates), factor * np.array(self.bends)
        return Function(kind, tuple(rates), float(factor * self.shift + shift), tuple(bends))

    def scaled(self, units: Units) -> Function:
        """The same of scaled variables, where this one has those in the data's units."""
        scale, centre = units.scale, units.centre
        rates, bends = np.array(self.rates), self._bends
        shift = self.shift + (rates + bends @ centre) @ centre
        rates = (rates + (bends + bends.T) @ centre) * scale
        inside = tuple((np.outer(scale, scale) * bends).reshape(-1)) if self.bends else ()
        return self._replace(rates=tuple(rates), shift=float(shift), bends=inside)


def polynomial_terms(variables: int, degree: int, functions: Sequence[Function] = (), with_functions: int = 1) -> Terms:
    """All monomials of the variables up to `degree`, then each function times those below degree `with_functions`."""
    powers = [list(combinations_with_replacement(range(variables), p)) for p in range(degree + 1)]
    place = {term: index for index, term in enumerate(term for level in powers for term in level)}
    parents = [0, *(place[term[:-1]] for term in place if term)]
    factors = [0, *(term[-1] for term in place if term)]
    for j in range(len(functions)):
        multiplied = [index for term, index in place.items() if len(term) < with_functions]
        parents += multiplied
        factors += [variables + j] * len(multiplied)
    bends = [f.bends or np.zeros(variables**2) for f in functions]
    return Terms(
        variables,
        np.array(parents, dtype=np.int64),
        np.array(factors, dtype=np.int64),
        np.array([f.kind for f in functions], dtype=np.int64),
        np.array([f.rates for f in functions], dtype=np.float64).reshape(len(functions), variables),
        np.array([f.shift for f in functions], dtype=np.float64),
        np.array(bends, dtype=np.float64).reshape(len(functions), variables, variables),
    )


def powers(terms: Terms) -> Counts:
    """How often each factor occurs in each term: (size, factors)."""
    out = np.zeros((terms.size, terms.variables + len(terms.kinds)), dtype=np.int64)
    for p in range(1, terms.size):
        out[p] = out[terms.parents[p]]
        out[p, terms.factors[p]] += 1
    return out


class Tableau(NamedTuple):
    """An explicit Runge-Kutta method: stages from earlier slopes, the weights of the slopes, and those of the two
    estimates of what a step misses by (empty where there are none)."""

    stages: Array
    weights: Array
    fifth: Array
    third: Array


#: Order 4 for noisy samples, order 8 (Dormand and Prince) for exact ones.
FOURTH = Tableau(
    np.array([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1.0, 0]]),
    np.array([1, 2, 2, 1]) / 6,
    np.zeros(0),
    np.zeros(0),
)
EIGHTH = Tableau(
    *(np.array(a, dtype=np.float64) for a in (DOP853.A[:12, :12], DOP853.B, DOP853.E5[:12], DOP853.E3[:12]))
)

#: For `paths` that follow the flow exactly.
NO_KICKS = np.zeros((0, 0, 0))

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
        kicks: Array = NO_KICKS,
        fields: Sequence[SparseField] = (),
    ) -> Array:
        """The next samples from each of (starts, variables), NaN from where they leave: (starts, horizon, v).

        tolerance: of a step, in standard deviations. kicks: (starts, horizon, variables), added at every sample.
        fields: each path's own, of the same terms with other parameters.
        """
        every = fields or [self]
        thetas = np.stack([field.theta for field in every])
        shapes = [np.stack([getattr(field.terms, name) for field in every]) for name in ("rates", "shifts", "bends")]
        return np.asarray(paths(self.terms, thetas, shapes, EIGHTH, starts, horizon, tolerance, bound, kicks))

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
