"""The integral form of the equations along a path, and functions moved to where they explain most of it.

x_i(k + 1) - x_i(k) = sum_p theta_p int phi_p is linear in the coefficients once the path is known: what known terms
leave of the rises is compared with what a function times given factors adds to them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prophecy.laws import flow
from prophecy.laws.flow import EXPONENTIAL, MODULUS, RECIPROCAL, SIGN, SINE, Function, Terms
from prophecy.laws.kernels.lanes import function_at
from prophecy.laws.settings import LAWS, LawSettings

Array = NDArray[np.float64]

_AT_POLE = 1e-12  # a sum as close to zero as this is taken as this: its reciprocal is a number


class Rises:
    """The rises along a path (time, variables), each step counted by how well it is known.

    noise: of the path, in standard deviations. columns: one and the variables, (time, 1 + variables). floor: what is
    left of a step of an equation that is known exactly, at most.
    """

    def __init__(self, path: Array, noise: float, laws: LawSettings = LAWS) -> None:
        self.path, self._moves = path, laws.shapes.moves
        sixth = np.abs(np.diff(path, 6, axis=0)).max(axis=1) * laws.shapes.integrals
        error = np.append(sixth, sixth[-1])
        self.floor = max(float(np.quantile(error, 0.1)), noise, 1e-12)
        self._weight = self.floor / np.maximum(error, self.floor)[:, None]
        self.rise = self._weight * (path[3:-2] - path[2:-3])
        self.columns = np.column_stack([np.ones(len(path)), path])

    def integrated(self, columns: Array) -> Array:
        """(time, terms) -> (steps, terms): integrals over the middle one of every five steps, weighted."""
        inside = 11 * (columns[:-5] + columns[5:]) - 93 * (columns[1:-4] + columns[4:-1])
        return np.asarray(self._weight * (inside + 802 * (columns[2:-3] + columns[3:-2])) / 1440)

    def explained(self, left: float, times: float) -> bool:
        """Whether a share of the rises is no more than `times` the square sum of what an exact equation leaves."""
        sizes = np.sum(self.rise**2, axis=0)
        return bool(left**2 * float(sizes.min()) < times * len(self.rise) * self.floor**2)

    def known(self, terms: Terms) -> Array:
        """An orthonormal basis of the integrals of terms."""
        return orthonormal(self.integrated(flow.features(terms, self.path)))

    def square_sums(self, functions: Sequence[Function], factors: Array, known: Array, left: Array) -> Array:
        """The square sums that are left, for one function at a time."""
        terms = flow.polynomial_terms(self.path.shape[1], 0, functions, 1)
        values = flow.features(terms, self.path)[:, 1:]
        columns = (values[:, :, None] * factors[:, None]).reshape(len(values), -1)
        added = self.integrated(columns)
        size = np.linalg.norm(added, axis=0)
        added = (added - known @ (known.T @ added)) / np.where(size > 0, size, 1.0)
        added = np.where(np.isfinite(added), added, 0.0) + 1e-14
        by_function = added.reshape(len(left), len(functions), -1).transpose(1, 0, 2)
        onto = np.linalg.qr(by_function)[0].transpose(0, 2, 1) @ left
        return np.asarray(left @ left - np.sum(onto**2, axis=1))

    def moved(self, function: Function, factors: Array, known: Array, left: Array) -> tuple[Function, float]:
        """The function moved to where it explains most, by damped Gauss-Newton steps, and the square sum it leaves."""
        free = movable(function)
        rest, slopes = self._left_and_slopes(function, free, factors, known, left)
        cost, damping = float(rest @ rest), 1e-3
        for _ in range(2 * self._moves if factors.shape[1] == 1 else self._moves):
            before = cost
            if not np.isfinite(slopes).all():
                break
            normal, right = slopes.T @ slopes, slopes.T @ rest
            for _ in range(3):
                change = np.linalg.lstsq(normal + damping * np.diag(np.diag(normal)) + 1e-300, -right, rcond=None)[0]
                trial = function
                for place, by in zip(free, change, strict=True):
                    trial = _put(trial, place, _get(trial, place) + by)
                there, turned = self._left_and_slopes(trial, free, factors, known, left)
                if there @ there < cost:
                    function, rest, slopes, cost = trial, there, turned, float(there @ there)
                    damping /= 10
                    break
                damping = max(30 * damping, 1e-2)
            if not cost < 0.99 * before:
                break
        return function, cost

    def _left_and_slopes(
        self, function: Function, free: list[int], factors: Array, known: Array, left: Array
    ) -> tuple[Array, Array]:
        """What is left, and its derivatives with what can be moved, (steps, free).

        Coefficients are solved for, not moved along, so that the derivatives are those of the function's values times
        the coefficients, less what known and added terms explain of them (Kaufman's approximation).
        """
        value, slope = _value(function.kind, self._sum(function))
        basis, triangle = self._basis(value[:, None] * factors, known)
        onto = basis.T @ left
        factor = factors @ np.linalg.lstsq(triangle, onto, rcond=1e-12)[0]
        changes = np.column_stack([self._by(place) for place in free])
        moved = self.integrated((slope * factor)[:, None] * changes)
        moved = np.where(np.isfinite(moved), moved, 0.0)
        moved -= known @ (known.T @ moved)
        return left - basis @ onto, -(moved - basis @ (basis.T @ moved))

    def _sum(self, function: Function) -> Array:
        at = self.path @ np.array(function.rates) + function.shift
        if function.bends:
            v = self.path.shape[1]
            at = at + np.einsum("ka,ab,kb->k", self.path, np.array(function.bends).reshape(v, v), self.path)
        return np.asarray(at)

    def _by(self, place: int) -> Array:
        """The derivative of a function's sum with what `movable` counts as `place`."""
        v = self.path.shape[1]
        if place >= v:
            return np.asarray(self.path[:, (place - v) // v] * self.path[:, (place - v) % v])
        return np.ones(len(self.path)) if place < 0 else self.path[:, place]

    def _basis(self, columns: Array, known: Array) -> tuple[Array, Array]:
        """An orthonormal basis of what columns add to the known terms, and the triangle that turns it into them."""
        added = self.integrated(columns)
        size = np.linalg.norm(added, axis=0)
        size = np.where(size > 0, size, 1.0)
        added = (added - known @ (known.T @ added)) / size
        basis, triangle = np.linalg.qr(np.where(np.isfinite(added), added, 0.0) + 1e-14)
        return basis, triangle * size


def orthonormal(columns: Array, least: float = 1e-10) -> Array:
    """An orthonormal basis of the columns, without directions below `least` of the largest."""
    norms = np.linalg.norm(columns, axis=0)
    u, s, _ = np.linalg.svd(columns / np.where(norms > 0, norms, 1.0), full_matrices=False)
    return np.asarray(u[:, s > least * s[0]])


def _value(kind: int, at: Array) -> tuple[Array, Array]:
    """Value and slope of a function at (time,); a jump is its mean over a sample, which moves with its place."""
    if kind == SIGN:
        passing = np.maximum(np.abs(np.gradient(at)), 1e-300)  # how far the sum goes from sample to sample
        inside = np.abs(2 * at) < passing
        return np.clip(2 * at / passing, -1.0, 1.0), np.where(inside, 2 / passing, 0.0)
    value, slope = function_at(kind, np.where(np.abs(at) > _AT_POLE, at, _AT_POLE) if kind == RECIPROCAL else at)
    return value, slope


def movable(function: Function) -> list[int]:
    """Places of what can be moved: of rates, then bends, -1 for the shift. The rest is a factor of the function."""
    shape = np.array([*function.rates, *function.bends])
    there = np.nonzero(shape)[0].tolist()
    if function.kind in (MODULUS, RECIPROCAL, SIGN):
        there.remove(int(np.argmax(np.abs(shape))))
    return there if function.kind == EXPONENTIAL else [*there, -1]


def _get(function: Function, place: int) -> float:
    return function.shift if place == -1 else (*function.rates, *function.bends)[place]


def _put(function: Function, place: int, value: float) -> Function:
    if place == -1:
        return function._replace(shift=float(value))
    shape = [*function.rates, *function.bends]
    shape[place] = float(value)
    v = len(function.rates)
    return function._replace(rates=tuple(shape[:v]), bends=tuple(shape[v:]))


def alike(a: Function, b: Function) -> bool:
    """The same kind along the same direction with nearly the same rate: one of them can become the other."""
    if a.kind != b.kind or bool(a.bends) != bool(b.bends):
        return False
    x, y = np.array([*a.rates, *a.bends]), np.array([*b.rates, *b.bends])
    near = np.linalg.norm(x - y) < 0.15 * np.linalg.norm(x)
    apart = 0.02 if a.kind in (MODULUS, RECIPROCAL, SIGN) else 0.3  # of the range; radians, or of the width of a step
    return bool(near and (a.kind == SINE or abs(a.shift - b.shift) < apart))
