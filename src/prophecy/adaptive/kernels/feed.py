"""Values into streams: one compiled entry for streams with and without timestamps, each with its own clock.

A stream is one row of four arrays: its record, its ring of recent values, its clock and its last samples. Whether a
value is late, how many places of the grid it passes, whether times have become irregular and whether there is a season
is decided here, value by value, so that the numbers do not depend on how values are grouped into arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner, kernel, part
from prophecy.adaptive import clock, paths, stamps
from prophecy.adaptive.clock import RECENT
from prophecy.adaptive.irregular import carried
from prophecy.adaptive.limits import FLAGS, RING
from prophecy.adaptive.members import LAGS
from prophecy.adaptive.record import RECORD
from prophecy.adaptive.regrid import sample, start_over
from prophecy.adaptive.season_check import check_if_due
from prophecy.adaptive.step import ROOM, expected, read, step, surprise_of


@kernel
def take(
    records: Any,
    rings: Any,
    clocks: Any,
    samples: Any,
    table: Any,
    which: Any,
    times: Any,
    values: Any,
    where: Any,
    out: Any,
    passed: Any,
) -> None:
    """values (n,) into the streams `which` (n,) says, in their order.

    times (n,): seconds, NaN for one step after the value before; empty for streams without timestamps. out (n, 4) gets
    mean and half width of each value as they were before it came, at the level that `where` says (`table.between`),
    its score, and the alarm with it; out (n, 7) also mean and half width of the forecast one step ahead, and which of
    the record's ranks (`alarm_tail`) is the smallest; an empty `out` gets nothing. passed (n,) gets the seconds since
    the value before: 0 where it came too late and was not taken (its row of `out` is NaN), NaN for a first value.
    """
    spares = np.empty(1, dtype=RECORD), np.empty(RING), np.empty(ROOM), np.empty(paths.ROOM)
    row, noting = np.empty(4), len(out) > 0
    for k in range(len(values)):
        i = which[k]
        stream = records[i : i + 1], rings[i], clocks[i], samples[i]
        if len(times) > 0:
            passed[k] = _take_timed(stream, table[0], times[k], values[k], where, noting, row, spares)
        else:
            passed[k] = 1.0
            _take_step(stream, table[0], values[k], where, noting, row, spares)
        if noting:
            out[k, :4] = row
            if out.shape[1] > 6:
                out[k, 4], out[k, 5] = _next(stream, table[0], where, spares)
                out[k, 6] = np.argmin(stream[0][0].alarm_tail)


@part
def _take_step(stream: Any, t: Any, value: float, where: Any, noting: bool, row: Any, spares: Any) -> None:
    """The next value of a stream without times."""
    r = stream[0][0]
    if noting:
        row[0], row[1] = read(r, t, where[0], where[1], where[2])
        row[2] = surprise_of(r, t, value - row[0]) if r.count else 0.0
    _step(stream, t, value, row, spares)


@part
def _step(stream: Any, t: Any, value: float, row: Any, spares: Any) -> None:
    """The step itself, then seasons if they are due, and the alarm with the value."""
    r = stream[0][0]
    step(r, stream[1], t, value, spares[2])
    check_if_due(r, stream[1], t)
    row[3] = math.nan if math.isnan(value) else r.alarm
    stream[3].alarm = row[3]


@part
def _take_timed(
    stream: Any, t: Any, time: float, value: float, where: Any, noting: bool, row: Any, spares: Any
) -> float:
    c, s = stream[2], stream[3]
    if math.isnan(time):
        time = _next_time(c, s)
    if noting and clock.is_far(c, t, time):
        row[0], row[1], row[2] = paths.forecast(stream, t, time, value, where, spares)
        noting = False
    passed = clock.arrival(c, s, t, time)
    if passed == 0.0:
        _take_late(stream, t, time, value)
        row[:] = math.nan
        s.alarm = math.nan
        if time != c.last or value == s.known:
            return passed
        s.value[c.count % RECENT] = value
        clock.keep_twice(c, t)
    elif c.irregular != clock.ON_GRID:
        _take_between(stream, t, time, value, where, noting, row, spares)
    else:
        _take_on_grid(stream, t, time, value, where, noting, row, spares)
    if passed != 0.0:
        s.value[c.count % RECENT] = value
        if not math.isnan(value):
            s.newest, s.known = time, value
        clock.note(c, time)
    verdict = clock.check_grid(c, t, stamps.taken_then(stream[0][0], t, s))
    if verdict != clock.FINE:
        start_over(stream, t, verdict, spares)
    return passed


@inner
def _next_time(c: Any, s: Any) -> float:
    """The time of a value that came without one: one step after the newest, a float64 apart at least."""
    if c.count == 0:
        return 0.0
    dt = c.dt if c.dt > 0.0 else 1.0
    time = (c.last if c.irregular != clock.ON_GRID else c.grid) + dt
    if not time > c.last + 0.5 * dt:
        # A step below the resolution of the stamps: the clock is moved to where float64 resolves its steps.
        clock.shift(c, s, -c.last)
        c.last, c.grid, time = 0.0, 0.0, dt
    return time  # type: ignore[no-any-return]


@inner
def _take_late(stream: Any, t: Any, time: float, value: float) -> None:
    """A value that came too late to be predicted is put where it belongs, if it was missing there: into the ring, which
    seasons and forecasts read, and among the lags."""
    r, c = stream[0][0], stream[2]
    back = math.floor((c.grid - time) / c.dt + 0.5) if c.dt > 0.0 else 0.0
    if math.isnan(value) or c.irregular != clock.ON_GRID or not r.gap < back < min(r.count, RING):
        return
    ago = int(back)
    place = (r.count - 1 - ago) % RING
    bit = 1 << (place % FLAGS)
    if abs((c.grid - time) / c.dt - back) > t.clock.off or r.season_filled[place // FLAGS] & bit == 0:
        return
    stream[1][place] = value
    r.season_filled[place // FLAGS] &= ~bit
    if ago < LAGS:
        r.lag[ago] = value
        r.feature[ago] = value - r.last


@part
def _take_on_grid(
    stream: Any, t: Any, time: float, value: float, where: Any, noting: bool, row: Any, spares: Any
) -> None:
    """A value whose stamp is near a place of the grid; places passed over are gaps."""
    r, c, s = stream[0][0], stream[2], stream[3]
    whole, offset, apart = 1.0, 0.0, False
    if c.count == 0:
        c.grid = time
    else:
        whole, offset = clock.place(c, t, time)
        beside, offset = offset, clock.beside(c, t, offset)
        apart = noting and r.count > 0 and abs(offset) > t.clock.off
        if apart:
            mean, wider, more = paths.beside_grid(stream, t, time, spares)
            row[0], row[1], row[2] = paths.judged(r, t, mean, wider, more, value, where)
        clock.follow_stamp(c, t, beside, whole)
    for _ in range(int(min(whole, t.clock.longest_hole)) - 1):
        step(r, stream[1], t, math.nan, spares[2])
    if noting and not apart:
        row[0], row[1] = read(r, t, where[0], where[1], where[2])
        row[2] = 0.0
        if r.count > 0:
            row[0] += stamps.shift(r, row[0], offset, stamps.stamp_kind(r, t))
            row[2] = surprise_of(r, t, value - row[0])
    if offset != 0.0 and r.count > 0 and not math.isnan(value):
        value = stamps.placed(r, t, c, s, time, value, expected(r, t), offset, spares[3])
    _step(stream, t, value, row, spares)


@part
def _take_between(
    stream: Any, t: Any, time: float, value: float, where: Any, noting: bool, row: Any, spares: Any
) -> None:
    """A value at an irregular time: judged against the path, and the places it passes filled."""
    r, c, s = stream[0][0], stream[2], stream[3]
    path, off = math.nan, 0.0
    if r.count > 0 and (noting or not math.isnan(value)):
        path, off = paths.between(stream, t, time, spares)
    if noting:
        wider = paths.widening(r, c, s, t, time)
        row[0], row[1], row[2] = paths.judged(r, t, path + carried(s, t) * off, wider, 0.0, value, where)
    if c.irregular == clock.JITTER and not math.isnan(path + value):
        nearest = int(min(math.floor((time - c.grid) / c.dt + 0.5), paths.ROOM[1] - 1.0))
        place = spares[3][paths.PATH, nearest] if nearest > 0 else r.lag[0]
        r.stamps += 1
        stamps.compare(r, t, stamps.NOISE, value - place)
        stamps.compare(r, t, stamps.LINE, value - path)
        stamps.compare(r, t, stamps.CUBIC, value - path)
    places = sample(stream, t, c.count, time, value, path, off, spares)
    row[3] = math.nan if math.isnan(value) else (r.alarm if places else 0.0)
    s.alarm = row[3]


@inner
def _next(stream: Any, t: Any, where: Any, spares: Any) -> tuple[float, float]:
    """Mean and half width one step ahead."""
    if stream[2].irregular == clock.ON_GRID:
        return read(stream[0][0], t, where[0], where[1], where[2])
    mean, half, _ = paths.forecast(stream, t, stream[2].last + stream[2].dt, math.nan, where, spares)
    return mean, half


@kernel
def ahead(
    records: Any,
    rings: Any,
    clocks: Any,
    samples: Any,
    table: Any,
    which: Any,
    times: Any,
    values: Any,
    where: Any,
    out: Any,
) -> None:
    """Forecasts of the streams `which` (n,) for `times` (n,), NaN for one step ahead; nothing is changed.

    out (n, 3) gets mean, half width at the level that `where` says, and the score that `values` (n,) would have; NaN
    for a time at which a value would be late.
    """
    spares = np.empty(1, dtype=RECORD), np.empty(RING), np.empty(ROOM), np.empty(paths.ROOM)
    for k in range(len(which)):
        i = which[k]
        c, time = clocks[i], times[k]
        if math.isnan(time):
            time = (c.last if c.irregular != clock.ON_GRID else c.grid) + c.dt
        elif c.count > 0 and not clock.is_far(c, table[0], time):
            passed, steps = clock.understood(c, table[0], time)
            if steps > 0.0:
                time = (c.last if c.irregular != clock.ON_GRID else c.grid) + steps * c.dt
            elif passed == 0.0:
                out[k] = math.nan
                continue
        stream = records[i : i + 1], rings[i], c, samples[i]
        out[k, 0], out[k, 1], out[k, 2] = paths.forecast(stream, table[0], time, values[k], where, spares)
