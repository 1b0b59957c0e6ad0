r"""The bank: one value of one stream, `step(record, table, value)`, and what is predicted next, `read(record, table)`.

The arithmetic is that of docs/prophecy.md, in its order: what the value teaches (calibration, solved readouts, bias of
the derivative, mixture), then memories, members and their mixture for the next value. `record` is a `RECORD` and
changes in place; `table` holds the constants (`members.TABLE`). A value is a number or NaN, which is a gap.

One value, an array, many channels and many series all run these functions, and sums are taken in one order, so results
agree to the last bit. Inner loops run over members or features side by side, which vectorises without reordering; sums
are taken in eight interleaved parts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy.adaptive import alarms, readings, seasonal
from prophecy.adaptive.compiled import inner, kernel
from prophecy.adaptive.members import (
    FIXED,
    LAGS,
    LEVELS,
    LONGS,
    MEMBERS,
    MEMORY,
    ORDER,
    SHORTS,
    SOLVED,
    WINDOWS,
    padded,
)
from prophecy.adaptive.record import LARGEST, SQUARED
from prophecy.adaptive.seasons import RING

_SOLVED, _WINDOWS, _LEVELS = len(SOLVED), len(WINDOWS), len(LEVELS)
_NINETY = int(np.searchsorted(LEVELS, 0.9))
_0, _1, _2, _3, _4, _5, _6, _7, _8 = (np.uint64(i) for i in range(9))
_SHORT_STRIDE, _LONG_STRIDE, _ORDER = np.uint64(padded(SHORTS)), np.uint64(padded(ORDER + LONGS)), np.uint64(ORDER)
ROOM = (6, padded(MEMBERS))
"""Room to work in, allocated once per call: rows of numbers that are not kept."""


@inner
def step(r: Any, ring: Any, t: Any, value: float, offset: float, room: Any) -> None:
    """Take in the next value; NaN is a gap. offset: how many steps after its place on the grid its timestamp lies."""
    if math.isnan(value):
        if r.count > 0:
            _advance(r, ring, t, r.last if r.hold else expected(r), room)
            _drift(r, t, room)
            r.gap += 1
        return
    if r.count == 0:
        _begin(r, value)
    else:
        if offset != 0.0:
            value = _on_grid(r, value, offset)
        distance = r.gap + 1
        if r.gap == 0:
            readings.note_tick(r, value)
        _watch(r, value, 1.0 / distance)
        if distance <= t.patience * r.spacing or r.known == 1:
            _learn(r, t, value, 1.0 / distance, room)
        _note_spacing(r, t, distance)
        if r.gap > 0:
            _note_growth(r, t, value)
            _close_gap(r, ring, t, value)
    _advance(r, ring, t, value, room)
    r.known += 1
    r.gap = 0


@inner
def _on_grid(r: Any, value: float, offset: float) -> float:
    """The value as it would have been on the grid: its error is that of a forecast for when it was taken."""
    mean = expected(r)
    moved = readings.shift(r, mean, offset, readings.stamp_kind(r))
    if r.gap == 0:
        readings.note_stamp(r, value, mean, offset)
    return min(max(value - moved, -LARGEST), LARGEST)


@inner
def _watch(r: Any, value: float, part: float) -> None:
    """Rank the value among all the past, for the alarm."""
    level = value
    window = min(alarms.WINDOW, r.count + 1)
    for j in range(window - 1):
        level += r.lag[j]
    alarms.watch(r, value, (value - r.last) * part, (value - expected(r)) * part, level / window)


@inner
def _learn(r: Any, t: Any, value: float, part: float, room: Any) -> None:
    """Learn from a value. Errors made across a gap count in parts, as many as steps were predicted."""
    difference = value - r.last
    if r.same < readings.STUCK:
        calibrate(r, t, (value - expected(r)) * part)
    seasonal.learn(r, value, difference, part)
    _solve(r, t, difference, part, room)
    _note_bias(r, t, difference, part)
    weigh(r, t, difference, part, value, room[0])
    r.learned += 1


# Calibration: how large the forecast's own errors are.


@inner
def calibrate(r: Any, t: Any, error: float) -> None:
    """Scale and quantiles of the forecast's errors."""
    squared = error * error
    if r.learned == 0:
        r.error_scale = max(squared, t.smallest)
    # Errors of exactly 0, a sensor that sticks, teach nothing about how errors are distributed.
    if squared > t.smallest or r.error_scale > t.smallest:
        for l in range(_LEVELS):
            q = r.quantile[l]
            q *= t.raise_by[l] if squared > q * q * r.error_scale else t.lower_by[l]
            r.quantile[l] = min(max(q, t.lowest), t.highest)
    rate = max(1.0 - t.discount, 1.0 / (r.learned + 1 + t.settle))
    r.error_scale = max(r.error_scale + (squared - r.error_scale) * rate, t.smallest)
    r.error_peak = max(r.error_peak, squared)
    if (r.learned + 1) % t.block == 0:
        highest = t.ceiling * max(max(r.error_peak, r.last_error_peak), t.smallest)
        r.error_scale = min(r.error_scale, highest)
        r.last_error_peak = r.error_peak
        r.error_peak = 0.0


