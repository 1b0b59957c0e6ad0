"""Growth that saturates, approaches to a level, steps: a bank of sigmoid curves, mixed in context.

    x(t) = a + b g(t) + noise,   g(t) = 1 / (1 + exp(-(t - c) / τ))

Long after c this is an exponential approach to a level, long before it exponential growth. Of every curve (c, τ) of a
grid a and b are solved by least squares from the values up to an origin; curves are mixed by their likelihood, so that
what cannot be told yet (whether growth will end, and where) widens the distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from prophecy.forecasting.settings import Settings

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

_BLOCKS = 128  # of values, at most, whose means a curve is fitted to: the fastest one rises over 1/24 of the context


@dataclass(frozen=True)
class Sigmoids:
    """ratio: of one time τ to the next; they reach from a 24th of the context to twice its length. Centres are `ratio`
    apart in units of τ as well, from 3 τ before the context to 3 τ after it."""

    ratio: float

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> tuple[Array, Array | None]:
        first, last = int(origins.min()), int(origins.max())
        centre = float(x[:first][seen[:first]].mean()) if seen[:first].any() else 0.0
        width = -(-last // _BLOCKS)
        starts = np.arange(0, last, width)
        there, y = seen[:last].astype(np.float64), np.where(seen, x - centre, 0.0)[:last]
        count, total, square = (np.add.reduceat(each, starts) for each in (there, y, y * y))
        curve = _Curves.over(last, self.ratio)
        g = curve(np.asarray(starts + (width - 1) / 2, dtype=np.float64))
        place = np.maximum(origins // width, 1) - 1
        n, s, q = (np.cumsum(each)[place] for each in (count, total, square))
        sums = [np.cumsum(each, axis=1)[:, place] for each in (g * count, g * g * count, g * total)]
        g1, g2, gy = sums
        det = np.maximum(n * g2 - g1 * g1, 1e-12 * n * g2 + 1e-300)
        b = (n * gy - g1 * s) / det
        a = (s - b * g1) / n
        left = np.maximum(q - a * s - b * gy, 1e-13 * q + 1e-300)
        likelihood = -n / 2 * np.log(left)
        weight = np.exp(likelihood - likelihood.max(axis=0))
        weight /= weight.sum(axis=0)
        variance = left / np.maximum(n - 4, 1)
        h = curve(np.arange(first, last + steps, dtype=np.float64))
        mean, deviation = np.empty((len(origins), steps)), np.empty((len(origins), steps))
        for o, origin in enumerate(origins):
            kept = weight[:, o] > 1e-4
            w, ahead = weight[kept, o] / weight[kept, o].sum(), h[kept, origin - first : origin - first + steps]
            path = a[kept, o, None] + b[kept, o, None] * ahead
            lever = 1 / n[o] + (ahead - (g1[kept, o] / n[o])[:, None]) ** 2 * (n[o] / det[kept, o])[:, None]
            mean[o] = w @ path
            deviation[o] = np.sqrt(w @ (variance[kept, o, None] * (1 + lever) + (path - mean[o]) ** 2))
        return mean + centre, deviation


@dataclass(frozen=True, eq=False)
class _Curves:
    """centres, times: (curves,); each curve is 0 at time 0 and 1 at `length`."""

    centres: Array
    times: Array
    length: int

    @classmethod
    def over(cls, length: int, ratio: float) -> _Curves:
        times = length / 24 * ratio ** np.arange(int(np.log(48) / np.log(ratio)) + 1)
        grids = [np.arange(-3 * tau, length + 3 * tau, (ratio - 1) * 2 * tau) for tau in times]
        return cls(np.concatenate(grids), np.repeat(times, [len(grid) for grid in grids]), length)

    def __call__(self, t: Array) -> Array:
        low, high = (expit((end - self.centres) / self.times)[:, None] for end in (0.0, float(self.length)))
        return np.asarray((expit((t - self.centres[:, None]) / self.times[:, None]) - low) / (high - low))


def fit_sigmoids(x: Array, seen: Mask, settings: Settings) -> Sigmoids | None:
    """None where fewer than two values a number of the curve are there."""
    return Sigmoids(settings.sigmoid_ratio) if seen.sum() >= 8 else None
