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
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.engines import lifting, scan
from prophecy.system import ScaledSystem, System

Array = NDArray[Any]

LENGTH = 12  # measured at orders 8 to 128: shorter blocks move the state too often, longer ones make long sums


class LiftedStream:
    """A constant float64 system. The owner fills `pending` and calls `advance` when it holds `LENGTH` values."""

    def __init__(self, system: System) -> None:
        self.pending: list[float] = []
        N, L = system.order, LENGTH
        kernel, O, R, P = lifting.lift(system, L)
        self._system, self._observe = system, O
        self._matrix = np.ascontiguousarray(np.block([[P, R], [O @ P, O @ R]]))  # [x, u] to [x', O x']
        self._weights = [tuple(kernel[:k][::-1].tolist()) for k in range(L + 1)]
        self._joint, self._made = np.zeros(N + L), np.zeros(N + L)
        self._x, self._u = self._joint[:N], self._joint[N:]
        self._new_x, self._new_base = self._made[:N], self._made[N:]
        self._base: list[float] = []

    def begin(self, state: Array, count: int) -> None:
        """Go on from a state that has seen `count` values."""
        self._x[:] = state
        self._base = [0.0, *(self._observe @ self._x).tolist()]
        self.pending.clear()

    def advance(self) -> None:
        """Move the state over everything pending."""
        self._u[:] = self.pending
        np.dot(self._matrix, self._joint, self._made)
        self._x[:] = self._new_x
        self._base[1:] = self._new_base.tolist()
        self.pending.clear()

    def predict(self) -> float:
        """y after the newest pending value; there must be one."""
        count = len(self.pending)
        moved: float = self._base[count] + sum(map(mul, self._weights[count], self.pending))
        return moved

    def state(self) -> Array:
        """The state (N,) that has seen everything pending, as a new array."""
        x, A, B = self._x.copy(), self._system.A, self._system.B
        for value in self.pending:
            x = A @ x + B * value
        return x


class ScaledStream:
    """The same for LegS. `_taken` of the pending values are in the sums already; the last of them gave `_next`."""

    def __init__(self, system: ScaledSystem) -> None:
        self.pending: list[float] = []
        self._system, self._taken, self._next = system, 0, 0.0
        self._now = scan.grouped(np.zeros((1, LENGTH)))

    def begin(self, state: Array, count: int) -> None:
        self._scan, self._taken = scan.Scan(self._system, state[None, :], count), 0
        self.pending.clear()

    def advance(self) -> None:
        self.predict()
        self._taken = 0
        self.pending.clear()

    def predict(self) -> float:
        new = self.pending[self._taken :]
        if new:
            self._now[0, : len(new), 0] = new
            self._next = float(self._scan.take(self._now[:, : len(new)])[0, -1, 0])
            self._taken = len(self.pending)
        return self._next

    def state(self) -> Array:
        self.predict()
        x: Array = self._scan.states()[0]
        return x


SystemStream: TypeAlias = LiftedStream | ScaledStream


def stream(system: System | ScaledSystem) -> SystemStream:
    """The stream of a system that `streams`."""
    return LiftedStream(system) if isinstance(system, System) else ScaledStream(system)


def streams(system: System | ScaledSystem) -> bool:
    """Whether a stream gives the numbers of the step: in float64, and not where rounding grows."""
    if system.dtype != np.float64:
        return False
    return lifting.is_stable(system) if isinstance(system, System) else scan.supports(system)
