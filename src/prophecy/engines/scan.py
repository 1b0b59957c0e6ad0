r"""The scan for LegS: every step in O(N) per series, instead of the O(N³) of making its matrices.

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

LegS's A is diag(n + 1) plus the strictly lower part of r rᵀ, r_n = √(2n+1). In the sums s_n = Σ_{j≤n} r_j x_j it is
bidiagonal, r_n (A x)_n = (n + 1) s_n + n s_{n-1}, so the step (I + αhA) x' = (I - (1-α)hA) x + h B u reads

    (1 + αh(n+1)) s'_n - (1 - αhn) s'_{n-1} = (1 - (1-α)h(n+1)) s_n - (1 + (1-α)hn) s_{n-1} + h (2n+1) u,

two diagonals to multiply by and two to solve with, for all series at once. Once count ≥ N the ratios of the latter,
(1 - αhn)/(1 + αh(n+1)), are positive and their running products g_n only fall, so that the solution is a running sum:
s'_n = g_n Σ_{j≤n} right_j/(g_j (1 + αh(j+1))). Before that LAPACK's banded triangular solve takes over.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtbtrs

from prophecy import discretize
from prophecy.engines import _threads
from prophecy.system import ScaledSystem

Array = NDArray[Any]

# Weight α of the new end of the step in each rule of the family.
_ENDS: dict[discretize.Rule, float] = {discretize.bilinear: 0.5, discretize.backward: 1.0}

MANY = 64  # series from which on adding row by row is faster than `cumsum`

_known: WeakKeyDictionary[ScaledSystem, bool] = WeakKeyDictionary()


def supports(system: ScaledSystem) -> bool:
    """Whether the memory is LegS under a rule this scan knows (the hold needs an exponential at each step)."""
    if system not in _known:
        _known[system] = system.memory in _ENDS and _is_legs(system)
    return _known[system]


def run(system: ScaledSystem, u: Array, x: Array, y: Array, count: int) -> None:
    """Predictions into y and final states into x, in place."""
    if not supports(system):
        raise ValueError("engine 'scan' knows the LegS memory under the bilinear and backward rules; use engine='step'")
    parts = _threads.shares(len(u), least=4 * MANY)
    _threads.over(lambda some: _run(system, u[some], x[some], y[some], count), parts)


def _run(system: ScaledSystem, u: Array, x: Array, y: Array, count: int) -> None:
    scan = Scan(system, x, count)
    for k in range(u.shape[1]):
        now = u[:, k].astype(np.float64)
        scan.step(now)
        y[:, k] = scan.read(now)
    x[:] = scan.state()


class Scan:
    """The sums s (N, series) of a number of series and how many samples they have seen.

    The first steps solve systems whose condition number grows with N: the sums are float64 whatever the system's
    dtype, or a float32 run of order 128 would lose half its digits in two samples.
    """

    def __init__(self, system: ScaledSystem, x: Array, count: int) -> None:
        self.system, self.count = system, count
        self._end = _ENDS[system.memory]
        self._root = system.B.astype(np.float64)[:, None]
        n = np.arange(float(system.order))[:, None]
        self._upper, self._lower, self._drive = n + 1, n, 2 * n + 1
        weights = system.C / self._root[:, 0]
        self._weights = weights - np.append(weights[1:], 0.0)  # C x = weights · s
        self._sums = np.cumsum(self._root * x.T, axis=0)
        self._right, self._work = np.empty_like(self._sums), np.empty_like(self._sums)
        self._pairs: list[tuple[Array, Array]] | None = None

    def step(self, now: Array) -> None:
        """Take in the next sample of every series, (series,)."""
        self.count += 1
        if self.count == 1:
            self._sums[:] = now  # x = e₀ u
            return
        h = 1.0 / self.count
        new, old = self._end * h, (1.0 - self._end) * h
        diagonal, below = 1.0 + new * self._upper, 1.0 - new * self._lower
        if self.count < len(diagonal):
            self._sums = _solve(diagonal[:, 0], below[:, 0], self._driven(now, h, old, np.ones_like(diagonal)))
            return
        below[0] = 1.0
        fall = np.cumprod(below / diagonal, axis=0)
        self._driven(now, h, old, 1.0 / (fall * diagonal))
        self._add_up()
        np.multiply(self._right, fall, out=self._sums)

    def _driven(self, now: Array, h: float, old: float, scale: Array) -> Array:
        """The right-hand side, each row times its scale."""
        sums, right, work = self._sums, self._right, self._work
        np.multiply(sums, scale * (1.0 - old * self._upper), out=right)
        np.multiply(sums[:-1], (scale * (1.0 + old * self._lower))[1:], out=work[1:])
        right[1:] -= work[1:]
        np.multiply(scale * (h * self._drive), now, out=work)
        right += work
        return right

    def _add_up(self) -> None:
        """Running sums over the rows. `cumsum` walks down one column after another, which many columns make slow."""
        right = self._right
        if right.shape[1] < MANY:
            np.cumsum(right, axis=0, out=right)
            return
        if self._pairs is None:
            self._pairs = list(pairwise(right))
        for above, row in self._pairs:
            np.add(above, row, out=row)

    def read(self, now: Array) -> Array:
        """The predictions (series,) after a step that took in `now`."""
        slope = self.system.slope(self.count)
        return np.asarray((self._weights @ self._sums) * (slope.D / self.system.D) + (1.0 + slope.D) * now)

    def state(self) -> Array:
        """x (series, N)."""
        x: Array = np.diff(self._sums, axis=0, prepend=0.0) / self._root
        return x.T


def _solve(diagonal: Array, below: Array, right: Array) -> Array:
    """diagonal_n s_n - below_n s_{n-1} = right_n for every column."""
    bands = np.stack([diagonal, np.append(-below[1:], 0.0)])
    sums, info = dtbtrs(np.asfortranarray(bands), right, uplo="L")
    if info:
        raise np.linalg.LinAlgError(f"banded triangular solve failed with info {info}")
    return np.ascontiguousarray(sums)


def _is_legs(system: ScaledSystem) -> bool:
    root = system.B
    n = np.arange(1, system.order + 1)
    legs = np.tril(np.outer(root, root), -1) + np.diag(n)
    return bool(np.allclose(system.A, legs, rtol=1e-6, atol=0) and np.allclose(root**2, 2 * n - 1, rtol=1e-6))
