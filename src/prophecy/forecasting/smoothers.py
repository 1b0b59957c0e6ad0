"""Exponential smoothing: a bank of constructed state-space models (level, slope, damping, season), mixed in context."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from prophecy._arrays import Array, Indices, Mask
from prophecy.forecasting.seasons import Seasonal, profiles
from prophecy.forecasting.series import Ahead, Fitted
from prophecy.forecasting.settings import DEFAULT, Settings


@dataclass(frozen=True, eq=False)
class Bank:
    """One array entry per system; free: how many of its gains and dampings are neither 0 nor 1."""

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
            rows.add((alpha, 0.0, 0.0, gamma))
            rows |= {(alpha, alpha * share, phi, gamma) for phi in (dampings if slopes else ()) for share in shares}
    alpha, beta, phi, gamma = np.array(sorted(rows), dtype=np.float64).T
    free = (alpha * (1 - alpha) > 0) * 1.0 + (beta > 0) + (phi * (1 - phi) > 0) + (gamma > 0)
    return Bank(*(np.ascontiguousarray(column) for column in (alpha, beta, phi, gamma, free)))


@dataclass(frozen=True, eq=False)
class FittedSmoothers:
    """Nothing is fitted beforehand: all follows the values up to each origin.

    half_slope: the Theta method, a smoother without slope around half of the straight line's slope: the slope is there
    or not, so that it is as uncertain as it is large.
    """

    half_slope: bool
    states: int  # samples of the season that the systems keep states for; 1 without
    settings: Settings

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> Ahead:
        from prophecy.laws.kernels import entry

        kept = max(self.settings.smoothed, 4 * self.states)
        first = max(0, (int(origins.min()) - kept) // self.states * self.states)
        x = np.where(seen, x, np.nan)[first:]
        early = int(origins.min()) - first
        slope = _slope(x[:early]) / 2 if self.half_slope else 0.0
        flat = x - slope * np.arange(len(x))
        known = flat[:early][~np.isnan(flat[:early])]
        scale, centre = float(np.std(known)) or 1.0, float(known[-1])
        grid = bank(self.states > 1, not self.half_slope, self.settings)
        mean, within, between, _ = entry.smooth(
            (flat - centre) / scale, grid.alpha, grid.beta, grid.phi, grid.gamma, grid.free, self.states,
            origins - first, steps,
        )  # fmt: skip
        along = slope * np.arange(1, steps + 1)
        paths = mean * scale + centre + slope * (origins[:, None] - 1 - first) + along
        deviations = np.sqrt((within + between) * scale**2 + along**2)
        # A level passes through any value, with a slope through any two: nothing is left to expect errors by.
        return paths, deviations if len(known) > 2 - self.half_slope else np.full_like(deviations, np.nan)


def fit_smoothers(x: Array, seasons: tuple[int, ...], half_slope: bool, settings: Settings) -> Fitted:
    """Seasonal profiles are those of x; their changes are states of the smoothers."""
    found, _ = profiles(x, seasons, settings)
    longest = max((len(one.deviations) for one in found), default=1)
    states = longest if longest <= settings.season_states else 1
    made = FittedSmoothers(half_slope, states, settings)
    return Seasonal(found, made) if found else made


def _slope(x: Array) -> float:
    """Of the straight line through the values that are there."""
    at = np.nonzero(~np.isnan(x))[0]
    times = at - at.mean()
    return float(times @ x[at]) / max(float(times @ times), 1e-300)
