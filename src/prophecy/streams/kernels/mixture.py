r"""The rule of mixing (docs/prophecy.md): Cauchy densities around each member's prediction, as wide as its recent
errors, Bayes' rule, and a fixed share. For the 119 members of the bank (`weigh`, `combine`), with sums in eight parts
that vectorise, and for the two to six members of a further mixture (`learn`, `mixed`).

One such mixture is shrinkage: how much of the change that the members forecast is kept in the forecast. Readouts solved
from few values, and members chosen because they happened to be right, forecast more change than comes. Of the forecast
changes c and the actual ones d, λ = Σ d c/s / Σ c²/s, limited to 0 … 1 and averaged over some hundred values, is the
share of a forecast change that has come on average (s: the mean squared error at the time, so that a loud stretch does
not outweigh the quiet ones). The forecast is a mixture of c and λ c; where changes come as forecast, λ is 1 and nothing
is lost.
"""

import cython
from cython.cimports.libc.math import sqrt
from cython.cimports.prophecy.streams.kernels.unrolled import total


def learn(
    weights, scales, peaks, last_peaks, ahead, prior, members, share, ceiling, count, t, difference, part, value
):  # fmt: skip
    """Weights and scales after errors (difference - ahead) * part, `count` of which were learned from before."""
    least = (ROUNDING * value) * (ROUNDING * value) + SMALLEST
    rate = max(1.0 - t.discount, 1.0 / (count + 1 + t.block))
    whole = 0.0
    for i in range(members):
        error = (difference - ahead[i]) * part
        squared = error * error
        if scales[i] == 0.0:
            scales[i] = max(squared, least)
        weights[i] *= sqrt(scales[i]) / (scales[i] + squared)
        whole += weights[i]
        scales[i] = max(scales[i] + (squared - scales[i]) * rate, least)
        peaks[i] = max(peaks[i], squared)
    for i in range(members):
        weights[i] = (1.0 - share) * weights[i] / whole + share * prior[i]
    if (count + 1) % t.block == 0:
        for i in range(members):
            scales[i] = min(scales[i], ceiling * max(peaks[i], last_peaks[i], least))
            last_peaks[i] = peaks[i]
            peaks[i] = 0.0


def mixed(weights, scales, ahead, members):
    """The point forecast: the mean of the members, each by its weight over its scale (a mean squared error)."""
    top, whole = 0.0, 0.0
    for i in range(members):
        part = weights[i] / (scales[i] if scales[i] > 0.0 else 1.0)
        top += part * ahead[i]
        whole += part
    return top / whole


def learn_shrinkage(r, t, value, difference, part):
    """Learn from the actual change `difference`, over 1/part steps, where `shrink_ahead` was forecast."""
    half: cython.double[2]
    half[0] = half[1] = 0.5
    learn(
        r.shrink_weight, r.shrink_scale, r.shrink_peak, r.shrink_last_peak, r.shrink_ahead, half,
        2, t.share, t.ceiling, r.learned, t, difference, part, value,
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
    return mixed(r.shrink_weight, r.shrink_scale, r.shrink_ahead, 2)


def weigh(r, t, difference, part, value):
    """Weights and scales of the bank's members after errors (difference - prediction) * part."""
    new: cython.double[MEMBERS_ROW]
    least = (ROUNDING * value) * (ROUNDING * value) + SMALLEST
    if r.learned == 0:
        error = (difference - r.prediction[0]) * part
        for i in range(MEMBERS):
            r.scale[i] = max(error * error, least)
    rate = max(1.0 - t.discount, 1.0 / (r.learned + 1 + t.block))
    for i in range(MEMBERS):
        error = (difference - r.prediction[i]) * part
        squared = error * error
        scale = r.scale[i]
        new[i] = r.weight[i] * (sqrt(scale) / (scale + squared))
        r.scale[i] = max(scale + (squared - scale) * rate, least)
        r.peak[i] = max(r.peak[i], squared)
    for i in range(MEMBERS, MEMBERS_ROW):
        new[i] = 0.0
    kept = (1.0 - t.share) / total(new, MEMBERS_ROW)
    for i in range(MEMBERS):
        r.weight[i] = new[i] * kept + t.share * t.prior[i]
    if (r.learned + 1) % t.block == 0:
        for i in range(MEMBERS):
            r.scale[i] = min(r.scale[i], t.ceiling * max(max(r.peak[i], r.last_peak[i]), least))
            r.last_peak[i] = r.peak[i]
            r.peak[i] = 0.0


def combine(r):
    """The point forecast of the change: the bank's members by weight over scale."""
    shares: cython.double[MEMBERS_ROW]
    parts: cython.double[MEMBERS_ROW]
    for i in range(MEMBERS):
        shares[i] = r.weight[i] / (r.scale[i] if r.scale[i] > 0.0 else 1.0)
        parts[i] = shares[i] * r.prediction[i]
    for i in range(MEMBERS, MEMBERS_ROW):
        shares[i] = parts[i] = 0.0
    return total(parts, MEMBERS_ROW) / total(shares, MEMBERS_ROW)
