"""Terms evaluated at points side by side, compiled.

The last axis of all arrays is the point (*lane*): fields have few variables and few terms, and a processor does the
same to several numbers at once. Each lane's numbers are those it would have alone, to the last bit.

Moduli and signs switch where their sum passes zero. Between two switches each is smooth, on the branch that `branches`
names; `flow.py` finds the moments between, those of moduli only for steps of order 8: across a kink a step of a low
order errs by its square.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import inner, kernel
from prophecy.dynamics.terms import EXPONENTIAL, MODULUS, RECIPROCAL, SIGN, SINE, TANH, Terms

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Points side by side: enough to keep a processor's widest registers busy, few enough for its nearest memory.
LANES = 64
#: Lanes that look for the moment of a switch together: few points switch at a time.
FEW = 16
#: Exponents above this are cut off: a path that gets there has left, and infinity would take others with it.
HIGHEST = 300.0


class Lanes(NamedTuple):
    """The numbers of a field for points side by side: theta (size, variables, lanes), rates (functions, variables,
    lanes), shifts (functions, lanes), bends (functions, variables, variables, lanes).

    used: (size, variables), whether any lane has the term in the equation; bent: (functions,), whether any has bends.
    What is not there costs nothing.
    """

    theta: Array
    rates: Array
    shifts: Array
    bends: Array
    used: Mask
    bent: Mask


@inner
def lanes_of(terms: Terms, theta: Array, lanes: int) -> Lanes:
    """The same field in every lane."""
    v, size, functions = terms.variables, len(terms.parents), len(terms.kinds)
    field = Lanes(
        np.empty((size, v, lanes)), np.empty((functions, v, lanes)), np.empty((functions, lanes)),
        np.empty((functions, v, v, lanes)), np.zeros((size, v), np.bool_), np.zeros(functions, np.bool_),
    )  # fmt: skip
    for lane in range(lanes):
        put_field(terms, theta, terms.rates, terms.shifts, terms.bends, field, lane)
    return field


@inner
def put_field(terms: Terms, theta: Array, rates: Array, shifts: Array, bends: Array, field: Lanes, lane: int) -> None:
    """Give one lane its numbers."""
    for p in range(len(terms.parents)):
        for i in range(terms.variables):
            field.theta[p, i, lane] = theta[p, i]
            field.used[p, i] |= theta[p, i] != 0.0
    for j in range(len(terms.kinds)):
        field.shifts[j, lane] = shifts[j]
        for i in range(terms.variables):
            field.rates[j, i, lane] = rates[j, i]
            for k in range(terms.variables):
                field.bends[j, i, k, lane] = bends[j, i, k]
                field.bent[j] |= bends[j, i, k] != 0.0


@inner
def copy_field(field: Lanes, lane: int, few: Lanes, there: int) -> None:
    """Give a lane of `few` the numbers of one of `field`."""
    few.theta[:, :, there], few.rates[:, :, there] = field.theta[:, :, lane], field.rates[:, :, lane]
    few.shifts[:, there], few.bends[:, :, :, there] = field.shifts[:, lane], field.bends[:, :, :, lane]
    few.used[:] = field.used
    few.bent[:] = field.bent


@inner
def argument(field: Lanes, j: int, x: Array, lane: int) -> float:
    """The weighted sum that function j is taken of."""
    at: float = field.shifts[j, lane]
    for i in range(len(x)):
        along = field.rates[j, i, lane]
        if field.bent[j]:
            for k in range(len(x)):
                along += field.bends[j, i, k, lane] * x[k, lane]
        at += along * x[i, lane]
    return at


@inner
def slope_along(field: Lanes, j: int, x: Array, lane: int, i: int) -> float:
    """The derivative of that sum with variable i."""
    along: float = field.rates[j, i, lane]
    for k in range(len(x)) if field.bent[j] else range(0):
        along += (field.bends[j, i, k, lane] + field.bends[j, k, i, lane]) * x[k, lane]
    return along


@inner
def switches(terms: Terms, j: int, kinks: bool) -> bool:
    """Whether steps stop where the sum of function j passes zero: at jumps, and at kinks where these count."""
    return terms.kinds[j] == SIGN or (kinks and terms.kinds[j] == MODULUS)


@inner
def any_switches(terms: Terms, kinks: bool) -> bool:
    found = False
    for j in range(len(terms.kinds)):
        found = found or switches(terms, j, kinks)
    return found


@inner
def choose_branches(terms: Terms, field: Lanes, x: Array, lane: int, kinks: bool, branches: Array) -> None:
    """The side that each function is on in a lane of (functions, lanes); 0 for those that change it within a step."""
    for j in range(len(terms.kinds)):
        branches[j, lane] = 0.0
        if switches(terms, j, kinks):
            branches[j, lane] = 1.0 if argument(field, j, x, lane) > 0.0 else -1.0


@inner
def _sums(field: Lanes, j: int, x: Array, out: Array) -> None:
    """The weighted sums that function j is taken of, (lanes,)."""
    if field.bent[j]:
        for lane in range(len(out)):
            out[lane] = argument(field, j, x, lane)
        return
    shift = field.shifts[j]
    for lane in range(len(out)):
        out[lane] = shift[lane]
    for i in range(len(x)):
        rate, along = field.rates[j, i], x[i]
        for lane in range(len(out)):
            out[lane] += rate[lane] * along[lane]


@inner
def _apply(kind: int, sides: Array, value: Array, slope: Array) -> None:
    """A function of the sums in `value`, in their place, and its slopes, (lanes,) each; slope may be empty: then it is
    not made. sides: of moduli and signs, 0 where that is the sum's own."""
    sloped = len(slope) > 0
    for lane in range(len(slope)):
        at = value[lane]
        if kind == SINE:
            slope[lane] = np.cos(at)
        elif kind == TANH:
            tanh = np.tanh(at)
            slope[lane] = 1.0 - tanh * tanh
        elif kind == RECIPROCAL:
            slope[lane] = -1.0 / (at * at)
    if kind == SINE:
        for lane in range(len(value)):
            value[lane] = np.sin(value[lane])
    elif kind == TANH:
        for lane in range(len(value)):
            value[lane] = np.tanh(value[lane])
    elif kind == MODULUS:
        for lane in range(len(value)):
            side = 1.0 if value[lane] > 0.0 else -1.0
            side = side if sides[lane] == 0.0 else sides[lane]
            value[lane] *= side
            if sloped:
                slope[lane] = side
    elif kind == EXPONENTIAL:
        for lane in range(len(value)):
            value[lane] = np.exp(min(value[lane], HIGHEST))
        if sloped:
            slope[:] = value
    elif kind == RECIPROCAL:
        for lane in range(len(value)):
            value[lane] = 1.0 / value[lane]
    else:
        value[:] = sides
        if sloped:
            slope[:] = 0.0


