"""The derivative at the newest value: readouts of the constructed members, and in a season what past ones did there.

With white noise of variance σ² a derivative readout of noise gain G has the mean squared error σ² G + ρ² b²: b is the
bias of the same member's prediction, ρ a known ratio (`slope_bias`), and b² is read from errors averaged over an eighth
of the window (`step.pyx`), less the noise that averaging leaves. Readouts, and half the way from the value before the
newest to the forecast of the next, are combined with weights (estimated error)⁻².
"""


cdef double _slopes(const Record* r, const Table* t, double* error) noexcept nogil:
    """Estimated mean squared errors of the derivative readouts, into `error`; the least of them."""
    cdef double noise = INFINITY
    for i in range(FIXED):
        noise = min(noise, r.scale[i] / (1.0 + t.gain[i]))
    cdef double least = INFINITY
    moves = max(r.scale[0] - t.plain * noise * (1.0 + t.gain[0]), 0.0)
    for i in range(FIXED):
        whole, explained = r.scale[i], noise * (1.0 + t.gain[i])
        # A bias cannot exceed the one-step error, whose scale forgets a jump sooner than the averages do.
        bias = min(r.squared_bias[i] - noise * t.slope_left[i], whole)
        bias = max(bias, whole - t.plain * explained, 0.0)
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


cdef double bank_slope(const Record* r, const Table* t) noexcept nogil:
    """The derivative per sample at the newest value, by shares of (estimated error)⁻²; NaN before the first."""
    cdef double shares[FIXED]
    if r.count == 0:
        return NAN
    # Of the path from the value before the newest to the forecast: a quarter of both its ends' and a sixth of the third
    # difference, squared. The latter holds noise too, so it is careful.
    path = 0.5 * r.error_scale + r.scale[PARABOLA] / 36.0
    least = min(_slopes(r, t, shares), path)
    whole = (least / path) * (least / path) if path > 0.0 else 0.0
    total = 0.5 * (r.change - r.feature[1]) * whole
    for i in range(FIXED):
        ratio = least / max(shares[i], 1e-300)
        shares[i] = (ratio * ratio if shares[i] > 0.0 else 1.0) * t.sloped[i]
        whole += shares[i]
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
    return total / whole


cdef double seasonal_slope(const Record* r, const double* ring, const Table* t, double alone) noexcept nogil:
    """The derivative per sample at the newest value: `alone` is the bank's own. By as much as the seasonal members
    count for it is the mean slope of up to 16 seasons at this phase, over a 24th of a period to either side."""
    period = r.season_periods[0]
    wide = max(1.0, floor(period / 24.0 + 0.5))
    seasons = min(t.seasons.averaged, truncated((min(r.count, RING) - 2 - wide) / max(period, 1.0)))
    if r.season_on == 0 or seasons < 1 or period <= 2.0 * wide:
        return alone
    _, bank = mixed(r.weight, r.scale, r.prediction, BANK)
    _, ours = mixed(r.weight + BANK, r.scale + BANK, r.prediction + BANK, MEMBERS - BANK)
    total, newest = 0.0, (r.count - 1) % RING
    for b in range(1, seasons + 1):
        total += behind(ring, newest, b * period - wide) - behind(ring, newest, b * period + wide)
    return alone + ours / (bank + ours) * (total / (2.0 * wide * seasons) - alone)
