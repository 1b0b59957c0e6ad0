r"""One series, one value at a time: a lifted block (see `lifting`) that is filled as the values come.

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

A plain step of order 64 is four thousand multiplications, which take less time than calling NumPy for them. So the
state stays where the block began; the outputs that it alone would give, O x, are known since then; and a prediction
adds the few values that came after it, weighted by the kernel: y[k] = (O x)[k] + Σ_j kernel[j] u[k - j]. One
matrix-vector product per `LENGTH` values moves the state on. The numbers are those of the step, up to the order of the
sums. LegS has no constant block matrix; its stream takes the O(N) steps of `scan`.
"""

from __future__ import annotations

from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.engines import lifting, scan
from prophecy.system import ScaledSystem, System

Array = NDArray[Any]

LENGTH = 12  # measured at orders 8 to 128: shorter blocks move the state too often, longer ones make long sums


class SystemStream:
    """Where a state stood and the values since. For speed, the owner fills `pending`:

    if len(stream.pending) == LENGTH: stream.advance()
    stream.pending.append(value)
    """

    def __init__(self) -> None:
        self.pending: list[float] = []
        self._count, self._low, self._high = 0, 0.0, 0.0

    def begin(self, state: Array, count: int, low: float, high: float) -> None:
        """Go on from a state that has seen `count` values between `low` and `high`."""
        self._count, self._low, self._high = count, low, high
        self.pending.clear()

    def advance(self) -> None:
        """Move the state over everything pending."""
        pending = self.pending
        self._low, self._high = min(self._low, *pending), max(self._high, *pending)
        self._count += len(pending)
        pending.clear()

    def predict(self) -> float:
        """y after the newest pending value; there must be one."""
        raise NotImplementedError

    def state(self) -> Array:
        """The state (N,) that has seen everything pending, as a new array."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        return self._count + len(self.pending)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value seen."""
        return min(self._low, *self.pending), max(self._high, *self.pending)


class LiftedStream(SystemStream):
    """A constant float64 system."""

    def __init__(self, system: System) -> None:
        super().__init__()
        N, L = system.order, LENGTH
        block = lifting.block_matrix(system, L).T  # [[K, O], [R, A^L]] on [u, x]
        O, R, P = block[:L, L:], block[L:, :L], block[L:, L:]
        self._system, self._observe = system, O
        self._matrix = np.ascontiguousarray(np.block([[P, R], [O @ P, O @ R]]))  # [x, u] to [x', O x']
        kernel = lifting.lift(system, L).kernel.tolist()
        self._weights = [tuple(kernel[:k][::-1]) for k in range(L + 1)]
        self._joint, self._made = np.zeros(N + L), np.zeros(N + L)
        self._x, self._u = self._joint[:N], self._joint[N:]
        self._new_x, self._new_base = self._made[:N], self._made[N:]
        self._base: list[float] = []

    def begin(self, state: Array, count: int, low: float, high: float) -> None:
        super().begin(state, count, low, high)
        self._x[:] = state
        self._base = [0.0, *(self._observe @ self._x).tolist()]

    def advance(self) -> None:
        self._u[:] = self.pending
        np.dot(self._matrix, self._joint, self._made)
        self._x[:] = self._new_x
        self._base[1:] = self._new_base.tolist()
        super().advance()

    def predict(self) -> float:
        pending = self.pending
        count = len(pending)
        moved: float = self._base[count] + sum(map(mul, self._weights[count], pending))
        return moved

    def state(self) -> Array:
        x, A, B = self._x.copy(), self._system.A, self._system.B
        for value in self.pending:
            x = A @ x + B * value
        return x


class ScaledStream(SystemStream):
    """LegS in float64. `_taken` of the pending values are in the sums already."""

    def __init__(self, system: ScaledSystem) -> None:
        super().__init__()
        self._system, self._taken, self._now = system, 0, np.zeros(1)

    def begin(self, state: Array, count: int, low: float, high: float) -> None:
        super().begin(state, count, low, high)
        self._scan, self._taken = scan.Scan(self._system, state[None, :], count), 0

    def advance(self) -> None:
        self._take()
        super().advance()
        self._taken = 0

    def predict(self) -> float:
        self._take()
        return float(self._scan.read(self._now)[0])

    def state(self) -> Array:
        self._take()
        x: Array = self._scan.state()[0]
        return x

    def _take(self) -> None:
        for value in self.pending[self._taken :]:
            self._now[0] = value
            self._scan.step(self._now)
        self._taken = len(self.pending)


def stream(system: System | ScaledSystem) -> SystemStream:
    """The stream of a system that `streams`."""
    return LiftedStream(system) if isinstance(system, System) else ScaledStream(system)


def streams(system: System | ScaledSystem) -> bool:
    """Whether a stream gives the numbers of the step: in float64, and not where rounding grows."""
    if system.dtype != np.float64:
        return False
    return lifting.is_stable(system) if isinstance(system, System) else scan.supports(system)
