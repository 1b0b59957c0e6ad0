"""How large the forecast's own errors are, and what follows: intervals and scores, across gaps too.

Errors over their discounted root mean square have tracked quantiles; beyond the largest one a power law, whose exponent
is learned from the stream's own outer errors. Intervals across gaps: docs/time.md.
"""


# Scale and quantiles.


cdef void calibrate(Record* r, const Table* t, double error) noexcept nogil:
    """Scale and quantiles of the forecast's errors."""
    cdef double squared = error * error
    if r.learned == 0:
        r.error_scale = max(squared, SMALLEST)
    note_quantiles(r, t, squared)
    update_scales(&r.error_scale, &r.error_peak, &r.last_error_peak, &squared, 1, r.learned, t, SMALLEST)


cdef void note_quantiles(Record* r, const Table* t, double squared) noexcept nogil:
    """Quantiles and tail of the errors, from the square of one: q ← q exp(η (1 - r)) where it is passed and q exp(-η r) where it
    is not, for the quantile that a share r passes. η falls with the number 2/r of errors it takes to see some beyond."""
    # Errors of exactly 0, a sensor that sticks, are no sample of how errors are distributed.
    if not (squared > SMALLEST or r.error_scale > SMALLEST):
        return
    bar = r.quantile[OUTER] * r.quantile[OUTER] * r.error_scale
    if squared > bar > 0.0:  # how heavy the tail is: the mean logarithm by which errors pass the bar (Hill's estimate)
        heavier = min(0.5 * log(squared / bar), 4.0)
        r.tail += (heavier - r.tail) * max(1.0 / t.tail_over, 1.0 / (t.block + RARE[OUTER] * (r.learned + 1)))
    first = 0.0 if rests_half(r) else 2.0 * t.first_rate / (r.learned + 1)
    for l in range(LEVELS):
        q, step_size = r.quantile[l], first / RARE[l]
        beyond_it: cython.bint = squared > q * q * r.error_scale
        if step_size > t.rate:
            q *= exp(min(step_size, t.first_rate) * ((1.0 if beyond_it else 0.0) - RARE[l]))
        else:
            q *= t.raise_by[l] if beyond_it else t.lower_by[l]
        r.quantile[l] = min(max(q, LOWEST), HIGHEST)


cdef double half_width(const Record* r, const Table* t, double normal) noexcept nogil:
    """Half the width of an interval one step ahead that would reach this normal quantile on either side: straight lines
    between the tracked quantiles, beyond the last one the power law of the tail."""
    if r.learned == 0:
        return INFINITY
    knot, before, start = 0.0, 0.0, 0.0
    for l in range(LEVELS):
        before, knot = knot, max(knot, r.quantile[l])
        if normal <= NORMAL[l]:
            return (before + (knot - before) * ((normal - start) / (NORMAL[l] - start))) * usual_error(r, t)
        start = NORMAL[l]
    rare = erfc(normal / sqrt(2.0))
    return knot * pow(RARE[LEVELS - 1] / max(rare, 1e-300), max(r.tail, LIGHTEST)) * usual_error(r, t)


cdef double surprise(const Record* r, const Table* t, double error) noexcept nogil:
    """-log10 of the probability of an error at least this large, 0 before any error is known."""
    if isnan(error):
        return NAN
    if r.learned == 0:
        return 0.0
    size = fabs(error) / usual_error(r, t)
    knot, before, above = 0.0, 0.0, 0
    for l in range(LEVELS):
        before, above = knot, l
        knot = max(knot, r.quantile[l])
        if size <= knot:
            break
    if size > knot:
        score = log10(size / knot) / max(r.tail, LIGHTEST) - log10(RARE[LEVELS - 1])
    else:
        start = NORMAL[above - 1] if above > 0 else 0.0
        normal = start + (NORMAL[above] - start) * ((size - before) / max(knot - before, SMALLEST))
        score = -log10(erfc(normal / sqrt(2.0)))
    known = log10(1.0 + r.learned)  # the largest score that the errors known allow
    if sqrt(r.error_scale) > ERROR_ROUNDING * fabs(r.last) + sqrt(SMALLEST):
        known = max(known, r.learned / t.decade)
    score = min(score, min(known, -log10(LEAST)))
    return score if score > 0.0 else 0.0  # not -0.0


