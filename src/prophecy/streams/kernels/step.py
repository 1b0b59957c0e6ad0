r"""The bank: one value of one stream, `step(record, ring, table, value)`, and what is predicted next, `read(record, …)`.

The arithmetic is that of docs/prophecy.md, in its order: first what is learned from the value (calibration, solved
readouts, bias of the derivative, mixture), then memories, members and their mixture for the next value. `record` is a
`RECORD` and changes in place; `table` holds the constants (`table.TABLE`). A value is a number or NaN, which is a
gap.

One value, an array, many channels and many series all run these functions, and sums are taken in one order, so results
agree to the last bit. Inner loops run over members or features side by side, which vectorises without reordering; sums
are taken in eight interleaved parts (`unrolled.pxd`).

The causal derivative is read from the member with the least estimated error. With white noise of variance σ² a
derivative readout of noise gain G has the mean squared error σ² G + ρ² b²: b is the bias of the same member's
*prediction*, ρ a known ratio (`slope_bias`). One-step errors show b only when it rivals σ, far too late for a
derivative; but bias persists while noise does not, so b² is read from errors averaged over an eighth of the window,
less the noise that averaging leaves. Readouts are combined with weights (estimated error)⁻². One more candidate is half
the way from the value before the newest to the forecast of the next, for signals that turn within a few samples:
constructed readouts need degrees there that magnify the noise, while solved members predict the next value well.
"""

import cython
from cython.cimports.libc.math import INFINITY, NAN, erfc, fabs, isnan, log10, sqrt
from cython.cimports.prophecy.streams.kernels import alarms, calibration, past, seasonal
from cython.cimports.prophecy.streams.kernels.mixture import learn, learn_shrinkage, shrunk
from cython.cimports.prophecy.streams.kernels.solved import learn_solved, predict_solved, start_over
from cython.cimports.prophecy.streams.kernels.unrolled import product, spacing
from cython.cimports.prophecy.streams.kernels.whole import within


def begin(r, t):
    """Set the fields of a record that has seen nothing; all others are 0."""
    r.spacing, r.season_check = 1.0, seasonal.next_check(0, False)
    for i in range(BANK):
        r.weight[i] = t.prior[0][i]
    for l in range(LEVELS):
        r.quantile[l] = NORMAL[l]
    r.tail = LIGHTEST
    start_over(r, t, 0, SOLVED)
    for i in range(2):
        r.shrink_weight[i] = 0.5


def step(r, ring, t, value):
    """Take in the next value; NaN is a gap."""
    value = value if isnan(value) else within(value)  # what is brought to the grid may lie beyond
    if isnan(value):
        if r.count > 0:
            _advance(r, ring, t, r.last if r.hold else expected(r, t), True)
            seasonal.mark(r, True)
            _drift(r, t)
            r.gap += 1
        return
    if r.count == 0:
        _begin(r, value)
    else:
        distance = r.gap + 1
        forecast = expected(r, t)
        wild: cython.bint = past.is_wild(r, t, (value - forecast) / distance, (value - r.last) / distance)
        if r.gap == 0:
            calibration.note_tick(r, t, value, not wild and r.doubts == 0)
        events: cython.bint = r.alarm_seen < WINDOW or alarms.rests_half(r)
        if wild and r.doubts < 2:
            came, value = value, past.believed(r, value, forecast, distance)
            r.doubted[r.doubts], r.withheld[r.doubts] = came - forecast, came - value
            r.doubts += 1
            _watch(r, t, came, value, forecast, 1.0 / distance, True, True)
        else:
            by = past.confirmed(r.doubted, value - forecast) if wild else 0.0
            _watch(r, t, value, value - by, forecast, 1.0 / distance, wild, False)
            if wild:
                calibration.note_quantiles(r, t, by * by, events)
                _move(r, ring, t, by)
                forecast += by
            r.doubts = 0
        if calibration.is_usual(r, t, distance):
            _learn(r, t, value, forecast, 1.0 / distance, events)
        else:
            calibration.note_gap(r, t, distance, value - forecast)
        _note_spacing(r, t, distance)
        if r.gap > 0:
            _close_gap(r, ring, t, value, forecast)
    _advance(r, ring, t, value, False)
    seasonal.mark(r, False)
    r.known += 1
    r.gap = 0


