"""Values into streams: one entry for streams with and without timestamps, each with its own clock.

A stream is one row of four arrays: its record, its ring of recent values, its clock and its last samples. Whether a
value is late, how many offsets of the grid it passes, whether times have become irregular and whether there is a season
is decided here, value by value, so that the numbers do not depend on how values are grouped into arrays.
"""

import cython
from cython.cimports.libc.math import NAN, fabs, floor, isnan
from cython.cimports.prophecy.streams.kernels import clock, irregular, paths, seasonal
from cython.cimports.prophecy.streams.kernels.buffers import (
    clocks_of,
    given,
    numbers,
    records_of,
    samples_of,
    table_of,
    where_of,
    wholes,
)
from cython.cimports.prophecy.streams.kernels.seasonal import check_if_due
from cython.cimports.prophecy.streams.kernels.step import begin, expected, read, slope, step, surprise_of
from cython.cimports.prophecy.streams.kernels.stream import PLACES, Room, Stream


class Streams:
    """Streams in four arrays that are kept here: records (n,), rings (n, RING), clocks (n,), samples (n,); table: the
    constants. Numbers go into them and come out of them; the GIL is not held meanwhile. moments: how many have come, for
    whoever counts them."""

    def __cinit__(self, records, rings, clocks, samples, table, moments: cython.longlong = 0):
        self.records, self.rings, self.clocks, self.samples, self.table = records, rings, clocks, samples, table
        self.count, self.moments = len(records), moments
        self._records, self._rings = records_of(records, self.count), numbers(rings, "rings", self.count * RING)
        self._clocks, self._samples = clocks_of(clocks, self.count), samples_of(samples, self.count)
        self._table = table_of(table)

    def __reduce__(self):
        return Streams, (self.records, self.rings, self.clocks, self.samples, self.table, self.moments)

    def row(self, i):
        """One stream."""
        stream: Stream
        stream.r, stream.ring = self._records + i, self._rings + i * RING
        stream.c, stream.s = self._clocks + i, self._samples + i
        return stream

    def take(self, which, times, values, place, out, passed):
        """values (n,) into the streams `which` (n,) says, in their order.

        times (n,): seconds, NaN for one step after the value before; empty for streams without timestamps. out (n, 4)
        gets mean and half width of each value as they were before it came, at the level that `place` says
        (`table.between`), its score, and the alarm with it; out (n, 7) also mean and half width of the forecast one
        step ahead, and which of the record's ranks (`alarm_tail`) is the smallest; an empty `out` gets nothing. passed
        (n,) gets the seconds since the value before: 0 where it came too late and was not taken (its row of `out` is
        NaN), NaN for a first value.
        """
        n: cython.Py_ssize_t = len(values)
        width: cython.Py_ssize_t = out.shape[1] if len(out) else 0
        timed: cython.bint = len(times) > 0
        if width not in (0, 4, 7):
            raise ValueError(f"out must have 4 or 7 columns, got {width}")
        where = where_of(place)
        i = wholes(which, "which", n)
        time, value = given(times, "times", n if timed else 0), given(values, "values", n)
        noted, since = numbers(out, "out", n * width), numbers(passed, "passed", n)
        row: cython.double[4]
        room: Room
        k: cython.Py_ssize_t
        self._check(i, n)
        with cython.nogil:
            for k in range(n):
                stream = self.row(i[k])
                if timed:
                    since[k] = _take_timed(
                        cython.address(stream), self._table, time[k], value[k], cython.address(where), width > 0, row,
                        cython.address(room),
                    )  # fmt: skip
                else:
                    since[k] = 1.0
                    _take_step(cython.address(stream), self._table, value[k], cython.address(where), width > 0, row)
                for j in range(min(width, 4)):
                    noted[k * width + j] = row[j]
                if width > 4:
                    noted[k * width + 4], noted[k * width + 5] = _next(
                        cython.address(stream), self._table, cython.address(where), cython.address(room)
                    )
                    noted[k * width + 6] = _rarest(stream.r)

    def take_number(self, value):
        """One value into the first stream, without a time. False, and nothing is done, unless it is a float of an
        ordinary size and the stream has no timestamps."""
        if not isinstance(value, float) or self._clocks.count > 0:
            return False
        number: cython.double = value
        if not fabs(number) <= LARGEST:
            return False
        row: cython.double[4]
        with cython.nogil:
            stream = self.row(0)
            _step(cython.address(stream), self._table, number, row)
        self.moments += 1
        return True

    def next_number(self, place):
        """Mean and half width of the next value of the first stream, at the level that `place` says."""
        where = where_of(place)
        room: Room
        with cython.nogil:
            stream = self.row(0)
            mean, half = _next(cython.address(stream), self._table, cython.address(where), cython.address(room))
        return mean, half

    def ahead(self, which, times, values, place, out):
        """Forecasts of the streams `which` (n,) for `times` (n,), NaN for one step ahead; nothing is changed.

        out (n, 3) gets mean, half width at the level that `place` says, and the score that `values` (n,) would have;
        NaN for a time at which a value would be late.
        """
        n: cython.Py_ssize_t = len(which)
        where = where_of(place)
        i = wholes(which, "which", n)
        time, value, made = given(times, "times", n), given(values, "values", n), numbers(out, "out", 3 * n)
        room: Room
        k: cython.Py_ssize_t
        self._check(i, n)
        with cython.nogil:
            for k in range(n):
                stream = self.row(i[k])
                made[3 * k], made[3 * k + 1], made[3 * k + 2] = _ahead(
                    cython.address(stream), self._table, time[k], value[k], cython.address(where), cython.address(room)
                )

    def slopes(self, out, shares):
        """Derivatives per sample into out (series,), and the share of each readout in what is not the season's slope
        into shares (series, constructed members)."""
        found, part = numbers(out, "out", self.count), numbers(shares, "shares", self.count * FIXED)
        i: cython.Py_ssize_t
        with cython.nogil:
            for i in range(self.count):
                stream = self.row(i)
                alone = slope(stream.r, self._table, part + i * FIXED)
                found[i] = seasonal.slope(stream.r, stream.ring, self._table, alone)

    def _check(self, which, n):
        for k in range(n):
            if not 0 <= which[k] < self.count:
                raise IndexError(f"stream {which[k]} of {self.count}")


