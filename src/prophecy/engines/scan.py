r"""The scan for LegS: the steps of `engines.step` in O(N) per series, instead of the O(N³) of making matrices.

LegS's A is diag(n + 1) plus the strictly lower part of r rᵀ, r_n = √(2n+1). In the sums s_n = Σ_{j≤n} r_j x_j it is
bidiagonal, r_n (A x)_n = (n + 1) s_n + n s_{n-1}, so the step (I + αhA) x' = (I - (1-α)hA) x + h B u reads

    (1 + αh(n+1)) s'_n - (1 - αhn) s'_{n-1} = (1 - (1-α)h(n+1)) s_n - (1 + (1-α)hn) s_{n-1} + h (2n+1) u,

two diagonals to multiply by and two to solve with, from n = 0 on, for a group of series side by side (`kernels`).
"""

from functools import lru_cache

import numpy as np

from prophecy import discretize
from prophecy._arrays import Reals
from prophecy.bases import legs
from prophecy.engines import _threads
from prophecy.engines.kernels import entry
from prophecy.engines.lifting import KEPT
from prophecy.system import ScaledSystem

WORK = 1 << 17  # samples taken in at once: a few megabytes of buffers

# Weight α of the new end of the step in each rule of the family.
_ENDS: dict[discretize.Rule, float] = {discretize.bilinear: 0.5, discretize.backward: 1.0}


@lru_cache(KEPT)
def supports(system: ScaledSystem) -> bool:
    """Whether the memory is LegS under a rule this scan knows (the hold needs an exponential at each step)."""
    known = legs(system.order)
    same = all(np.allclose(a, b, rtol=1e-6, atol=0) for a, b in ((system.A, known.A), (system.B, known.B)))
    return same and system.memory in _ENDS and system.D != 0


def run(system: ScaledSystem, u: Reals, x: Reals, y: Reals, count: int) -> None:
    """Predictions into y and final states into x, in place."""
    if not supports(system):
        raise ValueError("engine 'scan' knows the LegS memory under the bilinear and backward rules; use engine='step'")
    _threads.over(lambda some: _run(system, u[some], x[some], y[some], count), _threads.shares(len(u), least=256))


def _run(system: ScaledSystem, u: Reals, x: Reals, y: Reals, count: int) -> None:
    scan, length = Scan(system, x, count), max(1, WORK // max(len(u), entry.LANES))
    for start in range(0, u.shape[1], length):
        some = slice(start, start + length)
        y[:, some] = _apart(scan.take(grouped(u[:, some])))[: len(u)]
    x[:] = scan.states()[: len(x)]


def grouped(rows: Reals) -> Reals:
    """(series, time) as (groups, time, LANES): series side by side, zeros where a group has fewer."""
    lanes = np.zeros((-len(rows) % entry.LANES + len(rows), rows.shape[1]))
    lanes[: len(rows)] = rows
    return np.ascontiguousarray(lanes.reshape(-1, entry.LANES, rows.shape[1]).swapaxes(1, 2))


def _apart(groups: Reals) -> Reals:
    return np.asarray(groups.swapaxes(1, 2).reshape(-1, groups.shape[1]))


class Scan:
    """The sums s (groups, N, LANES) of a number of series, x (series, N), and how many samples they have seen.

    The first steps solve systems whose condition number grows with N: the sums are float64 whatever the system's
    dtype, or a float32 run of order 128 would lose half its digits in two samples.
    """

    def __init__(self, system: ScaledSystem, x: Reals, count: int) -> None:
        self.system, self.count, self._root = system, count, system.B.astype(np.float64)
        weights = system.C / self._root / system.D
        self._weights = weights - np.append(weights[1:], 0.0)  # C x = D weights · s
        self._sums = np.cumsum(grouped(self._root * x), axis=1)

    def take(self, u: Reals) -> Reals:
        """Take in samples (groups, time, LANES); the prediction after each."""
        y, first = np.empty_like(u), self.count + 1
        slopes = np.array([self.system.slope(count).D for count in range(first, first + u.shape[1])])
        entry.steps(self._sums, u, y, self._weights, slopes, _ENDS[self.system.memory], self.count)
        self.count += u.shape[1]
        return y

    def states(self) -> Reals:
        """x (series, N), up to a whole number of groups."""
        return _apart(np.diff(self._sums, axis=1, prepend=0.0)) / self._root


class Stream:
    """`entry.Stream` for LegS."""

    def __init__(self, system: ScaledSystem, x: Reals, count: int, low: float, high: float) -> None:
        self._scan, self._now = Scan(system, x[None, :], count), grouped(np.zeros((1, 1)))
        self.count, self.low, self.high = count, low, high

    def take(self, u: float) -> None:
        self._now[0, 0, 0] = u
        self.next = float(self._scan.take(self._now)[0, 0, 0])
        self.count, self.last, self.low, self.high = self.count + 1, u, min(self.low, u), max(self.high, u)

    def state(self) -> Reals:
        return np.asarray(self._scan.states()[0])