# Readouts solved in context: recursive least squares in Potter's square-root form.


@inner
def _solve(r: Any, t: Any, difference: float, part: float, room: Any) -> None:
    phi, g = room[1], room[2]
    for s in range(_SOLVED):
        error, power = difference * part, 0.0
        for i in range(t.used[s]):
            phi[i] = r.feature[t.index[s, i]] * part
            error -= r.readout[s, i] * phi[i]
            power += phi[i] * phi[i]
        if r.learned < t.longest[s] or not _trusts(r, t, s, min(error * error, SQUARED)):
            power = 0.0
        if power > t.smallest:
            if r.begun[s] == 0:
                _set_prior(r, t, s, power)
            _update(r, t, s, error, phi, g)
            # Nothing is forgotten while nothing is learned, as on a constant stretch.
            r.stretch[s] /= math.sqrt(t.forgetting[s])
        r.power[s] += (power - r.power[s]) / t.tidy
        if (r.learned + 1) % t.tidy == 0:
            _tidy(r, t, s)


@inner
def _trusts(r: Any, t: Any, s: int, squared: float) -> bool:
    """Whether a solved member learns from this value: not while an outlier is among its features."""
    if r.pause[s] > 0:
        r.pause[s] -= 1
    scale = r.scale[FIXED + s]
    if r.learned < t.needed[s]:
        r.usual[s] = scale
    else:
        highest = t.surprising * t.surprising * max(r.usual[s], scale)
        if r.pause[s] == 0 and squared > highest:
            r.pause[s] = t.traces[s]
        r.usual[s] += (min(squared, highest) - r.usual[s]) / t.usual_over
    return r.pause[s] == 0  # type: ignore[no-any-return]


@inner
def _set_prior(r: Any, t: Any, s: int, power: float) -> None:
    root = math.sqrt(t.prior_power / power)
    for k in range(t.used[s] * t.stride[s]):
        r.factor[t.place[s] + k] = 0.0
    for i in range(t.used[s]):
        r.factor[t.place[s] + i * (t.stride[s] + _1)] = root
    r.stretch[s] = 1.0
    r.power[s] = power
    r.begun[s] = 1


@inner
def _update(r: Any, t: Any, s: int, error: float, phi: Any, g: Any) -> None:
    """g = Sᵀ φ,  β = λ + g · g,  w += S g error/β,  S ← S - S g gᵀ/(β + √(λ β)); S is `factor` times `stretch`."""
    used, stride, place = t.used[s], t.stride[s], t.place[s]
    stretch, forgetting = r.stretch[s], t.forgetting[s]
    for j in range(_0, stride, _8):
        _product(phi, used, r.factor, place + j, stride, g, j)
    for j in range(stride):
        g[j] *= stretch
    beta = forgetting + _dot(g, _0, g, stride)
    missed = error / beta
    shrink = 1.0 / ((beta + math.sqrt(forgetting * beta)) * stretch)
    for i in range(used):
        gain = _dot(r.factor, place + i * stride, g, stride) * stretch
        r.readout[s, i] += gain * missed
        _subtract(r.factor, place + i * stride, gain * shrink, g, stride)


