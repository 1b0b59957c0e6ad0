"""Paths of a field, as exact as a tolerance."""

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, fabs, pow, sqrt
from cython.cimports.prophecy.laws.kernels.arrays import doubles
from cython.cimports.prophecy.laws.kernels.unrolled import (
    FEW,
    LANES,
    Lanes,
    Terms,
    any_switches,
    choose_branches,
    copy,
    lanes_of,
    lanes_room,
    put_field,
    read_terms,
    take,
)
from cython.cimports.prophecy.laws.kernels.stepping import (
    MOST_SWITCHES,
    Tableau,
    Work,
    passed,
    read_tableau,
    step,
    until_switch,
    work_for,
    work_room,
)

#: Of a sample: what is too fast for shorter steps is not worth following.
SHORTEST = cython.declare(cython.double, 1.0 / 512.0)


def _miss(tableau, slopes, v, lanes, lane, h):
    """What a step of order 8 misses by, estimated from its lower orders (Hairer, Norsett and Wanner's estimate)."""
    fifth, third = 0.0, 0.0
    for i in range(v):
        five, three = 0.0, 0.0
        for stage in range(tableau.count):
            slope = slopes[(stage * v + i) * lanes + lane]
            five += tableau.fifth[stage] * slope
            three += tableau.third[stage] * slope
        fifth, third = fifth + five * five, third + three * three
    whole = fifth + 0.01 * third
    return h * fifth / sqrt(whole) if whole > 0.0 else h * whole


