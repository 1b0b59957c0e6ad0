"""Flows followed from sample to sample: the one integrator, with and without derivatives.

Steps are either so many for each sample, or as long as an estimate of what they miss by allows. Where a modulus or a
sign switches, a step is taken on the branch it began on (on which the field is smooth) up to the moment at which the
sum of the function is zero, and another goes on from there on the other branch: steps across kinks and jumps have the
order of all others.
"""


# Of a sample: what is too fast for shorter steps is not worth following.
cdef double SHORTEST = 1.0 / 512.0
cdef double _ROOT = 1e-14  # of a step's length: the moment of a switch is found to rounding

cdef enum:
    MOST_HALVINGS = 60  # enough for that accuracy were each step towards it only a halving
    MOST_SWITCHES = 8  # within one step: where both branches lead back to the switch there is no end to them

# A flow that is followed from `count` starts, taken in `order`, each under its own numbers or all under one (`fields`).
# The method (`prophecy.laws.flow.Tableau`): stages, estimates (whether it has any of what a step misses by), nodes,
# weights, fifth, third. chosen, whose: the parameters; columns: derivatives, of each variable. tolerance: INFINITY for
# steps that keep their first length. ends: (starts, horizon, variables); out: (starts, variables, columns).
#
# To work in, the last axis of each being the lane: h: the length of this step, `length` before it ended at a switch;
# next: of the next one; miss: what it misses by; left, rest: what is left of this sample, and of a step that ended at a
# switch; low to span: where that switch is looked for; which: the function that switches within a step, -1 for none;
# todo, crossed: samples to go, switches in this step. x, start: a state and the one before; slopes: (stages,
# variables); of every stage, where there are derivatives, the state (at), the features (phi) and the derivatives of its
# slope with the variables and the functions' sums (jacobian); how the end depends on the slopes (answer, through,
# whole); and what is made of it (variables, columns).
cdef struct Flow:
    Field field
    long long stages, parameters, columns, count, fields, horizon
    bint estimates
    double tolerance, bound
    Places order, chosen, whose
    Numbers nodes, weights, fifth, third, thetas, rates, shifts, bends, starts, lengths, kicks, ends, out
    double[LANES] length, next, miss, left, rest, low, high, at_low, at_high, side, span
    long long[LANES] which, todo, crossed
    Numbers h, x, start, slopes, at, phi, dphi, jacobian, answer, through, whole, column, made


def tangents(table, theta, method, chosen, whose, points, substeps, derivatives=True):
    """One sample onwards from each point, by as many substeps, one number or (points,), and its derivatives (none where
    these are not wanted).

    Parameter c is theta[chosen[c], whose[c]], or, where whose[c] is negative, shift or rate of function chosen[c].
    Returns ends (points, variables) and derivatives (points, variables, variables + parameters): with the start, and
    with the parameters; both by the same steps, so that the derivatives are those of the numbers computed.
    """
    substeps = np.asarray(substeps if np.ndim(substeps) else np.full(len(points), substeps), dtype=np.int64)
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
    cdef Flow flow
    cdef Room room = Room(NULL, 0)
    count, each, parameters, stages, lower = map(len, (starts, thetas, chosen, method.weights, method.fifth))
    if each == 0 or (each != 1 and each != count):
        raise ValueError(f"thetas must be one or one for each of {count} starts, got {each}")
    read_table(table, max(1, min(LANES, count)), &flow.field)
    v, size, functions = flow.field.variables, flow.field.size, flow.field.functions
    flow.count, flow.fields, flow.horizon, flow.tolerance, flow.bound = count, each, horizon, tolerance, bound
    flow.parameters, flow.columns = parameters, v + parameters if derivatives else 0
    flow.stages, flow.estimates, estimates = stages, lower > 0, (stages if lower else 0,)
    flow.nodes = doubles(method.stages, "stages", (stages, stages))
    flow.weights = doubles(method.weights, "weights", (stages,))
    flow.fifth, flow.third = doubles(method.fifth, "fifth", estimates), doubles(method.third, "third", estimates)
    flow.chosen, flow.whose = indices(chosen, "chosen", (parameters,)), indices(whose, "whose", (parameters,))
    for c in range(flow.parameters):
        there = size if flow.whose[c] >= 0 else functions
        if not (0 <= flow.chosen[c] < there and -2 - v - v * v < flow.whose[c] < v):
            raise ValueError(f"parameter {c} is none of the field: chosen {flow.chosen[c]}, whose {flow.whose[c]}")
    flow.thetas, flow.rates = doubles(thetas, "thetas", (each, size, v)), doubles(rates, "rates", (each, functions, v))
    flow.shifts = doubles(shifts, "shifts", (each, functions))
    flow.bends = doubles(bends, "bends", (each, functions, v, v))
    flow.starts, flow.lengths = doubles(starts, "starts", (count, v)), doubles(lengths, "lengths", (count,))
    flow.order = indices(order, "order", (count,))
    flow.kicks = doubles(kicks, "kicks", (count, horizon, v)) if len(kicks) else NULL
    ends, made = np.full((count, horizon, v), np.nan), np.empty((count, v, flow.columns))
    flow.ends, flow.out = doubles(ends, "ends", ends.shape), doubles(made, "out", made.shape)
    _place(&flow, &room)
    work = np.empty(room.used + 8)
    room = Room(doubles(work, "work", work.shape), 0)
    room.start += 8 - <size_t> room.start // 8 % 8  # where a line of memory begins
    terms = np.ascontiguousarray(chosen[whose >= 0])
    several, more = <long long> len(terms), indices(terms, "terms", terms.shape)
    with nogil:
        _place(&flow, &room)
        need(&flow.field, flow.thetas, flow.fields, more, several)
        _follow(&flow)
    return ends, made


