"""What a timestamp off its grid says: that it is noise itself, or when the value was really taken.

Both readings are tried side by side. In the second, forecasts are moved from the grid to the stamp along a polynomial
through the forecast and the values before it, and values from the stamp to the grid as at irregular times
(`irregular.py`). The reading whose forecasts had the smaller squared errors lately is used; once that is certain to be
the second, times are taken as irregular ones that have a grid to return to.
"""

from __future__ import annotations

from typing import Any

from prophecy._compiled import inner
from prophecy.adaptive.irregular import degree, judge, neville, nodes

NOISE, TRUE = 0, 1
KINDS = 2
"""The readings: the stamp is noise; the value was taken then."""

TOLD_APART = 0.95
"""Stamps are taken for true where that has this share of the other's squared error or less."""

STAMPS_OVER = 256
"""Values over which the readings' squared errors are averaged."""

HIGHEST = 3
"""Degree of moves while the grid follows the stamps: it wobbles with them, and higher degrees magnify that."""

SURE = 32
"""Values off the grid before stamps are believed to be true times; until then values are moved one by one."""


@inner
def stamp_kind(r: Any) -> int:
    """Which reading of the timestamps has done best lately, the simpler where they are alike."""
    return TRUE if r.stamp_error[TRUE] < TOLD_APART * r.stamp_error[NOISE] else NOISE


@inner
def steepest(r: Any) -> float:
    """Largest change a step that a value is moved along: twice the last ones, so that no wild forecast moves it far."""
    return 2.0 * max(abs(r.lag[0] - r.lag[1]), abs(r.lag[1] - r.lag[2]))  # type: ignore[no-any-return]


@inner
def move(r: Any, s: Any, expected: float, offset: float, room: Any) -> float:
    """What the forecast `expected` changes if the value is truly taken `offset` steps late.

    Along a straight line as long as stamps count for noise: the values before have not been corrected then.
    """
    power = min(degree(s), HIGHEST) if stamp_kind(r) == TRUE else 1
    x, y = room[0], room[1]
    for i in range(power + 1):
        x[i], y[i] = -float(i), r.lag[i - 1] if i else expected
    neville(x, y, power + 1, offset, room[2], room[3])
    most = abs(offset) * steepest(r)
    return min(max(room[3, power] - expected, -most), most)  # type: ignore[no-any-return]


@inner
def shift(r: Any, s: Any, expected: float, offset: float, room: Any) -> float:
    """What the forecast changes if the value is taken `offset` steps late, by the reading in use."""
    if offset == 0.0 or stamp_kind(r) == NOISE:
        return 0.0
    return move(r, s, expected, offset, room)


@inner
def compare(r: Any, noise: float, true: float) -> None:
    """Take in the errors of the two readings."""
    r.stamps += 1
    rate = 1.0 / min(r.stamps, STAMPS_OVER)
    r.stamp_error[NOISE] += (noise * noise - r.stamp_error[NOISE]) * rate
    r.stamp_error[TRUE] += (true * true - r.stamp_error[TRUE]) * rate


@inner
def taken_then(r: Any) -> bool:
    """Whether values have for certain been taken at their stamps."""
    return r.stamps >= SURE and stamp_kind(r) == TRUE


@inner
def placed(r: Any, c: Any, s: Any, time: float, value: float, expected: float, offset: float, room: Any) -> float:
    """The value as it would have been on the grid, `offset` steps before its stamp; the readings are compared on it."""
    kind = stamp_kind(r)
    if r.gap == 0:
        compare(r, value - expected, value - expected - move(r, s, expected, offset, room))
    x, y = room[4], room[5]
    x[0], y[0] = time, value
    count = nodes(c, s, c.count, x, y)
    judge(s, x, y, count, room)
    if kind == NOISE:
        return value
    count = min(count, degree(s) + 1, HIGHEST + 1)
    neville(x, y, count, -offset, room[2], room[3])
    most = abs(offset) * steepest(r)
    return min(max(room[3, count - 1], value - most), value + most)  # type: ignore[no-any-return]
