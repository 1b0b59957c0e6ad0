"""Terms evaluated at points side by side.

The last axis of all arrays is the point (*lane*): fields have few variables and few terms, and a processor does the
same to several numbers at once. Each lane's numbers are those it would have alone, to the last bit.

Moduli and signs switch where their sum passes zero. Between two switches each is smooth, on the branch that `branches`
names; `stepping.py` finds the moments between, those of moduli only for steps of order 8: across a kink a step of a low
order errs by its square.
"""

import cython
import numpy as np
from cython.cimports.libc.math import cos, exp, log, sin, sqrt, tanh
from cython.cimports.prophecy.laws.kernels.arrays import doubles, indices

#: Exponents above this are cut off: a path that gets there has left, and infinity would take others with it.
HIGHEST = cython.declare(cython.double, 300.0)
#: Logarithms and the slopes of roots are taken of no less: a path that gets there has left, or comes to rest.
LOWEST = cython.declare(cython.double, 1e-12)


def read_terms(table, terms):
    """The arrays of a table, checked: a parent comes before its term, every factor and kind exists."""
    size, functions, v = len(table.parents), len(table.kinds), table.variables
    terms.variables, terms.size, terms.functions = v, size, functions
    terms.parents = indices(table.parents, "parents", (size,))
    terms.factors = indices(table.factors, "factors", (size,))
    terms.kinds = indices(table.kinds, "kinds", (functions,))
    terms.rates = doubles(table.rates, "rates", (functions, v))
    terms.shifts = doubles(table.shifts, "shifts", (functions,))
    terms.bends = doubles(table.bends, "bends", (functions, v, v))
    sound = terms.variables > 0 and terms.size > 0
    for p in range(1, terms.size):
        sound = sound and 0 <= terms.parents[p] < p
        sound = sound and 0 <= terms.factors[p] < terms.variables + terms.functions
    for j in range(terms.functions):
        sound = sound and SINE <= terms.kinds[j] <= ROOT
    if not sound:
        raise ValueError("terms must have variables, a constant, parents before their terms, and factors that exist")
    return 0


def take(room, count):
    """The next `count` numbers of an array to work in."""
    at = room[0]
    room[0] = at + count
    return at


def fill(out, count, value):
    for i in range(count):
        out[i] = value


def copy(out, values, count):
    for i in range(count):
        out[i] = values[i]


def lanes_room(terms, lanes):
    """How many numbers `lanes_of` takes from its room."""
    v, size, functions = terms.variables, terms.size, terms.functions
    return (size * v + functions * (v + 1 + v * v)) * lanes + size * v + functions


def lanes_of(terms, theta, lanes, field, room):
    """The same field in every lane."""
    v, size, functions = terms.variables, terms.size, terms.functions
    field.lanes = lanes
    field.theta = take(room, size * v * lanes)
    field.rates = take(room, functions * v * lanes)
    field.shifts = take(room, functions * lanes)
    field.bends = take(room, functions * v * v * lanes)
    field.used = cython.cast(cython.p_longlong, take(room, size * v))
    field.bent = cython.cast(cython.p_longlong, take(room, functions))
    for p in range(size * v):
        field.used[p] = 0
    for j in range(functions):
        field.bent[j] = 0
    for lane in range(lanes):
        put_field(terms, theta, terms.rates, terms.shifts, terms.bends, field, lane)


def put_field(terms, theta, rates, shifts, bends, field, lane):
    """Give one lane its numbers."""
    v, lanes = terms.variables, field.lanes
    for p in range(terms.size * v):
        field.theta[p * lanes + lane] = theta[p]
        field.used[p] |= theta[p] != 0.0
    for j in range(terms.functions):
        field.shifts[j * lanes + lane] = shifts[j]
        for i in range(v):
            field.rates[(j * v + i) * lanes + lane] = rates[j * v + i]
        for i in range(v * v):
            field.bends[(j * v * v + i) * lanes + lane] = bends[j * v * v + i]
            field.bent[j] |= bends[j * v * v + i] != 0.0


def copy_field(terms, field, lane, one):
    """Give `one`, a single lane, the numbers of one of `field`."""
    v, lanes = terms.variables, field.lanes
    for p in range(terms.size * v):
        one.theta[p], one.used[p] = field.theta[p * lanes + lane], field.used[p]
    for j in range(terms.functions):
        one.shifts[j], one.bent[j] = field.shifts[j * lanes + lane], field.bent[j]
    for i in range(terms.functions * v):
        one.rates[i] = field.rates[i * lanes + lane]
    for i in range(terms.functions * v * v):
        one.bends[i] = field.bends[i * lanes + lane]


