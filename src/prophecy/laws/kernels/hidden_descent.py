"""Levenberg-Marquardt steps over hidden states and coefficients together, compiled from end to end.

A search tries dozens of starts with some steps each; called from Python, a step spends more time between its parts than
in them.
"""

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, isfinite, sqrt
from cython.cimports.prophecy.laws.kernels.arrays import doubles, indices, multiply
from cython.cimports.prophecy.laws.kernels.flow import check_substeps, step_points, steps_room
from cython.cimports.prophecy.laws.kernels.hidden_steps import (
    eliminate,
    gather,
    powers_at,
    powers_room,
    reduced_for,
    reduced_room,
    right_sides,
    step_along,
    substitute,
)
from cython.cimports.prophecy.laws.kernels.unrolled import Terms, copy, fill, read_terms, take
from cython.cimports.prophecy.laws.kernels.stepping import Tableau, read_tableau


def _factored(matrix, n):
    """Cholesky's factor into the lower triangle, in place; whether the matrix is positive definite."""
    for i in range(n):
        for j in range(i + 1):
            total, row, other = matrix[i * n + j], matrix + i * n, matrix + j * n
            for m in range(j):
                total -= row[m] * other[m]
            if i == j:
                if not total > 0.0:
                    return False
                row[i] = sqrt(total)
            else:
                row[j] = total / other[j]
    return True


def _solved(factor, right, norms, n, out):
    """matrix \\ right from the factor of `_factored`, of a matrix whose rows and columns were divided by norms."""
    for i in range(n):
        total = right[i] / norms[i]
        for m in range(i):
            total -= factor[i * n + m] * out[m]
        out[i] = total / factor[i * n + i]
    for i in range(n - 1, -1, -1):
        total = out[i]
        for m in range(i + 1, n):
            total -= factor[m * n + i] * out[m]
        out[i] = total / factor[i * n + i]
    for i in range(n):
        out[i] /= norms[i]


def _sum(values, count):
    total = 0.0
    for i in range(count):
        total += values[i]
    return total


def _sum_of_squares(values, count):
    total = 0.0
    for i in range(count):
        total += values[i] * values[i]
    return total


def monomials(table, points):
    """Features of a field of powers at each of (points, variables): (points, terms)."""
    points = np.ascontiguousarray(points, dtype=np.float64)
    terms = cython.declare(Terms)
    read_terms(table, cython.address(terms))
    count: cython.longlong = len(points)
    made = np.empty((count, terms.size))
    at, out = doubles(points, "points", (count, terms.variables)), doubles(made, "out", made.shape)
    with cython.nogil:
        _monomials(cython.address(terms), at, count, out)
    return made


def _monomials(terms, points, count, out):
    v, size = terms.variables, terms.size
    for k in range(count):
        row, x = out + k * size, points + k * v
        row[0] = 1.0
        for p in range(1, size):
            row[p] = row[terms.parents[p]] * x[terms.factors[p]]


def standardised(table, theta, states, seen, points, inverse):
    """Coefficients and states with hidden variables uncorrelated with all others, of mean 0 and variance 1.

    points: (points, variables) at which the field is compared in old and new variables; inverse: the pseudo-inverse of
    its features there. Both as they are where a variable is an affine function of the others.
    """
    theta, states, points, inverse = (
        np.ascontiguousarray(each, dtype=np.float64) for each in (theta, states, points, inverse)
    )
    terms = cython.declare(Terms)
    read_terms(table, cython.address(terms))
    v, size = terms.variables, terms.size
    time: cython.longlong = len(states)
    count: cython.longlong = len(points)
    known: cython.longlong = seen
    if terms.functions or not 0 <= known <= v or size < 2 or count < 2:
        raise ValueError(f"seen must be at most {v} variables of a field without functions, got {seen}")
    coefficients, made = np.empty((size, v)), np.empty((time, v))
    work = np.empty(2 * v * v + 3 * v + count * (3 * v + size))
    old, values = doubles(theta, "theta", (size, v)), doubles(states, "states", (time, v))
    at, back = doubles(points, "points", (count, v)), doubles(inverse, "inverse", (size, count))
    new, out = doubles(coefficients, "theta", (size, v)), doubles(made, "out", (time, v))
    room = doubles(work, "work", work.shape)
    with cython.nogil:
        changed = _standardised(cython.address(terms), old, values, time, known, at, count, back, room, new, out)
    return (coefficients, made) if changed else (theta, states)