cdef void _place(Flow* flow, Room* room) noexcept nogil:
    v, size, factors = flow.field.variables, flow.field.size, flow.field.variables + flow.field.functions
    lanes, stages = flow.field.lanes, flow.stages if flow.columns > 0 else 1
    flow.x, flow.start = take(room, v * lanes), take(room, v * lanes)
    flow.h, flow.slopes = take(room, lanes), take(room, flow.stages * v * lanes)
    flow.at, flow.phi = take(room, stages * v * lanes), take(room, stages * size * lanes)
    if flow.columns > 0:
        flow.dphi, flow.jacobian = take(room, size * factors * lanes), take(room, stages * v * factors * lanes)
        flow.answer, flow.through = take(room, stages * v * v * lanes), take(room, stages * v * v * lanes)
        flow.whole, flow.column = take(room, v * v * lanes), take(room, v * lanes)
        flow.made = take(room, v * flow.columns * lanes)
    place_field(&flow.field, room)  # last: its integers would leave others unaligned


cdef void _follow(Flow* flow) noexcept nogil:
    """Each lane has one start; those left over repeat the last, without a step."""
    field = &flow.field
    v, lanes, columns = field.variables, field.lanes, flow.columns
    cdef bint passing, sound, switching = False
    for j in range(field.functions):
        switching = switching or switches(field, j, flow.estimates)
    cdef long long going, filled, first = 0
    while first < flow.count and flow.horizon > 0:
        going, filled = min(flow.count - first, lanes), v
        for lane in range(lanes):
            k = flow.order[min(first + lane, flow.count - 1)]
            _begin(flow, lane, k, lane < going, first == 0 or flow.fields > 1)
        for i in range(v if columns > 0 else 0):
            fill(flow.made + i * columns * lanes, columns * lanes, 0.0)
            fill(flow.made + (i * columns + i) * lanes, lanes, 1.0)
        while going > 0:
            passing = False
            for lane in range(lanes):
                flow.length[lane] = min(flow.next[lane], flow.left[lane]) if flow.rest[lane] == 0.0 else flow.rest[lane]
                flow.h[lane] = flow.length[lane] if flow.todo[lane] > 0 else 0.0
            copy(flow.start, flow.x, v * lanes)
            _step(flow, columns > 0 and not switching)
            fill(flow.miss, lanes, 0.0)
            if flow.tolerance < INFINITY:
                _estimate(flow)
            for lane in range(lanes):
                flow.which[lane] = -1
                sound = flow.miss[lane] <= flow.tolerance and flow.crossed[lane] < MOST_SWITCHES
                if switching and flow.todo[lane] > 0 and sound:
                    flow.which[lane] = _passed(flow, lane, -1)
                    passing = passing or flow.which[lane] >= 0
            if passing:
                _until_switch(flow)
            if columns > 0:
                if switching:
                    _step(flow, True)
                derive(flow, filled)
                filled = columns
                if passing:
                    switched(flow)
            for lane in range(lanes):
                if flow.todo[lane] > 0:
                    going -= _after_step(flow, lane, flow.order[first + lane])
        for lane in range(min(lanes, flow.count - first)):
            for i in range(v * columns):
                flow.out[flow.order[first + lane] * v * columns + i] = flow.made[i * lanes + lane]
        first += lanes


