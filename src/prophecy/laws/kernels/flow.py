"""Flows followed from sample to sample: the one integrator, with and without derivatives.

Steps are either so many for each sample, or as long as an estimate of what they miss by allows. Where a function
switches, a step ends there and another goes on with what is left of it.
"""

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, fabs, pow, sqrt
from cython.cimports.prophecy.laws.kernels.arrays import doubles, indices
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
from cython.cimports.prophecy.laws.kernels.tangents import (
    Derived,
    derived_for,
    derived_room,
    onwards,
    read_parameters,
    switched,
)
from cython.cimports.prophecy.laws.kernels.unrolled import (
    LANES,
    Lanes,
    Terms,
    any_switches,
    choose_branches,
    copy,
    fill,
    lanes_of,
    lanes_room,
    put_field,
    read_terms,
    take,
)

#: Of a sample: what is too fast for shorter steps is not worth following.
SHORTEST = cython.declare(cython.double, 1.0 / 512.0)


def steps(table, theta, method, points, substeps):
    """Every one of (points, variables) one sample later, each by as many substeps as (points,) says."""
    return tangents(table, theta, method, (), (), points, substeps, False)[0]


def tangents(table, theta, method, chosen, whose, points, substeps, derivatives=True):
    """One sample onwards from each point, and its derivatives (none where these are not wanted).

    Parameter c is theta[chosen[c], whose[c]], or, where whose[c] is negative, shift or rate of function chosen[c].
    Returns ends (points, variables) and derivatives (points, variables, variables + parameters): with the start, and
    with the parameters; both by the same steps, so that the derivatives are those of the numbers computed.
    """
    substeps = np.asarray(substeps, dtype=np.int64)
    if substeps.shape != np.shape(points)[:1]:
        raise ValueError(f"substeps must have shape {np.shape(points)[:1]}, got {substeps.shape}")
    if len(substeps) and substeps.min() < 1:
        raise ValueError(f"substeps must be at least 1, got {substeps.min()}")
    order = np.argsort(substeps, kind="stable")  # points with as many steps end together
    shapes = table.rates[None], table.shifts[None], table.bends[None]
    ends, made = _followed(
        table, np.asarray(theta)[None], shapes, method, chosen, whose, points, order, 1.0 / substeps, 1, INFINITY,
        INFINITY, (), derivatives,
    )  # fmt: skip
    return ends[:, 0], made


def paths(table, thetas, shapes, method, starts, horizon, tolerance, bound, kicks):
    """The next samples from each of (starts, variables) under its own parameters: (starts, horizon, variables).

    NaN from where a path is farther from zero than `bound`: it has left for good. tolerance: what a step of order 8 may
    miss by; the steps are as long as it allows. kicks: (starts, horizon, variables), by how much the flow is missed at
    every sample, or empty.
    """
    if not len(method.fifth):
        raise ValueError("paths need a method that estimates what its steps miss by")
    order, first = np.arange(len(starts)), np.ones(len(starts))
    return _followed(
        table, thetas, shapes, method, (), (), starts, order, first, horizon, tolerance, bound, kicks, False
    )[0]  # fmt: skip


