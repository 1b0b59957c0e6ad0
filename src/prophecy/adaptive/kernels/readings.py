"""Two properties of real sensors, updated before a value is learned from:

- **Ticks.** Rounded and counting sensors move in whole multiples of a tick. It is the greatest common divisor of the
  differences, found by Euclid's algorithm within rounding, and used once 32 differences in a row were multiples of
  it. An interval is at least a tick wide, and an error of n ticks is no more surprising than 2n standard deviations.
- **Stuck.** After 16 equal values in a row nothing is learned about the size of errors: intervals stay as they were.
"""

from __future__ import annotations

import math
from typing import Any

from prophecy._compiled import inner

EPSILON = 2.220446049250313e-16
"""Relative spacing of float64: rounding of a difference is a few of these times the values."""

TRIES = 16
"""After this many values in a row without a tick, only every 16th is tried: continuous signals have none. It is the
largest value of a field of the record."""


@inner
def note_tick(r: Any, t: Any, value: float) -> None:
    """Learn the tick from the difference to the newest value, which is known too."""
    difference = abs(value - r.last)
    if difference == 0.0:
        r.same += 1
        return
    r.longest = max(r.longest, r.same)
    if r.same >= t.stuck:
        r.rests += 1
    r.same = 0
    if r.tick_misses >= TRIES and r.count % TRIES != 0:
        return
    fuzz = 8.0 * EPSILON * max(abs(value), abs(r.last))
    if r.tick == 0.0:
        r.tick = difference
        return
    multiple = math.floor(difference / r.tick + 0.5)
    rest = abs(difference - multiple * r.tick)
    if multiple >= 1.0 and rest <= max(fuzz * (multiple + 1.0), t.tick_tolerance * r.tick) and r.tick > 64.0 * fuzz:
        r.tick_hits += 1
        r.tick_misses = 0
        return
    larger, smaller = max(difference, r.tick), min(difference, r.tick)
    found = 0.0
    for _ in range(8):
        left = abs(larger - math.floor(larger / smaller + 0.5) * smaller)
        if left <= max(16.0 * fuzz, t.tick_tolerance * smaller):
            found = smaller
            break
        larger, smaller = smaller, left
    r.tick_hits = 0
    r.tick = found if found > 64.0 * fuzz else difference
    r.tick_misses = min(r.tick_misses + 1, TRIES)


@inner
def resolution(r: Any, t: Any) -> float:
    """The tick, once it is certain; 0 before and for continuous values."""
    return r.tick if r.tick_hits >= t.ticks_certain else 0.0
