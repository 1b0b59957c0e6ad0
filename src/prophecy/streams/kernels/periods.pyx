r"""Which periods a stream has: proposed by spectrum and autocorrelation of its recent values, judged by one measure.

How much of a series repeats after p samples is its autocorrelation r averaged over all multiples of p that can be seen,
each by the pairs n of known values it comes from:

    E(p) = Σⱼ n(jp) r(jp) / Σⱼ n(jp)

It is the share of the power that a mean profile over p explains, less what a profile would explain of noise. Of two
periods without common harmonics the shares add up; what is common to p and q repeats after p/a, where a q = b p.
A season keeps its phase (`wander`); of those that explain as much as any, the fewest phases are the seasons (`choose`).
"""

cdef enum:
    TRANSFORM = 8192
    SEARCH_LAGS = TRANSFORM - RING - 1
    LINES = 24  # lines of a spectrum that are kept, of which the strongest are tried as harmonics
    LINES_TRIED = 8
    MULTIPLES = 8  # multiples of a line's period, and parts of a lag, that are tried
    PEAKS = 3  # peaks of the autocorrelation that are tried
    PROPOSED = 128  # periods that are compared

cdef double[TRANSFORM] COS, SIN

# Room to look for periods in: a series and what is known of it, its autocorrelation, its lines, the periods proposed.
cdef struct Search:
    long long count
    double values[RING]
    double known[RING]
    double z[RING]
    double there[RING]
    double even
    double least
    double re[TRANSFORM]
    double im[TRANSFORM]
    long long lags
    double r[SEARCH_LAGS + 3]
    double pairs[SEARCH_LAGS + 3]
    double squares[SEARCH_LAGS + 3]
    long long lines
    double frequency[LINES]
    double strength[LINES]
    double error[LINES]
    long long proposed
    double period[PROPOSED]
    double explained[PROPOSED]


cdef inline double summed(const double* x, const double* y, long long n) noexcept nogil:
    cdef double total = 0.0
    cdef long long i
    for i in range(n):
        total += x[i] * y[i]
    return total


