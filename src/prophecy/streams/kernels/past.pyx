r"""What is usual in a stream, and what is too far outside of it to be believed at once (docs/prophecy.md).

All the past of a quantity is held in a sketch of 48 sorted centroids, single values at the ends and coarser towards the
middle (the idea of a t-digest). A value is wild where its error and its change both pass the power law through the
quartile q₇₅ and q₉₅ of the past at a probability of 1e-4, and twice the fourth largest so far. It is a gap then: its
forecast stands in for it. Three in a row have moved the level, by the median of their errors.
"""

cdef enum:
    SINGLE = 12  # centroids at either end of a sketch that hold one value (or equal ones)
    OUTERMOST = 10  # of these, that the power law beyond the farthest is fitted to
    OFTEN = 4  # how often the past must have shown a size for it to be usual
    FEWEST = 8  # values seen before any is called wild: q₉₅ is then the largest of them, q₇₅ the second


# Sketches.


cdef long long place_in(const Record* r, long long i, double x) noexcept nogil:
    """The first of the sorted centroids of quantity i that is not below x."""
    low, high = 0, r.alarm_size[i]
    while low < high:
        half = (low + high) // 2
        if r.alarm_middle[i][half] < x:
            low = half + 1
        else:
            high = half
    return low


cdef void insert(Record* r, long long i, double x) noexcept nogil:
    """Insert x into the sketch of quantity i.

    Outer centroids hold one value (or equal ones) each. Where there is no room, two neighbours in the middle become
    one: those with the least weight over the cube of their distance from the outer ones.
    """
    cdef double* middle = r.alarm_middle[i]
    cdef double* weight = r.alarm_weight[i]
    low, size = place_in(r, i, x), r.alarm_size[i]
    if low < size and middle[low] == x:
        weight[low] = min(weight[low] + 1.0, <double> MOST)
        return
    if size == CENTROIDS:
        if SINGLE <= low < CENTROIDS - SINGLE:
            if x - middle[low - 1] < middle[low] - x:
                low -= 1
            weight[low] = min(weight[low] + 1.0, <double> MOST)
            middle[low] += (x - middle[low]) / weight[low]
            return
        lightest, best = SINGLE, INFINITY
        for k in range(SINGLE, CENTROIDS - SINGLE - 1):
            inward = min(k - SINGLE, CENTROIDS - SINGLE - 2 - k) + 1.0
            cost = (weight[k] + weight[k + 1]) / (inward * inward * inward)
            if cost < best:
                lightest, best = k, cost
        both = weight[lightest] + weight[lightest + 1]
        between = middle[lightest] + (middle[lightest + 1] - middle[lightest]) * (weight[lightest + 1] / both)
        middle[lightest], weight[lightest] = min(between, middle[lightest + 1]), min(both, <double> MOST)
        for k in range(lightest + 1, CENTROIDS - 1):
            middle[k], weight[k] = middle[k + 1], weight[k + 1]
        size -= 1
        if low > lightest:
            low -= 1
    for k in range(size, low, -1):
        middle[k], weight[k] = middle[k - 1], weight[k - 1]
    middle[low], weight[low] = x, 1.0
    r.alarm_size[i] = size + 1


cdef double tail_share(const Record* r, long long i, double x, bint both) noexcept nogil:
    """The share of earlier values at least as far out as x: above it, or with `both` on the nearer side. Beyond all of
    them a power law of the distance from the centre.

    A centroid next to x counts by up to half of its weight, in proportion to where x lies.
    """
    cdef const double* middle = r.alarm_middle[i]
    cdef const double* weight = r.alarm_weight[i]
    low, size, count = place_in(r, i, x), r.alarm_size[i], 0.0
    cdef bint upper = low >= size // 2
    if not upper and not both:
        return 0.5
    for k in range(low if upper else 0, size if upper else low):
        count += weight[k]
    if upper and low < size and low > 0 and middle[low] > x:
        count += 0.5 * (weight[low - 1] - 1.0) * ((middle[low] - x) / (middle[low] - middle[low - 1]))
    elif not upper and middle[low] == x:
        count += weight[low]
    elif not upper and low > 0:
        count += 0.5 * (weight[low] - 1.0) * ((x - middle[low - 1]) / (middle[low] - middle[low - 1]))
    if count < 0.5:
        return max(min(power_law(r, i, x, upper), 1.0 / (r.alarm_seen + 1.0)), LEAST)
    return min((count + 1.0) / (r.alarm_seen + 2.0), 0.5)


