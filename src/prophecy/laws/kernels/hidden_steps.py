"""Gauss-Newton steps for states that are seen in part: hidden variables at every sample, and parameters, eliminated.

Linearised, "the flow from state k ends at state k + 1" couples the hidden parts of neighbouring states and the
parameters. The normal equations are block tridiagonal with a border of parameters; a block Cholesky elimination solves
them in one pass, a tenth of the time of the orthogonal elimination in `smoother.py`. Squaring the condition is
affordable here because every step is damped; what the search finds is solved again by the orthogonal one. The products
that make the normal matrix of the parameters, most of the work where there are sixty, are left to BLAS.

`powers_tangents` says how a step of a polynomial field depends on its start and on all of its coefficients.
`tangents.py` does the same for any field. Here every coefficient is free and there are no functions, so that the
derivatives with the coefficients of one variable are sums of the features over the stages: loops over neighbours in
memory, in a third of the time.
"""

import cython
import numpy as np
from cython.cimports.prophecy.laws.kernels.arrays import doubles, indices, multiply
from cython.cimports.prophecy.laws.kernels.flow import check_substeps
from cython.cimports.prophecy.laws.kernels.unrolled import Terms, copy, fill, read_terms, take
from cython.cimports.prophecy.laws.kernels.stepping import Tableau, read_tableau


def reduced_room(steps, v, seen, p):
    """How many numbers `reduced_for` takes from its room."""
    h = v - seen
    return (steps + 1) * (3 * h * h + 2 * h * p) + 2 * p * p + steps * v * p + h * h + h


def reduced_for(steps, v, seen, p, reduced, room):
    """Room for a problem, whose derivatives `tangent` are given before `gather`."""
    h = v - seen
    reduced.steps, reduced.v, reduced.seen, reduced.h, reduced.p = steps, v, seen, h, p
    reduced.inverse, reduced.next_state = take(room, (steps + 1) * h * h), take(room, (steps + 1) * h * h)
    reduced.coupling = take(room, (steps + 1) * h * h)
    reduced.border, reduced.kept = take(room, (steps + 1) * h * p), take(room, (steps + 1) * h * p)
    reduced.matrix, reduced.squares = take(room, p * p), take(room, p * p)
    reduced.own, reduced.block, reduced.right = take(room, steps * v * p), take(room, h * h), take(room, h)


def gather(reduced):
    """What all dampings have in common: products of the derivatives with the parameters, which lie side by side for
    that."""
    rows, v, p = reduced.steps * reduced.v, reduced.v, reduced.p
    for k in range(rows):
        copy(reduced.own + k * p, reduced.tangent + k * (v + p) + v, p)
    multiply(reduced.own, True, reduced.own, False, p, rows, p, reduced.squares)


def _inverted(block, out, n):
    """The inverse of a small symmetric positive definite matrix, by Gauss-Jordan elimination."""
    for i in range(n * n):
        out[i] = 1.0 if i % (n + 1) == 0 else 0.0
    for i in range(n):
        pivot = 1.0 / block[i * n + i]
        for j in range(n):
            block[i * n + j] *= pivot
            out[i * n + j] *= pivot
        for r in range(n):
            if r != i:
                factor = block[r * n + i]
                for j in range(n):
                    block[r * n + j] -= factor * block[i * n + j]
                    out[r * n + j] -= factor * out[i * n + j]


