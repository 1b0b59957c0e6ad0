r"""Which periods a stream has: peaks of the autocorrelation of its recent values, found inside the compiled step.

Two series are examined together, the differences of the recent values (where a drifting level does not matter) and the
values less their straight line (where noise from sample to sample does not matter). A complex FFT of one plus i times
the other gives both autocorrelations at the price of one. A lag is a season if its autocorrelation r

- is a local maximum and stands above what lies on both sides of it by the same margin that r itself has to reach:
  5/√(n - lag) standard deviations of white noise, 3.5 of Bartlett's for a process with the autocorrelations found up to
  half the lag, and at least `least`;
- has lasted: over the farther half of the whole multiples of the lag that can be seen (`multiples` at most), r is on
  average still half as large. A resonance excited by noise loses its phase and fails here.

Of the lags nearly as strong as the strongest the shortest is taken. Whether that is the season, or a few of it, or
where two of no common multiple happen to meet, is decided by folding (`spectra.py`): the strongest tone, with all that
repeats with it, or the two strongest, are the seasons if they explain nearly all that the lag does; else the lag is,
its period fitted to the places of r's peaks at all its multiples; in any case the shortest part of it that explains
nearly as much. Then a shorter season is looked for inside (the day in the week), and another one in what remains.

Seasons of 512 samples and more have been seen only a few times in the recent values. They are looked for among means of
32 values, of which the last 512 are kept: eight times the longest season.
"""

import cython
from cython.cimports.libc.math import fabs, isfinite, sqrt
from cython.cimports.prophecy.streams.kernels.lines import named
from cython.cimports.prophecy.streams.kernels.spectra import (
    PHASES,
    autocorrelations,
    evenness,
    explained,
    of_known,
    product,
    sharpened,
    shorter,
    summed,
    unfold,
)
from cython.cimports.prophecy.streams.kernels.whole import nearest, whole


def centred(t, z, known, n):
    """Subtract the mean and cut at `cut` root mean squares, twice, so that no outlier decides; returns the power left.

    Where nothing is known (0 in `known`), z becomes 0.
    """
    many = max(summed(known, n), 1.0)
    mean = product(z, known, n) / many
    for i in range(n):
        z[i] = (z[i] - mean) * known[i]
    for _ in range(2):
        most = t.seasons.cut * sqrt(product(z, z, n) / many)
        for i in range(n):
            z[i] = min(max(z[i], -most), most)
    return product(z, z, n)


