"""Times: a forecast for any moment, and values brought to the grid so that every member of the bank takes part.

On a grid (`clock`) a value belongs to the place nearest to its stamp. A stamp beside it is noise itself, or the time at
which the value was really taken: then forecasts are moved from the place to the stamp, and values back, along the line
to the forecast. At irregular times a place gets its value from the polynomial through the last samples, of the
degree that predicted each sample best from its neighbours lately, and a moment between places lies on the polynomial of
that degree through the bank's steps around it. How far the newest sample lies beside that path is noise, or
lasts until the next one.

In both cases the share of it is used that has turned out to be true lately (`mixture.note_share`).
"""

cdef enum:
    CUBIC = 4  # points that polynomials go through, at least and at most
    POINTS = CUBIC + 2 * (CURVES - 1)


cdef double through(const double* x, const double* y, long long count, double at, double* each) noexcept nogil:
    """The polynomial through so many points, at `at` (Neville's scheme); each[i]: that through the first i + 1."""
    cdef double row[POINTS]
    for i in range(count):
        row[i] = y[i]
        for j in range(i - 1, -1, -1):
            row[j] = row[j + 1] + (row[j] - row[j + 1]) * ((at - x[i]) / (x[j] - x[i]))
        each[i] = row[0]
    return row[0]


cdef long long joined(const Samples* s) noexcept nogil:
    """How many points the polynomial goes through that has joined the samples best lately."""
    cdef long long best = 0
    for k in range(1, CURVES):
        if s.fit[k] < s.fit[best]:
            best = k
    return CUBIC + 2 * best


cdef long long nodes(
    const Clock* c, Samples* s, const Table* t, long long count, double time, double value, double* x, double* y
) noexcept nogil:
    """A sample and the known ones before it, newest first, out of the first `count`: their times in steps after it and
    their values; returns how many are joined. Samples closer than `apart` to the one after them are passed over. How far
    each polynomial through the neighbours of the second newest is from it is noted: what cannot be tried for lack of
    samples is as good as what can."""
    cdef double each[POINTS]
    cdef long long found = 1
    x[0], y[0] = 0.0, value
    for ago in range(1, min(count, RECENT) + 1):
        place = (count - ago) % RECENT
        at = (c.recent[place] - time) / c.dt
        if found == POINTS:
            break
        if isnan(s.value[place]) or x[found - 1] - at < t.clock.apart:
            continue
        x[found], y[found] = at, s.value[place]
        found += 1
    if found > 2:
        at, known = x[1], y[1]
        x[1], y[1] = x[0], y[0]
        through(x + 1, y + 1, found - 1, at, each)
        x[1], y[1] = at, known
        for k in range(CURVES):
            error = fabs(each[min(CUBIC + 2 * k, found - 1) - 1] - known)
            s.fit[k] += ((error * error if error < MOVED else SQUARED) - s.fit[k]) / min(count, HALF)
    return min(found, joined(s))


# Stamps off the grid.


cdef double true_share(const Record* r, const Samples* s) noexcept nogil:
    """The share of what lies beside the grid or the path that has been true lately, if it is four standard errors away
    from none; nothing is decided by the first values."""
    return share_of(s.beside, 0.0) if r.learned >= QUARTER and s.beside[0] > 4.0 * sqrt(s.beside[1]) else 0.0


# Forecasts.


cdef long long miss_steps(Record* r, double* ring, const Clock* c, const Table* t, long long steps) noexcept nogil:
    """So many missing values; returns how many of them were taken one by one: `EARNED` for every value since the last
    holes, `WALKED` in all. What a value costs is then bounded, whatever its stamp says; the rest is passed over."""
    walked = max(min(steps, WALKED - c.walked), <long long> 0)
    for _ in range(walked):
        step(r, ring, t, NAN)
    if r.count > 0:
        r.gap += steps - walked
    return walked


cdef Record* walked_on(const Stream* stream, const Table* t, long long steps, Room* room) noexcept nogil:
    """The record after so many missing values: a copy, unless there are none. The ring is read by seasonal members
    alone."""
    if steps < 1:
        return stream.r
    room.record = stream.r[0]
    if stream.r.season_on == 1:
        memcpy(room.ring, stream.ring, RING * sizeof(double))
    miss_steps(&room.record, room.ring, stream.c, t, steps)
    return &room.record


