"""Compiled flows: fields that are sums of products, their steps, and how a step depends on its start and parameters.

f_i(x) = sum_p theta[p, i] phi_p(x). phi_0 = 1 and every other phi_p is an earlier one times a *factor*: a variable, or
a function of a weighted sum of variables. Everything here is plain loops over single points, compiled by Numba: the
fields have few variables and few terms, so that a vectorised version spends its time on bookkeeping.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import DOP853

from prophecy._compiled import inner, kernel

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: What a function of a weighted sum may be.
SINE, TANH, MODULUS, EXPONENTIAL, RECIPROCAL = range(5)
#: In the place of a variable's number: the parameter is a function's shift, or (-2 - j) its rate along variable j, or
#: (-2 - variables - a * variables - b) the coefficient of x_a x_b in what it is taken of.
SHIFT, RATE = -1, -2
#: For `paths` that follow the flow exactly.
NO_KICKS = np.zeros((0, 0, 0))


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
#: Of a sample: what is too fast for shorter steps is not worth following.
SHORTEST = 1 / 512


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
def _function(terms: Terms, j: int, x: Array) -> tuple[float, float]:
    """Value and slope of function j at its weighted sum."""
    at = terms.shifts[j]
    for i in range(terms.variables):
        along = terms.rates[j, i]
        for k in range(terms.variables):
            along += terms.bends[j, i, k] * x[k]
        at += along * x[i]
    kind = terms.kinds[j]
    if kind == 0:
        return np.sin(at), np.cos(at)
    if kind == 1:
        value = np.tanh(at)
        return value, 1.0 - value * value
    if kind == 2:
        return abs(at), 1.0 if at > 0.0 else -1.0
    if kind == 3:
        value = np.exp(min(at, 300.0))
        return value, value
    return 1.0 / at, -1.0 / (at * at)


@inner
def _values(terms: Terms, x: Array, phi: Array) -> None:
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
            last, known = factor, _function(terms, factor - v, x)[0]
        phi[p] = phi[terms.parents[p]] * known


@inner
def _slopes(terms: Terms, x: Array, phi: Array, dphi: Array) -> None:
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
                known, slope = _function(terms, factor - v, x)
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
                along = terms.rates[factor - v, i]
                for k in range(v):
                    along += (terms.bends[factor - v, i, k] + terms.bends[factor - v, k, i]) * x[k]
                dphi[p, i] += own * along


@kernel
def features(terms: Terms, points: Array) -> Array:
    """phi at (points, variables): (points, size)."""
    out = np.empty((len(points), len(terms.parents)))
    for k in range(len(points)):
        _values(terms, points[k], out[k])
    return out


@inner
def _step(
    terms: Terms, theta: Array, tableau: Tableau, x: Array, h: float, phi: Array, slopes: Array, there: Array
) -> None:
    """One Runge-Kutta step, in place. slopes: (stages, variables), there: (variables,) to work in."""
    v, stages = terms.variables, len(tableau.weights)
    for stage in range(stages):
        for i in range(v):
            there[i] = x[i]
        for before in range(stage):
            weight = h * tableau.stages[stage, before]
            if weight != 0.0:
                for i in range(v):
                    there[i] += weight * slopes[before, i]
        _values(terms, there, phi)
        for i in range(v):
            slopes[stage, i] = 0.0
        for p in range(len(phi)):
            for i in range(v):
                slopes[stage, i] += theta[p, i] * phi[p]
    for stage in range(stages):
        for i in range(v):
            x[i] += h * tableau.weights[stage] * slopes[stage, i]


@kernel
def steps(terms: Terms, theta: Array, tableau: Tableau, points: Array, substeps: Indices) -> Array:
    """Every one of (points, variables) one sample later, each by as many substeps as (points,) says."""
    out = points.copy()
    phi, there = np.empty(len(terms.parents)), np.empty(terms.variables)
    slopes = np.empty((len(tableau.weights), terms.variables))
    for k in range(len(points)):
        for _ in range(substeps[k]):
            _step(terms, theta, tableau, out[k], 1.0 / substeps[k], phi, slopes, there)
    return out


@inner
def _miss(tableau: Tableau, slopes: Array, h: float) -> float:
    """What a step of order 8 misses by, as its lower orders tell (Hairer, Norsett and Wanner's estimate)."""
    fifth, third = 0.0, 0.0
    for i in range(slopes.shape[1]):
        five, three = 0.0, 0.0
        for stage in range(len(tableau.weights)):
            five += tableau.fifth[stage] * slopes[stage, i]
            three += tableau.third[stage] * slopes[stage, i]
        fifth, third = fifth + five * five, third + three * three
    whole = fifth + 0.01 * third
    return h * fifth / np.sqrt(whole) if whole > 0.0 else h * whole


@inner
def _sample(
    terms: Terms,
    theta: Array,
    tableau: Tableau,
    x: Array,
    h: float,
    tolerance: float,
    phi: Array,
    slopes: Array,
    there: Array,
    before: Array,
) -> float:
    """One sample onwards in place, by steps as long as the tolerance allows; the length to go on with, 0 where even
    the shortest will not do."""
    left = 1.0
    while left > 0.0:
        whole = h >= left
        length = left if whole else h
        before[:] = x
        _step(terms, theta, tableau, x, length, phi, slopes, there)
        miss = _miss(tableau, slopes, length)
        factor = 0.9 * (tolerance / miss) ** 0.125 if miss > 0.0 else 4.0
        if miss <= tolerance:
            left = 0.0 if whole else left - length
            if not whole or factor < 1.0:
                h = length * min(factor, 4.0)
            continue
        x[:] = before
        h = length * max(factor, 0.2) if miss < np.inf else 0.2 * length
        if not h > SHORTEST:
            return 0.0
    return h


@kernel
def paths(
    terms: Terms,
    thetas: Array,
    tableau: Tableau,
    starts: Array,
    horizon: int,
    tolerance: float,
    bound: float,
    kicks: Array,
) -> Array:
    """The next samples from each of (starts, variables) under its own parameters: (starts, horizon, variables).

    NaN from where a path is farther from zero than `bound`: it has left for good. tolerance: what a step of order 8 may
    miss by; the steps are as long as it allows. kicks: (starts, horizon, variables), by how much the flow is missed at
    every sample, or empty.
    """
    out = np.full((len(starts), horizon, terms.variables), np.nan)
    phi, there, before = np.empty(len(terms.parents)), np.empty(terms.variables), np.empty(terms.variables)
    slopes = np.empty((len(tableau.weights), terms.variables))
    for s in range(len(starts)):
        x, h = starts[s].copy(), 1.0
        for k in range(horizon):
            h = _sample(terms, thetas[s], tableau, x, h, tolerance, phi, slopes, there, before)
            inside = h > 0.0
            for i in range(terms.variables):
                if len(kicks) > 0:
                    x[i] += kicks[s, k, i]
                inside = inside and abs(x[i]) <= bound
            if not inside:
                break
            out[s, k] = x
    return out


@inner
def _linear(terms: Terms, theta: Array, x: Array, phi: Array, dphi: Array, jacobian: Array, slope: Array) -> None:
    """The time derivative of a state, and its derivatives with the variables and with the functions' sums."""
    v, columns = terms.variables, terms.variables + len(terms.kinds)
    _slopes(terms, x, phi, dphi)
    for i in range(v):
        slope[i] = 0.0
        for j in range(columns):
            jacobian[i, j] = 0.0
    for p in range(len(phi)):
        for i in range(v):
            weight = theta[p, i]
            if weight != 0.0:
                slope[i] += weight * phi[p]
                for j in range(columns):
                    jacobian[i, j] += weight * dphi[p, j]


@inner
def _answers(tableau: Tableau, h: float, jacobian: Array, answer: Array, through: Array) -> None:
    """answer[s]: how the end of a step depends on the slope of stage s; through[s]: answer[s] @ jacobian[s].

    From the last stage back: a slope enters the end itself and every later stage.
    """
    stages, v = len(tableau.weights), answer.shape[1]
    for s in range(stages - 1, -1, -1):
        for i in range(v):
            for j in range(v):
                answer[s, i, j] = h * tableau.weights[s] if i == j else 0.0
        for r in range(s + 1, stages):
            weight = h * tableau.stages[r, s]
            if weight != 0.0:
                for i in range(v):
                    for j in range(v):
                        answer[s, i, j] += weight * through[r, i, j]
        for i in range(v):
            for j in range(v):
                total = 0.0
                for m in range(v):
                    total += answer[s, i, m] * jacobian[s, m, j]
                through[s, i, j] = total


@inner
def _by_parameters(
    chosen: Indices, whose: Indices, answer: Array, jacobian: Array, at: Array, phi: Array, out: Array
) -> None:
    """Add what the slope of one stage has to do with the parameters to the derivatives of the end, (v, v + count)."""
    v = len(at)
    for c in range(len(chosen)):
        owner = whose[c]
        if owner >= 0:
            for i in range(v):
                out[i, v + c] += answer[i, owner] * phi[chosen[c]]
            continue
        which = -2 - owner
        share = 1.0
        if which >= v:
            share = at[(which - v) // v] * at[(which - v) % v]
        elif which >= 0:
            share = at[which]
        for i in range(v):
            for j in range(v):
                out[i, v + c] += answer[i, j] * share * jacobian[j, v + chosen[c]]


@kernel
def tangents(
    terms: Terms, theta: Array, tableau: Tableau, chosen: Indices, whose: Indices, points: Array, substeps: Indices
) -> tuple[Array, Array]:
    """One sample onwards from each point, and its derivatives.

    Parameter c is theta[chosen[c], whose[c]], or, where whose[c] is negative, shift or rate of function chosen[c].
    Returns ends (points, variables) and derivatives (points, variables, variables + parameters): with the start, and
    with the parameters; both by the same steps, so that the derivatives are those of the numbers computed. A step's end
    depends on a parameter through the slopes of its stages alone, and how it depends on those is found once.
    """
    v, count, columns = terms.variables, len(points), terms.variables + len(chosen)
    factors, stages, size = terms.variables + len(terms.kinds), len(tableau.weights), len(terms.parents)
    ends, out = points.copy(), np.zeros((count, v, columns))
    phi, dphi, jacobian = np.empty((stages, size)), np.empty((size, factors)), np.empty((stages, v, factors))
    at, slopes = np.empty((stages, v)), np.empty((stages, v))
    answer, through = np.empty((stages, v, v)), np.empty((stages, v, v))
    whole, column = np.empty((v, v)), np.empty(v)
    for k in range(count):
        h = 1.0 / substeps[k]
        for i in range(v):
            out[k, i, i] = 1.0
        for part in range(substeps[k]):
            for stage in range(stages):
                for i in range(v):
                    at[stage, i] = ends[k, i]
                for before in range(stage):
                    weight = h * tableau.stages[stage, before]
                    if weight != 0.0:
                        for i in range(v):
                            at[stage, i] += weight * slopes[before, i]
                _linear(terms, theta, at[stage], phi[stage], dphi, jacobian[stage], slopes[stage])
            _answers(tableau, h, jacobian, answer, through)
            for i in range(v):
                for j in range(v):
                    whole[i, j] = 1.0 if i == j else 0.0
                    for stage in range(stages):
                        whole[i, j] += through[stage, i, j]
            for c in range(v if part == 0 else columns):
                for i in range(v):
                    column[i] = out[k, i, c]
                    out[k, i, c] = 0.0
                for i in range(v):
                    for j in range(v):
                        out[k, i, c] += whole[i, j] * column[j]
            for stage in range(stages):
                _by_parameters(chosen, whose, answer[stage], jacobian[stage], at[stage], phi[stage], out[k])
                for i in range(v):
                    ends[k, i] += h * tableau.weights[stage] * slopes[stage, i]
    return ends, out
