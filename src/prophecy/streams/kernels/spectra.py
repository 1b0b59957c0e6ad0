"""Fourier transforms, autocorrelations (also where values are missing), and folding a series on a period.

Autocorrelations show whether a series repeats (`seasons.py`). Folding shows how much of its power a mean profile over a
period explains, and so which period is the shortest that explains it.
"""

import cython
from cython.cimports.libc.math import M_PI, cos, fabs, sin
from cython.cimports.prophecy.streams.kernels.unrolled import butterflies
from cython.cimports.prophecy.streams.kernels.whole import nearest, whole

PHASES = 1.25
"""Phases a sample in the profile of a period that is no whole number of samples."""


def _fill():
    """The cosines and sines of all transforms: those of 2 `half` numbers begin at `half`."""
    half: cython.longlong = 1
    while half < TRANSFORM:
        for k in range(half):
            COS[half + k] = cos(2.0 * M_PI * (k * (HALF // half)) / TRANSFORM)
            SIN[half + k] = sin(2.0 * M_PI * (k * (HALF // half)) / TRANSFORM)
        half *= 2


_fill()


def transform(re, im, size):
    """FFT of re + i im in place, by radix 2; `size` is a power of two of at most `TRANSFORM`."""
    j: cython.longlong = 0
    for i in range(1, size):
        bit = size >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
    half: cython.longlong = 1
    while half < size:
        for block in range(size // (2 * half)):
            left, right = 2 * half * block, 2 * half * block + half
            butterflies(re + left, im + left, re + right, im + right, COS + half, SIN + half, half)
        half *= 2


def autocorrelations(a, b, n, top, of_a, of_b, room):
    """Autocorrelations of two series (n,) at lags 0 … top, corrected for the values that overlap."""
    re, im = cython.address(room.re[0]), cython.address(room.im[0])
    size: cython.longlong = 2
    while size < n + top + 1:
        size *= 2
    for i in range(size):
        re[i] = a[i] if i < n else 0.0
        im[i] = b[i] if i < n else 0.0
    transform(re, im, size)
    for i in range(size // 2 + 1):
        j = (size - i) % size
        power_a = (re[i] + re[j]) * (re[i] + re[j]) + (im[i] - im[j]) * (im[i] - im[j])
        power_b = (im[i] + im[j]) * (im[i] + im[j]) + (re[j] - re[i]) * (re[j] - re[i])
        re[i], im[i] = power_a, power_b
        re[j], im[j] = power_a, power_b
    transform(re, im, size)
    for lag in range(top + 1):
        overlap = cython.cast(cython.double, n) / (n - lag)
        of_a[lag] = re[lag] / re[0] * overlap if re[0] > 0.0 else 0.0
        of_b[lag] = im[lag] / im[0] * overlap if im[0] > 0.0 else 0.0


def of_known(t, r, top, known, n, pairs, room):
    """Autocorrelations of a series with 0 in place of missing values, made those of its known pairs.

    known (n,): 1 where a value is known, else 0; pairs gets how many pairs each lag has. Lags with fewer than
    `least_pairs` lie on a straight line between their neighbours.
    """
    many = summed(known, n)
    if many == n:
        for lag in range(top + 1):
            pairs[lag] = n - lag
        return
    masks = cython.address(room.masks[0])
    autocorrelations(known, known, n, top, masks, room.again, room)
    before: cython.longlong = -1
    for lag in range(top + 1):
        pairs[lag] = masks[lag] * many * (n - lag) / n
        if pairs[lag] < t.seasons.least_pairs:
            r[lag] = 0.0
            continue
        r[lag] /= masks[lag]
        for between in range(before + 1, lag):
            r[between] = r[before] + (r[lag] - r[before]) * (between - before) / (lag - before) if before >= 0 else 0.0
            pairs[between] = pairs[lag]
        before = lag
    for lag in range(before + 1, top + 1):
        pairs[lag] = 1.0


def profile(z, known, n, period, fine, room):
    """Sums and numbers of what is known at each phase of `period`; returns how many phases there are: one a sample or,
    where the period is no whole number, up to `fine` if there are eight values to each."""
    bins = max(nearest(period), 1)
    if fabs(period - bins) > 1e-3:
        bins = max(bins, min(whole(fine * period), n // 8))
    for phase in range(bins):
        room.total[phase], room.count[phase] = 0.0, 0.0
    at, step = 0.0, bins / period
    for i in range(n):
        phase = whole(at)
        room.total[phase] += z[i]
        room.count[phase] += known[i]
        at = at + step if at + step < bins else max(at + step - bins, 0.0)
    return bins


def explained(z, known, n, period, fine, room):
    """The power of z that a mean profile over `period`, of up to `fine` phases a sample, explains, less what it would
    explain of noise."""
    bins, between, filled = profile(z, known, n, period, fine, room), 0.0, 0.0
    for phase in range(bins):
        if room.count[phase] > 0.0:
            between += room.total[phase] * room.total[phase] / room.count[phase]
            filled += 1.0
    left = max(product(z, z, n) - between, 0.0)
    return between - left * filled / max(summed(known, n) - filled, 1.0)


def unfold(z, known, n, period, room):
    """Subtract the mean profile over `period` from what is known; returns the power left."""
    bins = profile(z, known, n, period, 4.0, room)
    at, step = 0.0, bins / period
    for i in range(n):
        phase = whole(at)
        z[i] -= known[i] * room.total[phase] / max(room.count[phase], 1.0)
        at = at + step if at + step < bins else max(at + step - bins, 0.0)
    return product(z, z, n)


def tone(z, n, frequency):
    """Squared size of the Fourier coefficient of z at a frequency in cycles a sample."""
    turn, twist = cos(2.0 * M_PI * frequency), sin(2.0 * M_PI * frequency)
    c, s, x, y = 1.0, 0.0, 0.0, 0.0
    for i in range(n):
        x += z[i] * c
        y += z[i] * s
        c, s = c * turn - s * twist, s * turn + c * twist
    return x * x + y * y


def shorter(t, z, known, n, period, room):
    """The shortest part of a period that explains nearly all that it does: a day, not two of them; 12.5, not 25.

    A sharp shape of no whole number of samples needs fine phases; but where a part has as many phases as the period has
    samples (9.6 and 48), it explains whatever the period does. So there are 2.5 samples to a phase, of two parts 1.6.
    """
    power = explained(z, known, n, period, PHASES, room)
    for parts in range(t.seasons.most_parts, 1, -1):
        part, fine = period / parts, min(max(parts / 2.5, 1.25), 2.5)
        if part >= SHORTEST and explained(z, known, n, part, fine, room) >= 0.5 * t.seasons.same * power:
            part = sharpened(z, known, n, part, room)
            if (
                explained(z, known, n, part, fine, room) >= t.seasons.same * power
                and _beside(z, n, period, parts) <= (1.0 - t.seasons.same) * power
            ):
                return part
    return period


def _beside(z, n, period, parts):
    """The power of the slow tones that a period has and its `parts` have not: a sine of 96 is none of 19.2, however
    well 38 phases of that happen to hold its 96 values."""
    power = 0.0
    for turns in range(1, parts):
        power += 2.0 * tone(z, n, turns / period) / n
    return power


def sharpened(z, known, n, period, room):
    """The period that explains most, within the resolution of z (period²/length); a whole number where none explains
    much more."""
    wide, best = period * period / n, period
    most = explained(z, known, n, period, PHASES, room)
    for i in range(-8, 9):
        near = period + 0.125 * i * wide
        power = explained(z, known, n, near, PHASES, room)
        if near >= SHORTEST - 0.5 and power > most:
            best, most = near, power
    rounded = cython.cast(cython.double, nearest(best))
    if fabs(best - rounded) < min(0.25 * wide, 0.5) and explained(z, known, n, rounded, PHASES, room) >= 0.98 * most:
        return rounded
    return best


def evenness(t, z, n):
    """The share of the values of z that carry its power, 1 up to a kurtosis of 10: a few events among many rests repeat
    at some distance by chance, and so does noise that grows with what it is the noise of."""
    total, fourth, uneven = 0.0, 0.0, 0.0
    stretches, length = t.seasons.stretches, n // t.seasons.stretches
    for i in range(n):
        square = z[i] * z[i]
        total += square
        fourth += square * square
    if not fourth > 0.0:
        return 1.0
    for i in range(stretches):
        part = product(z + i * length, z + i * length, length)
        uneven += part * part
    return min(10.0 * (total * total) / (fourth * n), 2.0 * (total * total) / (uneven * stretches), 1.0)
