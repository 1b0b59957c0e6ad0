"""Across gaps: how far forecasts may go there, and how wide intervals are, by what came after earlier gaps.

A gap no longer than usual is part of what a stream is calibrated on, and its interval is as many times wider than one
step ahead as it has steps. Longer ones are exceptions. What is known about them is the largest recent error right after
a gap of each octave of lengths, and intervals follow it upwards and downwards. For lengths not seen yet the next
shorter ones seen are extrapolated, or the error one step ahead if there are none: errors grow with the steps at most,
on signals without noise, where nothing hides the first digits, with their cube. No interval is wider than all values
seen (and what the forecast may go beyond them and a walk adds to that), nor than one after a longer gap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner
from prophecy.adaptive import alarms
from prophecy.adaptive.members import LEVELS

OCTAVES = 13
"""Classes of gaps by length, in octaves: 1, 2–3, 4–7, … and 4096 steps or more."""

_NINETY = int(np.searchsorted(LEVELS, 0.9))


@inner
def usual_error(r: Any, t: Any) -> float:
    """The usual size of an error, wider while few are known."""
    return math.sqrt(r.error_scale) * float(1.0 + t.few / (r.learned * r.learned))


@inner
def reach(r: Any, t: Any, steps: float) -> float:
    """How far beyond all values known a forecast may go so many steps after the last: by twice the largest recent
    change a step (where most values are missing: the usual one), but after a few steps by no more than thrice the speed
    at which all that was seen was passed through, and than its width."""
    change = r.scale[0]
    if r.spacing <= t.gap_sparse:
        change = max(change, max(r.peak[0], r.last_peak[0]))
    if steps <= 1.0 and r.spacing <= t.gap_sparse:
        return t.gap_at_once * math.sqrt(change)  # type: ignore[no-any-return]
    one, size = t.gap_reach * math.sqrt(change), r.alarm_size[alarms.VALUE]
    wide = r.alarm_middle[alarms.VALUE, size - 1] - r.alarm_middle[alarms.VALUE, 0]
    speed = t.gap_speed / (r.known * r.spacing)
    return min(one * steps, max(t.gap_near * one, wide * min(speed * steps, max(1.0, t.gap_few_known / r.known))))  # type: ignore[no-any-return]


@inner
def within_reach(r: Any, t: Any, ahead: float) -> float:
    """The forecast `ahead`, limited to `reach` beyond all values known.

    Across a gap every step is predicted from the one before, and high degrees would diverge; so would members that
    were exact before, one step after a signal has broken off and begun anew.
    """
    known = r.alarm_size[alarms.VALUE]
    if known == 0:
        return ahead
    seen, far = r.alarm_middle[alarms.VALUE], reach(r, t, r.gap + 1.0)
    return min(max(ahead, seen[0] - far), seen[known - 1] + far)  # type: ignore[no-any-return]


@inner
def is_usual(r: Any, t: Any, steps: float) -> bool:
    """Whether a value `steps` after the last known one is no later than usual, so that it is learned from."""
    return steps <= t.patience * r.spacing or r.known == 1  # type: ignore[no-any-return]


@inner
def across(r: Any, t: Any, ahead: float) -> float:
    """How many times wider than one step ahead an interval is, `ahead` steps after the newest place."""
    steps = r.gap + ahead
    if is_usual(r, t, steps):
        return steps  # type: ignore[no-any-return]
    return beyond(r, t, steps)


@inner
def beyond(r: Any, t: Any, steps: float) -> float:
    """The same across a gap of so many steps that is longer than usual."""
    one = max(r.quantile[_NINETY] * usual_error(r, t) if r.learned > 0 else 0.0, t.smallest)
    place = _octave(steps)
    power = 3.0 if r.error_scale < 1e-8 * r.scale[0] else 1.0
    wide = one * steps**power
    for shorter in range(place, -1, -1):
        if r.gap_seen[shorter] > 0:
            wide = max(_after(r, t, shorter), one) * 2.0 ** (power * (place - shorter))
            break
    known = r.alarm_size[alarms.VALUE]
    if known > 0 and r.learned > 0:
        widest = r.alarm_middle[alarms.VALUE, known - 1] - r.alarm_middle[alarms.VALUE, 0]
        widest += reach(r, t, steps) + one * math.sqrt(steps)
        wide = widest if steps > t.clock.longest_hole else min(wide, widest)
    for longer in range(place, OCTAVES):
        if r.gap_seen[longer] > 0:
            wide = min(wide, _after(r, t, longer))
            break
    return max(wide / one, 1.0)  # type: ignore[no-any-return]


@inner
def _octave(steps: float) -> int:
    return min(max(int(math.log2(steps)), 0), OCTAVES - 1)


@inner
def _after(r: Any, t: Any, place: int) -> float:
    """Nine in ten errors after gaps of this octave are smaller."""
    return r.gap_error[place] * (1.0 + t.gap_few / float(r.gap_seen[place]) ** 1.5)  # type: ignore[no-any-return]


@inner
def note_gap(r: Any, t: Any, steps: float, error: float) -> None:
    """Take in the error of the first value after an unusual gap."""
    if r.learned < t.gap_settled:
        return
    place = _octave(steps)
    r.gap_error[place] = max(abs(error), t.gap_fades * r.gap_error[place])
    r.gap_seen[place] += 1
