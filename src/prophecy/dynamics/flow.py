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
    """An explicit Runge-Kutta method: stages from earlier slopes, and the weights of the slopes."""

    stages: Array
    weights: Array


#: Order 4 for noisy samples, order 8 (Dormand and Prince) for exact ones.
FOURTH = Tableau(np.array([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1.0, 0]]), np.array([1, 2, 2, 1]) / 6)
EIGHTH = Tableau(np.array(DOP853.A[:12, :12], dtype=np.float64), np.array(DOP853.B, dtype=np.float64))


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
def steps(terms: Terms, theta: Array, tableau: Tableau, points: Array, substeps: int) -> Array:
    """Every one of (points, variables) one sample later."""
    out = points.copy()
    phi, there = np.empty(len(terms.parents)), np.empty(terms.variables)
    slopes = np.empty((len(tableau.weights), terms.variables))
    for k in range(len(points)):
        for _ in range(substeps):
            _step(terms, theta, tableau, out[k], 1.0 / substeps, phi, slopes, there)
    return out


@kernel
def paths(
    terms: Terms,
    thetas: Array,
    tableau: Tableau,
    starts: Array,
    horizon: int,
    substeps: int,
    bound: float,
    kicks: Array,
) -> Array:
    """The next samples from each of (starts, variables) under its own parameters: (starts, horizon, variables).

    NaN from where a path is farther from zero than `bound`: it has left for good. kicks: (starts, horizon, variables),
    by how much the flow is missed at every sample, or empty.
    """
    out = np.full((len(starts), horizon, terms.variables), np.nan)
    phi, there = np.empty(len(terms.parents)), np.empty(terms.variables)
    slopes = np.empty((len(tableau.weights), terms.variables))
    for s in range(len(starts)):
        x = starts[s].copy()
        for k in range(horizon):
            for _ in range(substeps):
                _step(terms, thetas[s], tableau, x, 1.0 / substeps, phi, slopes, there)
            inside = True
            for i in range(terms.variables):
                if len(kicks) > 0:
                    x[i] += kicks[s, k, i]
                inside = inside and abs(x[i]) <= bound
            if not inside:
                break
            out[s, k] = x
    return out


@inner
def _rates(
    terms: Terms,
    theta: Array,
    chosen: Indices,
    whose: Indices,
    x: Array,
    m: Array,
    phi: Array,
    dphi: Array,
    jacobian: Array,
    dx: Array,
    dm: Array,
) -> None:
    """Time derivatives of a state and of its matrix of derivatives m (variables, variables + parameters)."""
    v, columns, functions = terms.variables, m.shape[1], len(terms.kinds)
    _slopes(terms, x, phi, dphi)
    for i in range(v):
        dx[i] = 0.0
        for j in range(v + functions):
            jacobian[i, j] = 0.0
    for p in range(len(phi)):
        for i in range(v):
            weight = theta[p, i]
            if weight != 0.0:
                dx[i] += weight * phi[p]
                for j in range(v + functions):
                    jacobian[i, j] += weight * dphi[p, j]
    for i in range(v):
        for c in range(columns):
            dm[i, c] = 0.0
        for j in range(v):
            slope = jacobian[i, j]
            for c in range(columns):
                dm[i, c] += slope * m[j, c]
    for c in range(len(chosen)):
        owner = whose[c]
        if owner >= 0:
            dm[owner, v + c] += phi[chosen[c]]
        else:
            which = -2 - owner
            share = 1.0
            if which >= v:
                share = x[(which - v) // v] * x[(which - v) % v]
            elif which >= 0:
                share = x[which]
            for i in range(v):
                dm[i, v + c] += share * jacobian[i, v + chosen[c]]


@kernel
def tangents(
    terms: Terms, theta: Array, tableau: Tableau, chosen: Indices, whose: Indices, points: Array, substeps: int
) -> tuple[Array, Array]:
    """One sample onwards from each point, and its derivatives.

    Parameter c is theta[chosen[c], whose[c]], or, where whose[c] is negative, shift or rate of function chosen[c].
    Returns ends (points, variables) and derivatives (points, variables, variables + parameters): with the start, and
    with the parameters; both by the same steps, so that the derivatives are those of the numbers computed.
    """
    v, count, columns = terms.variables, len(points), terms.variables + len(chosen)
    functions, stages = len(terms.kinds), len(tableau.weights)
    ends, out = points.copy(), np.zeros((count, v, columns))
    phi, dphi = np.empty(len(terms.parents)), np.empty((len(terms.parents), v + functions))
    jacobian, dx, dm = np.empty((v, v + functions)), np.empty((stages, v)), np.empty((stages, v, columns))
    x, m = np.empty(v), np.empty((v, columns))
    h = 1.0 / substeps
    for k in range(count):
        for i in range(v):
            out[k, i, i] = 1.0
        for _ in range(substeps):
            for stage in range(stages):
                for i in range(v):
                    x[i] = ends[k, i]
                    for c in range(columns):
                        m[i, c] = out[k, i, c]
                for before in range(stage):
                    weight = h * tableau.stages[stage, before]
                    if weight != 0.0:
                        for i in range(v):
                            x[i] += weight * dx[before, i]
                            for c in range(columns):
                                m[i, c] += weight * dm[before, i, c]
                _rates(terms, theta, chosen, whose, x, m, phi, dphi, jacobian, dx[stage], dm[stage])
            for stage in range(stages):
                weight = h * tableau.weights[stage]
                for i in range(v):
                    ends[k, i] += weight * dx[stage, i]
                    for c in range(columns):
                        out[k, i, c] += weight * dm[stage, i, c]
    return ends, out