def _standardised(terms, theta, states, time, seen, points, count, inverse, room, coefficients, out):
    """The same; False where a variable is an affine function of the others."""
    v, size, rest = terms.variables, terms.size, cython.address(room)
    root, matrix, means, centre = take(rest, v * v), take(rest, v * v), take(rest, v), take(rest, v)
    before, phi, slopes = take(rest, count * v), take(rest, count * size), take(rest, count * v)
    turned = take(rest, count * v)
    samples = cython.cast(cython.double, time)
    for i in range(v):
        total = 0.0
        for k in range(time):
            total += states[k * v + i]
        means[i] = total / samples
    fill(root, v * v, 0.0)
    for i in range(v):
        for j in range(i + 1):
            total = 0.0
            for k in range(time):
                total += (states[k * v + i] - means[i]) * (states[k * v + j] - means[j])
            root[i * v + j] = total / samples
    least = 0.0
    for i in range(v):
        least += root[i * v + i]
    for i in range(v):
        root[i * v + i] += 1e-14 * least
    if not (isfinite(_sum(root, v * v)) and _factored(root, v)):
        return False
    fill(centre, v, 0.0)
    for i in range(v * v):
        matrix[i] = 1.0 if i % (v + 1) == 0 else 0.0
    for i in range(seen, v):  # rows of the inverse of the factor, which makes new variables from old ones
        row = matrix + i * v
        for j in range(i, -1, -1):
            for m in range(j + 1, i + 1):
                row[j] -= row[m] * root[m * v + j]
            row[j] /= root[j * v + j]
        for j in range(v):
            centre[i] += row[j] * means[j]
    for k in range(count):
        there = before + k * v
        for i in range(v):
            there[i] = points[k * v + i] + centre[i]
        for i in range(seen, v):
            for j in range(i):
                there[i] -= matrix[i * v + j] * there[j]
            there[i] /= matrix[i * v + i]
    _monomials(terms, before, count, phi)
    multiply(phi, False, theta, False, count, size, v, slopes)
    multiply(slopes, False, matrix, True, count, v, v, turned)
    multiply(inverse, False, turned, False, size, count, v, coefficients)
    multiply(states, False, matrix, True, time, v, v, out)
    for k in range(time):
        for i in range(v):
            out[k * v + i] -= centre[i]
    return True


