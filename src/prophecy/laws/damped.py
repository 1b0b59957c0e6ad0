"""Least squares by singular values, damped relative to the largest: solved once, read for any damping.

`descend` is the one damped Gauss-Newton: whatever is solved for, states, coefficients or the place of a function, takes
its steps.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from scipy.linalg import qr
from scipy.linalg import svd as slow_svd

from prophecy._arrays import Array

Point = TypeVar("Point")

LEAST = 1e-13  # damping below which directions that nothing determines take their rounding errors for knowledge
_ATTEMPTS = 8  # dampings that are tried for a step


class Damped:
    """system @ x = target, (rows, unknowns) and (rows,) or (rows, sides), in least squares.

    `scaled` brings columns to one length first, so that the damping does not depend on the unknowns' units; `long`
    systems, of many more rows than unknowns, are reduced to a triangle first.
    """

    def __init__(self, system: Array, target: Array, scaled: bool = True, long: bool = False) -> None:
        norms = np.linalg.norm(system, axis=0) if scaled else np.ones(system.shape[1])
        self._norms = _beside(np.where(norms > 0, norms, 1.0), target)
        columns = system / np.where(norms > 0, norms, 1.0) if scaled else system
        if long:
            count, beside = columns.shape[1], target.reshape(len(target), -1)
            triangle = qr(np.column_stack([columns, beside]), mode="r", check_finite=False)[0][:count]
            columns, target = triangle[:, :count], triangle[:, count:].reshape(-1, *target.shape[1:])
        u, self._s, self._vt = svd(columns)
        self._projected = u.T @ target

    def __call__(self, damping: float) -> Array:
        """x with each direction of singular value s weighed by s² / (s² + (damping · largest)²)."""
        gain = self._s / (self._s**2 + (damping * self._largest()) ** 2)
        return np.asarray((self._vt.T @ (_beside(gain, self._projected) * self._projected)) / self._norms)

    def root(self, held: float = 0.0) -> Array:
        """(unknowns, directions): a square root of the inverse of system' system, the covariance of x for targets with
        errors of unit size. Directions below the share `held` of the largest are taken as known, with 0."""
        s = np.maximum(self._s, LEAST * self._largest())
        return np.asarray(self._vt.T * np.where(s > held * self._largest(), 1 / s, 0.0) / self._norms.reshape(-1, 1))

    def _largest(self) -> float:
        """The largest singular value; 0 of a system without unknowns, whose solution is empty."""
        return float(self._s.max(initial=0.0))


def svd(columns: Array) -> tuple[Array, Array, Array]:
    """The thin singular value decomposition u, s, vt of (rows, columns), for all input.

    LAPACK's fast driver gives up on some matrices, the slower one does not. Where not all numbers are finite there is
    no decomposition: s is NaN, and so is every solution read from it, which no caller accepts.
    """
    try:
        u, s, vt = np.linalg.svd(columns, full_matrices=False)
    except np.linalg.LinAlgError:
        if np.isfinite(columns).all():
            u, s, vt = slow_svd(columns, full_matrices=False, lapack_driver="gesvd")
            return u, s, vt
        rows, count = columns.shape
        least = min(rows, count)
        return np.zeros((rows, least)), np.full(least, np.nan), np.zeros((least, count))
    return u, s, vt


def _beside(factors: Array, columns: Array) -> Array:
    """Factors of rows, shaped to multiply (rows,) or (rows, sides)."""
    return factors.reshape(-1, *[1] * (columns.ndim - 1))


def solve(system: Array, target: Array, damping: float = LEAST) -> Array:
    """The solution for one damping, columns brought to one length."""
    return Damped(system, target)(damping)


def descend(
    point: Point,
    cost: Callable[[Point], float],
    linearise: Callable[[Point], Callable[[float], Iterable[Point]] | None],
    iterations: int,
    enough: float,
    damping: float,
    pace: tuple[float, float] = (30.0, 10.0),
    least: float = 1e-4,
) -> tuple[Point, float, float]:
    """Gauss-Newton steps from a point, damped as much as it takes to lower the cost (Levenberg and Marquardt).

    linearise: for a point, what gives the points to try for a damping; None where it has no derivatives. Steps end
    where the cost falls by less than the share `enough`. pace: by how much the damping rises where no point lowers the
    cost, and falls where one does; least: where it rises to at least. Returns the last point, its cost and the damping.
    """
    value = cost(point)
    for _ in range(iterations):
        before, tried = value, linearise(point)
        if tried is None:
            break
        for _ in range(_ATTEMPTS):
            better = next(((each, there) for each in tried(damping) if (there := cost(each)) < value), None)
            if better is not None:
                point, value = better
                break
            damping = max(damping * pace[0], least)
        damping /= pace[1]
        if not value < (1 - enough) * before:
            break
    return point, value, damping