cdef double along(const Record* r, const Table* t, long long top, long long points, double at) noexcept nogil:
    """The polynomial through the forecast for place `top` and the values before it, at this place."""
    cdef double x[POINTS]
    cdef double y[POINTS]
    cdef double each[POINTS]
    for i in range(points):
        x[i], y[i] = top - i, r.lag[i - 1] if i > 0 else expected(r, t)
    return through(x, y, points, at, each)


cdef (double, double, double) path_at(const Stream* stream, const Table* t, double time, Room* room) noexcept nogil:
    """The path of the bank's steps at `time`; how far it is there from a straight line, a measure of what is not known
    about the signal between two steps; and how far from it the newest sample lies, at irregular times."""
    c, s, off = stream.c, stream.s, 0.0
    points = joined(s) if c.irregular else CUBIC
    ahead, newest = (time - c.grid) / c.dt, (s.newest - c.grid) / c.dt
    if c.irregular and newest > 1e-9:
        off = s.known - along(stream.r, t, 1, points, min(newest, 1.0))
    top = max(truncated(ceil(min(ahead, 2.0 * t.clock.longest_hole) - 1e-9)), 1)
    r = walked_on(stream, t, top - 1, room)
    ahead = min(max(ahead, top - 1.0), <double> top)
    path = along(r, t, top, points, ahead)
    return path, fabs(path - along(r, t, top, 2, ahead)), off


cdef double widening(Record* r, const Clock* c, const Samples* s, const Table* t, double time) noexcept nogil:
    """How many times wider than one typical interval ahead the interval for `time` is: in proportion to the time since
    the newest sample; across a hole as across other gaps."""
    since = max((time - s.newest) / c.dt, 1.0) if not isnan(s.newest) else 1.0
    return across(r, t, since)


cdef (double, double, double) forecast_next(
    const Stream* stream, const Table* t, double time, double value, double normal, Room* room
) noexcept nogil:
    """Mean, half width and score of `value` for a time, one step ahead where it is NaN; NaN where it would be late, and
    before the first value (with a score of 0)."""
    r, c, s = stream.r, stream.c, stream.s
    at, more = when(c, t, time), 0.0
    if isnan(at):
        return NAN, NAN, NAN
    if r.count == 0:
        return NAN, NAN, 0.0
    steps, offset = place_of(c, at)
    if c.count > 0 and is_far(c, t, time):
        # Either the clock was set, and the value is the next one; or the interval is that of all values seen.
        mean, wider = expected(r, t), across(r, t, (time - c.last) / c.dt)
    elif c.irregular or fabs(offset) > t.clock.off:
        mean, bent, off = path_at(stream, t, at, room)
        more = 0.0 if c.irregular else bent  # errors at irregular times are calibrated with it
        mean += off * true_share(r, s)
        wider = widening(r, c, s, t, at)
    else:
        r = walked_on(stream, t, truncated(steps) - 1, room)
        mean, wider = expected(r, t), across(r, t, r.gap + 1.0)
        mean += offset * (mean - r.lag[0]) * true_share(r, s)
    # No interval is narrower than the numbers themselves, nor than a tick.
    half = max(half_width(r, t, normal) * wider + more, spacing(fabs(mean)), 0.5 * resolution(r, t))
    error = copysign(max(fabs(value - mean) - more, 0.0), value - mean)
    return mean, half, NAN if isnan(value) else surprise_of(r, t, error, wider)


# Values.