def _moved(at, change, shift, size):
    """Into near and close: coefficients and states after a step."""
    terms, v, hidden = at.terms.size, at.v, at.v - at.seen
    copy(at.near, at.theta, terms * v)
    copy(at.close, at.states, at.time * v)
    for c in range(at.count):
        at.near[c % terms * v + c // terms] += size * change[c]
    for k in range(at.time):
        for i in range(hidden):
            at.close[k * v + at.seen + i] += size * shift[k * hidden + i]


def _defects(at, theta, states, out):
    """The flow's ends minus the next states: (time - 1, v)."""
    v, steps = at.v, at.time - 1
    step_points(at.terms, theta, at.tableau, states, steps, at.substeps, at.room, out)
    for i in range(steps * v):
        out[i] -= states[v + i]


def _scaled(at):
    """The normal matrix of the parameters with rows and columns of size 1, damped, and its factor; False where it has
    none."""
    count, reduced = at.count, at.reduced.matrix
    damped = at.tuning.stiffness * at.damping
    for a in range(count):
        at.norms[a] = sqrt(max(reduced[a * count + a], 1e-300))
    for a in range(count):
        for b in range(count):
            at.matrix[a * count + b] = reduced[a * count + b] / (at.norms[a] * at.norms[b])
        at.matrix[a * count + a] += damped * damped + 1e-14
    return _factored(at.matrix, count)


def _tried(at, cost):
    """The step of the present damping, with its second-order correction where this can be trusted and helps; its end is
    in near and close. Returns the sum of squares there."""
    tuning, size, hidden = at.tuning, (at.time - 1) * at.v, at.time * (at.v - at.seen)
    reduced, better = cython.address(at.reduced), cost
    right_sides(reduced, at.defects, at.shift, at.right)
    _solved(at.matrix, at.right, at.norms, at.count, at.change)
    substitute(reduced, at.shift, at.change)
    _moved(at, at.change, at.shift, tuning.ahead)
    _defects(at, at.near, at.close, at.bend)
    step_along(reduced, at.shift, at.change, at.slopes)
    twice = 2 / tuning.ahead
    for i in range(size):
        at.bend[i] = twice * ((at.bend[i] - at.defects[i]) / tuning.ahead - at.slopes[i])
    if isfinite(_sum(at.bend, size)):
        right_sides(reduced, at.bend, at.more, at.right)
        _solved(at.matrix, at.right, at.norms, at.count, at.further)
        substitute(reduced, at.more, at.further)
        trusted = tuning.accelerated * tuning.accelerated
        if _sum_of_squares(at.more, hidden) < trusted * _sum_of_squares(at.shift, hidden):
            for c in range(at.count):
                at.further[c] = at.change[c] + 0.5 * at.further[c]
            for i in range(hidden):
                at.more[i] = at.shift[i] + 0.5 * at.more[i]
            _moved(at, at.further, at.more, 1.0)
            _defects(at, at.near, at.close, at.bend)
            better = _sum_of_squares(at.bend, size)
    if not better < cost:
        _moved(at, at.change, at.shift, 1.0)
        _defects(at, at.near, at.close, at.bend)
        better = _sum_of_squares(at.bend, size)
    return better


def _descend(at, most, enough, least_gain):
    """`descend`; returns whether going on may help."""
    v, steps, tuning, size = at.v, at.time - 1, at.tuning, (at.time - 1) * at.v
    onward: cython.bint = True
    at.misfit = INFINITY
    for _ in range(most):
        powers_at(at.terms, at.theta, at.tableau, at.states, steps, at.substeps, at.room, at.ends, at.tangent)
        for i in range(size):
            at.defects[i] = at.ends[i] - at.states[v + i]
        cost = _sum_of_squares(at.defects, size)
        at.misfit = sqrt(cost / size)
        if not (cost < tuning.lost * steps and isfinite(_sum(at.tangent, size * (v + at.count)))):
            at.misfit = INFINITY
            return False
        better = cost
        gather(cython.address(at.reduced))
        for _ in range(tuning.rejections):
            eliminate(cython.address(at.reduced), at.damping)
            if not _scaled(at):
                at.damping *= tuning.tightened
                continue
            better = _tried(at, cost)
            if better < cost:
                at.theta, at.near = at.near, at.theta
                at.states, at.close = at.close, at.states
                at.damping = max(at.damping / tuning.relaxed, tuning.least)
                break
            at.damping *= tuning.tightened
        after = sqrt(better / size) if better < cost else at.misfit
        onward = after >= enough and after < (1 - least_gain) * at.misfit
        at.misfit = after
        if not onward:
            break
    return onward


def descend(table, theta, method, states, substeps, seen, damping, most, enough, least_gain, settings, lost):
    """At most `most` steps from (theta, states), until the misfit is below `enough` or falls by less than a share.

    All coefficients are free. settings: `prophecy.laws.settings.HiddenSettings`, whose damping they follow; lost:
    mean square defect of a field that leads nowhere. Returns coefficients, states, damping, the misfit (root mean
    square distance between the flow's ends and the next states) and whether going on may help.
    """
    theta, states = np.array(theta, dtype=np.float64, order="C"), np.array(states, dtype=np.float64, order="C")
    substeps = np.ascontiguousarray(substeps, dtype=np.int64)
    check_substeps(substeps)
    terms, tableau, tuned, at = (
        cython.declare(Terms), cython.declare(Tableau), cython.declare(Tuning), cython.declare(Descent),
    )  # fmt: skip
    read_terms(table, cython.address(terms))
    read_tableau(method, cython.address(tableau))
    tuned.relaxed, tuned.tightened, tuned.least = settings.relaxed, settings.tightened, settings.least_damping
    tuned.stiffness, tuned.accelerated, tuned.ahead = settings.stiffness, settings.accelerated, settings.ahead
    tuned.rejections, tuned.lost = settings.rejections, lost
    v, size = terms.variables, terms.size
    at.terms, at.tableau, at.tuning = cython.address(terms), cython.address(tableau), cython.address(tuned)
    at.time, at.v, at.seen, at.count, at.damping = len(states), v, seen, size * v, damping
    if terms.functions or not 0 <= at.seen < v or at.time < 2:
        raise ValueError(f"seen must leave hidden ones of {v} variables of a field without functions, got {seen}")
    steps, hidden, count = at.time - 1, v - at.seen, at.count
    at.substeps = indices(substeps, "substeps", (steps,))
    near, close = np.empty_like(theta), np.empty_like(states)
    at.theta, at.near = doubles(theta, "theta", (size, v)), doubles(near, "theta", (size, v))
    at.states, at.close = doubles(states, "states", (at.time, v)), doubles(close, "states", (at.time, v))
    own = 4 * steps * v + steps * v * (v + count) + 4 * count + 2 * at.time * hidden + count * count
    most_room = max(steps_room(at.terms, at.tableau, steps), powers_room(at.terms, at.tableau))
    work = np.empty(own + reduced_room(steps, v, at.seen, count) + most_room)
    room = doubles(work, "work", work.shape)
    rest = cython.address(room)
    at.ends, at.defects, at.bend = take(rest, steps * v), take(rest, steps * v), take(rest, steps * v)
    at.slopes, at.tangent = take(rest, steps * v), take(rest, steps * v * (v + count))
    at.right, at.change, at.further = take(rest, count), take(rest, count), take(rest, count)
    at.norms, at.matrix = take(rest, count), take(rest, count * count)
    at.shift, at.more = take(rest, at.time * hidden), take(rest, at.time * hidden)
    reduced_for(steps, v, at.seen, count, cython.address(at.reduced), rest)
    at.reduced.tangent, at.room = at.tangent, room
    allowed: cython.longlong = most
    limit: cython.double = enough
    share: cython.double = least_gain
    first = at.theta
    with cython.nogil:
        onward = _descend(cython.address(at), allowed, limit, share)
    theta, states = (theta, states) if at.theta == first else (near, close)
    return theta, states, at.damping, at.misfit, onward
