r"""How unusual the recent stretch is for this stream: ranks of its quantities among all of their past, added up.

    change   the larger of the ranks of the forecast's error and of the difference from value to value (derivative)
    value    the value itself, high or low, less what the stream has drifted
    level    its mean over the last 20 samples, high or low, less the same
    noise    the mean logarithm of the error's size over the last 20 samples, high or low
    sum      the sum of these four: what is a rare sum in one stream is a daily one in another

Each becomes -log10 of its tail probability: the number of earlier ones at least as far out, over all of them; beyond
the farthest a power law fitted to the outermost ones goes on. Where a quantity keeps reaching new highs or lows, one
more is as rare as they were (`usual`). The sum is reported where it is larger than all sums of the last 200 values (or
the last tenth of the stream), so a persistent change is reported when it comes and not again. A sensor that sticks
(`still`), one error that is rare by itself, and a level, a spread or a noise that is another one than ever (`note_slow`)
are reported by themselves: what comes slowly is hidden by a forecast that adapts.

A value that is doubted (`past.py`) is ranked as it came; what is kept of it is no more than the past allows.
"""

import cython
from cython.cimports.libc.math import INFINITY, fabs, log, log10, pow, sqrt
from cython.cimports.prophecy.streams.kernels.past import edge, insert, law, place, tail

# Ranks and alarms.


def rests_half(r):
    """Whether at least half of all differences were exactly 0: a stream of events."""
    return r.alarm_seen >= WINDOW and 2.0 * resting(r) >= r.alarm_seen


def bounded(r, t, ahead):
    """A forecast, not beyond the largest or smallest value where values pile up there: a bound of the sensor, or 0 of
    what cannot be negative. Values that only stand there now, as on a stair, are no pile."""
    size = r.alarm_size[VALUE]
    least = max(t.alarms.piled * r.alarm_seen, float(t.stuck), 2.0 * (r.same + 1))
    if size > 0:
        if r.alarm_weight[VALUE][size - 1] >= least:
            ahead = min(ahead, r.alarm_middle[VALUE][size - 1])
        if r.alarm_weight[VALUE][0] >= least:
            ahead = max(ahead, r.alarm_middle[VALUE][0])
    return ahead


def ceiling(r, t, error, difference):
    """The largest score an error may have where values repeat exactly, as rounded, counted and clipped ones do: -log10
    of the share of earlier errors at least as large, or of the power law through the outermost of them if that is less
    (one spike and the return from it would hide all smaller jumps of the next ten thousand values). Tracked quantiles
    do not resolve such errors, which take a few values only.

    Where the stream rests half of the time, and forecasts err by half as much as copying does or more, changes cannot
    be predicted: then a score is at most -log10 of the share of changes of that size. Infinite where values seldom
    repeat.
    """
    seen = float(r.alarm_seen)
    if r.alarm_seen < WINDOW or resting(r) * t.alarms.repeating < seen:
        return INFINITY
    middle: cython.pointer[cython.const[cython.double]] = r.alarm_middle[ERROR]
    weight: cython.pointer[cython.const[cython.double]] = r.alarm_weight[ERROR]
    size = r.alarm_size[ERROR]
    probability = tail(t, middle, weight, size, seen, error, place(middle, size, error), False)
    probability = max(min(probability, law(t, middle, weight, size, seen, error, True)), LEAST)
    if rests_half(r) and r.error_scale > 0.25 * r.scale[0]:
        middle = r.alarm_middle[DIFFERENCE]
        weight = r.alarm_weight[DIFFERENCE]
        size = r.alarm_size[DIFFERENCE]
        low = place(middle, size, difference - 0.25 * r.tick)
        count = 0.0
        for i in range(low, size):
            count += weight[i]
        probability = max(probability, min(count / seen, 1.0))
    return -log10(probability)


def recent(r):
    """The largest of the sums that a reported one must exceed, from the maxima of blocks."""
    most = 0.0
    for i in range(BLOCKS):
        most = max(most, r.alarm_block[i])
    return most


def note(r, t, total):
    """Add a sum to the current block; begin the next block when it is full."""
    r.alarm_block[r.alarm_place] = max(r.alarm_block[r.alarm_place], total)
    r.alarm_left -= 1
    if r.alarm_left <= 0:
        r.alarm_place = (r.alarm_place + 1) % BLOCKS
        r.alarm_block[r.alarm_place] = 0.0
        r.alarm_left = int(max(t.alarms.quiet, t.alarms.quiet_share * r.alarm_seen) / (BLOCKS - 1.0))


