r"""How unusual the recent stretch is for this stream: ranks of five quantities among all of its past, added up.

    change   the larger of the ranks of the forecast's error and of the difference from value to value (derivative)
    value    the value itself, high or low
    level    its mean over the last 20 samples, high or low
    noise    the mean logarithm of the error's size over the last 20 samples, high (noise) or low (a flat line)

Each becomes -log10 of its tail probability: the number of earlier ones at least as far out, over all of them; beyond
the farthest a power law fitted to the outermost ones goes on. The sum is reported where it passes everything within the
last 200 values (or the last tenth of the stream), so a persistent change is reported when it comes and not again.

All the past is held in bounded memory: a sketch of 48 centroids per quantity, sorted, exact for the outermost and
coarser towards the middle (the idea of a t-digest).
"""

from __future__ import annotations

import math
from typing import Any

from prophecy._compiled import inner

CENTROIDS = 48
EXACT = 12
"""Centroids of a sketch, and how many at either end are values as they came."""

QUANTITIES = 5
ERROR, DIFFERENCE, VALUE, LEVEL, NOISE = range(QUANTITIES)

WINDOW = 20
"""Samples over which level and noise are averaged: 10 and 40 score 2 to 5 points less on NAB's development files."""

FLOOR = 1e-2
"""Smallest error in units of the mean absolute error, before its logarithm is taken."""

ROUNDING, MILLIONTH = 1e-13, 1e-6
"""An error below this share of the value, or below that of its change, is none: the value was predicted exactly. By
chance that comes once in a million values."""

NEEDED = 20
"""Values seen before anything is called unusual."""

TAIL = 10
STEEPEST = 0.1
LEAST = 1e-15
"""Outermost values a power law is fitted to, its steepest exponent (10), and the least probability it gives."""

QUIET, QUIET_SHARE, BLOCKS = 200, 0.1, 16
"""A sum must pass all sums of the last 200 values, or the last tenth of the stream, held as maxima of 16 blocks."""


@inner
def place(middle: Any, size: int, x: float) -> int:
    """The first of `size` sorted centroids that is not below x."""
    low, high = 0, size
    while low < high:
        half = (low + high) // 2
        if middle[half] < x:
            low = half + 1
        else:
            high = half
    return low


@inner
def insert(middle: Any, weight: Any, size: int, x: float, low: int) -> int:
    """Put x into a sketch at `low`, its place; returns the new size.

    Outer centroids hold one value (or equal ones) each. Where there is no room, the two neighbours in the middle that
    are lightest for the cube of how far in they lie become one.
    """
    if low < size and middle[low] == x:
        weight[low] += 1.0
        return size
    if size == CENTROIDS:
        if EXACT <= low < CENTROIDS - EXACT:
            if x - middle[low - 1] < middle[low] - x:
                low -= 1
            weight[low] += 1.0
            middle[low] += (x - middle[low]) / weight[low]
            return size
        lightest, best = EXACT, math.inf
        for i in range(EXACT, CENTROIDS - EXACT - 1):
            inward = min(i - EXACT, CENTROIDS - EXACT - 2 - i) + 1.0
            cost = (weight[i] + weight[i + 1]) / (inward * inward * inward)
            if cost < best:
                lightest, best = i, cost
        both = weight[lightest] + weight[lightest + 1]
        middle[lightest] += (middle[lightest + 1] - middle[lightest]) * (weight[lightest + 1] / both)
        weight[lightest] = both
        for i in range(lightest + 1, CENTROIDS - 1):
            middle[i], weight[i] = middle[i + 1], weight[i + 1]
        size -= 1
        if low > lightest:
            low -= 1
    for i in range(size, low, -1):
        middle[i], weight[i] = middle[i - 1], weight[i - 1]
    middle[low], weight[low] = x, 1.0
    return size + 1


@inner
def tail(middle: Any, weight: Any, size: int, total: float, x: float, low: int, both: bool) -> float:
    """The share of earlier values at least as far out as x: above it, or with `both` on the nearer side.

    A centroid next to x counts by up to half of its weight, in proportion to where x lies.
    """
    if low >= size // 2:
        count = 0.0
        for i in range(low, size):
            count += weight[i]
        if low < size and low > 0 and middle[low] > x:
            part = (middle[low] - x) / (middle[low] - middle[low - 1])
            count += 0.5 * (weight[low - 1] - 1.0) * part
        if count < 0.5:
            return beyond(middle, weight, size, total, x, True)
    elif both:
        count = 0.0
        for i in range(low):
            count += weight[i]
        if middle[low] == x:
            count += weight[low]
        elif low > 0:
            part = (x - middle[low - 1]) / (middle[low] - middle[low - 1])
            count += 0.5 * (weight[low] - 1.0) * part
        if count < 0.5:
            return beyond(middle, weight, size, total, x, False)
    else:
        return 0.5
    return min((count + 1.0) / (total + 2.0), 0.5)


