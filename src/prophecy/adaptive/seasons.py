r"""Which periods a stream has: peaks of the autocorrelation of its recent values, found inside the compiled step.

Two series are looked at together, the differences of the recent values (where a drifting level does not matter) and the
values less their straight line (where noise from sample to sample does not matter). A complex FFT of one plus i times
the other gives both autocorrelations at the price of one. A lag is a season if its autocorrelation r

- is a local maximum and stands above what lies on both sides of it by the same margin that r itself has to reach:
  5/√(n - lag) standard deviations of white noise, 3.5 of Bartlett's for a process with the autocorrelations found up to
  half the lag, and at least `LEAST`;
- has lasted: at the largest whole multiple of the lag that can be seen (eight at most), r is still half as large. A
  resonance excited by noise loses its phase and fails here.

Of the lags nearly as strong as the strongest the shortest is taken, so that a day is not mistaken for two; then its
mean profile is removed and what remains is searched for a longer season, such as the week over the day. The period is
refined to a part of a sample by the sum of r over its multiples.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner

RING = 4352
"""Recent values kept per stream, in samples: two of the longest seasons and what lies around them (34 kB)."""

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
"""r at the farthest multiple, of a lag 'as strong as the strongest', and of a season inside a longer one, relative to r
of the lag itself or the strongest."""

REMAINS = 0.01
"""Share of the power that must remain without the first season for a second to be looked for."""

LEAST_PAIRS = 24
"""Pairs of known values that a lag needs for an autocorrelation: with fewer, 5 deviations of white noise exceed 1."""

MULTIPLES = 8
TRANSFORM = 8192

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
    white = WHITE_DEVIATIONS / math.sqrt(pairs[lag])
    bartlett = BARTLETT_DEVIATIONS * math.sqrt((1.0 + 2.0 * squares[lag // 2]) / pairs[lag])
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
    multiple = min(MULTIPLES, (top - 2) // lag)
    if multiple >= 2:
        near = 1 + multiple // 4 + lag // 50
        if r[multiple * lag - near : min(multiple * lag + near, top) + 1].max() < LASTING * r[lag]:
            return 0.0
    return r[lag]  # type: ignore[no-any-return]


@inner
def shortest_strong(r: Any, n: int, pairs: Any, first: int, least: float, squares: Any) -> int:
    """The shortest lag from `first` on that is nearly as strong as the strongest; 0 where none is a season."""
    top = len(r) - 1
    squares[0] = 0.0
    for lag in range(1, top + 1):
        squares[lag] = squares[lag - 1] + r[lag] * r[lag]
    best = 0.0
    for lag in range(first, top):
        if r[lag] > best:
            best = max(best, strength(r, lag, n, pairs, least, squares))
    if best > 0.0:
        for lag in range(first, top):
            if r[lag] >= NEARLY * best and strength(r, lag, n, pairs, least, squares) >= NEARLY * best:
                return lag
    return 0


@inner
def over_multiples(r: Any, period: float, multiples: int) -> float:
    """Mean of r over the multiples of a period, between lags by straight lines."""
    total = 0.0
    for i in range(1, multiples + 1):
        lag = int(i * period)
        part = i * period - lag
        total += r[lag] * (1.0 - part) + (r[lag + 1] * part if part > 0.0 else 0.0)
    return total / multiples


@inner
def refined(r: Any, lag: int) -> float:
    """The period within 4 % of `lag` with the largest r over its multiples; a whole number where that is as good."""
    multiples = min(MULTIPLES, int((len(r) - 2) / (1.04 * lag)))
    if multiples < 1:
        return float(lag)
    period, best = float(lag), over_multiples(r, float(lag), multiples)
    for i in range(-200, 201):
        trial = lag * (1.0 + 2e-4 * i)
        found = over_multiples(r, trial, multiples)
        if found > best + 1e-12:
            period, best = trial, found
    whole = float(round(period))
    if multiples * whole < len(r) - 1 and over_multiples(r, whole, multiples) >= best - 0.005:
        period = whole
    return period


@inner
def same_season(longer: float, period: float) -> bool:
    """Whether the longer one is the shorter seen again: a multiple, near a whole number of samples, of a period that
    is none. A mean profile by whole samples does not take such a season away entirely."""
    times = round(longer / period)
    return abs(period - round(period)) > 0.02 and abs(longer - times * period) < 0.01 * period * times


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
    lag = shortest_strong(of_steps, n, pairs, SHORTEST, LEAST, squares)
    slow = shortest_strong(of_levels, n, pairs_of_levels, SHORTEST_OF_VALUES, LEAST_OF_VALUES, squares_of_levels)
    r, z, power, sums, there = of_steps, steps, power_steps, squares, both
    if slow > 0 and (lag == 0 or of_levels[slow] > of_steps[lag] + 0.2):
        lag, r, z, power, sums, there = slow, of_levels, levels, power_levels, squares_of_levels, known
        pairs = pairs_of_levels
    if lag == 0:
        return
    periods[0], strengths[0] = refined(r, lag), r[lag]
    inside = 0
    for shorter in range(SHORTEST, int(0.6 * lag)):
        if r[shorter] >= INSIDE * r[lag] and strength(r, shorter, n, pairs, LEAST, sums) > 0.0:
            inside = shorter
            break
    if inside > 0 and same_season(periods[0], refined(r, inside)):
        periods[0], strengths[0] = refined(r, inside), r[inside]
        inside = 0
    if inside > 0:
        periods[1], strengths[1] = periods[0], strengths[0]
        periods[0], strengths[0] = refined(r, inside), r[inside]
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
        longer = shortest_strong(r, n, pairs, first, LEAST, sums)
        if longer > 0 and not same_season(refined(r, longer), period):
            periods[0], strengths[0] = period, level
            periods[1], strengths[1] = refined(r, longer), r[longer]


@inner
def next_check(count: int) -> int:
    """The number of values after which periods are looked for next, from the number seen now."""
    check = FIRST_CHECK
    while check <= count and check < 2 * LONGEST:
        check = int(check * CHECK_GROWTH)
    if check > 2 * LONGEST or check <= count:
        check = (count // CHECK_EVERY + 1) * CHECK_EVERY
    return check
