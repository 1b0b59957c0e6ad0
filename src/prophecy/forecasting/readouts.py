"""Direct readouts: from the last values to each value ahead, all horizons in one ridge solve over the context."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from prophecy._arrays import Array, Indices, Mask
from prophecy.bases import legt
from prophecy.forecasting.series import Ahead
from prophecy.forecasting.settings import Settings


@dataclass(frozen=True, eq=False)
class FittedReadout:
    """x[origin + h] = last + (memory of the last values less the last of them) @ coefficients[:, h].

    memory: (window, kept), what is kept of a window; oldest value first.
    """

    memory: Array
    coefficients: Array

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> Ahead:
        windows = x[origins[:, None] + np.arange(-len(self.memory), 0)]
        last = windows[:, -1:]
        return np.asarray(last + ((windows - last) @ self.memory) @ self.coefficients[:, :steps]), None


def fit_readout(x: Array, horizon: int, memory: Array, settings: Settings) -> FittedReadout | None:
    """The ridge readout with the least generalised cross-validation error; None where the context has fewer windows
    than twice what the memory (`lags` or `legendre`) keeps."""
    window, kept = memory.shape
    if len(x) - window - horizon + 1 < 2 * kept:
        return None
    x = x[-(settings.longest + window + horizon) :]
    low, high = 2 * np.log10(settings.readout_ridges)
    ridges = 10.0 ** (np.arange(round(low), round(high) + 1) / 2)  # two a decade
    return FittedReadout(memory, _solved(x - x.mean(), memory, horizon, ridges))


def lags(count: int) -> Array:
    """The memory that keeps the last `count` values (but the newest, whose difference from itself is zero)."""
    return np.eye(count)[:, :-1]


def legendre(count: int, window: int, order: int) -> Array:
    """The last `count` values, and the first `order` LegT coefficients of the last `window`."""
    ages = np.arange(window)[::-1] + 0.5
    whole = legt(order=order, window=float(window)).evaluate(ages) / np.sqrt(window)
    return np.column_stack([np.eye(window)[:, window - count : window - 1], whole])


def _solved(x: Array, memory: Array, horizon: int, ridges: Array) -> Array:
    """(kept, horizon) readout weights; ridges are shares of the mean eigenvalue. All products of windows come from one
    pass (`window_products`): entries less that of the newest value are linear maps of the window.
    """
    from prophecy.laws.kernels import entry

    window = len(memory)
    count = len(x) - window - horizon + 1
    products = entry.window_products(np.ascontiguousarray(x), window, window + horizon)
    last = products[window - 1]
    own, ahead = products[:, :window], products[:, window:]
    inner = own - last[:window] - last[:window, None] + last[window - 1]
    cross = ahead - last[:window, None] - last[window:] + last[window - 1]
    squares = np.cumsum(np.concatenate([[0.0], x**2]))
    energy = squares[count + window : count + window + horizon] - squares[window : window + horizon]
    energy = float(np.sum(energy - 2 * last[window:] + last[window - 1]))
    gram, target = memory.T @ inner @ memory, memory.T @ cross
    values, vectors = eigh(gram, check_finite=False)
    values = np.maximum(values, 0.0)
    projected = vectors.T @ target
    power = np.sum(projected**2, axis=1)
    ridges = ridges[:, None] * max(float(values.mean()), 1e-300)
    gain = 1 / (values + ridges)
    left = energy - (2 * gain - values * gain**2) @ power
    freedom = np.minimum((values * gain).sum(axis=1) / count, 0.99)
    best = int(np.argmin(np.maximum(left, 0.0) / (1 - freedom) ** 2))
    return np.asarray(vectors @ (gain[best][:, None] * projected))
