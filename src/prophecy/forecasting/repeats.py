"""What the past did before: what followed the stretch most like the latest one."""

from dataclasses import dataclass

import numpy as np

from prophecy._arrays import Array, Indices, Mask
from prophecy.forecasting.series import Ahead


@dataclass(frozen=True)
class Repetition:
    """Find the stretch most like the last `window` samples and repeat what came after it, over and over.

    searched: how many samples back from each origin it may lie; bounds the cost.
    """

    window: int
    searched: int = 8192

    def predictive(self, values: Array, seen: Mask, origins: Indices, horizon: int) -> Ahead:
        pasts = (values[max(0, origin - self.searched) : origin] for origin in origins)
        return np.stack([self._from(past, horizon) for past in pasts]), None

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
