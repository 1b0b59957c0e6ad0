"""Hidden variables to start a search from: some are guessed, the last follows, and how well all close ranks them.

A field often has a hidden variable that is simple in the visible one, x: its rate (x' = y), a quotient (x' = x y), or
a leaky integral (y' = a x + b y: the rate of one variable of a system seldom has all the others in it). With such
variables at hand, u = (x, q), or (x, q, p) where there are four, the last one, z, enters the rate r of one of them in
one place: r = A(u) + B(u) z with a polynomial A of degree 2 or 3 and a linear B. For a given B, A is the one that keeps
z small where B vanishes (weighted least squares), and z follows. Whether z is a variable of the system shows in its own
rate: it should be made of the terms of A, and of z and its products. A thousand choices of q and B take some
milliseconds, compiled here; `hidden_guesses.py` makes the choices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import inner, kernel

Array = NDArray[np.float64]

MARGIN = 5  # samples at either end where derivatives of a spline are worth little
FAR = 6.0  # standard deviations: guesses are cut there, poles go on for ever
_POLE = 0.1  # of B's standard deviation: nearer to its zero, z is not used


class Pair(NamedTuple):
    """Variables at hand, u: (time, m), and r = A(u) + B(u) z with a polynomial A of `degree`; z is to be guessed.

    Where leaks[i] is not 0, column i of u is the leaky integral of sources[:, i] over so many samples, which refining
    may change.
    """

    u: Array
    r: Array
    degree: int
    sources: Array
    leaks: Array


@inner
def _left(matrix: Array, right: Array, total: float) -> float:
    """What least squares leaves of `total`, by Cholesky's factor of the normal matrix; both are replaced by factors."""
    n = len(right)
    for i in range(n):
        matrix[i, i] = matrix[i, i] * (1 + 1e-7) + 1e-12
    for i in range(n):
        for j in range(i + 1):
            rest = matrix[i, j]
            for m in range(j):
                rest -= matrix[i, m] * matrix[j, m]
            matrix[i, j] = np.sqrt(max(rest, 1e-300)) if i == j else rest / matrix[j, j]
        rest = right[i]
        for m in range(i):
            rest -= matrix[i, m] * right[m]
        right[i] = rest / matrix[i, i]
        total -= right[i] * right[i]
    return max(total, 0.0)


@inner
def monomials(u: Array, degree: int) -> Array:
    """All monomials of u up to degree 2 or 3: (terms, time)."""
    time, m = u.shape
    count = 1 + m + m * (m + 1) // 2
    if degree > 2:
        count += m * (m + 1) * (m + 2) // 6
    out, at = np.ones((count, time)), 1
    for i in range(m):
        out[at] = u[:, i]
        at += 1
    for i in range(m):
        for j in range(i, m):
            out[at] = u[:, i] * u[:, j]
            at += 1
            if degree > 2:
                for h in range(j, m):
                    out[at] = out[1 + i] * out[1 + j] * out[1 + h]
                    at += 1
    return out


@inner
def _over_steps(rows: Array) -> Array:
    """Integrals over the steps inside the margins of rows (terms, time), cubic between samples: (terms, steps)."""
    count = rows.shape[1] - 2 * MARGIN - 2
    out = np.empty((len(rows), count))
    for i in range(len(rows)):
        for k in range(count):
            at = k + MARGIN
            out[i, k] = (13 * (rows[i, at] + rows[i, at + 1]) - rows[i, at - 1] - rows[i, at + 2]) / 24
    return out


@inner
def _numerator(phi: Array, r: Array, b: Array, near: float | np.floating[Any]) -> Array:
    """r - A(u) with the A that makes its quotient by b smallest."""
    n, inside = len(phi), np.ascontiguousarray(phi[:, MARGIN:-MARGIN])
    weights = 1.0 / (b[MARGIN:-MARGIN] ** 2 + near) ** 2 if near > 0.0 else np.ones(inside.shape[1])
    weighed = inside * weights
    matrix, right = np.dot(weighed, inside.T), np.dot(weighed, r[MARGIN:-MARGIN])
    _left(matrix, right, 0.0)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            right[i] -= matrix[j, i] * right[j]
        right[i] /= matrix[i, i]
    return np.asarray(r - np.dot(right, phi))


