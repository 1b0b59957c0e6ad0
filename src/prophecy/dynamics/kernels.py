"""Loops over time, compiled by Numba. Innermost indices run over independent systems, so that they vectorise.

Imported on first use: `import prophecy` does not load Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]


@njit(cache=True)  # type: ignore[untyped-decorator]
def smooth(
    y: Array,
    alpha: Array,
    beta: Array,
    phi: Array,
    gamma: Array,
    free: Array,
    m: int,
    origins: Any,
    horizon: int,
    drag: Array,
) -> Any:
    """A bank of smoothers, mixed by the marginal likelihood of the values before each origin.

    Each system has a level l, a slope b and seasonal deviations s: f = l + phi b + s[t mod m], and with e = y - f
    l = l + phi b + alpha e, b = phi b + beta e, s[t mod m] += gamma e. phi = 0: no slope. free: how many of
    its gains and dampings are chosen; each costs one nat, the initial states what Schwarz' criterion says. drag: a further damping of its slope along the paths. The initial level and slope are those of least
    squares: the errors are linear in both, so that two further copies of each system, started at (1, 0) and (0, 1) and
    fed zeros, and the normal equations are enough.
    NaN: no error to learn from.

    Returns, (origins, horizon) each: the mean of the systems' paths, the variance within them (that of the errors to
    come) and between them (their disagreement); and the weights at the last origin.
    """
    n, systems, count = len(y), len(alpha), len(origins)
    l, b, f = np.zeros((3, systems)), np.zeros((3, systems)), np.zeros((3, systems))
    s = np.zeros((m, 3, systems))
    l[1], b[2] = 1.0, 1.0
    normal = np.zeros((6, systems))
    mean, within, between = np.zeros((count, horizon)), np.zeros((count, horizon)), np.zeros((count, horizon))
    weight = np.zeros(systems)
    seen, at = 0, 0
    for t in range(n + 1):
        while at < count and origins[at] == t:
            out = mean[at], within[at], between[at]
            _mix(t, seen, l, b, s, normal, phi, alpha, beta, gamma, free, m, drag, weight, *out)
            at += 1
        if t == n or at == count:
            break
        v, i = y[t], t % m
        for q in range(3):
            for p in range(systems):
                f[q, p] = l[q, p] + phi[p] * b[q, p] + s[i, q, p]
        known = not np.isnan(v)
        if known:
            seen += 1
            for p in range(systems):
                e, f1, f2 = v - f[0, p], f[1, p], f[2, p]
                normal[0, p] += e * e
                normal[1, p] += e * f1
                normal[2, p] += e * f2
                normal[3, p] += f1 * f1
                normal[4, p] += f1 * f2
                normal[5, p] += f2 * f2
        for q in range(3):
            u = v if q == 0 else 0.0
            for p in range(systems):
                e = u - f[q, p] if known else 0.0
                l[q, p] += phi[p] * b[q, p] + alpha[p] * e
                b[q, p] = phi[p] * b[q, p] + beta[p] * e
                s[i, q, p] += gamma[p] * e
    return mean, within, between, weight


@njit(cache=True)  # type: ignore[untyped-decorator]
def _mix(
    t: int, n: int, l: Array, b: Array, s: Array, normal: Array, phi: Array, alpha: Array, beta: Array, gamma: Array,
    free: Array, m: int, drag: Array, weight: Array, mean: Array, within: Array, between: Array,
) -> None:  # fmt: skip
    systems, horizon = len(phi), len(mean)
    level, slope, variance = np.zeros(systems), np.zeros(systems), np.zeros(systems)
    start = np.zeros((2, systems))
    tiny, best = 1e-9, np.inf
    for p in range(systems):
        a, d, c = normal[3, p] * (1 + tiny) + tiny, normal[5, p] * (1 + tiny) + tiny, normal[4, p]
        if phi[p] > 0:
            det = a * d - c * c
            start[0, p] = (normal[1, p] * d - normal[2, p] * c) / det
            start[1, p] = (normal[2, p] * a - normal[1, p] * c) / det
        else:
            start[0, p] = normal[1, p] / a
        left = max(normal[0, p] - start[0, p] * normal[1, p] - start[1, p] * normal[2, p], 1e-12 * n)
        # Gaps can make a stable system unstable; then its squares cancel to nothing and say nothing.
        if not normal[0, p] < 1e9 * left:
            left = np.inf
        states = 2.0 if phi[p] > 0 else 1.0
        variance[p] = left / max(n - states - free[p], 1.0)
        weight[p] = (n - states) * np.log(left / max(n - states, 1.0)) + states * np.log(max(n, 2)) + 2 * free[p]
        best = min(best, weight[p])
        level[p] = l[0, p] + start[0, p] * l[1, p] + start[1, p] * l[2, p]
        slope[p] = b[0, p] + start[0, p] * b[1, p] + start[1, p] * b[2, p]
    total = 0.0
    for p in range(systems):
        weight[p] = np.exp(-(weight[p] - best) / 2)
        total += weight[p]
    second = np.zeros(horizon)
    for p in range(systems):
        weight[p] /= total
        w = weight[p]
        if w < 1e-5:
            continue
        damp, power, grown = 0.0, 1.0, 1.0
        for h in range(horizon):
            power *= phi[p] * drag[p]
            damp += power
            i = (t + h) % m
            season = s[i, 0, p] + start[0, p] * s[i, 1, p] + start[1, p] * s[i, 2, p]
            path = level[p] + slope[p] * damp + season
            mean[h] += w * path
            second[h] += w * path * path
            within[h] += w * variance[p] * grown
            c = alpha[p] + beta[p] * damp
            if m > 1 and (h + 1) % m == 0:
                c += gamma[p]
            grown += c * c
    kept = 0.0
    for p in range(systems):
        kept += weight[p] if weight[p] >= 1e-5 else 0.0
    for h in range(horizon):
        mean[h] /= kept
        within[h] /= kept
        between[h] = max(second[h] / kept - mean[h] * mean[h], 0.0)


@njit(cache=True)  # type: ignore[untyped-decorator]
def window_products(x: Array, rows: int, width: int) -> Array:
    """Products of all windows of `width` values of x with each other: out[i, j] = sum_t x[t + i] x[t + j], i < rows.

    The sum runs over every window, t <= len(x) - width. A window's product differs from its neighbour's by one term
    at either end, so that only the first row costs more than one operation an entry.
    """
    n = len(x) - width + 1
    out = np.empty((rows, width))
    for j in range(width):
        total = 0.0
        for t in range(n):
            total += x[t] * x[t + j]
        out[0, j] = total
    for i in range(1, rows):
        for j in range(i, width):
            out[i, j] = out[i - 1, j - 1] - x[i - 1] * x[j - 1] + x[n - 1 + i] * x[n - 1 + j]
        for j in range(min(i, rows)):
            out[i, j] = out[j, i]
    return out
