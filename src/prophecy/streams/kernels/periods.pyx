r"""Which periods a stream has: those by which most of its recent values repeat, beyond what noise would.

How much of a series repeats after p samples is its autocorrelation r averaged over all multiples of p that can be seen,
each by the pairs n of known values it comes from:

    E(p) = Σⱼ n(jp) r(jp) / Σⱼ n(jp),    in standard deviations of white noise  E(p) √(Σⱼ n(jp))

It is the share of the power that a mean profile over p explains, less what a profile would explain of noise. The period
of the largest E √n is a season: a multiple of it explains no more from fewer pairs, a part of it less. What it explains
is taken out, and the rest is asked once more. A season keeps its phase (`wander`); whether it helps, the mixture says.
"""

cdef enum:
    TURNS = 4096  # steps of the half circle that cosines are kept of
    TRANSFORM = 2 * TURNS
    SEARCH_LAGS = TRANSFORM - RING - 1
    HARMONICS = 8  # tones of a period that are asked whether they keep their phase

cdef double[TURNS] COS, SIN

# Room to look for periods in: a series and what is known of it, what of it is examined, its autocorrelation.
cdef struct Search:
    long long count
    double values[RING]
    double known[RING]
    double z[RING]
    double there[RING]
    double even
    double least
    double left
    double re[TRANSFORM]
    double im[TRANSFORM]
    long long lags
    double r[SEARCH_LAGS + 1]
    double pairs[SEARCH_LAGS + 1]
    double squares[SEARCH_LAGS + 1]


cdef inline double summed(const double* x, const double* y, long long n) noexcept nogil:
    cdef double total = 0.0
    cdef long long i
    for i in range(n):
        total += x[i] * y[i]
    return total


for turn in range(TURNS):
    COS[turn], SIN[turn] = cos(2.0 * M_PI * turn / TRANSFORM), sin(2.0 * M_PI * turn / TRANSFORM)