@inner
def _functions(terms: Terms, field: Lanes, j: int, x: Array, sides: Array, value: Array, slope: Array) -> None:
    """Values and slopes of function j at its weighted sums, (lanes,) each; slope may be empty: then it is not made."""
    _sums(field, j, x, value)
    _apply(terms.kinds[j], sides, value, slope)


@kernel
def function_at(kind: int, sums: Array) -> tuple[Array, Array]:
    """Values and slopes of a function at sums, each on its own side."""
    value, slope, sides = sums.copy(), np.empty(len(sums)), np.where(sums > 0.0, 1.0, -1.0)
    _apply(kind, sides, value, slope)
    return value, slope


@inner
def evaluate(terms: Terms, field: Lanes, x: Array, branches: Array, phi: Array, known: Array) -> None:
    """phi (size, lanes) at x (variables, lanes). known: (2 + variables, lanes) to work in."""
    v, last = terms.variables, -1
    phi[0] = 1.0
    for p in range(1, len(terms.parents)):
        parent, factor, out = phi[terms.parents[p]], terms.factors[p], phi[p]
        if factor >= v and factor != last:
            last = factor
            _functions(terms, field, factor - v, x, branches[factor - v], known[0], known[1, :0])
        value = x[factor] if factor < v else known[0]
        for lane in range(len(out)):
            out[lane] = parent[lane] * value[lane]


