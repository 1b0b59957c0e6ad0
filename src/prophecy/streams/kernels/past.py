r"""What is usual in a stream, and what is too far outside of it to be believed at once.

All the past of a quantity is held in bounded memory: a sketch of 48 centroids, sorted, single values at the ends and
coarser towards the middle (the idea of a t-digest). Alarms rank by these sketches, and three questions are put to them
before anything is learned:

- **How much is allowed?** Of the sizes of errors and of changes, the power law through their quartile q₇₅ and q₉₅ at a
  probability of 1e-4, or twice the fourth largest so far if that is more. Up to one value in twenty may be an outlier of any
  size without moving this.
- **Is a value wild?** Its error and its change are both larger than allowed. It then enters memories, least squares,
  seasons and scales as if its error had been the fourth largest of all.
- **Is it confirmed?** Three wild values in a row are no outliers. The level has moved, by the median of the three errors,
  and so has all that is remembered: nothing is learned from the step but that it came.

What is wild again and again, and confirmed, is usual after four times: switches, counters that wrap.
"""

import cython
from cython.cimports.libc.math import INFINITY, copysign, fabs, log, pow
from cython.cimports.prophecy.streams.kernels.calibration import resolution
from cython.cimports.prophecy.streams.kernels.whole import within

# Sketches.


def place(middle, size, x):
    """The first of `size` sorted centroids that is not below x."""
    low, high = 0, size
    while low < high:
        half = (low + high) // 2
        if middle[half] < x:
            low = half + 1
        else:
            high = half
    return low


def insert(middle, weight, size, x, low):
    """Insert x into a sketch at `low`, its place; returns the new size.

    Outer centroids hold one value (or equal ones) each. Where there is no room, two neighbours in the middle become
    one: those with the least weight over the cube of their distance from the outer ones.
    """
    if low < size and middle[low] == x:
        weight[low] += 1.0
        return size
    if size == CENTROIDS:
        if SINGLE <= low < CENTROIDS - SINGLE:
            if x - middle[low - 1] < middle[low] - x:
                low -= 1
            weight[low] += 1.0
            middle[low] += (x - middle[low]) / weight[low]
            return size
        lightest, best = SINGLE, INFINITY
        for i in range(SINGLE, CENTROIDS - SINGLE - 1):
            inward = min(i - SINGLE, CENTROIDS - SINGLE - 2 - i) + 1.0
            cost = (weight[i] + weight[i + 1]) / (inward * inward * inward)
            if cost < best:
                lightest, best = i, cost
        both = weight[lightest] + weight[lightest + 1]
        middle[lightest] += (middle[lightest + 1] - middle[lightest]) * (weight[lightest + 1] / both)
        weight[lightest] = both
        for i in range(lightest + 1, CENTROIDS - 1):
            middle[i], weight[i] = middle[i + 1], weight[i + 1]
        size -= 1
        if low > lightest:
            low -= 1
    for i in range(size, low, -1):
        middle[i], weight[i] = middle[i - 1], weight[i - 1]
    middle[low], weight[low] = x, 1.0
    return size + 1


def tail(t, middle, weight, size, total, x, low, both):
    """The share of earlier values at least as far out as x: above it, or with `both` on the nearer side.

    A centroid next to x counts by up to half of its weight, in proportion to where x lies.
    """
    if low >= size // 2:
        count = 0.0
        for i in range(low, size):
            count += weight[i]
        if low < size and low > 0 and middle[low] > x:
            part = (middle[low] - x) / (middle[low] - middle[low - 1])
            count += 0.5 * (weight[low - 1] - 1.0) * part
        if count < 0.5:
            return beyond(t, middle, weight, size, total, x, True)
    elif both:
        count = 0.0
        for i in range(low):
            count += weight[i]
        if middle[low] == x:
            count += weight[low]
        elif low > 0:
            part = (x - middle[low - 1]) / (middle[low] - middle[low - 1])
            count += 0.5 * (weight[low] - 1.0) * part
        if count < 0.5:
            return beyond(t, middle, weight, size, total, x, False)
    else:
        return 0.5
    return min((count + 1.0) / (total + 2.0), 0.5)


