"""One step of many points side by side, and the moments at which functions switch on the way.

Where a modulus or a sign switches, a step is taken on the branch it began on (on which the field is smooth) up to the
moment at which the sum of the function is zero, and goes on from there on the other branch: steps across kinks and
jumps have the order of all others.
"""

import cython
from cython.cimports.prophecy.laws.kernels.arrays import doubles
from cython.cimports.prophecy.laws.kernels.unrolled import (
    argument,
    choose_branches,
    copy,
    copy_field,
    evaluate,
    fill,
    take,
)

_ROOT = cython.declare(cython.double, 1e-14)  # of a step's length: the moment of a switch is found to rounding
_MOST_HALVINGS = cython.declare(
    cython.longlong, 60
)  # of a step: enough for that accuracy were each of them only a halving


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
    return (3 * v + 1 + terms.size + tableau.count * v + terms.functions + 2 + v + 2 + 6 + 3) * lanes


def work_for(terms, tableau, lanes, work, room):
    v = terms.variables
    work.lanes = lanes
    work.x, work.start, work.there = take(room, v * lanes), take(room, v * lanes), take(room, v * lanes)
    work.h, work.phi = take(room, lanes), take(room, terms.size * lanes)
    work.slopes, work.branches = take(room, tableau.count * v * lanes), take(room, terms.functions * lanes)
    work.known, work.search = take(room, (2 + v) * lanes), take(room, 6 * lanes)
    work.which = cython.cast(cython.p_longlong, take(room, lanes))
    work.following = cython.cast(cython.p_longlong, take(room, lanes))
    work.todo = cython.cast(cython.p_longlong, take(room, lanes))
    work.crossed = cython.cast(cython.p_longlong, take(room, lanes))
    work.left = take(room, lanes)
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


def until_switch(terms, field, tableau, work, few, room):
    """Lanes whose `which` has `passed`: how far their steps from `start` may go, into h, where these end, into x, and
    the function that switches there, into which. few, room: a field and arrays of a few lanes."""
    v, lanes, some = terms.variables, work.lanes, room.lanes
    lane: cython.longlong = 0
    while lane < lanes:
        count: cython.longlong = 0
        while lane < lanes and count < some:
            if work.which[lane] >= 0:
                copy_field(terms, field, lane, few, count)
                for i in range(v):
                    room.x[i * some + count] = work.x[i * lanes + lane]
                    room.start[i * some + count] = work.start[i * lanes + lane]
                for j in range(terms.functions):
                    room.branches[j * some + count] = work.branches[j * lanes + lane]
                room.which[count], room.h[count], room.todo[count] = work.which[lane], work.h[lane], lane
                count += 1
            lane += 1
        if count == 0:
            return
        for c in range(count, some):
            room.h[c], room.which[c] = 0.0, -1
        _moments(terms, few, tableau, room)
        for c in range(count):
            at = room.todo[c]
            for i in range(v):
                work.x[i * lanes + at] = room.x[i * some + c]
            work.h[at], work.which[at] = room.h[c], room.which[c]


def _moments(terms, field, tableau, work):
    """The moments of the switches of all lanes at once: see `until_switch`."""
    v, lanes, x, start, h = terms.variables, work.lanes, work.x, work.start, work.h
    low, high, at_low = work.search, work.search + lanes, work.search + 2 * lanes
    at_high, side = work.search + 3 * lanes, work.search + 4 * lanes
    for lane in range(lanes):
        work.following[lane] = work.which[lane]
    for _ in range(terms.functions):  # functions that switch together could take turns for ever
        found: cython.bint = False
        for lane in range(lanes):
            low[lane], high[lane], side[lane], j = h[lane], h[lane], 0.0, work.following[lane]
            if j < 0:
                continue
            branch = work.branches[j * lanes + lane]
            found, work.which[lane], low[lane] = True, j, 0.0
            at_low[lane] = branch * argument(terms, field, j, start, lane)
            at_high[lane] = branch * argument(terms, field, j, x, lane)
            if at_low[lane] <= 0.0:  # it switched a moment ago and turns back at once
                high[lane], work.following[lane] = 0.0, -1
        if not found:
            return
        _search(terms, field, tableau, work)
        copy(x, start, v * lanes)
        copy(h, high, lanes)
        step(terms, field, tableau, x, h, work)
        for lane in range(lanes):
            if work.following[lane] >= 0:
                work.following[lane] = passed(terms, field, x, lane, work.branches, work.which[lane])


def _search(terms, field, tableau, work):
    """The lengths at which sums are zero, between `low` and `high`, into both.

    The sum is a smooth function of the length as long as the branch stays: false position with halved ends (Illinois).
    """
    v, lanes, x, h = terms.variables, work.lanes, work.x, work.h
    low, high, at_low = work.search, work.search + lanes, work.search + 2 * lanes
    at_high, side, length = work.search + 3 * lanes, work.search + 4 * lanes, work.search + 5 * lanes
    for _ in range(_MOST_HALVINGS):
        found: cython.bint = False
        for lane in range(lanes):
            length[lane] = high[lane]
            if high[lane] - low[lane] > _ROOT * h[lane]:
                found, rise = True, at_high[lane] - at_low[lane]
                length[lane] = high[lane] - at_high[lane] * (high[lane] - low[lane]) / rise
        if not found:
            return
        copy(x, work.start, v * lanes)
        step(terms, field, tableau, x, length, work)
        for lane in range(lanes):
            if not high[lane] - low[lane] > _ROOT * h[lane]:
                continue
            j = work.which[lane]
            value = work.branches[j * lanes + lane] * argument(terms, field, j, x, lane)
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


def alike(substeps, count, most, chosen):
    """The points with more than most / 2 and at most so many substeps, lanes that end together, into `chosen`; returns
    how many."""
    found: cython.longlong = 0
    for k in range(count):
        if substeps[k] <= most < 2 * substeps[k]:
            chosen[found] = k
            found += 1
    return found


def begin(terms, field, points, substeps, chosen, count, kinks, work):
    """Every lane at the next of (count,) chosen points, with all of its substeps to go; the last point in those left
    over."""
    v, lanes = terms.variables, work.lanes
    for lane in range(lanes):
        k = chosen[min(lane, count - 1)]
        for i in range(v):
            work.x[i * lanes + lane] = points[k * v + i]
        choose_branches(terms, field, work.x, lane, kinks, work.branches)
        work.todo[lane], work.crossed[lane] = substeps[k], 0
        work.left[lane] = 1.0 / cython.cast(cython.double, substeps[k])


def look_for_switches(terms, field, work):
    """Into which: the function that has passed its switch in each lane that still goes, -1 for none."""
    for lane in range(work.lanes):
        work.which[lane] = -1
        if work.todo[lane] > 0 and work.crossed[lane] < MOST_SWITCHES:
            work.which[lane] = passed(terms, field, work.x, lane, work.branches, -1)


def one_less(work, lane, whole):
    """Whether the lane has just arrived: a step ended, at its end or at a switch. whole: the length of a substep."""
    which = work.which[lane]
    if work.todo[lane] == 0:
        return False
    if which >= 0:
        work.left[lane] -= work.h[lane]
        work.crossed[lane] += 1
        work.branches[which * work.lanes + lane] *= -1.0
        return False
    work.todo[lane] -= 1
    work.left[lane], work.crossed[lane] = whole, 0
    return work.todo[lane] == 0
