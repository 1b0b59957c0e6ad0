r"""The bank: one value of one stream, `step(record, table, value)`, and what is predicted next, `read(record, table)`.

The arithmetic is that of docs/prophecy.md, in its order: first what is learned from the value (calibration, solved
readouts, bias of the derivative, mixture), then memories, members and their mixture for the next value. `record` is a
`RECORD` and changes in place; `table` holds the constants (`table.TABLE`). A value is a number or NaN, which is a
gap.

One value, an array, many channels and many series all run these functions, and sums are taken in one order, so results
agree to the last bit. Inner loops run over members or features side by side, which vectorises without reordering; sums
are taken in eight interleaved parts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner, kernel
from prophecy.adaptive import alarms, readings, seasonal, shrinkage
from prophecy.adaptive.calibration import calibrate, half_width, surprise
from prophecy.adaptive.gaps import across, is_usual, note_gap, within_reach
from prophecy.adaptive.lanes import EIGHT, ZERO, product, total
from prophecy.adaptive.limits import LARGEST, RING
from prophecy.adaptive.members import LAGS, LONGS, MEMBERS, MEMORY, ORDER, SHORTS, WINDOWS, padded
from prophecy.adaptive.slopes import note_bias, slope
from prophecy.adaptive.solved import learn_solved, predict_solved

_WINDOWS = len(WINDOWS)
_SHORT_STRIDE, _LONG_STRIDE, _ORDER = np.uint64(padded(SHORTS)), np.uint64(padded(ORDER + LONGS)), np.uint64(ORDER)
ROOM = (6, padded(MEMBERS))
"""Room to work in, allocated once per call: rows of numbers that are not kept."""


@inner
def step(r: Any, ring: Any, t: Any, value: float, room: Any) -> None:
    """Take in the next value; NaN is a gap."""
    if math.isnan(value):
        if r.count > 0:
            _advance(r, ring, t, r.last if r.hold else expected(r, t), True, room)
            seasonal.mark(r, True)
            _drift(r, t, room)
            r.gap += 1
        return
    if r.count == 0:
        _begin(r, value)
    else:
        distance = r.gap + 1
        if r.gap == 0:
            readings.note_tick(r, t, value)
        forecast, events = expected(r, t), r.alarm_seen < t.alarms.needed or alarms.rests_half(r, t)
        _watch(r, t, value, forecast, 1.0 / distance)
        if is_usual(r, t, distance):
            _learn(r, t, value, forecast, 1.0 / distance, events, room)
        else:
            note_gap(r, t, distance, value - forecast)
        _note_spacing(r, t, distance)
        if r.gap > 0:
            _close_gap(r, ring, t, value, forecast)
    _advance(r, ring, t, value, False, room)
    seasonal.mark(r, False)
    r.known += 1
    r.gap = 0


@inner
def _watch(r: Any, t: Any, value: float, forecast: float, part: float) -> None:
    """Rank the value among all the past, for the alarm."""
    level = value
    window = min(t.alarms.window, r.count + 1)
    for j in range(window - 1):
        level += r.lag[j]
    alarms.watch(r, t, value, (value - r.last) * part, (value - forecast) * part, level / window)


@inner
def _learn(r: Any, t: Any, value: float, forecast: float, part: float, events: bool, room: Any) -> None:
    """Learn from a value and its forecast. part: 1 over the steps since the last known value, which the error across a
    gap is divided by. events: see `calibrate`."""
    difference = value - r.last
    if r.same < t.stuck:
        calibrate(r, t, (value - forecast) * part, events)
    seasonal.learn(r, t, value, difference, part, room)
    shrinkage.learn(r, t, value, difference, part)
    learn_solved(r, t, difference, part, room)
    note_bias(r, t, difference, part)
    weigh(r, t, difference, part, value, room[0])
    r.learned += 1


# The mixture: Bayes' rule with a fixed share.


@inner
def weigh(r: Any, t: Any, difference: float, part: float, value: float, new: Any) -> None:
    """Weights and scales of the members after errors (difference - prediction) * part."""
    least = (t.rounding * value) * (t.rounding * value) + t.smallest
    count = len(r.weight)
    if r.learned == 0:
        error = (difference - r.prediction[0]) * part
        for i in range(count):
            r.scale[i] = max(error * error, least)
    rate = max(1.0 - t.discount, 1.0 / (r.learned + 1 + t.settle))
    for i in range(count):
        error = (difference - r.prediction[i]) * part
        squared = error * error
        scale = r.scale[i]
        new[i] = r.weight[i] * (math.sqrt(scale) / (scale + squared))
        r.scale[i] = max(scale + (squared - scale) * rate, least)
        r.peak[i] = max(r.peak[i], squared)
    for i in range(count, len(new)):
        new[i] = 0.0
    kept = (1.0 - t.share) / total(new, np.uint64(len(new)))
    for i in range(count):
        r.weight[i] = new[i] * kept + t.share * t.prior[i]
    if (r.learned + 1) % t.block == 0:
        for i in range(count):
            r.scale[i] = min(r.scale[i], t.ceiling * max(max(r.peak[i], r.last_peak[i]), least))
            r.last_peak[i] = r.peak[i]
            r.peak[i] = 0.0


@inner
def combine(r: Any, shares: Any, parts: Any) -> float:
    """The point forecast of the change: members by weight over scale, left in `shares`."""
    count = len(r.weight)
    for i in range(count):
        shares[i] = r.weight[i] / (r.scale[i] if r.scale[i] > 0.0 else 1.0)
        parts[i] = shares[i] * r.prediction[i]
    for i in range(count, len(shares)):
        shares[i] = parts[i] = 0.0
    return total(parts, np.uint64(len(parts))) / total(shares, np.uint64(len(shares)))


# Memories and members.


@inner
def _begin(r: Any, value: float) -> None:
    """The first value: everything before it is taken to have been equal to it."""
    for j in range(LAGS):
        r.lag[j] = value
    r.last = value
    r.mean = value


@inner
def _advance(r: Any, ring: Any, t: Any, value: float, filled: bool, room: Any) -> None:
    """Memories, then every member's prediction of the next change, then the forecast. filled: the value stands in for
    a missing one."""
    difference = value - r.last
    for j in range(LAGS - 1, 0, -1):
        r.lag[j] = r.lag[j - 1]
    r.lag[0] = value
    for j in range(LAGS):
        r.feature[j] = r.lag[j] - value
    _predict_short(r, t, room[3])
    _predict_long(r, t, difference, room[4], room[3])
    for i in range(2):
        r.alternation[i] = difference - t.alternating[i] * r.alternation[i]
        r.feature[MEMORY + i] = r.alternation[i] * (1.0 - t.alternating[i])
    r.count += 1
    r.mean += (value - r.mean) * max(t.slowest_mean, 1.0 / r.count)
    r.feature[MEMORY + 2] = r.mean - value
    r.last = value
    predict_solved(r, t)
    ring[(r.count - 1) % RING] = value
    r.change = shrinkage.shrunk(r, t, seasonal.advance(r, ring, t, combine(r, room[5], room[4])), filled)


@inner
def _predict_short(r: Any, t: Any, out: Any) -> None:
    for j in range(ZERO, _SHORT_STRIDE, EIGHT):
        # Members are ordered by window: those of a block read no lag beyond its last window.
        product(r.feature, t.reach[j // EIGHT], t.short, j, _SHORT_STRIDE, out, j)
    for i in range(SHORTS):
        r.prediction[i] = out[i]


@inner
def _predict_long(r: Any, t: Any, difference: float, moved: Any, out: Any) -> None:
    """z ← A (z - x₁ du), and the readouts of the new z, in one product."""
    for w in range(_WINDOWS):
        for k in range(ORDER):
            moved[k] = r.feature[LAGS + w * ORDER + k] - difference * t.steady[w, k]
        for j in range(ZERO, _LONG_STRIDE, EIGHT):
            product(moved, _ORDER, t.long, t.block_of[w] + j, _LONG_STRIDE, out, j)
        for k in range(ORDER):
            r.feature[LAGS + w * ORDER + k] = out[k]
        for i in range(LONGS):
            r.prediction[SHORTS + w * LONGS + i] = out[ORDER + i]


# Gaps.


@inner
def expected(r: Any, t: Any) -> float:
    """The forecast of the next value; where gaps repeat the last value (`hold`), that value.

    Of a stream that rests at least half of the time the forecast change is limited to the largest seen: after a long
    rest all members have small errors, and high degrees would extrapolate the first change. No forecast passes a bound
    at which values pile up (`alarms.bounded`), nor goes farther beyond all values seen than `gaps.reach`.
    """
    change: float = r.change
    if alarms.rests_half(r, t):
        most = r.alarm_middle[alarms.DIFFERENCE, r.alarm_size[alarms.DIFFERENCE] - 1]
        change = min(max(change, -most), most)
    ahead: float = r.last if r.hold and r.gap > 0 else alarms.bounded(r, t, r.last + change)
    ahead = within_reach(r, t, ahead)
    return min(max(ahead, -LARGEST), LARGEST)


@inner
def _note_spacing(r: Any, t: Any, distance: int) -> None:
    """The usual distance between known values; one long gap moves it no more than one twice as long as usual."""
    steps = float(distance) if r.known == 1 else min(float(distance), 2.0 * r.spacing)
    r.spacing += (steps - r.spacing) / min(r.known, t.spacings)


@inner
def walk(r: Any, ring: Any, t: Any, room: Any) -> None:
    """One step across a gap, of a copy of the record that only predicts: what the end of a gap needs is left out."""
    _advance(r, ring, t, r.last if r.hold else expected(r, t), True, room)
    r.gap += 1


@inner
def _drift(r: Any, t: Any, room: Any) -> None:
    """Update what a slope of 1 since the gap began would have added to the memories."""
    moved, out = room[4], room[3]
    for w in range(_WINDOWS):
        for k in range(ORDER):
            moved[k] = r.drift[w, k] - t.steady[w, k]
        product(moved, _ORDER, t.long, t.block_of[w], _LONG_STRIDE, out, ZERO)
        for k in range(ORDER):
            r.drift[w, k] = out[k]
    for i in range(2):
        r.alternation_drift[i] = 1.0 - t.alternating[i] * r.alternation_drift[i]


@inner
def _close_gap(r: Any, ring: Any, t: Any, value: float, forecast: float) -> None:
    """Add a straight line to what stood in for the missing values, so that it leads to `value`."""
    if not r.hold:
        slope = (value - forecast) / (r.gap + 1)
        for j in range(min(LAGS, r.gap)):
            r.lag[j] += slope * (r.gap - j)
        for j in range(min(RING, r.gap)):
            ring[(r.count - 1 - j) % RING] += slope * (r.gap - j)
        r.last += slope * r.gap
        for w in range(_WINDOWS):
            for k in range(ORDER):
                r.feature[LAGS + w * ORDER + k] += slope * r.drift[w, k]
        for i in range(2):
            r.alternation[i] += slope * r.alternation_drift[i]
    for w in range(_WINDOWS):
        for k in range(ORDER):
            r.drift[w, k] = 0.0
    for i in range(2):
        r.alternation_drift[i] = 0.0


# Reading.


@inner
def read(r: Any, t: Any, above: int, inside: bool, part: float) -> tuple[float, float]:
    """The next value and half the width of its interval: NaN before the first value, infinite before any error.

    above, inside, part: where the level lies among the tracked quantiles (`between`).
    """
    if r.count == 0:
        return math.nan, math.nan
    mean = expected(r, t)
    half = half_width(r, t, above, inside, part) * across(r, t, 1.0)
    # No interval is narrower than the numbers themselves, nor than a tick.
    return mean, max(half, np.spacing(abs(mean)), 0.5 * readings.resolution(r, t))


# What Python calls.


@inner
def surprise_of(r: Any, t: Any, error: float) -> float:
    """The score of an error of the next value, in view of the steps since the last known one and of the tick."""
    score = surprise(r, t, error / across(r, t, 1.0))
    if not score > 0.0:
        return score
    part = 1.0 / (r.gap + 1)
    highest = alarms.ceiling(r, t, abs(error) * part, abs(error + expected(r, t) - r.last) * part)
    tick = readings.resolution(r, t)
    if tick > 0.0 and highest == math.inf:
        # An error of n ticks counts as no rarer than one of 2 n standard deviations.
        rare = math.erfc(abs(error) / (0.5 * tick) / math.sqrt(2.0))
        highest = -math.log10(rare) if rare > 0.0 else math.inf
    return min(score, highest)


@kernel
def read_all(records: Any, table: Any, where: Any, out: Any) -> tuple[float, float]:
    """Mean and half width of the next value of every record, in out (2, series), and those of the last as numbers."""
    mean, half = math.nan, math.nan
    for s in range(len(records)):
        mean, half = read(records[s], table[0], where[0], where[1], where[2])
        out[0, s], out[1, s] = mean, half
    return mean, half


@kernel
def slopes(records: Any, rings: Any, table: Any, out: Any, shares: Any) -> None:
    """Derivatives per sample into out (series,), and the share of each readout in what is not the season's slope into
    shares (series, constructed members)."""
    for s in range(len(records)):
        out[s] = seasonal.slope(records[s], rings[s], table[0], slope(records[s], table[0], shares[s]))