@inner
def _tidy(r: Any, t: Any, s: int) -> None:
    """Apply the growth of a factor, and bound it: directions the signal never excites would grow without end."""
    size, total = 0.0, 0.0
    for k in range(t.place[s], t.place[s] + t.used[s] * t.stride[s]):
        r.factor[k] *= r.stretch[s]
        size += r.factor[k] * r.factor[k]
    for i in range(t.used[s]):
        total += r.readout[s, i]
    r.stretch[s] = 1.0
    size *= r.power[s]
    if not (math.isfinite(size) and abs(total) < 1e100):
        for k in range(t.place[s], t.place[s] + t.used[s] * t.stride[s]):
            r.factor[k] = 0.0
        for i in range(t.used[s]):
            r.readout[s, i] = t.start[s, i]
        r.begun[s] = 0
    elif size > t.bound:
        _bound(r, t, s, math.sqrt(0.5 * t.bound / r.power[s] / t.used[s]))


@inner
def _bound(r: Any, t: Any, s: int, highest: float) -> None:
    """Bring down the directions that have grown, and those alone.

    Rotating columns of S leaves S Sᵀ as it is. Rotations until all columns are orthogonal (Jacobi's method) make their
    lengths the singular values, each of which is then at most `highest`.
    """
    used, stride, factor = np.int64(t.used[s]), np.int64(t.stride[s]), r.factor
    first = np.int64(t.place[s])
    end = first + used * stride
    for _ in range(30):
        rotated = False
        for p in range(used - 1):
            for q in range(p + 1, used):
                a, b, c = 0.0, 0.0, 0.0
                for k in range(first, end, stride):
                    a += factor[k + p] * factor[k + p]
                    b += factor[k + q] * factor[k + q]
                    c += factor[k + p] * factor[k + q]
                if abs(c) <= 1e-15 * math.sqrt(a * b):
                    continue
                rotated = True
                zeta = (b - a) / (2.0 * c)
                tangent = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                for k in range(first, end, stride):
                    x, y = factor[k + p], factor[k + q]
                    factor[k + p] = cosine * (x - tangent * y)
                    factor[k + q] = cosine * (y + tangent * x)
        if not rotated:
            break
    for p in range(used):
        length = 0.0
        for k in range(first, end, stride):
            length += factor[k + p] * factor[k + p]
        if length > highest * highest:
            for k in range(first, end, stride):
                factor[k + p] *= highest / math.sqrt(length)


# The bias of each member, for the derivative.


@inner
def _note_bias(r: Any, t: Any, difference: float, part: float) -> None:
    newest = 1.0 / (r.learned + 1)
    for i in range(FIXED):
        bias = r.bias[i] + ((difference - r.prediction[i]) * part - r.bias[i]) * t.averaging[i]
        r.bias[i] = bias
        r.squared_bias[i] += (bias * bias - r.squared_bias[i]) * max(t.bias_rate[i], newest)


# The mixture: Bayes' rule with a fixed share.


@inner
def weigh(r: Any, t: Any, difference: float, part: float, value: float, new: Any) -> None:
    """Weights and scales of the members after errors (difference - prediction) * part."""
    least = (t.rounding * value) * (t.rounding * value) + t.smallest
    count = len(r.weight)
    if r.learned == 0:
        error = (difference - r.prediction[0]) * part
        for i in range(count):
            r.scale[i] = max(error * error, least)
    rate = max(1.0 - t.discount, 1.0 / (r.learned + 1 + t.settle))
    for i in range(count):
        error = (difference - r.prediction[i]) * part
        squared = error * error
        scale = r.scale[i]
        new[i] = r.weight[i] * (math.sqrt(scale) / (scale + squared))
        r.scale[i] = max(scale + (squared - scale) * rate, least)
        r.peak[i] = max(r.peak[i], squared)
    for i in range(count, len(new)):
        new[i] = 0.0
    kept = (1.0 - t.share) / _total(new, np.uint64(len(new)))
    for i in range(count):
        r.weight[i] = new[i] * kept + t.share * t.prior[i]
    if (r.learned + 1) % t.block == 0:
        for i in range(count):
            r.scale[i] = min(r.scale[i], t.ceiling * max(max(r.peak[i], r.last_peak[i]), least))
            r.last_peak[i] = r.peak[i]
            r.peak[i] = 0.0