def argument(terms, field, j, x, lane):
    """The weighted sum that function j is taken of."""
    v, lanes = terms.variables, field.lanes
    at = field.shifts[j * lanes + lane]
    for i in range(v):
        along = field.rates[(j * v + i) * lanes + lane]
        if field.bent[j]:
            for k in range(v):
                along += field.bends[((j * v + i) * v + k) * lanes + lane] * x[k * lanes + lane]
        at += along * x[i * lanes + lane]
    return at


def slope_along(terms, field, j, x, lane, i):
    """The derivative of that sum with variable i."""
    v, lanes = terms.variables, field.lanes
    along = field.rates[(j * v + i) * lanes + lane]
    if field.bent[j]:
        for k in range(v):
            one, other = ((j * v + i) * v + k) * lanes + lane, ((j * v + k) * v + i) * lanes + lane
            along += (field.bends[one] + field.bends[other]) * x[k * lanes + lane]
    return along


def switches(terms, j, kinks):
    """Whether steps stop where the sum of function j passes zero: at jumps, and at kinks where these count."""
    return terms.kinds[j] == SIGN or (kinks and terms.kinds[j] == MODULUS)


def any_switches(terms, kinks):
    found: cython.bint = False
    for j in range(terms.functions):
        found = found or switches(terms, j, kinks)
    return found


def choose_branches(terms, field, x, lane, kinks, branches):
    """The side that each function is on in a lane of (functions, lanes); 0 for those that change it within a step."""
    for j in range(terms.functions):
        side = 0.0
        if switches(terms, j, kinks):
            side = 1.0 if argument(terms, field, j, x, lane) > 0.0 else -1.0
        branches[j * field.lanes + lane] = side


def _sums(terms, field, j, x, out):
    """The weighted sums that function j is taken of, (lanes,)."""
    v, lanes = terms.variables, field.lanes
    if field.bent[j]:
        for lane in range(lanes):
            out[lane] = argument(terms, field, j, x, lane)
        return
    copy(out, field.shifts + j * lanes, lanes)
    for i in range(v):
        rate, along = field.rates + (j * v + i) * lanes, x + i * lanes
        for lane in range(lanes):
            out[lane] += rate[lane] * along[lane]


def _apply(kind, sides, value, slope, lanes):
    """A function of the sums in `value`, in their place, and its slopes, (lanes,) each; none are made where `slope` is
    NULL. sides: of moduli and signs, 0 where that is the sum's own."""
    sloped: cython.bint = slope != cython.NULL
    if kind == SINE:
        for lane in range(lanes if sloped else 0):
            slope[lane] = cos(value[lane])
        for lane in range(lanes):
            value[lane] = sin(value[lane])
    elif kind == TANH:
        for lane in range(lanes):
            value[lane] = tanh(value[lane])
        for lane in range(lanes if sloped else 0):
            slope[lane] = 1.0 - value[lane] * value[lane]
    elif kind == MODULUS:
        for lane in range(lanes):
            side = 1.0 if value[lane] > 0.0 else -1.0
            side = side if sides[lane] == 0.0 else sides[lane]
            value[lane] *= side
            if sloped:
                slope[lane] = side
    elif kind == EXPONENTIAL:
        for lane in range(lanes):
            value[lane] = exp(min(value[lane], HIGHEST))
        if sloped:
            copy(slope, value, lanes)
    elif kind == RECIPROCAL:
        for lane in range(lanes if sloped else 0):
            slope[lane] = -1.0 / (value[lane] * value[lane])
        for lane in range(lanes):
            value[lane] = 1.0 / value[lane]
    elif kind == LOGARITHM:
        for lane in range(lanes):
            side = max(value[lane], LOWEST)
            value[lane] = log(side)
            if sloped:
                slope[lane] = 1.0 / side
    elif kind == ROOT:
        for lane in range(lanes):
            value[lane] = sqrt(max(value[lane], 0.0))
            if sloped:
                slope[lane] = 0.5 / max(value[lane], sqrt(LOWEST))
    else:
        copy(value, sides, lanes)
        if sloped:
            fill(slope, lanes, 0.0)


def function_at(kind, sums):
    """Values and slopes of a function at (sums,), each on its own side."""
    sums = np.ascontiguousarray(sums, dtype=np.float64)
    count: cython.longlong = len(sums)
    which: cython.longlong = kind
    value, slope, sides = sums.copy(), np.empty_like(sums), np.where(sums > 0.0, 1.0, -1.0)
    shape = (count,)
    at, along = doubles(value, "sums", shape), doubles(slope, "slope", shape)
    side = doubles(sides, "sides", shape)
    with cython.nogil:
        _apply(which, side, at, along, count)
    return value, slope


