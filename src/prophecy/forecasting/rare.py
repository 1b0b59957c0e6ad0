"""Rare events: many values are one and the same, the least or the largest. Size and probability of what departs from
it, and the distribution of both together."""

from dataclasses import dataclass

import numpy as np

from prophecy._arrays import Array, Indices, Mask
from prophecy._forecast import PROBABILITIES
from prophecy.forecasting.series import Ahead, Series
from prophecy.forecasting.settings import Settings

_BEYOND = 1.5  # times the largest departure: what lies beyond it where quantiles ask for more values


def resting(series: Series, settings: Settings) -> float | None:
    """The least or the largest value where at least the share `rare_ties` of all values equals another one there; None
    elsewhere."""
    y = series.y[series.seen]
    ends = (float(y.min()), float(y.max())) if len(y) else ()
    ties = [int(np.sum(y == end)) - 1 for end in ends]
    return ends[int(np.argmax(ties))] if ties and max(ties) >= max(settings.rare_ties * len(y), 1) else None


@dataclass(frozen=True)
class RareEvents:
    """Size and probability of departures from `rest`, each smoothed on its own (Teunter, Syntetos and Babai); their
    product.

    A bank of rates for each, weighed by exp(-n / 2 log(mean squared error)) of the product's one-step errors.
    """

    rest: float
    rates: tuple[float, ...]

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> Ahead:
        x = x - self.rest
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
        return self.rest + np.repeat(rates[:, None], steps, axis=1), None


def rare_quantiles(series: Series, rest: float, path: Array, settings: Settings) -> Array:
    """(probabilities, horizon): departures as probable as the rate of the path asks for, with the distribution of those
    seen; where they are certain, they are larger."""
    values = series.y[series.seen][-settings.longest :] - rest
    sign = -1.0 if values.min() < 0 else 1.0
    some = np.sort(sign * values[values != 0])
    rate = np.maximum(sign * (path - rest), 0.0)
    chance = np.clip(rate / some.mean(), 1e-300, 1.0)
    probabilities = PROBABILITIES if sign > 0 else 1 - PROBABILITIES
    share = 1 - (1 - probabilities[:, None]) / chance  # of departures; below 0 there are none
    place = share * (len(some) + 1) - 1
    found = np.where(place > len(some) - 1, some[-1] * _BEYOND, np.interp(place, np.arange(len(some)), some))
    return np.asarray(rest + sign * np.where(share > 0, found * (rate / (chance * some.mean())), 0.0))
