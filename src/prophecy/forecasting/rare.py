"""Rare events: most values are zero. Size and probability of what is not, and the distribution of both together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophecy._forecast import PROBABILITIES
from prophecy.forecasting.series import Series
from prophecy.forecasting.settings import Settings

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

_BEYOND = 1.5  # times the largest value: what lies beyond it where quantiles ask for more values


def is_rare(series: Series, settings: Settings) -> bool:
    y = series.y[series.seen]
    return bool(len(y) and (y >= 0).all() and np.mean(y == 0) >= settings.rare_zeros)


@dataclass(frozen=True)
class RareEvents:
    """Size and probability of what is not zero, each smoothed on its own (Teunter, Syntetos and Babai); their product.

    A bank of rates for each, weighed by exp(-n / 2 log(mean squared error)) of the product's one-step errors.
    """

    rates: tuple[float, ...]

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> tuple[Array, Array | None]:
        size_rate, chance_rate = (grid.ravel() for grid in np.meshgrid(self.rates, self.rates))
        first = x[: max(int(origins.min()), 1)]
        some = first[first != 0]
        size = np.full(len(size_rate), some.mean() if len(some) else 0.0)
        chance = np.full(len(size_rate), max(len(some), 0.5) / len(first))
        squares, rates = np.zeros(len(size_rate)), np.empty(len(origins))
        at = {int(origin): place for place, origin in enumerate(origins)}
        for t in range(int(origins.max()) + 1):
            if t in at:
                score = -0.5 * max(t, 1) * np.log(np.maximum(squares, 1e-300))
                weight = np.exp(score - score.max())
                rates[at[t]] = float(weight @ (size * chance)) / float(weight.sum())
            if t < len(x):
                squares += (x[t] - size * chance) ** 2
                there = x[t] != 0
                size = size + size_rate * (x[t] - size) if there else size
                chance = chance + chance_rate * (there - chance)
        return np.repeat(rates[:, None], steps, axis=1), None


def rare_quantiles(series: Series, rate: Array, settings: Settings) -> Array:
    """(probabilities, horizon): those of the values seen, the sizes scaled so that the mean is the expected rate."""
    values = np.sort(series.y[series.seen][-settings.longest :])
    place = PROBABILITIES * (len(values) + 1) - 1
    found = np.interp(place, np.arange(len(values)), values)
    found = np.where(place > len(values) - 1, values[-1] * _BEYOND, found)
    # The probability of a zero is that of the values seen; what is not zero is larger or smaller with the rate.
    return np.asarray(found[:, None] * (rate / max(float(values.mean()), 1e-300)))