def eliminate(reduced, damping):
    """Eliminate the hidden parts of all states. damping: weight of how far a hidden variable moves, against the
    equations."""
    steps, v, seen, h, p = reduced.steps, reduced.v, reduced.seen, reduced.h, reduced.p
    block, width = reduced.block, v + p
    fill(reduced.kept, (steps + 1) * h * p, 0.0)
    fill(reduced.border, (steps + 1) * h * p, 0.0)
    fill(reduced.next_state, (steps + 1) * h * h, 0.0)
    fill(reduced.coupling + steps * h * h, h * h, 0.0)
    for k in range(steps + 1):
        kept, border, slopes = reduced.kept + k * h * p, reduced.border + k * h * p, reduced.tangent + k * v * width
        coupling, next_state = reduced.coupling + k * h * h, reduced.next_state + k * h * h
        for i in range(h):
            for j in range(h):
                block[i * h + j] = damping * damping if i == j else 0.0
            if k > 0:
                block[i * h + i] += 1.0
                before = slopes - v * width + (seen + i) * width + v
                for c in range(p):
                    kept[i * p + c] = -before[c]
                for m in range(h):
                    weight = (coupling - h * h)[m * h + i]
                    for j in range(h):
                        block[i * h + j] -= weight * (next_state - h * h)[m * h + j]
                    earlier = border - h * p + m * p
                    for c in range(p):
                        kept[i * p + c] -= weight * earlier[c]
        if k < steps:
            for r in range(v):
                for i in range(h):
                    slope = slopes[r * width + seen + i]
                    for j in range(h):
                        block[i * h + j] += slope * slopes[r * width + seen + j]
                    for c in range(p):
                        kept[i * p + c] += slope * slopes[r * width + v + c]
            for i in range(h):
                for j in range(h):
                    coupling[i * h + j] = -slopes[(seen + j) * width + seen + i]
        inverse = reduced.inverse + k * h * h
        _inverted(block, inverse, h)
        for i in range(h):
            for m in range(h):
                weight = inverse[i * h + m]
                for j in range(h):
                    next_state[i * h + j] += weight * coupling[m * h + j]
                for c in range(p):
                    border[i * p + c] += weight * kept[m * p + c]
    multiply(reduced.kept, True, reduced.border, False, p, (steps + 1) * h, p, reduced.matrix)
    for i in range(p * p):
        reduced.matrix[i] = reduced.squares[i] - reduced.matrix[i]


def right_sides(reduced, defects, states, parameters):
    """Right sides after elimination: of the hidden states, (time, h), and of the parameters, (p,).

    defects: (time - 1, v), the flow's end minus the next state.
    """
    steps, v, seen, h, p = reduced.steps, reduced.v, reduced.seen, reduced.h, reduced.p
    right, width = reduced.right, v + p
    fill(parameters, p, 0.0)
    for k in range(steps + 1):
        for i in range(h):
            right[i] = defects[(k - 1) * v + seen + i] if k > 0 else 0.0
            if k > 0:
                for m in range(h):
                    right[i] -= reduced.coupling[((k - 1) * h + m) * h + i] * states[(k - 1) * h + m]
        if k < steps:
            for r in range(v):
                slopes, defect = reduced.tangent + (k * v + r) * width, defects[k * v + r]
                for i in range(h):
                    right[i] -= slopes[seen + i] * defect
                for c in range(p):
                    parameters[c] -= slopes[v + c] * defect
        for i in range(h):
            states[k * h + i] = 0.0
            for m in range(h):
                states[k * h + i] += reduced.inverse[(k * h + i) * h + m] * right[m]
        for m in range(h):
            border = reduced.border + (k * h + m) * p
            for c in range(p):
                parameters[c] -= border[c] * right[m]


def substitute(reduced, states, change):
    """The change of every hidden state, (time, h), in place of its right side, once that of the parameters is known."""
    steps, h, p = reduced.steps, reduced.h, reduced.p
    for k in range(steps, -1, -1):
        for i in range(h):
            total, border = states[k * h + i], reduced.border + (k * h + i) * p
            for c in range(p):
                total -= border[c] * change[c]
            if k < steps:
                for j in range(h):
                    total -= reduced.next_state[(k * h + i) * h + j] * states[(k + 1) * h + j]
            states[k * h + i] = total


def step_along(reduced, shift, change, out):
    """The derivative of the defects along a step: (time - 1, v)."""
    v, seen, h, p = reduced.v, reduced.seen, reduced.h, reduced.p
    for k in range(reduced.steps):
        for r in range(v):
            total, slopes = 0.0, reduced.tangent + (k * v + r) * (v + p)
            for i in range(h):
                total += slopes[seen + i] * shift[k * h + i]
            for c in range(p):
                total += slopes[v + c] * change[c]
            out[k * v + r] = total - (shift[(k + 1) * h + r - seen] if r >= seen else 0.0)


