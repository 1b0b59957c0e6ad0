"""Vector fields solved from the context: the field whose flow carries every sample to the next.

Gauss-Newton steps on the residual of the flow itself: on noise-free samples of a field inside the family it falls to
rounding, however coarse the sampling. Where to start comes from `starts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from prophecy.dynamics.features import Family
from prophecy.dynamics.integrate import Counts, VectorField, follow, needed_substeps, sensitivities, step

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_FAR = 3.0  # standard deviations: larger residuals count as this, so that single steps far off do not decide
_BEYOND = 30.0  # standard deviations: a path that far from the context does not come back
_EXACT = 3e-9  # standard deviations: tightest tolerance; data of chaotic systems are usually integrated to it
_CONCLUSIVE = 1e-7  # standard deviations: a residual below it ends the search for other families
_COARSE = 0.01  # standard deviations: a field that leaves more, and 0.3 of its first residual, is soon given up
_COUPLED = 260  # parameters up to which all variables are solved for together


@dataclass(frozen=True, eq=False)
class FittedField:
    """A member of a family and the residual it leaves on its context."""

    family: Family
    theta: Array
    residual: float
    conclusive: bool
    whole_past: bool = False

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        """Follow the flow from the sample before each origin: (origins, horizon, variables)."""
        x = values[origins - 1].T
        tolerance = max(_EXACT, 1e-1 * self.residual)
        bound = np.inf if self.conclusive else _BEYOND  # a law found exactly may grow without end
        return follow(self.family.field(self.theta), x, horizon, tolerance, bound).transpose(2, 0, 1)


def fit_field(
    family: Family, values: Array, rows: Indices, starts: Sequence[Array], iterations: int = 12
) -> FittedField | None:
    """The member of `family` whose flow takes values[k] to values[k + 1] for every k in rows, in least squares.

    starts are parameters worth starting from; None when there are none, or too few rows.
    """
    if len(rows) < 1.5 * family.size:
        return None
    x0, x1 = values[rows].T, values[rows + 1].T
    ranked = ranked_starts(family, x0, x1, starts)
    if not ranked:
        return None
    cost, theta = ranked[0]
    best = _refined(family, theta, x0, x1, cost, iterations)
    conclusive = best[0] < _CONCLUSIVE and len(rows) > 3 * family.size
    return FittedField(family, best[1], best[0], conclusive)


def ranked_starts(family: Family, x0: Array, x1: Array, starts: Sequence[Array]) -> list[tuple[float, Array]]:
    """The starts in the order of how close their flows come, and how close that is, in standard deviations."""
    finite = [theta for theta in starts if np.all(np.isfinite(theta))]
    costs = [_cost(x1 - step(family.field(theta), x0)) for theta in finite]
    return [(costs[i], finite[i]) for i in np.argsort(costs)]


def _refined(family: Family, theta: Array, x0: Array, x1: Array, cost: float, iterations: int) -> tuple[float, Array]:
    """Gauss-Newton with as many substeps as the flow turns out to need."""
    substeps = np.zeros(x0.shape[1], dtype=np.int64)
    for _ in range(4):
        wanted = needed_substeps(family.field(theta), x0, tolerance=max(3 * _EXACT, 3e-2 * cost))
        if not (wanted > substeps).any():
            break
        substeps = np.maximum(wanted, substeps)
        cost, theta = _gauss_newton(family, theta, x0, x1, substeps, iterations)
    return cost, theta


def _cost(residual: Array) -> float:
    clipped = np.clip(np.nan_to_num(residual, nan=_FAR, posinf=_FAR, neginf=-_FAR), -_FAR, _FAR)
    return float(np.sqrt(np.mean(clipped**2)))


def _gauss_newton(
    family: Family, theta: Array, x0: Array, x1: Array, substeps: Counts, iterations: int
) -> tuple[float, Array]:
    residual = x1 - step(family.field(theta), x0, substeps)
    cost = _cost(residual)
    start, damping = cost, 1e-6 if cost < 0.1 else 1e-3
    for iteration in range(iterations):
        update = _Update(family, theta, x0, residual, substeps)
        before = cost
        for _ in range(5):
            trial = theta + update(damping)
            residual_there = x1 - step(family.field(trial), x0, substeps)
            cost_there = _cost(residual_there)
            if cost_there < cost:
                theta, residual, cost = trial, residual_there, cost_there
                break
            damping = max(10 * damping, 1e-6)
        damping /= 10
        stuck = cost > 0.95 * before or (cost > 0.8 * before and cost < 1e-6)
        if stuck or (iteration >= 3 and cost > max(0.3 * start, _COARSE)):
            break
    return cost, theta


class _Update:
    """Damped least-squares solutions of response @ change = residual for any damping, from one decomposition."""

    def __init__(self, family: Family, theta: Array, x0: Array, residual: Array, substeps: Counts) -> None:
        field, gradients = family.field(theta), family.gradients(theta)
        variables, points = x0.shape
        self._shape = variables, family.size
        coupled = variables * family.size <= _COUPLED or family.denominator is not None
        if coupled:
            _, response = sensitivities(field, gradients, x0, substeps)
            system, target = response.reshape(points * variables, -1), residual.T.reshape(-1, 1)
        else:
            system, target = _mean_gradient(field, gradients, x0), residual.T
        sound = np.asarray(np.isfinite(system).all(axis=1) & (np.abs(target) < 10 * _FAR).all(axis=1))
        system, target = np.where(sound[:, None], system, 0.0), np.where(sound[:, None], target, 0.0)
        norms = np.linalg.norm(system, axis=0)
        self._norms = np.where(norms > 0, norms, 1.0)
        q, r = qr(system / self._norms, mode="economic", check_finite=False)
        u, self._s, self._vt = np.linalg.svd(r)
        self._target = u.T @ (q.T @ target)

    def __call__(self, damping: float) -> Array:
        gain = self._s / (self._s**2 + (max(damping, 1e-13) * self._s[0]) ** 2)
        change = (self._vt.T @ (gain[:, None] * self._target)) / self._norms[:, None]
        if change.shape[1] == 1 and self._shape[0] * self._shape[1] == change.shape[0]:
            return np.asarray(change.reshape(self._shape).T)
        return np.asarray(change)


def _mean_gradient(field: VectorField, gradients: VectorField, x0: Array) -> Array:
    """The response with every variable on its own: the gradients along the step, by Simpson's rule."""
    ends = step(field, x0)
    middle = (x0 + ends) / 2 - (field(ends) - field(x0)) / 8
    parts = [gradients(x)[0].T for x in (x0, middle, ends)]
    return np.asarray((parts[0] + 4 * parts[1] + parts[2]) / 6)
