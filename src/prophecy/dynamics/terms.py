"""What fields are sums of: products of variables and of functions of weighted sums of variables, as a table.

f_i(x) = sum_p theta[p, i] phi_p(x). phi_0 = 1 and every other phi_p is an earlier one times a *factor*: a variable, or
a function of a weighted sum of variables. Everything compiled here is plain loops over single points: the fields have
few variables and few terms, so that a vectorised version spends its time on bookkeeping.

Moduli and signs switch where their sum passes zero. Between two switches each is smooth, on the branch that `branches`
names; `flow.py` finds the moments between, those of moduli only for steps of order 8: across a kink a step of a low
order errs by its square.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import inner, kernel

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: What a function of a weighted sum may be.
SINE, TANH, MODULUS, EXPONENTIAL, RECIPROCAL, SIGN = range(6)
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
    parents: Indices
    factors: Indices
    kinds: Indices
    rates: Array
    shifts: Array
    bends: Array

    @property
    def size(self) -> int:
        return len(self.parents)


class Function(NamedTuple):
    """kind(x @ bends @ x + rates @ x + shift); bends: row by row, () for none."""

    kind: int
    rates: tuple[float, ...]
    shift: float
    bends: tuple[float, ...] = ()


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


def powers(terms: Terms) -> Indices:
    """How often each factor occurs in each term: (size, factors)."""
    out = np.zeros((terms.size, terms.variables + len(terms.kinds)), dtype=np.int64)
    for p in range(1, terms.size):
        out[p] = out[terms.parents[p]]
        out[p, terms.factors[p]] += 1
    return out


@inner
def argument(terms: Terms, j: int, x: Array) -> float:
    """The weighted sum that function j is taken of."""
    at: float = terms.shifts[j]
    for i in range(terms.variables):
        along = terms.rates[j, i]
        for k in range(terms.variables):
            along += terms.bends[j, i, k] * x[k]
        at += along * x[i]
    return at


@inner
def slope_along(terms: Terms, j: int, x: Array, i: int) -> float:
    """The derivative of that sum with variable i."""
    along: float = terms.rates[j, i]
    for k in range(terms.variables):
        along += (terms.bends[j, i, k] + terms.bends[j, k, i]) * x[k]
    return along


@inner
def switches(terms: Terms, j: int, kinks: bool) -> bool:
    """Whether steps stop where the sum of function j passes zero: at jumps, and at kinks where these count."""
    return terms.kinds[j] == 5 or (kinks and terms.kinds[j] == 2)


@inner
def any_switches(terms: Terms, kinks: bool) -> bool:
    found = False
    for j in range(len(terms.kinds)):
        found = found or switches(terms, j, kinks)
    return found


@inner
def choose_branches(terms: Terms, x: Array, kinks: bool, branches: Array) -> None:
    """The side that each function is on, (functions,); 0 for those that change it within a step."""
    for j in range(len(terms.kinds)):
        branches[j] = 0.0
        if switches(terms, j, kinks):
            branches[j] = 1.0 if argument(terms, j, x) > 0.0 else -1.0


@inner
def _function(terms: Terms, j: int, x: Array, branches: Array) -> tuple[float, float]:
    """Value and slope of function j at its weighted sum."""
    kind = terms.kinds[j]
    if kind == 5:
        return branches[j], 0.0
    at = argument(terms, j, x)
    if kind == 0:
        return np.sin(at), np.cos(at)
    if kind == 1:
        value = np.tanh(at)
        return value, 1.0 - value * value
    if kind == 2:
        side = branches[j]
        if side == 0.0:
            side = 1.0 if at > 0.0 else -1.0
        return side * at, side
    if kind == 3:
        value = np.exp(min(at, 300.0))
        return value, value
    return 1.0 / at, -1.0 / (at * at)


@inner
def evaluate(terms: Terms, x: Array, branches: Array, phi: Array) -> None:
    """phi(x) into phi."""
    v = terms.variables
    phi[0] = 1.0
    last, known = -1, 0.0
    for p in range(1, len(terms.parents)):
        factor = terms.factors[p]
        if factor < v:
            phi[p] = phi[terms.parents[p]] * x[factor]
            continue
        if factor != last:
            last, known = factor, _function(terms, factor - v, x, branches)[0]
        phi[p] = phi[terms.parents[p]] * known


@inner
def evaluate_slopes(terms: Terms, x: Array, branches: Array, phi: Array, dphi: Array) -> None:
    """phi(x) and its derivatives, (size, variables + functions): with the variables, and with the functions' sums."""
    v, functions = terms.variables, len(terms.kinds)
    phi[0] = 1.0
    for i in range(v + functions):
        dphi[0, i] = 0.0
    last, known, slope = -1, 0.0, 0.0
    for p in range(1, len(terms.parents)):
        parent, factor = terms.parents[p], terms.factors[p]
        value = 0.0
        if factor < v:
            value = x[factor]
        else:
            if factor != last:
                last = factor
                known, slope = _function(terms, factor - v, x, branches)
            value = known
        phi[p] = phi[parent] * value
        for i in range(v + functions):
            dphi[p, i] = dphi[parent, i] * value
        if factor < v:
            dphi[p, factor] += phi[parent]
        else:
            own = phi[parent] * slope
            dphi[p, factor] += own
            for i in range(v):
                dphi[p, i] += own * slope_along(terms, factor - v, x, i)


@kernel
def features(terms: Terms, points: Array) -> Array:
    """phi at (points, variables): (points, size)."""
    out, branches = np.empty((len(points), len(terms.parents))), np.empty(len(terms.kinds))
    for k in range(len(points)):
        choose_branches(terms, points[k], False, branches)
        evaluate(terms, points[k], branches, out[k])
    return out