def begin_all(records, table):
    """Set the fields of records that have seen nothing; all others are 0."""
    n: cython.Py_ssize_t = len(records)
    r, t = records_of(records, n), table_of(table)
    i: cython.Py_ssize_t
    for i in range(n):
        begin(r + i, t)


def _take_step(stream, t, value, where, noting, row):
    """The next value of a stream without times."""
    r = stream.r
    if noting:
        row[0], row[1] = read(r, t, where)
        row[2] = surprise_of(r, t, value - row[0]) if r.count else 0.0
    _step(stream, t, value, row)


def _step(stream, t, value, row):
    """The step itself, then seasons if they are due, and the alarm with the value."""
    step(stream.r, stream.ring, t, value)
    check_if_due(stream.r, stream.ring, t)
    row[3] = NAN if isnan(value) else stream.r.alarm
    stream.s.alarm = row[3]


def _take_timed(stream, t, time, value, where, noting, row, room):
    c, s = stream.c, stream.s
    if isnan(time):
        time = _next_time(c, s)
    if noting and clock.is_far(c, t, time):
        row[0], row[1], row[2] = paths.forecast(stream, t, time, value, where, room)
        noting = False
    passed = clock.arrival(c, s, t, time)
    if passed == 0.0:
        _take_late(stream, t, time, value)
        row[0] = row[1] = row[2] = row[3] = NAN
        s.alarm = NAN
        if time != c.last or value == s.known:
            return passed
        s.value[c.count % RECENT] = value
        clock.keep_twice(c)
    elif c.irregular != ON_GRID:
        value = _take_between(stream, t, time, value, where, noting, row, room)
    else:
        _take_on_grid(stream, t, time, value, where, noting, row, room)
    if passed != 0.0:
        s.value[c.count % RECENT] = value
        if not isnan(value):
            s.newest, s.known = time, value
        clock.note(c, t, time)
    verdict = clock.check_grid(c, t, irregular.is_smooth(s, t))
    if verdict != FINE:
        paths.start_over(stream, t, verdict, room)
    return passed


def _next_time(c, s):
    """The time of a value that came without one: one step after the newest, a float64 apart at least."""
    if c.count == 0:
        return 0.0
    dt = c.dt if c.dt > 0.0 else 1.0
    time = (c.last if c.irregular != ON_GRID else c.grid) + dt
    if not time > c.last + 0.5 * dt:
        # A step below the resolution of the stamps: the clock is moved to where float64 resolves its steps.
        clock.shift(c, s, -c.last)
        c.last, c.grid, time = 0.0, 0.0, dt
    return time


