r"""Members that use the seasons, and when they sleep (docs/prophecy.md, "Seasons").

Three members wake once `periods` has found a season: solved readouts of the values around one and two seasons back and
their mean over up to 16 seasons (`members.SOLVED`). They are weighed like all others; asleep they have no weight and cost nothing.
"""


cdef double behind(const double* ring, long long newest, double samples) noexcept nogil:
    """The value less than RING samples before the one at the place `newest`, by a straight line between two."""
    steps = truncated(samples)
    part = samples - steps
    place = newest - steps
    if place < 0:
        place += RING
    value = ring[place]
    if part > 0.0:
        value += part * (ring[place - 1 if place > 0 else RING - 1] - value)
    return value


cdef void fill_features(
    Record* r, const double* ring, const Table* t, long long count, long long available, long long horizon
) noexcept nogil:
    """The seasonal features as of the moment when `count` values had come, `available` of which are still in the ring.

    For the newest value u and the one predicted, `horizon` values on: for each period the values whole seasons before u,
    before the one predicted and before the one after that: the least number of seasons, one more, and on the mean; all
    less u.
    """
    last = (count - 1) % RING
    newest = ring[last]
    for s in range(2):
        features, period = r.feature + AROUND + 9 * s, r.season_periods[s]
        first = truncated(ceil((horizon + 1) / period)) if period > 0.0 else 1
        if period == 0.0 or first * period + 2.0 > available:
            for j in range(9):
                features[j] = 0.0
            continue
        final = max(min(first - 1 + t.seasons.averaged, truncated((available - 2) / period)), first)
        for j in range(3):
            total, ago = 0.0, 0 if j == 0 else horizon - 1 + j
            for b in range(first, final + 1):
                value = behind(ring, last, b * period - ago)
                total += value
                if b == first:
                    features[j] = value - newest
                if b == min(first + 1, final):
                    features[3 + j] = value - newest
            features[6 + j] = total / (final + 1 - first) - newest


# When seasons are looked for, and whether the members run.


cdef void replay(
    Record* r, const double* ring, const Table* t, long long count, long long available, long long horizon
) noexcept nogil:
    """Solve the readouts of new periods from the values in the ring; the last of them say how large the members' errors
    are. The features are then the newest ones again."""
    cdef double weights[MEMBERS]
    start_solved(r, t, AWAKE, SOLVED)
    r.season_seen = 0
    for i in range(SOLVED - AWAKE):
        r.season_errors[i] = 0.0
    for i in range(BANK, MEMBERS):
        weights[i], r.scale[i], r.peak[i], r.last_peak[i] = t.prior[1][i], 0.0, 0.0, 0.0
    period = max(r.season_periods[0], r.season_periods[1])
    longest = truncated(period * (2 if available > 2.5 * period else 1)) + 8
    for ago in range(min(available - longest, LONGEST), horizon - 1, -1):
        then = count - ago
        newest, value = ring[(then - 1) % RING], ring[(then + horizon - 1) % RING]
        fill_features(r, ring, t, then, available - ago, horizon)
        for lag in range(1, 7):
            r.feature[lag] = ring[(then - 1 - lag) % RING] - newest
        predict_solved(r, t, AWAKE, SOLVED, r.season_seen)
        if ago <= LONGEST // 8:
            learn_mixture(
                weights + BANK, r.scale + BANK, r.peak + BANK, r.last_peak + BANK, r.prediction + BANK,
                t.prior[1] + BANK, MEMBERS - BANK, r.season_seen, t, value - newest, 1.0, value,
            )  # fmt: skip
        learn_solved(r, t, AWAKE, SOLVED, r.season_seen, value - newest, 1.0)
        r.season_seen += 1
    for lag in range(1, 7):
        r.feature[lag] = r.lag[lag] - r.last


cdef void wake(Record* r, double bank) noexcept nogil:
    """Let all members that never sleep have the weight `bank` together, the seasonal ones the rest in equal parts."""
    total = 0.0
    for i in range(BANK):
        total += r.weight[i]
    for i in range(BANK):
        r.weight[i] *= bank / total
    for i in range(BANK, MEMBERS):
        r.weight[i] = (1.0 - bank) / (MEMBERS - BANK)


cdef long long next_check(long long count) noexcept nogil:
    """The number of values after which periods are looked for next, from the number seen now: 32, 48, 72, …, from
    `2 LONGEST` on every `LONGEST`."""
    cdef long long due = 32
    while due <= count and due < 2 * LONGEST:
        due += due // 2
    return due if count < due <= 2 * LONGEST else (count // LONGEST + 1) * LONGEST


cdef void check_seasons(Record* r, const double* ring, const Table* t) noexcept nogil:
    """Look for periods again, decide whether the seasonal members run, and predict anew. The room to search in is half
    a megabyte: where there is none, the check waits for the next value."""
    cdef double periods[2]
    cdef double strengths[2]
    search = <Search*> malloc(sizeof(Search))
    if search == NULL:
        return
    search.count = min(r.count, RING)
    for i in range(search.count):
        search.values[i] = ring[(r.count - search.count + i) % RING]
        search.known[i] = 0.0 if is_missing(r, search.count - 1 - i) else 1.0
    find_periods(t, search, periods, strengths)
    free(search)
    cdef bint was_on = r.season_on == 1, changed = not was_on, others = not was_on
    for s in range(2):
        before = r.season_periods[s]
        # A sixtieth of a period over the seasons averaged is noticed; a twentieth of one makes it another season.
        changed = changed or fabs(periods[s] - before) > before / (60.0 * t.seasons.averaged)
        others = others or fabs(periods[s] - before) > 0.05 * before
        r.season_periods[s], r.season_strength[s] = periods[s], strengths[s]
    r.season_check = next_check(r.count)
    # Where the forecast errs by less than a tenth of the differences seasons cannot add much, and across a hole they
    # would take the place of members that are nearly exact.
    cdef bint on = periods[0] > 0.0 and r.error_scale > 0.01 * r.scale[0]
    r.season_on = 1 if on else 0
    if on and changed:
        replay(r, ring, t, r.count, min(r.count, RING), 1)
    if on and others:  # those of periods that are merely known better now count for as much as they did
        wake(r, t.seasons.joined)
    elif was_on and not on:
        wake(r, 1.0)
    if on:
        fill_features(r, ring, t, r.count, min(r.count, RING), 1)
        predict_solved(r, t, AWAKE, SOLVED, r.season_seen)
    mix(r, t, False)
