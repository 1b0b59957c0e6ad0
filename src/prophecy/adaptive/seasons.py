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
where two of no common multiple happen to meet, is decided by folding (`folding.py`): the strongest tone, with all that
repeats with it, or the two strongest, are the seasons if they explain nearly all that the lag does; else the lag is,
its period fitted to the places of r's peaks at all its multiples; in any case the shortest part of it that explains
nearly as much. Then a shorter season is looked for inside (the day in the week), and another one in what remains.

Seasons of 512 samples and more have been seen only a few times in the recent values; `long_seasons.py` finds those.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner
from prophecy.adaptive.folding import LONGEST, SHORTEST, evenness, explained, sharpened, shorter, unfold
from prophecy.adaptive.lines import named
from prophecy.adaptive.spectra import autocorrelations, of_known


@inner
def centred(t: Any, z: Any, known: Any) -> float:
    """Subtract the mean and cut at `cut` root mean squares, twice, so that no outlier decides; returns the power left.

    Where nothing is known (0 in `known`), z becomes 0.
    """
    many = max(known.sum(), 1.0)
    z -= (z * known).sum() / many
    z *= known
    for _ in range(2):
        most = t.seasons.cut * math.sqrt((z * z).sum() / many)
        for i in range(len(z)):
            z[i] = min(max(z[i], -most), most)
    return (z * z).sum()  # type: ignore[no-any-return]