@inner
def beyond(middle: Any, weight: Any, size: int, total: float, x: float, upper: bool) -> float:
    """The tail probability of x, farther out than all before: a power law of the distance from the centre."""
    farthest = 1.0 / (total + 1.0)
    centre = middle[size // 2]
    outer = min(TAIL, size // 4)
    if outer < 3:
        return farthest
    sign = 1.0 if upper else -1.0
    first = middle[size - outer] if upper else middle[outer - 1]
    inner = sign * (first - centre)
    if not inner > 0.0:
        return farthest
    slope, count = 0.0, 0.0
    for i in range(outer):
        at = size - outer + i if upper else i
        slope += weight[at] * math.log(sign * (middle[at] - centre) / inner)
        count += weight[at]
    slope = max(slope / count, STEEPEST)
    return max(min(count / total * (sign * (x - centre) / inner) ** (-1.0 / slope), farthest), LEAST)  # type: ignore[no-any-return]


@inner
def recent(r: Any) -> float:
    """The largest sum among those an alarm must pass, held as maxima of blocks."""
    most = 0.0
    for i in range(BLOCKS):
        most = max(most, r.alarm_block[i])
    return most


@inner
def note(r: Any, total: float) -> None:
    """Put a sum into the block of now; begin the next block when this one is full."""
    r.alarm_block[r.alarm_place] = max(r.alarm_block[r.alarm_place], total)
    r.alarm_left -= 1
    if r.alarm_left <= 0:
        r.alarm_place = (r.alarm_place + 1) % BLOCKS
        r.alarm_block[r.alarm_place] = 0.0
        r.alarm_left = int(max(QUIET, QUIET_SHARE * r.alarm_seen) / (BLOCKS - 1.0))


@inner
def watch(r: Any, value: float, difference: float, error: float, level: float) -> None:
    """Take in one more value and leave in `r.alarm` how unusual it makes the recent stretch: 0, or 1 - probability.

    difference, error: of the value from the one before and from its forecast; level: the mean of the last 20 values.
    A value that was predicted exactly is ordinary, however new it and its level are: counters, ramps and wrapped ones.
    """
    size, quantity = abs(error), r.alarm_quantity
    exact = size <= max(ROUNDING * abs(value), MILLIONTH * abs(difference))
    size = 0.0 if exact else size
    r.alarm_exact = r.alarm_exact + 1 if exact else 0
    seen = r.alarm_seen
    window = min(WINDOW, seen + 1)
    r.alarm_error += (size - r.alarm_error) / (seen + 1)
    floor = max(FLOOR * r.alarm_error, 1e-150)
    r.alarm_log[seen % WINDOW] = math.log(max(size, floor))
    noise = 0.0
    for i in range(window):
        noise += r.alarm_log[i]
    quantity[ERROR], quantity[DIFFERENCE], quantity[VALUE] = size, abs(difference), value
    quantity[LEVEL], quantity[NOISE] = level, noise / window
    for i in range(QUANTITIES):
        middle, weight = r.alarm_middle[i], r.alarm_weight[i]
        low = place(middle, r.alarm_size[i], quantity[i])
        if seen >= NEEDED:
            r.alarm_tail[i] = tail(middle, weight, r.alarm_size[i], float(seen), quantity[i], low, i >= VALUE)
        r.alarm_size[i] = insert(middle, weight, r.alarm_size[i], quantity[i], low)
    r.alarm_seen += 1
    r.alarm = 0.0
    if seen < NEEDED:
        return
    part = r.alarm_tail
    if exact:
        for i in range(NOISE):
            part[i] = 0.5
    if r.alarm_exact >= WINDOW:
        # Nothing but exact predictions in the window: how small nothing is cannot be ranked.
        part[NOISE] = 0.5
    total = -math.log10(min(part[ERROR], part[DIFFERENCE]) * part[VALUE] * part[LEVEL] * part[NOISE])
    if total > recent(r):
        r.alarm = 1.0 - 10.0 ** -confidence(total)
    note(r, total)


@inner
def confidence(total: float) -> float:
    """-log10 of the share of rows of ordinary streams that are reported with such a sum or a larger one.

    An upper bound over twelve kinds of streams (white, heavy-tailed, counting, autoregressive, walking, seasonal, of
    changing variance; `benchmarks/streams.py`, part `alarm rates`): 10^-2.3 at a sum of 5, then 0.15 a unit.
    """
    return 0.46 * total if total < 5.0 else 2.3 + 0.15 * (total - 5.0)
