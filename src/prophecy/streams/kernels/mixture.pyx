r"""The rule of mixing (docs/prophecy.md): Cauchy densities around each member's prediction, as wide as its recent
errors, Bayes' rule, and a fixed share. The same for all members and for shrinkage, which is how much of the change that
the members forecast is kept: of the forecast changes c and the actual ones d, λ = Σ d c/s / Σ c²/s, limited to 0 … 1 (s:
the mean squared error at the time), is the share that has come on average, and the forecast a mixture of c and λ c.
"""


cdef void learn_mixture(
    double* weights, double* scales, double* peaks, double* last_peaks, const double* ahead, const double* prior,
    long long members, long long count, const Table* t, double difference, double part, double value
) noexcept nogil:
    """Weights and scales after errors (difference - ahead) * part, `count` of which were learned from before.

        w ← (1 - share) w √v/(v + e²)/Σ + share · prior
    """
    cdef double new[MEMBERS_ROW]
    cdef double squared[MEMBERS_ROW]
    least = (ROUNDING * value) * (ROUNDING * value) + SMALLEST
    for i in range(members):
        error = (difference - ahead[i]) * part
        squared[i] = error * error
        scales[i] = scales[i] if scales[i] > 0.0 else max(squared[i], least)
        new[i] = weights[i] * (sqrt(scales[i]) / (scales[i] + squared[i]))
    kept = (1.0 - t.share) / _sum_row(new, members)
    for i in range(members):
        weights[i] = new[i] * kept + t.share * prior[i]
    update_scales(scales, peaks, last_peaks, squared, members, count, t, least)


cdef void update_scales(
    double* scales, double* peaks, double* last_peaks, const double* squared, long long members, long long count,
    const Table* t, double least
) noexcept nogil:
    """Discounted mean squared errors, after one more of each, `count` of which came before: v ← v + (e² - v) ρ. Every
    `block` values a scale comes down to `ceiling` times the largest squared error of the last two blocks."""
    rate = max(1.0 - t.discount, 1.0 / (count + 1 + t.block))
    for i in range(members):
        scales[i] = max(scales[i] + (squared[i] - scales[i]) * rate, least)
        peaks[i] = max(peaks[i], squared[i])
    if (count + 1) % t.block == 0:
        for i in range(members):
            scales[i] = min(scales[i], t.ceiling * max(max(peaks[i], last_peaks[i]), least))
            last_peaks[i] = peaks[i]
            peaks[i] = 0.0


cdef double _sum_row(double* x, long long count) noexcept nogil:
    """Of the first `count` numbers of an array of `MEMBERS_ROW`."""
    cdef long long row = (count + 7) // 8 * 8
    for i in range(count, row):
        x[i] = 0.0
    return total(x, row)


cdef (double, double) mixed(
    const double* weights, const double* scales, const double* ahead, long long members
) noexcept nogil:
    """The point forecast is the mean of the members, each by its weight over its scale (a mean squared error): the sum
    over some of them, and that of their shares."""
    cdef double shares[MEMBERS_ROW]
    cdef double parts[MEMBERS_ROW]
    for i in range(members):
        shares[i] = weights[i] / (scales[i] if scales[i] > 0.0 else 1.0)
        parts[i] = shares[i] * ahead[i]
    return _sum_row(parts, members), _sum_row(shares, members)


cdef void learn_shrinkage(Record* r, const Table* t, double value, double difference, double part) noexcept nogil:
    """Learn from the actual change `difference` where `shrink_ahead` was forecast, over one step: across gaps nothing is
    taken away, and nothing is learned."""
    cdef double half[2]
    if part < 1.0:
        return
    half[0] = half[1] = 0.5
    learn_mixture(
        r.shrink_weight, r.shrink_scale, r.shrink_peak, r.shrink_last_peak, r.shrink_ahead, half,
        2, r.learned, t, difference, 1.0, value,
    )  # fmt: skip
    note_share(r.shrink_sums, difference, r.shrink_ahead[0], r.shrink_scale[0], t.shrink_discount)


cdef void note_share(double* sums, double came, double told, double scale, double discount) noexcept nogil:
    """Sums of came · told and of told², each over the mean squared error at the time: their ratio is the share of what is
    told that comes."""
    # A change beyond 1e17 times the usual error would count for more than float64 can add to.
    weight = 1.0 / max(scale + ROUNDING * ROUNDING * (came * came + told * told), SMALLEST)
    if told * told * weight > SMALLEST:  # nothing is forgotten while nothing is learned
        sums[0] = discount * sums[0] + came * told * weight
        sums[1] = discount * sums[1] + told * told * weight


cdef double share_of(const double* sums, double unknown) noexcept nogil:
    """The share of what is told that has come lately, from none to all of it; `unknown` while nothing was told."""
    return min(max(sums[0] / sums[1], 0.0), 1.0) if sums[1] > 0.0 else unknown


cdef void mix(Record* r, const Table* t, bint filled) noexcept nogil:
    """The forecast of the next change: of all members that are awake (the others have no weight), then shrunk. Across a
    gap (filled) nothing is taken away: a share of a share of it, step after step, would soon be nothing."""
    top, whole = mixed(r.weight, r.scale, r.prediction, MEMBERS)
    r.shrink_ahead[0] = r.change = held(top / whole, MOVED)
    r.shrink_ahead[1] = r.change * (share_of(r.shrink_sums, 1.0) if r.learned >= t.block else 1.0)
    if not filled:
        top, whole = mixed(r.shrink_weight, r.shrink_scale, r.shrink_ahead, 2)
        r.change = held(top / whole, MOVED)