def paths(table, thetas, shapes, method, starts, horizon, tolerance, bound, kicks):
    """The next samples from each of (starts, variables) under its own parameters: (starts, horizon, variables).

    NaN from where a path is farther from zero than `bound`: it has left for good. tolerance: what a step of order 8 may
    miss by; the steps are as long as it allows. kicks: (starts, horizon, variables), by how much the flow is missed at
    every sample, or empty. A lane whose path has ended takes the next one: half as many lanes seldom stand idle.
    """
    thetas, starts, kicks, rates, shifts, bends = (
        np.ascontiguousarray(each, dtype=np.float64) for each in (thetas, starts, kicks, *shapes)
    )
    terms, tableau, asked = cython.declare(Terms), cython.declare(Tableau), cython.declare(Asked)
    read_terms(table, cython.address(terms))
    read_tableau(method, cython.address(tableau))
    if not tableau.estimates:
        raise ValueError("paths need a method that estimates what its steps miss by")
    v, size, functions, count = terms.variables, terms.size, terms.functions, len(starts)
    asked.count, asked.horizon, asked.tolerance, asked.bound = count, horizon, tolerance, bound
    asked.thetas = doubles(thetas, "thetas", (count, size, v))
    asked.rates = doubles(rates, "rates", (count, functions, v))
    asked.shifts = doubles(shifts, "shifts", (count, functions))
    asked.bends = doubles(bends, "bends", (count, functions, v, v))
    asked.starts = doubles(starts, "starts", (count, v))
    asked.kicks = doubles(kicks, "kicks", (count, horizon, v)) if len(kicks) else cython.NULL
    lanes: cython.longlong = max(1, min(LANES // 2, count))
    made = np.full((count, horizon, v), np.nan)
    wide = lanes_room(cython.address(terms), lanes) + work_room(cython.address(terms), cython.address(tableau), lanes)
    few = lanes_room(cython.address(terms), FEW) + work_room(cython.address(terms), cython.address(tableau), FEW)
    work = np.zeros(size * v + wide + few + 5 * lanes)
    room, out = doubles(work, "work", work.shape), doubles(made, "out", made.shape)
    with cython.nogil:
        _paths(cython.address(terms), cython.address(tableau), cython.address(asked), lanes, room, out)
    return made


def _paths(terms, tableau, asked, lanes, room, out):
    """The same. room: zeros."""
    numbers, few_numbers = cython.declare(Lanes), cython.declare(Lanes)
    arrays, few_arrays, each = cython.declare(Work), cython.declare(Work), cython.declare(Following)
    field, few, work, other = (
        cython.address(numbers), cython.address(few_numbers), cython.address(arrays), cython.address(few_arrays),
    )  # fmt: skip
    rest, following, v = cython.address(room), cython.address(each), terms.variables
    nothing = take(rest, terms.size * v)
    following.path = cython.cast(cython.p_longlong, take(rest, lanes))
    following.sample = cython.cast(cython.p_longlong, take(rest, lanes))
    following.h, following.length, following.miss = take(rest, lanes), take(rest, lanes), take(rest, lanes)
    work_for(terms, tableau, lanes, work, rest)
    lanes_of(terms, nothing, lanes, field, rest)
    lanes_of(terms, nothing, FEW, few, rest)
    work_for(terms, tableau, FEW, other, rest)
    for lane in range(lanes):
        following.path[lane], work.left[lane], work.crossed[lane] = -1, 0.0, 0
    most: cython.longlong = MOST_SWITCHES if any_switches(terms, True) else 0
    taken: cython.longlong = 0
    going: cython.longlong = lanes if asked.horizon > 0 else 0
    while going > 0:
        taken = _next_paths(terms, field, asked, work, following, taken)
        going = 0
        for lane in range(lanes):
            going += following.path[lane] >= 0
        copy(work.start, work.x, v * lanes)
        copy(following.length, work.h, lanes)
        step(terms, field, tableau, work.x, work.h, work)
        for lane in range(lanes):
            miss = _miss(tableau, work.slopes, v, lanes, lane, following.length[lane])
            following.miss[lane], work.which[lane] = miss, -1
            if following.path[lane] >= 0 and miss <= asked.tolerance and work.crossed[lane] < most:
                work.which[lane] = passed(terms, field, work.x, lane, work.branches, -1)
        until_switch(terms, field, tableau, work, few, other)
        for lane in range(lanes):
            if following.path[lane] >= 0:
                _after_step(terms, asked, work, following, lane, out)


def _next_paths(terms, field, asked, work, following, taken):
    """Paths for the lanes that have none, as long as there are any, and the length of the next step of all lanes.
    Returns how many paths were begun."""
    v, lanes, functions = terms.variables, work.lanes, terms.functions
    for lane in range(lanes):
        if following.path[lane] < 0 and taken < asked.count:
            following.path[lane], following.sample[lane] = taken, 0
            work.left[lane], following.h[lane] = 0.0, 1.0
            put_field(
                terms, asked.thetas + taken * terms.size * v, asked.rates + taken * functions * v,
                asked.shifts + taken * functions, asked.bends + taken * functions * v * v, field, lane,
            )  # fmt: skip
            for i in range(v):
                work.x[i * lanes + lane] = asked.starts[taken * v + i]
            taken += 1
        if following.path[lane] >= 0 and not work.left[lane] > 0.0:
            work.left[lane], work.crossed[lane] = 1.0, 0
            choose_branches(terms, field, work.x, lane, True, work.branches)
        work.h[lane] = min(following.h[lane], work.left[lane]) if following.path[lane] >= 0 else 0.0
    return taken


def _after_step(terms, asked, work, following, lane, out):
    """The length of the lane's next step, and, where a sample was reached, its value into (starts, horizon, v)."""
    v, lanes, s, which = terms.variables, work.lanes, following.path[lane], work.which[lane]
    miss, length, inside = following.miss[lane], following.length[lane], cython.declare(cython.bint, True)
    factor = 0.9 * pow(asked.tolerance / miss, 0.125) if miss > 0.0 else 4.0
    if which >= 0:
        work.branches[which * lanes + lane] *= -1.0
        work.left[lane] -= work.h[lane]
        work.crossed[lane] += 1
    elif miss <= asked.tolerance:
        if length < work.left[lane] or factor < 1.0:
            following.h[lane] = length * min(factor, 4.0)
        work.left[lane] = work.left[lane] - length if length < work.left[lane] else 0.0
    else:
        for i in range(v):
            work.x[i * lanes + lane] = work.start[i * lanes + lane]
        following.h[lane] = length * (max(factor, 0.2) if miss < INFINITY else 0.2)
        inside = following.h[lane] > SHORTEST
    if inside and work.left[lane] > 0.0:
        return
    sample = following.sample[lane]
    place = (s * asked.horizon + sample) * v
    for i in range(v):
        if asked.kicks != cython.NULL:
            work.x[i * lanes + lane] += asked.kicks[place + i]
        inside = inside and fabs(work.x[i * lanes + lane]) <= asked.bound
    if inside:
        for i in range(v):
            out[place + i] = work.x[i * lanes + lane]
        following.sample[lane] += 1
    if not inside or following.sample[lane] == asked.horizon:
        following.path[lane], work.left[lane] = -1, 0.0