cdef void _begin(Flow* flow, long long lane, long long k, bint goes, bint put) noexcept nogil:
    """Start k in a lane, with all samples to go; put: with its own numbers."""
    v, size, functions, which = flow.field.variables, flow.field.size, flow.field.functions, k if flow.fields > 1 else 0
    if put:
        put_field(
            &flow.field, flow.thetas + which * size * v, flow.rates + which * functions * v,
            flow.shifts + which * functions, flow.bends + which * functions * v * v, lane,
        )  # fmt: skip
    for i in range(v):
        flow.x[i * flow.field.lanes + lane] = flow.starts[k * v + i]
    choose_branches(&flow.field, flow.x, lane, flow.estimates)
    flow.next[lane], flow.todo[lane] = flow.lengths[k], flow.horizon if goes else 0
    flow.left[lane], flow.rest[lane], flow.crossed[lane] = 1.0, 0.0, 0


cdef void _step(Flow* flow, bint sloped) noexcept nogil:
    """One Runge-Kutta step from start to x, each lane by its own length and on its own branches; sloped: with the
    derivatives of every stage's slope."""
    field = &flow.field
    v, stages, lanes = field.variables, flow.stages, field.lanes
    dphi = flow.dphi if sloped else NULL
    for stage in range(stages):
        kept, slopes = stage if sloped else 0, flow.slopes + stage * v * lanes
        at, phi = flow.at + kept * v * lanes, flow.phi + kept * field.size * lanes
        copy(at, flow.start, v * lanes)
        for before in range(stage):
            weight = flow.nodes[stage * stages + before]
            if weight != 0.0:
                for i in range(v):
                    add_scaled(at + i * lanes, flow.h, weight, flow.slopes + (before * v + i) * lanes, lanes)
        evaluate(field, at, phi, dphi)
        fill(slopes, v * lanes, 0.0)
        for p in range(field.size):
            value = phi + p * lanes
            for i in range(v):
                if field.used[p * v + i]:
                    add_product(slopes + i * lanes, field.theta + (p * v + i) * lanes, value, lanes)
        if sloped:
            linear(flow, flow.jacobian + stage * v * (v + field.functions) * lanes)
    copy(flow.x, flow.start, v * lanes)
    for stage in range(stages):
        for i in range(v):
            add_scaled(flow.x + i * lanes, flow.h, flow.weights[stage], flow.slopes + (stage * v + i) * lanes, lanes)


cdef void _estimate(Flow* flow) noexcept nogil:
    """What a step of order 8 misses by, from its lower orders (Hairer, Norsett and Wanner's estimate), into miss."""
    cdef double[LANES] fifth, third, five, three
    v, lanes = flow.field.variables, flow.field.lanes
    fill(fifth, lanes, 0.0)
    fill(third, lanes, 0.0)
    for i in range(v):
        fill(five, lanes, 0.0)
        fill(three, lanes, 0.0)
        for stage in range(flow.stages):
            slope, one, other = flow.slopes + (stage * v + i) * lanes, flow.fifth[stage], flow.third[stage]
            for lane in range(lanes):
                five[lane] += one * slope[lane]
                three[lane] += other * slope[lane]
        add_product(fifth, five, five, lanes)
        add_product(third, three, three, lanes)
    for lane in range(lanes):
        whole = fifth[lane] + 0.01 * third[lane]
        flow.miss[lane] = flow.h[lane] * fifth[lane] / sqrt(whole) if whole > 0.0 else flow.h[lane] * whole


cdef bint _after_step(Flow* flow, long long lane, long long k) noexcept nogil:
    """The length of the lane's next step, and, where a sample was reached, its value into (starts, horizon, v). Whether
    the path ends here."""
    v, lanes, which = flow.field.variables, flow.field.lanes, flow.which[lane]
    miss, length = flow.miss[lane], flow.length[lane]
    cdef bint inside = True
    factor = 0.9 * pow(flow.tolerance / miss, 0.125) if miss > 0.0 else 4.0
    if which >= 0:
        flow.field.branches[which * lanes + lane] *= -1.0
        flow.left[lane] -= flow.h[lane]
        flow.rest[lane] = length - flow.h[lane]
        flow.crossed[lane] += 1
    elif miss <= flow.tolerance:
        if flow.tolerance < INFINITY and (length < flow.left[lane] or factor < 1.0):
            flow.next[lane] = length * min(factor, 4.0)
            inside = flow.next[lane] > SHORTEST or length >= flow.left[lane]
        flow.left[lane] = flow.left[lane] - length if length < flow.left[lane] - 1e-12 else 0.0  # but for rounding
        flow.rest[lane], flow.crossed[lane] = 0.0, 0
    else:
        for i in range(v):
            flow.x[i * lanes + lane] = flow.start[i * lanes + lane]
        flow.next[lane] = length * (max(factor, 0.2) if miss < INFINITY else 0.2)
        flow.rest[lane], inside = 0.0, flow.next[lane] > SHORTEST
    if inside and flow.left[lane] > 0.0:
        return False
    place = (k * flow.horizon + flow.horizon - flow.todo[lane]) * v
    for i in range(v):
        if flow.kicks != NULL:
            flow.x[i * lanes + lane] += flow.kicks[place + i]
        inside = inside and fabs(flow.x[i * lanes + lane]) <= flow.bound
    for i in range(v if inside else 0):
        flow.ends[place + i] = flow.x[i * lanes + lane]
    flow.todo[lane] = flow.todo[lane] - 1 if inside else 0
    flow.left[lane], flow.rest[lane], flow.crossed[lane] = 1.0, 0.0, 0
    choose_branches(&flow.field, flow.x, lane, flow.estimates)
    return flow.todo[lane] == 0


