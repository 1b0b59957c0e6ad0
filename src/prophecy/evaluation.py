"""Scores of predictions: one step ahead, many steps ahead, and in the long run.

One-step predictions follow the project's convention: y[..., k] predicts u[..., k + 1]. The paper's loss (Sec. 4)
averages |y[k] - u[k + 1]| over k from T_s to the end, with T_s = T / 2 unless given otherwise.

Past its valid time no path of a chaotic system is right step by step, but its statistics can be: Hellinger distances,
sqrt(1 - sum sqrt(p q)) for shares p and q, between spectra and between histograms measure them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from prophecy import _checks
from prophecy._arrays import Array

_SMOOTHED = 2.0  # frequencies: standard deviation of the kernel over neighbouring ones
_BINS = 10  # a side of the histogram's cells, between the quantiles below
_INSIDE = (0.01, 0.99)  # quantiles of the true values: outliers must not stretch the cells
_JOINT = 3  # variables whose joint histogram is taken: with more, cells have no samples


def one_step_errors(u: ArrayLike, y: ArrayLike, start: int | None = None) -> Array:
    """u[k + 1] - y[k] for k = start … T - 2; `start` is half the length by default. u, y: (time,) or (series, time).

    >>> one_step_errors([1.0, 2.0, 4.0, 7.0], [2.0, 3.0, 6.0, 0.0], start=1)
    array([1., 1.])
    """
    truth, ahead = np.asarray(_checks.series("u", u), float), np.asarray(_checks.series("y", y), float)
    if truth.shape != ahead.shape:
        raise ValueError(f"u and y must have one shape, got {truth.shape} and {ahead.shape}")
    time = truth.shape[-1]
    first = time // 2 if start is None else start
    if not 0 <= first < time - 1:
        raise ValueError(f"start must lie between 0 and time - 2 = {time - 2}, got {first}; give a longer series")
    return np.asarray(truth[..., first + 1 :] - ahead[..., first:-1], dtype=np.float64)


def mean_absolute_error(u: ArrayLike, y: ArrayLike, start: int | None = None) -> Array:
    """The paper's loss of predictions y of u, both (time,) or (series, time): () or (series,)."""
    return np.asarray(np.mean(np.abs(one_step_errors(u, y, start)), axis=-1), dtype=np.float64)


def mean_squared_error(u: ArrayLike, y: ArrayLike, start: int | None = None) -> Array:
    """The measure of the paper's tables, of y and u as above: () or (series,)."""
    return np.asarray(np.mean(one_step_errors(u, y, start) ** 2, axis=-1), dtype=np.float64)


def smape(truth: ArrayLike, forecast: ArrayLike) -> Array:
    """Symmetric mean absolute percentage error per step, averaged over variables, in percent (0 … 200): (horizon,)."""
    true, guess = _horizon(truth, forecast)
    total = np.abs(true) + np.abs(guess)
    ratio = np.abs(true - guess) / np.where(total == 0.0, 1.0, total)  # zero in both is predicted perfectly
    return np.asarray(200.0 * ratio.mean(axis=-1), dtype=np.float64)


def valid_prediction_time(
    truth: ArrayLike, forecast: ArrayLike, samples_per_time: float = 1.0, threshold: float = 30.0
) -> float:
    """Time until `smape` first exceeds `threshold` percent, in units of `samples_per_time` samples.

    truth, forecast: (time,) or (time, variables). A forecast that never fails scores its length.

    >>> valid_prediction_time([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 3.0, 1.0], samples_per_time=2)
    1.0
    """
    _checks.positive("samples_per_time", samples_per_time)
    _checks.positive("threshold", threshold)
    scores = smape(truth, forecast)
    # NaN compares false with everything: count it as a failure.
    failed = np.flatnonzero(~(scores <= threshold))
    return float((failed[0] if failed.size else scores.size) / samples_per_time)


