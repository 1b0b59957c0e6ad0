"""Even grids fitted to timestamps: the coarsest that most of them lie on, or the one that they were rounded from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner


@inner
def rounded(t: Any, times: Any) -> tuple[float, float, float]:
    """An even grid whose times, rounded to whole units, the newest of these are: its step, newest place and that unit;
    all 0 where there is none.

    Rounding makes two lengths of intervals, a unit apart, so evenly mixed that every stamp is within half a unit of a
    straight line. Holes in a grid of one unit look like that too if they come evenly; they are not so many then.
    """
    n = len(times)
    unit, fuzz = 0.0, max(1e-3 * (times[n - 1] - times[0]) / n, 8.0 * np.spacing(abs(times[n - 1])))
    for i in range(1, n):
        unit = _common(times[i] - times[i - 1], unit, fuzz)
    if not unit > fuzz:
        return 0.0, 0.0, 0.0
    first, shortest, longest = n - 1, math.inf, -math.inf
    while first > 0:
        interval = times[first] - times[first - 1]
        if max(longest, interval) - min(shortest, interval) > 1.5 * unit:
            break
        shortest, longest, first = min(shortest, interval), max(longest, interval), first - 1
    count, across, along, long = n - first, 0.0, 0.0, 0
    middle, mean = 0.5 * (count - 1), 0.0
    for i in range(count):
        mean += (times[first + i] - times[first]) / count
        if i and times[first + i] - times[first + i - 1] > shortest + 0.5 * unit:
            long += 1
    for i in range(count):
        across += (i - middle) * (times[first + i] - times[first] - mean)
        along += (i - middle) ** 2
    odd = count - 1 - long if shortest < 0.5 * unit else long if shortest < 1.5 * unit else count
    if min(long, count - 1 - long) < t.clock.each or odd < t.clock.skipped * count:
        return 0.0, 0.0, 0.0
    dt = across / along
    for i in range(count):
        if abs(times[first + i] - times[first] - mean - dt * (i - middle)) > t.clock.rounded * unit:
            return 0.0, 0.0, 0.0
    return dt, times[first] + mean + dt * middle, unit


@inner
def _common(a: float, b: float, fuzz: float) -> float:
    """The largest number that both are multiples of, to within `fuzz` (Euclid)."""
    while b > fuzz:
        a, b = b, abs(a - math.floor(a / b + 0.5) * b)
    return a


@inner
def sort(x: Any, count: int) -> None:
    """The first `count` numbers of x in rising order, in place; there are few."""
    for i in range(1, count):
        value, j = x[i], i
        while j > 0 and x[j - 1] > value:
            x[j] = x[j - 1]
            j -= 1
        x[j] = value


@inner
def fit(t: Any, times: Any) -> tuple[float, float, float]:
    """The coarsest grid these increasing times fit: its step, the share of them that are off it, and how far they are
    from it on average, in steps.

    Where none fits, the median interval, 1 and 1. Tried are the median interval and the shortest usual
    one, whole and in 2 to 6 parts.
    """
    n = len(times) - 1
    sorted_intervals, steps = np.empty(n), np.empty(2 * t.clock.parts)
    for i in range(n):
        sorted_intervals[i] = times[i + 1] - times[i]
    sort(sorted_intervals, n)
    usual = 0.5 * (sorted_intervals[(n - 1) // 2] + sorted_intervals[n // 2])
    short = sorted_intervals[int(0.1 * (n - 1))]
    for parts in range(1, t.clock.parts + 1):
        steps[parts - 1], steps[t.clock.parts + parts - 1] = usual / parts, short / parts
    sort(steps, 2 * t.clock.parts)
    for i in range(2 * t.clock.parts - 1, -1, -1):
        dt, off, miss = _fit_step(t, times, steps[i])
        if dt > 0.0 and off <= t.clock.regular and miss < t.clock.close:
            return dt, off, miss
    return usual, 1.0, 1.0


@inner
def _fit_step(t: Any, times: Any, step: float) -> tuple[float, float, float]:
    """Least squares for a grid whose step is about `step`: the step, the share of times off it, the mean distance."""
    n = len(times)
    dt, start = step, 0.0
    for _ in range(3):
        place, mean_place, mean_time = 0.0, 0.0, 0.0
        for i in range(n):
            place += max(math.floor((times[i] - times[i - 1]) / dt + 0.5), 1.0) if i else 0.0
            mean_place += place / n
            mean_time += (times[i] - times[0]) / n
        place, across, along = 0.0, 0.0, 0.0
        for i in range(n):
            place += max(math.floor((times[i] - times[i - 1]) / dt + 0.5), 1.0) if i else 0.0
            across += (place - mean_place) * (times[i] - times[0] - mean_time)
            along += (place - mean_place) ** 2
        if not along > 0.0 or not across > 0.0:
            return 0.0, 1.0, 1.0
        place, off, miss, wide = 0.0, 0.0, 0.0, dt
        dt = across / along
        start = mean_time - dt * mean_place
        for i in range(n):
            place += max(math.floor((times[i] - times[i - 1]) / wide + 0.5), 1.0) if i else 0.0
            distance = abs((times[i] - times[0] - start) / dt - place)
            off += (1.0 if distance > t.clock.off else 0.0) / n
            miss += distance / n
    return dt, off, miss