def gauss_newton(tangent, defects, seen, damping, ridge):
    """One step: the change of the hidden states, (time, h), and of the parameters, (p,).

    tangent: (time - 1, v, v + p); defects: (time - 1, v); the first `seen` of the v variables are known. ridge: added
    to the diagonal of the normal matrix of the parameters.
    """
    tangent, defects = np.ascontiguousarray(tangent, dtype=np.float64), np.ascontiguousarray(defects, dtype=np.float64)
    steps, v, width = tangent.shape
    hidden, parameters = v - seen, width - v
    if not (0 < hidden <= v and parameters > 0):
        raise ValueError(f"seen must leave hidden variables and tangent parameters, got {seen} and {tangent.shape}")
    reduced = cython.declare(Reduced)
    work = np.empty(reduced_room(steps, v, seen, parameters))
    room = doubles(work, "work", work.shape)
    reduced_for(steps, v, seen, parameters, cython.address(reduced), cython.address(room))
    reduced.tangent = doubles(tangent, "tangent", tangent.shape)
    matrix, right, shift = np.empty((parameters, parameters)), np.empty(parameters), np.empty((steps + 1, hidden))
    given, sums = doubles(defects, "defects", (steps, v)), doubles(right, "right", right.shape)
    made, moved = doubles(matrix, "matrix", matrix.shape), doubles(shift, "shift", shift.shape)
    weight: cython.double = damping
    with cython.nogil:
        gather(cython.address(reduced))
        eliminate(cython.address(reduced), weight)
        right_sides(cython.address(reduced), given, moved, sums)
        copy(made, reduced.matrix, reduced.p * reduced.p)
    change = np.linalg.solve(matrix + ridge * np.eye(parameters), right)
    by = doubles(change, "change", (parameters,))
    with cython.nogil:
        substitute(cython.address(reduced), moved, by)
    return shift, change


def along(tangent, shift, change, seen):
    """The derivative of the defects along a step of hidden states and parameters: (time - 1, v)."""
    tangent, shift, change = (np.ascontiguousarray(each, dtype=np.float64) for each in (tangent, shift, change))
    reduced = cython.declare(Reduced)
    reduced.steps, reduced.v, reduced.seen, reduced.p = tangent.shape[0], tangent.shape[1], seen, len(change)
    reduced.h = reduced.v - reduced.seen
    reduced.tangent = doubles(tangent, "tangent", (reduced.steps, reduced.v, reduced.v + reduced.p))
    made = np.empty((reduced.steps, reduced.v))
    moved, by = doubles(shift, "shift", (reduced.steps + 1, reduced.h)), doubles(change, "change", (reduced.p,))
    out = doubles(made, "out", made.shape)
    with cython.nogil:
        step_along(cython.address(reduced), moved, by, out)
    return made


def powers_room(terms, tableau):
    """How many numbers `powers_at` works in."""
    v, size, stages = terms.variables, terms.size, tableau.count
    return stages * (size + 2 * v + 3 * v * v) + size * v + v * v + v * (v + v * size)


def _slope(terms, theta, x, phi, dphi, jacobian, slope):
    """Features, the time derivative of a state, and its derivatives with the variables."""
    v = terms.variables
    for i in range(v):
        slope[i], dphi[i] = theta[i], 0.0
    fill(jacobian, v * v, 0.0)
    phi[0] = 1.0
    for p in range(1, terms.size):
        parent, factor = terms.parents[p], terms.factors[p]
        value, change, before = x[factor], dphi + p * v, dphi + parent * v
        phi[p] = phi[parent] * value
        for j in range(v):
            change[j] = before[j] * value
        change[factor] += phi[parent]
        for i in range(v):
            weight = theta[p * v + i]
            slope[i] += weight * phi[p]
            for j in range(v):
                jacobian[i * v + j] += weight * change[j]


