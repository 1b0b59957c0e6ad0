"""What a prediction has to beat: simple causal predictors, and the floor no causal predictor can pass.

Every predictor takes (time,) or (series, time) and returns the same shape, with y[..., k] predicting u[..., k + 1] from
u[..., : k + 1] alone. A family of `FAMILIES` gives the predictions of all its settings by name: `in_context` chooses
among them by their own past errors, and the best in hindsight can be taken.
"""

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import lfilter

from prophecy import _checks
from prophecy.signals import DT, alpha_filter
from reproduction.rows import Array

AUTOREGRESSION_ORDERS = 16
"""Largest order tried: as many weights as the largest readout that `Prophecy` solves for."""
DISCOUNT = 0.99
"""Per sample, of the errors by which a member is chosen in context. It forgets a window's start-up: 1.0 leaves
Savitzky-Golay at 7e-10 on White Signals where this has 2e-24."""
SAVITZKY_GOLAY = tuple(
    (window, degree)
    for window in (2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 257)
    for degree in (0, 1, 2, 3, 4, 5)
    if degree < window
)
# Windows and degrees (above) and gains (below) that may be chosen: from copying to averages over some hundred samples.
LEVEL_GAINS = (1.0, 0.9, 0.75, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
TREND_GAINS = tuple((level, trend) for level in LEVEL_GAINS for trend in (1.0, 0.5, 0.2, 0.1, 0.05, 0.01, 0.001))


def copy(u: ArrayLike) -> Array:
    return _rows(u).copy()


def line(u: ArrayLike) -> Array:
    rows = _rows(u)
    ahead = rows.copy()
    ahead[..., 1:] += np.diff(rows, axis=-1)
    return ahead


def savitzky_golay(u: ArrayLike, window: int, degree: int) -> Array:
    """The polynomial of `degree` fitted to the last `window` samples, one step beyond its end; a copy until there are
    so many."""
    rows = _rows(u)
    ahead = lfilter(extrapolation_weights(window, degree), [1.0], rows, axis=-1)
    ahead[..., : window - 1] = rows[..., : window - 1]
    return np.asarray(ahead, dtype=np.float64)


def extrapolation_weights(window: int, degree: int) -> Array:
    """Weights w[j] of the sample j steps ago that predict every polynomial up to `degree` one step ahead: (window,).

    Of all such weights, these have the smallest sum of squares (least squares). Built from orthogonal polynomials: the
    normal equations in monomials lose every digit at degree 5 over 257 samples.

    >>> extrapolation_weights(2, 1).round(12)
    array([ 2., -1.])
    """
    _checks.whole("window", window)
    if not 0 <= degree < window:
        raise ValueError(f"degree must lie between 0 and window - 1 = {window - 1}, got {degree}; use a longer window")
    ages = np.arange(-1, window)
    scaled = np.polynomial.legendre.legvander(1.0 - 2.0 * ages / max(window - 1, 1), degree)
    q, r = np.linalg.qr(scaled[1:])
    return np.asarray(q @ np.linalg.solve(r.T, scaled[0]), dtype=np.float64)


def local_level(u: ArrayLike, gain: float) -> Array:
    """Steady-state Kalman filter of a level that wanders (exponential smoothing), started at the first value. A gain of
    1 copies."""
    rows = _rows(u)
    _gain("gain", gain)
    first = rows[..., :1]
    return np.asarray(first + lfilter([gain], [1.0, gain - 1.0], rows - first, axis=-1), dtype=np.float64)


def local_trend(u: ArrayLike, level_gain: float, trend_gain: float) -> Array:
    """Steady-state Kalman filter of a level with a wandering slope (Holt's method), from the first value and slope 0.

    level += slope + level_gain e,  slope += level_gain trend_gain e,  e the one-step error. Both gains 1 give `line`.
    """
    rows = _rows(u)
    both = _gain("level_gain", level_gain) * _gain("trend_gain", trend_gain)
    first = rows[..., :1]
    numerator, denominator = [level_gain + both, -level_gain], [1.0, level_gain + both - 2.0, 1.0 - level_gain]
    return np.asarray(first + lfilter(numerator, denominator, rows - first, axis=-1), dtype=np.float64)


def autoregression_members(u: ArrayLike, orders: int = AUTOREGRESSION_ORDERS) -> dict[str, Array]:
    """Predictions of the least-squares autoregressions of order 1 … `orders`, each refitted as the context grows.

    One QR factor of [u_k … u_{k-P+1} | u_{k+1}] holds the fits of every order: order p is solved by its leading p
    columns. The factor is updated block by block and never formed as a normal matrix, whose condition number would be
    squared.
    """
    rows = _rows(u)
    most = _checks.whole("orders", orders)
    flat = rows.reshape(-1, rows.shape[-1])
    series, time = flat.shape
    lagged = np.concatenate([np.zeros((series, most - 1)), flat], axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(lagged, most, axis=1)[..., ::-1]
    ahead = np.broadcast_to(flat, (most, series, time)).copy()
    factor = np.zeros((series, most + 1, most + 1))
    for start, stop in _blocks(time, 2 * most):
        if start >= 2 * most:
            weights = _solutions(factor)
            ahead[..., start:stop] = np.einsum("skl,pls->psk", windows[:, start:stop], weights, optimize=True)
        last = min(stop, time - 1)
        known = np.concatenate([windows[:, start:last], flat[:, start + 1 : last + 1, None]], axis=2)
        factor = np.asarray(np.linalg.qr(np.concatenate([factor, known], axis=1), mode="r"))
    return {f"order {p + 1}": ahead[p].reshape(rows.shape) for p in range(most)}


def _solutions(factor: Array) -> Array:
    """Weights of every order from one triangular factor, zero beyond the order: (order, lag, series)."""
    series, size, _ = factor.shape
    most = size - 1
    weights = np.zeros((most, most, series))
    scale = np.abs(factor[:, :1, :1]) * np.finfo(float).eps
    diagonal = np.einsum("sii->si", factor)
    # A column that adds nothing but rounding gets no weight instead of an enormous one.
    useful = np.abs(diagonal) > scale[:, :, 0]
    for p in range(most):
        for row in range(p, -1, -1):
            known = np.einsum("sl,ls->s", factor[:, row, row + 1 : p + 1], weights[p, row + 1 : p + 1])
            rest = factor[:, row, most] - known
            weights[p, row] = np.where(useful[:, row], rest / np.where(useful[:, row], diagonal[:, row], 1.0), 0.0)
    return weights


def _blocks(time: int, first: int, growth: float = 1.25, longest: int = 256) -> Iterator[tuple[int, int]]:
    start, length = 0, first
    while start < time:
        yield start, min(start + length, time)
        start += length
        length = min(max(int(length * growth), 1), longest)


FAMILIES: dict[str, Callable[[ArrayLike], dict[str, Array]]] = {
    "autoregression": autoregression_members,
    "Savitzky–Golay": lambda u: {f"window {w}, degree {d}": savitzky_golay(u, w, d) for w, d in SAVITZKY_GOLAY},
    "local level": lambda u: {f"gain {gain:g}": local_level(u, gain) for gain in LEVEL_GAINS},
    "local trend": lambda u: {f"gains {a:g}, {b:g}": local_trend(u, a, b) for a, b in TREND_GAINS},
}


def everyone(u: ArrayLike) -> Iterator[tuple[str, str, Array]]:
    """Family, setting and predictions of all baselines; of each family first those of the settings chosen in context,
    under the setting ""."""
    for name, family in FAMILIES.items():
        members = family(u)
        yield name, "", in_context(u, members.values())
        for setting, y in members.items():
            yield name, setting, y


def innovation_floor(time_constant: float, dt: float = DT) -> float:
    """Least mean squared error of any causal prediction of Filtered Noise: the variance of what is new in each sample.

    >>> f"{innovation_floor(0.05):.3g}"
    '3.89e-05'
    """
    return alpha_filter(time_constant, dt)[0] ** 2 / dt


def filtered_noise_oracle(u: ArrayLike, time_constant: float, dt: float = DT) -> Array:
    """The best causal predictor of Filtered Noise from rest, which is given the process and attains the floor."""
    rows = _rows(u)
    lead, lag, pole = alpha_filter(time_constant, dt)
    noise = lfilter([1.0, -2.0 * pole, pole * pole], [lead, lag], rows, axis=-1)
    ahead = lag * noise + 2.0 * pole * rows
    ahead[..., 1:] -= pole * pole * rows[..., :-1]
    return np.asarray(ahead, dtype=np.float64)


def in_context(u: ArrayLike, members: Iterable[Array], discount: float = DISCOUNT) -> Array:
    """At every step the prediction of the member with the least (discounted) squared error so far."""
    if not 0.0 < discount <= 1.0:
        raise ValueError(f"discount must lie in (0, 1], got {discount}")
    rows = _rows(u)
    best: Array | None = None
    chosen = rows.copy()
    for ahead in members:  # one pass, with two arrays of memory: the best score so far and its prediction
        error = np.zeros_like(rows)
        np.subtract(rows[..., 1:], ahead[..., :-1], out=error[..., 1:])
        score = lfilter([1.0], [1.0, -discount], error**2, axis=-1)
        if best is None:
            best, chosen = score, np.array(ahead)
            continue
        better = score < best
        np.copyto(best, score, where=better)
        np.copyto(chosen, ahead, where=better)
    if best is None:
        raise ValueError("members must hold at least one prediction, got none")
    return chosen


def _rows(u: ArrayLike) -> Array:
    rows = np.asarray(_checks.series("u", u), dtype=np.float64)
    _checks.in_range("u", rows, rows.dtype)
    return rows


def _gain(name: str, value: float) -> float:
    if not (math.isfinite(value) and 0.0 < value <= 1.0):
        raise ValueError(f"{name} must lie in (0, 1], got {value}")
    return value
