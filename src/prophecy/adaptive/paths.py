"""Forecasts for any time: one step, many, and between two steps; nothing of the stream is changed.

Steps are walked on a copy of the record, as across a gap. On a grid, a time within `off` of a place is read as its
stamp would be (`stamps.py`), any other lies on the cubic through four steps. With irregular times it lies on the
polynomial through the steps around it, moved by what persists of the newest sample's distance from it.

Compiled code hands a stream on as (record in an array of one, ring, clock, samples), and room to work in as (an array
of one record, a ring, rows for the step, rows for polynomials).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner
from prophecy.adaptive import readings, stamps
from prophecy.adaptive.calibration import half_width
from prophecy.adaptive.clock import ON_GRID, beside, is_far, place
from prophecy.adaptive.gaps import across, beyond
from prophecy.adaptive.irregular import carried, degree, hole, neville
from prophecy.adaptive.step import expected, read, surprise_of, walk

ROOM = (7, 16)
"""Room for polynomials: rows of points, at least `NODES` + 1 long; the last row holds the path."""


PATH = 6
"""The row of that room in which `between` leaves the first steps of the forecast path."""


@inner
def copied(stream: Any, spares: Any) -> Any:
    """A copy of the record to walk on. The ring is read by the seasonal members alone."""
    r = stream[0][0]
    spares[0][0] = r
    if r.season_on == 1:
        spares[1][:] = stream[1]
    return spares[0][0]


@inner
def beside_grid(stream: Any, t: Any, time: float, spares: Any) -> tuple[float, float, float]:
    """The forecast for a time between two places of the grid, how many times wider than one step ahead its interval
    is, and by how much more than that: how far the path is from a straight line is a measure of what is not known
    about the signal between two steps."""
    whole, offset = place(stream[2], t, time)
    steps = whole + offset
    count = max(math.ceil(steps - 1e-9), 1)
    q = copied(stream, spares)
    for _ in range(count - 1):
        walk(q, spares[1], t, spares[2])
    before, left, right = q.lag[1], q.lag[0], expected(q, t)
    wider = across(q, t, 1.0)
    part = min(max(steps - (count - 1), 0.0), 1.0)
    if part > 1.0 - 1e-9:
        return right, wider, 0.0
    walk(q, spares[1], t, spares[2])
    after = expected(q, t)
    line = left + (right - left) * part
    bend = (before - 2.0 * left + right) * (2.0 - part) + (left - 2.0 * right + after) * (1.0 + part)
    curve = line - bend * part * (1.0 - part) / 6.0
    return curve, wider, abs(curve - line)


@inner
def between(stream: Any, t: Any, time: float, spares: Any) -> tuple[float, float]:
    """With irregular times: the path at `time`, and how far the newest sample lies from it.

    The path is that of the bank's steps from the newest place of the grid on; the first ones are left in row `PATH`.
    """
    c, s = stream[2], stream[3]
    ahead, newest = (time - c.grid) / c.dt, (s.newest - c.grid) / c.dt
    power = max(degree(s, t), t.irregular.path_degree)
    top = max(math.ceil(min(ahead, 2.0 * t.clock.longest_hole) - 1e-9), 1)
    q, off = stream[0][0], 0.0
    spares[3][PATH, 1] = expected(q, t)
    if newest > 1e-9:
        off = s.known - _along(q, t, 1, power, min(newest, 1.0), spares[3])
    if top > 1:
        q = copied(stream, spares)
    for walked in range(1, top):
        walk(q, spares[1], t, spares[2])
        spares[3][PATH, min(walked + 1, ROOM[1] - 1)] = expected(q, t)
    return _along(q, t, top, power, min(ahead, float(top)), spares[3]), off


@inner
def _along(q: Any, t: Any, step: int, power: int, at: float, room: Any) -> float:
    """The polynomial through the forecast for `step` and the values before it, `at` steps ahead."""
    x, y = room[0], room[1]
    for i in range(power + 1):
        x[i], y[i] = float(step - i), q.lag[i - 1] if i else expected(q, t)
    neville(x, y, power + 1, at, room[2], room[3])
    return room[3, power]  # type: ignore[no-any-return]


@inner
def widening(r: Any, c: Any, s: Any, t: Any, time: float) -> float:
    """How many times wider than one typical interval ahead the interval for `time` is: in proportion to the time since
    the newest sample; across a hole as across other gaps."""
    since = max((time - s.newest) / c.dt, 1.0) if not math.isnan(s.newest) else 1.0
    return since if since <= hole(c, t) else beyond(r, t, since)


@inner
def judged(
    r: Any, t: Any, mean: float, wider: float, more: float, value: float, where: Any
) -> tuple[float, float, float]:
    """Mean, half width and the score of `value` where the interval is `wider` times as wide as one step ahead, and half
    of it longer by `more`."""
    half = half_width(r, t, where[0], where[1], where[2]) * wider + more
    error = math.copysign(max(abs(value - mean) - more, 0.0) / wider, value - mean)
    score = math.nan if math.isnan(value) else surprise_of(r, t, error * across(r, t, 1.0))
    return mean, max(half, np.spacing(abs(mean)), 0.5 * readings.resolution(r, t)), score


@inner
def forecast(stream: Any, t: Any, time: float, value: float, where: Any, spares: Any) -> tuple[float, float, float]:
    """Mean, half width and the score of `value`, for `time`; NaN, NaN and 0 before the first value."""
    r, c, s = stream[0][0], stream[2], stream[3]
    if r.count == 0:
        return math.nan, math.nan, 0.0
    if is_far(c, t, time):
        # Either the clock was set, and the value is the next one; or the interval is that of all values seen.
        return judged(r, t, expected(r, t), across(r, t, (time - c.last) / c.dt), 0.0, value, where)
    if c.irregular != ON_GRID:
        path, off = between(stream, t, time, spares)
        return judged(r, t, path + carried(s, t) * off, widening(r, c, s, t, time), 0.0, value, where)
    whole, offset = place(c, t, time)
    offset = beside(c, t, offset)
    if abs(offset) > t.clock.off:
        mean, wider, more = beside_grid(stream, t, time, spares)
        return judged(r, t, mean, wider, more, value, where)
    # As `feed` does when the value comes: read and judged from the place before.
    q = r
    if whole > 1.0:
        q = copied(stream, spares)
        for _ in range(int(whole) - 1):
            walk(q, spares[1], t, spares[2])
    mean, half = read(q, t, where[0], where[1], where[2])
    mean += stamps.shift(q, mean, offset, stamps.stamp_kind(q, t))
    return mean, half, math.nan if math.isnan(value) else surprise_of(q, t, value - mean)
