"""Loops over time of a bank of smoothers, and products of windows. Innermost indices run over independent systems, so
that they vectorise."""

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, exp, isnan, log
from cython.cimports.prophecy.laws.kernels.arrays import doubles, indices
from cython.cimports.prophecy.laws.kernels.unrolled import copy, fill


def smooth(y, alpha, beta, phi, gamma, free, m, origins, horizon, drag):
    """A bank of smoothers, mixed by the marginal likelihood of the values before each origin.

    Each system has a level l, a slope b and seasonal deviations s: f = l + phi b + s[t mod m], and with e = y - f
    l = l + phi b + alpha e, b = phi b + beta e, s[t mod m] += gamma e. phi = 0: no slope. free: how many of its
    gains and dampings are chosen, a nat each; initial states cost what Schwarz' criterion says. drag: a further damping
    of its slope along the paths. The initial level and slope are those of least squares: the errors are
    linear in both, so that two further copies of each system, started at (1, 0) and (0, 1) and fed zeros, and the
    normal equations are enough.
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
    given = len(alpha)
    bank.m, bank.horizon, bank.count, bank.systems = m, horizon, given, (given + SIDE - 1) // SIDE * SIDE
    if bank.m < 1 or bank.horizon < 0:
        raise ValueError(f"m must be at least 1 and horizon at least 0, got {m} and {horizon}")
    alpha, beta, phi, gamma = (np.append(each, np.zeros(bank.systems - given)) for each in (alpha, beta, phi, gamma))
    shape = (bank.systems,)
    bank.alpha, bank.beta, bank.phi = (
        doubles(alpha, "alpha", shape),
        doubles(beta, "beta", shape),
        doubles(phi, "phi", shape),
    )
    bank.gamma, bank.free, bank.drag = (
        doubles(gamma, "gamma", shape),
        doubles(free, "free", (given,)),
        doubles(drag, "drag", (given,)),
    )
    weight, work = np.zeros(given), np.zeros((3 * bank.m + 17) * bank.systems + bank.horizon)
    bank.weight, bank.l = doubles(weight, "weight", (given,)), doubles(work, "work", work.shape)
    bank.b = bank.l + 3 * bank.systems
    bank.s = bank.b + 3 * bank.systems
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
    for k in range(count):
        if not at <= origins[k] <= n:
            return
        for block in range(systems // SIDE):
            _advance(bank, y, at, origins[k], SIDE * block)
        for t in range(at, origins[k]):
            seen += not isnan(y[t])
        at = origins[k]
        _mix(bank, at, seen, mean + k * horizon, within + k * horizon, between + k * horizon)


def _advance(bank, y, begin, end, first):
    """SIDE systems by the values from `begin` to `end`: what they are stays near while time goes on."""
    here, systems = cython.declare(Side), bank.systems
    copy(here.phi, bank.phi + first, SIDE)
    copy(here.alpha, bank.alpha + first, SIDE)
    copy(here.beta, bank.beta + first, SIDE)
    copy(here.gamma, bank.gamma + first, SIDE)
    for q in range(3):
        copy(here.l[q], bank.l + q * systems + first, SIDE)
        copy(here.b[q], bank.b + q * systems + first, SIDE)
    for q in range(6):
        copy(here.normal[q], bank.normal + q * systems + first, SIDE)
    for t in range(begin, end):
        v, season = y[t], bank.s + 3 * (t % bank.m) * systems + first
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
    for q in range(3):
        copy(bank.l + q * systems + first, here.l[q], SIDE)
        copy(bank.b + q * systems + first, here.b[q], SIDE)
    for q in range(6):
        copy(bank.normal + q * systems + first, here.normal[q], SIDE)


def _mix(bank, t, n, mean, within, between):
    """The mixture at origin t, after n values that were known."""
    systems, count, horizon, m = bank.systems, bank.count, bank.horizon, bank.m
    normal, weight = bank.normal, bank.weight
    level, slope, variance = bank.work, bank.work + systems, bank.work + 2 * systems
    one, two, second = bank.work + 3 * systems, bank.work + 4 * systems, bank.work + 5 * systems
    tiny, best, total, kept = 1e-9, INFINITY, 0.0, 0.0
    for p in range(count):
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
    for p in range(count):
        weight[p] = exp(-(weight[p] - best) / 2)
        total += weight[p]
    for h in range(horizon):
        second[h] = 0.0
    for p in range(count):
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
    for p in range(count):
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
