"""Forecasts for any time: one step, many, and between two steps; and values at irregular times, which fill the grid.

Steps are walked on a copy of the record, as across a gap. On a grid, a time within `off` of a place is read as its
stamp would be (`irregular.shift`), any other lies on the cubic through the steps around it. With irregular times it lies on the
polynomial through the steps around it, moved by what persists of the newest sample's distance from it.
"""

import cython
from cython.cimports.libc.math import NAN, ceil, copysign, fabs, floor, isnan
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.prophecy.streams.kernels import calibration, clock, irregular, past
from cython.cimports.prophecy.streams.kernels.seasonal import check_if_due
from cython.cimports.prophecy.streams.kernels.step import begin, expected, pass_over, read, step, surprise_of, walk
from cython.cimports.prophecy.streams.kernels.unrolled import spacing
from cython.cimports.prophecy.streams.kernels.whole import whole as truncated
from cython.cimports.prophecy.streams.kernels.whole import within


def copied(stream, room):
    """A copy of the record to walk on. The ring is read by the seasonal members alone."""
    room.record = stream.r[0]
    if stream.r.season_on == 1:
        memcpy(room.ring, stream.ring, RING * cython.sizeof(cython.double))
    return cython.address(room.record)


def miss(stream, t, steps):
    """So many missing values: steps as far as they are worth it."""
    walked = clock.worth(stream.c, t, steps)
    for _ in range(walked):
        step(stream.r, stream.ring, t, NAN)
    stream.c.walked += walked
    if walked < steps and stream.r.count > 0:
        pass_over(stream.r, stream.ring, steps - walked)


def walk_far(q, c, t, steps, room):
    """The same on a copy that only predicts."""
    walked = clock.worth(c, t, steps)
    for _ in range(walked):
        walk(q, room.ring, t)
    if walked < steps:
        pass_over(q, room.ring, steps - walked)


def beside_grid(stream, t, time, room):
    """The forecast for a time between two places of the grid, how many times wider than one step ahead its interval
    is, and by how much more than that: how far the path is from a straight line is a measure of what is not known
    about the signal between two steps."""
    whole, offset = clock.place(stream.c, t, time)
    steps = whole + offset
    count = max(truncated(ceil(steps - 1e-9)), 1)
    q = copied(stream, room)
    walk_far(q, stream.c, t, count - 1, room)
    left, right = q.lag[0], expected(q, t)
    wider = calibration.across(q, t, 1.0)
    part = min(max(steps - (count - 1), 0.0), 1.0)
    if part > 1.0 - 1e-9:
        return right, wider, 0.0
    walk(q, room.ring, t)
    curve = _along(q, t, 2, PATH, part)
    return curve, wider, fabs(curve - left - (right - left) * part)


def between(stream, t, time, room):
    """With irregular times: the path at `time`, and how far the newest sample lies from it.

    The path is that of the bank's steps from the newest place of the grid on; the first ones are left in `room.path`.
    """
    c, s, q, off = stream.c, stream.s, stream.r, 0.0
    ahead, newest = (time - c.grid) / c.dt, (s.newest - c.grid) / c.dt
    power = max(irregular.degree(s, t), PATH)
    top = max(truncated(ceil(min(ahead, 2.0 * t.clock.longest_hole) - 1e-9)), 1)
    room.path[1] = expected(q, t)
    if newest > 1e-9:
        off = s.known - _along(q, t, 1, power, min(newest, 1.0))
    if top > 1:
        q = copied(stream, room)
    walked = clock.worth(c, t, top - 1)
    for k in range(walked):
        walk(q, room.ring, t)
        room.path[min(k + 2, PLACES - 1)] = expected(q, t)
    if walked < top - 1:
        pass_over(q, room.ring, top - 1 - walked)
    return _along(q, t, top, power, min(ahead, cython.cast(cython.double, top))), off


def _along(r, t, steps, power, at):
    """The polynomial through the forecast for `steps` and the values before it, `at` steps ahead."""
    x: cython.double[POINTS]
    y: cython.double[POINTS]
    found: cython.double[POINTS]
    for i in range(power + 1):
        x[i], y[i] = steps - i, r.lag[i - 1] if i > 0 else expected(r, t)
    irregular.neville(x, y, power + 1, at, found)
    return found[power]


def widening(r, c, s, t, time):
    """How many times wider than one typical interval ahead the interval for `time` is: in proportion to the time since
    the newest sample; across a hole as across other gaps."""
    since = max((time - s.newest) / c.dt, 1.0) if not isnan(s.newest) else 1.0
    return since if since <= (1.0 + t.clock.hole) else calibration.beyond(r, t, since)


