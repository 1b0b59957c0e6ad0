"""Lines of a spectrum, and the seasons that they are the harmonics of.

A season is a line: it keeps its phase over the whole record, so that its tone is as narrow as the record is long, and
so are those of its harmonics, at whole multiples of one frequency. A resonance that noise keeps going has a hump,
however narrow. Whether and after how many samples a series repeats is found by autocorrelations (`seasons.py`); where a
few lines make up nearly all of what repeats, its period is found here from them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner
from prophecy.adaptive.folding import LONGEST, SHORTEST
from prophecy.adaptive.spectra import transform

LINES = 24
"""Room for the strongest lines: a pulse of a tenth of its period has ten that matter."""


@inner
def spectrum(z: Any) -> Any:
    """Power of z at frequencies 0 … 1/2 cycles a sample under Hann's window, scaled so that the peak of a tone is its
    sum of squares."""
    n, size = len(z), 2
    while 2 * size < 3 * n:
        size *= 2
    re, im = np.zeros(size), np.zeros(size)
    for i in range(n):
        re[i] = z[i] * (0.5 - 0.5 * math.cos(2.0 * math.pi * (i + 0.5) / n))
    transform(re, im, size)
    return (re[: size // 2 + 1] ** 2 + im[: size // 2 + 1] ** 2) * (8.0 / n)


@inner
def find_lines(t: Any, power: Any, n: int, total: float, frequency: Any, strength: Any) -> int:
    """The strongest lines of a spectrum, in cycles a sample, and the power of each; returns how many there are."""
    size, count = 2 * (len(power) - 1), 0
    for i in range(max(int(1.5 * size / n), 1), len(power) - 1):
        a, b, c = power[i - 1], power[i], power[i + 1]
        if not (b > a and b >= c and b > t.lines.faint * total):
            continue
        left, right = math.log(max(a / b, 1e-300)), math.log(max(c / b, 1e-300))
        beside = 0.5 * (left - right) / (left + right) if left + right < 0.0 else 0.0
        top = b * math.exp(-0.25 * (left - right) * beside)
        at = count if count < LINES else LINES - 1
        if count == LINES and strength[at] >= top:
            continue
        while at > 0 and strength[at - 1] < top:
            strength[at], frequency[at] = strength[at - 1], frequency[at - 1]
            at -= 1
        strength[at], frequency[at] = top, (i + beside) / size
        count = min(count + 1, LINES)
    while count > 0:
        left = max(total - strength[:count].sum(), 0.0)
        if strength[count - 1] * n >= t.lines.noisy * left:
            break
        count -= 1
    return count


@inner
def narrow(t: Any, power: Any, n: int, frequency: Any, strength: Any, count: int, which: int) -> bool:
    """Whether a line is narrow, and no hump: a season and no resonance. Other lines close by, and the frequencies at
    which a slow one may modulate it, are left out."""
    scale = n / (2.0 * (len(power) - 1))
    line, ring, rings, far, fars = 0.0, 0.0, 0.0, 0.0, 0.0
    middle = frequency[which] * n
    for i in range(1, len(power)):
        away = abs(i * scale - middle)
        if away > t.lines.farthest:
            continue
        for j in range(count):
            at = frequency[j] * n
            other = abs(at - middle) > t.lines.beside and strength[j] > t.lines.comparable * strength[which]
            slow = at < t.lines.ring_ends and strength[j] > t.lines.slow * strength[which]
            if (other and abs(i * scale - at) < t.lines.ring) or (slow and abs(abs(i * scale - middle) - at) < 1.5):
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
    floor = far / fars * rings
    return not (ring > t.lines.above * floor and ring - floor > t.lines.pedestal * line)


@inner
def harmonics(frequency: Any, near: Any, count: int, base: float, n: int, which: Any) -> None:
    """Which multiple of `base` each line is, 0 where it is none; near: how far from it each may lie."""
    for j in range(count):
        multiple = math.floor(frequency[j] / base + 0.5)
        which[j] = multiple if abs(frequency[j] - multiple * base) * n <= near[j] else 0


@inner
def folded(t: Any, frequency: Any, strength: Any, near: Any, count: int, base: float, n: int, which: Any) -> float:
    """As `harmonics`, with multiples beyond half a cycle a sample, which appear folded back: the sharp edges of a
    period of 12.5 have such ones. Where they have more than half the power of the others they are left out: then `base`
    is another harmonic of the season (folded back, the multiples of 33/5 are all of 33). Returns the power of all."""
    harmonics(frequency, near, count, base, n, which)
    power, more, beyond = 0.0, 0.0, which.copy()
    for j in range(count):
        power += strength[j] if which[j] > 0 else 0.0
        for multiple in range(int(0.5 / base) + 1, t.lines.folded + 1):
            turns = multiple * base
            if beyond[j] == 0 and abs(abs(turns - math.floor(turns + 0.5)) - frequency[j]) * n <= near[j]:
                beyond[j] = multiple
                more += strength[j]
    if more > 0.5 * power:
        return power
    which[:] = beyond
    return power + more


@inner
def comb(t: Any, frequency: Any, strength: Any, near: Any, count: int, n: int, agreeing: int) -> tuple[float, float]:
    """The frequency whose multiples hold most of the lines' power, and that power; (0, 0) for none. Its own line must
    be among them, or `agreeing` of them be there."""
    best, most = 0.0, 0.0
    which = np.empty(LINES, dtype=np.int64)
    tried = 0
    for i in range(count):
        if strength[i] == 0.0:
            continue
        tried += 1
        if tried > t.lines.strongest:
            break
        for parts in range(1, t.seasons.most_parts + 1):
            base = frequency[i] / parts
            if base * min(2.0 * LONGEST, float(n)) < 2.0:
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
            whole = own >= t.lines.base * power or (agreeing > 0 and many >= agreeing)
            if whole and (power > 1.02 * most or (power > 0.98 * most and base > 1.01 * best)):
                best, most = up / down, power
    return best, most


@inner
def inside(t: Any, which: Any, strength: Any, count: int, base: float) -> int:
    """How many of a shorter season make the one of frequency `base`, as seven days a week; 0 where there is none."""
    highest, total = 1, 0.0
    for j in range(count):
        if which[j] > 0:
            highest, total = max(highest, which[j]), total + strength[j]
    found, most = 0, t.seasons.partly * total
    highest = min(highest, int(0.5 / base))
    for parts in range(3, min(highest, int(1.0 / (base * (SHORTEST - 0.05)))) + 1):
        power, first, others = 0.0, 0.0, 0.0
        for j in range(count):
            if which[j] > 0 and which[j] % parts == 0:
                power += strength[j]
                first = max(first, strength[j] if which[j] == parts else 0.0)
            elif 2 * which[j] > parts:
                others = max(others, strength[j])
        many = float(highest // parts)
        if first > others and power > most and power * (highest - many) > t.lines.denser * (total - power) * many:
            found, most = parts, power
    return found


@inner
def named(t: Any, z: Any, lag: int, wanted: float, enough: float, periods: Any) -> int:
    """Fill in one or two periods, in samples, the shorter first, where few lines make up nearly all of `wanted`, the
    power that repeats after `lag`. Returns how many; -1 where what repeats is a hump, and no season."""
    n, total = len(z), (z * z).sum()
    frequency, strength, near = np.empty(LINES), np.empty(LINES), np.empty(LINES)
    which = np.empty(LINES, dtype=np.int64)
    power = spectrum(z)
    count = find_lines(t, power, n, total, frequency, strength)
    if count == 0:
        return 0
    lines, main = strength[:count].sum(), -1
    for j in range(count):
        near[j] = min(t.lines.tolerance + math.sqrt(4.0 * max(total - lines, 0.0) / (n * strength[j])), t.lines.loosest)
        turns = frequency[j] * lag
        if main < 0 and turns > 0.5 and abs(turns - math.floor(turns + 0.5)) < 0.2:
            main = j
    first, of_first = comb(t, frequency, strength, near, count, n, 0)
    if first > 0.0:
        of_first = folded(t, frequency, strength, near, count, first, n, which)
    alone = first == 0.0 or main < 0 or which[main] == 0 or of_first < 1.02 * strength[main]
    if main >= 0 and alone and not narrow(t, power, n, frequency, strength, count, main):
        return -1
    if lines < enough * wanted:
        return 0
    if of_first < enough * lines:
        rest, other = strength.copy(), which.copy()
        for j in range(count):
            rest[j] = 0.0 if first > 0.0 and which[j] > 0 else rest[j]
        second, of_second = comb(t, frequency, rest, near, count, n, 0)
        all_in_one, of_all = comb(t, frequency, strength, near, count, n, t.lines.agreeing)
        if all_in_one > 0.0:
            of_all = folded(t, frequency, strength, near, count, all_in_one, n, other)
        many = np.count_nonzero(other[:count])
        two = min(first, second) > 0.0 and of_first + of_second >= enough * lines
        if two and (of_all < enough * lines or (many < t.lines.many and 2.0 * all_in_one < min(first, second))):
            return _two(
                t, max(first, second), min(first, second), near[0] - t.lines.tolerance + t.lines.clean, n, periods
            )
        first, of_first, which = all_in_one, of_all, other
    if of_first < enough * lines:
        return 0
    parts = inside(t, which, strength, count, first)
    periods[0] = _whole(1.0 / (first * max(parts, 1)), _doubt(t, near, which, count, max(parts, 1)) / n)
    periods[1] = parts * periods[0]
    return 2 if parts > 0 else 1


@inner
def _doubt(t: Any, near: Any, which: Any, count: int, parts: int) -> float:
    """Error of a comb's frequency, times `parts`, in reciprocals of the record's length: that of its line known best,
    over the multiple that line is."""
    least = t.lines.loosest
    for j in range(count):
        if which[j] > 0:
            least = min(least, (near[j] - t.lines.tolerance + t.lines.clean) * parts / which[j])
    return least  # type: ignore[no-any-return]


@inner
def _whole(period: float, doubt: float) -> float:
    """A period, as a whole number of samples where that is within `doubt`, the error of its frequency."""
    nearest = float(round(period))
    return nearest if abs(period - nearest) <= doubt * period * period and abs(period - nearest) < 0.5 else period


@inner
def _two(t: Any, short: float, long: float, near: float, n: int, periods: Any) -> int:
    """The periods of two frequencies, or the one of which both are parts."""
    for times in range(2, t.lines.most_times + 1):
        many = math.floor(times * long / short + 0.5)
        if many > 1 and abs(times / short - many / long) * long < 0.02:
            periods[0], periods[1] = _whole(times / short, near / (n * times)), 0.0
            return 1
    periods[0], periods[1] = _whole(1.0 / short, near / n), _whole(1.0 / long, near / n)
    return 2
