"""Loops over time of a bank of smoothers, and products of windows. Innermost indices run over independent systems, so
that they vectorise."""

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, exp, isnan, log
from cython.cimports.prophecy.dynamics.kernels.arrays import doubles, indices


def smooth(y, alpha, beta, phi, gamma, free, m, origins, horizon, drag):
    """A bank of smoothers, mixed by the marginal likelihood of the values before each origin.

    Each system has a level l, a slope b and seasonal deviations s: f = l + phi b + s[t mod m], and with e = y - f
    l = l + phi b + alpha e, b = phi b + beta e, s[t mod m] += gamma e. phi = 0: no slope. free: how many of its
    gains and dampings are chosen, a nat each; initial states cost what Schwarz' criterion says. drag: a further damping of its slope along the paths. The initial level and slope are those of least
    squares: the errors are linear in both, so that two further copies of each system, started at (1, 0) and (0, 1) and
    fed zeros, and the normal equations are enough.
    NaN: no error to learn from.

    Returns, (origins, horizon) each: the mean of the systems' paths, the variance within them (that of the errors to
    come) and between them (their disagreement); and the weights at the last origin.
    """
    y, alpha, beta, phi, gamma, free, drag = (
        np.ascontiguousarray(each, dtype=np.float64) for each in (y, alpha, beta, phi, gamma, free, drag)
    )
    origins = np.ascontiguousarray(origins, dtype=np.int64)
    n: cython.longlong = len(y)
    count: cython.longlong = len(origins)
    bank = cython.declare(Bank)
    bank.systems, bank.m, bank.horizon = len(alpha), m, horizon
    if bank.m < 1 or bank.horizon < 0:
        raise ValueError(f"m must be at least 1 and horizon at least 0, got {m} and {horizon}")
    shape = (bank.systems,)
    bank.alpha, bank.beta, bank.phi = (
        doubles(alpha, "alpha", shape),
        doubles(beta, "beta", shape),
        doubles(phi, "phi", shape),
    )
    bank.gamma, bank.free, bank.drag = (
        doubles(gamma, "gamma", shape),
        doubles(free, "free", shape),
        doubles(drag, "drag", shape),
    )
    weight, work = np.zeros(bank.systems), np.zeros((3 * bank.m + 20) * bank.systems + bank.horizon)
    bank.weight, bank.l = doubles(weight, "weight", shape), doubles(work, "work", work.shape)
    bank.b = bank.l + 3 * bank.systems
    bank.f = bank.b + 3 * bank.systems
    bank.s = bank.f + 3 * bank.systems
    bank.normal = bank.s + 3 * bank.m * bank.systems
    bank.work = bank.normal + 6 * bank.systems
    mean, within, between = np.zeros((count, horizon)), np.zeros((count, horizon)), np.zeros((count, horizon))
    values, times = doubles(y, "y", (n,)), indices(origins, "origins", (count,))
    means, inside = doubles(mean, "mean", mean.shape), doubles(within, "within", mean.shape)
    apart = doubles(between, "between", mean.shape)
    with cython.nogil:
        _smooth(cython.address(bank), values, n, times, count, means, inside, apart)
    return mean, within, between, weight


def _smooth(bank, y, n, origins, count, mean, within, between):
    systems, horizon = bank.systems, bank.horizon
    for p in range(systems):
        bank.l[systems + p], bank.b[2 * systems + p] = 1.0, 1.0
    seen: cython.longlong = 0
    at: cython.longlong = 0
    for t in range(n + 1):
        while at < count and origins[at] == t:
            _mix(bank, t, seen, mean + at * horizon, within + at * horizon, between + at * horizon)
            at += 1
        if t == n or at == count:
            break
        known: cython.bint = not isnan(y[t])
        seen += known
        _update(bank, t % bank.m, y[t], known)


