r"""How unusual the recent stretch is for this stream (docs/anomalies.md): ranks among all of their past of

    change   the larger of the ranks of the forecast's error and of the difference from value to value
    value    the value itself, high or low
    level    its mean over the last 20 samples, high or low
    noise    the mean logarithm of the error's size over some 20 samples, high or low
    sum      the sum of -log10 of these four, reported where it passes all sums of the last 200 values or the last tenth

A sensor that sticks, one error that is rare by itself, and a level, spread or noise that is another one than ever are
reported by themselves. A doubted value (`past.pyx`) is ranked as it came; no more is kept of it than the past allows.
"""


cdef bint still(const Record* r, const Table* t, long long same) noexcept nogil:
    """Whether `same` differences of 0 in a row, the newest ones, are a flat line in a stream that has moved before."""
    moves, before = r.alarm_seen + 1 - resting(r), r.alarm_seen + 1 - r.same
    if same < t.stuck or moves < WINDOW:
        return False
    share = (before - moves + 1.0) / (before + 2.0)
    cdef bint usual = same < 2 * r.longest and -log10((r.rests + 1.0) / (moves + 1.0)) < t.alarms.alone
    return same * -log10(share) >= t.alarms.improbable and not usual


cdef double note_noise(Record* r, double size) noexcept nogil:
    """The logarithm of an error's size, taken into its mean over some 20 values."""
    seen, noise = r.alarm_seen + 1, &r.alarm_quantity[NOISE]
    r.alarm_error += (size - r.alarm_error) / seen
    newest = log(max(size, 1e-2 * r.alarm_error, 1e-150))
    noise[0] += (newest - noise[0]) * max(1.0 / WINDOW, 1.0 / seen)
    return newest


cdef long long note_slow(Record* r, const Table* t, double place, double noise) noexcept nogil:
    """Update the slow means of the value, of the logarithm of its distance from that mean (the spread), and
    of that of the error (the noise). Returns which of them has just gone farther from where it usually is than `far`
    of its own usual distances, or -1.

        mean ← mean + (x - mean)/slow,  z = (mean - centre)/deviation,  centre and deviation over all the past, with
        distances beyond 2.5 deviations cut to that

    What is far is the new usual after half as many values as have been seen, and is not reported again until then: where
    a stream grows, that would be its growth. Nor is another that goes far before as many values have come as it takes to
    know it: one change moves several.
    """
    found, w = -1, t.alarms.slow
    seen = r.alarm_seen + 1 - WINDOW  # the first errors are far from ordinary
    apart = fabs(place - r.slow_mean[0])
    r.slow_apart = held(r.slow_apart + (apart - r.slow_apart) / (r.alarm_seen + 1), MOVED)
    cdef bint known = seen > t.alarms.familiar * w, quiet = True
    for i in range(SLOW):
        r.slow_since[i] += 1 if r.slow_since[i] > 0 else 0
        quiet = quiet and (r.slow_since[i] == 0 or r.slow_since[i] > t.alarms.familiar * w)
    for i in range(SLOW):
        x = place if i == 0 else noise if i == 2 else log(max(apart, 1e-2 * r.slow_apart, 1e-150))
        r.slow_mean[i] += (x - r.slow_mean[i]) * max(1.0 / w, 1.0 / max(seen, 1))
        if r.slow_since[i] > min(max(t.alarms.familiar * w, 0.5 * seen), float(RING)):
            r.slow_since[i], r.slow_centre[i] = 0, r.slow_mean[i]
        if seen <= w:
            r.slow_centre[i] = r.slow_mean[i]
            continue
        off, deviation = r.slow_mean[i] - r.slow_centre[i], sqrt(r.slow_square[i])
        if known and r.slow_since[i] == 0 and fabs(off) > t.alarms.far * deviation > 0.0:
            found, r.slow_since[i], quiet = i if quiet else found, 1, False
        if known:
            off = min(max(off, -2.5 * deviation), 2.5 * deviation)
        r.slow_centre[i] += off / (seen - w)
        r.slow_square[i] += (off * off - r.slow_square[i]) / (seen - w)
    return found


cdef double usual_rank(const Record* r, long long i, long long upper, double probability) noexcept nogil:
    """The tail probability of quantity i, corrected for how often it was a record (the largest or smallest so far) on
    this side.

    The n-th value of a sequence in no order is a record with probability 1/n, and a random walk has 0.8 √n of them.
    Where a stream grows, more were: a record is then less rare by that factor, and no other value is rarer than one.
    """
    seen = float(r.alarm_seen)
    more = r.alarm_records[i][upper] - (2.0 * (1.0 + log(seen)) if i < VALUE else sqrt(seen))
    if more <= 1.0:
        return probability
    return min(max(probability, min(probability * more, more / seen)), 0.5)


