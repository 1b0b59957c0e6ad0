r"""Which periods a stream has: peaks of the autocorrelation of its recent values, found inside the compiled step.

Two series are looked at together, the differences of the recent values (where a drifting level does not matter) and the
values less their straight line (where noise from sample to sample does not matter). A complex FFT of one plus i times
the other gives both autocorrelations at the price of one. A lag is a season if its autocorrelation r

- is a local maximum and stands above what lies on both sides of it by the same margin that r itself has to reach:
  5/√(n - lag) standard deviations of white noise, 3.5 of Bartlett's for a process with the autocorrelations found up to
  half the lag, and at least `LEAST`;
- has lasted: over the farther half of the whole multiples of the lag that can be seen (`MULTIPLES` at most), r is on
  average still half as large. A resonance excited by noise loses its phase and fails here.

Of the lags nearly as strong as the strongest the shortest is taken. Whether that is the season, or a few of it, or
where two of no common multiple happen to meet, folding says (`folding.py`): the strongest tone, with all that repeats
with it, or the two strongest, are the seasons if they explain nearly all that the lag does; else the lag is, its period
fitted to the places of r's peaks at all its multiples; in any case the shortest part of it that explains nearly as
much. Then a shorter season is looked for inside (the day in the week), and another one in what remains.

Seasons of 512 samples and more have been seen only a few times in the recent values. They are looked for among means
of 32 values, of which the last 512 are kept: eight times the longest season.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner
from prophecy.adaptive.folding import LONGEST, SHORTEST, explained, sharpened, shorter, spread, unfold
from prophecy.adaptive.lines import named
from prophecy.adaptive.spectra import autocorrelations, of_known

RING = 4352
"""Recent values kept per stream, in samples: two of the longest seasons and what lies around them (34 kB)."""

FLAGS = 34
"""Places of the ring whose flags (missing or not) share one whole number of the record: 128 of these hold them all."""

BLOCK, BLOCKS = 32, 512
"""Values in a mean, and means kept, for long seasons: 16 384 values in 4 kB."""

FIRST_LONG = 512
"""Samples from which on a season is looked for among the means: 16 of them to a season show its shape."""

SHORTEST_OF_VALUES = 8
"""Shortest season looked for among the values less their line; short ones show among the differences."""

FIRST_CHECK = 32
CHECK_GROWTH = 1.5
CHECK_EVERY = 2048
"""Periods are looked for after 32 values, then 48, 72, …, and from 4096 on every 2048; from 16 384 on, where the last
look found the periods of the one before, every 4096: nearly all that is kept is new then."""

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

MOST_DAYS = 10
"""A second season within 1 % of up to so many of the first is taken for as many: a year is not 52 weeks."""

FULL = 0.9
"""Share of values that must be known for folding to say which period it is: missing ones have patterns of their own."""

PARTLY = 0.25
"""Share of what a season explains that one inside of it must explain."""

ENOUGH = 0.85
"""Share of what repeats that one or two tones must explain to be the seasons."""

UNSURE = 1.0
"""Error of one peak's place, in the lags looked at on each side."""

DECAYED = 1.5
"""A lag with a shorter one so many times as strong is an echo of it that has decayed: a resonance, no season."""

ALONE = 5.0
"""Deviations a lag needs of which no multiple can be seen, so that nothing shows whether it lasts."""

REMAINS = 0.01
"""Share of the power that must remain without the first season for a second to be looked for."""

