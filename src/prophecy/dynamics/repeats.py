"""What the past did before: the last value, the mean, and what followed the stretch most like the latest one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_SEARCHED = 8192  # samples back from each origin in which a match is looked for


@dataclass(frozen=True)
class Copy:
    residual: float = np.inf
    conclusive: bool = False

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        return np.repeat(values[origins - 1][:, None], horizon, axis=1)


@dataclass(frozen=True)
class Mean:
    residual: float = np.inf
    conclusive: bool = False

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        means = np.cumsum(values, axis=0)[origins - 1] / origins[:, None]
        return np.repeat(means[:, None], horizon, axis=1)


@dataclass(frozen=True)
class Repetition:
    """Find the stretch most like the last `window` samples and repeat what came after it, over and over."""

    window: int
    residual: float = np.inf
    conclusive: bool = False

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        return np.stack([self._from(values[max(0, origin - _SEARCHED) : origin], horizon) for origin in origins])

    def _from(self, past: Array, horizon: int) -> Array:
        window = min(self.window, len(past) // 3)
        if window < 1:
            return np.tile(past[-1], (horizon, 1))
        latest = past[-window:]
        ends = len(past) - window - max(window // 2, 1)
        searched = past[: ends + window - 1]
        energy = np.concatenate([[0.0], np.cumsum((searched**2).sum(axis=1))])
        alike = sum(np.correlate(a, b, "valid") for a, b in zip(searched.T, latest.T, strict=True))
        gaps = energy[window:] - energy[:-window] - 2 * alike
        period = len(past) - (int(np.argmin(gaps)) + window)
        return np.asarray(past[len(past) - period + np.arange(horizon) % period])


@dataclass(frozen=True)
class Season:
    """Repeat the last `period` samples, moved on by as much as they had moved on from the ones before."""

    period: int
    residual: float = np.inf
    conclusive: bool = False

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        steps = np.arange(horizon)
        paths = np.empty((len(origins), horizon, values.shape[1]))
        for path, origin in zip(paths, origins, strict=True):
            period = min(self.period, max(1, origin // 2))
            last, before = values[origin - period : origin], values[max(0, origin - 2 * period) : origin - period]
            drift = last.mean(axis=0) - before.mean(axis=0) if len(before) else 0.0
            path[:] = last[steps % period] + (1 + steps // period)[:, None] * drift
        return paths


def fit_season(values: Array) -> Season | None:
    """The period whose differences vary least, among those the context holds three times."""
    recent = values[-_SEARCHED // 4 :]
    periods = np.arange(2, len(recent) // 3 + 1)
    if not len(periods):
        return None
    spread = [float(np.sum(np.var(recent[p:] - recent[:-p], axis=0))) for p in periods]
    return Season(int(periods[int(np.argmin(spread))]))