def still(r, t, same):
    """Whether `same` differences of 0 in a row, the newest ones, are a flat line in a stream that has moved before."""
    moves, before = r.alarm_seen + 1 - resting(r), r.alarm_seen + 1 - r.same
    if same < t.stuck or moves < WINDOW:
        return False
    share = (before - moves + 1.0) / (before + 2.0)
    usual: cython.bint = same < 2 * r.longest and -log10((r.rests + 1.0) / (moves + 1.0)) < t.alarms.alone
    return same * -log10(share) >= t.alarms.improbable and not usual


def resting(r):
    """How many differences so far were exactly 0."""
    if r.alarm_size[DIFFERENCE] == 0 or r.alarm_middle[DIFFERENCE][0] != 0.0:
        return 0.0
    return r.alarm_weight[DIFFERENCE][0]


def note_noise(r, t, size):
    """Update the mean logarithm of the errors' sizes over 20 values; returns the newest. The sum is updated value by
    value and computed anew every 32, against rounding."""
    seen, logs = r.alarm_seen, cython.address(r.alarm_log[0])
    now = seen % LOGS
    r.alarm_error += (size - r.alarm_error) / (seen + 1)
    logs[now] = log(max(size, 1e-2 * r.alarm_error, 1e-150))
    before = now - WINDOW
    r.alarm_sum += logs[now] - logs[before if before >= 0 else before + LOGS]
    if now == LOGS - 1:
        r.alarm_sum = 0.0
        for i in range(LOGS - WINDOW, LOGS):
            r.alarm_sum += logs[i]
    r.alarm_quantity[NOISE] = r.alarm_sum / min(WINDOW, seen + 1)
    return logs[now]


def note_slow(r, t, place, noise):
    """Update the slow means of the value less its drift, of the logarithm of its distance from that mean (the spread), and
    of that of the error (the noise). Returns which of them has just gone farther from where it usually is than `far`
    of its own usual distances, or -1.

        mean ← mean + (x - mean)/slow,  z = (mean - centre)/deviation,  centre and deviation over all the past, with
        distances beyond 2.5 deviations cut to that

    What is far is the new usual after half as many values as have been seen, and is not reported again until then: where
    a stream grows, that would be its growth. Nor is another that goes far before as many values have come as it takes to
    know it: one change moves several.
    """
    found, w = -1, t.alarms.slow
    seen = r.alarm_seen + 1 - WINDOW  # the first errors are far from ordinary
    apart = fabs(place - r.slow_mean[0])
    r.slow_apart += (apart - r.slow_apart) / (r.alarm_seen + 1)
    known: cython.bint = seen > t.alarms.familiar * w
    quiet: cython.bint = True
    for i in range(SLOW):
        r.slow_since[i] += 1 if r.slow_since[i] > 0 else 0
        quiet = quiet and (r.slow_since[i] == 0 or r.slow_since[i] > t.alarms.familiar * w)
    for i in range(SLOW):
        x = place if i == 0 else noise if i == 2 else log(max(apart, 1e-2 * r.slow_apart, 1e-150))
        r.slow_mean[i] += (x - r.slow_mean[i]) * max(1.0 / w, 1.0 / max(seen, 1))
        if r.slow_since[i] > min(max(t.alarms.familiar * w, 0.5 * seen), float(RING)):
            r.slow_since[i], r.slow_centre[i] = 0, r.slow_mean[i]
        if seen <= w:
            r.slow_centre[i] = r.slow_mean[i]
            continue
        off, deviation = r.slow_mean[i] - r.slow_centre[i], sqrt(r.slow_square[i])
        if known and r.slow_since[i] == 0 and fabs(off) > t.alarms.far * deviation > 0.0:
            found, r.slow_since[i], quiet = i if quiet else found, 1, False
        if known:
            off = min(max(off, -2.5 * deviation), 2.5 * deviation)
        r.slow_centre[i] += off / (seen - w)
        r.slow_square[i] += (off * off - r.slow_square[i]) / (seen - w)
    return found


def note_drift(r, t, level):
    """Follow the drift: the mean change from one block of 20 values to the next, as far as it differs from 0.

    Means of blocks change by the drift and by little else in a noisy trend, and by more where the stream wanders. The
    drift counts in full where it lies far more than three standard errors from 0, and not at all below that: a random
    walk without drift passes 3 of them in one block of 400.
    """
    r.alarm_origin += r.alarm_drift
    block = (r.alarm_seen + 1) // WINDOW - 1
    if (r.alarm_seen + 1) % WINDOW != 0:
        return
    if block > 0:
        change, blocks = level - r.alarm_before, float(min(block, t.alarms.slow))
        r.alarm_change += (change - r.alarm_change) / blocks
        r.alarm_square += (change * change - r.alarm_square) / blocks
        squared = r.alarm_change * r.alarm_change
        doubt = 9.0 * max(r.alarm_square - squared, 0.0)
        certain = blocks * squared
        r.alarm_drift = r.alarm_change * (1.0 - doubt / certain) / WINDOW if block > 2 and doubt < certain else 0.0
    r.alarm_before = level