cdef double take_timed(const Stream* stream, const Table* t, double time, double value, Room* room) noexcept nogil:
    """A value with a stamp (NaN: one step after the value before). Returns the seconds since the value before: 0 where
    it is late, NaN for the first."""
    c, s = stream.c, stream.s
    cdef bint first = c.count == 0
    at = arrival(c, s, t, time)
    if isnan(at):
        # It is put where it belongs, if it was missing there: into the ring, which seasons and forecasts read, and among
        # the lags.
        r, ago = stream.r, _behind(stream, t, time)
        if not isnan(value) and ago > r.gap and is_missing(r, ago):
            place = (r.count - 1 - ago) % RING
            stream.ring[place] = value
            mark_place(r, place, False)
            if ago < LAGS:
                r.lag[ago] = value
                r.feature[ago] = value - r.last
        s.alarm = NAN
        return 0.0
    passed = NAN if first else at - c.last
    if c.irregular:
        value = take_sample(stream, t, c.count, at, value, room)
    else:
        take_on_grid(stream, t, at, value)
    s.value[c.count % RECENT] = value
    if not isnan(value):
        s.newest, s.known = at, value
    c.recent[c.count % RECENT] = c.last = at
    c.count = counted(c.count, 1)
    c.walked = max(c.walked - EARNED, <long long> 0)
    dt, irregular = check_grid(c, t)
    if dt > 0.0:
        start_grid_over(stream, t, dt, irregular, room)
    # Stamps do not lead so far from the grid, forged clocks may.
    c.grid = c.grid if fabs(c.last - c.grid) <= t.clock.longest_hole * c.dt else c.last
    return passed


cdef long long _behind(const Stream* stream, const Table* t, double time) noexcept nogil:
    """How many places before the newest one a late stamp belongs to; -1 where it belongs to none that is kept."""
    r, c = stream.r, stream.c
    steps = (c.grid - time) / c.dt if c.dt > 0.0 and not c.irregular else -1.0
    back = floor(steps + 0.5)
    return <long long> back if 0.0 <= back < min(r.count, RING) and fabs(steps - back) <= t.clock.off else -1


cdef bint came_before(const Stream* stream, const Table* t, double time, double value) noexcept nogil:
    """Whether this very value came at this very time before: it is among the last samples, or its place in the ring
    holds it. A sender repeats itself; its clock was not set back."""
    r, c, s = stream.r, stream.c, stream.s
    if not time <= c.last or not isnan(when(c, t, time)):
        return False
    for i in range(min(c.count, RECENT)):
        if c.recent[i] == time and (s.value[i] == value or isnan(s.value[i]) and isnan(value)):
            return True
    ago = _behind(stream, t, time)
    return ago >= 0 and (isnan(value) if is_missing(r, ago) else stream.ring[(r.count - 1 - ago) % RING] == value)


cdef void take_on_grid(const Stream* stream, const Table* t, double time, double value) noexcept nogil:
    """A value whose stamp is near a place of the grid; places passed over are gaps."""
    r, c, steps, offset = stream.r, stream.c, 1.0, 0.0
    if c.count == 0:
        c.grid = time
    else:
        steps, offset = place_of(c, time)
        follow_stamp(c, t, offset, steps)
    c.walked += miss_steps(r, stream.ring, c, t, <long long> min(steps, t.clock.longest_hole) - 1)
    if fabs(offset) > ROUNDED and r.count > 0 and not isnan(value):
        # As it would have been on the grid, `offset` steps before its stamp.
        ahead = expected(r, t)
        by = offset * (ahead - r.lag[0])
        moved = by * true_share(r, stream.s)
        if r.gap == 0 and not is_wild(r, t, value - ahead, value - r.last):
            note_share(stream.s.beside, value - ahead, by, r.error_scale, 1.0 - 0.5 / RECENT)
        value -= moved
    take_step(stream, t, value)


