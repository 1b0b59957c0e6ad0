"""Timestamps: where a value lies on the stream's grid, how many steps are missing before it, and by how much it is off.

The grid (its step and its phase) follows the stamps as a phase-locked loop does. A stamp within `off` of a place
belongs to it, and the places passed over are gaps; where one in five belongs to none, times are irregular (`times`).
A grid is fitted to the newer half of the last `RECENT` stamps and looked for whenever a quarter is new; nothing is
decided before an eighth of them came. A stamp before the newest one is late, and one beyond `longest_hole` is wild: its
value is the next one. Several of either in a row have set the clock (docs/time.md).
"""

# Steps tried as those of a grid.
cdef enum:
    TRIED = 2 * PARTS


cdef bint is_far(const Clock* c, const Table* t, double time) noexcept nogil:
    """Whether a stamp lies so far ahead that it is wild, or the clock was set."""
    return c.dt > 0.0 and time - c.last > t.clock.longest_hole * c.dt


cdef double when(const Clock* c, const Table* t, double time) noexcept nogil:
    """When a value with this stamp came by the stream's own count, nothing being changed: at its stamp; one step after
    the newest value where it has none (NaN), or a wild one; NaN where it is late, unless so many were that the clock was
    set back, and all of them came since."""
    if c.count == 0:
        return 0.0 if isnan(time) else time
    if time > c.last and not is_far(c, t, time):
        return time
    cdef bint late = time <= c.last
    if late and c.strange + 1 < t.clock.late:
        return NAN
    return (c.last if c.irregular else c.grid) + (c.dt if c.dt > 0.0 else 1.0) * (t.clock.late if late else 1.0)


cdef double arrival(Clock* c, Samples* s, const Table* t, double time) noexcept nogil:
    """When a value came, as `when` says. Where the clock was set, all stamps kept are moved to where this one is right."""
    at = when(c, t, time)
    if c.count == 0:
        return at
    c.strange = c.strange + 1 if time <= c.last or is_far(c, t, time) else 0
    if isnan(at):
        return NAN
    if c.dt == 0.0:
        c.dt = min(time - c.last, LONGEST_STEP) if time > c.last else 1.0
    if c.strange >= t.clock.late:
        _move_clock(c, s, time - at)
        c.strange, at = 0, time
    if not at == time and not (at - c.last > 0.25 * c.dt and at < 0.5 * FARTHEST):
        # A step below the resolution of the stamps: the clock is moved to where float64 resolves its steps.
        _move_clock(c, s, -c.last)
        c.last, c.grid, at = 0.0, 0.0, c.dt
    return at


cdef void _move_clock(Clock* c, Samples* s, double seconds) noexcept nogil:
    """Move all stamps kept."""
    c.last, c.grid = held(c.last + seconds, FARTHEST), held(c.grid + seconds, FARTHEST)
    s.newest = held(s.newest + seconds, FARTHEST)
    for i in range(RECENT):
        c.recent[i] = held(c.recent[i] + seconds, FARTHEST)


cdef (double, double) place_of(const Clock* c, double time) noexcept nogil:
    """The place of the grid a stamp belongs to, in steps after the newest, and how many steps beside it it lies."""
    steps = (time - c.grid) / c.dt if c.count > 0 and c.dt > 0.0 else 1.0
    whole = max(floor(steps + 0.5), 1.0)
    return whole, max(steps - whole, -1.0)


cdef void follow_stamp(Clock* c, const Table* t, double offset, double whole) noexcept nogil:
    """Move grid and step towards a stamp `whole` steps on and `offset` beside."""
    c.coarse = counted(c.coarse, 1) if whole > 1.0 else 0
    c.off += ((1.0 if fabs(offset) > t.clock.off else 0.0) - c.off) / min(QUARTER, c.count)
    # Over how many stamps the grid is fitted, with this one: `steady` again once the clock has drifted, which is where the
    # mean of the last offsets lies four standard errors from 0 (an average that forgets has half of their square).
    c.fitted += 1.0
    rate = 1.0 / min(c.fitted, t.clock.steady)
    c.mean_offset += (offset - c.mean_offset) * rate
    c.mean_square += (offset * offset - c.mean_square) * rate
    doubt = 4.0 * sqrt(0.5 * c.mean_square / t.clock.steady)
    if c.fitted > t.clock.steady and fabs(c.mean_offset) > doubt:
        c.fitted, c.mean_offset = t.clock.steady, 0.0
    seen = c.fitted
    c.grid += c.dt * (whole + min(2.0 * (2.0 * seen - 1.0) / (seen * (seen + 1.0)), 1.0) * offset)
    if c.given == 0:
        by = 1.0 + 6.0 / ((seen + 1.0) * (seen + 2.0)) * offset / whole
        c.dt = min(max(c.dt * max(by, 0.25), DBL_MIN), LONGEST_STEP)


# Another grid.


cdef bint _check_due(long long count) noexcept nogil:
    """Whether the grid is looked for after this many stamps: 3, 4, 6, 8, 12, 16, 24, … and then every `QUARTER`."""
    if count > RECENT:
        return count % QUARTER == 0
    odd = count
    while odd % 2 == 0:
        odd //= 2
    return count >= 3 and odd <= 3


cdef (double, bint) check_grid(const Clock* c, const Table* t) noexcept nogil:
    """Where the stamps do not fit the grid, when a check is due: the step to go on with, and whether times are irregular
    then. Else 0."""
    cdef double times[HALF]
    if not _check_due(c.count):
        return 0.0, False
    cdef bint young = c.count <= RECENT
    cdef bint fine = c.irregular == 0 and c.off <= t.clock.irregular and c.coarse < QUARTER
    if fine and not (young and c.given == 0):
        return 0.0, False
    n = min(c.count, HALF)
    for i in range(n):
        times[i] = c.recent[(c.count - n + i) % RECENT]
    found, miss = fit_grid(t, times, n)
    if not found > 0.0:
        return 0.0, False  # a clock that was set far leaves stamps that float64 does not tell apart
    found = min(found, 2.0 * LARGEST_TIME)  # stamps lie no farther apart
    cdef bint regular = miss < t.clock.close
    cdef bint same = fabs(log(found / c.dt)) < (t.clock.changed if regular else log(1.25 if young else 2.0))
    if regular and same:
        return found if c.irregular else 0.0, False
    if not regular and (n < EIGHTH or (c.irregular and same)):
        return 0.0, False
    return found, not regular


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
    cdef double intervals[HALF]
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
    cdef double place[HALF]
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
