r"""Readouts solved in context: recursive least squares in square-root form (docs/prophecy.md).

Each member predicts the next change as w · φ from its features φ, and w minimises Σ λ^age (du - w · φ)² plus a prior
around a constructed readout. The covariance is kept as a factor, P = S Sᵀ (Potter's form):

    g = Sᵀ φ,  β = λ + g · g,  w += S g (y - w · φ)/β,  S ← (S - S g gᵀ/(β + √(λ β)))/√λ

S Sᵀ cannot lose its sign, and its condition number is the square root of P's. S is `growth` times the rows of
`factor`, `stride` numbers apart; the growth by 1/√λ goes into `growth`, and is applied every `TIDY` steps, when the factor is also bounded. A value whose noise has another variance than others counts by a λ multiplied by it.
"""


cdef void update_factor(
    double* factor, long long used, long long stride, double growth, double forgetting, double error, const double* phi,
    double* g, double* weights
) noexcept nogil:
    """Learn from one value: weights (used,) and the factor change. error: y - w · φ; phi (used,); g (stride,) is
    scratch; `stride` is a multiple of eight, and numbers beyond `used` in a row are 0."""
    for j in range(0, stride, 8):
        product(phi, used, factor + j, stride, g + j)
    for j in range(stride):
        g[j] *= growth
    beta = forgetting + dot(g, g, stride)
    if not beta < INFINITY:  # float64 could not tell what is learned
        return
    missed = error / beta
    shrink = 1.0 / ((beta + sqrt(forgetting * beta)) * growth)
    for i in range(used):
        row = factor + i * stride
        gain = dot(row, g, stride) * growth
        weights[i] += gain * missed
        subtract(row, gain * shrink, g, stride)


cdef void learn_solved(
    Record* r, const Table* t, long long first, long long last, long long count, double difference, double part
) noexcept nogil:
    """Solved members `first` … `last` - 1, which have learned from `count` values, learn from a change over 1/part steps.

    Those that use seasons take errors beyond the usual size to be noisier by that factor (Huber's rule).
    """
    cdef double phi[WIDTH]
    cdef double g[WIDTH]
    for s in range(first, last):
        error, power, noise = difference * part, 0.0, 1.0
        for i in range(t.used[s]):
            phi[i] = r.feature[t.index[s][i]] * part
            error -= r.readout[s][i] * phi[i]
            power += phi[i] * phi[i]
        power = 0.0 if count < t.longest[s] else min(power, SQUARED)
        if s >= AWAKE:
            usual = r.season_errors[s - AWAKE]
            if count > 2 * WIDTH and fabs(error) > usual:
                noise = fabs(error) / max(usual, SMALLEST)
            rate = max(1.0 - t.forgetting[SOLVED - 1], 1.0 / (count + 1))
            r.season_errors[s - AWAKE] += (min(fabs(error), MOVED) - usual) * rate
        if power > SMALLEST:
            factor = &r.factor[t.place[s]]
            if r.begun[s] == 0:
                r.begun[s], r.power[s] = 1, power
                memset(factor, 0, t.used[s] * t.stride[s] * sizeof(double))
                for i in range(t.used[s]):
                    factor[i * (t.stride[s] + 1)] = sqrt(PRIOR_POWER / power)
            update_factor(factor, t.used[s], t.stride[s], r.growth[s], t.forgetting[s] * noise, error, phi, g, r.readout[s])
            if fabs(error) * FACTOR * GROWTH > ROUNDING * READOUT:  # a smaller one moves no weight beyond its limit
                for i in range(WIDTH):
                    r.readout[s][i] = held(r.readout[s][i], READOUT)
            # Nothing is forgotten while nothing is learned, as on a constant stretch.
            r.growth[s] = min(r.growth[s] / sqrt(t.forgetting[s]), GROWTH)
        r.power[s] += (power - r.power[s]) / TIDY
        if (count + 1) % TIDY == 0:
            _tidy(r, t, s)


cdef void start_solved(Record* r, const Table* t, long long first, long long last) noexcept nogil:
    """Members that have learned nothing."""
    for s in range(first, last):
        for k in range(t.used[s] * t.stride[s]):
            r.factor[t.place[s] + k] = 0.0
        for i in range(WIDTH):
            r.readout[s][i] = t.start[s][i]
        r.growth[s], r.power[s], r.begun[s] = 1.0, 0.0, 0


cdef void _tidy(Record* r, const Table* t, long long s) noexcept nogil:
    """Apply the growth of a factor, and bound it: directions the signal never excites would grow without end. Every
    weight is then observed to be what it is, with a variance so large that no direction it excites notices."""
    cdef double phi[WIDTH]
    cdef double g[WIDTH]
    factor, count = &r.factor[t.place[s]], t.used[s] * t.stride[s]
    size, total = 0.0, 0.0
    for k in range(count):
        factor[k] *= r.growth[s]
        size += factor[k] * factor[k]
    for i in range(t.used[s]):
        total += r.readout[s][i]
        phi[i] = 0.0
    r.growth[s] = 1.0
    relative = size * r.power[s]  # beyond these bounds float64 could not tell what an observation leaves of it
    if not (size < 0.1 * FACTOR * FACTOR and relative < 1e24 * BOUND and fabs(total) < 1e100):
        start_solved(r, t, s, s + 1)
    elif relative > BOUND:
        for i in range(t.used[s]):
            phi[i] = sqrt(2.0 * r.power[s] * t.used[s] / BOUND)
            update_factor(factor, t.used[s], t.stride[s], 1.0, 1.0, 0.0, phi, g, r.readout[s])
            phi[i] = 0.0


cdef void predict_solved(Record* r, const Table* t, long long first, long long last, long long count) noexcept nogil:
    """The next change as each solved member predicts it; by its constructed readout while it has learned too little."""
    for s in range(first, last):
        power, ahead, start = 0.0, 0.0, 0.0
        for i in range(t.used[s]):
            phi = r.feature[t.index[s][i]]
            power += phi * phi
            ahead += r.readout[s][i] * phi
            start += t.start[s][i] * phi
        # Weights in directions hardly excited are hardly determined: no change goes far beyond the past. A line needs 1.
        ahead = min(max(ahead, -4.0 * sqrt(power)), 4.0 * sqrt(power))
        r.prediction[FIXED + s] = held(start if count < t.needed[s] else ahead, MOVED)