@inner
def _left_open(z: Array, terms: Array, weights: Array) -> float:
    """The share of the rises of z that (terms, steps), integrals over the steps inside the margins, do not explain.

    weights: of the samples; a step has the lesser of its two.
    """
    first, last = MARGIN, len(z) - MARGIN - 2
    weight = np.minimum(weights[first:last], weights[first + 1 : last + 1])
    rise = z[first + 1 : last + 1] - z[first:last]
    weighed = terms * weight
    total = np.sum(weight * rise * rise) + 1e-300
    return _left(np.dot(weighed, terms.T), np.dot(weighed, rise), total) / total


@inner
def _closing(u: Array, phi: Array, r: Array, along: Array, over: Array) -> tuple[Array, float]:
    """phi: monomials of u; over: their integrals over steps, with m + 2 rows more to be filled here."""
    time, m = u.shape
    n = len(phi)
    b = np.full(time, -along[m])
    for i in range(m):
        b += along[i] * u[:, i]
    near = _POLE**2 * np.var(b)
    z = _numerator(phi, r, b, near) * b / (b * b + near)
    z = z - np.median(z[MARGIN:-MARGIN])
    z = np.minimum(np.maximum(z / (1.4826 * np.median(np.abs(z[MARGIN:-MARGIN])) + 1e-300), -FAR), FAR)
    products = np.empty((m + 2, time))
    products[0] = z
    products[1] = z * z
    for i in range(m):
        products[2 + i] = z * u[:, i]
    over[n:] = _over_steps(products)
    return z, _left_open(z, over, np.minimum(b * b / (9 * near + 1e-300), 1.0))


@inner
def _with_room(phi: Array, m: int) -> Array:
    """Integrals of phi over steps, and room for those of z and its products."""
    over = _over_steps(phi)
    out = np.zeros((len(phi) + m + 2, over.shape[1]))
    out[: len(phi)] = over
    return out


@kernel
def closing(pair: Pair, along: Array) -> tuple[Array, float]:
    """z for B = along[:m] @ u - along[m], in robust standard deviations, and the share of its rises left open.

    Rises are compared with integrals of the terms of A, z, and the products of z, taken as cubic between samples; steps
    near B's zero count less.
    """
    phi = monomials(pair.u, pair.degree)
    return _closing(pair.u, phi, pair.r, along, _with_room(phi, pair.u.shape[1]))


