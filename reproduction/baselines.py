"""What a prediction has to beat: simple causal predictors, and the floor no causal predictor can pass.

Every predictor takes (time,) or (series, time) and returns the same shape, with y[..., k] predicting u[..., k + 1] from
u[..., : k + 1] alone. `local_level(u)`, `savitzky_golay(u)` and their like choose their settings in context, by their
own past errors; the functions ending in `_members` give the prediction of every setting, of which the best in hindsight
can be taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import lfilter

from prophecy import _checks
from prophecy.signals import DT, alpha_filter

Array = NDArray[np.float64]

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
    """The next value is the last one: like u, (time,) or (series, time)."""
    return _rows(u).copy()


def line(u: ArrayLike) -> Array:
    """The straight line through the last two values of u, (time,) or (series, time); the first prediction is a copy."""
    rows = _rows(u)
    ahead = rows.copy()
    ahead[..., 1:] += np.diff(rows, axis=-1)
    return ahead


def savitzky_golay(u: ArrayLike, window: int | None = None, degree: int | None = None) -> Array:
    """The polynomial of `degree` fitted to the last `window` samples, one step beyond its end.

    Like u, (time,) or (series, time). Until `window` samples have been seen, the next value is the last one. With
    neither setting, the pair is chosen in context among `SAVITZKY_GOLAY`.
    """
    rows = _rows(u)
    if window is None and degree is None:
        return _select(rows, savitzky_golay_members(rows).values())
    if window is None or degree is None:
        raise ValueError(f"window and degree go together, got window={window}, degree={degree}; give both or neither")
    weights = extrapolation_weights(window, degree)
    ahead = lfilter(weights, [1.0], rows, axis=-1)
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


def savitzky_golay_members(u: ArrayLike) -> dict[str, Array]:
    """Predictions of every pair in `SAVITZKY_GOLAY`, by name, each of u's shape: (time,) or (series, time)."""
    rows = _rows(u)
    return {f"window {w}, degree {d}": savitzky_golay(rows, w, d) for w, d in SAVITZKY_GOLAY}


def local_level(u: ArrayLike, gain: float | None = None) -> Array:
    """Steady-state Kalman filter of a level that wanders (exponential smoothing), started at the first value.

    u: (time,) or (series, time). Without `gain`, it is chosen in context among `LEVEL_GAINS`. A gain of 1 copies.
    """
    rows = _rows(u)
    if gain is None:
        return _select(rows, local_level_members(rows).values())
    _gain("gain", gain)
    first = rows[..., :1]
    return np.asarray(first + lfilter([gain], [1.0, gain - 1.0], rows - first, axis=-1), dtype=np.float64)


def local_level_members(u: ArrayLike) -> dict[str, Array]:
    """Predictions for every gain in `LEVEL_GAINS`, by name, each of u's shape: (time,) or (series, time)."""
    rows = _rows(u)
    return {f"gain {gain:g}": local_level(rows, gain) for gain in LEVEL_GAINS}


def local_trend(u: ArrayLike, level_gain: float | None = None, trend_gain: float | None = None) -> Array:
    """Steady-state Kalman filter of a level with a wandering slope (Holt's method), from the first value and slope 0.

    u: (time,) or (series, time).
    level += slope + level_gain e,  slope += level_gain trend_gain e,  e the one-step error. Both gains 1 give `line`.
    With neither gain, the pair is chosen in context among `TREND_GAINS`.
    """
    rows = _rows(u)
    if level_gain is None and trend_gain is None:
        return _select(rows, local_trend_members(rows).values())
    if level_gain is None or trend_gain is None:
        raise ValueError(
            f"level_gain and trend_gain go together, got {level_gain} and {trend_gain}; give both or neither"
        )
    both = _gain("level_gain", level_gain) * _gain("trend_gain", trend_gain)
    first = rows[..., :1]
    numerator, denominator = [level_gain + both, -level_gain], [1.0, level_gain + both - 2.0, 1.0 - level_gain]
    return np.asarray(first + lfilter(numerator, denominator, rows - first, axis=-1), dtype=np.float64)


def local_trend_members(u: ArrayLike) -> dict[str, Array]:
    """Predictions for every pair in `TREND_GAINS`, by name, each of u's shape: (time,) or (series, time)."""
    rows = _rows(u)
    return {f"gains {level:g}, {trend:g}": local_trend(rows, level, trend) for level, trend in TREND_GAINS}


def autoregression(u: ArrayLike, orders: int = AUTOREGRESSION_ORDERS) -> Array:
    """Least-squares autoregression refitted to the growing context, its order (up to `orders`) chosen in context.

    u: (time,) or (series, time).
    """
    rows = _rows(u)
    return _select(rows, autoregression_members(rows, orders).values())


def autoregression_members(u: ArrayLike, orders: int = AUTOREGRESSION_ORDERS) -> dict[str, Array]:
    """Predictions of the autoregressions of order 1 … `orders`, each refitted as the context grows.

    u and each of them: (time,) or (series, time).

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
            rest = factor[:, row, most] - np.einsum(
                "sl,ls->s", factor[:, row, row + 1 : p + 1], weights[p, row + 1 : p + 1]
            )
            weights[p, row] = np.where(useful[:, row], rest / np.where(useful[:, row], diagonal[:, row], 1.0), 0.0)
    return weights


def _blocks(time: int, first: int, growth: float = 1.25, longest: int = 256) -> Iterator[tuple[int, int]]:
    start, length = 0, first
    while start < time:
        yield start, min(start + length, time)
        start += length
        length = min(max(int(length * growth), 1), longest)


def innovation_floor(time_constant: float, dt: float = DT) -> float:
    """Least mean squared error of any causal prediction of Filtered Noise: the variance of what is new in each sample.

    >>> f"{innovation_floor(0.05):.3g}"
    '3.89e-05'
    """
    return alpha_filter(time_constant, dt).lead ** 2 / dt


def filtered_noise_oracle(u: ArrayLike, time_constant: float, dt: float = DT) -> Array:
    """The best causal predictor of Filtered Noise from rest, which is given the process and attains the floor.

    u: (time,) or (series, time). The floor: `innovation_floor`.
    """
    rows = _rows(u)
    lead, lag, pole = alpha_filter(time_constant, dt)
    noise = lfilter([1.0, -2.0 * pole, pole * pole], [lead, lag], rows, axis=-1)
    ahead = lag * noise + 2.0 * pole * rows
    ahead[..., 1:] -= pole * pole * rows[..., :-1]
    return np.asarray(ahead, dtype=np.float64)


def in_context(u: ArrayLike, members: Iterable[Array], discount: float = DISCOUNT) -> Array:
    """At every step the prediction of the member with the least (discounted) squared error so far.

    u and the predictions of every member: (time,) or (series, time).
    """
    if not 0.0 < discount <= 1.0:
        raise ValueError(f"discount must lie in (0, 1], got {discount}")
    return _select(_rows(u), members, discount)


def _select(rows: Array, members: Iterable[Array], discount: float = DISCOUNT) -> Array:
    """One pass over the members with two arrays of memory: the best score so far and its prediction."""
    best: Array | None = None
    chosen = rows.copy()
    for ahead in members:
        error = np.zeros_like(rows)
        np.subtract(rows[..., 1:], ahead[..., :-1], out=error[..., 1:])
        score = np.cumsum(error**2, axis=-1) if discount == 1.0 else lfilter([1.0], [1.0, -discount], error**2, axis=-1)
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