def judged(r, t, mean, wider, more, value, where):
    """Mean, half width and the score of `value` where the interval is `wider` times as wide as one step ahead, and half
    of it longer by `more`."""
    half = calibration.half_width(r, t, where) * wider + more
    error = copysign(max(fabs(value - mean) - more, 0.0) / wider, value - mean)
    score = NAN if isnan(value) else surprise_of(r, t, error * calibration.across(r, t, 1.0))
    return mean, max(half, spacing(fabs(mean)), 0.5 * calibration.resolution(r, t)), score


def forecast(stream, t, time, value, where, room):
    """Mean, half width and the score of `value`, for `time`; NaN, NaN and 0 before the first value."""
    r, c, s = stream.r, stream.c, stream.s
    if r.count == 0:
        return NAN, NAN, 0.0
    if clock.is_far(c, t, time):
        # Either the clock was set, and the value is the next one; or the interval is that of all values seen.
        return judged(r, t, expected(r, t), calibration.across(r, t, (time - c.last) / c.dt), 0.0, value, where)
    if c.irregular != ON_GRID:
        path, off = between(stream, t, time, room)
        return judged(r, t, path + irregular.carried(s) * off, widening(r, c, s, t, time), 0.0, value, where)
    whole, offset = clock.place(c, t, time)
    offset = clock.beside(c, t, offset)
    if fabs(offset) > t.clock.off:
        mean, wider, more = beside_grid(stream, t, time, room)
        return judged(r, t, mean, wider, more, value, where)
    # As `entry` does when the value comes: read and judged from the place before.
    if whole > 1.0:
        r = copied(stream, room)
        walk_far(r, c, t, truncated(whole) - 1, room)
    mean, half = read(r, t, where)
    if offset != 0.0 and irregular.then(s, t):
        mean += irregular.shift(r, mean, offset)
    return mean, half, NAN if isnan(value) else surprise_of(r, t, value - mean)


def doubt(stream, t, time, value, path, off, room):
    """What is believed of a sample at an irregular time, and the path: moved, where the sample confirms another level
    (`past`)."""
    r, s = stream.r, stream.s
    forecast, wider = path + irregular.carried(s) * off, widening(r, stream.c, s, t, time)
    if not past.is_wild(r, t, (value - forecast) / wider, (value - s.known) / wider):
        s.doubts = 0
        return value, path
    if s.doubts < 2:
        s.doubted[s.doubts] = value - forecast
        s.doubts += 1
        return past.believed(r, value, forecast, wider), path
    by = past.confirmed(s.doubted, value - forecast)
    past.move(r, stream.ring, by)
    for i in range(RECENT):
        s.value[i] = within(s.value[i] + by)
    for i in range(PLACES):
        room.path[i] += by
    s.known, s.doubts = within(s.known + by), 0
    return value, path + by


# Filling the grid from samples at irregular times, and starting another grid where the stamps ask for one.


def sample(stream, t, count, time, value, path, off, room):
    """Learn from a value at an irregular time, the `count`th; returns how many places of the grid it filled.

    path, off: the forecast path at `time` and how far the newest sample lies from it (`between`).
    """
    x: cython.double[POINTS]
    y: cython.double[POINTS]
    r, c, s = stream.r, stream.c, stream.s
    places = truncated(min(max(floor((time - c.grid) / c.dt + 1e-9), 0.0), t.clock.longest_hole))
    near: cython.bint = time - s.newest <= (1.0 + t.clock.hole) * c.dt
    if isnan(value):
        if not near:
            _gap(stream, t, places)
        return 0
    if r.count == 0:
        c.grid = time
        step(r, stream.ring, t, value)
        return 1
    _learn(stream, t, time, value, path, off)
    x[0], y[0] = time, value
    found = irregular.nodes(c, s, t, count, x, y)
    irregular.judge(s, x, y, found)
    if near:
        _fill(stream, t, time, x, y, found, places, value - path, off, room)
        return places
    _gap(stream, t, places)
    return 0


def _fill(stream, t, time, x, y, found, places, error, off, room):
    """The next places of the grid, from the polynomial through the samples x, y, or from the forecast path, which is
    off by `off` at the newest sample and by `error` at `time`. Calibration stays that of samples: what is
    interpolated is smoother."""
    quantiles: cython.double[LEVELS]
    r, c, s = stream.r, stream.c, stream.s
    trusted: cython.bint = irregular.by_forecast(s, t) and places < PLACES and c.grid <= s.newest
    power = irregular.degree(s, t)
    scale, peak, last_peak, tail = r.error_scale, r.error_peak, r.last_error_peak, r.tail
    memcpy(quantiles, r.quantile, cython.sizeof(quantiles))
    for place in range(1, places + 1):
        c.grid += c.dt
        if r.hold:
            at = s.known
        elif trusted:
            at = room.path[place] + off + (error - off) * (c.grid - s.newest) / (time - s.newest)
        else:
            at = irregular.on_place(x, y, found, (c.grid - time) / c.dt, power)
        step(r, stream.ring, t, at)
        check_if_due(r, stream.ring, t)
    r.error_scale, r.error_peak, r.last_error_peak, r.tail = scale, peak, last_peak, tail
    memcpy(r.quantile, quantiles, cython.sizeof(quantiles))


