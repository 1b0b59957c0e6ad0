"""How a step of a flow depends on its start and on the parameters of the field."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import inner, kernel
from prophecy.dynamics.flow import MOST_SWITCHES, Tableau, step, until_switch
from prophecy.dynamics.terms import Terms, any_switches, choose_branches, evaluate, evaluate_slopes, slope_along

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class _Work(NamedTuple):
    """Arrays to work in: at every stage of a step the features, the state, the slope and the derivatives of both."""

    phi: Array
    dphi: Array
    at: Array
    slopes: Array
    jacobian: Array
    answer: Array
    through: Array
    whole: Array
    column: Array
    start: Array
    end: Array


@inner
def _linear(
    terms: Terms, theta: Array, x: Array, branches: Array, phi: Array, dphi: Array, jacobian: Array, slope: Array
) -> None:
    """The time derivative of a state, and its derivatives with the variables and with the functions' sums."""
    v, columns = terms.variables, terms.variables + len(terms.kinds)
    evaluate_slopes(terms, x, branches, phi, dphi)
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
def _share(which: int, at: Array) -> float:
    """The derivative of a function's sum with its shift (-1), a rate or a bend, counted as in `terms.SHIFT`."""
    v, share = len(at), 1.0
    if which >= v:
        share = at[(which - v) // v] * at[(which - v) % v]
    elif which >= 0:
        share = at[which]
    return share


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
        share = _share(-2 - owner, at)
        for i in range(v):
            for j in range(v):
                out[i, v + c] += answer[i, j] * share * jacobian[j, v + chosen[c]]


@inner
def _onwards(
    terms: Terms,
    theta: Array,
    tableau: Tableau,
    chosen: Indices,
    whose: Indices,
    x: Array,
    h: float,
    branches: Array,
    out: Array,
    filled: int,
    work: _Work,
) -> None:
    """One step in place, and the derivatives of where it ends, (v, v + parameters), in place.

    A step's end depends on a parameter through the slopes of its stages alone, and how it depends on those is found
    once. filled: the columns of `out` that are not zero yet.
    """
    v, stages = terms.variables, len(tableau.weights)
    for stage in range(stages):
        for i in range(v):
            work.at[stage, i] = x[i]
        for before in range(stage):
            weight = h * tableau.stages[stage, before]
            if weight != 0.0:
                for i in range(v):
                    work.at[stage, i] += weight * work.slopes[before, i]
        _linear(
            terms, theta, work.at[stage], branches, work.phi[stage], work.dphi, work.jacobian[stage], work.slopes[stage]
        )
    _answers(tableau, h, work.jacobian, work.answer, work.through)
    for i in range(v):
        for j in range(v):
            work.whole[i, j] = 1.0 if i == j else 0.0
            for stage in range(stages):
                work.whole[i, j] += work.through[stage, i, j]
    for c in range(filled):
        for i in range(v):
            work.column[i] = out[i, c]
            out[i, c] = 0.0
        for i in range(v):
            for j in range(v):
                out[i, c] += work.whole[i, j] * work.column[j]
    for stage in range(stages):
        _by_parameters(chosen, whose, work.answer[stage], work.jacobian[stage], work.at[stage], work.phi[stage], out)
        for i in range(v):
            x[i] += h * tableau.weights[stage] * work.slopes[stage, i]


@inner
def _switched(
    terms: Terms,
    theta: Array,
    chosen: Indices,
    whose: Indices,
    x: Array,
    branches: Array,
    which: int,
    out: Array,
    work: _Work,
) -> None:
    """Function `which` switches at x, and the derivatives (v, v + parameters) with it.

    Whoever arrives later by dt follows the old field for dt longer and the new one for dt less; dt is what keeps the
    sum of the function at zero.
    """
    v, phi, old, new = terms.variables, work.phi[0], work.slopes[0], work.column
    for turn in range(2):
        if turn == 1:
            branches[which] = -branches[which]
        evaluate(terms, x, branches, phi)
        for i in range(v):
            slope = 0.0
            for p in range(len(phi)):
                slope += theta[p, i] * phi[p]
            if turn == 0:
                old[i] = slope
            else:
                new[i] = slope
    speed = 0.0
    for i in range(v):
        speed += slope_along(terms, which, x, i) * old[i]
    if speed == 0.0:
        return
    for c in range(out.shape[1]):
        rise = 0.0
        if c >= v and whose[c - v] < 0 and chosen[c - v] == which:
            rise = _share(-2 - whose[c - v], x)
        for i in range(v):
            rise += slope_along(terms, which, x, i) * out[i, c]
        for i in range(v):
            out[i, c] -= (old[i] - new[i]) * rise / speed


@kernel
def tangents(
    terms: Terms, theta: Array, tableau: Tableau, chosen: Indices, whose: Indices, points: Array, substeps: Indices
) -> tuple[Array, Array]:
    """One sample onwards from each point, and its derivatives.

    Parameter c is theta[chosen[c], whose[c]], or, where whose[c] is negative, shift or rate of function chosen[c].
    Returns ends (points, variables) and derivatives (points, variables, variables + parameters): with the start, and
    with the parameters; both by the same steps, so that the derivatives are those of the numbers computed.
    """
    v, count, columns = terms.variables, len(points), terms.variables + len(chosen)
    factors, stages, size = terms.variables + len(terms.kinds), len(tableau.weights), len(terms.parents)
    ends, out, branches = points.copy(), np.zeros((count, v, columns)), np.empty(len(terms.kinds))
    work = _Work(
        np.empty((stages, size)), np.empty((size, factors)), np.empty((stages, v)), np.empty((stages, v)),
        np.empty((stages, v, factors)), np.empty((stages, v, v)), np.empty((stages, v, v)), np.empty((v, v)),
        np.empty(v), np.empty(v), np.empty(v),
    )  # fmt: skip
    kinks = len(tableau.fifth) > 0
    switching = any_switches(terms, kinks)
    for k in range(count):
        x = ends[k]
        for i in range(v):
            out[k, i, i] = 1.0
        choose_branches(terms, x, kinks, branches)
        filled = v
        for _ in range(substeps[k]):
            left = 1.0 / substeps[k]
            for switch in range(MOST_SWITCHES + 1):
                length, which = left, -1
                if switching and switch < MOST_SWITCHES:
                    work.start[:] = x
                    work.end[:] = x
                    step(terms, theta, tableau, work.end, left, branches, work.phi[0], work.slopes, work.column)
                    length, which = until_switch(
                        terms, theta, tableau, work.start, work.end, left, branches, work.phi[0], work.slopes,
                        work.column,
                    )  # fmt: skip
                _onwards(terms, theta, tableau, chosen, whose, x, length, branches, out[k], filled, work)
                filled = columns
                if which < 0:
                    break
                _switched(terms, theta, chosen, whose, x, branches, which, out[k], work)
                left -= length
    return ends, out