cdef double surprise_of(const Record* r, const Table* t, double error, double wider) noexcept nogil:
    """The score of an error of the next value, whose interval is `wider` times as wide as one step ahead.

    Where values repeat exactly, as rounded, counted and clipped ones do, errors take a few sizes only, which tracked
    quantiles do not resolve: then it is at most -log10 of the share of all earlier errors at least as large, or of the
    power law through the outermost of them if that is less (one spike would hide all smaller jumps after it). And where
    the stream rests half of the time, and forecasts err by half as much as copying does or more, no event is rarer than
    changes of its size.
    """
    score = surprise(r, t, error / wider)
    if not score > 0.0 or not repeats_exactly(r, t):
        return score
    steps = max(wider, r.gap + 1.0)
    size, change = fabs(error) / steps, fabs(error + expected(r, t) - r.last) / steps
    rare = max(min(tail_share(r, ERROR, size, False), power_law(r, ERROR, size, True)), LEAST)
    if rests_half(r) and r.error_scale > 0.25 * r.scale[0]:
        count = 0.0
        for k in range(place_in(r, DIFFERENCE, change - 0.25 * resolution(r, t)), r.alarm_size[DIFFERENCE]):
            count += r.alarm_weight[DIFFERENCE][k]
        rare = max(rare, min(count / r.alarm_seen, 1.0))
    return min(score, -log10(rare))


# Gaps.


cdef double usual_error(const Record* r, const Table* t) noexcept nogil:
    """The usual size of an error, wider while few are known."""
    return sqrt(r.error_scale) * (1.0 + t.few / (1.0 * r.learned * r.learned))


cdef double reach(const Record* r, const Table* t, double steps) noexcept nogil:
    """How far beyond all values known a forecast may go so many steps after the last. With c the largest recent change a
    step times `gap_reach`, n values and the range R of all: max(2 c, min(h c, R min(1.5 `gap_reach` h/n, 1)))."""
    one, size = t.gap_reach * sqrt(max(r.scale[0], r.peak[0], r.last_peak[0])), r.alarm_size[VALUE]
    wide = r.alarm_middle[VALUE][size - 1] - r.alarm_middle[VALUE][0]
    return max(2.0 * one, min(one * steps, wide * min(1.5 * t.gap_reach * steps / r.count, 1.0)))


cdef double across(const Record* r, const Table* t, double steps) noexcept nogil:
    """How many times wider than one step ahead an interval is, so many steps after the newest known value.

    In proportion to them, until gaps of as many octaves have shown how far values go meanwhile; and no farther than all
    values seen and what lies within `reach` of them.
    """
    if steps < 2.0:
        return steps
    one = max(r.quantile[NINETY] * usual_error(r, t) if r.learned > 0 else 0.0, SMALLEST)
    place = _octave(steps)
    power = 3.0 if r.error_scale < 1e-8 * r.scale[0] else 1.0
    wide = one * pow(steps, power)
    for shorter in range(place, 0, -1):
        if r.gap_seen[shorter] > 0:
            # Nine in ten errors after gaps of this octave are smaller.
            after = r.gap_error[shorter] * (1.0 + t.gap_few / pow(r.gap_seen[shorter], 1.5))
            wide = max(after, one) * pow(2.0, power * (place - shorter))
            break
    known = r.alarm_size[VALUE]
    if known > 0 and r.learned > 0:
        widest = r.alarm_middle[VALUE][known - 1] - r.alarm_middle[VALUE][0]
        widest += reach(r, t, steps) + one * sqrt(steps)
        wide = widest if steps > t.clock.longest_hole else min(wide, widest)
    return max(wide / one, 1.0)


cdef long long _octave(double steps) noexcept nogil:
    """0 for a gap of one step, 1 for 2–3, 2 for 4–7, …"""
    return truncated(min(max(0.0, log2(steps)), OCTAVES - 1.0))


cdef void note_gap(Record* r, const Table* t, double steps, double error) noexcept nogil:
    """Take in the error of the first value after a gap."""
    place = _octave(steps)
    r.gap_error[place] = max(fabs(error), t.gap_fades * r.gap_error[place])
    r.gap_seen[place] = counted(r.gap_seen[place], 1)
