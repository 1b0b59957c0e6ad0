"""Exponential smoothing: a bank of constructed state-space models (level, slope, damping, season), mixed in context."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting.seasons import Profile, profiles
from prophecy.forecasting.settings import DEFAULT, Settings

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Bank:
    """One array entry per system; free: how many of its gains and dampings the data choose."""

    alpha: Array
    beta: Array
    phi: Array
    gamma: Array
    free: Array


def _grid(count: int, largest: float) -> Array:
    """From 0 to the largest, finer towards 0."""
    return np.asarray(largest * np.linspace(0, 1, count) ** 2)


@cache
def bank(seasonal: bool, slopes: bool, settings: Settings = DEFAULT) -> Bank:
    """A grid over the stable region: level gain, slope gain as a share of it, damping, season gain of what is left."""
    gains, shares = _grid(settings.level_gains, 1.0), _grid(*settings.slope_gains)
    dampings = 1 - _grid(settings.slope_dampings[0], 1 - settings.slope_dampings[1])
    season_gains = _grid(*settings.season_gains) if seasonal else np.zeros(1)
    rows = set()
    for alpha in gains:
        for gain in season_gains:
            gamma = gain * (1 - alpha)
            rows.add((alpha, 0.0, 0.0, gamma, 1 + (gamma > 0)))
            for phi in dampings if slopes else dampings[:0]:
                free = (2 if phi == 1 else 3) + (gamma > 0)
                rows |= {(alpha, alpha * share, phi, gamma, free) for share in shares}
    return Bank(*(np.ascontiguousarray(column) for column in np.array(sorted(rows), dtype=np.float64).T))


@dataclass(frozen=True, eq=False)
class FittedSmoothers:
    """Seasonal profiles from the context they were fitted to; everything else follows the values up to each origin.

    half_slope: the Theta method, a smoother without slope around half of the straight line's slope.
    """

    log: bool
    half_slope: bool
    found: list[Profile]
    states: int  # samples of the season that the systems keep states for; 1 without
    kept: int
    settings: Settings

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> tuple[Array, Array | None]:
        from prophecy.laws.kernels.smoothing import smooth

        horizon = steps
        first = max(0, (int(origins.min()) - self.kept) // self.states * self.states)
        for one in self.found:
            x = one.removed(x)
        x = np.where(seen, x, np.nan)[first:]
        early = int(origins.min()) - first
        slope = _slope(x[:early]) / 2 if self.half_slope else 0.0
        flat = x - slope * np.arange(len(x))
        known = flat[:early][~np.isnan(flat[:early])]
        scale, centre = float(np.std(known)) or 1.0, float(known[-1])
        grid = bank(self.states > 1, not self.half_slope, self.settings)
        mean, within, between, _ = smooth(
            (flat - centre) / scale, grid.alpha, grid.beta, grid.phi, grid.gamma, grid.free, self.states,
            origins - first, horizon, np.full(len(grid.beta), self._drag(len(x))),
        )  # fmt: skip
        ahead = origins[:, None] + np.arange(horizon)
        paths = mean * scale + centre + slope * (origins[:, None] - 1 - first + self._along(horizon, len(x)))
        deviation = np.sqrt(within + between) * scale
        for one in reversed(self.found):
            deviation = deviation * (1 + one._at(ahead)) if one.ratio else deviation
            paths = one.restored(paths, ahead)
        if self.found and (self.log or self.found[0].ratio):
            deviation = deviation * self._uneven(x, ahead, first)
        return paths, deviation

    def _uneven(self, left: Array, ahead: Indices, first: int) -> Array:
        """How much wider than in proportion to the season errors are at the times `ahead`; 1 on average.

        Noise may go with the season (power 0 here), not at all (-1) or like that of counts (-1/2). The power is that of
        the changes of what the season leaves (from sample `first` on), drawn towards 0 where these are few.
        """
        factor = np.ones(int(np.lcm.reduce([len(one.deviations) for one in self.found])))
        for one in self.found:
            here = one._at(np.arange(len(factor)))
            factor = factor * (1 + here if one.ratio else np.exp(here))
        height = np.log(factor)
        change = np.abs(left[1:-1] - (left[2:] + left[:-2]) / 2)
        at = height[(np.arange(1, len(left) - 1) + first) % len(factor)]
        used = change > 0
        if used.sum() < 3:
            return np.ones(ahead.shape)
        size, at = np.log(change[used]), at[used] - at[used].mean()
        # The logarithm of a normal deviate's size has variance pi² / 8; three neighbours share each change.
        spread = float(at @ at)
        power = float(np.clip(float(at @ size) / (spread + 1.5 * np.pi**2 / 8), -1.0, 0.0))
        uneven = factor**power
        return np.asarray((uneven / np.sqrt(np.mean(uneven**2)))[ahead % len(factor)])

    def _drag(self, samples: int) -> float:
        """Of a slope per step. A slope of logarithms is growth: without end it is more than any context can say."""
        return 1 - 1 / (self.settings.log_damping * samples) if self.log else 1.0

    def _along(self, horizon: int, samples: int) -> Array:
        """How many undamped steps of the slope each step is worth."""
        return np.asarray(np.cumsum(self._drag(samples) ** np.arange(1, horizon + 1)))


def fit_smoothers(
    x: Array, seasons: tuple[int, ...], log: bool, half_slope: bool, settings: Settings
) -> FittedSmoothers:
    """log: x are logarithms already."""
    found, _ = profiles(x, seasons, bool((x > 0).all()) and not log, settings)
    longest = max((len(one.deviations) for one in found), default=1)
    states = longest if longest <= settings.season_states else 1
    kept = max(settings.smoothed, 4 * states)
    return FittedSmoothers(log, half_slope, found, states, kept, settings)


def _slope(x: Array) -> float:
    """Of the straight line through the values that are there."""
    at = np.nonzero(~np.isnan(x))[0]
    times = at - at.mean()
    return float(times @ x[at]) / max(float(times @ times), 1e-300)
