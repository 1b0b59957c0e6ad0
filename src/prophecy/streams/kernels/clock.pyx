"""Timestamps: where a value lies on the stream's grid, how many steps are missing before it, and by how much it is off.

The grid (its step and its phase) follows the stamps as a phase-locked loop does. A stamp within `off` of a place
belongs to it, and the places passed over are gaps; where one in five belongs to none, times are irregular (`times`).
A grid is fitted to the newer half of the last `RECENT` stamps and looked for whenever a quarter is new; nothing is
decided before an eighth of them came. Late stamps, holes, clocks that are set and other rates: docs/time.md.
"""

# Steps tried as those of a grid.
cdef enum:
    TRIED = 2 * PARTS


cdef bint check_due(long long count) noexcept nogil:
    """Whether the grid is looked for after this many stamps: 3, 4, 6, 8, 12, 16, 24, … and then every `QUARTER`."""
    if count > RECENT:
        return count % QUARTER == 0
    cdef long long power = 1
    while power * 2 <= count:
        power *= 2
    return count >= 3 and (count == power or 2 * count == 3 * power)


cdef (double, double) understood(const Clock* c, const Table* t, double time) noexcept nogil:
    """How a stamp is read, nothing being changed: (seconds since the newest one, 0), or (0, steps) since the newest
    value where the clock was set; (0, 0) where it is late."""
    passed, dt = time - c.last, c.dt if c.dt > 0.0 else 1.0
    if passed > 0.0 and is_far(c, t, time):
        return 0.0, 1.0
    if passed > 0.0:
        return passed, 0.0
    if passed == 0.0 and c.unit > 0.0 and fabs(time - c.grid - dt) <= slack(c, t):
        return dt, 0.0
    if c.jumps > 0 and 0.5 * dt < time - c.before <= t.clock.longest_hole * dt:
        return 0.0, max((time - c.before) / dt - c.jumps, 0.5)  # wild stamps, and the clock as it was
    return 0.0, t.clock.late if c.late + 1 >= t.clock.late else 0.0


cdef bint is_far(const Clock* c, const Table* t, double time) noexcept nogil:
    """Whether a stamp lies so far ahead that the clock must have been set."""
    return c.dt > 0.0 and time - c.last > t.clock.longest_hole * c.dt


cdef double arrival(Clock* c, Samples* s, const Table* t, double time) noexcept nogil:
    """Seconds from the newest stamp to this one by the stream's own count, 0 where it is late, NaN for the first.

    Where the clock was set, the stamps kept are moved so that the difference to `time` is what is returned.
    """
    if c.count == 0:
        return NAN
    passed, steps = understood(c, t, time)
    if passed == 0.0 and steps == 0.0:
        c.late += 1
        return 0.0
    if is_far(c, t, time):
        interval = time - c.last
        c.jump = interval if c.jumps == 0 else min(c.jump, interval)
        c.before = c.last if c.jumps == 0 else c.before
        c.jumps += 1
    else:
        c.jumps = 0
    if c.dt == 0.0:
        c.dt = passed if passed > 0.0 else 1.0
    return passed if passed > 0.0 else _moved(c, s, time, steps)


cdef double _moved(Clock* c, Samples* s, double time, double steps) noexcept nogil:
    """The clock was set: let the newest value have come `steps` steps before `time`."""
    # Where stamps cannot tell steps apart, a step is what they can tell apart.
    c.dt = max(c.dt, 2.0 * spacing(fabs(time)))
    passed = steps * c.dt
    shift_clock(c, s, time - passed - c.last)
    if not c.irregular:
        c.grid = time - passed
    return passed


cdef void shift_clock(Clock* c, Samples* s, double seconds) noexcept nogil:
    """Move all stamps kept."""
    c.last += seconds
    c.grid += seconds
    s.newest += seconds
    for i in range(RECENT):
        c.recent[i] += seconds