def _followed(
    table, thetas, shapes, method, chosen, whose, starts, order, lengths, horizon, tolerance, bound, kicks, derivatives
):
    """Paths and, of the last sample, derivatives. thetas, shapes: of each start, or one for all. order: in which starts
    are taken."""
    thetas, starts, lengths, kicks, rates, shifts, bends = (
        np.ascontiguousarray(each, dtype=np.float64) for each in (thetas, starts, lengths, kicks, *shapes)
    )
    chosen, whose, order = (np.ascontiguousarray(each, dtype=np.int64) for each in (chosen, whose, order))
    terms, tableau, asked = cython.declare(Terms), cython.declare(Tableau), cython.declare(Asked)
    derived = cython.declare(Derived)
    read_terms(table, cython.address(terms))
    read_tableau(method, cython.address(tableau))
    v, size, functions, count, each = terms.variables, terms.size, terms.functions, len(starts), len(thetas)
    read_parameters(cython.address(terms), chosen, whose, derivatives, cython.address(derived))
    asked.count, asked.horizon, asked.tolerance, asked.bound = count, horizon, tolerance, bound
    asked.fields = each
    if each == 0 or (each != 1 and each != count):
        raise ValueError(f"thetas must be one or one for each of {count} starts, got {each}")
    asked.thetas = doubles(thetas, "thetas", (each, size, v))
    asked.rates = doubles(rates, "rates", (each, functions, v))
    asked.shifts = doubles(shifts, "shifts", (each, functions))
    asked.bends = doubles(bends, "bends", (each, functions, v, v))
    terms.rates, terms.shifts, terms.bends = asked.rates, asked.shifts, asked.bends
    asked.starts, asked.lengths = doubles(starts, "starts", (count, v)), doubles(lengths, "lengths", (count,))
    asked.order = indices(order, "order", (count,))
    asked.kicks = doubles(kicks, "kicks", (count, horizon, v)) if len(kicks) else cython.NULL
    lanes: cython.longlong = max(1, min(LANES, count))
    ends, made = np.full((count, horizon, v), np.nan), np.empty((count, v, derived.columns))
    room = 3 * lanes + derived_room(cython.address(terms), cython.address(tableau), lanes, derived.columns)
    for some in (lanes, 1):
        room += lanes_room(cython.address(terms), some) + work_room(
            cython.address(terms), cython.address(tableau), some
        )
    work = np.empty(room)
    at, out = doubles(work, "work", work.shape), doubles(ends, "ends", ends.shape)
    slopes = doubles(made, "out", made.shape)
    with cython.nogil:
        _follow(
            cython.address(terms), cython.address(tableau), cython.address(asked), cython.address(derived), lanes, at,
            out, slopes,
        )  # fmt: skip
    return ends, made


def _follow(terms, tableau, asked, derived, lanes, room, ends, out):
    """The same. Each lane has one start; those left over repeat the last, without a step."""
    numbers, one_number = cython.declare(Lanes), cython.declare(Lanes)
    arrays, one_array, each = cython.declare(Work), cython.declare(Work), cython.declare(Following)
    field, one, work, other = (
        cython.address(numbers), cython.address(one_number), cython.address(arrays), cython.address(one_array),
    )  # fmt: skip
    rest, now, v, columns = cython.address(room), cython.address(each), terms.variables, derived.columns
    now.h, now.length, now.miss = take(rest, lanes), take(rest, lanes), take(rest, lanes)
    lanes_of(terms, asked.thetas, lanes, field, rest)
    work_for(terms, tableau, lanes, work, rest)
    lanes_of(terms, asked.thetas, 1, one, rest)
    work_for(terms, tableau, 1, other, rest)
    if columns > 0:
        derived_for(terms, tableau, lanes, derived, rest)
    switching: cython.bint = any_switches(terms, tableau.estimates)
    adaptive: cython.bint = asked.tolerance < INFINITY
    first: cython.longlong = 0
    going: cython.longlong
    filled: cython.longlong
    while first < asked.count and asked.horizon > 0:
        going, filled = asked.count - first, v
        going = min(going, lanes)
        for lane in range(lanes):
            k = asked.order[min(first + lane, asked.count - 1)]
            _begin(terms, field, tableau, asked, work, now, lane, k, lane < going)
        for i in range(v if columns > 0 else 0):
            fill(derived.out + i * columns * lanes, columns * lanes, 0.0)
            fill(derived.out + (i * columns + i) * lanes, lanes, 1.0)
        while going > 0:
            for lane in range(lanes):
                now.length[lane] = min(now.h[lane], work.left[lane]) if work.rest[lane] == 0.0 else work.rest[lane]
                work.h[lane] = now.length[lane] if work.todo[lane] > 0 else 0.0
            copy(work.start, work.x, v * lanes)
            if switching or columns == 0:
                step(terms, field, tableau, work.x, work.h, work)
            for lane in range(lanes):
                now.miss[lane] = _miss(tableau, work.slopes, v, lanes, lane, work.h[lane]) if adaptive else 0.0
                work.which[lane] = -1
                sound: cython.bint = now.miss[lane] <= asked.tolerance and work.crossed[lane] < MOST_SWITCHES
                if switching and work.todo[lane] > 0 and sound:
                    work.which[lane] = passed(terms, field, work.x, lane, work.branches, -1)
            if switching:
                until_switch(terms, field, tableau, work, one, other)
            if columns > 0:
                copy(work.x, work.start, v * lanes)
                onwards(terms, field, tableau, filled, work, derived)
                filled = columns
            for lane in range(lanes):
                if work.todo[lane] > 0:
                    if columns > 0 and work.which[lane] >= 0:
                        switched(terms, field, lane, work, derived)
                    going -= _after_step(terms, field, tableau, asked, work, now, lane, asked.order[first + lane], ends)
        for lane in range(min(lanes, asked.count - first)):
            for i in range(v * columns):
                out[asked.order[first + lane] * v * columns + i] = derived.out[i * lanes + lane]
        first += lanes