@inner
def combine(r: Any, shares: Any, parts: Any) -> float:
    """The point forecast of the change: members by weight over scale, left in `shares`."""
    count = len(r.weight)
    for i in range(count):
        shares[i] = r.weight[i] / (r.scale[i] if r.scale[i] > 0.0 else 1.0)
        parts[i] = shares[i] * r.prediction[i]
    for i in range(count, len(shares)):
        shares[i] = parts[i] = 0.0
    return _total(parts, np.uint64(len(parts))) / _total(shares, np.uint64(len(shares)))


# Memories and members.


@inner
def _begin(r: Any, value: float) -> None:
    """Before the first value lies a past in which nothing happened."""
    for j in range(LAGS):
        r.lag[j] = value
    r.last = value
    r.mean = value


@inner
def _advance(r: Any, ring: Any, t: Any, value: float, room: Any) -> None:
    """Memories, then every member's prediction of the next change, then the forecast."""
    difference = value - r.last
    for j in range(LAGS - 1, 0, -1):
        r.lag[j] = r.lag[j - 1]
    r.lag[0] = value
    for j in range(LAGS):
        r.feature[j] = r.lag[j] - value
    _predict_short(r, t, room[3])
    _predict_long(r, t, difference, room[4], room[3])
    for i in range(2):
        r.alternation[i] = difference - t.alternating[i] * r.alternation[i]
        r.feature[MEMORY + i] = r.alternation[i] * (1.0 - t.alternating[i])
    r.count += 1
    r.mean += (value - r.mean) * max(t.slowest_mean, 1.0 / r.count)
    r.feature[MEMORY + 2] = r.mean - value
    r.last = value
    _predict_solved(r, t)
    ring[(r.count - 1) % RING] = value
    r.change = seasonal.advance(r, ring, combine(r, room[5], room[4]))