cdef void respace(Clock* c, const Table* t) noexcept nogil:
    """Another unit: let the last values have come `jump` seconds apart, those before them long ago."""
    for i in range(min(c.count, RECENT)):
        far = 0.0 if i <= c.jumps else 4.0 * t.clock.longest_hole
        c.recent[(c.count - 1 - i) % RECENT] = c.last - (i + far) * c.jump


cdef double next_time(Clock* c, Samples* s) noexcept nogil:
    """The time of a value that came without one: one step after the newest, a float64 apart at least."""
    if c.count == 0:
        return 0.0
    dt = c.dt if c.dt > 0.0 else 1.0
    time = (c.last if c.irregular else c.grid) + dt
    if not time > c.last + 0.5 * dt:
        # A step below the resolution of the stamps: the clock is moved to where float64 resolves its steps.
        shift_clock(c, s, -c.last)
        c.last, c.grid, time = 0.0, 0.0, dt
    return time


cdef void note_stamp(Clock* c, const Table* t, double time) noexcept nogil:
    """A stamp was taken."""
    c.recent[c.count % RECENT] = time
    c.count += 1
    c.late, c.last = 0, time
    c.walked = max(c.walked - EARNED, <long long> 0)


cdef long long steps_worth(const Clock* c, const Table* t, long long steps) noexcept nogil:
    """How many of the steps of a hole are taken one by one: `earned` for every value since the last holes, `WALKED` in
    all. What a value costs is then bounded, whatever its stamp says; the rest of a hole is passed over."""
    return max(min(steps, WALKED - c.walked), <long long> 0)


cdef void keep_twice(Clock* c) noexcept nogil:
    """A stamp equal to the newest was not taken: steps may be below the resolution of the stamps, which shows later."""
    c.recent[c.count % RECENT] = c.last
    c.count += 1
    c.odd = 1
    c.off += (1.0 - c.off) / min(QUARTER, c.count)


cdef (double, double) place_of(const Clock* c, const Table* t, double time) noexcept nogil:
    """The place of the grid a stamp belongs to, in steps after the newest, and how many steps beside it it lies.

    Stamps rounded to more than a step may belong to several places: then it is the next one if that is among them.
    """
    steps = (time - c.grid) / c.dt if c.count > 0 and c.dt > 0.0 else 1.0
    whole = max(floor(steps + 0.5), 1.0)
    if fabs(steps - 1.0) * c.dt <= slack(c, t):
        whole = 1.0
    return whole, steps - whole


cdef double slack(const Clock* c, const Table* t) noexcept nogil:
    """Seconds that a rounded stamp may be from its place."""
    return t.clock.rounded * c.unit


cdef double beside_place(const Clock* c, const Table* t, double offset) noexcept nogil:
    """Steps by which a stamp is off its place, 0 for what is rounding."""
    return 0.0 if fabs(offset) <= ROUNDED or fabs(offset) * c.dt <= slack(c, t) else offset


cdef void follow_stamp(Clock* c, const Table* t, double offset, double whole) noexcept nogil:
    """Move grid and step towards a stamp `whole` steps on and `offset` beside."""
    c.coarse = c.coarse + 1 if whole > 1.0 else 0
    off = beside_place(c, t, offset)
    c.off += ((1.0 if fabs(off) > t.clock.off else 0.0) - c.off) / min(QUARTER, c.count)
    if whole > 1.0 or off != 0.0:
        c.odd = 1
    seen = _remembered(c, t, offset)
    c.grid += c.dt * (whole + min(2.0 * (2.0 * seen - 1.0) / (seen * (seen + 1.0)), 1.0) * offset)
    if c.given == 0:
        c.dt *= 1.0 + 6.0 / ((seen + 1.0) * (seen + 2.0)) * offset / whole