def _begin(terms, field, tableau, asked, work, now, lane, k, goes):
    """Start k in a lane, with its own field and all samples to go."""
    v, lanes, functions, which = terms.variables, work.lanes, terms.functions, k if asked.fields > 1 else 0
    if asked.fields > 1:
        put_field(
            terms, asked.thetas + which * terms.size * v, asked.rates + which * functions * v,
            asked.shifts + which * functions, asked.bends + which * functions * v * v, field, lane,
        )  # fmt: skip
    for i in range(v):
        work.x[i * lanes + lane] = asked.starts[k * v + i]
    choose_branches(terms, field, work.x, lane, tableau.estimates, work.branches)
    now.h[lane], work.todo[lane] = asked.lengths[k], asked.horizon if goes else 0
    work.left[lane], work.rest[lane], work.crossed[lane] = 1.0, 0.0, 0


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


def _after_step(terms, field, tableau, asked, work, now, lane, k, ends):
    """The length of the lane's next step, and, where a sample was reached, its value into (starts, horizon, v). Whether
    the path ends here."""
    v, lanes, which = terms.variables, work.lanes, work.which[lane]
    miss, length, inside = now.miss[lane], now.length[lane], cython.declare(cython.bint, True)
    factor = 0.9 * pow(asked.tolerance / miss, 0.125) if miss > 0.0 else 4.0
    if which >= 0:
        work.branches[which * lanes + lane] *= -1.0
        work.left[lane] -= work.h[lane]
        work.rest[lane] = length - work.h[lane]
        work.crossed[lane] += 1
    elif miss <= asked.tolerance:
        if asked.tolerance < INFINITY and (length < work.left[lane] or factor < 1.0):
            now.h[lane] = length * min(factor, 4.0)
        work.left[lane] = work.left[lane] - length if length < work.left[lane] - 1e-12 else 0.0  # but for rounding
        work.rest[lane], work.crossed[lane] = 0.0, 0
    else:
        for i in range(v):
            work.x[i * lanes + lane] = work.start[i * lanes + lane]
        now.h[lane] = length * (max(factor, 0.2) if miss < INFINITY else 0.2)
        work.rest[lane], inside = 0.0, now.h[lane] > SHORTEST
    if inside and work.left[lane] > 0.0:
        return False
    place = (k * asked.horizon + asked.horizon - work.todo[lane]) * v
    for i in range(v):
        if asked.kicks != cython.NULL:
            work.x[i * lanes + lane] += asked.kicks[place + i]
        inside = inside and fabs(work.x[i * lanes + lane]) <= asked.bound
    for i in range(v if inside else 0):
        ends[place + i] = work.x[i * lanes + lane]
    work.todo[lane] = work.todo[lane] - 1 if inside else 0
    work.left[lane], work.rest[lane], work.crossed[lane] = 1.0, 0.0, 0
    choose_branches(terms, field, work.x, lane, tableau.estimates, work.branches)
    return work.todo[lane] == 0
