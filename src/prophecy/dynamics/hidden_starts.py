"""Hidden variables to start a search from: one is guessed, the other follows, and how well the pair closes ranks them.

A quadratic field often has a hidden variable that is simple in the visible one, x: its rate (x' = y), a quotient
(x' = x y), or a leaky integral (y' = a x + b y: the rate of one variable of a system seldom has all the others in it).
With such a q at hand, the last hidden variable z enters the rate r of x, or of q, in one place: r = A(x, q) + B(x, q) z
with a quadratic A and a linear B. For a given B, A is the one that keeps z small where B vanishes (weighted least
squares), and z follows. Whether z is a variable of the system shows in its own rate: it should be quadratic in
(x, q, z). A thousand choices of q and B take some milliseconds, compiled; the best few are solved in earnest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline
from scipy.signal import lfilter

from prophecy._compiled import inner, kernel
from prophecy.dynamics import flow
from prophecy.dynamics.settings import Settings

Array = NDArray[np.float64]

MARGIN = 5  # samples at either end where derivatives of a spline are worth little
_LEAST = 32  # samples below which nothing is guessed
_FAR = 6.0  # standard deviations: guesses are cut there, poles go on for ever
_WIDE = 8.0  # the same for derivatives, whose tails are real
_SPLINE = 7  # degree: the rate of a rate is still smooth
_POLE = 0.1  # of B's standard deviation: nearer to its zero, z is not believed
_SOFT = 0.03  # standard deviations around zero in which a quotient by x is bent down
_CENTRED = 5.0  # standard deviations: data farther from zero do not tell where zero is
_ALIKE = 0.15  # share of its variance that an earlier guess may leave of a new one that is the same


class Pair(NamedTuple):
    """x and q are at hand, and r = A(x, q) + B(x, q) z; z is to be guessed. hidden: the part of (q, z) unseen."""

    x: Array
    q: Array
    r: Array
    seen: int

    def joined(self, z: Array) -> Array:
        return z[:, None] if self.seen == 2 else np.column_stack([self.q, z])


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
def _numerator(x: Array, q: Array, r: Array, b: Array, near: float | np.floating[Any]) -> Array:
    """r - A(x, q) with the quadratic A that makes its quotient by b smallest."""
    matrix, right, row = np.zeros((6, 6)), np.zeros(6), np.empty(6)
    for k in range(MARGIN, len(x) - MARGIN):
        weight = 1.0 / (b[k] * b[k] + near) ** 2 if near > 0.0 else 1.0
        row[:] = 1.0, x[k], q[k], x[k] * x[k], x[k] * q[k], q[k] * q[k]
        for i in range(6):
            for j in range(i + 1):
                matrix[i, j] += weight * row[i] * row[j]
            right[i] += weight * row[i] * r[k]
    _left(matrix, right, 0.0)
    for i in range(5, -1, -1):
        for j in range(i + 1, 6):
            right[i] -= matrix[j, i] * right[j]
        right[i] /= matrix[i, i]
    squares = right[3] * x * x + right[4] * x * q + right[5] * q * q
    return np.asarray(r - right[0] - right[1] * x - right[2] * q - squares)


@kernel
def closing(pair: Pair, along: float, across: float, offset: float) -> tuple[Array, float]:
    """z for B = along x + across q - offset, in robust standard deviations, and the share of its rises left open.

    Rises are compared with integrals of the ten quadratic terms, taken as cubic between samples; steps near B's zero
    count less.
    """
    x, q = pair.x, pair.q
    b = along * x + across * q - offset
    near = _POLE**2 * np.var(b)
    z = _numerator(x, q, pair.r, b, near) * b / (b * b + near)
    middle = z[MARGIN:-MARGIN]
    z = z - np.median(middle)
    z = np.minimum(np.maximum(z / (1.4826 * np.median(np.abs(z[MARGIN:-MARGIN])) + 1e-300), -_FAR), _FAR)
    phi = np.empty((len(x), 10))
    for k in range(len(x)):
        phi[k, :4] = 1.0, x[k], q[k], z[k]
        phi[k, 4:7] = x[k] * phi[k, 1:4]
        phi[k, 7:9] = q[k] * phi[k, 2:4]
        phi[k, 9] = z[k] * z[k]
    matrix, right, row, total = np.zeros((10, 10)), np.zeros(10), np.empty(10), 1e-300
    for k in range(MARGIN, len(x) - MARGIN - 2):
        weight = min(min(b[k] * b[k], b[k + 1] * b[k + 1]) / (9 * near + 1e-300), 1.0)
        for i in range(10):
            row[i] = (13 * (phi[k, i] + phi[k + 1, i]) - phi[k - 1, i] - phi[k + 2, i]) / 24
        rise = z[k + 1] - z[k]
        for i in range(10):
            for j in range(i + 1):
                matrix[i, j] += weight * row[i] * row[j]
            right[i] += weight * row[i] * rise
        total += weight * rise * rise
    return z, _left(matrix, right, total) / total


@kernel
def scan(pair: Pair, angles: int, offsets: int) -> Array:
    """(choices of B, 4): along, across, offset and the share left unexplained. The first is B = 1."""
    out = np.empty((1 + angles * offsets, 4))
    out[0] = 0.0, 0.0, -1.0, closing(pair, 0.0, 0.0, -1.0)[1]
    for t in range(angles):
        along, across = np.cos(np.pi * t / angles), np.sin(np.pi * t / angles)
        sums = np.sort(along * pair.x + across * pair.q)
        last = len(sums) - 1
        for o in range(offsets):
            offset = sums[last * o // (offsets - 1)]
            if o == 0 or o == offsets - 1:  # beyond all samples: no pole
                offset += (0.2 if o else -0.2) * (sums[last] - sums[0])
            out[1 + t * offsets + o] = along, across, offset, closing(pair, along, across, offset)[1]
    return out


@kernel
def refine(pair: Pair, choice: Array, noise: Array) -> Array:
    """A choice of `scan` improved by trial: noise (trials, 2), steps of angle and offset in standard normal units."""
    best = choice.copy()
    if best[0] == 0.0 and best[1] == 0.0:
        return best
    size = 0.2
    for trial in range(len(noise)):
        angle, offset = np.arctan2(best[1], best[0]) + size * noise[trial, 0], best[2] + size * noise[trial, 1]
        along, across = np.cos(angle), np.sin(angle)
        share = closing(pair, along, across, offset)[1]
        if share < best[3]:
            best[:] = along, across, offset, share
            size *= 1.3
        else:
            size *= 0.93
    return best


def leaky(values: Array, time: float) -> Array:
    """The leaky integral h' = (values - h) / time, time in samples: of the future where negative.

    Undamped where infinite, without the straight line that this leaves open.
    """
    if time < 0:
        return leaky(values[::-1], -time)[::-1]
    around = np.concatenate([[2 * values[0] - values[1]], values, [2 * values[-1] - values[-2]]])
    means = (13 * (around[1:-2] + around[2:-1]) - around[:-3] - around[3:]) / 24
    if not np.isfinite(time):
        rising = np.concatenate([[0.0], np.cumsum(means - means.mean())])
        line = np.linspace(-1, 1, len(values))
        return np.asarray(rising - np.polyval(np.polyfit(line, rising, 1), line))
    weights, kept = np.exp(-np.arange(len(values)) / time), np.exp(-1 / time)
    first = float(weights @ values / weights.sum())
    return np.concatenate([[first], lfilter([1 - kept], [1, -kept], means, zi=[kept * first])[0]])


def pairs(visible: Array, centre: Array, settings: Settings) -> list[Pair]:
    """All q worth trying. centre: the mean of the data in standard deviations; visible + centre has the data's zero."""
    times = np.arange(len(visible))
    spline = make_interp_spline(times, visible, k=_SPLINE)
    first, second = spline.derivative(1)(times), spline.derivative(2)(times)
    if visible.shape[1] == 2:
        x, q = np.ascontiguousarray(visible.T)
        return [Pair(x, q, _unit(rate), 2) for rate in first.T]
    x, rate, bend = (np.ascontiguousarray(each[:, 0]) for each in (visible, first, second))
    found = [Pair(x, _cut(rate), _unit(bend), 1)]
    if abs(centre[0]) < _CENTRED:
        raw = x + centre[0]
        over = raw / (raw**2 + _SOFT**2)
        found.append(Pair(x, _cut(rate * over), _unit(bend * over - (rate * over) ** 2), 1))
    for power, leaks in ((x, settings.hidden_leaks), (x * x, settings.hidden_square_leaks)):
        found += [Pair(x, _cut(leaky(power, time)), _unit(rate), 1) for time in leaks]
    return found


