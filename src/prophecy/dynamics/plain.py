"""Forecasts anyone would make: the last value, a straight line, the mean day of a week, the rate of rare events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics.settings import DEFAULT

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Drift:
    """The last value, moved on by the mean step so far; `share` 0 copies it."""

    share: float

    def rollout(self, y: Array, origins: Indices, horizon: int) -> Array:
        last, steps = y[origins - 1], np.arange(1, horizon + 1)
        slope = self.share * (last - y[0]) / np.maximum(origins - 1, 1)
        return np.asarray(last[:, None] + slope[:, None] * steps)


@dataclass(frozen=True)
class MeanProfile:
    """The mean of the last `cycles` seasons, phase by phase; with season 1 the mean of the last `cycles` values."""

    season: int
    cycles: int

    def rollout(self, y: Array, origins: Indices, horizon: int) -> Array:
        cycles = min(self.cycles, int(origins.min()) // self.season)
        back = origins[:, None, None] - self.season * np.arange(1, cycles + 1)[:, None] + np.arange(self.season)
        return np.asarray(y[back].mean(axis=1)[:, np.arange(horizon) % self.season])


@dataclass(frozen=True)
class Growth:
    """The last season, moved on by as much as it had moved on from the one before."""

    season: int

    def rollout(self, y: Array, origins: Indices, horizon: int) -> Array:
        steps = np.arange(horizon)
        last = y[origins[:, None] - self.season + steps % self.season]
        both = y[origins[:, None] - 2 * self.season + np.arange(2 * self.season)]
        rise = both[:, self.season :].mean(axis=1) - both[:, : self.season].mean(axis=1)
        return np.asarray(last + rise[:, None] * (1 + steps // self.season))


@dataclass(frozen=True)
class RareEvents:
    """Size and probability of what is not zero, each smoothed on its own (Teunter, Syntetos and Babai); their product.

    A bank of rates for each, weighed by exp(-n / 2 log(mean squared error)) of the product's one-step errors.
    """

    rates: tuple[float, ...] = DEFAULT.rare_rates

    def rollout(self, y: Array, origins: Indices, horizon: int) -> Array:
        size_rate, chance_rate = (grid.ravel() for grid in np.meshgrid(self.rates, self.rates))
        first = y[: max(int(origins.min()), 1)]
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
            if t < len(y):
                squares += (y[t] - size * chance) ** 2
                there = y[t] != 0
                size = size + size_rate * (y[t] - size) if there else size
                chance = chance + chance_rate * (there - chance)
        return np.repeat(rates[:, None], horizon, axis=1)