@inner
def leading(terms: Terms) -> Mask:
    """(size, variables + functions): whether a term changes with a variable or with a function's sum."""
    v, size, functions = terms.variables, len(terms.parents), len(terms.kinds)
    leads = np.zeros((size, v + functions), np.bool_)
    for p in range(1, size):
        for i in range(v + functions):
            leads[p, i] = leads[terms.parents[p], i] or i == terms.factors[p]
        j = terms.factors[p] - v
        for i in range(v if j >= 0 else 0):
            along = terms.rates[j, i] != 0.0
            for k in range(v):
                along = along or terms.bends[j, i, k] != 0.0 or terms.bends[j, k, i] != 0.0
            leads[p, i] = leads[p, i] or along
    return leads


@inner
def evaluate_slopes(
    terms: Terms, field: Lanes, leads: Mask, x: Array, branches: Array, phi: Array, dphi: Array, known: Array
) -> None:
    """phi (size, lanes) and its derivatives, (size, variables + functions, lanes), where these are not 0: with the
    variables, and with the functions' sums."""
    v, columns, last = terms.variables, terms.variables + len(terms.kinds), -1
    phi[0], dphi[0] = 1.0, 0.0
    for p in range(1, len(terms.parents)):
        parent, factor, out = phi[terms.parents[p]], terms.factors[p], phi[p]
        if factor >= v and factor != last:
            last = factor
            _functions(terms, field, factor - v, x, branches[factor - v], known[0], known[1])
            for i in range(v):
                known[2 + i] = field.rates[factor - v, i]
                for lane in range(len(out) if field.bent[factor - v] else 0):
                    known[2 + i, lane] = slope_along(field, factor - v, x, lane, i)
        value = x[factor] if factor < v else known[0]
        for lane in range(len(out)):
            out[lane] = parent[lane] * value[lane]
        for i in range(columns):
            if leads[p, i]:
                there = dphi[p, i]
                if leads[terms.parents[p], i]:
                    before = dphi[terms.parents[p], i]
                    for lane in range(len(out)):
                        there[lane] = before[lane] * value[lane]
                else:
                    there[:] = 0.0
        own = dphi[p, factor]
        if factor < v:
            for lane in range(len(out)):
                own[lane] += parent[lane]
            continue
        slope = known[1]
        for lane in range(len(out)):
            own[lane] += parent[lane] * slope[lane]
        for i in range(v):
            if leads[p, i]:
                there, along = dphi[p, i], known[2 + i]
                for lane in range(len(out)):
                    there[lane] += parent[lane] * slope[lane] * along[lane]


@kernel
def features(terms: Terms, points: Array) -> Array:
    """phi at (points, variables): (points, size)."""
    v, size, lanes = terms.variables, len(terms.parents), max(1, min(LANES, len(points)))
    out, field = np.empty((len(points), size)), lanes_of(terms, np.zeros((size, v)), lanes)
    x, phi, known = np.empty((v, lanes)), np.empty((size, lanes)), np.empty((2 + v, lanes))
    branches = np.empty((len(terms.kinds), lanes))
    for first in range(0, len(points), lanes):
        for lane in range(lanes):
            for i in range(v):
                x[i, lane] = points[min(first + lane, len(points) - 1), i]
            choose_branches(terms, field, x, lane, False, branches)
        evaluate(terms, field, x, branches, phi, known)
        for lane in range(min(lanes, len(points) - first)):
            for p in range(size):
                out[first + lane, p] = phi[p, lane]
    return out