def beyond(t, middle, weight, size, total, x, upper):
    """The tail probability of x, farther out than all before: a power law of the distance from the centre."""
    return max(min(law(t, middle, weight, size, total, x, upper), 1.0 / (total + 1.0)), LEAST)


def law(t, middle, weight, size, total, x, upper):
    """The tail probability of x by a power law fitted to the outermost values; 1 where x lies inside of them, or they
    are too few."""
    centre = middle[size // 2]
    outer = min(OUTERMOST, size // 4)
    if outer < 3:
        return 1.0
    sign = 1.0 if upper else -1.0
    first = middle[size - outer] if upper else middle[outer - 1]
    inner, out = sign * (first - centre), sign * (x - centre)
    if not 0.0 < inner < out:
        return 1.0
    slope, count = 0.0, 0.0
    for i in range(outer):
        at = size - outer + i if upper else i
        slope += weight[at] * log(sign * (middle[at] - centre) / inner)
        count += weight[at]
    slope = max(slope / count, LIGHTEST)
    return count / total * pow(out / inner, -1.0 / slope)


# Doubt.


def edge(middle, weight, size):
    """The fourth largest: the most that the past has shown often enough to be usual."""
    seen = 0.0
    for i in range(size - 1, -1, -1):
        seen += weight[i]
        if seen >= OFTEN:
            return middle[i]
    return 0.0


def _most(r, t, i):
    """The largest error or change (quantity i) that is not wild. Where most are exactly 0 and there is no tick, no size is
    known: infinite."""
    middle: cython.pointer[cython.const[cython.double]] = r.alarm_middle[i]
    weight: cython.pointer[cython.const[cython.double]] = r.alarm_weight[i]
    size, seen, twentieth, quarter = r.alarm_size[i], 0.0, -1.0, 0.0
    for k in range(size - 1, -1, -1):
        seen += weight[k]
        if twentieth < 0.0 and seen >= 0.05 * r.alarm_seen:
            twentieth = middle[k]
        if seen >= 0.25 * r.alarm_seen:
            quarter = middle[k]
            break
    tick = resolution(r, t)
    quarter, twentieth = max(quarter, 0.5 * tick), max(twentieth, tick)
    if not quarter > 0.0:
        return INFINITY
    heavy = max(log(twentieth / quarter) / log(5.0), LIGHTEST)
    return max(twentieth * pow(0.05 / t.doubtful, heavy), 2.0 * edge(middle, weight, size))


def is_wild(r, t, error, difference):
    """Whether an error and the change it came with, both a step, are larger than the past allows."""
    if r.alarm_seen < FEWEST:
        return False
    for i in range(2):
        size = fabs(error if i == ERROR else difference)
        if not size > edge(r.alarm_middle[i], r.alarm_weight[i], r.alarm_size[i]) or not size > _most(r, t, i):
            return False
    return True


def believed(r, value, forecast, steps):
    """What a wild value enters as, so many steps after the last one."""
    usual = edge(r.alarm_middle[ERROR], r.alarm_weight[ERROR], r.alarm_size[ERROR])
    return forecast + copysign(steps * usual, value - forecast)


def confirmed(doubted, error):
    """By how much the level has moved, from three errors in a row: their median."""
    low: cython.double = min(doubted[0], doubted[1])
    high: cython.double = max(doubted[0], doubted[1])
    return min(max(error, low), high)


def move(r, ring, by):
    """All that is remembered of the level moves with it: what is relative to the newest value stays as it is."""
    r.last = within(r.last + by)
    r.mean += by
    for j in range(LAGS):
        r.lag[j] = within(r.lag[j] + by)
    for j in range(min(r.count, RING)):
        ring[j] = within(ring[j] + by)
    for j in range(min(r.season_blocks, MEANS)):
        r.season_means[j] += by
    r.alarm_origin += by
    r.alarm_before += by