def coverage(truth: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> float:
    """Share of values inside [lower, upper], all three of one shape."""
    true, low, high = (np.asarray(part, float) for part in (truth, lower, upper))
    if not true.shape == low.shape == high.shape or true.size == 0:
        raise ValueError(f"truth, lower and upper must have one shape, got {true.shape}, {low.shape}, {high.shape}")
    return float(np.mean((low <= true) & (true <= high)))


def naive_scale(context: ArrayLike, season: int = 1) -> float:
    """Mean |x[k] - x[k - season]| over a context (time,) or (time, variables), the unit of `mase`; gaps are left out.

    A season of which the context holds no two is taken as 1. NaN where no two values can be compared.

    >>> naive_scale([1.0, 2.0, 4.0, 7.0])
    2.0
    """
    values = np.asarray(context, dtype=np.float64)
    lag = season if len(values) > season else 1
    steps = np.abs(values[lag:] - values[:-lag])
    steps = steps[np.isfinite(steps)]
    return float(steps.mean()) if steps.size else float("nan")


def mase(truth: ArrayLike, forecast: ArrayLike, context: ArrayLike, season: int = 1) -> float:
    """Mean absolute error in units of `naive_scale`, all of them (time,) or (time, variables).

    >>> mase([8.0, 9.0], [7.0, 7.0], context=[1.0, 2.0, 4.0, 7.0])
    0.75
    """
    true, guess = _horizon(truth, forecast)
    past = np.asarray(context, dtype=np.float64).reshape(-1, true.shape[1])
    scales = np.array([naive_scale(column, season) for column in past.T])
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.abs(true - guess) / scales
    return float(np.mean(scaled[np.isfinite(true)])) if np.isfinite(true).any() else float("nan")


def pinball(truth: ArrayLike, quantile: ArrayLike, q: float) -> Array:
    """Loss of a forecast of the q-quantile: q per unit the truth lies above it, 1 - q per unit below. Same shape.

    >>> pinball([3.0, 1.0], [2.0, 2.0], q=0.9)
    array([0.9, 0.1])
    """
    if not 0 < q < 1:
        raise ValueError(f"q must lie strictly between 0 and 1, got {q}")
    off = np.asarray(truth, dtype=np.float64) - np.asarray(quantile, dtype=np.float64)
    return np.asarray(np.maximum(q * off, (q - 1) * off), dtype=np.float64)


def crps(truth: ArrayLike, quantiles: ArrayLike, probabilities: ArrayLike) -> Array:
    """Continuous ranked probability score from quantiles (probabilities, *shape of truth): twice the mean pinball loss,
    which for probabilities spread evenly over (0, 1) is the integral's midpoint rule."""
    losses = [pinball(truth, *pair) for pair in zip(np.asarray(quantiles), np.asarray(probabilities), strict=True)]
    return np.asarray(2.0 * np.mean(losses, axis=0), dtype=np.float64)


def hellinger(p: ArrayLike, q: ArrayLike) -> float:
    """Between two sets of shares, along the last axis; averaged over the others.

    >>> hellinger([0.5, 0.5], [0.5, 0.5]), hellinger([1.0, 0.0], [0.0, 1.0])
    (0.0, 1.0)
    """
    overlap = np.sum(np.sqrt(np.asarray(p, dtype=np.float64) * np.asarray(q, dtype=np.float64)), axis=-1)
    return float(np.mean(np.sqrt(np.maximum(1 - np.minimum(overlap, 1.0), 0.0))))


def spectrum(stretches: ArrayLike) -> Array:
    """Shares of the variance at each frequency, (variables, frequencies), of (stretches, time, variables)."""
    values = np.asarray(stretches, dtype=np.float64)
    if values.ndim != 3 or values.shape[1] < 8:
        raise ValueError(f"stretches must be (stretches, time, variables) of at least 8 samples, got {values.shape}")
    flat = values - values.mean(axis=(0, 1))
    window = np.hanning(values.shape[1])[:, None]
    power = np.mean(np.abs(np.fft.rfft(flat * window, axis=1)) ** 2, axis=0)[1:].T
    reach = int(4 * _SMOOTHED)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / _SMOOTHED) ** 2)
    smooth = np.array([np.convolve(np.pad(row, reach, mode="reflect"), kernel, "valid") for row in power])
    return np.asarray(smooth / np.maximum(smooth.sum(axis=1, keepdims=True), 1e-300))


def spectral_distance(stretches: ArrayLike, truth: ArrayLike) -> float:
    """Hellinger distance of the spectra of (stretches, time, variables), averaged over variables; 1 if not finite, or
    at rest."""
    path = np.asarray(stretches, dtype=np.float64)
    return hellinger(spectrum(path), spectrum(truth)) if np.isfinite(path).all() else 1.0


def histogram_distance(path: ArrayLike, truth: ArrayLike) -> float:
    """Hellinger distance of the joint histograms of the first variables of (time, variables); 1 if not finite."""
    values, real = (np.asarray(each, dtype=np.float64)[:, :_JOINT] for each in (path, truth))
    if not np.isfinite(values).all():
        return 1.0
    low, high = np.quantile(real, _INSIDE, axis=0)
    edges = [np.array([-np.inf, *np.linspace(a, b, _BINS - 1), np.inf]) for a, b in zip(low, high, strict=True)]
    return hellinger(*(np.histogramdd(each, edges)[0].ravel() / len(each) for each in (values, real)))


def _horizon(truth: ArrayLike, forecast: ArrayLike) -> tuple[Array, Array]:
    true, guess = np.asarray(truth, dtype=np.float64), np.asarray(forecast, dtype=np.float64)
    if true.shape != guess.shape or true.ndim not in (1, 2) or true.size == 0:
        raise ValueError(
            f"truth and forecast must both be (horizon,) or (horizon, variables), got {true.shape} and {guess.shape}"
        )
    return (true[:, None], guess[:, None]) if true.ndim == 1 else (true, guess)
