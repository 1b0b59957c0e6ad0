"""The distribution of all past values of a quantity, in bounded memory: sorted centroids, single values at the ends and
coarser towards the middle (the idea of a t-digest), and how far out a new value lies among them."""

from __future__ import annotations

import math
from typing import Any

from prophecy._compiled import inner

CENTROIDS = 48
SINGLE = 12
"""Centroids of a sketch, and how many at either end hold one value (or equal ones). With 32 and 8 NAB's development
files score 2 points less, with 64 and 16 as much."""

LEAST = 1e-15
"""Least probability that is stated, as in `Settings.surest`."""


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
    """Insert x into a sketch at `low`, its place; returns the new size.

    Outer centroids hold one value (or equal ones) each. Where there is no room, two neighbours in the middle become
    one: those with the least weight over the cube of their distance from the outer ones.
    """
    if low < size and middle[low] == x:
        weight[low] += 1.0
        return size
    if size == CENTROIDS:
        if SINGLE <= low < CENTROIDS - SINGLE:
            if x - middle[low - 1] < middle[low] - x:
                low -= 1
            weight[low] += 1.0
            middle[low] += (x - middle[low]) / weight[low]
            return size
        lightest, best = SINGLE, math.inf
        for i in range(SINGLE, CENTROIDS - SINGLE - 1):
            inward = min(i - SINGLE, CENTROIDS - SINGLE - 2 - i) + 1.0
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
def tail(t: Any, middle: Any, weight: Any, size: int, total: float, x: float, low: int, both: bool) -> float:
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
            return beyond(t, middle, weight, size, total, x, True)
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
            return beyond(t, middle, weight, size, total, x, False)
    else:
        return 0.5
    return min((count + 1.0) / (total + 2.0), 0.5)


@inner
def beyond(t: Any, middle: Any, weight: Any, size: int, total: float, x: float, upper: bool) -> float:
    """The tail probability of x, farther out than all before: a power law of the distance from the centre."""
    return max(min(law(t, middle, weight, size, total, x, upper), 1.0 / (total + 1.0)), LEAST)


@inner
def law(t: Any, middle: Any, weight: Any, size: int, total: float, x: float, upper: bool) -> float:
    """The tail probability of x by a power law fitted to the outermost values; 1 where x lies inside of them, or they
    are too few."""
    centre = middle[size // 2]
    outer = min(t.alarms.outermost, size // 4)
    if outer < 3:
        return 1.0
    sign = 1.0 if upper else -1.0
    first = middle[size - outer] if upper else middle[outer - 1]
    inner, out = sign * (first - centre), sign * (x - centre)
    if not 0.0 < inner < out:
        return 1.0
    slope, count = 0.0, 0.0
    for i in range(outer):
        at = size - outer + i if upper else i
        slope += weight[at] * math.log(sign * (middle[at] - centre) / inner)
        count += weight[at]
    slope = max(slope / count, t.steepest)
    return count / total * (out / inner) ** (-1.0 / slope)  # type: ignore[no-any-return]