@inner
def strength(t: Any, r: Any, lag: int, n: int, pairs: Any, least: float, squares: Any) -> float:
    """r at this lag if it is a season, else 0. pairs: how many each lag has; squares: running sum of r² from lag 1."""
    top = len(r) - 1
    if not (r[lag] >= r[lag - 1] and r[lag] > r[lag + 1]):
        return 0.0
    multiple = min(t.seasons.multiples, (top - 2) // lag)
    white = t.seasons.white_deviations / math.sqrt(pairs[lag])
    bartlett = (t.seasons.bartlett_deviations if multiple >= 2 else t.seasons.alone) * math.sqrt(
        (1.0 + 2.0 * squares[lag // 2]) / pairs[lag]
    )
    if n >= 4 * lag:
        bartlett = min(bartlett, t.seasons.certain)
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
        if lasting < t.seasons.lasting * r[lag] * far:
            return 0.0
    return r[lag]  # type: ignore[no-any-return]


@inner
def shortest_strong(t: Any, r: Any, n: int, pairs: Any, first: int, last: int, least: float, squares: Any) -> int:
    """The shortest lag from `first` to before `last` that is nearly as strong as the strongest; 0 for no season."""
    top = len(r) - 1
    squares[0] = 0.0
    for lag in range(1, top + 1):
        squares[lag] = squares[lag - 1] + r[lag] * r[lag]
    best, strongest = 0.0, 0.0
    for lag in range(first, last):
        if r[lag] > best:
            best = max(best, strength(t, r, lag, n, pairs, least, squares))
        peak = r[lag] > strongest and r[lag] >= r[lag - 1] and r[lag] > r[lag + 1] and lag < top // 2
        if peak and r[lag] - r[max(1, lag // 2) : lag].min() > 0.5 * r[lag]:
            strongest = r[lag]
    if best > 0.0 and strongest > t.seasons.decayed * best:
        return 0
    if best > 0.0:
        for lag in range(first, last):
            if (
                r[lag] >= t.seasons.nearly * best
                and strength(t, r, lag, n, pairs, least, squares) >= t.seasons.nearly * best
            ):
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
def refined(t: Any, r: Any, lag: float, whole: bool) -> float:
    """The period near `lag` whose multiples lie at the peaks of r, by least squares over as many as there are; a whole
    number where that is within the error of it."""
    period, top, total, moment = lag, len(r) - 1, 0.0, 0.0
    half = max(1, int(lag / 24.0))
    for j in range(1, t.seasons.multiples + 1):
        if j * period + half + 1.0 > top or (j > 1 and r[round(j * period)] < 0.5 * t.seasons.lasting * r[round(lag)]):
            break
        moment += j * centre(r, j * period, half)
        total += j * j
        period = moment / total
    if whole and abs(period - round(period)) < max(t.seasons.unsure * half / math.sqrt(total + 1.0), 0.002):
        period = float(round(period))
    return period


@inner
def find(t: Any, values: Any, known: Any, periods: Any, strengths: Any) -> None:
    """Fill up to two periods, in samples, the shorter first, and their autocorrelations; 0 where there is none.

    values (n,): recent ones, oldest first, without NaN; known (n,): 0 where something stands in for a missing value,
    which does not count, else 1.
    """
    periods[:], strengths[:] = 0.0, 0.0
    n = len(values)
    top = min(LONGEST + 2, n // 2 + 2)
    if n < t.seasons.first_check:
        return
    steps, flat = np.zeros(n), np.zeros(n)
    steps[1:] = values[1:] - values[:-1]
    steps[0] = steps[1]
    both = known.copy()
    both[1:] *= known[:-1]
    place = (np.arange(n) - (np.arange(n) * known).sum() / known.sum()) * known
    flat[:] = (values - (values * known).sum() / known.sum()) * known
    flat -= (place * flat).sum() / (place * place).sum() * place
    power_steps, power_flat = centred(t, steps, both), centred(t, flat, known)
    if not (power_flat > 0.0 and np.isfinite(power_steps) and np.isfinite(power_flat)):
        return
    of_steps, of_flat = np.zeros(top + 1), np.zeros(top + 1)
    pairs, pairs_of_flat = np.zeros(top + 1), np.zeros(top + 1)
    squares, squares_of_flat = np.zeros(top + 1), np.zeros(top + 1)
    autocorrelations(steps, flat, top, of_steps, of_flat)
    of_known(t, of_steps, both, pairs)
    of_known(t, of_flat, known, pairs_of_flat)
    pairs *= evenness(t, steps)
    pairs_of_flat *= evenness(t, flat)
    lag = shortest_strong(t, of_steps, n, pairs, SHORTEST, top, t.seasons.least, squares)
    slow = shortest_strong(t, of_flat, n, pairs_of_flat, SHORTEST, top, t.seasons.least_of_values, squares_of_flat)
    r, z, power, there, across = of_steps, steps, power_steps, both, pairs
    by_values = slow > 0 and (lag == 0 or of_flat[slow] > of_steps[lag] + t.seasons.by_values)
    if by_values:
        lag, r, z, power, there = slow, of_flat, flat, power_flat, known
        across, squares = pairs_of_flat, squares_of_flat
    if lag == 0:
        return
    full, lines = there.sum() > t.seasons.full * n, 0
    if full:
        lines = named(t, z, lag, r[lag] * power, t.seasons.enough, periods)
    if lines < 0:
        return
    if lines == 0:
        periods[0] = refined(t, r, float(lag), True)
        if full:
            periods[0] = shorter(t, z, there, periods[0])
        inside(t, z, there, r, n, across, squares, periods)
    if periods[1] == 0.0:
        left, left_of_flat = unfold(steps, both, periods[0]), unfold(flat, known, periods[0])
        rest, rest_of_flat = np.zeros(top + 1), np.zeros(top + 1)
        autocorrelations(steps, flat, top, rest, rest_of_flat)
        if not by_values and left > t.seasons.remains * power_steps:
            further(t, steps, both, rest, left, power_steps, pairs, squares, t.seasons.least, periods)
        if periods[1] == 0.0 and slow > 0 and left_of_flat > t.seasons.remains * power_flat:
            least, left = t.seasons.least if by_values else t.seasons.least_of_values, left_of_flat
            further(t, flat, known, rest_of_flat, left, power_flat, pairs_of_flat, squares, least, periods)
    times = round(periods[1] / periods[0])
    if 1 < times <= t.seasons.most_days and abs(periods[1] - times * periods[0]) < 0.01 * periods[1]:
        periods[1] = times * periods[0]  # a week is seven days
    for s in range(2):
        if periods[s] > 0.0:
            periods[s] = min(periods[s], float(LONGEST))
            strengths[s] = r[min(round(periods[s]), top)]


@inner
def inside(t: Any, z: Any, known: Any, r: Any, n: int, pairs: Any, squares: Any, periods: Any) -> None:
    """A shorter season inside the one known, as the day in the week."""
    period = periods[0]
    for lag in range(SHORTEST, int(0.6 * period)):
        if (
            r[lag] >= t.seasons.inside * r[round(period)]
            and strength(t, r, lag, n, pairs, t.seasons.least, squares) > 0.0
        ):
            part = sharpened(z, known, refined(t, r, float(lag), True))
            if explained(z, known, part) > t.seasons.partly * explained(z, known, period):
                periods[0], periods[1] = part, period
            return


@inner
def further(
    t: Any,
    rest: Any,
    known: Any,
    r: Any,
    left: float,
    power: float,
    pairs: Any,
    squares: Any,
    least: float,
    periods: Any,
) -> None:
    """With one season known: is there another in the rest, of autocorrelations r and with the power `left` of
    `power`?"""
    period, n, top = periods[0], len(rest), len(pairs) - 1
    of_known(t, r, known, pairs)
    pairs *= evenness(t, rest)
    full = known.sum() > t.seasons.full * n
    lag = shortest_strong(t, r, n, pairs, SHORTEST if full else int(2.5 * period), top, least, squares)
    if lag == 0:
        return
    found, other = np.zeros(2), 0.0
    lines = named(t, rest, lag, r[lag] * left, t.seasons.enough, found) if full else 0
    if lines < 0:
        return
    if lines > 0:
        other = found[lines - 1]
    else:
        other = refined(t, r, float(lag), True)
        if full:
            other = shorter(t, rest, known, other)
    times = round(other / period)
    if abs(period - round(period)) > 0.02 and abs(other - times * period) < 0.01 * period * times + 1.0:
        return  # the first one seen again: no mean profile takes such a season away entirely
    # A season that is no whole number of samples leaves sharp edges behind, which repeat in their own ways.
    enough = t.seasons.least * (left if abs(period - round(period)) < 1e-3 else power)
    if explained(rest, known, other) > enough and abs(other - period) > other * period / n:
        periods[0], periods[1] = min(period, other), max(period, other)
