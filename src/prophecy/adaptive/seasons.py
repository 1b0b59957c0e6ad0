r"""Which periods a stream has: peaks of the autocorrelation of its recent values, found inside the compiled step.

Two series are looked at together, the differences of the recent values (where a drifting level does not matter) and the
values less their straight line (where noise from sample to sample does not matter). A complex FFT of one plus i times
the other gives both autocorrelations at the price of one. A lag is a season if its autocorrelation r

- is a local maximum and stands above what lies on both sides of it by the same margin that r itself has to reach:
  5/√(n - lag) standard deviations of white noise, 3.5 of Bartlett's for a process with the autocorrelations found up to
  half the lag, and at least `LEAST`;
- has lasted: over the farther half of the whole multiples of the lag that can be seen (`MULTIPLES` at most), r is on
  average still half as large. A resonance excited by noise loses its phase and fails here.

Of the lags nearly as strong as the strongest the shortest is taken, so that a day is not mistaken for two; then its
mean profile is removed and what remains is searched for a longer season, such as the week over the day. The period is
fitted to the places of r's peaks at all its multiples; where r is sharp and the period no whole number of samples, it
is found as one of its multiples first and divided (`part_of`).

Seasons of 512 samples and more have been seen only a few times in the recent values. They are looked for among means
of 32 values, of which the last 512 are kept: eight times the longest season.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner

RING = 4352
"""Recent values kept per stream, in samples: two of the longest seasons and what lies around them (34 kB)."""

BLOCK, BLOCKS = 32, 512
"""Values in a mean, and means kept, for long seasons: 16 384 values in 4 kB."""

FIRST_LONG = 512
"""Samples from which on a season is looked for among the means: 16 of them to a season show its shape."""

LONGEST = 2048
"""Longest season in samples: half of what is kept, since a season must have been seen twice."""

SHORTEST = 4
"""Shortest season in samples. Shorter ones are alternations, which the solved members of the bank know."""

SHORTEST_OF_VALUES = 8
"""Shortest season looked for among the values less their line; short ones show among the differences."""

FIRST_CHECK = 32
CHECK_GROWTH = 1.5
CHECK_EVERY = 2048
"""Periods are looked for after 32 values, then 48, 72, …, and from 4096 on every 2048: about 0.3 µs a value."""

LEAST, LEAST_OF_VALUES = 0.1, 0.2
"""Smallest autocorrelation of a season, among differences and values: below 0.1 its members gain less than 1 %."""

WHITE_DEVIATIONS, BARTLETT_DEVIATIONS = 5.0, 3.5
"""Standard deviations a peak must reach. In 100 random walks and 100 series of white noise none was found
(`benchmarks/streams.py`, part `false seasons`)."""

CERTAIN = 0.9
"""An autocorrelation this high over four periods or more needs no further test: no noise is that regular."""

LASTING = 0.5
NEARLY = 0.85
INSIDE = 0.5
"""r on average at the farther multiples, of a lag 'as strong as the strongest', and of a season inside a longer one,
relative to r of the lag itself or the strongest."""

MOST_MULTIPLES = 64
"""Multiples of a period that its length is fitted to: the error of the peaks' places falls with the power 1.5."""

MOST_PARTS = 10
"""Parts of a lag that are tried as a period that is no whole number of samples: 17.3 has its first near one at 173."""

UNSURE = 1.0
"""Error of one peak's place, in the lags looked at on each side."""

ALIKE = 0.6
"""How high all peaks at the multiples of a period must stand beside the one at a whole number of samples."""

DECAYED = 1.5
"""A lag with a shorter one so many times as strong is an echo of it that has decayed: a resonance, no season."""

ALONE = 5.0
"""Deviations a lag needs of which no multiple can be seen, so that nothing shows whether it lasts."""

REMAINS = 0.01
"""Share of the power that must remain without the first season for a second to be looked for."""

LEAST_PAIRS = 24
"""Pairs of known values that a lag needs for an autocorrelation: with fewer, 5 deviations of white noise exceed 1."""

MULTIPLES = 16
"""Most multiples of a lag at which r must have lasted."""

