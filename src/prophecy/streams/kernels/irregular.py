"""Values at irregular times, brought to the grid of the typical interval so that every member of the bank takes part.

A place on the grid between two samples gets its value from the polynomial through the last samples. Its degree is odd,
1 to 13: the one that predicted each sample best from its neighbours lately, so that noise is joined by straight lines
and smooth signals come to the grid with next to all their digits. Where the bank's forecasts for samples have smaller
errors than that, the place gets the forecast plus what the two samples around it say the forecast is off by.
Holes of more than three typical intervals are gaps.
What is predicted for a moment between places lies on the path of the bank's forecasts, plus the part of the newest
sample's distance from that path that has turned out to persist: none, half or all of it.

A stamp off its grid is noise itself, or the time at which the value was really taken. Both are tried side by side, the
second along a straight line and along a cubic: forecasts are moved from the grid to the stamp, and values back to the
grid by the same amount. The reading whose forecasts had the smallest squared errors lately is used. Where stamps are
true for certain and the signal is smooth, times are taken as irregular ones that have a grid to return to.
"""

import cython
from cython.cimports.libc.math import fabs, isnan


def hole(c, t):
    """Steps beyond which nothing is interpolated."""
    return t.irregular.hole_in_grid if c.irregular == JITTER else t.irregular.hole


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
        if x[found - 1] - at > t.irregular.hole:
            break
        if isnan(s.value[place]) or x[found - 1] - at < t.irregular.apart:
            continue
        x[found], y[found] = at, s.value[place]
        found += 1
        if found == NODES + 1:
            break
    return found


def judge(s, t, x, y, count):
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
    rate = 1.0 / min(s.seen, t.irregular.over)
    for k in range(DEGREE_COUNT):
        # What cannot be tried for lack of samples is as bad as the straight line.
        error = found[DEGREES[k] if DEGREES[k] < count - 1 else 1] - y[1]
        s.fit[k] += (min(error * error, SQUARED) - s.fit[k]) * rate


def best_fit(s, t):
    """Which of `DEGREES` has done best lately; a higher one only where it is clearly better."""
    best: cython.longlong = 0
    if s.seen >= t.irregular.settled:
        for k in range(1, DEGREE_COUNT):
            if s.fit[k] < t.irregular.smoother * s.fit[best]:
                best = k
    return best


def degree(s, t):
    """The degree in use."""
    return DEGREES[best_fit(s, t)]


def by_forecast(s, t):
    """Whether forecasts bring samples to the grid better than polynomials do."""
    least = s.carry[0]
    for k in range(1, CARRIED_COUNT):
        least = min(least, s.carry[k])
    return s.seen >= t.irregular.over and least < s.fit[best_fit(s, t)]


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


def carried(s, t):
    """The part of the newest sample's distance from the path that persists."""
    best: cython.longlong = 0
    for k in range(1, CARRIED_COUNT):
        if t.irregular.preferred * s.carry[k] < s.carry[best] * (t.irregular.preferred if best > 0 else 1.0):
            best = k
    return CARRIED[best]


def learn_carried(s, t, error, off):
    """Take in that the path erred by `error` where the newest sample was `off` from it."""
    rate = 1.0 / min(max(s.seen, 1), t.irregular.over)
    for k in range(CARRIED_COUNT):
        left = error - CARRIED[k] * off
        s.carry[k] += (min(left * left, SQUARED) - s.carry[k]) * rate


# Stamps off the grid.


def stamp_kind(r, t):
    """The reading of the timestamps with the least recent error, the simplest where they are alike."""
    best: cython.longlong = AS_NOISE
    for kind in range(1, KINDS):
        if r.stamp_error[kind] < t.stamps.better * r.stamp_error[best]:
            best = kind
    return best


def shift(r, expected, offset, kind):
    """What the forecast `expected` changes if the value was taken `offset` steps late, by one reading (backward
    differences)."""
    if kind == AS_NOISE or offset == 0.0:
        return 0.0
    first = expected - r.lag[0]
    slope = first
    if kind == CUBIC:
        second = first - (r.lag[0] - r.lag[1])
        third = second - (r.lag[0] - 2.0 * r.lag[1] + r.lag[2])
        slope += (offset + 1.0) * (0.5 * second + (offset + 2.0) / 6.0 * third)
    # A single wild forecast must not move values far: no slope is steeper than twice the last steps.
    steepest = 2.0 * max(fabs(r.lag[0] - r.lag[1]), fabs(r.lag[1] - r.lag[2]))
    return offset * min(max(slope, -steepest), steepest)


def compare(r, t, kind, error):
    """Take in the error of one reading."""
    r.stamp_error[kind] += (error * error - r.stamp_error[kind]) / min(r.stamps, t.stamps.over)


def taken_then(r, t, s):
    """Whether values have for certain been taken at their stamps, and are smooth."""
    if r.stamps < t.stamps.sure or stamp_kind(r, t) == AS_NOISE:
        return False
    if s.seen >= t.stamps.sure and s.fit[best_fit(s, t)] < t.stamps.exactly * r.stamp_error[AS_NOISE]:
        return True
    return degree(s, t) > t.stamps.smooth


def placed(r, t, c, s, time, value, expected, offset):
    """The value as it would have been on the grid, `offset` steps before its stamp; the readings are compared on it."""
    x: cython.double[POINTS]
    y: cython.double[POINTS]
    moved = shift(r, expected, offset, stamp_kind(r, t))
    if r.gap == 0:
        r.stamps += 1
        for kind in range(KINDS):
            compare(r, t, kind, value - expected - shift(r, expected, offset, kind))
    x[0], y[0] = time, value
    judge(s, t, x, y, nodes(c, s, t, c.count, x, y))
    return value - moved