cdef void _fill_cosines() noexcept nogil:
    """The cosines and sines of all transforms: those of 2 `half` numbers begin at `half`."""
    cdef long long half = 1
    while half < TRANSFORM:
        for k in range(half):
            COS[half + k] = cos(2.0 * M_PI * (k * (TRANSFORM // (2 * half))) / TRANSFORM)
            SIN[half + k] = sin(2.0 * M_PI * (k * (TRANSFORM // (2 * half))) / TRANSFORM)
        half *= 2


_fill_cosines()


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
                x = far_re[k] * COS[half + k] + far_im[k] * SIN[half + k]
                y = far_im[k] * COS[half + k] - far_re[k] * SIN[half + k]
                far_re[k], far_im[k] = near_re[k] - x, near_im[k] - y
                near_re[k], near_im[k] = near_re[k] + x, near_im[k] + y
        half *= 2


# A series, its autocorrelation and its lines.


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
    s.least = 1.0 if steps else 2.0
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
            s.r[lag] = 0.25 * re[lag] / size / s.pairs[lag]
            for between in range(before + 1, lag):
                s.r[between] = s.r[before] + (s.r[lag] - s.r[before]) * (between - before) / (lag - before)
                s.pairs[between] = s.pairs[lag]
            before = lag
    s.squares[0] = 0.0
    for lag in range(1, s.lags + 1):
        s.squares[lag] = s.squares[lag - 1] + s.r[lag] * s.r[lag]


cdef void find_lines(Search* s) noexcept nogil:
    """The strongest lines of the spectrum under Hann's window: their frequencies in cycles a sample, between the places of
    the transform too, their sums of squares, and the errors of their places in cycles a record."""
    n, power, total = s.count, &s.re[0], summed(s.z, s.z, s.count)
    cdef long long size = 2
    while 2 * size < 3 * n:
        size *= 2
    for i in range(size):
        power[i] = s.z[i] * (0.5 - 0.5 * cos(2.0 * M_PI * (i + 0.5) / n)) if i < n else 0.0
        s.im[i] = 0.0
    transform(power, s.im, size)
    for i in range(size // 2 + 1):
        power[i] = (power[i] * power[i] + s.im[i] * s.im[i]) * (8.0 / n)
    s.lines = 0
    for i in range(max(truncated(1.5 * size / n), 1), size // 2):
        a, b, c = power[i - 1], power[i], power[i + 1]
        if not (b > a and b >= c and b > 0.003 * total):
            continue
        left, right = log(max(a / b, 1e-300)), log(max(c / b, 1e-300))
        between = 0.5 * (left - right) / (left + right) if left + right < 0.0 else 0.0
        top = b * exp(-0.25 * (left - right) * between)
        at = s.lines if s.lines < LINES else LINES - 1
        if s.lines == LINES and s.strength[at] >= top:
            continue
        while at > 0 and s.strength[at - 1] < top:
            s.strength[at], s.frequency[at] = s.strength[at - 1], s.frequency[at - 1]
            at -= 1
        s.strength[at], s.frequency[at] = top, (i + between) / size
        s.lines = min(s.lines + 1, LINES)
    rest = total
    for j in range(s.lines):
        rest -= s.strength[j]
    rest = max(rest, 0.0)
    while s.lines > 0 and s.strength[s.lines - 1] * n < 50.0 * rest:  # the largest of 2 000 of white noise has 24 times
        rest += s.strength[s.lines - 1]
        s.lines -= 1
    for j in range(s.lines):
        s.error[j] = min(0.06 + sqrt(4.0 * rest / (n * s.strength[j])), 0.3)


# What is made of a period.


cdef double repeats(const Search* s, double period) noexcept nogil:
    """E(p). Between two lags r is no less than their straight line, nor than both sides of a peak there, continued."""
    total, weight, at, r = 0.0, 0.0, period, &s.r[0]
    while at < s.lags - 2:
        i = truncated(at)
        part = at - i
        value = r[i] + part * (r[i + 1] - r[i])
        if part > 0.0:
            left, right = r[i] + part * (r[i] - r[i - 1]), r[i + 1] + (1.0 - part) * (r[i + 1] - r[i + 2])
            value = max(value, min(min(left, right), 1.0))
        total += s.pairs[i] * value
        weight += s.pairs[i]
        at += period
    return total / weight if weight > 0.0 else 0.0


cdef double polished(const Search* s, double period) noexcept nogil:
    """The period that the lines which are its harmonics give, by least squares; 0 where a strong line lies beside one."""
    up, down = 0.0, 0.0
    for j in range(s.lines):
        harmonic = floor(s.frequency[j] * period + 0.5)
        if harmonic > 0.0 and fabs(s.frequency[j] - harmonic / period) * s.count < s.error[j]:
            up += s.strength[j] * harmonic * harmonic
            down += s.strength[j] * harmonic * s.frequency[j]
    period = up / down if down > 0.0 else period
    strong = 0.25 * s.count * repeats(s, period)
    for j in range(s.lines):
        harmonic = floor(s.frequency[j] * period + 0.5)
        off = fabs(s.frequency[j] - harmonic / period) * s.count
        if s.error[j] < off < 0.6 and s.strength[j] > strong:
            return 0.0
    return period


cdef double rounded_period(const Search* s, double period) noexcept nogil:
    """The whole number of samples nearest to a period, where it explains nearly as much and the record hardly tells them
    apart."""
    cdef double near = nearest(period)
    cdef bint alike = fabs(period - near) < min(0.5 * period * period / s.count, 0.15)
    return near if alike and repeats(s, near) >= 0.98 * repeats(s, period) else period


cdef double tone(const Search* s, double frequency, double share) noexcept nogil:
    """The power of a tone by the autocorrelation at whole turns of it up to a share of all lags, and one turn at least:
    2 Σ n r cos(2π f lag) / Σ n."""
    total, weight, c, d = 0.0, 0.0, 1.0, 0.0
    turn, twist = cos(2.0 * M_PI * frequency), sin(2.0 * M_PI * frequency)
    for lag in range(1, min(nearest(max(floor(share * s.lags * frequency), 1.0) / frequency), s.lags) + 1):
        c, d = c * turn - d * twist, d * turn + c * twist
        total += s.pairs[lag] * s.r[lag] * c
        weight += s.pairs[lag]
    return 2.0 * total / max(weight, 1.0)


cdef double wander(const Search* s, double period) noexcept nogil:
    """The share of a period's strongest tone that fades with the lag: 0 of a season, whose phase lasts."""
    frequency = 1.0 / period
    for j in range(s.lines):
        harmonic = floor(s.frequency[j] * period + 0.5)
        if harmonic > 0.0 and fabs(s.frequency[j] - harmonic / period) * s.count < s.error[j]:
            frequency = s.frequency[j]
            break
    near = tone(s, frequency, 1.0 / 12.0)
    return 1.0 - tone(s, frequency, 1.0) / near if near > 0.0 else 1.0


# Which periods are proposed, and which are seasons.


cdef double enough(const Search* s, const Table* t, double period, double best) noexcept nogil:
    """The E from which on this period explains as much as one with the E `best`."""
    loss = t.periods.same if fabs(period - nearest(period)) < 0.02 else 3.0 * t.periods.same
    return best - max(loss * best, 2.0 / sqrt(<double> s.count))


cdef double needed(const Search* s, const Table* t, double period) noexcept nogil:
    """The E that noise does not reach: in standard deviations of white noise and, of periods seen a few times only, of a
    process with the autocorrelations found up to half the period (Bartlett). Values count twice, since their noise may be
    slow; where few events carry the power, as few pairs count: they repeat at some distance by chance."""
    lag, pairs = truncated(period), 0.0
    for j in range(1, truncated((s.lags - 2) / period) + 1):
        pairs += s.pairs[truncated(j * period)]
    least = max(s.least * t.periods.least, t.periods.deviations / sqrt(max(s.even * pairs, 1.0)))
    if s.count < 6.0 * period:
        least = max(least, 3.5 * sqrt((1.0 + 2.0 * s.squares[lag // 2]) / max(s.even * s.pairs[lag], 1.0)))
    return least


cdef void propose(Search* s, const Table* t, double period) noexcept nogil:
    """Add a period that repeats, the shorter first."""
    period = polished(s, period)
    if period == 0.0 or s.proposed == PROPOSED:
        return
    period = rounded_period(s, period)
    part = repeats(s, period)
    if part >= 0.5 * t.periods.least and period <= LONGEST:
        at = s.proposed
        while at > 0 and s.period[at - 1] > period:
            s.period[at], s.explained[at] = s.period[at - 1], s.explained[at - 1]
            at -= 1
        s.period[at], s.explained[at] = period, part
        s.proposed += 1


cdef void propose_all(Search* s, const Table* t, long long longest) noexcept nogil:
    """Fill the list of periods, the shorter first, without multiples that explain no more."""
    s.proposed = 0
    for j in range(min(s.lines, LINES_TRIED)):
        for times in range(1, MULTIPLES + 1):
            period = times / s.frequency[j]
            if SHORTEST - 0.05 <= period <= longest:
                propose(s, t, period)
    below = 2.0
    for _ in range(PEAKS):
        peak: cython.longlong = 0
        for lag in range(SHORTEST, longest + 1):
            if s.r[lag] < below and s.r[lag] >= s.r[lag - 1] and s.r[lag] > s.r[lag + 1]:
                peak = lag if peak == 0 or s.r[lag] > s.r[peak] else peak
        if peak == 0 or s.r[peak] < t.periods.least:
            break
        below = s.r[peak]
        for parts in range(1, MULTIPLES + 1):
            period = <double> peak / parts
            if period >= SHORTEST and repeats(s, period) >= 0.5 * t.periods.least:
                propose(s, t, period)
    cdef long long kept = 0
    for i in range(s.proposed):
        new: cython.bint = True
        for j in range(kept):
            apart = fabs(s.period[i] - nearest(s.period[i] / s.period[j]) * s.period[j])
            if apart < 0.1 * s.period[i] * s.period[i] / s.count + 1e-9:
                new = new and s.explained[j] < enough(s, t, s.period[j], s.explained[i])
        if new:
            s.period[kept], s.explained[kept] = s.period[i], s.explained[i]
            kept += 1
    s.proposed = 0
    for i in range(kept):
        if s.explained[i] >= needed(s, t, s.period[i]) and wander(s, s.period[i]) < t.periods.wander:
            s.period[s.proposed], s.explained[s.proposed] = s.period[i], s.explained[i]
            s.proposed += 1


cdef double common_period(const Search* s, double p, double q) noexcept nogil:
    """The period p/a of the harmonics that p and q share, where a q = b p for small whole numbers; 0 for none."""
    for a in range(1, 2 * MULTIPLES + 1):
        if fabs(a * q - floor(a * q / p + 0.5) * p) < 0.5 * p * q / s.count:
            return p / a
    return 0.0


cdef double choose(const Search* s, const Table* t, double* periods) noexcept nogil:
    """Fill one or two periods, the shorter first: the fewest phases that explain as much as any. Returns their share."""
    periods[0], periods[1] = 0.0, 0.0
    best, fewest, found = 0.0, 0.0, 0.0
    for again in range(2):
        for i in range(s.proposed):
            p, part = s.period[i], s.explained[i]
            best = max(best, part)
            if again and part >= enough(s, t, p, best) and (fewest == 0.0 or p < fewest):
                fewest, found, periods[0], periods[1] = p, part, p, 0.0
            for j in range(i + 1, s.proposed):
                q, other = s.period[j], s.explained[j]
                shared = common_period(s, p, q)
                if fabs(shared - p) < 0.01 * p:
                    continue  # q is a multiple of p
                both = min(part + other - (max(repeats(s, shared), 0.0) if shared >= 2.0 else 0.0), 1.0)
                if both - max(part, other) < max(0.5 * t.periods.least, t.periods.more * max(part, other)):
                    continue
                best = max(best, both)
                least = min(enough(s, t, p, best), enough(s, t, q, best))
                if again and both >= least and (fewest == 0.0 or p + q < fewest):
                    fewest, found, periods[0], periods[1] = p + q, both, p, q
    return found


cdef void beside_period(const Search* s, const Table* t, double part, double* periods) noexcept nogil:
    """With one season known, whose share is `part`: a shorter one inside of it, or a multiple that explains more."""
    period, most = periods[0], 0.0
    for i in range(s.proposed):
        inner, of_inner = s.period[i], s.explained[i]
        times = nearest(period / inner)
        if times < 3 or fabs(period - times * inner) > 0.01 * period:
            continue
        if of_inner > max(0.25 * part, most) and of_inner / inner > 3.0 * (part - of_inner) / (period - inner):
            # Of sharp shapes that take no whole number of samples some multiple comes nearer to one, and is no season.
            odd: cython.bint = fabs(inner - nearest(inner)) > 0.02
            periods[0], periods[1], most = inner, 0.0 if odd else times * inner, of_inner
    if most > 0.0 or fabs(period - nearest(period)) > 0.02:
        return
    most = max(t.periods.more * part, 0.5 * t.periods.least)
    for times in range(2, 2 * MULTIPLES + 1):
        more = repeats(s, times * period) - part if times * period <= min(LONGEST, s.count // 2) else 0.0
        if more > most:
            periods[1], most = times * period, 1.25 * more


cdef double examine(Search* s, const Table* t, bint steps, long long longest, double* periods) noexcept nogil:
    """Fill up to two periods of up to `longest` values, the shorter first; returns the share of the power they explain."""
    periods[0], periods[1] = 0.0, 0.0
    if not prepare(s, steps):
        return 0.0
    autocorrelation(s)
    find_lines(s)
    propose_all(s, t, longest)
    part = choose(s, t, periods)
    if periods[0] > 0.0 and periods[1] == 0.0:
        beside_period(s, t, part, periods)
    return part


cdef void find_periods(const Table* t, Search* s, double* periods, double* strengths) noexcept nogil:
    """Fill up to two periods, in samples, the shorter first, and the autocorrelation over their multiples; 0 for none.

    s.values: the recent ones, `count` of them, oldest first, without NaN; s.known: 0 where something stands in for a
    missing value, which does not count, else 1.
    """
    cdef long long longest = min(LONGEST, s.count // 2)
    cdef double of_steps[2]
    cdef double by_steps[2]
    share = examine(s, t, True, longest, of_steps)
    for i in range(2):
        by_steps[i] = repeats(s, of_steps[i]) if of_steps[i] > 0.0 else 0.0
    flat = examine(s, t, False, longest, periods)
    for i in range(2):
        strengths[i] = repeats(s, periods[i]) if periods[i] > 0.0 else 0.0
        if flat <= 0.5 * share:
            periods[i], strengths[i] = of_steps[i], by_steps[i]
