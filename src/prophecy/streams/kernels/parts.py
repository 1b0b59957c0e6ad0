"""Single kernels as Python calls them: for the tests, which compare each with plain NumPy.

Records and tables are arrays of one or more, of which the first is meant.
"""

import cython
from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING
from cython.cimports.prophecy.streams.kernels import (
    alarms,
    calibration,
    mixture,
    past,
    paths,
    periods,
    seasonal,
    solved,
)
from cython.cimports.prophecy.streams.kernels import step as bank
from cython.cimports.prophecy.streams.kernels.buffers import given, numbers, records_of, table_of
from cython.cimports.prophecy.streams.kernels.periods import Search
from cython.cimports.prophecy.streams.kernels.stream import Stream
from cython.cimports.prophecy.streams.kernels.structs import AWAKE, BANK, CENTROIDS, RING, SOLVED

# The bank.


def step(records, rings, table, value: cython.double):
    """One value, without a look for seasons."""
    bank.step(records_of(records, len(records)), numbers(rings, "rings", len(records) * RING), table_of(table), value)


def walk(records, rings, table, steps: cython.longlong):
    """So many steps across a gap, of a copy that only predicts."""
    r, ring = records_of(records, len(records)), numbers(rings, "rings", len(records) * RING)
    for _ in range(steps):
        bank.walk(r, ring, table_of(table))


def expected(records, table):
    """The forecast of the next value."""
    return bank.expected(records_of(records, len(records)), table_of(table))


def scores(records, table, error: cython.double):
    """The score of an error, what it is by the quantiles alone, the most that values that repeat allow, and the
    tick."""
    r, t = records_of(records, len(records)), table_of(table)
    plain = calibration.surprise(r, t, error / calibration.across(r, t, 1.0))
    highest = alarms.ceiling(r, t, abs(error), abs(error + bank.expected(r, t) - r.last))
    return bank.surprise_of(r, t, error), plain, highest, calibration.resolution(r, t)


def learn_solved(records, table, difference: cython.double):
    """The solved members learn from a change over one step."""
    r = records_of(records, len(records))
    solved.learn_solved(r, table_of(table), 0, AWAKE, r.learned, difference, 1.0)
    r.learned += 1


def weigh(records, table):
    """The mixture learns that the value stayed where it was."""
    r, t = records_of(records, len(records)), table_of(table)
    mixture.learn(
        r.weight, r.scale, r.peak, r.last_peak, r.prediction, t.prior[0], BANK, r.learned, t, 0.0, 1.0, 0.0
    )  # fmt: skip
    r.learned += 1


# Sketches.


def insert(middle, weight, size: cython.longlong, x: cython.double):
    """Insert x into a sketch; returns its new size."""
    sorted_middle = numbers(middle, "middle", CENTROIDS)
    at = past.place(sorted_middle, size, x)
    return past.insert(sorted_middle, numbers(weight, "weight", CENTROIDS), size, x, at)


def tail(table, middle, weight, size: cython.longlong, total: cython.double, x: cython.double):
    """The share of earlier values at least as far out as x, on the nearer side."""
    sorted_middle, weights = numbers(middle, "middle", CENTROIDS), numbers(weight, "weight", CENTROIDS)
    at = past.place(sorted_middle, size, x)
    return past.tail(table_of(table), sorted_middle, weights, size, total, x, at, True)


# Seasons.


def transform(re, im):
    """The FFT of re + i im in place; their length is a power of two."""
    periods.transform(numbers(re, "re", len(re)), numbers(im, "im", len(re)), len(re))


def examined(values, known, steps: cython.bint, tried):
    """Of differences (steps) or values less their line: autocorrelation, pairs, lines as (frequency, strength), and for each
    period tried what it explains and how far it wanders."""
    room, n = bytearray(cython.sizeof(Search)), len(values)
    s = cython.cast(cython.pointer(Search), PyByteArray_AS_STRING(room))
    x, there = given(values, "values", n), given(known, "known", n)
    s.count = min(n, RING)
    for i in range(s.count):
        s.values[i], s.known[i] = x[i], there[i]
    periods.prepare(s, steps)
    periods.autocorrelation(s)
    periods.find_lines(s)
    judged = []
    for period in tried:
        part = periods.repeats(s, period)
        judged.append((part, periods.wander(s, period, part)))
    lags = range(s.lags + 1)
    lines = [(s.frequency[j], s.strength[j]) for j in range(s.lines)]
    return [s.r[lag] for lag in lags], [s.pairs[lag] for lag in lags], lines, judged


def solve_seasonal(records, table, difference: cython.double):
    """The seasonal readouts learn from a change over one step."""
    r = records_of(records, len(records))
    solved.learn_solved(r, table_of(table), AWAKE, SOLVED, r.season_seen, difference, 1.0)


def check_seasons(records, ring, table):
    """Look for seasons now."""
    room, r = bytearray(cython.sizeof(Search)), records_of(records, len(records))
    search = cython.cast(cython.pointer(Search), PyByteArray_AS_STRING(room))
    seasonal.check(r, numbers(ring, "ring", RING), table_of(table), r.count, search)


# Times.


def renew(records, ring, table):
    """Forget all but how gaps are filled."""
    stream: Stream
    stream.r, stream.ring = records_of(records, len(records)), numbers(ring, "ring", RING)
    paths.renew(cython.address(stream), table_of(table))