cdef double power_law(const Record* r, long long i, double x, bint upper) noexcept nogil:
    """The tail probability of x by a power law fitted to the outermost values; 1 where x lies inside of them, or they
    are too few."""
    cdef const double* middle = r.alarm_middle[i]
    cdef const double* weight = r.alarm_weight[i]
    size, sign, slope, count = r.alarm_size[i], 1.0 if upper else -1.0, 0.0, 0.0
    centre, outer = middle[size // 2], min(OUTERMOST, size // 4)
    if outer < 3:
        return 1.0
    inner, out = sign * (middle[size - outer if upper else outer - 1] - centre), sign * (x - centre)
    if not 0.0 < inner < out:
        return 1.0
    for k in range(outer):
        at = size - outer + k if upper else k
        slope += weight[at] * log(sign * (middle[at] - centre) / inner)
        count += weight[at]
    return count / r.alarm_seen * pow(out / inner, -1.0 / max(slope / count, LIGHTEST))


# Doubt.


cdef double edge(const Record* r, long long i) noexcept nogil:
    """The fourth largest: the most that the past has shown often enough to be usual."""
    seen = 0.0
    for k in range(r.alarm_size[i] - 1, -1, -1):
        seen += r.alarm_weight[i][k]
        if seen >= OFTEN:
            return r.alarm_middle[i][k]
    return 0.0


cdef double most_allowed(const Record* r, const Table* t, long long i) noexcept nogil:
    """The largest error or change (quantity i) that is not wild. Where most changes are exactly 0
    and there is no tick, no size is known: infinite. Where errors are, any is larger than the past allows."""
    seen, twentieth, quarter = 0.0, -1.0, 0.0
    for k in range(r.alarm_size[i] - 1, -1, -1):
        seen += r.alarm_weight[i][k]
        if twentieth < 0.0 and seen >= 0.05 * r.alarm_seen:
            twentieth = r.alarm_middle[i][k]
        if seen >= 0.25 * r.alarm_seen:
            quarter = r.alarm_middle[i][k]
            break
    tick = resolution(r, t)
    quarter, twentieth = max(quarter, 0.5 * tick), max(twentieth, tick)
    if not quarter > 0.0:
        return INFINITY if i == DIFFERENCE else 0.0
    heavy = max(log(twentieth / quarter) / log(5.0), LIGHTEST)
    return max(twentieth * pow(0.05 / t.doubtful, heavy), 2.0 * edge(r, i))


cdef bint is_wild(const Record* r, const Table* t, double error, double difference) noexcept nogil:
    """Whether an error and the change it came with, both a step, are larger than the past allows."""
    if r.alarm_seen < FEWEST:
        return False
    for i in range(2):
        size = fabs(error if i == ERROR else difference)
        if not size > edge(r, i) or not size > most_allowed(r, t, i):
            return False
    return True


# Ticks, rest and bounds.


cdef double resting(const Record* r) noexcept nogil:
    """How many differences so far were exactly 0."""
    return r.alarm_weight[DIFFERENCE][0] if r.alarm_size[DIFFERENCE] > 0 and r.alarm_middle[DIFFERENCE][0] == 0.0 else 0.0


cdef bint repeats_exactly(const Record* r, const Table* t) noexcept nogil:
    """Whether values repeat: one difference in `stuck` was exactly 0, which continuous values never are."""
    return r.alarm_seen >= WINDOW and resting(r) * t.stuck >= r.alarm_seen


cdef double resolution(const Record* r, const Table* t) noexcept nogil:
    """The tick of values that repeat, which is the least they have changed by; 0 of others."""
    return r.alarm_middle[DIFFERENCE][1] if r.alarm_size[DIFFERENCE] > 1 and repeats_exactly(r, t) else 0.0


cdef bint rests_half(const Record* r) noexcept nogil:
    """Whether at least half of all differences were exactly 0: a stream of events."""
    return 2.0 * resting(r) >= max(r.alarm_seen, <long long> 1)


cdef double within_piles(const Record* r, const Table* t, double ahead) noexcept nogil:
    """A forecast, not beyond the largest or smallest value where values pile up there: a bound of the sensor, or 0 of
    what cannot be negative. Values that only stand there now, as on a stair, are no pile."""
    size = r.alarm_size[VALUE]
    least = max(t.alarms.piled * r.alarm_seen, float(t.stuck), 2.0 * (r.same + 1))
    if size > 0:
        if r.alarm_weight[VALUE][size - 1] >= least:
            ahead = min(ahead, r.alarm_middle[VALUE][size - 1])
        if r.alarm_weight[VALUE][0] >= least:
            ahead = max(ahead, r.alarm_middle[VALUE][0])
    return ahead
