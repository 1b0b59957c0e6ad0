"""Fields as tables of terms, methods of integration, and the compiled functions that follow fields.

f_i(x) = sum_p theta[p, i] phi_p(x). phi_0 = 1 and every other phi_p is an earlier one times a *factor*: a variable, or
a function of a weighted sum of variables. `kernels/unrolled.pyx` evaluates them, `kernels/flow.pyx` follows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from scipy.integrate import DOP853

from prophecy._arrays import Array, Counts
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