cdef double rank(Record* r, long long i, bint doubted) noexcept nogil:
    """The share of earlier values of quantity i that lie at least as far out as it does, which is then put among
    them; doubted: an error or a change at the edge of what is usual, anything else not at all."""
    x, size, found = r.alarm_quantity[i], r.alarm_size[i], 0.5
    low = place_in(r, i, x)
    if r.alarm_seen >= WINDOW:
        found = tail_share(r, i, x, i != ERROR and i != DIFFERENCE and i != SUM)
        if i != SUM:
            found = usual_rank(r, i, 1 if low >= size // 2 else 0, found)
        if low == size and not doubted:
            r.alarm_records[i][1] = counted(r.alarm_records[i][1], 1)
        elif low == 0 and x < r.alarm_middle[i][0] and not doubted:
            r.alarm_records[i][0] = counted(r.alarm_records[i][0], 1)
    if i <= DIFFERENCE or not doubted:
        insert(r, i, edge(r, i) if doubted else x)
    return found


cdef void watch(
    Record* r, const Table* t, double value, double believed, double forecast, double part, bint wild, bint doubted
) noexcept nogil:
    """Rank one more value, and leave in `r.alarm` how unusual it makes the recent stretch: 0, or 1 - probability.

    believed: what of it counts for the level of the last 20 values; part: 1 over the steps since the last known one;
    wild, doubted: see `past`.
    A value that was predicted exactly is ordinary, even if it and its level are the largest so far: counters, ramps.
    """
    error, difference, level, score = value - forecast, (value - r.last) * part, believed, 0.0
    if error * error * part * part > 9.0 * r.error_scale:
        score = surprise_of(r, t, error, across(r, t, r.gap + 1.0))
    window = min(WINDOW, r.count + 1)
    for j in range(window - 1):
        level += r.lag[j]
    size = fabs(error * part)
    cdef bint exact = size <= ROUNDED * fabs(difference)
    size = 0.0 if exact else size
    r.alarm_exact = counted(r.alarm_exact, 1) if exact else 0
    quantity, tail = &r.alarm_quantity[0], &r.alarm_tail[0]
    noise = note_noise(r, edge(r, ERROR) if wild else size)
    slow = note_slow(r, t, believed, noise) if r.same < t.stuck // 2 else -1
    quantity[ERROR], quantity[DIFFERENCE], quantity[VALUE] = size, fabs(difference), value
    quantity[LEVEL] = level / window
    for i in range(RANKED):
        tail[i] = rank(r, i, doubted)
    seen = r.alarm_seen
    cdef bint noticed = slow >= 0 and not exact
    if difference == 0.0 and still(r, t, r.same) and not still(r, t, r.same - 1):
        noticed = True
    total = 0.0
    # With nothing but exact predictions in the window the noise is exact too: how small nothing is cannot be ranked.
    for i in range(RANKED if r.alarm_exact >= WINDOW else NOISE if exact else 0):
        tail[i] = 0.5
    if r.alarm_exact < WINDOW <= seen:
        total = -log10(min(tail[ERROR], tail[DIFFERENCE]) * tail[VALUE] * tail[LEVEL] * tail[NOISE])
    quantity[SUM] = total
    rarity = rank(r, SUM, doubted)
    r.alarm_seen = counted(r.alarm_seen, 1)
    r.alarm = 0.0
    if seen < WINDOW:
        return
    if total > 0.0:
        total -= log10(rarity)
    cdef bint first = not wild or r.doubts == 1  # what follows in a row is the same
    sure = t.alarms.rise * sqrt(total) if total > max(r.alarm_peak, r.alarm_last_peak) and first else 0.0
    if noticed:
        tail[LEVEL if slow == 0 else NOISE] = LEAST
    # One error may be rare by itself, where value, level and noise are not: a spike in a season or in a walk.
    cdef bint alone = score >= t.alarms.alone and -log10(tail[ERROR]) >= t.alarms.alone and first
    if noticed or alone:
        sure = max(sure, t.alarms.alone)
    if sure > 0.0:
        r.alarm = 1.0 - pow(10.0, -min(sure, seen / t.alarms.sure))
    r.alarm_peak = max(r.alarm_peak, total)
    r.alarm_left -= 1
    if r.alarm_left <= 0:  # the next block begins: a sum must exceed those of two
        r.alarm_last_peak, r.alarm_peak = r.alarm_peak, 0.0
        r.alarm_left = int(max(t.alarms.quiet, t.alarms.quiet_share * r.alarm_seen))
