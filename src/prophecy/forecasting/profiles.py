"""Means of past seasons, phase by phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class MeanProfile:
    """The mean of the last `cycles` seasons, phase by phase."""

    season: int
    cycles: int

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> tuple[Array, Array | None]:
        cycles = min(self.cycles, int(origins.min()) // self.season)
        back = origins[:, None, None] - self.season * np.arange(1, cycles + 1)[:, None] + np.arange(self.season)
        return np.asarray(x[back].mean(axis=1)[:, np.arange(steps) % self.season]), None
