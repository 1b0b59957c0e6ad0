"""Values at irregular times, brought to the grid of the typical interval so that every member of the bank takes part.

A place on the grid between two samples gets its value from the polynomial through the last samples. Its degree is odd,
1 to 13: the one that predicted each sample best from its neighbours lately, so that noise is joined by straight lines
and smooth signals come to the grid with next to all their digits. Where the bank's forecasts for samples have smaller
errors than that, the place gets the forecast plus what the two samples around it say the forecast is off by.
Holes of more than three typical intervals are gaps.
What is predicted for a moment between places lies on the path of the bank's forecasts, plus the part of the newest
sample's distance from that path that has turned out to persist.

A stamp off its grid is noise itself, or the time at which the value was really taken. Both are tried side by side, the
second on the path of the forecasts: these are moved from the grid to the stamp, and values back to the grid by the same
amount. The reading whose forecasts had the smaller squared errors lately is used. Where stamps are true and the signal
is smooth, times are taken as irregular ones that have a grid to return to: the wobble of a grid that follows stamps
costs more digits than polynomials do. In noise, moving values one by one is better.
"""

import cython
from cython.cimports.libc.math import fabs, isnan
from cython.cimports.prophecy.streams.kernels.whole import bounded


def neville(x, y, count, at, found):
    """found[i]: the polynomial through the first i + 1 of `count` points, at `at` (Neville's scheme)."""
    row: cython.double[POINTS]
    for i in range(count):
        row[i] = y[i]
        for j in range(i - 1, -1, -1):
            row[j] = row[j + 1] + (row[j] - row[j + 1]) * ((at - x[i]) / (x[j] - x[i]))
        found[i] = row[0]


def nodes(c, s, t, count, x, y):
    """Append to the point in x[0] (its time) and y[0] the known samples before it, newest first, out of the first
    `count`; returns how many points there are then. x becomes steps after the first point.

    Samples closer than `apart` to the one after them are passed over, and none is taken from beyond a hole.
    """
    time, found = x[0], cython.cast(cython.longlong, 1)
    x[0] = 0.0
    for ago in range(1, min(count, RECENT) + 1):
        place = (count - ago) % RECENT
        at = (c.recent[place] - time) / c.dt
        if x[found - 1] - at > (1.0 + t.clock.hole):
            break
        if isnan(s.value[place]) or x[found - 1] - at < t.clock.apart:
            continue
        x[found], y[found] = at, s.value[place]
        found += 1
        if found == NODES + 1:
            break
    return found


def judge(s, x, y, count):
    """How well the sample before the newest is predicted from its neighbours by each degree."""
    others_x: cython.double[POINTS]
    others_y: cython.double[POINTS]
    found: cython.double[POINTS]
    if count < 3:
        return
    others_x[0], others_y[0] = x[0], y[0]
    for i in range(2, count):
        others_x[i - 1], others_y[i - 1] = x[i], y[i]
    neville(others_x, others_y, count - 1, x[1], found)
    s.seen += 1
    rate = 1.0 / min(s.seen, HALF)
    for k in range(DEGREE_COUNT):
        # What cannot be tried for lack of samples is as bad as the straight line.
        error = found[DEGREES[k] if DEGREES[k] < count - 1 else 1] - y[1]
        s.fit[k] += (min(error * error, SQUARED) - s.fit[k]) * rate


def best_fit(s, t):
    """Which of `DEGREES` has done best lately; a higher one only where it is clearly better."""
    best: cython.longlong = 0
    if s.seen >= EIGHTH:
        for k in range(1, DEGREE_COUNT):
            if s.fit[k] < t.clock.smoother * s.fit[best]:
                best = k
    return best


def degree(s, t):
    """The degree in use."""
    return DEGREES[best_fit(s, t)]


def by_forecast(s, t):
    """Whether forecasts bring samples to the grid better than polynomials do."""
    part = carried(s)
    least = s.carry[0] - part * (2.0 * s.carry[1] - part * s.carry[2])
    return s.seen >= HALF and least < s.fit[best_fit(s, t)]


def on_place(x, y, count, at, power):
    """The polynomial of degree `power` (or as many as the points allow) at `at`, no farther from the two newest
    samples than the samples differ."""
    found: cython.double[POINTS]
    used = min(count, power + 1)
    neville(x, y, used, at, found)
    lowest, highest = y[0], y[0]
    for i in range(used):
        lowest, highest = min(lowest, y[i]), max(highest, y[i])
    before = y[1] if count > 1 else y[0]
    width = highest - lowest
    return min(max(found[used - 1], min(y[0], before) - width), max(y[0], before) + width)


def carried(s):
    """The part of the newest sample's distance from the path that persists: the least squares of errors on distances,
    none at least and all of it at most."""
    return min(max(s.carry[1] / s.carry[2], 0.0), 1.0) if s.carry[2] > 0.0 else 0.0


def learn_carried(s, error, off):
    """Take in that the path erred by `error` where the newest sample was `off` from it."""
    rate = 1.0 / min(max(s.seen, 1), HALF)
    error, off = bounded(error), bounded(off)
    s.carry[0] += (error * error - s.carry[0]) * rate
    s.carry[1] += (error * off - s.carry[1]) * rate
    s.carry[2] += (off * off - s.carry[2]) * rate


# Stamps off the grid.


def then(s, t):
    """Whether values were taken at their stamps: forecasts for these had smaller errors lately."""
    return s.reading[THEN] < t.clock.better * s.reading[AS_NOISE]


def compare(s, as_noise, then):
    """Take in the errors of both readings."""
    s.compared += 1
    rate = 1.0 / min(s.compared, 2 * RECENT)
    s.reading[AS_NOISE] += (bounded(as_noise) * bounded(as_noise) - s.reading[AS_NOISE]) * rate
    s.reading[THEN] += (bounded(then) * bounded(then) - s.reading[THEN]) * rate


def is_smooth(s, t):
    """Whether values were taken at their stamps, and polynomials beyond the cubic, or any exact to rounding, bring them
    to the grid."""
    if min(s.compared, s.seen) < QUARTER or not then(s, t):
        return False
    return degree(s, t) > PATH or s.fit[best_fit(s, t)] < ROUNDED * s.reading[AS_NOISE]


def shift(r, expected, offset):
    """What the forecast `expected` changes if the value was taken `offset` steps late: along the line from the newest
    value, no steeper than twice the last steps, so that one wild forecast moves no value far."""
    steepest = 2.0 * max(fabs(r.lag[0] - r.lag[1]), fabs(r.lag[1] - r.lag[2]))
    return offset * min(max(expected - r.lag[0], -steepest), steepest)


def placed(r, t, c, s, time, value, expected, offset):
    """The value as it would have been on the grid, `offset` steps before its stamp; the readings are compared on it."""
    x: cython.double[POINTS]
    y: cython.double[POINTS]
    moved: cython.bint = then(s, t)
    by = shift(r, expected, offset)
    if r.gap == 0:
        compare(s, value - expected, value - expected - by)
    x[0], y[0] = time, value
    judge(s, x, y, nodes(c, s, t, c.count, x, y))
    return value - by if moved else value
