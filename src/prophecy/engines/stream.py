r"""One series, one value at a time, for `Predictor`: compiled steps, since calling NumPy takes longer than the step.

A constant system has `kernels.entry.Stream`; LegS takes the O(N) steps of `scan`. Both give the numbers of
`engines.step`, up to the order of the sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.engines import lifting, scan
from prophecy.engines.kernels import entry
from prophecy.system import ScaledSystem, System

Array = NDArray[Any]


class ScaledStream:
    """`entry.Stream` for LegS."""

    def __init__(self, system: ScaledSystem, x: Array, count: int, low: float, high: float) -> None:
        self._scan, self._now = scan.Scan(system, x[None, :], count), scan.grouped(np.zeros((1, 1)))
        self.count, self.low, self.high = count, low, high

    def take(self, u: float) -> None:
        self._now[0, 0, 0] = u
        self.next = float(self._scan.take(self._now)[0, 0, 0])
        self.count, self.last, self.low, self.high = self.count + 1, u, min(self.low, u), max(self.high, u)

    def state(self) -> Array:
        x: Array = self._scan.states()[0]
        return x


def stream(system: System | ScaledSystem, x: Array, count: int, low: float, high: float) -> Any:
    """The stream of a system that `streams`, from a state x (N,) after `count` values between `low` and `high`."""
    if isinstance(system, ScaledSystem):
        return ScaledStream(system, x, count, low, high)
    return entry.Stream(_columns(system), system.B, system.C, system.D, x, count, low, high)


@lifting.once
def _columns(system: System) -> Array:
    return np.ascontiguousarray(system.A.T)


def streams(system: System | ScaledSystem) -> bool:
    """Whether a stream gives the numbers of the step: in float64, and not where rounding grows."""
    if system.dtype != np.float64:
        return False
    return lifting.is_stable(system) if isinstance(system, System) else scan.supports(system)