def powers_tangents(table, theta, method, points, substeps):
    """One sample onwards from each point: ends (points, v), and derivatives (points, v, v + v * size).

    The derivatives are with the start, then with the coefficients of the first variable, of the second and so on.
    """
    theta, points = np.ascontiguousarray(theta, dtype=np.float64), np.ascontiguousarray(points, dtype=np.float64)
    substeps = np.ascontiguousarray(substeps, dtype=np.int64)
    check_substeps(substeps)
    terms, tableau = cython.declare(Terms), cython.declare(Tableau)
    read_terms(table, cython.address(terms))
    read_tableau(method, cython.address(tableau))
    if terms.functions:
        raise ValueError("powers_tangents is for fields without functions; tangents is for all")
    v, size, count = terms.variables, terms.size, cython.declare(cython.longlong, len(points))
    ends, made = np.empty((count, v)), np.empty((count, v, v + v * size))
    work = np.empty(powers_room(cython.address(terms), cython.address(tableau)))
    weights, at = doubles(theta, "theta", (size, v)), doubles(points, "points", (count, v))
    counts, room = indices(substeps, "substeps", (count,)), doubles(work, "work", work.shape)
    reached, out = doubles(ends, "ends", ends.shape), doubles(made, "out", made.shape)
    with cython.nogil:
        powers_at(cython.address(terms), weights, cython.address(tableau), at, count, counts, room, reached, out)
    return ends, made


def powers_at(terms, theta, tableau, points, count, substeps, room, ends, out):
    """`powers_tangents` for (count, v) points."""
    v = terms.variables
    columns = v + v * terms.size
    copy(ends, points, count * v)
    fill(out, count * v * columns, 0.0)
    for k in range(count):
        x, there, h = ends + k * v, out + k * v * columns, 1.0 / cython.cast(cython.double, substeps[k])
        for i in range(v):
            there[i * columns + i] = 1.0
        for substep in range(substeps[k]):
            _substep(terms, theta, tableau, h, columns if substep else v, x, there, room)


def _substep(terms, theta, tableau, h, filled, x, there, room):
    """One substep of x (v,) and of the derivatives `there`, (v, columns), of which `filled` columns are not 0 yet."""
    v, size, stages, rest = terms.variables, terms.size, tableau.count, cython.address(room)
    columns = v + v * size
    phi, dphi, at = take(rest, stages * size), take(rest, size * v), take(rest, stages * v)
    slopes, jacobian = take(rest, stages * v), take(rest, stages * v * v)
    answer, through = take(rest, stages * v * v), take(rest, stages * v * v)
    whole, before = take(rest, v * v), take(rest, v * columns)
    for s in range(stages):
        copy(at + s * v, x, v)
        for earlier in range(s):
            weight = h * tableau.stages[s * stages + earlier]
            if weight != 0.0:
                for i in range(v):
                    at[s * v + i] += weight * slopes[earlier * v + i]
        _slope(terms, theta, at + s * v, phi + s * size, dphi, jacobian + s * v * v, slopes + s * v)
    # How the end depends on the slope of each stage, from the last one back (as in `tangents.py`).
    for i in range(v * v):
        whole[i] = 1.0 if i % (v + 1) == 0 else 0.0
    for s in range(stages - 1, -1, -1):
        own, slope, made = answer + s * v * v, jacobian + s * v * v, through + s * v * v
        for i in range(v * v):
            own[i] = h * tableau.weights[s] if i % (v + 1) == 0 else 0.0
        for r in range(s + 1, stages):
            weight = h * tableau.stages[r * stages + s]
            if weight != 0.0:
                for i in range(v * v):
                    own[i] += weight * through[r * v * v + i]
        for i in range(v):
            for j in range(v):
                total = 0.0
                for m in range(v):
                    total += own[i * v + m] * slope[m * v + j]
                made[i * v + j] = total
                whole[i * v + j] += total
    for i in range(v):
        copy(before + i * columns, there + i * columns, filled)
        fill(there + i * columns, filled, 0.0)
    for i in range(v):
        row = there + i * columns
        for j in range(v):
            weight, column = whole[i * v + j], before + j * columns
            for c in range(filled):
                row[c] += weight * column[c]
        for j in range(v):
            parameters = row + v + j * size
            for s in range(stages):
                weight, features = answer[(s * v + i) * v + j], phi + s * size
                for p in range(size):
                    parameters[p] += weight * features[p]
    for s in range(stages):
        for i in range(v):
            x[i] += h * tableau.weights[s] * slopes[s * v + i]
