"""One step of many points side by side, and the moments at which functions switch on the way.

Where a modulus or a sign switches, a step is taken on the branch it began on (on which the field is smooth) up to the
moment at which the sum of the function is zero, and goes on from there on the other branch: steps across kinks and
jumps have the order of all others.
"""

import cython
from cython.cimports.prophecy.laws.kernels.arrays import doubles
from cython.cimports.prophecy.laws.kernels.unrolled import (
    argument,
    copy,
    copy_field,
    evaluate,
    fill,
    take,
)

_ROOT = cython.declare(cython.double, 1e-14)  # of a step's length: the moment of a switch is found to rounding
# Of a step: enough for that accuracy were each of them only a halving.
_MOST_HALVINGS = cython.declare(cython.longlong, 60)


def read_tableau(method, tableau):
    """The arrays of a method, checked."""
    stages, estimates = len(method.weights), len(method.fifth) > 0
    tableau.count, tableau.estimates = stages, estimates
    tableau.stages = doubles(method.stages, "stages", (stages, stages))
    tableau.weights = doubles(method.weights, "weights", (stages,))
    tableau.fifth = doubles(method.fifth, "fifth", (stages if estimates else 0,))
    tableau.third = doubles(method.third, "third", (stages if estimates else 0,))
    return 0


def work_room(terms, tableau, lanes):
    """How many numbers `work_for` takes from its room."""
    v = terms.variables
    return (3 * v + 1 + terms.size + tableau.count * v + terms.functions + 2 + v + 5) * lanes


def work_for(terms, tableau, lanes, work, room):
    v = terms.variables
    work.lanes = lanes
    work.x, work.start, work.there = take(room, v * lanes), take(room, v * lanes), take(room, v * lanes)
    work.h, work.phi = take(room, lanes), take(room, terms.size * lanes)
    work.slopes, work.branches = take(room, tableau.count * v * lanes), take(room, terms.functions * lanes)
    work.known = take(room, (2 + v) * lanes)
    work.which = cython.cast(cython.p_longlong, take(room, lanes))
    work.todo = cython.cast(cython.p_longlong, take(room, lanes))
    work.crossed = cython.cast(cython.p_longlong, take(room, lanes))
    work.left, work.rest = take(room, lanes), take(room, lanes)
    fill(work.x, v * lanes, 0.0)
    fill(work.start, v * lanes, 0.0)
    fill(work.h, lanes, 0.0)
    fill(work.branches, terms.functions * lanes, 0.0)
    for lane in range(lanes):
        work.which[lane] = -1


def step(terms, field, tableau, x, h, work):
    """One Runge-Kutta step of (variables, lanes) in place, each lane by its own length and on its own branches."""
    v, stages, lanes = terms.variables, tableau.count, field.lanes
    for stage in range(stages):
        copy(work.there, x, v * lanes)
        for before in range(stage):
            weight = tableau.stages[stage * stages + before]
            if weight != 0.0:
                for i in range(v):
                    out, slope = work.there + i * lanes, work.slopes + (before * v + i) * lanes
                    for lane in range(lanes):
                        out[lane] += h[lane] * weight * slope[lane]
        evaluate(terms, field, work.there, work.branches, work.phi, work.known)
        fill(work.slopes + stage * v * lanes, v * lanes, 0.0)
        for p in range(terms.size):
            value = work.phi + p * lanes
            for i in range(v):
                if field.used[p * v + i]:
                    out, theta = work.slopes + (stage * v + i) * lanes, field.theta + (p * v + i) * lanes
                    for lane in range(lanes):
                        out[lane] += theta[lane] * value[lane]
    for stage in range(stages):
        weight = tableau.weights[stage]
        for i in range(v):
            out, slope = x + i * lanes, work.slopes + (stage * v + i) * lanes
            for lane in range(lanes):
                out[lane] += h[lane] * weight * slope[lane]


def passed(terms, field, x, lane, branches, known):
    """A function other than `known` whose sum has passed zero at x, -1 if none has."""
    for j in range(terms.functions):
        side = branches[j * field.lanes + lane]
        if j != known and side != 0.0 and side * argument(terms, field, j, x, lane) < 0.0:
            return j
    return -1


def until_switch(terms, field, tableau, work, one, room):
    """Lanes whose `which` has `passed`: how far their steps from `start` may go, into h, where these end, into x, and
    the function that switches there, into which. one, room: a field and arrays of one lane."""
    v, lanes = terms.variables, work.lanes
    for lane in range(lanes):
        if work.which[lane] < 0:
            continue
        copy_field(terms, field, lane, one)
        for i in range(v):
            room.x[i], room.start[i] = work.x[i * lanes + lane], work.start[i * lanes + lane]
        for j in range(terms.functions):
            room.branches[j] = work.branches[j * lanes + lane]
        room.h[0], room.which[0] = work.h[lane], work.which[lane]
        for _ in range(terms.functions):  # functions that switch together could take turns for ever
            _moment(terms, one, tableau, room)
            other = passed(terms, one, room.x, 0, room.branches, room.which[0]) if room.h[0] > 0.0 else -1
            if other < 0:
                break
            room.which[0] = other
        for i in range(v):
            work.x[i * lanes + lane] = room.x[i]
        work.h[lane], work.which[lane] = room.h[0], room.which[0]


def _moment(terms, field, tableau, work):
    """The length at which the sum of a function that has passed zero is zero, into h, and where the step ends, into x.

    The sum is a smooth function of the length as long as the branch stays: false position with halved ends (Illinois).
    """
    v, x, h, j, side = terms.variables, work.x, work.h, work.which[0], 0.0
    branch, low, high = work.branches[j], 0.0, h[0]
    at_low = branch * argument(terms, field, j, work.start, 0)
    at_high = branch * argument(terms, field, j, x, 0)
    if at_low <= 0.0:  # it switched a moment ago and turns back at once
        high = 0.0
    for _ in range(_MOST_HALVINGS):
        if not high - low > _ROOT * h[0]:
            break
        work.left[0] = high - at_high * (high - low) / (at_high - at_low)
        copy(x, work.start, v)
        step(terms, field, tableau, x, work.left, work)
        value = branch * argument(terms, field, j, x, 0)
        if value > 0.0:
            low, at_low = work.left[0], value
            at_high *= 0.5 if side == 1.0 else 1.0
            side = 1.0
        else:
            high, at_high = work.left[0], value
            at_low *= 0.5 if side == -1.0 else 1.0
            side = -1.0
        low = high if value == 0.0 else low
    h[0] = high
    copy(x, work.start, v)
    step(terms, field, tableau, x, h, work)
