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
        self.series, self.length = series, length
        self._total = 0
        self._empty()

    def append(self, values: Array | float, time: float) -> None:
        """One moment: (series,), or a number where there is one series."""
        size = len(self._times)
        if self._total == size < self.length:
            size = self._grow(size + 1)
        place = self._total % size
        self._values[:, place] = values
        self._times[place] = time
        self._total += 1

    def extend(self, values: Array, times: Array | None = None) -> None:
        """Many moments: values (series, time), and their times where they have any."""
        times = np.zeros(values.shape[1]) if times is None else times
        first = self._total + values.shape[1] - self.length
        if first > 0 and first >= self._total:
            values, times, self._total = values[:, -self.length :], times[-self.length :], first
        if self._total + values.shape[1] > len(self._times):
            self._grow(min(self._total + values.shape[1], self.length))
        places = (self._total + np.arange(values.shape[1])) % len(self._times)
        self._values[:, places] = values
        self._times[places] = times
        self._total += values.shape[1]

    def shift(self, seconds: float) -> None:
        """Move all times: the clock was set."""
        self._times += seconds

    def newest(self) -> float:
        """The time of the last moment."""
        return float(self._times[(self._total - 1) % len(self._times)])

    def values(self) -> Array:
        return self._ordered(self._values)

    def times(self) -> Array:
        return self._ordered(self._times)

    def _empty(self) -> None:
        start = min(64, self.length)
        self._values, self._times = np.zeros((self.series, start)), np.zeros(start)
        self._total = 0

    def _grow(self, least: int) -> int:
        """Make room for `least` moments at least; only before the ring has come round."""
        size = len(self._times)
        more = min(max(2 * size, least), self.length) - size
        if more > 0:
            self._values = np.concatenate([self._values, np.zeros((self.series, more))], axis=1)
            self._times = np.concatenate([self._times, np.zeros(more)])
        return size + max(more, 0)

    def _ordered(self, ring: Array) -> Array:
        if self._total <= ring.shape[-1]:
            return ring[..., : self._total].copy()
        return np.roll(ring, -(self._total % ring.shape[-1]), axis=-1)
