r"""The bank: `step` takes in one value of one stream, `expected` is the next one (docs/prophecy.md).

First what is learned from the value (calibration, solved readouts, bias of the derivative, mixture), then memories,
members and their mixture for the next value. One value, an array, many channels and many series all run these functions,
and sums are taken in one order, in eight interleaved parts (`unrolled.pxd`), so results agree to the last bit.
"""


cdef void begin_record(Record* r, const Table* t) noexcept nogil:
    """Set the fields of a record that has seen nothing; all others are 0."""
    r.season_check = next_check(0)
    for i in range(BANK):
        r.weight[i] = t.prior[0][i]
    for l in range(LEVELS):
        r.quantile[l] = NORMAL[l]
    r.tail = LIGHTEST
    start_solved(r, t, 0, SOLVED)
    for i in range(2):
        r.shrink_weight[i] = 0.5


cdef double take_step(const Stream* stream, const Table* t, double value) noexcept nogil:
    """A value of the grid; then seasons if they are due, and the alarm with the value. Returns the steps since the value
    before."""
    step(stream.r, stream.ring, t, value)
    if stream.r.count >= stream.r.season_check and stream.r.gap == 0:
        check_seasons(stream.r, stream.ring, t)
    stream.s.alarm = NAN if isnan(value) else stream.r.alarm
    return 1.0


cdef void step(Record* r, double* ring, const Table* t, double value) noexcept nogil:
    """Take in the next value; NaN is a gap. So is a wild value, until two more confirm it."""
    if isnan(value):
        if r.count > 0:
            _miss(r, ring, t, r.last if r.hold else expected(r, t))
        return
    value = held(value, LARGEST)  # what is brought to the grid may lie beyond
    if r.count == 0:
        r.last = r.mean = value
        for j in range(LAGS):  # everything before it is taken to have been equal to it
            r.lag[j] = value
    else:
        distance, forecast = r.gap + 1, expected(r, t)
        error, part = value - forecast, 1.0 / (distance - r.doubts)  # what came and is doubted is no time that passed
        # What lies nearer to a doubted value than to the forecast is in doubt with it.
        alike: cython.bint = r.doubts > 0 and fabs(error - r.doubted[r.doubts - 1]) < fabs(error)
        wild: cython.bint = alike or is_wild(r, t, error * part, (value - r.last) * part)
        if r.gap == 0 and value == r.last:
            r.same = counted(r.same, 1)
        elif r.gap == 0:
            r.longest, r.rests = max(r.longest, r.same), counted(r.rests, 1 if r.same >= t.stuck else 0)
            r.same = 0
        if wild and r.doubts < 2:
            r.doubted[r.doubts] = error
            r.doubts += 1
            note_quantiles(r, t, edge(r, ERROR) * edge(r, ERROR))  # as large as the past allows
            watch(r, t, value, forecast, forecast, part, True, True)
            _miss(r, ring, t, forecast)
            return
        wider, by = across(r, t, distance), 0.0
        if wild:  # the level has moved, by the median of three errors in a row
            by = min(max(error, min(r.doubted[0], r.doubted[1])), max(r.doubted[0], r.doubted[1]))
        watch(r, t, value, value - by, forecast, part, wild, False)
        if wild:
            note_quantiles(r, t, by * by)
            _move(r, ring, t, by)
            forecast += by
        r.doubts = 0
        if r.same < t.stuck:
            calibrate(r, t, (value - forecast) / wider)
        if distance > 1:
            note_gap(r, t, distance, value - forecast)
        _learn_value(r, t, value, 1.0 / distance)
        if r.gap > 0 and not r.hold:  # what stood in for the missing values leads to this one, by a straight line
            _amend(r, ring, t, r.gap, (value - forecast) / distance, (value - forecast) / distance)
    _advance(r, ring, t, value, False)
    r.known = counted(r.known, 1)
    r.gap = r.crossed = 0