cdef double _remembered(Clock* c, const Table* t, double offset) noexcept nogil:
    """Over how many stamps the grid is fitted, with this one: `steady` again once the clock has drifted, which is where
    the mean of the last offsets lies four standard errors from 0 (an average that forgets has half of their square)."""
    c.fitted += 1.0
    rate = 1.0 / min(c.fitted, t.clock.steady)
    c.mean_offset += (offset - c.mean_offset) * rate
    c.mean_square += (offset * offset - c.mean_square) * rate
    doubt = 4.0 * sqrt(0.5 * c.mean_square / t.clock.steady)
    if c.fitted > t.clock.steady and fabs(c.mean_offset) > doubt:
        c.fitted, c.mean_offset = t.clock.steady, 0.0
    return c.fitted


cdef void begin_anew(Clock* c) noexcept nogil:
    """The step was found anew, from the last stamps."""
    c.fitted, c.mean_offset, c.mean_square = min(c.count, HALF), 0.0, 0.0


cdef long long check_grid(Clock* c, const Table* t, bint true) noexcept nogil:
    """Whether the stamps still fit the grid, if a check is due; where not, `found` is the step to go on with, and
    `start` its newest place.

    true: whether values have turned out to be taken at their very stamps, where these jitter.
    """
    cdef double times[RECENT]
    if c.jumps >= t.clock.late:
        respace(c, t)
        c.found, c.start, c.unit, c.jumps = c.jump, c.last, 0.0, 0
        return ANOTHER
    if c.odd == 0 or not check_due(c.count):
        return FINE
    cdef bint young = c.count <= RECENT
    cdef bint fine = c.irregular == 0 and c.off <= t.clock.irregular and c.coarse < QUARTER
    cdef long long found = 0
    if not fine or (c.unit == 0.0 and young):
        n = min(c.count, RECENT)
        for i in range(n):
            times[i] = c.recent[(c.count - n + i) % RECENT]
            if i > 0 and times[i] < times[i - 1]:
                return FINE
        c.found, c.start, c.unit = rounded_grid(t, times, n)
        if c.unit > 0.0:
            c.odd = 0
            return ANOTHER
        if not fine or c.given == 0:
            for i in range(max(n - HALF, 0), n):
                if found == 0 or times[i] > times[found - 1]:
                    times[found] = times[i]
                    found += 1
            return _verdict(c, t, true, times, found, young) if found >= 3 else FINE
    c.odd = 1 if c.coarse > 0 or c.off > 0.0 or true else 0
    c.found, c.start = c.dt, c.grid
    return NONE if true else FINE


cdef long long _verdict(
    Clock* c, const Table* t, bint true, const double* times, long long n, bint young
) noexcept nogil:
    """What the last stamps, in rising order, ask for."""
    c.found, miss = fit_grid(t, times, n)
    c.found, c.start = min(c.found, 2.0 * LARGEST_TIME), c.last  # stamps lie no farther apart
    cdef bint regular = miss < t.clock.close
    cdef bint same = fabs(log(c.found / c.dt)) < (t.clock.changed if regular else log(1.25 if young else 2.0))
    if regular and same:
        return ANOTHER if c.irregular and (miss < ROUNDED or not true) else FINE
    if not regular and (n < EIGHTH or (c.irregular and same)):
        return FINE
    return ANOTHER if regular else NONE


# Grids.


