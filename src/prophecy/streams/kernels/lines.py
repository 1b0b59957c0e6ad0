"""Lines of a spectrum, and the seasons that they are the harmonics of.

A season is a line: it keeps its phase over the whole record, so that its tone is as narrow as the record is long, and
so are those of its harmonics, at whole multiples of one frequency. A resonance that noise keeps going has a hump,
however narrow. Whether and after how many samples a series repeats is found by autocorrelations (`seasons.py`); where a
few lines make up nearly all of what repeats, its period is found here from them.
"""

import cython
from cython.cimports.libc.math import M_PI, cos, exp, fabs, floor, log, sqrt
from cython.cimports.prophecy.streams.kernels.spectra import product, summed, transform
from cython.cimports.prophecy.streams.kernels.whole import nearest, whole


def spectrum(z, n, room):
    """Power of z at frequencies 0 … 1/2 cycles a sample under Hann's window, scaled so that the peak of a tone is its
    sum of squares; left in `room.re`. Returns how many frequencies there are."""
    size: cython.longlong = 2
    while 2 * size < 3 * n:
        size *= 2
    for i in range(size):
        room.re[i] = z[i] * (0.5 - 0.5 * cos(2.0 * M_PI * (i + 0.5) / n)) if i < n else 0.0
        room.im[i] = 0.0
    transform(room.re, room.im, size)
    for i in range(size // 2 + 1):
        room.re[i] = (room.re[i] * room.re[i] + room.im[i] * room.im[i]) * (8.0 / n)
    return size // 2 + 1


def find_lines(t, power, bins, n, total, frequency, strength):
    """The strongest lines of a spectrum, in cycles a sample, and the power of each; returns how many there are."""
    size, count = 2 * (bins - 1), cython.cast(cython.longlong, 0)
    for i in range(max(whole(1.5 * size / n), 1), bins - 1):
        a, b, c = power[i - 1], power[i], power[i + 1]
        if not (b > a and b >= c and b > t.lines.faint * total):
            continue
        left, right = log(max(a / b, 1e-300)), log(max(c / b, 1e-300))
        beside = 0.5 * (left - right) / (left + right) if left + right < 0.0 else 0.0
        top = b * exp(-0.25 * (left - right) * beside)
        at = count if count < LINES else LINES - 1
        if count == LINES and strength[at] >= top:
            continue
        while at > 0 and strength[at - 1] < top:
            strength[at], frequency[at] = strength[at - 1], frequency[at - 1]
            at -= 1
        strength[at], frequency[at] = top, (i + beside) / size
        count = min(count + 1, LINES)
    while count > 0:
        left = max(total - summed(strength, count), 0.0)
        if strength[count - 1] * n >= t.lines.noisy * left:
            break
        count -= 1
    return count


def narrow(t, power, bins, n, frequency, strength, count, which):
    """Whether a line is narrow, and no hump: a season and no resonance. Other lines close by, and the frequencies at
    which a slow one may modulate it, are left out."""
    scale = n / (2.0 * (bins - 1))
    line, ring, rings, far, fars = 0.0, 0.0, 0.0, 0.0, 0.0
    middle = frequency[which] * n
    for i in range(1, bins):
        away = fabs(i * scale - middle)
        if away > t.lines.farthest:
            continue
        for j in range(count):
            at = frequency[j] * n
            other: cython.bint = (
                fabs(at - middle) > t.lines.beside and strength[j] > t.lines.comparable * strength[which]
            )
            slow: cython.bint = at < t.lines.ring_ends and strength[j] > t.lines.slow * strength[which]
            if (other and fabs(i * scale - at) < t.lines.ring) or (slow and fabs(fabs(i * scale - middle) - at) < 1.5):
                away = t.lines.farthest + 1.0
        if away <= t.lines.near:
            line += power[i]
        elif t.lines.ring <= away <= t.lines.ring_ends:
            ring += power[i]
            rings += 1.0
        elif t.lines.far <= away <= t.lines.farthest:
            far += power[i]
            fars += 1.0
    if rings == 0.0 or fars < 4.0:
        return True
    level = far / fars * rings
    return not (ring > t.lines.above * level and ring - level > t.lines.pedestal * line)


def harmonics(frequency, near, count, base, n, which):
    """Which multiple of `base` each line is, 0 where it is none; near: how far from it each may lie."""
    for j in range(count):
        multiple = whole(floor(frequency[j] / base + 0.5))
        which[j] = multiple if fabs(frequency[j] - multiple * base) * n <= near[j] else 0


def folded(t, frequency, strength, near, count, base, n, which):
    """As `harmonics`, with multiples beyond half a cycle a sample, which appear folded back: the sharp edges of a
    period of 12.5 have such ones. Where they have more than half the power of the others they are left out: then `base`
    is another harmonic of the season (folded back, the multiples of 33/5 are all of 33). Returns the power of all."""
    beyond: cython.longlong[LINES]
    harmonics(frequency, near, count, base, n, which)
    power, more = 0.0, 0.0
    for j in range(count):
        beyond[j] = which[j]
        power += strength[j] if which[j] > 0 else 0.0
        for multiple in range(whole(0.5 / base) + 1, t.lines.folded + 1):
            turns = multiple * base
            if beyond[j] == 0 and fabs(fabs(turns - floor(turns + 0.5)) - frequency[j]) * n <= near[j]:
                beyond[j] = multiple
                more += strength[j]
    if more > 0.5 * power:
        return power
    for j in range(count):
        which[j] = beyond[j]
    return power + more


def comb(t, frequency, strength, near, count, n, agreeing):
    """The frequency whose multiples hold most of the lines' power, and that power; (0, 0) for none. Its own line must
    be among them, or `agreeing` of them be there."""
    which: cython.longlong[LINES]
    best, most = 0.0, 0.0
    tried = 0
    for i in range(count):
        if strength[i] == 0.0:
            continue
        tried += 1
        if tried > t.lines.strongest:
            break
        for parts in range(1, t.seasons.most_parts + 1):
            base = frequency[i] / parts
            if base * min(2.0 * LONGEST, cython.cast(cython.double, n)) < 2.0:
                break
            if base * (SHORTEST - 0.05) > 1.0:
                continue
            harmonics(frequency, near, count, base, n, which)
            own, power, up, down, many = 0.0, 0.0, 0.0, 0.0, 0
            for j in range(count):
                if which[j] > 0 and strength[j] > 0.0:
                    power += strength[j]
                    own += strength[j] if which[j] == 1 else 0.0
                    up += strength[j] * which[j] * frequency[j]
                    down += strength[j] * which[j] * which[j]
                    many += 1
            complete: cython.bint = own >= t.lines.base * power or (agreeing > 0 and many >= agreeing)
            if complete and (power > 1.02 * most or (power > 0.98 * most and base > 1.01 * best)):
                best, most = up / down, power
    return best, most


def inside(t, which, strength, count, base):
    """How many of a shorter season make the one of frequency `base`, as seven days a week; 0 where there is none."""
    highest: cython.longlong = 1
    found: cython.longlong = 0
    total = 0.0
    for j in range(count):
        if which[j] > 0:
            highest, total = max(highest, which[j]), total + strength[j]
    most = t.seasons.partly * total
    highest = min(highest, whole(0.5 / base))
    for parts in range(3, min(highest, whole(1.0 / (base * (SHORTEST - 0.05)))) + 1):
        power, first, others = 0.0, 0.0, 0.0
        for j in range(count):
            if which[j] > 0 and which[j] % parts == 0:
                power += strength[j]
                first = max(first, strength[j] if which[j] == parts else 0.0)
            elif 2 * which[j] > parts:
                others = max(others, strength[j])
        many = highest // parts
        if first > others and power > most and power * (highest - many) > t.lines.denser * (total - power) * many:
            found, most = parts, power
    return found


def named(t, z, n, lag, wanted, enough, periods, room):
    """Fill in one or two periods, in samples, the shorter first, where few lines make up nearly all of `wanted`, the
    power that repeats after `lag`. Returns how many; -1 where what repeats is a hump, and no season."""
    frequency: cython.double[LINES]
    strength: cython.double[LINES]
    near: cython.double[LINES]
    rest: cython.double[LINES]
    which: cython.longlong[LINES]
    other: cython.longlong[LINES]
    total = product(z, z, n)
    bins = spectrum(z, n, room)
    count = find_lines(t, room.re, bins, n, total, frequency, strength)
    if count == 0:
        return 0
    lines, main = summed(strength, count), cython.cast(cython.longlong, -1)
    for j in range(count):
        near[j] = min(t.lines.tolerance + sqrt(4.0 * max(total - lines, 0.0) / (n * strength[j])), t.lines.loosest)
        which[j] = 0
        turns = frequency[j] * lag
        if main < 0 and turns > 0.5 and fabs(turns - floor(turns + 0.5)) < 0.2:
            main = j
    first, of_first = comb(t, frequency, strength, near, count, n, 0)
    if first > 0.0:
        of_first = folded(t, frequency, strength, near, count, first, n, which)
    alone: cython.bint = first == 0.0 or main < 0 or which[main] == 0 or of_first < 1.02 * strength[main]
    if main >= 0 and alone and not narrow(t, room.re, bins, n, frequency, strength, count, main):
        return -1
    if lines < enough * wanted:
        return 0
    if of_first < enough * lines:
        for j in range(count):
            rest[j] = 0.0 if first > 0.0 and which[j] > 0 else strength[j]
            other[j] = which[j]
        second, of_second = comb(t, frequency, rest, near, count, n, 0)
        all_in_one, of_all = comb(t, frequency, strength, near, count, n, t.lines.agreeing)
        if all_in_one > 0.0:
            of_all = folded(t, frequency, strength, near, count, all_in_one, n, other)
        many: cython.longlong = 0
        for j in range(count):
            many += other[j] != 0
        two: cython.bint = min(first, second) > 0.0 and of_first + of_second >= enough * lines
        if two and (of_all < enough * lines or (many < t.lines.many and 2.0 * all_in_one < min(first, second))):
            error = near[0] - t.lines.tolerance + t.lines.clean
            return _two(t, max(first, second), min(first, second), error, n, periods)
        first, of_first = all_in_one, of_all
        for j in range(count):
            which[j] = other[j]
    if of_first < enough * lines:
        return 0
    parts = inside(t, which, strength, count, first)
    periods[0] = _whole(1.0 / (first * max(parts, 1)), _doubt(t, near, which, count, max(parts, 1)) / n)
    periods[1] = parts * periods[0]
    return 2 if parts > 0 else 1


def _doubt(t, near, which, count, parts):
    """Error of a comb's frequency, times `parts`, in reciprocals of the record's length: that of its line known best,
    over the multiple that line is."""
    least = t.lines.loosest
    for j in range(count):
        if which[j] > 0:
            least = min(least, (near[j] - t.lines.tolerance + t.lines.clean) * parts / which[j])
    return least


def _whole(period, doubt):
    """A period, as a whole number of samples where that is within `doubt`, the error of its frequency."""
    beside = fabs(period - nearest(period))
    return nearest(period) if beside <= doubt * period * period and beside < 0.5 else period


def _two(t, fast, slow, near, n, periods):
    """The periods of two frequencies, or the one of which both are parts."""
    for times in range(2, t.lines.most_times + 1):
        many = whole(floor(times * slow / fast + 0.5))
        if many > 1 and fabs(times / fast - many / slow) * slow < 0.02:
            periods[0], periods[1] = _whole(times / fast, near / (n * times)), 0.0
            return 1
    periods[0], periods[1] = _whole(1.0 / fast, near / n), _whole(1.0 / slow, near / n)
    return 2