@inner
def _predict_short(r: Any, t: Any, out: Any) -> None:
    for j in range(_0, _SHORT_STRIDE, _8):
        # Members are ordered by window: those of a block read no lag beyond its last window.
        _product(r.feature, t.reach[j // _8], t.short, j, _SHORT_STRIDE, out, j)
    for i in range(SHORTS):
        r.prediction[i] = out[i]


@inner
def _predict_long(r: Any, t: Any, difference: float, moved: Any, out: Any) -> None:
    """z ← A (z - x₁ du), and the readouts of the new z, in one product."""
    for w in range(_WINDOWS):
        for k in range(ORDER):
            moved[k] = r.feature[LAGS + w * ORDER + k] - difference * t.steady[w, k]
        for j in range(_0, _LONG_STRIDE, _8):
            _product(moved, _ORDER, t.long, t.block_of[w] + j, _LONG_STRIDE, out, j)
        for k in range(ORDER):
            r.feature[LAGS + w * ORDER + k] = out[k]
        for i in range(LONGS):
            r.prediction[SHORTS + w * LONGS + i] = out[ORDER + i]


@inner
def _predict_solved(r: Any, t: Any) -> None:
    for s in range(_SOLVED):
        power, ahead, start = 0.0, 0.0, 0.0
        for i in range(t.used[s]):
            phi = r.feature[t.index[s, i]]
            power += phi * phi
            ahead += r.readout[s, i] * phi
            start += t.start[s, i] * phi
        # Weights in directions the signal has hardly shown are free to be wild: no change goes far beyond the past.
        farthest = t.farthest * math.sqrt(power)
        ahead = min(max(ahead, -farthest), farthest)
        r.prediction[FIXED + s] = start if r.learned < t.needed[s] else ahead


# Gaps.


@inner
def expected(r: Any) -> float:
    """The next value as predicted; where a gap repeats the last value, that is expected to go on."""
    ahead: float = r.last if r.hold and r.gap > 0 else r.last + r.change
    return min(max(ahead, -LARGEST), LARGEST)


@inner
def _note_spacing(r: Any, t: Any, distance: int) -> None:
    """The usual distance between known values; one long gap moves it no more than one twice as long as usual."""
    steps = float(distance) if r.known == 1 else min(float(distance), 2.0 * r.spacing)
    r.spacing += (steps - r.spacing) / min(r.known, t.spacings)


@inner
def _across(r: Any) -> float:
    """How many times wider than one step ahead an interval across the present gap is: in proportion to its steps, and
    where the forecast is next to exact by the square of that, since no noise hides how errors grow."""
    steps = float(r.gap + 1)
    if r.gap == 0:
        return 1.0
    exact = r.error_scale < 1e-8 * r.scale[0]
    return steps * (steps * steps if exact else 1.0) * r.gap_growth


@inner
def _note_growth(r: Any, t: Any, value: float) -> None:
    """Track the widening that makes nine intervals in ten hold the first value after a gap."""
    if r.learned < 16:
        return
    error, half = abs(value - expected(r)), r.quantile[_NINETY] * _usual(r, t) * _across(r)
    r.gap_growth = min(max(r.gap_growth * (t.gap_up if error > half else t.gap_down), 1.0), 1e9)


@inner
def _drift(r: Any, t: Any, room: Any) -> None:
    """What a slope of 1 since the gap began would have added to the memories."""
    moved, out = room[4], room[3]
    for w in range(_WINDOWS):
        for k in range(ORDER):
            moved[k] = r.drift[w, k] - t.steady[w, k]
        _product(moved, _ORDER, t.long, t.block_of[w], _LONG_STRIDE, out, _0)
        for k in range(ORDER):
            r.drift[w, k] = out[k]
    for i in range(2):
        r.alternation_drift[i] = 1.0 - t.alternating[i] * r.alternation_drift[i]


@inner
def _close_gap(r: Any, ring: Any, t: Any, value: float) -> None:
    """Put a straight line of corrections under what stood in for the missing values, so that it ends at `value`."""
    if not r.hold:
        slope = (value - expected(r)) / (r.gap + 1)
        for j in range(min(LAGS, r.gap)):
            r.lag[j] += slope * (r.gap - j)
        for j in range(min(RING, r.gap)):
            ring[(r.count - 1 - j) % RING] += slope * (r.gap - j)
        r.last += slope * r.gap
        for w in range(_WINDOWS):
            for k in range(ORDER):
                r.feature[LAGS + w * ORDER + k] += slope * r.drift[w, k]
        for i in range(2):
            r.alternation[i] += slope * r.alternation_drift[i]
    for w in range(_WINDOWS):
        for k in range(ORDER):
            r.drift[w, k] = 0.0
    for i in range(2):
        r.alternation_drift[i] = 0.0


# Reading.


@inner
def read(r: Any, t: Any, above: int, inside: bool, part: float) -> tuple[float, float]:
    """The next value and half the width of its interval: NaN before the first value, infinite before any error.

    above, inside, part: where the level lies among the tracked quantiles (`between`).
    """
    if r.count == 0:
        return math.nan, math.nan
    mean = expected(r)
    half = half_width(r, t, above, inside, part) * _across(r)
    # No interval is narrower than the numbers themselves, nor than a tick.
    return mean, max(half, np.spacing(abs(mean)), 0.5 * readings.resolution(r))


@inner
def half_width(r: Any, t: Any, above: int, inside: bool, part: float) -> float:
    """Half the width of an interval one step ahead: straight lines between the tracked quantiles."""
    if r.learned == 0:
        return math.inf
    upper, lower = 0.0, 0.0
    for l in range(above + 1):
        lower = upper
        upper = max(upper, r.quantile[l])
    lower = lower if inside else 0.0
    return (lower + (upper - lower) * part) * _usual(r, t)


@inner
def _usual(r: Any, t: Any) -> float:
    """The usual size of an error, wider while few are known."""
    return math.sqrt(r.error_scale) * float(1.0 + t.few / (r.learned * r.learned))


@inner
def surprise(r: Any, t: Any, error: float) -> float:
    """-log10 of the probability of an error at least this large, 0 before any error is known, at most `surest`."""
    if math.isnan(error):
        return math.nan
    if r.learned == 0:
        return 0.0
    size = abs(error) / _usual(r, t)
    knot, before, last, above = 0.0, 0.0, 0.0, 0
    for l in range(_LEVELS):
        last = max(last, r.quantile[l])
    for l in range(_LEVELS):
        before, knot, above = knot, max(knot, r.quantile[l]), l
        if size <= knot:
            break
    if above == 0 or size > last:
        normal = t.normal[above] * (size / knot)
    else:
        start = t.normal[above - 1]
        normal = start + (t.normal[above] - start) * ((size - before) / max(knot - before, t.smallest))
    tail = math.erfc(normal / math.sqrt(2.0))
    score: float = min(-math.log10(tail), t.surest) if tail > 0.0 else t.surest
    if math.sqrt(r.error_scale) <= t.exact * abs(r.last) + math.sqrt(t.smallest):
        score = min(score, math.log10(1.0 + r.learned))
    return max(score, 0.0)


@inner
def _slopes(r: Any, t: Any, error: Any) -> float:
    """Estimated mean squared errors of the derivative readouts, into `error`; the least of them."""
    noise = math.inf
    for i in range(FIXED):
        noise = min(noise, r.scale[i] / (1.0 + t.gain[i]))
    least = math.inf
    for i in range(FIXED):
        whole, explained = r.scale[i], noise * (1.0 + t.gain[i])
        # A bias cannot exceed the one-step error, whose scale forgets a jump sooner than the averages do.
        bias = min(r.squared_bias[i] - noise * t.slope_left[i], whole)
        bias = max(max(bias, whole - t.plain * explained), t.unsure * noise * t.slope_left[i])
        # The ratio `slope_bias` is that of the leading error, which says nothing once the signal turns within the
        # window: a slope is trusted no more than the prediction of the same member.
        distrust = max(whole / max(explained, 1e-300), 1.0)
        error[i] = (noise * t.slope_gain[i] + t.slope_bias[i] * t.slope_bias[i] * bias) * distrust
        if t.sloped[i]:
            least = min(least, error[i])
    return least


@inner
def slope_shares(r: Any, t: Any, shares: Any) -> None:
    """How much each derivative readout counts, by (estimated error)⁻²; they add up to 1."""
    least = _slopes(r, t, shares)
    for i in range(FIXED):
        ratio = least / max(shares[i], 1e-300)
        shares[i] = (ratio * ratio if shares[i] > 0.0 else 1.0) * t.sloped[i]
    total = 0.0
    for i in range(FIXED):
        total += shares[i]
    for i in range(FIXED):
        shares[i] /= total


@inner
def slope(r: Any, t: Any, shares: Any) -> float:
    """The derivative per sample at the newest value; NaN before the first."""
    if r.count == 0:
        shares[:] = 0.0
        return math.nan
    slope_shares(r, t, shares)
    total = 0.0
    for i in range(SHORTS):
        read_out = 0.0
        for j in range(1, LAGS):
            read_out += r.feature[j] * t.short_slope[j, i]
        total += shares[i] * read_out
    for w in range(_WINDOWS):
        for i in range(LONGS):
            read_out = 0.0
            for k in range(ORDER):
                read_out += r.feature[LAGS + w * ORDER + k] * t.long_slope[w, k, i]
            total += shares[SHORTS + w * LONGS + i] * read_out
    return total


# Eight numbers at a time. Written out, so that eight loads, products or sums that lie side by side become one; indices
# are unsigned, since Numba asks of every signed one whether it counts from the end.


@inner
def _product(x: Any, count: Any, matrix: Any, place: Any, stride: Any, out: Any, at: Any) -> None:
    """out[at : at + 8] = Σ x[i] matrix[place + i stride : … + 8] over i < count, in the order of i."""
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        v, k = x[i], place + i * stride
        a += v * matrix[k]
        b += v * matrix[k + _1]
        c += v * matrix[k + _2]
        d += v * matrix[k + _3]
        e += v * matrix[k + _4]
        f += v * matrix[k + _5]
        g += v * matrix[k + _6]
        h += v * matrix[k + _7]
    _store(out, at, a, b, c, d, e, f, g, h)


@inner
def _subtract(x: Any, place: Any, factor: float, y: Any, count: Any) -> None:
    """x[place : place + count] -= factor y[:count]; count is a multiple of eight."""
    for i in range(_0, count, _8):
        k = place + i
        a, b = x[k] - factor * y[i], x[k + _1] - factor * y[i + _1]
        c, d = x[k + _2] - factor * y[i + _2], x[k + _3] - factor * y[i + _3]
        e, f = x[k + _4] - factor * y[i + _4], x[k + _5] - factor * y[i + _5]
        g, h = x[k + _6] - factor * y[i + _6], x[k + _7] - factor * y[i + _7]
        _store(x, k, a, b, c, d, e, f, g, h)


@inner
def _store(x: Any, k: Any, a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float) -> None:
    x[k], x[k + _1], x[k + _2], x[k + _3] = a, b, c, d
    x[k + _4], x[k + _5], x[k + _6], x[k + _7] = e, f, g, h


@inner
def _dot(x: Any, place: Any, y: Any, count: Any) -> float:
    """Σ x[place + i] y[i] over i < count, in eight interleaved parts; count is a multiple of eight."""
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(_0, count, _8):
        k = place + i
        a += x[k] * y[i]
        b += x[k + _1] * y[i + _1]
        c += x[k + _2] * y[i + _2]
        d += x[k + _3] * y[i + _3]
        e += x[k + _4] * y[i + _4]
        f += x[k + _5] * y[i + _5]
        g += x[k + _6] * y[i + _6]
        h += x[k + _7] * y[i + _7]
    return ((a + e) + (b + f)) + ((c + g) + (d + h))


@inner
def _total(x: Any, count: Any) -> float:
    """Σ x[i] over i < count, in eight interleaved parts; count is a multiple of eight."""
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(_0, count, _8):
        a += x[i]
        b += x[i + _1]
        c += x[i + _2]
        d += x[i + _3]
        e += x[i + _4]
        f += x[i + _5]
        g += x[i + _6]
        h += x[i + _7]
    return ((a + e) + (b + f)) + ((c + g) + (d + h))


# What Python calls.


@kernel
def run(
    records: Any,
    rings: Any,
    table: Any,
    values: Any,
    steps: Any,
    offsets: Any,
    where: Any,
    out: Any,
    first: int,
    last: int,
) -> None:
    """values (time, series) through records[first:last] and their rings.

    steps (time,): how many steps of the grid each comes after the one before, 1 where empty; offsets (time,): steps by
    which its timestamp misses its place, 0 where empty. out (time, 4, series) gets mean, half width and score of every
    value as they were before it came, at the level that `where` says (`members.between`), and the alarm with it; an
    empty `out` gets nothing.
    """
    room = np.empty(ROOM)
    for s in range(first, last):
        r = records[s]
        for k in range(len(values)):
            if len(steps):
                for _ in range(steps[k] - 1):
                    step(r, rings[s], table[0], math.nan, 0.0, room)
            offset = offsets[k] if len(offsets) else 0.0
            value = values[k, s]
            if len(out):
                mean, half = read(r, table[0], where[0], where[1], where[2])
                if offset != 0.0 and r.count:
                    mean += readings.shift(r, mean, offset, readings.stamp_kind(r))
                out[k, 0, s], out[k, 1, s] = mean, half
                out[k, 2, s] = surprise_of(r, table[0], value - mean) if r.count else 0.0
            step(r, rings[s], table[0], value, offset, room)
            if len(out):
                out[k, 3, s] = math.nan if math.isnan(value) else r.alarm


@inner
def surprise_of(r: Any, t: Any, error: float) -> float:
    """The surprise of an error of the next value: relative to how far ahead it is, and to the sensor's resolution."""
    score = surprise(r, t, error / _across(r))
    tick = readings.resolution(r)
    if tick > 0.0 and score > 0.0:
        # Within n ticks no error is rarer than one beyond 2 n standard deviations.
        rare = math.erfc(abs(error) / (0.5 * tick) / math.sqrt(2.0))
        if rare > 0.0:
            score = min(score, -math.log10(rare))
    return score


@kernel
def look(records: Any, table: Any, where: Any, out: Any) -> tuple[float, float]:
    """Mean and half width of the next value of every record, in out (2, series), and those of the last as numbers."""
    mean, half = math.nan, math.nan
    for s in range(len(records)):
        mean, half = read(records[s], table[0], where[0], where[1], where[2])
        out[0, s], out[1, s] = mean, half
    return mean, half


@kernel
def widths(records: Any, out: Any) -> None:
    """How many times wider than one step ahead the next interval is, in out (series,)."""
    for s in range(len(records)):
        out[s] = _across(records[s])


@kernel
def judge(records: Any, table: Any, errors: Any, out: Any) -> None:
    """Scores of errors (series,) of the next values, in out (series,)."""
    for s in range(len(records)):
        out[s] = surprise_of(records[s], table[0], errors[s]) if records[s].count else 0.0


@kernel
def slopes(records: Any, table: Any, out: Any, shares: Any) -> None:
    """Derivatives per sample in out (series,), and what each readout counts for in shares (series, constructed)."""
    for s in range(len(records)):
        out[s] = slope(records[s], table[0], shares[s])
