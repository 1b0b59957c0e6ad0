"""Values into streams: one entry for streams with and without timestamps, each with its own clock.

A stream is one row of four arrays: its record, its ring of recent values, its clock and its last samples. Whether a
value is late, how many offsets of the grid it passes, whether times have become irregular and whether there is a season
is decided here, value by value, so that the numbers do not depend on how values are grouped into arrays.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.float cimport DBL_EPSILON, DBL_MIN
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.math cimport (
    INFINITY, M_PI, NAN, ceil, copysign, cos, erfc, exp, fabs, floor, isfinite, isnan, log, log2, log10, pow, rint, sin,
    sqrt,
)
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from prophecy.streams.kernels.structs cimport *
from prophecy.streams.kernels.unrolled cimport dot, held, product, spacing, subtract, total

cdef extern from *:
    """
    /* Memory answers many reads at once, and a step would wait for each of its own: read all it needs before. Of streams
       that take turns a value then costs 2.8 us instead of 4.1. */
    static inline void sweep(const void *begin, const void *end) {
        for (const volatile char *line = (const char *) begin; line < (const char *) end; line += 64) (void) *line;
    }
    """
    void sweep(const void* begin, const void* end) noexcept nogil


include "memory.pyx"
include "past.pyx"
include "calibration.pyx"
include "alarms.pyx"
include "mixture.pyx"
include "solved.pyx"
include "periods.pyx"
include "seasonal.pyx"
include "derivative.pyx"
include "step.pyx"
include "clock.pyx"
include "times.pyx"
include "ahead.pyx"


cdef class Streams:
    """Streams in four arrays that are kept here: records (n,), rings (n, RING), clocks (n,), samples (n,); table: the
    constants. Numbers go into them and come out of them; the GIL is not held meanwhile. moments: how many have come, for
    whoever counts them."""

    cdef readonly object records, rings, clocks, samples, table
    cdef readonly Py_ssize_t count
    cdef public long long moments
    cdef Record* _records
    cdef double* _rings
    cdef Clock* _clocks
    cdef Samples* _samples
    cdef const Table* _table

    def __cinit__(self, records, rings, clocks, samples, table, long long moments=0):
        self.records, self.rings, self.clocks, self.samples, self.table = records, rings, clocks, samples, table
        self.count, self.moments = len(records), moments
        self._records, self._rings = records_of(records, self.count), numbers(rings, "rings", self.count * RING)
        self._clocks = <Clock*> _memory(clocks, "clocks", sizeof(Clock), self.count, "", True)
        self._samples = <Samples*> _memory(samples, "samples", sizeof(Samples), self.count, "", True)
        self._table = table_of(table)

    def __reduce__(self):
        return Streams, (self.records, self.rings, self.clocks, self.samples, self.table, self.moments)

    cdef Stream row(self, Py_ssize_t i) noexcept nogil:
        """One stream."""
        cdef Stream stream
        stream.r, stream.ring = self._records + i, self._rings + i * RING
        stream.c, stream.s = self._clocks + i, self._samples + i
        return stream

    def take(self, which, times, values, double normal, out, passed, long long budget=2**53, bint drop=False):
        """values (n,) into the streams `which` (n,) says, in their order, until they have taken `budget` steps; returns
        how many were taken.

        times (n,): seconds, NaN for one step after the value before; empty for streams without timestamps. out (n, 4)
        gets mean and half width of each value as they were before it came, at the level of this normal
        quantile (`table.between`), its score, and the alarm with it; out (n, 7) also mean and half width of the forecast one
        step ahead, and which of the record's ranks (`alarm_tail`) is the smallest; an empty `out` gets nothing. passed
        (n,) gets the seconds since the value before: 0 where it came too late and was not taken (its row of `out` is
        NaN), NaN for a first value. drop: rows that came before are dropped, and -1 in `passed`.
        """
        cdef Py_ssize_t n = len(values)
        cdef Py_ssize_t width = out.shape[1] if len(out) else 0
        cdef bint timed = len(times) > 0, again = False
        if width not in (0, 4, 7):
            raise ValueError(f"out must have 4 or 7 columns, got {width}")
        i = wholes(which, "which", n)
        time, value = given(times, "times", n if timed else 0), given(values, "values", n)
        noted, since = numbers(out, "out", n * width), numbers(passed, "passed", n)
        cdef Room room
        cdef Py_ssize_t k
        self._check(i, n)
        t = self._table
        with nogil:
            for k in range(n):
                if budget <= 0:
                    n = k
                    break
                stream, row, at = self.row(i[k]), noted + k * width, time[k] if timed else NAN
                count, walked = stream.r.count, stream.c.walked
                if k == 0 or i[k] != i[k - 1]:
                    sweep(stream.r, &stream.r.factor[t.place[AWAKE]])
                again = drop and timed and came_before(&stream, t, at, value[k])
                if width > 0 and not again:
                    row[0], row[1], row[2] = forecast_next(&stream, t, at, value[k], normal, &room)
                since[k] = -1.0
                if not again:
                    since[k] = take_timed(&stream, t, at, value[k], &room) if timed else take_step(&stream, t, value[k])
                if width > 0:
                    row[3] = stream.s.alarm
                if width > 0 and again:
                    row[0], row[1], row[2], row[3] = NAN, NAN, NAN, NAN
                if width > 4:
                    row[4], row[5], _ = forecast_next(&stream, t, NAN, NAN, normal, &room)
                    row[6] = 0
                    for rank in range(1, RANKED):
                        if stream.r.alarm_tail[rank] < stream.r.alarm_tail[<long long> row[6]]:
                            row[6] = rank
                # Places that are passed are walked through, and forecast before and after. Of the steps walked a clock
                # forgets as many as the value has earned.
                passing = min(max(stream.r.count - count - 1, 0), <long long> EARNED) + max(stream.c.walked - walked, 0)
                budget -= 1 + 3 * passing
        return n

    def take_number(self, value):
        """One value into the first stream, without a time. False, and nothing is done, unless it is a float of an
        ordinary size and the stream has no timestamps."""
        if not isinstance(value, float) or self._clocks.count > 0:
            return False
        cdef double number = value
        if not fabs(number) <= LARGEST:
            return False
        with nogil:
            stream = self.row(0)
            take_step(&stream, self._table, number)
        self.moments += 1
        return True

    def next_number(self, double normal):
        """Mean and half width of the next value of the first stream, at the level of this normal quantile."""
        cdef Room room
        with nogil:
            stream = self.row(0)
            mean, half, _ = forecast_next(&stream, self._table, NAN, NAN, normal, &room)
        return mean, half

    def ahead(self, which, times, values, double normal, out):
        """Forecasts of the streams `which` (n,) for `times` (n,), NaN for one step ahead; nothing is changed.

        out (n, 3) gets mean, half width at the level of this normal quantile, and the score that `values` (n,) would have;
        NaN for a time at which a value would be late.
        """
        cdef Py_ssize_t n = len(which)
        i = wholes(which, "which", n)
        time, value, made = given(times, "times", n), given(values, "values", n), numbers(out, "out", 3 * n)
        cdef Room room
        cdef Py_ssize_t k
        self._check(i, n)
        with nogil:
            for k in range(n):
                stream = self.row(i[k])
                made[3 * k], made[3 * k + 1], made[3 * k + 2] = forecast_next(
                    &stream, self._table, time[k], value[k], normal, &room
                )

    def slopes(self, out):
        """Derivatives at the newest values, per step, into out (series,)."""
        found, t = numbers(out, "out", self.count), self._table
        cdef Room room
        cdef Py_ssize_t i
        with nogil:
            for i in range(self.count):
                stream = self.row(i)
                found[i] = seasonal_slope(stream.r, stream.ring, t, bank_slope(stream.r, t))
                if stream.c.irregular:  # the newest sample lies between two places of the grid, and so does its slope
                    r = walked_on(&stream, t, 1, &room)
                    after = seasonal_slope(r, room.ring, t, bank_slope(r, t))
                    found[i] += (after - found[i]) * ((stream.c.last - stream.c.grid) / stream.c.dt)

    cdef int _check(self, const long long* which, Py_ssize_t n) except -1:
        for k in range(n):
            if not 0 <= which[k] < self.count:
                raise IndexError(f"stream {which[k]} of {self.count}")


def begin_all(records, table):
    """Set the fields of records that have seen nothing; all others are 0."""
    cdef Py_ssize_t n = len(records)
    r, t = records_of(records, n), table_of(table)
    cdef Py_ssize_t i
    for i in range(n):
        begin_record(r + i, t)
