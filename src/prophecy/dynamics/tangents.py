"""How a step of a flow depends on its start and on the parameters of the field."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import inner, kernel
from prophecy.dynamics.lanes import (
    FEW,
    LANES,
    Lanes,
    any_switches,
    choose_branches,
    evaluate,
    evaluate_slopes,
    lanes_of,
    leading,
    slope_along,
)
from prophecy.dynamics.stepping import Tableau, Work, alike, look_for_switches, one_less, step, until_switch, work_for
from prophecy.dynamics.terms import Terms

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


class _Derived(NamedTuple):
    """Arrays to work in, the last axis of each being the lane: at every stage of a step the features, the state and the
    derivatives of its slope; how the end depends on the slopes; and what is made, (variables, columns, lanes)."""

    leads: Mask
    phi: Array
    dphi: Array
    at: Array
    jacobian: Array
    answer: Array
    through: Array
    whole: Array
    column: Array
    out: Array


@inner
def _linear(terms: Terms, field: Lanes, work: Work, derived: _Derived, stage: int) -> None:
    """The time derivative of a stage's state, and its derivatives with the variables and with the functions' sums."""
    phi, slopes, jacobian = derived.phi[stage], work.slopes[stage], derived.jacobian[stage]
    evaluate_slopes(terms, field, derived.leads, derived.at[stage], work.branches, phi, derived.dphi, work.known)
    slopes[:] = 0.0
    jacobian[:] = 0.0
    for p in range(len(phi)):
        for i in range(len(slopes)):
            if not field.used[p, i]:
                continue
            theta, value, slope = field.theta[p, i], phi[p], slopes[i]
            for lane in range(len(theta)):
                slope[lane] += theta[lane] * value[lane]
            for j in range(jacobian.shape[1]):
                if derived.leads[p, j]:
                    out, change = jacobian[i, j], derived.dphi[p, j]
                    for lane in range(len(theta)):
                        out[lane] += theta[lane] * change[lane]


@inner
def _answers(tableau: Tableau, h: Array, derived: _Derived) -> None:
    """answer[s]: how the end of a step depends on the slope of stage s; through[s]: answer[s] @ jacobian[s].

    From the last stage back: a slope enters the end itself and every later stage.
    """
    answer, through, jacobian = derived.answer, derived.through, derived.jacobian
    stages, v, lanes = len(tableau.weights), answer.shape[1], len(h)
    for s in range(stages - 1, -1, -1):
        answer[s] = 0.0
        for i in range(v):
            for lane in range(lanes):
                answer[s, i, i, lane] = h[lane] * tableau.weights[s]
        for r in range(s + 1, stages):
            weight = tableau.stages[r, s]
            if weight != 0.0:
                for i in range(v):
                    for j in range(v):
                        out, later = answer[s, i, j], through[r, i, j]
                        for lane in range(lanes):
                            out[lane] += h[lane] * weight * later[lane]
        for i in range(v):
            for j in range(v):
                total = through[s, i, j]
                total[:] = 0.0
                for m in range(v):
                    left, right = answer[s, i, m], jacobian[s, m, j]
                    for lane in range(lanes):
                        total[lane] += left[lane] * right[lane]


@inner
def _share(which: int, at: Array, lane: int) -> float:
    """The derivative of a function's sum with its shift (-1), a rate or a bend, counted as in `terms.SHIFT`."""
    v, share = len(at), 1.0
    if which >= v:
        share = at[(which - v) // v, lane] * at[(which - v) % v, lane]
    elif which >= 0:
        share = at[which, lane]
    return share


@inner
def _by_parameters(chosen: Indices, whose: Indices, derived: _Derived, share: Array) -> None:
    """Add what the slopes of all stages have to do with the parameters to the derivatives of the end."""
    stages, v, lanes = derived.at.shape
    for c in range(len(chosen)):
        owner = whose[c]
        for stage in range(stages):
            answer = derived.answer[stage]
            if owner >= 0:
                value = derived.phi[stage, chosen[c]]
                for i in range(v):
                    out, weight = derived.out[i, v + c], answer[i, owner]
                    for lane in range(lanes):
                        out[lane] += weight[lane] * value[lane]
                continue
            for lane in range(lanes):
                share[lane] = _share(-2 - owner, derived.at[stage], lane)
            for i in range(v):
                out = derived.out[i, v + c]
                for j in range(v):
                    weight, value = answer[i, j], derived.jacobian[stage, j, v + chosen[c]]
                    for lane in range(lanes):
                        out[lane] += weight[lane] * share[lane] * value[lane]


@inner
def _onwards(
    terms: Terms,
    field: Lanes,
    tableau: Tableau,
    chosen: Indices,
    whose: Indices,
    filled: int,
    work: Work,
    derived: _Derived,
) -> None:
    """One step of `work.x` in place, and the derivatives of where it ends, (v, v + parameters), in place.

    A step's end depends on a parameter through the slopes of its stages alone, and how it depends on those is found
    once. filled: the columns of `out` that are not zero yet.
    """
    v, stages, lanes, whole, column = terms.variables, len(tableau.weights), len(work.h), derived.whole, derived.column
    for stage in range(stages):
        at = derived.at[stage]
        at[:] = work.x
        for before in range(stage):
            weight = tableau.stages[stage, before]
            if weight != 0.0:
                for i in range(v):
                    there, slope = at[i], work.slopes[before, i]
                    for lane in range(lanes):
                        there[lane] += work.h[lane] * weight * slope[lane]
        _linear(terms, field, work, derived, stage)
    _answers(tableau, work.h, derived)
    for i in range(v):
        for j in range(v):
            whole[i, j] = 1.0 if i == j else 0.0
            for stage in range(stages):
                for lane in range(lanes):
                    whole[i, j, lane] += derived.through[stage, i, j, lane]
    for c in range(filled):
        for i in range(v):
            column[i] = derived.out[i, c]
        for i in range(v):
            there = derived.out[i, c]
            there[:] = 0.0
            for j in range(v):
                for lane in range(lanes):
                    there[lane] += whole[i, j, lane] * column[j, lane]
    _by_parameters(chosen, whose, derived, column[0])
    for stage in range(stages):
        weight = tableau.weights[stage]
        for i in range(v):
            there, slope = work.x[i], work.slopes[stage, i]
            for lane in range(lanes):
                there[lane] += work.h[lane] * weight * slope[lane]


@inner
def _switched(
    terms: Terms, field: Lanes, chosen: Indices, whose: Indices, lane: int, work: Work, derived: _Derived
) -> None:
    """A lane's function switches at x, and the derivatives (v, v + parameters) with it.

    Whoever arrives later by dt follows the old field for dt longer and the new one for dt less; dt is what keeps the
    sum of the function at zero.
    """
    v, x, which, speed = terms.variables, work.x, work.which[lane], 0.0
    for turn in range(2):
        if turn == 1:
            work.branches[which, lane] *= -1.0
        evaluate(terms, field, x, work.branches, work.phi, work.known)
        work.branches[which, lane] *= -1.0 if turn == 1 else 1.0
        for i in range(v):
            work.slopes[turn, i, lane] = 0.0
            for p in range(len(work.phi)):
                work.slopes[turn, i, lane] += field.theta[p, i, lane] * work.phi[p, lane]
    for i in range(v):
        speed += slope_along(field, which, x, lane, i) * work.slopes[0, i, lane]
    if speed == 0.0:
        return
    for c in range(derived.out.shape[1]):
        rise = 0.0
        if c >= v and whose[c - v] < 0 and chosen[c - v] == which:
            rise = _share(-2 - whose[c - v], x, lane)
        for i in range(v):
            rise += slope_along(field, which, x, lane, i) * derived.out[i, c, lane]
        for i in range(v):
            jump = work.slopes[0, i, lane] - work.slopes[1, i, lane]
            derived.out[i, c, lane] -= jump * rise / speed


@kernel
def tangents(
    terms: Terms, theta: Array, tableau: Tableau, chosen: Indices, whose: Indices, points: Array, substeps: Indices
) -> tuple[Array, Array]:
    """One sample onwards from each point, and its derivatives.

    Parameter c is theta[chosen[c], whose[c]], or, where whose[c] is negative, shift or rate of function chosen[c].
    Returns ends (points, variables) and derivatives (points, variables, variables + parameters): with the start, and
    with the parameters; both by the same steps, so that the derivatives are those of the numbers computed.
    """
    ends, out = np.empty(points.shape), np.empty((len(points), terms.variables, terms.variables + len(chosen)))
    done, most = 0, 1
    while done < len(points):
        some = alike(substeps, most)
        if len(some) > 0:
            _all_tangents(terms, theta, tableau, chosen, whose, points, substeps, some, ends, out)
        done, most = done + len(some), 2 * most
    return ends, out


@inner
def _all_tangents(
    terms: Terms,
    theta: Array,
    tableau: Tableau,
    chosen: Indices,
    whose: Indices,
    points: Array,
    substeps: Indices,
    some: Indices,
    ends: Array,
    out: Array,
) -> None:
    """The same for some of the points."""
    v, columns, lanes, kinks = terms.variables, out.shape[2], min(LANES, len(some)), len(tableau.fifth) > 0
    factors, stages, size = terms.variables + len(terms.kinds), len(tableau.weights), len(terms.parents)
    switching, field, work = any_switches(terms, kinks), lanes_of(terms, theta, lanes), work_for(terms, tableau, lanes)
    few, room = lanes_of(terms, theta, FEW), work_for(terms, tableau, FEW)
    derived = _Derived(
        leading(terms), np.empty((stages, size, lanes)), np.empty((size, factors, lanes)), np.empty((stages, v, lanes)),
        np.empty((stages, v, factors, lanes)), np.empty((stages, v, v, lanes)), np.empty((stages, v, v, lanes)),
        np.empty((v, v, lanes)), np.empty((v, lanes)), np.empty((v, columns, lanes)),
    )  # fmt: skip
    left, todo, crossed = np.empty(lanes), np.empty(lanes, np.int64), np.empty(lanes, np.int64)
    for first in range(0, len(some), lanes):
        derived.out[:] = 0.0
        for lane in range(lanes):
            k = some[min(first + lane, len(some) - 1)]
            for i in range(v):
                work.x[i, lane] = points[k, i]
                derived.out[i, i, lane] = 1.0
            choose_branches(terms, field, work.x, lane, kinks, work.branches)
            todo[lane], left[lane], crossed[lane] = substeps[k], 1.0 / substeps[k], 0
        going, filled = lanes, v
        while going > 0:
            for lane in range(lanes):
                work.h[lane] = left[lane] if todo[lane] > 0 else 0.0
            if switching:
                work.start[:] = work.x
                step(terms, field, tableau, work.x, work.h, work)
                look_for_switches(field, todo, crossed, work)
                until_switch(terms, field, tableau, work, few, room)
                work.x[:] = work.start
            _onwards(terms, field, tableau, chosen, whose, filled, work, derived)
            filled = columns
            for lane in range(lanes):
                k = some[min(first + lane, len(some) - 1)]
                if work.which[lane] >= 0:
                    _switched(terms, field, chosen, whose, lane, work, derived)
                if not one_less(work, lane, todo, left, crossed, 1.0 / substeps[k]):
                    continue
                going -= 1
                ends[k] = work.x[:, lane]
                for i in range(v):
                    for c in range(columns):
                        out[k, i, c] = derived.out[i, c, lane]