def usual(r, t, i, upper, probability):
    """The tail probability of quantity i, corrected for how often it was a record (the largest or smallest so far) on
    this side.

    The n-th value of a sequence in no order is a record with probability 1/n, and a random walk has 0.8 √n of them.
    Where a stream grows, more were: a record is then less rare by that factor, and no other value is rarer than one.
    """
    seen = float(r.alarm_seen)
    more = r.alarm_records[i][upper] - (2.0 * (1.0 + log(seen)) if i < VALUE else sqrt(seen))
    if more <= 1.0:
        return probability
    return min(max(probability, min(probability * more, more / seen)), 0.5)


def rank(r, t, i, doubted):
    """The share of earlier values of quantity i that lie at least as far out as it does, which is then put among
    them; doubted: an error or a change at the edge of what is usual, anything else not at all."""
    middle: cython.p_double = r.alarm_middle[i]
    weight: cython.p_double = r.alarm_weight[i]
    x, size, found = r.alarm_quantity[i], r.alarm_size[i], 0.5
    low = place(middle, size, x)
    if r.alarm_seen >= WINDOW and i != VALUE:
        both: cython.bint = i != ERROR and i != DIFFERENCE and i != SUM
        found = tail(t, middle, weight, size, float(r.alarm_seen), x, low, both)
        if i != SUM:
            found = usual(r, t, i, 1 if low >= size // 2 else 0, found)
        if low == size and not doubted:
            r.alarm_records[i][1] += 1
        elif low == 0 and x < middle[0] and not doubted:
            r.alarm_records[i][0] += 1
    if doubted:
        if i > DIFFERENCE:
            return found
        x = edge(middle, weight, size)
        low = place(middle, size, x)
    r.alarm_size[i] = insert(middle, weight, size, x, low)
    return found


def watch(r, t, value, believed, difference, error, score, level, wild, doubted):
    """Rank one more value, and leave in `r.alarm` how unusual it makes the recent stretch: 0, or 1 - probability.

    difference, error: of the value from the one before and from its forecast; level: the mean of the last 20 values;
    score: its own, where it may be large; believed, wild, doubted: see `past`.
    A value that was predicted exactly is ordinary, even if it and its level are the largest so far: counters, ramps.
    """
    size = fabs(error)
    quantity: cython.p_double = r.alarm_quantity
    part: cython.p_double = r.alarm_tail
    exact: cython.bint = size <= ROUNDED * fabs(difference)
    size = 0.0 if exact else size
    r.alarm_exact = r.alarm_exact + 1 if exact else 0
    noise = note_noise(r, t, edge(r.alarm_middle[ERROR], r.alarm_weight[ERROR], r.alarm_size[ERROR]) if wild else size)
    note_drift(r, t, level)
    slow = note_slow(r, t, believed - r.alarm_origin, noise) if r.same < t.stuck // 2 else -1
    quantity[ERROR], quantity[DIFFERENCE], quantity[VALUE] = size, fabs(difference), value
    quantity[LEVEL], quantity[PLACE] = level - r.alarm_origin, value - r.alarm_origin
    for i in range(RANKED):
        part[i] = rank(r, t, i, doubted)
    part[VALUE] = rank(r, t, PLACE, doubted)
    seen = r.alarm_seen
    noticed: cython.bint = slow >= 0 and not exact
    if difference == 0.0 and still(r, t, r.same) and not still(r, t, r.same - 1):
        noticed = True
    total = 0.0
    if exact:
        for i in range(NOISE):
            part[i] = 0.5
    if r.alarm_exact >= WINDOW:
        # Nothing but exact predictions in the window: how small nothing is cannot be ranked.
        part[NOISE] = 0.5
    elif seen >= WINDOW:
        total = -log10(min(part[ERROR], part[DIFFERENCE]) * part[VALUE] * part[LEVEL] * part[NOISE])
    quantity[SUM] = total
    rarity = rank(r, t, SUM, doubted)
    r.alarm_seen += 1
    r.alarm = 0.0
    if seen < WINDOW:
        return
    if total > 0.0:
        total -= log10(rarity)
    least = recent(r)
    first: cython.bint = not wild or r.doubts == 1  # what follows in a row is the same
    sure = t.alarms.rise * sqrt(total) if total > least and first else 0.0
    if noticed:
        part[LEVEL if slow == 0 else NOISE] = LEAST
    # One error may be rare by itself, where value, level and noise are not: a spike in a season or in a walk.
    alone: cython.bint = score >= t.alarms.alone and -log10(part[ERROR]) >= t.alarms.alone and first
    if noticed or alone:
        sure = max(sure, t.alarms.alone)
    if sure > 0.0:
        r.alarm = 1.0 - pow(10.0, -min(sure, seen / t.alarms.sure))
    note(r, t, total)