cdef long long _passed(Flow* flow, long long lane, long long known) noexcept nogil:
    """A function other than `known` whose sum has passed zero at x, -1 if none has."""
    for j in range(flow.field.functions):
        side = flow.field.branches[j * flow.field.lanes + lane]
        if j != known and side != 0.0 and side * argument(&flow.field, j, flow.x, lane) < 0.0:
            return j
    return -1


cdef void _until_switch(Flow* flow) noexcept nogil:
    """Lanes of which a function has passed zero: how far their steps may go, into h, where these end, into x, and the
    function that switches there, into which."""
    for lane in range(flow.field.lanes):
        flow.span[lane] = flow.h[lane] if flow.which[lane] >= 0 else 0.0
    for _ in range(flow.field.functions):  # functions that switch together could take turns for ever
        if not _moments(flow):
            return


cdef bint _moments(Flow* flow) noexcept nogil:
    """The lengths at which the sums of functions that have passed zero are zero, in lanes with a span; whether others
    have passed zero before.

    A sum is a smooth function of the length as long as the branch stays: false position, the value at an end that stays
    scaled down (Anderson and Bjorck).
    """
    field, lanes = &flow.field, flow.field.lanes
    cdef Numbers low = flow.low, high = flow.high, at_low = flow.at_low, at_high = flow.at_high, h = flow.h
    cdef bint opened, others = False
    for lane in range(lanes):
        low[lane], high[lane], flow.side[lane] = 0.0, flow.span[lane], 0.0
        if flow.span[lane] > 0.0:
            j = flow.which[lane]
            at_low[lane] = field.branches[j * lanes + lane] * argument(field, j, flow.start, lane)
            at_high[lane] = field.branches[j * lanes + lane] * argument(field, j, flow.x, lane)
            high[lane] = 0.0 if at_low[lane] <= 0.0 else high[lane]  # it switched a moment ago and turns back at once
    for halving in range(MOST_HALVINGS + 1):
        opened = False
        for lane in range(lanes):
            if flow.span[lane] > 0.0:
                h[lane] = high[lane]
                if high[lane] - low[lane] > _ROOT * flow.span[lane] and halving < MOST_HALVINGS:
                    h[lane] -= at_high[lane] * (high[lane] - low[lane]) / (at_high[lane] - at_low[lane])
                    opened = True
        _step(flow, False)
        if not opened:
            break
        for lane in range(lanes):
            if high[lane] - low[lane] > _ROOT * flow.span[lane]:
                j = flow.which[lane]
                value = field.branches[j * lanes + lane] * argument(field, j, flow.x, lane)
                share = 1.0 - value / (at_low[lane] if value > 0.0 else at_high[lane])
                share = share if share > 0.0 else 0.5
                if value > 0.0:
                    low[lane], at_low[lane] = h[lane], value
                    at_high[lane] *= share if flow.side[lane] == 1.0 else 1.0
                    flow.side[lane] = 1.0
                else:
                    high[lane], at_high[lane] = h[lane], value
                    at_low[lane] *= share if flow.side[lane] == -1.0 else 1.0
                    flow.side[lane] = -1.0
                low[lane] = high[lane] if value == 0.0 else low[lane]
    for lane in range(lanes):
        if flow.span[lane] > 0.0:
            other = _passed(flow, lane, flow.which[lane]) if h[lane] > 0.0 else -1
            flow.span[lane] = h[lane] if other >= 0 else 0.0
            if other >= 0:
                flow.which[lane], others = other, True
    return others
