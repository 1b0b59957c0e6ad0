"""One step of many points side by side, and the moments at which functions switch on the way.

Where a modulus or a sign switches, a step is taken on the branch it began on (on which the field is smooth) up to the
moment at which the sum of the function is zero, and goes on from there on the other branch: steps across kinks and
jumps have the order of all others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import DOP853

from prophecy._compiled import inner
from prophecy.dynamics.lanes import Lanes, argument, copy_field, evaluate
from prophecy.dynamics.terms import Terms

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


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

#: Switches within one step (of `steps`) or one sample (of `paths`): where both branches lead back to the switch there
#: is no end to them.
MOST_SWITCHES = 8
_ROOT = 1e-14  # of a step's length: the moment of a switch is found to rounding
_MOST_HALVINGS = 60  # of a step: enough for that accuracy were each of them only a halving


class Work(NamedTuple):
    """Arrays to work in, the last axis of each being the lane.

    x, start, there: (variables, lanes), a state, the one before and one between; h: (lanes,), lengths of steps; phi:
    (size, lanes); slopes: (stages, variables, lanes); branches: (functions, lanes); known: (2 + variables,
    lanes). which: (lanes,), the function that switches within a step, -1 for none; search: (6, lanes), for the moment.
    """

    x: Array
    start: Array
    there: Array
    h: Array
    phi: Array
    slopes: Array
    branches: Array
    known: Array
    which: Indices
    search: Array


@inner
def work_for(terms: Terms, tableau: Tableau, lanes: int) -> Work:
    v = terms.variables
    return Work(
        np.zeros((v, lanes)), np.zeros((v, lanes)), np.empty((v, lanes)), np.zeros(lanes),
        np.empty((len(terms.parents), lanes)), np.empty((len(tableau.weights), v, lanes)),
        np.zeros((len(terms.kinds), lanes)), np.empty((2 + v, lanes)), np.full(lanes, -1), np.empty((6, lanes)),
    )  # fmt: skip


@inner
def step(terms: Terms, field: Lanes, tableau: Tableau, x: Array, h: Array, work: Work) -> None:
    """One Runge-Kutta step of (variables, lanes) in place, each lane by its own length and on its own branches."""
    v, stages, phi, there, lanes = terms.variables, len(tableau.weights), work.phi, work.there, len(h)
    for stage in range(stages):
        there[:] = x
        for before in range(stage):
            weight = tableau.stages[stage, before]
            if weight != 0.0:
                for i in range(v):
                    out, slope = there[i], work.slopes[before, i]
                    for lane in range(lanes):
                        out[lane] += h[lane] * weight * slope[lane]
        evaluate(terms, field, there, work.branches, phi, work.known)
        work.slopes[stage] = 0.0
        for p in range(len(phi)):
            value = phi[p]
            for i in range(v):
                if field.used[p, i]:
                    slope, theta = work.slopes[stage, i], field.theta[p, i]
                    for lane in range(lanes):
                        slope[lane] += theta[lane] * value[lane]
    for stage in range(stages):
        weight = tableau.weights[stage]
        for i in range(v):
            out, slope = x[i], work.slopes[stage, i]
            for lane in range(lanes):
                out[lane] += h[lane] * weight * slope[lane]


@inner
def passed(field: Lanes, x: Array, lane: int, branches: Array, known: int = -1) -> int:
    """A function other than `known` whose sum has passed zero at x, -1 if none has."""
    for j in range(len(branches)):
        if j != known and branches[j, lane] != 0.0 and branches[j, lane] * argument(field, j, x, lane) < 0.0:
            return j
    return -1


@inner
def until_switch(terms: Terms, field: Lanes, tableau: Tableau, work: Work, few: Lanes, room: Work) -> None:
    """Lanes whose `which` has `passed`: how far their steps from `start` may go, into h, where these end, into x, and
    the function that switches there, into which. few, room: a field and arrays of a few lanes."""
    lane, chosen = 0, np.empty(len(room.h), np.int64)
    while lane < len(work.h):
        count = 0
        while lane < len(work.h) and count < len(room.h):
            if work.which[lane] >= 0:
                copy_field(field, lane, few, count)
                room.x[:, count], room.start[:, count] = work.x[:, lane], work.start[:, lane]
                room.branches[:, count], room.which[count] = work.branches[:, lane], work.which[lane]
                room.h[count], chosen[count] = work.h[lane], lane
                count += 1
            lane += 1
        if count == 0:
            return
        room.h[count:], room.which[count:] = 0.0, -1
        _moments(terms, few, tableau, room)
        for c in range(count):
            work.x[:, chosen[c]] = room.x[:, c]
            work.h[chosen[c]], work.which[chosen[c]] = room.h[c], room.which[c]


@inner
def _moments(terms: Terms, field: Lanes, tableau: Tableau, work: Work) -> None:
    """The moments of the switches of all lanes at once: see `until_switch`.

    The sum is a smooth function of the length as long as the branch stays: false position with halved ends (Illinois).
    """
    x, start, h, branches, which, lanes = work.x, work.start, work.h, work.branches, work.which, len(work.h)
    low, high, at_low = work.search[0], work.search[1], work.search[2]
    at_high, side, length = work.search[3], work.search[4], work.search[5]
    following = which.copy()
    for _ in range(len(branches)):  # functions that switch together could take turns for ever
        found = False
        for lane in range(lanes):
            low[lane], high[lane], side[lane], j = h[lane], h[lane], 0.0, following[lane]
            if j < 0:
                continue
            found, which[lane], low[lane] = True, j, 0.0
            at_low[lane] = branches[j, lane] * argument(field, j, start, lane)
            at_high[lane] = branches[j, lane] * argument(field, j, x, lane)
            if at_low[lane] <= 0.0:  # it switched a moment ago and turns back at once
                high[lane], following[lane] = 0.0, -1
        if not found:
            return
        for _ in range(_MOST_HALVINGS):
            found = False
            for lane in range(lanes):
                length[lane] = high[lane]
                if high[lane] - low[lane] > _ROOT * h[lane]:
                    found, rise = True, at_high[lane] - at_low[lane]
                    length[lane] = high[lane] - at_high[lane] * (high[lane] - low[lane]) / rise
            if not found:
                break
            x[:] = start
            step(terms, field, tableau, x, length, work)
            for lane in range(lanes):
                if not high[lane] - low[lane] > _ROOT * h[lane]:
                    continue
                value = branches[which[lane], lane] * argument(field, which[lane], x, lane)
                if value > 0.0:
                    low[lane], at_low[lane] = length[lane], value
                    at_high[lane] *= 0.5 if side[lane] == 1.0 else 1.0
                    side[lane] = 1.0
                else:
                    high[lane], at_high[lane] = length[lane], value
                    at_low[lane] *= 0.5 if side[lane] == -1.0 else 1.0
                    side[lane] = -1.0
                if value == 0.0:
                    low[lane] = high[lane]
        x[:] = start
        h[:] = high
        step(terms, field, tableau, x, h, work)
        for lane in range(lanes):
            if following[lane] >= 0:
                following[lane] = passed(field, x, lane, branches, which[lane])


@inner
def alike(substeps: Indices, most: int) -> Indices:
    """The points with more than most / 2 and at most so many substeps: lanes that end together."""
    chosen, count = np.empty(len(substeps), np.int64), 0
    for k in range(len(substeps)):
        if substeps[k] <= most < 2 * substeps[k]:
            chosen[count], count = k, count + 1
    return chosen[:count]


@inner
def look_for_switches(field: Lanes, todo: Indices, crossed: Indices, work: Work) -> None:
    """Into which: the function that has passed its switch in each lane that still goes, -1 for none."""
    for lane in range(len(todo)):
        watched = todo[lane] > 0 and crossed[lane] < MOST_SWITCHES
        work.which[lane] = passed(field, work.x, lane, work.branches) if watched else -1


@inner
def one_less(work: Work, lane: int, todo: Indices, left: Array, crossed: Indices, whole: float) -> bool:
    """Whether the lane has just arrived: a step ended, at its end or at a switch. whole: the length of a substep."""
    which = work.which[lane]
    if todo[lane] == 0:
        return False
    if which >= 0:
        left[lane], crossed[lane] = left[lane] - work.h[lane], crossed[lane] + 1
        work.branches[which, lane] *= -1.0
        return False
    todo[lane], left[lane], crossed[lane] = todo[lane] - 1, whole, 0
    arrived: bool = todo[lane] == 0
    return arrived