def _update(bank, i, v, known):
    """All systems by one value. i: its place in the season. Loops with few arrays each, so that they vectorise."""
    systems, everyone, work = bank.systems, 3 * bank.systems, bank.work
    l, b, f, s, normal = bank.l, bank.b, bank.f, bank.s + i * everyone, bank.normal
    for q in range(3):
        change, slope = work + q * systems, b + q * systems
        for p in range(systems):
            change[p] = bank.phi[p] * slope[p]
    if known:
        for p in range(everyone):
            f[p] = l[p] + work[p] + s[p]
        for p in range(systems):
            f[p] = v - f[p]
        for q in range(3):  # sums of e e, e f1, e f2, then f1 f1, f1 f2, f2 f2
            for r in range(q, 3):
                total, one, other = normal + (q * (5 - q) // 2 + r) * systems, f + q * systems, f + r * systems
                for p in range(systems):
                    total[p] += one[p] * other[p]
        for p in range(systems, everyone):
            f[p] = 0.0 - f[p]
        for q in range(3):
            error, change, level = f + q * systems, work + q * systems, l + q * systems
            slope, season = b + q * systems, s + q * systems
            for p in range(systems):
                level[p] += change[p] + bank.alpha[p] * error[p]
            for p in range(systems):
                slope[p] = change[p] + bank.beta[p] * error[p]
            for p in range(systems):
                season[p] += bank.gamma[p] * error[p]
    else:
        for p in range(everyone):
            l[p] += work[p]
            b[p] = work[p]


def _mix(bank, t, n, mean, within, between):
    """The mixture at origin t, after n values that were known."""
    systems, horizon, m, normal, weight = bank.systems, bank.horizon, bank.m, bank.normal, bank.weight
    level, slope, variance = bank.work, bank.work + systems, bank.work + 2 * systems
    one, two, second = bank.work + 3 * systems, bank.work + 4 * systems, bank.work + 5 * systems
    tiny, best, total, kept = 1e-9, INFINITY, 0.0, 0.0
    for p in range(systems):
        a, d = normal[3 * systems + p] * (1 + tiny) + tiny, normal[5 * systems + p] * (1 + tiny) + tiny
        c, first, other = normal[4 * systems + p], normal[systems + p], normal[2 * systems + p]
        if bank.phi[p] > 0:
            det = a * d - c * c
            one[p] = (first * d - other * c) / det
            two[p] = (other * a - first * c) / det
        else:
            one[p], two[p] = first / a, 0.0
        left = max(normal[p] - one[p] * first - two[p] * other, 1e-12 * n)
        # Gaps can make a stable system unstable; then its squares cancel to nothing and say nothing.
        if not normal[p] < 1e9 * left:
            left = INFINITY
        states = 2.0 if bank.phi[p] > 0 else 1.0
        variance[p] = left / max(n - states - bank.free[p], 1.0)
        weight[p] = (n - states) * log(left / max(n - states, 1.0)) + states * log(max(n, 2.0)) + 2 * bank.free[p]
        best = min(best, weight[p])
        level[p] = bank.l[p] + one[p] * bank.l[systems + p] + two[p] * bank.l[2 * systems + p]
        slope[p] = bank.b[p] + one[p] * bank.b[systems + p] + two[p] * bank.b[2 * systems + p]
    for p in range(systems):
        weight[p] = exp(-(weight[p] - best) / 2)
        total += weight[p]
    for h in range(horizon):
        second[h] = 0.0
    for p in range(systems):
        weight[p] /= total
        w = weight[p]
        if w < 1e-5:
            continue
        damp, power, grown = 0.0, 1.0, 1.0
        for h in range(horizon):
            power *= bank.phi[p] * bank.drag[p]
            damp += power
            s = bank.s + 3 * ((t + h) % m) * systems + p
            season = s[0] + one[p] * s[systems] + two[p] * s[2 * systems]
            path = level[p] + slope[p] * damp + season
            mean[h] += w * path
            second[h] += w * path * path
            within[h] += w * variance[p] * grown
            c = bank.alpha[p] + bank.beta[p] * damp
            if m > 1 and (h + 1) % m == 0:
                c += bank.gamma[p]
            grown += c * c
    for p in range(systems):
        kept += weight[p] if weight[p] >= 1e-5 else 0.0
    for h in range(horizon):
        mean[h] /= kept
        within[h] /= kept
        between[h] = max(second[h] / kept - mean[h] * mean[h], 0.0)


def window_products(x, rows, width):
    """Products of all windows of `width` values of x with each other: out[i, j] = sum_t x[t + i] x[t + j], i < rows.

    The sum runs over every window, t <= len(x) - width. A window's product differs from its neighbour's by one term
    at either end, so that only the first row costs more than one operation an entry.
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    n: cython.longlong = len(x)
    height: cython.longlong = rows
    wide: cython.longlong = width
    if not 0 < height <= wide <= n:
        raise ValueError(f"rows must be at most width, and this at most {n} values, got {rows} and {width}")
    made = np.empty((height, wide))
    values, out = doubles(x, "x", (n,)), doubles(made, "out", made.shape)
    with cython.nogil:
        _window_products(values, n - wide + 1, height, wide, out)
    return made


def _window_products(x, n, rows, width, out):
    """n: how many windows there are."""
    for j in range(width):
        out[j] = 0.0
    for t in range(n):
        for j in range(width):
            out[j] += x[t] * x[t + j]
    for i in range(1, rows):
        for j in range(i, width):
            before = out[(i - 1) * width + j - 1]
            out[i * width + j] = before - x[i - 1] * x[j - 1] + x[n - 1 + i] * x[n - 1 + j]
        for j in range(i):
            out[i * width + j] = out[j * width + i]