def _watch(r, t, value, believed, forecast, part, wild, doubted):
    """Rank the value among all the past, for the alarm. believed: what of it counts for the level of the last ones."""
    level = believed
    window = min(WINDOW, r.count + 1)
    for j in range(window - 1):
        level += r.lag[j]
    error = value - forecast
    score = surprise_of(r, t, error) if error * error * part * part > 9.0 * r.error_scale else 0.0
    alarms.watch(r, t, value, believed, (value - r.last) * part, error * part, score, level / window, wild, doubted)


def _learn(r, t, value, forecast, part, events):
    """Learn from a value and its forecast. part: 1 over the steps since the last known value, which the error across a
    gap is divided by. events: see `calibrate`."""
    difference = value - r.last
    if r.same < t.stuck:
        calibration.calibrate(r, t, (value - forecast) * part, events)
    seasonal.learn(r, t, difference, part)
    learn_shrinkage(r, t, value, difference, part)
    learn_solved(r, t, 0, AWAKE, r.learned, difference, part)
    note_bias(r, t, difference, part)
    learn(
        r.weight, r.scale, r.peak, r.last_peak, r.prediction, t.prior[r.season_on], MEMBERS if r.season_on else BANK,
        r.learned, t, difference, part, value,
    )  # fmt: skip
    r.learned += 1


# Memories and members.


def _begin(r, value):
    """The first value: everything before it is taken to have been equal to it."""
    for j in range(LAGS):
        r.lag[j] = value
    r.last = value
    r.mean = value


def _advance(r, ring, t, value, filled):
    """Memories, then every member's prediction of the next change, then the forecast. filled: the value stands in for
    a missing one."""
    difference = value - r.last
    for j in range(LAGS - 1, 0, -1):
        r.lag[j] = r.lag[j - 1]
    r.lag[0] = value
    for j in range(LAGS):
        r.feature[j] = r.lag[j] - value
    _predict_short(r, t)
    _predict_long(r, t, difference)
    for i in range(2):
        r.alternation[i] = difference - t.alternating[i] * r.alternation[i]
        r.feature[MEMORY + i] = r.alternation[i] * (1.0 - t.alternating[i])
    r.count += 1
    r.mean += (value - r.mean) * max(t.slowest_mean, 1.0 / r.count)
    r.feature[MEMORY + 2] = r.mean - value
    r.last = value
    predict_solved(r, t, 0, AWAKE, r.learned)
    ring[(r.count - 1) % RING] = value
    r.change = shrunk(r, t, seasonal.advance(r, ring, t), filled)