def _gap(stream, t, places):
    """Places of the grid within a hole."""
    miss(stream, t, places)
    stream.c.grid += places * stream.c.dt


def _learn(stream, t, time, value, path, off):
    """Learn from the error of the forecast for a sample."""
    r, c, s = stream.r, stream.c, stream.s
    error = value - path - irregular.carried(s) * off
    wider = widening(r, c, s, t, time)
    if time - s.newest > (1.0 + t.clock.hole) * c.dt:
        calibration.note_gap(r, t, (time - s.newest) / c.dt, error)
    else:
        calibration.calibrate(r, t, error / wider, False)
        irregular.learn_carried(s, value - path, off)


def start_over(stream, t, verdict, room):
    """Go on as `clock.check_grid` found: on the grid again from the newest sample on, or from the values kept on
    another grid, or interpolated to it. What was learned per step is void if the step has changed."""
    r, c, s = stream.r, stream.c, stream.s
    if verdict == TRUE:
        c.irregular = JITTER
        return
    clock.begin_anew(c)
    if verdict == AGAIN:
        if (c.last - c.grid) / c.dt > 0.5:
            step(r, stream.ring, t, s.value[(c.count - 1) % RECENT])
            check_if_due(r, stream.ring, t)
        c.irregular, c.off, c.dt, c.grid = ON_GRID, 0.0, c.found, c.last
        s.compared = 0
        return
    void: cython.bint = fabs(c.found / c.dt - 1.0) >= t.clock.changed
    c.dt, c.irregular = c.found, ON_GRID if verdict == ANOTHER else RANDOM
    c.off, c.coarse, c.grid = 0.0, 0, c.start
    s.seen, s.compared = 0, 0
    memset(s.fit, 0, cython.sizeof(s.fit))
    memset(s.carry, 0, cython.sizeof(s.carry))
    if void:
        renew(stream, t)
    if r.count > 0:
        return
    first = max(c.count - RECENT, 0)
    for k in range(first + 1, c.count):
        if c.recent[k % RECENT] - c.recent[(k - 1) % RECENT] > t.clock.longest_hole * c.dt:
            first = k
    if verdict == ANOTHER:
        _replay_grid(stream, t, first)
    else:
        _replay_samples(stream, t, first, room)


def _replay_grid(stream, t, first):
    """Take in the values kept on another grid, from the `first`th on."""
    places: cython.double[RECENT]
    r, ring, c, s = stream.r, stream.ring, stream.c, stream.s
    before = 1.0
    for k in range(c.count - 1, first - 1, -1):
        steps = (c.recent[k % RECENT] - c.grid) / c.dt
        # Of rounded stamps the place before the next one's is taken if it is among theirs.
        even: cython.bint = fabs(steps - before + 1.0) * c.dt <= clock.slack(c, t)
        before = before - 1.0 if even else floor(steps + 0.5)
        places[k - first] = before
    before = NAN
    for k in range(first, c.count):
        place = places[k - first]
        if k + 1 < c.count and places[k + 1 - first] <= place:
            continue
        if not isnan(before):
            miss(stream, t, truncated(place - before) - 1)
        step(r, ring, t, s.value[k % RECENT])
        check_if_due(r, ring, t)
        before = place


def _replay_samples(stream, t, first, room):
    """Take in the values kept as samples at irregular times, from the `first`th on."""
    r, c, s = stream.r, stream.c, stream.s
    newest, known = s.newest, s.known
    s.newest = NAN
    for k in range(first, c.count):
        time, value = c.recent[k % RECENT], s.value[k % RECENT]
        path, off = 0.0, 0.0
        if r.count > 0 and not isnan(value):
            path, off = between(stream, t, time, room)
        sample(stream, t, k, time, value, path, off, room)
        if not isnan(value):
            s.newest, s.known = time, value
    s.newest, s.known = newest, known


def renew(stream, t):
    """A record that has seen nothing, as `record.fresh` makes it."""
    hold = stream.r.hold
    memset(stream.r, 0, cython.sizeof(Record))
    stream.r.hold = hold
    begin(stream.r, t)
    memset(stream.ring, 0, RING * cython.sizeof(cython.double))