cdef (double, double, double) rounded_grid(const Table* t, const double* times, long long n) noexcept nogil:
    """An even grid whose times, rounded to whole units, the newest of these are: its step, newest place and that unit;
    all 0 where there is none.

    Rounding makes two lengths of intervals, a unit apart, so evenly mixed that every stamp is within half a unit of a
    straight line. Holes in a grid of one unit look like that too if they come evenly; they are not so many then. Where
    one length is rare, rounding is jitter of a small part of a step, which the grid averages out.
    """
    unit, fuzz = 0.0, max(1e-3 * (times[n - 1] - times[0]) / n, 8.0 * spacing(fabs(times[n - 1])))
    for i in range(1, n):
        unit = _common_unit(times[i] - times[i - 1], unit, fuzz)
    if not unit > fuzz:
        return 0.0, 0.0, 0.0
    first, shortest, longest = n - 1, INFINITY, -INFINITY
    while first > 0:
        interval = times[first] - times[first - 1]
        if max(longest, interval) - min(shortest, interval) > 1.5 * unit:
            break
        shortest, longest, first = min(shortest, interval), max(longest, interval), first - 1
    count, across, along = n - first, 0.0, 0.0
    middle, mean = 0.5 * (count - 1), 0.0
    cdef long long larger = 0
    for i in range(count):
        mean += (times[first + i] - times[first]) / count
        if i > 0 and times[first + i] - times[first + i - 1] > shortest + 0.5 * unit:
            larger += 1
    for i in range(count):
        across += (i - middle) * (times[first + i] - times[first] - mean)
        along += (i - middle) * (i - middle)
    if count < QUARTER or min(larger, count - 1 - larger) < t.clock.irregular * count:
        return 0.0, 0.0, 0.0
    dt = across / along
    if dt > 2.0 * LARGEST_TIME:  # stamps that were moved apart
        return 0.0, 0.0, 0.0
    for i in range(count):
        if fabs(times[first + i] - times[first] - mean - dt * (i - middle)) > t.clock.rounded * unit:
            return 0.0, 0.0, 0.0
    return dt, times[first] + mean + dt * middle, unit


cdef double _common_unit(double a, double b, double fuzz) noexcept nogil:
    """The largest number that both are multiples of, to within `fuzz` (Euclid)."""
    while b > fuzz:
        a, b = b, fabs(a - floor(a / b + 0.5) * b)
    return a


cdef void sort_numbers(double* x, long long count) noexcept nogil:
    """The first `count` numbers of x in rising order, in place; there are few."""
    for i in range(1, count):
        value, j = x[i], i
        while j > 0 and x[j - 1] > value:
            x[j] = x[j - 1]
            j -= 1
        x[j] = value


cdef (double, double) fit_grid(const Table* t, const double* times, long long n) noexcept nogil:
    """The coarsest grid these increasing times fit: its step, and how far they are from it on average, in steps; the
    median interval and 1 where none fits. Tried are the median interval and the shortest usual one, whole and in up to
    `PARTS` parts: a sensor may report every few steps of its clock.
    """
    cdef double intervals[RECENT]
    cdef double steps[TRIED]
    count = n - 1
    for i in range(count):
        intervals[i] = times[i + 1] - times[i]
    sort_numbers(intervals, count)
    usual = 0.5 * (intervals[(count - 1) // 2] + intervals[count // 2])
    short = intervals[truncated(0.1 * (count - 1))]
    for parts in range(1, PARTS + 1):
        steps[parts - 1], steps[PARTS + parts - 1] = usual / parts, short / parts
    sort_numbers(steps, TRIED)
    for i in range(TRIED - 1, -1, -1):
        dt, miss = _fit_step(times, n, steps[i])
        if miss < t.clock.close:
            return dt, miss
    return usual, 1.0


cdef (double, double) _fit_step(const double* times, long long n, double step) noexcept nogil:
    """Least squares for a grid whose step is about `step`: the step, and the mean distance of the times from it."""
    cdef double place[RECENT]
    dt, miss = step, 0.0
    for _ in range(3):
        for i in range(1, n):
            place[i] = max(floor((times[i] - times[i - 1]) / dt + 0.5), 1.0)
        place[0], mean_place, mean_time = 0.0, 0.0, 0.0
        for i in range(n):
            place[i] += place[i - 1] if i > 0 else 0.0
            mean_place += place[i] / n
            mean_time += (times[i] - times[0]) / n
        across, along = 0.0, 0.0
        for i in range(n):
            across += (place[i] - mean_place) * (times[i] - times[0] - mean_time)
            along += (place[i] - mean_place) * (place[i] - mean_place)
        if not along > 0.0 or not across > 0.0:
            return step, 1.0
        dt = across / along
        start, miss = mean_time - dt * mean_place, 0.0
        for i in range(n):
            miss += fabs((times[i] - times[0] - start) / dt - place[i]) / n
    return dt, miss