def _take_late(stream, t, time, value):
    """A value that came too late to be predicted is put where it belongs, if it was missing there: into the ring, which
    seasons and forecasts read, and among the lags."""
    r, c = stream.r, stream.c
    back = floor((c.grid - time) / c.dt + 0.5) if c.dt > 0.0 else 0.0
    if isnan(value) or c.irregular != ON_GRID or not r.gap < back < min(r.count, RING):
        return
    ago = cython.cast(cython.longlong, back)
    place = (r.count - 1 - ago) % RING
    bit = cython.cast(cython.longlong, 1) << (place % FLAGS)
    if fabs((c.grid - time) / c.dt - back) > t.clock.off or r.season_filled[place // FLAGS] & bit == 0:
        return
    stream.ring[place] = value
    r.season_filled[place // FLAGS] &= ~bit
    if ago < LAGS:
        r.lag[ago] = value
        r.feature[ago] = value - r.last


def _take_on_grid(stream, t, time, value, where, noting, row, room):
    """A value whose stamp is near a place of the grid; offsets passed over are gaps."""
    r, c, s = stream.r, stream.c, stream.s
    whole, offset = 1.0, 0.0
    apart: cython.bint = False
    if c.count == 0:
        c.grid = time
    else:
        whole, beside = clock.place(c, t, time)
        offset = clock.beside(c, t, beside)
        apart = noting and r.count > 0 and fabs(offset) > t.clock.off
        if apart:
            mean, wider, more = paths.beside_grid(stream, t, time, room)
            row[0], row[1], row[2] = paths.judged(r, t, mean, wider, more, value, where)
        clock.follow_stamp(c, t, beside, whole)
    paths.miss(stream, t, cython.cast(cython.longlong, min(whole, t.clock.longest_hole)) - 1)
    if noting and not apart:
        row[0], row[1] = read(r, t, where)
        row[2] = 0.0
        if r.count > 0:
            if offset != 0.0 and irregular.then(s, t):
                row[0] += irregular.shift(r, row[0], offset)
            row[2] = surprise_of(r, t, value - row[0])
    if offset != 0.0 and r.count > 0 and not isnan(value):
        value = irregular.placed(r, t, c, s, time, value, expected(r, t), offset)
    _step(stream, t, value, row)


def _take_between(stream, t, time, value, where, noting, row, room):
    """A value at an irregular time: judged against the path, and the offsets it passes filled. Returns what is believed
    of it."""
    r, c, s = stream.r, stream.c, stream.s
    path: cython.double = NAN
    off: cython.double = 0.0
    if r.count > 0 and (noting or not isnan(value)):
        path, off = paths.between(stream, t, time, room)
    if noting:
        wider = paths.widening(r, c, s, t, time)
        row[0], row[1], row[2] = paths.judged(r, t, path + irregular.carried(s) * off, wider, 0.0, value, where)
    came = value
    if not isnan(path + value):
        value, path = paths.doubt(stream, t, time, value, path, off, room)
    if c.irregular == JITTER and not isnan(path + value):
        nearest = cython.cast(cython.longlong, min(floor((time - c.grid) / c.dt + 0.5), PLACES - 1.0))
        place = room.path[nearest] if nearest > 0 else r.lag[0]
        irregular.compare(s, value - place, value - path)
    offsets = paths.sample(stream, t, c.count, time, value, path, off, room)
    row[3] = NAN if isnan(value) else (r.alarm if offsets else 0.0)
    if value != came and not isnan(value):
        row[3] = max(row[3], 1.0 - t.doubtful)
    s.alarm = row[3]
    return value


def _next(stream, t, where, room):
    """Mean and half width one step ahead."""
    if stream.c.irregular == ON_GRID:
        return read(stream.r, t, where)
    mean, half, _ = paths.forecast(stream, t, stream.c.last + stream.c.dt, NAN, where, room)
    return mean, half


def _ahead(stream, t, time, value, where, room):
    """Mean, half width and score of `value` for a time; NaN where it would be late."""
    c = stream.c
    if isnan(time):
        time = (c.last if c.irregular != ON_GRID else c.grid) + c.dt
    elif c.count > 0 and not clock.is_far(c, t, time):
        passed, steps = clock.understood(c, t, time)
        if steps > 0.0:
            time = (c.last if c.irregular != ON_GRID else c.grid) + steps * c.dt
        elif passed == 0.0:
            return NAN, NAN, NAN
    return paths.forecast(stream, t, time, value, where, room)


def _rarest(r):
    """Which of the record's ranks is the smallest."""
    best = 0
    for i in range(1, RANKED):
        if r.alarm_tail[i] < r.alarm_tail[best]:
            best = i
    return best


def layout():
    """How the compiler laid the records out, by name: bytes of each, and where each field begins."""
    return layouts()
