"""The last values as they came, for forecasts of many steps and for starting over with other memories."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Context:
    """A ring of the last `length` moments: values (series, kept) and times (kept,), oldest first when read.

    It grows by doubling, so that many series with short histories stay small.
    """

    def __init__(self, series: int, length: int) -> None:
        self.length = length
        self._values = np.zeros((series, min(64, length)))
        self._times = np.zeros(min(64, length))
        self._total = 0

    @property
    def kept(self) -> int:
        return min(self._total, self.length)

    def append(self, values: Array, time: float) -> None:
        size = len(self._times)
        if self._total == size < self.length:
            more = min(size, self.length - size)
            self._values = np.concatenate([self._values, np.zeros((len(values), more))], axis=1)
            self._times = np.concatenate([self._times, np.zeros(more)])
            size += more
        place = self._total % size
        self._values[:, place] = values
        self._times[place] = time
        self._total += 1

    def values(self) -> Array:
        return self._ordered(self._values)

    def times(self) -> Array:
        return self._ordered(self._times)

    def refill(self, values: Array, times: Array) -> None:
        """Start over with these moments."""
        series = len(self._values)
        self.__init__(series, self.length)  # type: ignore[misc]
        for moment, time in zip(values.T, times, strict=True):
            self.append(moment, float(time))

    def _ordered(self, ring: Array) -> Array:
        if self._total <= ring.shape[-1]:
            return ring[..., : self._total].copy()
        return np.roll(ring, -(self._total % ring.shape[-1]), axis=-1)