cdef double take_sample(
    const Stream* stream, const Table* t, long long count, double time, double value, Room* room
) noexcept nogil:
    """A value at an irregular time, the `count`th: learn from the error of its forecast, and fill the places of the grid
    that it passes. Returns it, NaN where it is not believed (`past`)."""
    cdef double x[POINTS]
    cdef double y[POINTS]
    r, c, s = stream.r, stream.c, stream.s
    steps = max(floor((time - c.grid) / c.dt + 1e-9), 0.0)
    places = truncated(min(steps, t.clock.longest_hole))
    if r.count == 0 and not isnan(value):
        c.grid = time
        take_step(stream, t, value)
        return value
    cdef bint near = time - s.newest <= (1.0 + t.clock.hole) * c.dt
    s.alarm = NAN
    if not isnan(value):
        s.alarm = 0.0
        path, _, off = path_at(stream, t, time, room)
        wider, error = widening(r, c, s, t, time), value - path - off * true_share(r, s)
        if not is_wild(r, t, error / wider, (value - s.known) / wider):
            s.doubts = 0
        elif s.doubts < 2:
            s.doubts += 1
            s.alarm = 1.0 - t.doubtful
            value = NAN
    if not isnan(value):
        found = nodes(c, s, t, count, time, value, x, y)
        if near:
            calibrate(r, t, error / wider)
            note_share(s.beside, value - path, off, r.error_scale, 1.0 - 0.5 / RECENT)
            _fill_places(stream, t, time, x, y, found, places)
            return value
        note_gap(r, t, (time - s.newest) / c.dt, error)
    if not near:
        c.walked += miss_steps(r, stream.ring, c, t, places)
        c.grid = time if places < steps else c.grid + steps * c.dt
    return value


cdef void _fill_places(
    const Stream* stream, const Table* t, double time, const double* x, const double* y, long long found,
    long long places
) noexcept nogil:
    """The next places of the grid, from the polynomial through the samples x, y, no farther from the two newest than the
    samples differ. Calibration stays that of samples: what is interpolated is smoother."""
    cdef double quantiles[LEVELS]
    cdef double each[POINTS]
    r, c, s = stream.r, stream.c, stream.s
    scale, peak, last_peak, tail, doubt = r.error_scale, r.error_peak, r.last_error_peak, r.tail, s.alarm
    memcpy(quantiles, r.quantile, sizeof(quantiles))
    lowest, highest, before = y[0], y[0], y[1] if found > 1 else y[0]
    for i in range(found):
        lowest, highest = min(lowest, y[i]), max(highest, y[i])
    least, most = min(y[0], before) - (highest - lowest), max(y[0], before) + (highest - lowest)
    for _ in range(places):
        c.grid += c.dt
        at = s.known if r.hold else min(max(through(x, y, found, (c.grid - time) / c.dt, each), least), most)
        take_step(stream, t, at)
        s.alarm = max(s.alarm, doubt)
    r.error_scale, r.error_peak, r.last_error_peak, r.tail = scale, peak, last_peak, tail
    memcpy(r.quantile, quantiles, sizeof(quantiles))


# Another grid.


cdef void start_grid_over(
    const Stream* stream, const Table* t, double dt, bint irregular, Room* room
) noexcept nogil:
    """Go on as `check_grid` found, with steps of dt: on another grid, or interpolated to it. Where the step has changed, what was learned
    per step is void, and the values kept are taken in anew."""
    r, c, s = stream.r, stream.c, stream.s
    cdef bint anew = fabs(dt / c.dt - 1.0) >= t.clock.changed
    if not anew and c.irregular and (c.last - c.grid) / c.dt > 0.5:
        take_step(stream, t, s.value[(c.count - 1) % RECENT])
    c.fitted, c.mean_offset, c.mean_square = min(c.count, HALF), 0.0, 0.0  # the step is that of the last stamps
    c.dt, c.grid, c.irregular, c.off, c.coarse = dt, c.last, irregular, 0.0, 0
    s.beside[0] = s.beside[1] = 0.0
    if not anew and r.count > 0:
        return
    hold = r.hold
    memset(r, 0, sizeof(Record))
    memset(stream.ring, 0, RING * sizeof(double))
    begin_record(r, t)
    r.hold = hold
    newest, known, alarm, s.newest, before = s.newest, s.known, s.alarm, NAN, INFINITY
    for k in range(max(c.count - RECENT, 0), c.count):
        time, value = c.recent[k % RECENT], s.value[k % RECENT]
        if c.irregular:
            take_sample(stream, t, k, time, value, room)
            if not isnan(value):
                s.newest, s.known = time, value
            continue
        place = floor((time - c.grid) / c.dt + 0.5)
        if place - before > 1.0:
            c.walked += miss_steps(r, stream.ring, c, t, truncated(min(place - before, t.clock.longest_hole)) - 1)
        if place != before:
            take_step(stream, t, value)
        before = place
    s.newest, s.known, s.alarm = newest, known, alarm