cdef void transform(double* re, double* im, long long size) noexcept nogil:
    """FFT of re + i im in place, by radix 2; `size` is a power of two of at most `TRANSFORM`."""
    cdef long long j = 0
    for i in range(1, size):
        bit = size >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
    cdef long long half = 1
    while half < size:
        for block in range(size // (2 * half)):
            near_re, near_im = re + 2 * half * block, im + 2 * half * block
            far_re, far_im = near_re + half, near_im + half
            for k in range(half):
                turn = k * (TURNS // half)
                x = far_re[k] * COS[turn] + far_im[k] * SIN[turn]
                y = far_im[k] * COS[turn] - far_re[k] * SIN[turn]
                far_re[k], far_im[k] = near_re[k] - x, near_im[k] - y
                near_re[k], near_im[k] = near_re[k] + x, near_im[k] + y
        half *= 2


# A series and its autocorrelation.


cdef bint prepare(Search* s, bint steps) noexcept nogil:
    """Differences, or values less their straight line, into `z`: of mean 0 and mean square 1, cut at five root mean
    squares so that no outlier decides, 0 where something is not known. False where nothing moves."""
    n, z, there = s.count, &s.z[0], &s.there[0]
    middle, along, across = 0.0, 0.0, 0.0
    for i in range(n):
        there[i] = s.known[i] * s.known[i - 1] if steps and i > 0 else s.known[i]
        z[i] = s.values[i] if not steps else s.values[i] - s.values[i - 1] if i > 0 else s.values[1] - s.values[0]
        middle += i * there[i]
    many = max(summed(there, there, n), 1.0)
    mean, middle = summed(z, there, n) / many, middle / many
    for i in range(n):
        z[i] = (z[i] - mean) * there[i]
        across += (i - middle) * z[i]
        along += (i - middle) * (i - middle) * there[i]
    if not steps and along > 0.0:
        for i in range(n):
            z[i] -= across / along * (i - middle) * there[i]
    for _ in range(2):
        most = 5.0 * sqrt(summed(z, z, n) / many)
        for i in range(n):
            z[i] = min(max(z[i], -most), most)
    scale = sqrt(summed(z, z, n) / many)
    if not (scale > 0.0 and isfinite(scale)):
        return False
    fourth = 0.0
    for i in range(n):
        z[i] /= scale
        fourth += z[i] * z[i] * z[i] * z[i]
    s.even = min(10.0 * many / fourth, 1.0)
    s.least, s.left = 1.0 if steps else 2.0, 1.0
    return True


cdef void autocorrelation(Search* s) noexcept nogil:
    """r at lags 0 … s.lags, with the pairs of known values of each: those of z + i there, by one transform. Where there
    are none, r lies on a straight line between its neighbours."""
    n, re, im = s.count, &s.re[0], &s.im[0]
    s.lags = min(SEARCH_LAGS, n - 8)
    cdef long long size = 2
    while size < n + s.lags + 1:
        size *= 2
    for i in range(size):
        re[i] = s.z[i] if i < n else 0.0
        im[i] = s.there[i] if i < n else 0.0
    transform(re, im, size)
    for i in range(size // 2 + 1):
        j = (size - i) % size
        power = (re[i] + re[j]) * (re[i] + re[j]) + (im[i] - im[j]) * (im[i] - im[j])
        pairs = (im[i] + im[j]) * (im[i] + im[j]) + (re[j] - re[i]) * (re[j] - re[i])
        re[i], im[i] = power, pairs
        re[j], im[j] = power, pairs
    transform(re, im, size)
    cdef long long before = 0
    for lag in range(s.lags + 1):
        s.pairs[lag] = max(0.25 * im[lag] / size, 0.0)
        s.r[lag] = 0.0
        if s.pairs[lag] > 0.5:
            s.r[lag] = min(0.25 * re[lag] / size / s.pairs[lag], 1.0)
            for between in range(before + 1, lag):
                s.r[between] = s.r[before] + (s.r[lag] - s.r[before]) * (between - before) / (lag - before)
                s.pairs[between] = s.pairs[lag]
            before = lag
    s.squares[0] = 0.0
    for lag in range(1, s.lags + 1):
        s.squares[lag] = s.squares[lag - 1] + s.r[lag] * s.r[lag]


# What is made of a period.


cdef (double, double) repeats(const Search* s, double period) noexcept nogil:
    """E(p), and the pairs it comes from; between two lags r lies on their straight line."""
    total, weight, at = 0.0, 0.0, period
    while at < s.lags - 1:
        i = truncated(at)
        total += s.pairs[i] * (s.r[i] + (at - i) * (s.r[i + 1] - s.r[i]))
        weight += s.pairs[i]
        at += period
    return total / max(weight, 1.0), weight


cdef double slower(const Search* s, double period) noexcept nogil:
    """How many times larger than of white noise the standard deviation of E is, for a process with the autocorrelations
    found up to half the period (Bartlett)."""
    return sqrt(1.0 + 2.0 * s.squares[truncated(0.5 * period)])


cdef double needed(const Search* s, const Table* t, double period, double pairs) noexcept nogil:
    """The E that noise does not reach, white or slower, unless what is left is hardly a tenth of all power. Values count
    twice, since their noise may be slow; where few events carry the power, as few pairs count: they repeat at some
    distance by chance."""
    white = t.seasons.deviations / sqrt(max(s.even * pairs, 1.0))
    return max(s.least * t.seasons.least, white, min(white * slower(s, period), 1.0 - 0.1 / s.left))


cdef double tone(const Search* s, double frequency, double share) noexcept nogil:
    """The power of a tone by the autocorrelation at whole turns of it up to a share of all lags, and one turn at least:
    2 Σ n r cos(2π f lag) / Σ n."""
    total, weight, c, d = 0.0, 0.0, 1.0, 0.0
    turn, twist = cos(2.0 * M_PI * frequency), sin(2.0 * M_PI * frequency)
    for lag in range(1, min(truncated(rint(max(floor(share * s.lags * frequency), 1.0) / frequency)), s.lags) + 1):
        c, d = c * turn - d * twist, d * turn + c * twist
        total += s.pairs[lag] * s.r[lag] * c
        weight += s.pairs[lag]
    return 2.0 * total / max(weight, 1.0)


cdef double wander(const Search* s, double period) noexcept nogil:
    """The share of a period's strongest tone that fades with the lag: 0 of a season, whose phase lasts, and where no tone
    has half of what repeats."""
    frequency, near = 0.0, 0.5 * max(repeats(s, period)[0], 0.0)
    for harmonic in range(1, min(HARMONICS, truncated(0.5 * period)) + 1):
        power = tone(s, harmonic / period, 1.0 / 12.0)
        if power > near:
            frequency, near = harmonic / period, power
    return 1.0 - tone(s, frequency, 1.0) / near if frequency > 0.0 else 0.0


# Which periods are seasons.


cdef double refined(const Search* s, double period, double unit) noexcept nogil:
    """The period of the largest E nearby, as far as multiples of it tell periods apart; a multiple of another season
    (`unit`, or 0) or of a sample where its E is less by no more than a standard deviation of what does not repeat."""
    step, best, found = 0.25 * period / s.lags, -INFINITY, period
    cdef long long most = truncated(min(0.5 / step, 2.0 * period))
    for i in range(-most, most + 1):
        share = repeats(s, period + i * step)[0]
        if share > best:
            best, found = share, period + i * step
    for i in range(2):
        whole = unit if i == 0 else 1.0
        near = whole * rint(found / whole) if whole > 0.0 else 0.0
        share, pairs = repeats(s, max(near, SHORTEST))
        if near > 0.0 and share >= best - (1.0 - best) * slower(s, near) / sqrt(max(pairs, 1.0)):
            return near
    return found


cdef double strongest_period(const Search* s, const Table* t, long long longest, double other) noexcept nogil:
    """The period of up to `longest` samples of the largest E √n, of those that noise does not reach; 0 for none. other:
    a season already found, or 0."""
    found, most = 0.0, 0.0
    for lag in range(SHORTEST, longest + 1):
        share, pairs = repeats(s, lag)
        if share * sqrt(pairs) > most and share >= needed(s, t, lag, pairs):
            found, most = <double> lag, share * sqrt(pairs)
    if found == 0.0:
        return 0.0
    # Of a period that is no whole number of samples some multiple is nearly one.
    whole, most = refined(s, found, other), 0.0
    for parts in range(1, truncated(whole / (SHORTEST - 0.05)) + 1):
        share, pairs = repeats(s, whole / parts)
        if share * sqrt(pairs) > most or parts == 1:
            found, most = whole / parts, share * sqrt(pairs)
    return found if found == whole else refined(s, found, other)


cdef void take_out(Search* s, double period) noexcept nogil:
    """Take the mean profile over a period out of the series, whose mean square is 1 again then; `left` is what it was."""
    cdef double whole = rint(period)
    cdef double phases = whole if whole == period else max(min(4.0 * period, s.count / 8.0), period)
    total, many, known = &s.re[0], &s.im[0], 0.0
    for j in range(truncated(phases) + 1):
        total[j] = many[j] = 0.0
    for again in range(2):
        for i in range(s.count):
            j = truncated((i / period - floor(i / period)) * phases + 1e-6)
            if not again:
                total[j] += s.z[i]
                many[j] += s.there[i]
            elif s.there[i] > 0.0:
                s.z[i] -= total[j] / many[j]
                known += 1.0
    left = summed(s.z, s.z, s.count) / max(known, 1.0)
    for i in range(s.count):
        s.z[i] /= sqrt(max(left, SMALLEST))
    s.left *= left


cdef double examine(Search* s, const Table* t, bint steps, double* periods, double* strengths) noexcept nogil:
    """Fill up to two periods, the shorter first, and the shares of the power that they explain, 0 for none; returns the
    sum of these."""
    cdef long long longest = min(LONGEST, s.count // 2)
    periods[0], periods[1], strengths[0], strengths[1] = 0.0, 0.0, 0.0, 0.0
    if not prepare(s, steps):
        return 0.0
    for i in range(2):
        autocorrelation(s)
        period = strongest_period(s, t, longest, periods[0])
        if period == 0.0 or wander(s, period) >= t.seasons.wander:
            break
        share = s.left * repeats(s, period)[0]
        if share < t.seasons.more * strengths[0]:
            break
        periods[i], strengths[i] = period, share
        take_out(s, period)
        if s.left < 1e-6:
            break
    if 0.0 < periods[1] < periods[0]:
        periods[0], periods[1], strengths[0], strengths[1] = periods[1], periods[0], strengths[1], strengths[0]
    return strengths[0] + strengths[1]


cdef void find_periods(const Table* t, Search* s, double* periods, double* strengths) noexcept nogil:
    """Fill up to two periods, in samples, the shorter first, and what they explain; 0 for none.

    s.values: the recent ones, `count` of them, oldest first, without NaN; s.known: 0 where something stands in for a
    missing value, which does not count, else 1. Differences of the values are asked too: a drifting level does not matter
    to them.
    """
    cdef double of_steps[2]
    cdef double by_steps[2]
    share = examine(s, t, True, of_steps, by_steps)
    if examine(s, t, False, periods, strengths) <= 0.5 * share:
        for i in range(2):
            periods[i], strengths[i] = of_steps[i], by_steps[i]
