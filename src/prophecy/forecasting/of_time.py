"""Functions of time solved by least squares: lines, parabolas, sums of sinusoids.

    x(t) = b(t) · c + noise,  c by least squares over all values up to an origin,  variance s² (1 + b' (B'B)⁻¹ b)

with s² = Σ residual² / (ν - 2), ν what the unknowns leave of the values: errors are Student's with so many degrees.

The basis b is chosen once, from the values a candidate is fitted to (frequencies); the coefficients c
are solved again at every origin, from sums that grow from one origin to the next.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prophecy._arrays import Array, Indices, Mask
from prophecy.forecasting.series import Ahead, Fit, Fitted

Basis = Callable[[Array], Array]

_RIDGE = 1e-13  # of the mean diagonal: keeps sums of nearly equal functions solvable, far below any noise


@dataclass(frozen=True, eq=False)
class FunctionOfTime:
    """basis: (times,) to (times, functions). chosen: numbers of the basis that were chosen from the data."""

    basis: Basis
    chosen: int

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> Ahead:
        rows, weight = self.basis(np.arange(len(x) + steps, dtype=np.float64)), seen.astype(np.float64)
        k, past = rows.shape[1], rows[: len(x)]
        weighted = past * weight[:, None]
        starts = np.concatenate([[0], origins[:-1]])
        spans = list(zip(starts, origins, strict=True))
        gram = np.cumsum([weighted[a:b].T @ past[a:b] for a, b in spans], axis=0)
        target = np.cumsum([weighted[a:b].T @ x[a:b] for a, b in spans], axis=0)
        square, count = np.cumsum(weight * x**2)[origins - 1], np.cumsum(seen)[origins - 1]
        ridge = _RIDGE * np.trace(gram, axis1=1, axis2=2) / k
        inverse = np.linalg.inv(np.linalg.cholesky(gram + ridge[:, None, None] * np.eye(k)))
        c = np.einsum("oji,oj->oi", inverse, np.einsum("oij,oj->oi", inverse, target))
        ahead = rows[origins[:, None] + np.arange(steps)]
        locations = np.einsum("osk,ok->os", ahead, c)
        left = square - np.einsum("ok,ok->o", c, target)
        for o in np.nonzero(left < 1e-9 * square)[0]:  # what cancels to rounding is summed again, one by one
            off = (x - past @ c[o])[: origins[o]]
            left[o] = float(weight[: origins[o]] @ off**2)
        left /= np.maximum(count - k - self.chosen - 2, 1)
        lever = np.sum((ahead @ inverse.transpose(0, 2, 1)) ** 2, axis=2)
        return locations, np.sqrt(left[:, None] * (1 + lever))


def polynomial(degree: int) -> Fit:
    def fit(x: Array, seen: Mask, steps: int) -> Fitted | None:
        made = FunctionOfTime(lambda t: np.vander(t / len(x) - 0.5, degree + 1, increasing=True), 0)
        return made if seen.sum() > degree + 2 else None

    return fit


def waves(most: int, cycles: float) -> Fit:
    """A line and up to `most` sinusoids, one after the other: the highest peak of what is left, all frequencies refined
    together, kept while it pays for its three numbers and for the choice of its frequency (Schwarz' criterion). Without
    the slope of the line where that does not pay for itself."""

    def fit(x: Array, seen: Mask, steps: int) -> Fitted | None:
        found, m = frequencies(x, seen, most, cycles), int(seen.sum())
        if not len(found):
            return None
        rows = _rows(found, np.nonzero(seen)[0].astype(np.float64), len(x))
        sloped, flat = (
            np.sum((x[seen] - _solved(some, x[seen])[0]) ** 2) for some in (rows, np.delete(rows, 1, axis=1))
        )
        slope = bool(flat > sloped * m ** (1 / m))
        kept = np.arange(rows.shape[1]) != (-1 if slope else 1)
        return FunctionOfTime(lambda t: _rows(found, t, len(x))[:, kept], len(found))

    return fit


def _rows(frequencies: Array, t: Array, length: int) -> Array:
    phase = 2 * np.pi * np.multiply.outer(t, frequencies)
    return np.column_stack([np.ones(len(t)), t / length - 0.5, np.cos(phase), np.sin(phase)])


def frequencies(x: Array, seen: Mask, most: int, cycles: float = 0.75) -> Array:
    """Cycles a sample of up to `most` sinusoids beside a line, each with at least so many cycles, nearly."""
    n, t = len(x), np.nonzero(seen)[0].astype(np.float64)
    v, m = x[seen], int(seen.sum())
    found = np.zeros(0)
    if m < 16:
        return found
    size = 1 << int(np.ceil(np.log2(4 * n)))
    left = v - _solved(_rows(found, t, n), v)[0]
    best = m * np.log(max(float(left @ left), 1e-300) / m)
    while len(found) < most:
        full = np.zeros(n)
        full[seen] = left
        power = np.abs(np.fft.rfft(full, size)) ** 2
        inner = power[1:-1]
        peaks = np.where((inner >= power[:-2]) & (inner >= power[2:]), inner, 0.0)
        peaks[: max(1, int(cycles * size / n) - 1)] = 0.0
        peak = 1 + int(np.argmax(peaks))
        if not peaks[peak - 1] > 0:
            break
        a, b, c = np.log(np.maximum(power[peak - 1 : peak + 2], 1e-300))
        bend = a - 2 * b + c
        tried = _refined(np.append(found, (peak + (0.5 * (a - c) / bend if bend < 0 else 0.0)) / size), t, v, n)
        if (tried * n < cycles - 0.25).any() or (tried > 0.5).any():
            break
        rest = v - _solved(_rows(tried, t, n), v)[0]
        merit = m * np.log(max(float(rest @ rest), 1e-300) / m) + np.log(m) * 5 * len(tried)
        if merit >= best:
            break
        best, found, left = merit, tried, rest
    return found


def _refined(frequencies: Array, t: Array, v: Array, n: int) -> Array:
    """Gauss-Newton on the frequencies, amplitudes solved along."""
    for _ in range(6):
        rows = _rows(frequencies, t, n)
        fitted, c = _solved(rows, v)
        cosines, sines = np.split(c[2:], 2)
        k = len(frequencies)
        slopes = 2 * np.pi * t[:, None] * (rows[:, 2 + k :] * -cosines + rows[:, 2 : 2 + k] * sines)
        step = _solved(np.column_stack([rows, slopes]), v - fitted)[1][rows.shape[1] :]
        step = np.clip(step, -0.5 / n, 0.5 / n)
        frequencies = frequencies + step
        if np.abs(step).max() < 1e-4 / n:
            break
    return frequencies


def _solved(rows: Array, v: Array) -> tuple[Array, Array]:
    """Fitted values and coefficients of least squares."""
    gram = rows.T @ rows
    gram[np.diag_indices_from(gram)] *= 1 + _RIDGE
    c = np.linalg.solve(gram, rows.T @ v)
    return np.asarray(rows @ c), np.asarray(c)