TRANSFORM = 8192
"""Longest FFT: the recent values and as many lags as the longest season has, rounded up to a power of two."""

_ANGLES = 2.0 * np.pi * np.arange(TRANSFORM // 2) / TRANSFORM
_COS, _SIN = np.cos(_ANGLES), np.sin(_ANGLES)


@inner
def transform(re: Any, im: Any, size: int) -> None:
    """FFT of re + i im in place, by radix 2; `size` is a power of two of at most `TRANSFORM`."""
    j = 0
    for i in range(1, size):
        bit = size >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
    width = 2
    while width <= size:
        half, stride = width >> 1, TRANSFORM // width
        for start in range(0, size, width):
            for k in range(half):
                c, s = _COS[k * stride], _SIN[k * stride]
                left, right = start + k, start + k + half
                x = re[right] * c + im[right] * s
                y = im[right] * c - re[right] * s
                re[right], im[right] = re[left] - x, im[left] - y
                re[left] += x
                im[left] += y
        width <<= 1


@inner
def autocorrelations(a: Any, b: Any, top: int, of_a: Any, of_b: Any) -> None:
    """Autocorrelations of two series (n,) at lags 0 … top, corrected for the values that overlap."""
    n = len(a)
    size = 2
    while size < n + top + 1:
        size *= 2
    re, im = np.zeros(size), np.zeros(size)
    re[:n], im[:n] = a, b
    transform(re, im, size)
    for i in range(size // 2 + 1):
        j = (size - i) % size
        power_a = (re[i] + re[j]) ** 2 + (im[i] - im[j]) ** 2
        power_b = (im[i] + im[j]) ** 2 + (re[j] - re[i]) ** 2
        re[i], im[i] = power_a, power_b
        re[j], im[j] = power_a, power_b
    transform(re, im, size)
    for lag in range(top + 1):
        overlap = n / (n - lag)
        of_a[lag] = re[lag] / re[0] * overlap if re[0] > 0.0 else 0.0
        of_b[lag] = im[lag] / im[0] * overlap if im[0] > 0.0 else 0.0


@inner
def of_known(r: Any, known: Any, pairs: Any) -> None:
    """Autocorrelations of a series with 0 in place of missing values, made those of its known pairs.

    known (n,): 1 where a value is known, else 0; pairs gets how many pairs each lag has. Lags with fewer than
    `LEAST_PAIRS` lie on a straight line between their neighbours.
    """
    n, top = len(known), len(r) - 1
    if known.min() > 0.0:
        for lag in range(top + 1):
            pairs[lag] = n - lag
        return
    masks, again = np.zeros(top + 1), np.zeros(top + 1)
    autocorrelations(known, known, top, masks, again)
    before = -1
    for lag in range(top + 1):
        pairs[lag] = masks[lag] * known.sum() * (n - lag) / n
        if pairs[lag] < LEAST_PAIRS:
            r[lag] = 0.0
            continue
        r[lag] /= masks[lag]
        for between in range(before + 1, lag):
            r[between] = r[before] + (r[lag] - r[before]) * (between - before) / (lag - before) if before >= 0 else 0.0
            pairs[between] = pairs[lag]
        before = lag
    for lag in range(before + 1, top + 1):
        pairs[lag] = 1.0


@inner
def centred(z: Any, known: Any) -> float:
    """Subtract the mean and cut at 5 root mean squares, twice, so that no outlier decides; returns the power left.

    Where nothing is known (0 in `known`), z becomes 0.
    """
    many = max(known.sum(), 1.0)
    z -= (z * known).sum() / many
    z *= known
    for _ in range(2):
        most = 5.0 * math.sqrt((z * z).sum() / many)
        for i in range(len(z)):
            z[i] = min(max(z[i], -most), most)
    return (z * z).sum()  # type: ignore[no-any-return]


@inner
def unfold(z: Any, known: Any, period: float) -> float:
    """Subtract the mean profile over `period` from what is known; returns the power left."""
    bins = max(round(period), 1)
    total, count = np.zeros(bins), np.zeros(bins)
    for i in range(len(z)):
        phase = min(int((i % period) / period * bins), bins - 1)
        total[phase] += z[i]
        count[phase] += known[i]
    for i in range(len(z)):
        phase = min(int((i % period) / period * bins), bins - 1)
        z[i] -= known[i] * total[phase] / max(count[phase], 1.0)
    return (z * z).sum()  # type: ignore[no-any-return]


@inner
def strength(r: Any, lag: int, n: int, pairs: Any, least: float, squares: Any) -> float:
    """r at this lag if it is a season, else 0. pairs: how many each lag has; squares: running sum of r² from lag 1."""
    top = len(r) - 1
    if not (r[lag] >= r[lag - 1] and r[lag] > r[lag + 1]):
        return 0.0
    multiple = min(MULTIPLES, (top - 2) // lag)
    white = WHITE_DEVIATIONS / math.sqrt(pairs[lag])
    bartlett = (BARTLETT_DEVIATIONS if multiple >= 2 else ALONE) * math.sqrt(
        (1.0 + 2.0 * squares[lag // 2]) / pairs[lag]
    )
    if n >= 4 * lag:
        bartlett = min(bartlett, CERTAIN)
    floor = max(least, white, bartlett)
    if r[lag] < floor:
        return 0.0
    below = r[max(1, lag // 2) : lag].min()
    after = min(top, lag + lag // 2)
    if after > lag:
        below = max(below, r[lag + 1 : after + 1].min())
    if r[lag] - below < floor:
        return 0.0
    if multiple >= 2:
        lasting, far = 0.0, 0
        for j in range(max(2, multiple // 2), multiple + 1):
            near = 1 + j // 4 + lag // 50
            lasting += r[j * lag - near : min(j * lag + near, top) + 1].max()
            far += 1
        if lasting < LASTING * r[lag] * far:
            return 0.0
    return r[lag]  # type: ignore[no-any-return]


@inner
def shortest_strong(r: Any, n: int, pairs: Any, first: int, last: int, least: float, squares: Any) -> int:
    """The shortest lag from `first` to before `last` that is nearly as strong as the strongest; 0 for no season."""
    top = len(r) - 1
    squares[0] = 0.0
    for lag in range(1, top + 1):
        squares[lag] = squares[lag - 1] + r[lag] * r[lag]
    best, strongest = 0.0, 0.0
    for lag in range(first, last):
        if r[lag] > best:
            best = max(best, strength(r, lag, n, pairs, least, squares))
        peak = r[lag] > strongest and r[lag] >= r[lag - 1] and r[lag] > r[lag + 1] and lag < top // 2
        if peak and r[lag] - r[max(1, lag // 2) : lag].min() > 0.5 * r[lag]:
            strongest = r[lag]
    if best > 0.0 and strongest > DECAYED * best:
        return 0
    if best > 0.0:
        for lag in range(first, last):
            if r[lag] >= NEARLY * best and strength(r, lag, n, pairs, least, squares) >= NEARLY * best:
                return lag
    return 0


@inner
def centre(r: Any, about: float, half: int) -> float:
    """Where the peak of r within `half` lags of `about` has its centre of gravity, above the lowest lag there."""
    for _ in range(3):
        middle = round(about)
        first, last = max(middle - half, 0), min(middle + half, len(r) - 1)
        lowest = r[first : last + 1].min()
        total, moment = 0.0, 0.0
        for lag in range(first, last + 1):
            total += r[lag] - lowest
            moment += (r[lag] - lowest) * lag
        if not total > 0.0:
            return about
        about = moment / total
    return about


@inner
def refined(r: Any, lag: float, whole: bool) -> float:
    """The period near `lag` whose multiples lie at the peaks of r, by least squares over as many as there are; a whole
    number where that is within the error of it."""
    period, top, total, moment = lag, len(r) - 1, 0.0, 0.0
    half = max(1, int(lag / 24.0))
    for j in range(1, MOST_MULTIPLES + 1):
        if j * period + half + 1.0 > top or (j > 1 and r[round(j * period)] < 0.5 * LASTING * r[round(lag)]):
            break
        moment += j * centre(r, j * period, half)
        total += j * j
        period = moment / total
    if whole and abs(period - round(period)) < max(UNSURE * half / math.sqrt(total + 1.0), 0.002):
        period = float(round(period))
    return period


@inner
def part_of(r: Any, lag: float) -> float:
    """The period that is no whole number of samples and of which `lag` is a multiple near one, else `lag`.

    At a lag between two samples a sharp peak of r falls half on each: at the multiples of a period both together must
    stand as high above what lies halfway between as r does around `lag`.
    """
    for parts in range(MOST_PARTS, 1, -1):
        period = lag / parts
        if period < SHORTEST or abs(period - round(period)) * parts < 0.5:
            continue
        at, alike = round(lag), True
        if at + int(period) + 2 > len(r) - 1:
            continue
        level = max(r[round(lag - 0.5 * period)] + r[round(lag + 0.5 * period)], 0.0)
        for j in range(1, parts):
            left = int(j * period)
            part = j * period - left
            base = max(r[round((j - 0.5) * period)] + r[round((j + 0.5) * period)], 0.0)
            here = (1.0 - part) * r[at] + part * r[at - 1] + part * r[at] + (1.0 - part) * r[at + 1] - level
            alike = alike and here > 0.0 and r[left] + r[left + 1] - base >= ALIKE * here
        if alike:
            return period
    return lag


@inner
def named(r: Any, lag: int) -> float:
    """The period that a lag is, or is a multiple of."""
    period = part_of(r, refined(r, float(lag), False))
    return refined(r, period, True)


@inner
def same_season(longer: float, period: float) -> bool:
    """Whether the longer one is the shorter seen again: a multiple, near a whole number of samples, of a period that
    is none. A mean profile by whole samples does not take such a season away entirely."""
    times = round(longer / period)
    return abs(period - round(period)) > 0.02 and abs(longer - times * period) < 0.01 * period * times + 1.0


@inner
def find(values: Any, known: Any, periods: Any, strengths: Any) -> None:
    """Fill up to two periods, in samples, the shorter first, and their autocorrelations; 0 where there is none.

    values (n,): recent ones, oldest first, without NaN; known (n,): 0 where something stands in for a missing value,
    which does not count, else 1.
    """
    periods[:], strengths[:] = 0.0, 0.0
    n = len(values)
    top = min(LONGEST + 2, n // 2 + 2)
    if n < FIRST_CHECK:
        return
    steps, levels = np.zeros(n), np.zeros(n)
    steps[1:] = values[1:] - values[:-1]
    steps[0] = steps[1]
    both = known.copy()
    both[1:] *= known[:-1]
    place = (np.arange(n) - (np.arange(n) * known).sum() / known.sum()) * known
    levels[:] = (values - (values * known).sum() / known.sum()) * known
    levels -= (place * levels).sum() / (place * place).sum() * place
    power_steps, power_levels = centred(steps, both), centred(levels, known)
    if not (power_levels > 0.0 and np.isfinite(power_steps) and np.isfinite(power_levels)):
        return
    of_steps, of_levels = np.zeros(top + 1), np.zeros(top + 1)
    pairs, pairs_of_levels = np.zeros(top + 1), np.zeros(top + 1)
    squares, squares_of_levels = np.zeros(top + 1), np.zeros(top + 1)
    autocorrelations(steps, levels, top, of_steps, of_levels)
    of_known(of_steps, both, pairs)
    of_known(of_levels, known, pairs_of_levels)
    lag = shortest_strong(of_steps, n, pairs, SHORTEST, top, LEAST, squares)
    slow = shortest_strong(of_levels, n, pairs_of_levels, SHORTEST_OF_VALUES, top, LEAST_OF_VALUES, squares_of_levels)
    r, z, power, sums, there = of_steps, steps, power_steps, squares, both
    if slow > 0 and (lag == 0 or of_levels[slow] > of_steps[lag] + 0.2):
        lag, r, z, power, sums, there = slow, of_levels, levels, power_levels, squares_of_levels, known
        pairs = pairs_of_levels
    if lag == 0:
        return
    periods[0], strengths[0] = named(r, lag), r[lag]
    inside = 0
    for shorter in range(SHORTEST, int(0.6 * lag)):
        if r[shorter] >= INSIDE * r[lag] and strength(r, shorter, n, pairs, LEAST, sums) > 0.0:
            inside = shorter
            break
    if inside > 0 and same_season(periods[0], refined(r, float(inside), True)):
        periods[0], strengths[0] = refined(r, float(inside), True), r[inside]
        inside = 0
    if inside > 0:
        periods[1], strengths[1] = periods[0], strengths[0]
        periods[0], strengths[0] = refined(r, float(inside), True), r[inside]
        ratio = periods[1] / periods[0]
        if min(abs(ratio - 2.0), abs(ratio - 3.0)) > 0.05:
            return
    # A lone season, or one with its own half or third: is there a longer one over it?
    period = periods[1] if inside > 0 else periods[0]
    level = strengths[1] if inside > 0 else strengths[0]
    first = int(2.5 * period)
    if first < top - 2 and unfold(z, there, period) > REMAINS * power:
        autocorrelations(steps, levels, top, of_steps, of_levels)
        of_known(r, there, pairs)
        longer = shortest_strong(r, n, pairs, first, top, LEAST, sums)
        if longer > 0 and not same_season(refined(r, float(longer), True), period):
            periods[0], strengths[0] = period, level
            periods[1], strengths[1] = refined(r, float(longer), True), r[longer]


@inner
def find_long(means: Any, values: Any, known: Any, period: float, strengths: Any) -> float:
    """A season of `FIRST_LONG` samples or more that was seen four times at least, in samples, else 0.

    means (m,): of `BLOCK` values each, oldest first; values, known (n,): the recent ones, as for `find`; period: a
    shorter season found already, 0 for none. strengths[0] becomes its autocorrelation.
    """
    m = len(means)
    top = min(4 * LONGEST // BLOCK, m // 2) + 2
    first, last = max(FIRST_LONG // BLOCK, int(2.5 * period / BLOCK)), min(LONGEST // BLOCK, m // 4) + 1
    if first >= last:
        return 0.0
    levels, there = straightened(means), np.ones(m)
    power = centred(levels, there)
    if not (power > 0.0 and np.isfinite(power)):
        return 0.0
    if period > 4.0 * BLOCK:
        unfold(levels, there, period / BLOCK)
    r, again, squares, pairs = np.zeros(top + 1), np.zeros(top + 1), np.zeros(top + 1), np.zeros(top + 1)
    autocorrelations(levels, levels, top, r, again)
    of_known(r, there, pairs)
    lag = shortest_strong(r, m, pairs, first, last, LEAST_OF_VALUES, squares)
    if lag == 0:
        return 0.0
    found = refined(r, float(lag), False) * BLOCK
    if period > 0.0 and abs(found - round(found / period) * period) < BLOCK / 4:
        found = round(found / period) * period  # a week is seven days
    found = min(float(round(found)), float(LONGEST))
    strengths[0] = r[lag]
    return found if period == 0.0 or _left_without(values, known, period, int(found)) > LEAST else 0.0


@inner
def straightened(values: Any) -> Any:
    """Values less their straight line."""
    n = len(values)
    place = np.arange(n) - 0.5 * (n - 1)
    levels = values - values.mean()
    return levels - (place * levels).sum() / (place * place).sum() * place


@inner
def _left_without(values: Any, known: Any, period: float, lag: int) -> float:
    """What repeats after `lag` once a season is taken out of the recent values, as a share of their power: means of 32
    values can make a long season of a short one that they do not resolve."""
    levels = straightened(values) * known
    power = (levels * levels).sum() / max(known.sum(), 1.0)
    unfold(levels, known, period)
    total, pairs = 0.0, 0.0
    for i in range(lag, len(values)):
        total += levels[i] * levels[i - lag]
        pairs += known[i] * known[i - lag]
    return total / (pairs * power) if pairs > 0.0 and power > 0.0 else 0.0


@inner
def next_check(count: int) -> int:
    """The number of values after which periods are looked for next, from the number seen now."""
    check = FIRST_CHECK
    while check <= count and check < 2 * LONGEST:
        check = int(check * CHECK_GROWTH)
    if check > 2 * LONGEST or check <= count:
        check = (count // CHECK_EVERY + 1) * CHECK_EVERY
    return check
