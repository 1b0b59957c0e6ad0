"""What the past did before: the last value, the mean, and what followed the stretch most like the latest one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_SEARCHED = 16384  # samples back from each origin in which a match is looked for


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
        return np.stack([np.tile(values[:origin].mean(axis=0), (horizon, 1)) for origin in origins])


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
        stretches = np.lib.stride_tricks.sliding_window_view(past[: ends + window - 1], window, axis=0)
        gaps = ((stretches - latest.T) ** 2).sum(axis=(1, 2))
        period = len(past) - (int(np.argmin(gaps)) + window)
        return np.asarray(past[len(past) - period + np.arange(horizon) % period])
