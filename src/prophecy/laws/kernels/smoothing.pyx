"""Loops over time of a bank of smoothers, and products of windows. Innermost indices run over independent systems, so
that they vectorise."""

cdef enum:
    SIDE = 32  # systems that go on together: enough for vectors, few enough for the nearest memory
    LEAST = 14  # of twice the log likelihood below the best: systems farther off, below a thousandth, are left out

ctypedef double[SIDE] Systems

# SIDE of the systems: their parameters, level l and slope b, the changes of their levels, their forecasts, then errors,
# and the normal equations of their starts; at an origin, these starts, and what follows from them.
cdef struct Side:
    Systems alpha, beta, phi, gamma, one, two, level, slope, variance
    Systems[3] l, b, change, f
    Systems[6] normal

# A bank of `count` smoothers, made up to a multiple of SIDE `systems` by such that do nothing. s: their seasonal
# deviations, (m, 3, systems).
cdef struct Bank:
    long long count, systems, m, horizon
    Side* sides
    Numbers free, s, second, weight


def smooth(y, alpha, beta, phi, gamma, free, long long m, origins, long long horizon):
    """A bank of smoothers, mixed by the marginal likelihood of the values before each origin.

    Each system has a level l, a slope b and seasonal deviations s: f = l + phi b + s[t mod m], and with e = y - f
    l = l + phi b + alpha e, b = phi b + beta e, s[t mod m] += gamma e. phi = 0: no slope. free: how many of its
    gains and dampings are chosen, log(n) / 2 nats each. The initial level and slope are those of least squares: the
    errors are linear in both, so that two further copies of each system, started at (1, 0) and (0, 1) and fed zeros,
    and the normal equations N are enough. With both unknown to begin with, in units of the noise, twice the log
    likelihood is -n log(squares left / n) - log det N.
    NaN: no error to learn from.

    Returns, (origins, horizon) each: the mean of the systems' paths, the variance within them (of the errors to come,
    and of the initial states, whose errors go on along the path) and between them (their disagreement); and the weights
    at the last origin.
    """
    if m < 1 or horizon < 0:
        raise ValueError(f"m must be at least 1 and horizon at least 0, got {m} and {horizon}")
    y, alpha, beta, phi, gamma, free = (
        np.ascontiguousarray(each, dtype=np.float64) for each in (y, alpha, beta, phi, gamma, free)
    )
    origins = np.ascontiguousarray(origins, dtype=np.int64)
    cdef long long n = len(y), count = len(origins), given = len(alpha), seen = 0, at = 0
    cdef long long blocks = (given + SIDE - 1) // SIDE
    cdef Bank bank
    bank.m, bank.horizon, bank.count, bank.systems = m, horizon, given, SIDE * blocks
    shape, weight = (given,), np.zeros(given)
    work = np.zeros(blocks * sizeof(Side) // 8 + 3 * m * bank.systems + horizon)
    bank.free, bank.weight = doubles(free, "free", shape), doubles(weight, "weight", shape)
    bank.sides = <Side*> doubles(work, "work", work.shape)
    bank.s = <double*> (bank.sides + blocks)
    bank.second = bank.s + 3 * m * bank.systems
    gains, trends = doubles(alpha, "alpha", shape), doubles(beta, "beta", shape)
    dampings, seasons = doubles(phi, "phi", shape), doubles(gamma, "gamma", shape)
    made = np.zeros((3, count, horizon))
    values, times, out = doubles(y, "y", (n,)), indices(origins, "origins", (count,)), doubles(made, "out", made.shape)
    with nogil:
        for p in range(bank.systems):
            side, j = bank.sides + p // SIDE, p % SIDE
            side.l[1][j], side.b[2][j] = 1.0, 1.0
            if p < given:
                side.alpha[j], side.beta[j], side.phi[j], side.gamma[j] = gains[p], trends[p], dampings[p], seasons[p]
        for k in range(count):
            if not at <= times[k] <= n:
                break
            for block in range(blocks):
                _advance(&bank, values, at, times[k], block)
            for t in range(at, times[k]):
                seen += not isnan(values[t])
            at = times[k]
            _mix(&bank, at, seen, out + k * horizon, out + (count + k) * horizon, out + (2 * count + k) * horizon)
    return (*made, weight)


cdef void _advance(Bank* bank, double* y, long long begin, long long end, long long block) noexcept nogil:
    """SIDE systems by the values from `begin` to `end`: what they are stays near while time goes on."""
    here, systems = bank.sides[block], bank.systems
    for t in range(begin, end):
        v, season = y[t], bank.s + 3 * (t % bank.m) * systems + SIDE * block
        for q in range(3):
            s = season + q * systems
            for j in range(SIDE):
                here.change[q][j] = here.phi[j] * here.b[q][j]
                here.f[q][j] = here.l[q][j] + here.change[q][j] + s[j]
        if isnan(v):
            fill(here.f[0], 3 * SIDE, 0.0)
        else:
            for j in range(SIDE):
                e, f1, f2 = v - here.f[0][j], here.f[1][j], here.f[2][j]
                here.normal[0][j] += e * e
                here.normal[1][j] += e * f1
                here.normal[2][j] += e * f2
                here.normal[3][j] += f1 * f1
                here.normal[4][j] += f1 * f2
                here.normal[5][j] += f2 * f2
                here.f[0][j], here.f[1][j], here.f[2][j] = e, 0.0 - f1, 0.0 - f2
        for q in range(3):
            s = season + q * systems
            for j in range(SIDE):
                here.l[q][j] += here.change[q][j] + here.alpha[j] * here.f[q][j]
                here.b[q][j] = here.change[q][j] + here.beta[j] * here.f[q][j]
                s[j] += here.gamma[j] * here.f[q][j]
    bank.sides[block] = here


cdef void _mix(Bank* bank, long long t, long long n, double* mean, double* within, double* between) noexcept nogil:
    """The mixture at origin t, after n values that were known."""
    systems, count, horizon, m = bank.systems, bank.count, bank.horizon, bank.m
    weight, second, tiny, best, total = bank.weight, bank.second, 1e-9, INFINITY, 0.0
    for p in range(count):
        o, j = bank.sides + p // SIDE, p % SIDE
        a, d = o.normal[3][j] * (1 + tiny) + tiny, o.normal[5][j] * (1 + tiny) + tiny
        square, first, other, c = o.normal[0][j], o.normal[1][j], o.normal[2][j], o.normal[4][j]
        det = a * d - c * c
        if o.phi[j] > 0:
            o.one[j], o.two[j] = (first * d - other * c) / det, (other * a - first * c) / det
        else:
            o.one[j], o.two[j] = first / a, 0.0
        left = max(square - o.one[j] * first - o.two[j] * other, 1e-12 * n)
        # Gaps can make a stable system unstable; then its squares cancel to nothing and say nothing.
        if not square < 1e9 * left:
            left = INFINITY
        states = 2.0 if o.phi[j] > 0 else 1.0
        o.variance[j] = left / max(n - states - bank.free[p], 1.0)
        weight[p] = n * log(left / n) + log(det if o.phi[j] > 0 else a) + log(n) * bank.free[p]
        best = min(best, weight[p])
        o.level[j] = o.l[0][j] + o.one[j] * o.l[1][j] + o.two[j] * o.l[2][j]
        o.slope[j] = o.b[0][j] + o.one[j] * o.b[1][j] + o.two[j] * o.b[2][j]
    for p in range(count):
        weight[p] = exp(-(weight[p] - best) / 2) if weight[p] - best < LEAST else 0.0
        total += weight[p]
    fill(second, horizon, 0.0)
    for p in range(count):
        weight[p] /= total
        w = weight[p]
        if w == 0.0:
            continue
        o, j, damp, power, grown = bank.sides + p // SIDE, p % SIDE, 0.0, 1.0, 1.0
        # The inverse of the normal equations of the start, whose errors the path ahead goes on with.
        a, d, c = o.normal[3][j] * (1 + tiny) + tiny, o.normal[5][j] * (1 + tiny) + tiny, o.normal[4][j]
        det = a * d - c * c
        if o.phi[j] > 0:
            own, cross, other = d / det, -c / det, a / det
        else:
            own, cross, other = 1 / a, 0.0, 0.0
        for h in range(horizon):
            power *= o.phi[j]
            damp += power
            s = bank.s + 3 * ((t + h) % m) * systems + p
            season = s[0] + o.one[j] * s[systems] + o.two[j] * s[2 * systems]
            path = o.level[j] + o.slope[j] * damp + season
            mean[h] += w * path
            second[h] += w * path * path
            first = o.l[1][j] + o.b[1][j] * damp + s[systems]
            last = o.l[2][j] + o.b[2][j] * damp + s[2 * systems]
            lever = own * first * first + 2 * cross * first * last + other * last * last
            within[h] += w * o.variance[j] * (grown + lever)
            c = o.alpha[j] + o.beta[j] * damp
            if m > 1 and (h + 1) % m == 0:
                c += o.gamma[j]
            grown += c * c
    for h in range(horizon):
        between[h] = max(second[h] - mean[h] * mean[h], 0.0)


def window_products(x, long long rows, long long width):
    """Products of all windows of `width` values of x with each other: out[i, j] = sum_t x[t + i] x[t + j], i < rows.

    The sum runs over every window, t <= len(x) - width. A window's product differs from its neighbour's by one term
    at either end, so that only the first row costs more than one operation an entry.
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    if not 0 < rows <= width <= len(x):
        raise ValueError(f"rows must be at most width, and this at most {len(x)} values, got {rows} and {width}")
    made = np.zeros((rows, width))
    u, out, last = doubles(x, "x", (len(x),)), doubles(made, "out", made.shape), <long long> len(x) - width
    with nogil:
        for t in range(last + 1):
            for j in range(width):
                out[j] += u[t] * u[t + j]
        for i in range(1, rows):
            for j in range(i, width):
                before = out[(i - 1) * width + j - 1]
                out[i * width + j] = before - u[i - 1] * u[j - 1] + u[last + i] * u[last + j]
            for j in range(i):
                out[i * width + j] = out[j * width + i]
    return made
