"""Two readings of a timestamp off its grid: it is noise itself, or the time at which the value was really taken.

Both are tried side by side, the second along a straight line and along a cubic: forecasts are moved from the
grid to the stamp, and values back to the grid by the same amount. The reading whose forecasts had the smallest squared
errors lately is used. Where stamps are true for certain and the signal is smooth, times are taken as irregular ones
that have a grid to return to (`irregular.py`).
"""

from __future__ import annotations

from typing import Any

from prophecy._compiled import inner
from prophecy.adaptive.irregular import best_fit, degree, judge, nodes

NOISE, LINE, CUBIC = 0, 1, 2
KINDS = 3
"""The readings: the stamp is noise; the value was taken then, and moves along the line from the newest value to the
forecast; or along the cubic through the three newest values and the forecast."""


@inner
def stamp_kind(r: Any, t: Any) -> int:
    """The reading of the timestamps with the least recent error, the simplest where they are alike."""
    best = NOISE
    for kind in range(1, KINDS):
        if r.stamp_error[kind] < t.stamps.better * r.stamp_error[best]:
            best = kind
    return best


@inner
def shift(r: Any, expected: float, offset: float, kind: int) -> float:
    """What the forecast `expected` changes if the value was taken `offset` steps late, by one reading (backward
    differences)."""
    if kind == NOISE or offset == 0.0:
        return 0.0
    first = expected - r.lag[0]
    slope = first
    if kind == CUBIC:
        second = first - (r.lag[0] - r.lag[1])
        third = second - (r.lag[0] - 2.0 * r.lag[1] + r.lag[2])
        slope += (offset + 1.0) * (0.5 * second + (offset + 2.0) / 6.0 * third)
    # A single wild forecast must not move values far: no slope is steeper than twice the last steps.
    steepest = 2.0 * max(abs(r.lag[0] - r.lag[1]), abs(r.lag[1] - r.lag[2]))
    return offset * min(max(slope, -steepest), steepest)  # type: ignore[no-any-return]


@inner
def compare(r: Any, t: Any, kind: int, error: float) -> None:
    """Take in the error of one reading."""
    r.stamp_error[kind] += (error * error - r.stamp_error[kind]) / min(r.stamps, t.stamps.over)


@inner
def taken_then(r: Any, t: Any, s: Any) -> bool:
    """Whether values have for certain been taken at their stamps, and are smooth."""
    if r.stamps < t.stamps.sure or stamp_kind(r, t) == NOISE:
        return False
    exact = s.seen >= t.stamps.sure and s.fit[best_fit(s, t)] < t.stamps.exactly * r.stamp_error[NOISE]
    return exact or degree(s, t) > t.stamps.smooth  # type: ignore[no-any-return]


@inner
def placed(
    r: Any, t: Any, c: Any, s: Any, time: float, value: float, expected: float, offset: float, room: Any
) -> float:
    """The value as it would have been on the grid, `offset` steps before its stamp; the readings are compared on it."""
    moved = shift(r, expected, offset, stamp_kind(r, t))
    if r.gap == 0:
        r.stamps += 1
        for kind in range(KINDS):
            compare(r, t, kind, value - expected - shift(r, expected, offset, kind))
    x, y = room[4], room[5]
    x[0], y[0] = time, value
    judge(s, t, x, y, nodes(c, s, t, c.count, x, y), room)
    return value - moved