def strength(t, r, top, lag, n, pairs, least, squares):
    """r at this lag if it is a season, else 0. pairs: how many each lag has; squares: running sum of r² from lag 1."""
    if not (r[lag] >= r[lag - 1] and r[lag] > r[lag + 1]):
        return 0.0
    multiple = min(t.seasons.multiples, (top - 2) // lag)
    white = t.seasons.white_deviations / sqrt(pairs[lag])
    bartlett = (t.seasons.bartlett_deviations if multiple >= 2 else t.seasons.alone) * sqrt(
        (1.0 + 2.0 * squares[lag // 2]) / pairs[lag]
    )
    if n >= 4 * lag:
        bartlett = min(bartlett, t.seasons.certain)
    margin = max(least, white, bartlett)
    if r[lag] < margin:
        return 0.0
    below = least_of(r, max(1, lag // 2), lag)
    after = min(top, lag + lag // 2)
    if after > lag:
        below = max(below, least_of(r, lag + 1, after + 1))
    if r[lag] - below < margin:
        return 0.0
    if multiple >= 2:
        lasting, far = 0.0, 0
        for j in range(max(2, multiple // 2), multiple + 1):
            near = 1 + j // 4 + lag // 50
            lasting += largest_of(r, j * lag - near, min(j * lag + near, top) + 1)
            far += 1
        if lasting < t.seasons.lasting * r[lag] * far:
            return 0.0
    return r[lag]


def shortest_strong(t, r, top, n, pairs, first, last, least, squares):
    """The shortest lag from `first` to before `last` that is nearly as strong as the strongest; 0 for no season."""
    squares[0] = 0.0
    for lag in range(1, top + 1):
        squares[lag] = squares[lag - 1] + r[lag] * r[lag]
    best, strongest = 0.0, 0.0
    for lag in range(first, last):
        if r[lag] > best:
            best = max(best, strength(t, r, top, lag, n, pairs, least, squares))
        peak: cython.bint = r[lag] > strongest and r[lag] >= r[lag - 1] and r[lag] > r[lag + 1] and lag < top // 2
        if peak and r[lag] - least_of(r, max(1, lag // 2), lag) > 0.5 * r[lag]:
            strongest = r[lag]
    if best > 0.0 and strongest > t.seasons.decayed * best:
        return 0
    if best > 0.0:
        for lag in range(first, last):
            if (
                r[lag] >= t.seasons.nearly * best
                and strength(t, r, top, lag, n, pairs, least, squares) >= t.seasons.nearly * best
            ):
                return lag
    return 0


def centre(r, top, about, half):
    """Where the peak of r within `half` lags of `about` has its centre of gravity, above the lowest lag there."""
    for _ in range(3):
        middle = nearest(about)
        first, last = max(middle - half, 0), min(middle + half, top)
        lowest = least_of(r, first, last + 1)
        total, moment = 0.0, 0.0
        for lag in range(first, last + 1):
            total += r[lag] - lowest
            moment += (r[lag] - lowest) * lag
        if not total > 0.0:
            return about
        about = moment / total
    return about


def refined(t, r, top, lag, whole_samples):
    """The period near `lag` whose multiples lie at the peaks of r, by least squares over as many as there are; a whole
    number where that is within the error of it."""
    period, total, moment = lag, 0.0, 0.0
    half = max(1, whole(lag / 24.0))
    for j in range(1, t.seasons.multiples + 1):
        if j * period + half + 1.0 > top or (
            j > 1 and r[nearest(j * period)] < 0.5 * t.seasons.lasting * r[nearest(lag)]
        ):
            break
        moment += j * centre(r, top, j * period, half)
        total += j * j
        period = moment / total
    beside = fabs(period - nearest(period))
    if whole_samples and beside < max(t.seasons.unsure * half / sqrt(total + 1.0), 0.002):
        period = nearest(period)
    return period


def find(t, s, periods, strengths):
    """Fill up to two periods, in samples, the shorter first, and their autocorrelations; 0 where there is none.

    s.values: the recent ones, `count` of them, oldest first, without NaN; s.known: 0 where something stands in for a
    missing value, which does not count, else 1.
    """
    n = s.count
    top = min(LONGEST + 2, n // 2 + 2)
    room = cython.address(s.room)
    for i in range(2):
        periods[i], strengths[i] = 0.0, 0.0
    if n < t.seasons.first_check:
        return
    _differences(s)
    power_steps, power_flat = centred(t, s.steps, s.both, n), centred(t, s.flat, s.known, n)
    if not (power_flat > 0.0 and isfinite(power_steps) and isfinite(power_flat)):
        return
    autocorrelations(s.steps, s.flat, n, top, s.of_steps, s.of_flat, room)
    of_known(t, s.of_steps, top, s.both, n, s.pairs, room)
    of_known(t, s.of_flat, top, s.known, n, s.pairs_of_flat, room)
    of_steps, of_flat = evenness(t, s.steps, n), evenness(t, s.flat, n)
    for lag in range(top + 1):
        s.pairs[lag] *= of_steps
        s.pairs_of_flat[lag] *= of_flat
    lag = shortest_strong(t, s.of_steps, top, n, s.pairs, SHORTEST, top, t.seasons.least, s.squares)
    slow = shortest_strong(
        t, s.of_flat, top, n, s.pairs_of_flat, SHORTEST, top, t.seasons.least_of_values, s.squares_of_flat
    )
    r, z, power = cython.address(s.of_steps[0]), cython.address(s.steps[0]), power_steps
    there, across, squares = cython.address(s.both[0]), cython.address(s.pairs[0]), cython.address(s.squares[0])
    by_values: cython.bint = slow > 0 and (lag == 0 or s.of_flat[slow] > s.of_steps[lag] + t.seasons.by_values)
    if by_values:
        lag, r, z, power = slow, cython.address(s.of_flat[0]), cython.address(s.flat[0]), power_flat
        there, across = cython.address(s.known[0]), cython.address(s.pairs_of_flat[0])
        squares = cython.address(s.squares_of_flat[0])
    if lag == 0:
        return
    full: cython.bint = summed(there, n) > t.seasons.full * n
    lines: cython.longlong = 0
    if full:
        lines = named(t, z, n, lag, r[lag] * power, t.seasons.enough, periods, room)
    if lines < 0:
        return
    if lines == 0:
        periods[0] = refined(t, r, top, lag, True)
        if full:
            periods[0] = shorter(t, z, there, n, periods[0], room)
        inside(t, z, there, r, top, n, across, squares, periods, room)
    if periods[1] == 0.0:
        left = unfold(s.steps, s.both, n, periods[0], room)
        left_of_flat = unfold(s.flat, s.known, n, periods[0], room)
        autocorrelations(s.steps, s.flat, n, top, s.rest, s.rest_of_flat, room)
        if not by_values and left > t.seasons.remains * power_steps:
            least = t.seasons.least
            further(t, s.steps, s.both, n, s.rest, top, left, power_steps, s.pairs, squares, least, periods, room)
        if periods[1] == 0.0 and slow > 0 and left_of_flat > t.seasons.remains * power_flat:
            least, left = t.seasons.least if by_values else t.seasons.least_of_values, left_of_flat
            pairs = cython.address(s.pairs_of_flat[0])
            further(t, s.flat, s.known, n, s.rest_of_flat, top, left, power_flat, pairs, squares, least, periods, room)
    times = nearest(periods[1] / periods[0])
    if 1 < times <= t.seasons.most_days and fabs(periods[1] - times * periods[0]) < 0.01 * periods[1]:
        periods[1] = times * periods[0]  # a week is seven days
    for i in range(2):
        if periods[i] > 0.0:
            periods[i] = min(periods[i], cython.cast(cython.double, LONGEST))
            strengths[i] = r[min(nearest(periods[i]), top)]


def _differences(s):
    """The two series that are examined: the differences of the values, and the values less their straight line."""
    n, many, places = s.count, summed(s.known, s.count), 0.0
    for i in range(n):
        places += i * s.known[i]
    middle, mean = places / many, product(s.values, s.known, n) / many
    across, along = 0.0, 0.0
    for i in range(n):
        s.flat[i] = (s.values[i] - mean) * s.known[i]
        place = (i - middle) * s.known[i]
        across += place * s.flat[i]
        along += place * place
    for i in range(n):
        s.flat[i] -= across / along * ((i - middle) * s.known[i])
        s.both[i] = s.known[i] * s.known[i - 1] if i > 0 else s.known[i]
        s.steps[i] = s.values[i] - s.values[i - 1] if i > 0 else s.values[1] - s.values[0]


def inside(t, z, known, r, top, n, pairs, squares, periods, room):
    """A shorter season inside the one known, as the day in the week."""
    period = periods[0]
    for lag in range(SHORTEST, whole(0.6 * period)):
        if (
            r[lag] >= t.seasons.inside * r[nearest(period)]
            and strength(t, r, top, lag, n, pairs, t.seasons.least, squares) > 0.0
        ):
            part = sharpened(z, known, n, refined(t, r, top, lag, True), room)
            power = explained(z, known, n, period, PHASES, room)
            if explained(z, known, n, part, PHASES, room) > t.seasons.partly * power:
                periods[0], periods[1] = part, period
            return


def further(t, rest, known, n, r, top, left, power, pairs, squares, least, periods, room):
    """With one season known: is there another in the rest, of autocorrelations r and with the power `left` of
    `power`?"""
    found: cython.double[2]
    period = periods[0]
    of_known(t, r, top, known, n, pairs, room)
    even = evenness(t, rest, n)
    for i in range(top + 1):
        pairs[i] *= even
    full: cython.bint = summed(known, n) > t.seasons.full * n
    lag = shortest_strong(t, r, top, n, pairs, SHORTEST if full else whole(2.5 * period), top, least, squares)
    if lag == 0:
        return
    lines = named(t, rest, n, lag, r[lag] * left, t.seasons.enough, found, room) if full else 0
    if lines < 0:
        return
    if lines > 0:
        other = found[lines - 1]
    else:
        other = refined(t, r, top, lag, True)
        if full:
            other = shorter(t, rest, known, n, other, room)
    times = nearest(other / period)
    beside = fabs(period - nearest(period))
    if beside > 0.02 and fabs(other - times * period) < 0.01 * period * times + 1.0:
        return  # the first one seen again: no mean profile takes such a season away entirely
    # A season that is no whole number of samples leaves sharp edges behind, which repeat in their own ways.
    enough = t.seasons.least * (left if beside < 1e-3 else power)
    if explained(rest, known, n, other, PHASES, room) > enough and fabs(other - period) > other * period / n:
        periods[0], periods[1] = min(period, other), max(period, other)


def find_long(t, means, m, s, period, strengths):
    """A season of `first_long` samples or more that was seen four times at least, in samples, else 0.

    means (m,): of `MEAN_OF` values each, oldest first; s: the recent values, as for `find`, whose other arrays are
    used; period: a shorter season found already, 0 for none. strengths[0] becomes its autocorrelation.
    """
    top = min(4 * LONGEST // MEAN_OF, m // 2) + 2
    first = max(t.seasons.first_long // MEAN_OF, whole(2.5 * period / MEAN_OF))
    last = min(LONGEST // MEAN_OF, m // 4) + 1
    if first >= last:
        return 0.0
    flat, there = cython.address(s.flat[0]), cython.address(s.both[0])
    for i in range(m):
        there[i] = 1.0
    straighten(means, m, flat)
    power = centred(t, flat, there, m)
    if not (power > 0.0 and isfinite(power)):
        return 0.0
    if period > 4.0 * MEAN_OF:
        unfold(flat, there, m, period / MEAN_OF, cython.address(s.room))
    r = cython.address(s.of_flat[0])
    autocorrelations(flat, flat, m, top, r, s.of_steps, cython.address(s.room))
    of_known(t, r, top, there, m, s.pairs, cython.address(s.room))
    lag = shortest_strong(t, r, top, m, s.pairs, first, last, t.seasons.least_of_values, s.squares)
    if lag == 0:
        return 0.0
    found: cython.double = refined(t, r, top, lag, False) * MEAN_OF
    if period > 0.0 and fabs(found - nearest(found / period) * period) < MEAN_OF / 4.0:
        found = nearest(found / period) * period  # a week is seven days
    found = min(cython.cast(cython.double, nearest(found)), cython.cast(cython.double, LONGEST))
    strengths[0] = r[lag]
    return found if period == 0.0 or _left_without(s, period, whole(found)) > t.seasons.least else 0.0


def straighten(values, n, flat):
    """Values less their straight line."""
    middle, mean, across, along = 0.5 * (n - 1), summed(values, n) / n, 0.0, 0.0
    for i in range(n):
        flat[i] = values[i] - mean
        across += (i - middle) * flat[i]
        along += (i - middle) * (i - middle)
    for i in range(n):
        flat[i] -= across / along * (i - middle)


def _left_without(s, period, lag):
    """What repeats after `lag` once a season is taken out of the recent values, as a share of their power: means of 32
    values can make a long season of a short one that they do not resolve."""
    n, flat, known = s.count, cython.address(s.flat[0]), cython.address(s.known[0])
    straighten(s.values, n, flat)
    for i in range(n):
        flat[i] *= known[i]
    power = product(flat, flat, n) / max(summed(known, n), 1.0)
    unfold(flat, known, n, period, cython.address(s.room))
    total, pairs = 0.0, 0.0
    for i in range(lag, n):
        total += flat[i] * flat[i - lag]
        pairs += known[i] * known[i - lag]
    return total / (pairs * power) if pairs > 0.0 and power > 0.0 else 0.0