def guesses(visible: Array, centre: Array, settings: Settings) -> list[Array]:
    """Hidden variables of a field of three, (time, 3 - seen) each, best first, none much like an earlier one."""
    if len(visible) < _LEAST:
        return []
    plain = _plain(visible, centre, settings.hidden_plain)
    noise = np.random.default_rng(0).standard_normal((settings.hidden_refined, 2))
    choices = [(choice[3], k, pair, choice) for k, pair in enumerate(pairs(visible, centre, settings))
               for choice in scan(pair, settings.hidden_angles, settings.hidden_offsets)]  # fmt: skip
    choices = sorted((each for each in choices if np.isfinite(each[0])), key=lambda each: each[:2])
    found: list[tuple[float, Array]] = []
    for _, _, pair, choice in choices[: settings.hidden_looked_at]:
        along, across, offset, share = refine(pair, choice, noise)
        guess = pair.joined(closing(pair, along, across, offset)[0])
        if not any(alike(visible, guess, earlier, _ALIKE) for _, earlier in found):
            found.append((float(share), guess))
        if len(found) == settings.hidden_starts:
            break
    return [*(guess for _, guess in sorted(found, key=lambda each: each[0])), *plain]


def _plain(visible: Array, centre: Array, count: int) -> list[Array]:
    """Derivatives and their quotients by x, and random quadratic functions of them: (time, 3 - seen) each."""
    times, hidden = np.arange(len(visible)), 3 - visible.shape[1]
    spline = make_interp_spline(times, visible, k=_SPLINE)
    rates = [spline.derivative(order)(times) for order in (1, 2)]
    first, second = (np.clip(each / np.median(np.abs(each), axis=0), -_WIDE, _WIDE) for each in rates)
    raw = visible + np.where(np.abs(centre) < _CENTRED, centre, 0.0)
    bent = _without(second, [visible, first]) * raw / (raw**2 + _POLE)
    found = [np.column_stack([first, second])[:, :hidden], np.column_stack([first, bent])[:, :hidden]]
    powers = flow.features(flow.polynomial_terms(3 * visible.shape[1], 2), np.column_stack([visible, first, second]))
    powers = (powers[:, 1:] - powers[:, 1:].mean(axis=0)) / (powers[:, 1:].std(axis=0) + 1e-300)
    generator = np.random.default_rng(0)
    return found + [powers @ generator.standard_normal((powers.shape[1], hidden)) for _ in range(count - len(found))]


def _without(values: Array, others: list[Array]) -> Array:
    columns = np.column_stack([np.ones(len(values)), *others])
    return np.asarray(values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0])


def alike(visible: Array, guess: Array, earlier: Array, share: float) -> bool:
    """Whether the earlier guess is an affine function of the new one and what is seen, up to a share."""
    columns = np.column_stack([np.ones(len(visible)), visible, guess])[MARGIN:-MARGIN]
    inside = earlier[MARGIN:-MARGIN]
    rest = inside - columns @ np.linalg.lstsq(columns, inside, rcond=None)[0]
    return bool((rest.var(axis=0) < share * inside.var(axis=0)).all())


def _unit(values: Array) -> Array:
    return np.asarray(values / (values[MARGIN:-MARGIN].std() + 1e-300))


def _cut(values: Array) -> Array:
    inside = values[MARGIN:-MARGIN]
    return np.ascontiguousarray(np.clip((values - inside.mean()) / (inside.std() + 1e-300), -_FAR, _FAR))