MULTIPLES = 64
"""Most multiples of a lag at which r must have lasted."""


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
    pairs *= spread(steps)
    pairs_of_levels *= spread(levels)
    lag = shortest_strong(of_steps, n, pairs, SHORTEST, top, LEAST, squares)
    slow = shortest_strong(of_levels, n, pairs_of_levels, SHORTEST_OF_VALUES, top, LEAST_OF_VALUES, squares_of_levels)
    r, z, power, there, across = of_steps, steps, power_steps, both, pairs
    by_levels = slow > 0 and (lag == 0 or of_levels[slow] > of_steps[lag] + 0.2)
    if by_levels:
        lag, r, z, power, there = slow, of_levels, levels, power_levels, known
        across, squares = pairs_of_levels, squares_of_levels
    if lag == 0:
        return
    full, lines = there.sum() > FULL * n, 0
    if full:
        lines = named(z, lag, r[lag] * power, ENOUGH, periods)
    if lines < 0:
        return
    if lines == 0:
        periods[0] = refined(r, float(lag), True)
        if full:
            periods[0] = shorter(z, there, periods[0])
        inside(z, there, r, n, across, squares, periods)
    if periods[1] == 0.0:
        left, left_of_levels = unfold(steps, both, periods[0]), unfold(levels, known, periods[0])
        rest, rest_of_levels = np.zeros(top + 1), np.zeros(top + 1)
        autocorrelations(steps, levels, top, rest, rest_of_levels)
        if not by_levels and left > REMAINS * power_steps:
            further(steps, both, rest, left, power_steps, pairs, squares, LEAST, periods)
        if periods[1] == 0.0 and slow > 0 and left_of_levels > REMAINS * power_levels:
            least, left = LEAST if by_levels else LEAST_OF_VALUES, left_of_levels
            further(levels, known, rest_of_levels, left, power_levels, pairs_of_levels, squares, least, periods)
    times = round(periods[1] / periods[0])
    if 1 < times <= MOST_DAYS and abs(periods[1] - times * periods[0]) < 0.01 * periods[1]:
        periods[1] = times * periods[0]  # a week is seven days
    for s in range(2):
        if periods[s] > 0.0:
            periods[s] = min(periods[s], float(LONGEST))
            strengths[s] = r[min(round(periods[s]), top)]


@inner
def inside(z: Any, known: Any, r: Any, n: int, pairs: Any, squares: Any, periods: Any) -> None:
    """A shorter season inside the one known, as the day in the week."""
    period = periods[0]
    for lag in range(SHORTEST, int(0.6 * period)):
        if r[lag] >= INSIDE * r[round(period)] and strength(r, lag, n, pairs, LEAST, squares) > 0.0:
            part = sharpened(z, known, refined(r, float(lag), True))
            if explained(z, known, part) > PARTLY * explained(z, known, period):
                periods[0], periods[1] = part, period
            return


@inner
def further(
    rest: Any, known: Any, r: Any, left: float, power: float, pairs: Any, squares: Any, least: float, periods: Any
) -> None:
    """With one season known: is there another in the rest, of autocorrelations r and with the power `left` of
    `power`?"""
    period, n, top = periods[0], len(rest), len(pairs) - 1
    of_known(r, known, pairs)
    pairs *= spread(rest)
    full = known.sum() > FULL * n
    lag = shortest_strong(r, n, pairs, SHORTEST if full else int(2.5 * period), top, least, squares)
    if lag == 0:
        return
    found, other = np.zeros(2), 0.0
    lines = named(rest, lag, r[lag] * left, ENOUGH, found) if full else 0
    if lines < 0:
        return
    if lines > 0:
        other = found[lines - 1]
    else:
        other = refined(r, float(lag), True)
        if full:
            other = shorter(rest, known, other)
    times = round(other / period)
    if abs(period - round(period)) > 0.02 and abs(other - times * period) < 0.01 * period * times + 1.0:
        return  # the first one seen again: no mean profile takes such a season away entirely
    # A season that is no whole number of samples leaves sharp edges behind, which repeat in their own ways.
    enough = LEAST * (left if abs(period - round(period)) < 1e-3 else power)
    if explained(rest, known, other) > enough and abs(other - period) > other * period / n:
        periods[0], periods[1] = min(period, other), max(period, other)


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
def next_check(count: int, settled: bool) -> int:
    """The number of values after which periods are looked for next, from the number seen now; settled: the last look
    found the periods of the one before."""
    check = FIRST_CHECK
    while check <= count and check < 2 * LONGEST:
        check = int(check * CHECK_GROWTH)
    if check > 2 * LONGEST or check <= count:
        every = 2 * CHECK_EVERY if settled and count >= 8 * CHECK_EVERY else CHECK_EVERY
        check = (count // every + 1) * every
    return check