cdef void _learn_value(Record* r, const Table* t, double value, double part) noexcept nogil:
    """All members learn from a value. part: 1 over the steps since the last known one, which errors across a gap are
    multiplied by."""
    difference = value - r.last
    if r.season_on == 1:
        learn_solved(r, t, AWAKE, SOLVED, r.season_seen, difference, part)
        r.season_seen = counted(r.season_seen, 1)
    learn_shrinkage(r, t, value, difference, part)
    learn_solved(r, t, 0, AWAKE, r.learned, difference, part)
    newest = 1.0 / (r.learned + 1)
    for i in range(FIXED):  # averages of each constructed member's error and of its square (`derivative.pyx`)
        bias = r.bias[i] + ((difference - r.prediction[i]) * part - r.bias[i]) * t.averaging[i]
        r.bias[i] = bias
        r.squared_bias[i] += (bias * bias - r.squared_bias[i]) * max(t.bias_rate[i], newest)
    learn_mixture(
        r.weight, r.scale, r.peak, r.last_peak, r.prediction, t.prior[r.season_on], MEMBERS if r.season_on else BANK,
        r.learned, t, difference, part, value,
    )  # fmt: skip
    r.learned = counted(r.learned, 1)


# Memories and members.


cdef void _advance(Record* r, double* ring, const Table* t, double value, bint filled) noexcept nogil:
    """Memories, then every member's prediction of the next change, then the forecast. filled: the value stands in for
    a missing one."""
    cdef double out[SHORT_ROW]
    difference = value - r.last
    for j in range(LAGS - 1, 0, -1):
        r.lag[j] = r.lag[j - 1]
    r.lag[0] = value
    for j in range(LAGS):
        r.feature[j] = r.lag[j] - value
    for j in range(0, SHORT_ROW, 8):
        # Members are ordered by their oldest lag: those of a block read none beyond that of its last member.
        product(r.feature, t.reach[j // 8], &t.short[j], SHORT_ROW, &out[j])
    memcpy(r.prediction, out, SHORTS * sizeof(double))
    _predict_long(r, t, difference)
    for i in range(2):
        r.alternation[i] = held(difference - t.alternating[i] * r.alternation[i], MOVED)
        r.feature[MEMORY + i] = r.alternation[i] * (1.0 - t.alternating[i])
    r.count = counted(r.count, 1)
    r.mean += (value - r.mean) * max(1.0 - t.forgetting[0], 1.0 / r.count)
    r.feature[MEMORY + 2] = held(r.mean - value, MOVED)
    r.last = value
    predict_solved(r, t, 0, AWAKE, r.learned)
    ring[(r.count - 1) % RING] = value
    mark_place(r, (r.count - 1) % RING, filled)
    if r.season_on == 1:
        fill_features(r, ring, t, r.count, min(r.count, RING), 1)
        predict_solved(r, t, AWAKE, SOLVED, r.season_seen)
    mix(r, t, filled)


cdef void _predict_long(Record* r, const Table* t, double difference) noexcept nogil:
    """z ← A (z - x₁ du), and the readouts of the new z, in one product."""
    cdef double moved[ORDER]
    cdef double out[LONG_ROW]
    for w in range(WINDOWS):
        for k in range(ORDER):
            moved[k] = r.feature[LAGS + w * ORDER + k] - difference * t.steady[w][k]
        for j in range(0, LONG_ROW, 8):
            product(moved, ORDER, &t.long[t.block_of[w] + j], LONG_ROW, &out[j])
        for k in range(ORDER):
            r.feature[LAGS + w * ORDER + k] = held(out[k], MOVED)
        for i in range(LONGS):
            r.prediction[SHORTS + w * LONGS + i] = held(out[ORDER + i], MOVED)


# The ring.


cdef void mark_place(Record* r, long long place, bint missing) noexcept nogil:
    """Flag a place of the ring: whether its value is missing and a prediction stands in for it."""
    bit, flags = <long long> 1 << place % FLAGS, &r.season_filled[place // FLAGS]
    flags[0] = flags[0] | bit if missing else flags[0] & ~bit


cdef bint is_missing(const Record* r, long long ago) noexcept nogil:
    """Whether the value so many places before the newest is missing."""
    place = (r.count - 1 - ago) % RING
    return r.season_filled[place // FLAGS] >> (place % FLAGS) & 1


# Gaps.


cdef double expected(const Record* r, const Table* t) noexcept nogil:
    """The forecast of the next value; where gaps repeat the last value (`hold`), that value.

    No forecast passes a bound at which values pile up (`within_piles`), nor goes farther beyond all values seen than
    `calibration.reach`. Across a gap every step is predicted from the one before, and high degrees would diverge; so
    would members that were exact before, one step after a signal has broken off and begun anew.
    """
    ahead, known = r.last if r.hold and r.gap > 0 else within_piles(r, t, r.last + r.change), r.alarm_size[VALUE]
    if known == 0:
        return held(ahead, LARGEST)
    far = reach(r, t, r.gap + 1.0)
    return held(min(max(ahead, r.alarm_middle[VALUE][0] - far), r.alarm_middle[VALUE][known - 1] + far), LARGEST)


cdef void _miss(Record* r, double* ring, const Table* t, double instead) noexcept nogil:
    """A value is missing, or not believed: another one stands in for it. A gap leaves room in the ring for what came
    before: beyond `GAP` places its newest season is taken back for each that follows."""
    _advance(r, ring, t, instead, True)
    r.gap = counted(r.gap, 1)
    r.crossed += 1
    period = <long long> (max(r.season_periods[0], r.season_periods[1]) + 0.5)
    if r.crossed >= GAP + max(period, 1):
        r.count -= max(period, 1)
        r.crossed -= max(period, 1)


cdef void _amend(Record* r, double* ring, const Table* t, long long steps, double first, double rise) noexcept nogil:
    """The last `steps` values were others: by `first`, and each by `rise` more than the one before. Lags, ring, memories
    and alternations follow; memories know of as many as were taken one by one."""
    cdef double moved[ORDER]
    cdef double added[ORDER]
    known = min(steps, r.crossed)
    for j in range(known):
        by, place = first + rise * (steps - 1 - j), (r.count - 1 - j) % RING
        ring[place] = held(ring[place] + by, LARGEST)
        if j < LAGS:
            r.lag[j] = held(r.lag[j] + by, LARGEST)
    r.last = r.lag[0]
    for w in range(WINDOWS):
        memset(added, 0, sizeof(added))
        for n in range(known):
            for k in range(ORDER):
                moved[k] = added[k] - (rise if n > 0 else first) * t.steady[w][k]
            product(moved, ORDER, &t.long[t.block_of[w]], LONG_ROW, added)
        for k in range(ORDER):
            r.feature[LAGS + w * ORDER + k] = held(r.feature[LAGS + w * ORDER + k] + added[k], MOVED)
    for i in range(2):
        more = 0.0
        for n in range(known):
            more = (rise if n > 0 else first) - t.alternating[i] * more
        r.alternation[i] = held(r.alternation[i] + more, MOVED)


cdef void _move(Record* r, double* ring, const Table* t, double by) noexcept nogil:
    """The level has moved by `by`: so does all that is remembered of it, but what is relative to the newest value. The
    two values that were doubted are put in their places, unless others are missing too."""
    r.last = held(r.last + by, LARGEST)
    r.mean = held(r.mean + by, MOVED)
    for j in range(LAGS):
        r.lag[j] = held(r.lag[j] + by, LARGEST)
    for j in range(min(r.count, RING)):
        ring[j] = held(ring[j] + by, LARGEST)
    if r.gap == 2:
        _amend(r, ring, t, 2, r.doubted[0] - by, r.doubted[1] - r.doubted[0])
        for ago in range(2):
            mark_place(r, (r.count - 1 - ago) % RING, False)
        r.known = counted(r.known, 2)
        r.gap = 0