def _predict_short(r, t):
    out: cython.double[SHORT_ROW]
    for j in range(0, SHORT_ROW, 8):
        # Members are ordered by window: those of a block read no lag beyond its last window.
        product(r.feature, t.reach[j // 8], cython.address(t.short[j]), SHORT_ROW, cython.address(out[j]))
    for i in range(SHORTS):
        r.prediction[i] = out[i]


def _predict_long(r, t, difference):
    """z ← A (z - x₁ du), and the readouts of the new z, in one product."""
    moved: cython.double[ORDER]
    out: cython.double[LONG_ROW]
    for w in range(WINDOWS):
        for k in range(ORDER):
            moved[k] = r.feature[LAGS + w * ORDER + k] - difference * t.steady[w][k]
        for j in range(0, LONG_ROW, 8):
            product(moved, ORDER, cython.address(t.long[t.block_of[w] + j]), LONG_ROW, cython.address(out[j]))
        for k in range(ORDER):
            r.feature[LAGS + w * ORDER + k] = out[k]
        for i in range(LONGS):
            r.prediction[SHORTS + w * LONGS + i] = out[ORDER + i]


def _move(r, ring, t, by):
    """The level has moved by `by`: so does all that is remembered of it, and the two values that were doubted are put in
    their places, unless others are missing since."""
    moved: cython.double[ORDER]
    past.move(r, ring, by)
    if seasonal.is_missing(r, 0) or seasonal.is_missing(r, 1):
        return
    first, second = r.withheld[0] - by, r.withheld[1] - by
    r.lag[1] = within(r.lag[1] + first)
    r.lag[0] = within(r.lag[0] + second)
    r.last = r.lag[0]
    ring[(r.count - 2) % RING], ring[(r.count - 1) % RING] = r.lag[1], r.lag[0]
    for w in range(WINDOWS):
        z = cython.address(r.feature[LAGS + w * ORDER])
        added: cython.double[ORDER]
        for k in range(ORDER):
            moved[k] = -first * t.steady[w][k]
        product(moved, ORDER, cython.address(t.long[t.block_of[w]]), LONG_ROW, added)
        for k in range(ORDER):
            moved[k] = added[k] - (second - first) * t.steady[w][k]
        product(moved, ORDER, cython.address(t.long[t.block_of[w]]), LONG_ROW, added)
        for k in range(ORDER):
            z[k] += added[k]
    for i in range(2):
        r.alternation[i] += second - first - t.alternating[i] * first


# Gaps.


def expected(r, t):
    """The forecast of the next value; where gaps repeat the last value (`hold`), that value.

    Of a stream that rests at least half of the time the forecast change is limited to the largest seen: after a long
    rest all members have small errors, and high degrees would extrapolate the first change. No forecast passes a bound
    at which values pile up (`alarms.bounded`), nor goes farther beyond all values seen than `calibration.reach`.
    """
    change = r.change
    if alarms.rests_half(r):
        most = r.alarm_middle[DIFFERENCE][r.alarm_size[DIFFERENCE] - 1]
        change = min(max(change, -most), most)
    ahead = r.last if r.hold and r.gap > 0 else alarms.bounded(r, t, r.last + change)
    ahead = calibration.within_reach(r, t, ahead)
    return within(ahead)


def _note_spacing(r, t, distance):
    """The usual distance between known values; one long gap moves it no more than one twice as long as usual."""
    steps = float(distance) if r.known == 1 else min(float(distance), 2.0 * r.spacing)
    r.spacing += (steps - r.spacing) / min(r.known, t.spacings)


def walk(r, ring, t):
    """One step across a gap, of a copy of the record that only predicts: what the end of a gap needs is left out."""
    _advance(r, ring, t, r.last if r.hold else expected(r, t), True)
    r.gap += 1


def pass_over(r, ring, steps):
    """So many more missing values at once, beyond those that are worth a step each: the ring goes on with the season,
    or with the newest stand-in; all else stays as it is."""
    period = cython.cast(cython.longlong, r.season_periods[0] + 0.5)
    kept: cython.longlong = min(steps, cython.cast(cython.longlong, RING))
    r.count += steps - kept
    for _ in range(kept):
        ring[r.count % RING] = ring[(r.count - period) % RING] if 0 < period < r.count else r.last
        r.count += 1
        seasonal.mark(r, True)
    r.gap += steps


def _drift(r, t):
    """Update what a slope of 1 since the gap began would have added to the memories."""
    moved: cython.double[ORDER]
    for w in range(WINDOWS):
        for k in range(ORDER):
            moved[k] = r.drift[w][k] - t.steady[w][k]
        product(moved, ORDER, cython.address(t.long[t.block_of[w]]), LONG_ROW, r.drift[w])
    for i in range(2):
        r.alternation_drift[i] = 1.0 - t.alternating[i] * r.alternation_drift[i]


def _close_gap(r, ring, t, value, forecast):
    """Add a straight line to what stood in for the missing values, so that it leads to `value`."""
    if not r.hold:
        slope = (value - forecast) / (r.gap + 1)
        for j in range(min(LAGS, r.gap)):
            r.lag[j] = within(r.lag[j] + slope * (r.gap - j))
        for j in range(min(RING, r.gap)):
            ring[(r.count - 1 - j) % RING] = within(ring[(r.count - 1 - j) % RING] + slope * (r.gap - j))
        r.last = within(r.last + slope * r.gap)
        for w in range(WINDOWS):
            for k in range(ORDER):
                r.feature[LAGS + w * ORDER + k] += slope * r.drift[w][k]
        for i in range(2):
            r.alternation[i] += slope * r.alternation_drift[i]
    for w in range(WINDOWS):
        for k in range(ORDER):
            r.drift[w][k] = 0.0
    for i in range(2):
        r.alternation_drift[i] = 0.0


# Reading.


def read(r, t, where):
    """The next value and half the width of its interval: NaN before the first value, infinite before any error.

    where: the level among the tracked quantiles (`table.between`).
    """
    if r.count == 0:
        return NAN, NAN
    mean = expected(r, t)
    half = calibration.half_width(r, t, where) * calibration.across(r, t, 1.0)
    # No interval is narrower than the numbers themselves, nor than a tick.
    return mean, max(half, spacing(fabs(mean)), 0.5 * calibration.resolution(r, t))


def surprise_of(r, t, error):
    """The score of an error of the next value, in view of the steps since the last known one and of the tick."""
    score = calibration.surprise(r, t, error / calibration.across(r, t, 1.0))
    if not score > 0.0:
        return score
    part = 1.0 / (r.gap + 1)
    highest = alarms.ceiling(r, t, fabs(error) * part, fabs(error + expected(r, t) - r.last) * part)
    tick = calibration.resolution(r, t)
    if tick > 0.0 and highest == INFINITY:
        # An error of n ticks counts as no rarer than one of 2 n standard deviations.
        rare = erfc(fabs(error) / (0.5 * tick) / sqrt(2.0))
        highest = -log10(rare) if rare > 0.0 else INFINITY
    return min(score, highest)


# The derivative.


def note_bias(r, t, difference, part):
    """Averages of each constructed member's error and of its square."""
    newest = 1.0 / (r.learned + 1)
    for i in range(FIXED):
        bias = r.bias[i] + ((difference - r.prediction[i]) * part - r.bias[i]) * t.averaging[i]
        r.bias[i] = bias
        r.squared_bias[i] += (bias * bias - r.squared_bias[i]) * max(t.bias_rate[i], newest)


def _slopes(r, t, error):
    """Estimated mean squared errors of the derivative readouts, into `error`; the least of them."""
    noise: cython.double = INFINITY
    for i in range(FIXED):
        noise = min(noise, r.scale[i] / (1.0 + t.gain[i]))
    least: cython.double = INFINITY
    moves = max(r.scale[0] - t.plain * noise * (1.0 + t.gain[0]), 0.0)
    for i in range(FIXED):
        whole, explained = r.scale[i], noise * (1.0 + t.gain[i])
        # A bias cannot exceed the one-step error, whose scale forgets a jump sooner than the averages do.
        bias = min(r.squared_bias[i] - noise * t.slope_left[i], whole)
        bias = max(max(bias, whole - t.plain * explained), t.unsure * noise * t.slope_left[i])
        # The ratio `slope_bias` is that of the leading error, which is no guide once the signal turns within the
        # window: the error of a slope grows with that of the same member's prediction.
        distrust = max(whole / max(explained, 1e-300), 1.0)
        error[i] = (noise * t.slope_gain[i] + t.slope_bias[i] * t.slope_bias[i] * bias) * distrust
        # A member that misses most of the signal's own changes (the copy's error less noise) has no better slope.
        if whole - t.plain * explained > 0.5 * r.scale[0]:
            error[i] = max(error[i], moves)
        if t.sloped[i]:
            least = min(least, error[i])
    return least


def _path_error(r):
    """Estimated mean squared error of the slope of the path: a quarter of both its ends' and a sixth of the third
    difference, squared. The latter holds noise too, so it is careful."""
    return 0.5 * r.error_scale + r.scale[PARABOLA] / 36.0


def slope_shares(r, t, shares):
    """Shares of the derivative readouts, by (estimated error)⁻², into `shares`; returns that of the path. All add up to
    1."""
    path = _path_error(r)
    least = min(_slopes(r, t, shares), path)
    for i in range(FIXED):
        ratio = least / max(shares[i], 1e-300)
        shares[i] = (ratio * ratio if shares[i] > 0.0 else 1.0) * t.sloped[i]
    along = (least / path) * (least / path) if path > 0.0 else 0.0
    total = along
    for i in range(FIXED):
        total += shares[i]
    for i in range(FIXED):
        shares[i] /= total
    return along / total


def slope(r, t, shares):
    """The derivative per sample at the newest value; NaN before the first."""
    if r.count == 0:
        for i in range(FIXED):
            shares[i] = 0.0
        return NAN
    total = 0.5 * (r.change - r.feature[1]) * slope_shares(r, t, shares)
    for i in range(SHORTS):
        read_out = 0.0
        for j in range(1, LAGS):
            read_out += r.feature[j] * t.short_slope[j][i]
        total += shares[i] * read_out
    for w in range(WINDOWS):
        for i in range(LONGS):
            read_out = 0.0
            for k in range(ORDER):
                read_out += r.feature[LAGS + w * ORDER + k] * t.long_slope[w][k][i]
            total += shares[SHORTS + w * LONGS + i] * read_out
    return total