def evaluate(terms, field, x, branches, phi, known):
    """phi (size, lanes) at x (variables, lanes). known: (lanes,) to work in."""
    v, lanes = terms.variables, field.lanes
    last: cython.longlong = -1
    fill(phi, lanes, 1.0)
    for p in range(1, terms.size):
        parent, factor, out = phi + terms.parents[p] * lanes, terms.factors[p], phi + p * lanes
        if factor >= v and factor != last:
            last = factor
            _sums(terms, field, factor - v, x, known)
            _apply(terms.kinds[factor - v], branches + (factor - v) * lanes, known, cython.NULL, lanes)
        value = x + factor * lanes if factor < v else known
        for lane in range(lanes):
            out[lane] = parent[lane] * value[lane]


def leading(terms, leads):
    """(size, variables + functions): whether a term changes with a variable or with a function's sum."""
    v, columns = terms.variables, terms.variables + terms.functions
    for i in range(columns):
        leads[i] = 0
    for p in range(1, terms.size):
        before, own = leads + terms.parents[p] * columns, leads + p * columns
        for i in range(columns):
            own[i] = before[i] or i == terms.factors[p]
        j = terms.factors[p] - v
        for i in range(v if j >= 0 else 0):
            own[i] = own[i] or terms.rates[j * v + i] != 0.0
            for k in range(v):
                if terms.bends[(j * v + i) * v + k] != 0.0 or terms.bends[(j * v + k) * v + i] != 0.0:
                    own[i] = 1


def evaluate_slopes(terms, field, leads, x, branches, phi, dphi, known):
    """phi (size, lanes) and its derivatives, (size, variables + functions, lanes), where these are not 0: with the
    variables, and with the functions' sums. known: (2 + variables, lanes) to work in."""
    v, columns, lanes = terms.variables, terms.variables + terms.functions, field.lanes
    last: cython.longlong = -1
    slope, rises = known + lanes, known + 2 * lanes
    fill(phi, lanes, 1.0)
    fill(dphi, columns * lanes, 0.0)
    for p in range(1, terms.size):
        place, factor = terms.parents[p], terms.factors[p]
        parent, out, changes = phi + place * lanes, phi + p * lanes, dphi + p * columns * lanes
        j = factor - v
        if j >= 0 and factor != last:
            last = factor
            _sums(terms, field, j, x, known)
            _apply(terms.kinds[j], branches + j * lanes, known, slope, lanes)
            copy(rises, field.rates + j * v * lanes, v * lanes)
            for i in range(v if field.bent[j] else 0):
                for lane in range(lanes):
                    rises[i * lanes + lane] = slope_along(terms, field, j, x, lane, i)
        value = x + factor * lanes if factor < v else known
        for lane in range(lanes):
            out[lane] = parent[lane] * value[lane]
        for i in range(columns):
            if leads[p * columns + i]:
                there, before = changes + i * lanes, dphi + (place * columns + i) * lanes
                if leads[place * columns + i]:
                    for lane in range(lanes):
                        there[lane] = before[lane] * value[lane]
                else:
                    fill(there, lanes, 0.0)
        own = changes + factor * lanes
        if factor < v:
            for lane in range(lanes):
                own[lane] += parent[lane]
            continue
        for lane in range(lanes):
            own[lane] += parent[lane] * slope[lane]
        for i in range(v):
            if leads[p * columns + i]:
                there, along = changes + i * lanes, rises + i * lanes
                for lane in range(lanes):
                    there[lane] += parent[lane] * slope[lane] * along[lane]


def features(table, points):
    """phi at (points, variables): (points, size)."""
    points = np.ascontiguousarray(points, dtype=np.float64)
    terms = cython.declare(Terms)
    read_terms(table, cython.address(terms))
    count: cython.longlong = len(points)
    lanes: cython.longlong = max(1, min(LANES, count))
    v, size = terms.variables, terms.size
    made = np.empty((count, size))
    work = np.zeros(lanes_room(cython.address(terms), lanes) + size * v + (v + size + 1 + terms.functions) * lanes)
    at, out = doubles(points, "points", (count, v)), doubles(made, "out", made.shape)
    room = doubles(work, "work", work.shape)
    with cython.nogil:
        _features(cython.address(terms), at, count, lanes, room, out)
    return made


def _features(terms, points, count, lanes, room, out):
    """The same. room: zeros, as many as `features` says."""
    numbers = cython.declare(Lanes)
    field, rest = cython.address(numbers), cython.address(room)
    v, size = terms.variables, terms.size
    nothing, x, phi = take(rest, size * v), take(rest, v * lanes), take(rest, size * lanes)
    known, branches = take(rest, lanes), take(rest, terms.functions * lanes)
    lanes_of(terms, nothing, lanes, field, rest)
    first: cython.longlong = 0
    while first < count:
        for lane in range(lanes):
            for i in range(v):
                x[i * lanes + lane] = points[min(first + lane, count - 1) * v + i]
            choose_branches(terms, field, x, lane, False, branches)
        evaluate(terms, field, x, branches, phi, known)
        for lane in range(min(lanes, count - first)):
            for p in range(size):
                out[(first + lane) * size + p] = phi[p * lanes + lane]
        first += lanes
