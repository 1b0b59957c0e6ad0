r"""The rule of mixing (docs/prophecy.md): Cauchy densities around each member's prediction, as wide as its recent
errors, Bayes' rule, and a fixed share. The same for the 119 members of the bank, for the bank and the seasonal experts,
and for shrinkage. Sums are taken in eight parts, which vectorises.

Shrinkage is how much of the change that the members forecast is kept in the forecast. Readouts solved from few values,
and members chosen because they happened to be right, forecast more change than comes. Of the forecast changes c and the
actual ones d, λ = Σ d c/s / Σ c²/s, limited to 0 … 1 and averaged over some hundred values, is the share of a forecast
change that has come on average (s: the mean squared error at the time, so that a loud stretch does not outweigh the
quiet ones). The forecast is a mixture of c and λ c; where changes come as forecast, λ is 1 and nothing is lost.
"""

import cython
from cython.cimports.libc.math import sqrt
from cython.cimports.prophecy.streams.kernels.unrolled import total


def learn(weights, scales, peaks, last_peaks, ahead, prior, members, count, t, difference, part, value):
    """Weights and scales after errors (difference - ahead) * part, `count` of which were learned from before.

        w ← (1 - share) w √v/(v + e²)/Σ + share · prior,  v ← v + (e² - v) ρ

    Every `block` values a scale comes down to `ceiling` times the largest squared error of the last two blocks.
    """
    new: cython.double[MEMBERS_ROW]
    least = (ROUNDING * value) * (ROUNDING * value) + SMALLEST
    rate = max(1.0 - t.discount, 1.0 / (count + 1 + t.block))
    for i in range(members):
        error = (difference - ahead[i]) * part
        squared = error * error
        scale = scales[i] if scales[i] > 0.0 else max(squared, least)
        new[i] = weights[i] * (sqrt(scale) / (scale + squared))
        scales[i] = max(scale + (squared - scale) * rate, least)
        peaks[i] = max(peaks[i], squared)
    kept = (1.0 - t.share) / _sum(new, members)
    for i in range(members):
        weights[i] = new[i] * kept + t.share * prior[i]
    if (count + 1) % t.block == 0:
        for i in range(members):
            scales[i] = min(scales[i], t.ceiling * max(max(peaks[i], last_peaks[i]), least))
            last_peaks[i] = peaks[i]
            peaks[i] = 0.0


def _sum(x, count):
    """Of the first `count` numbers of an array of `MEMBERS_ROW`."""
    row: cython.longlong = (count + 7) // 8 * 8
    for i in range(count, row):
        x[i] = 0.0
    return total(x, row)


def mixed(weights, scales, ahead, members):
    """The point forecast is the mean of the members, each by its weight over its scale (a mean squared error): the sum
    over some of them, and that of their shares."""
    shares: cython.double[MEMBERS_ROW]
    parts: cython.double[MEMBERS_ROW]
    for i in range(members):
        shares[i] = weights[i] / (scales[i] if scales[i] > 0.0 else 1.0)
        parts[i] = shares[i] * ahead[i]
    return _sum(parts, members), _sum(shares, members)


def learn_shrinkage(r, t, value, difference, part):
    """Learn from the actual change `difference`, over 1/part steps, where `shrink_ahead` was forecast."""
    half: cython.double[2]
    half[0] = half[1] = 0.5
    learn(
        r.shrink_weight, r.shrink_scale, r.shrink_peak, r.shrink_last_peak, r.shrink_ahead, half,
        2, r.learned, t, difference, part, value,
    )  # fmt: skip
    actual, forecast = difference * part, r.shrink_ahead[0] * part
    # A change beyond 1e17 times the usual error would count for more than float64 can add to.
    weight = 1.0 / (r.shrink_scale[0] + ROUNDING * ROUNDING * (actual * actual + forecast * forecast))
    if forecast * forecast * weight > SMALLEST:  # nothing is forgotten while nothing is learned
        r.shrink_sums[0] = t.shrink_discount * r.shrink_sums[0] + actual * forecast * weight
        r.shrink_sums[1] = t.shrink_discount * r.shrink_sums[1] + forecast * forecast * weight


def shrunk(r, t, change, filled):
    """The forecast change where the members together forecast `change`. Across a gap (filled) nothing is taken away:
    a share of a share of it, step after step, would soon be nothing."""
    share = 1.0
    if r.learned >= t.block and r.shrink_sums[1] > 0.0:
        share = min(max(r.shrink_sums[0] / r.shrink_sums[1], 0.0), 1.0)
    r.shrink_ahead[0] = change
    r.shrink_ahead[1] = share * change
    if filled:
        return change
    top, whole = mixed(r.shrink_weight, r.shrink_scale, r.shrink_ahead, 2)
    return top / whole