@kernel
def scan(pair: Pair, directions: Array, offsets: int) -> Array:
    """(choices of B, m + 2): its coefficients and the share left unexplained. The first is B = 1.

    directions: (count, m), along which B changes; offsets: how many of its zeros are tried along each.
    """
    m = pair.u.shape[1]
    phi = monomials(pair.u, pair.degree)
    over = _with_room(phi, m)
    out, along = np.zeros((1 + len(directions) * offsets, m + 2)), np.zeros(m + 1)
    along[m] = -1.0
    out[0, : m + 1] = along
    out[0, m + 1] = _closing(pair.u, phi, pair.r, along, over)[1]
    for t in range(len(directions)):
        sums = np.zeros(len(pair.u))
        for i in range(m):
            along[i] = directions[t, i]
            sums += directions[t, i] * pair.u[:, i]
        sums = np.sort(sums)
        last = len(sums) - 1
        for o in range(offsets):
            along[m] = sums[last * o // (offsets - 1)]
            if o == 0 or o == offsets - 1:  # beyond all samples: no pole
                along[m] += (0.2 if o else -0.2) * (sums[last] - sums[0])
            at = 1 + t * offsets + o
            out[at, : m + 1] = along
            out[at, m + 1] = _closing(pair.u, phi, pair.r, along, over)[1]
    return out


@kernel
def refine(pair: Pair, choice: Array, noise: Array) -> tuple[Pair, Array]:
    """A choice of `scan` improved by trial: noise (trials, 2 m + 1), steps of B and of the leaks in standard normal
    units. Returns the pair with its leaky integrals as improved, and the choice."""
    m = pair.u.shape[1]
    best, u, phi, leaks = choice.copy(), pair.u, monomials(pair.u, pair.degree), pair.leaks
    over = _with_room(phi, m)
    constant, leaking = True, False
    for i in range(m):
        constant = constant and choice[i] == 0.0
        leaking = leaking or (leaks[i] != 0.0 and np.isfinite(leaks[i]))
    size = 0.2
    for trial in range(len(noise) if leaking or not constant else 0):
        along, there, rows, times, room = best[: m + 1].copy(), u, phi, leaks, over
        if not constant:
            total = 0.0
            for i in range(m):
                along[i] += size * noise[trial, i]
                total += along[i] * along[i]
            along[m] += size * noise[trial, m]
            for i in range(m):
                along[i] /= np.sqrt(total)
        if leaking:
            there, times = u.copy(), leaks.copy()
            for i in range(m):
                if leaks[i] != 0.0 and np.isfinite(leaks[i]):
                    times[i] *= np.exp(size * noise[trial, m + 1 + i])
                    there[:, i] = unit(leaky(pair.sources[:, i], times[i]))
            rows = monomials(there, pair.degree)
            room = _with_room(rows, m)
        share = _closing(there, rows, pair.r, along, room)[1]
        if share < best[m + 1]:
            best[: m + 1] = along
            best[m + 1] = share
            u, phi, leaks, over = there, rows, times, room
            size *= 1.3
        else:
            size *= 0.93
    return Pair(u, pair.r, pair.degree, pair.sources, leaks), best


@inner
def step_means(values: Array) -> Array:
    """The mean over each step of the cubic through the samples around it."""
    n = len(values)
    means = np.empty(n - 1)
    for k in range(n - 1):
        before = values[k - 1] if k > 0 else 2 * values[0] - values[1]
        after = values[k + 2] if k + 2 < n else 2 * values[n - 1] - values[n - 2]
        means[k] = (13 * (values[k] + values[k + 1]) - before - after) / 24
    return means


@kernel
def leaky(values: Array, time: float) -> Array:
    """The leaky integral h' = (values - h) / time, time in samples: of the future where negative.

    Undamped where infinite: from 0 where negative, and without the straight line that an unknown mean leaves open where
    positive.
    """
    n = len(values)
    backwards = time < 0.0 and np.isfinite(time)
    given = values[::-1].copy() if backwards else values.copy()
    means = step_means(given)
    out = np.zeros(n)
    if not np.isfinite(time):
        for k in range(n - 1):
            out[k + 1] = out[k] + means[k]
        if time < 0.0:
            return out
        line = np.linspace(-1.0, 1.0, n)
        out -= out.mean()
        slope = np.sum(line * out) / np.sum(line * line)
        return out - slope * line
    kept = np.exp(-1.0 / abs(time))
    weight, total = 1.0, 0.0
    for k in range(n):  # where it began: the mean of what came first
        out[0] += weight * given[k]
        total += weight
        weight *= kept
    out[0] /= total
    for k in range(n - 1):
        out[k + 1] = kept * out[k] + (1.0 - kept) * means[k]
    return out[::-1].copy() if backwards else out


@kernel
def unit(values: Array) -> Array:
    """Mean 0 and standard deviation 1, both without the ends, and cut."""
    inside = values[MARGIN:-MARGIN]
    return np.asarray(np.minimum(np.maximum((values - inside.mean()) / (inside.std() + 1e-300), -FAR), FAR))
