"""Single kernels as Python calls them: for the tests, which compare each with plain NumPy.

Records and tables are arrays of one or more, of which the first is meant.
"""

import cython
from cython.cimports.prophecy.adaptive.kernels import alarms, calibration, mixture, solved
from cython.cimports.prophecy.adaptive.kernels import step as bank
from cython.cimports.prophecy.adaptive.kernels.buffers import numbers, records_of, table_of
from cython.cimports.prophecy.adaptive.kernels.structs import CENTROIDS, RING

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
    solved.learn_solved(r, table_of(table), difference, 1.0)
    r.learned += 1


def weigh(records, table):
    """The bank's mixture learns that the value stayed where it was."""
    r = records_of(records, len(records))
    mixture.weigh(r, table_of(table), 0.0, 1.0, 0.0)
    r.learned += 1


# Sketches.


def insert(middle, weight, size: cython.longlong, x: cython.double):
    """Insert x into a sketch; returns its new size."""
    sorted_middle = numbers(middle, "middle", CENTROIDS)
    at = alarms.place(sorted_middle, size, x)
    return alarms.insert(sorted_middle, numbers(weight, "weight", CENTROIDS), size, x, at)


def tail(table, middle, weight, size: cython.longlong, total: cython.double, x: cython.double):
    """The share of earlier values at least as far out as x, on the nearer side."""
    sorted_middle, weights = numbers(middle, "middle", CENTROIDS), numbers(weight, "weight", CENTROIDS)
    at = alarms.place(sorted_middle, size, x)
    return alarms.tail(table_of(table), sorted_middle, weights, size, total, x, at, True)
