"""Vector fields solved from the context: the field whose flow carries every sample to the next.

A start comes from the integral form of the equation, x(k + 1) - x(k) = sum_p theta_p int phi_p(x(s)) ds along an
interpolation of the samples, which is linear in theta. Gauss-Newton steps then remove what the interpolation got wrong:
the residual is that of the flow itself, so on noise-free samples of a field inside the family it falls to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import logm, qr

from prophecy.dynamics.features import Family
from prophecy.dynamics.integrate import follow, needed_substeps, sensitivities, step

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
_FAR = 3.0  # a residual of three spreads is as bad as any
_BEYOND = 30.0  # nothing thirty spreads away from the context comes back
_EXACT = 3e-9  # the accuracy at which chaotic systems are usually integrated
_CONCLUSIVE = 1e-7
_COARSE = 0.01  # a field that leaves more than this is not worth many iterations
_COUPLED = 260  # parameters up to which all variables are solved for together


@dataclass(frozen=True, eq=False)
class FittedField:
    """A member of a family, the substeps its flow needs, and the residual it leaves on its context."""

    family: Family
    theta: Array
    substeps: int
    residual: float
    conclusive: bool

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        """Follow the flow from the sample before each origin. values: (time, variables) -> (origins, horizon, variables)."""
        x = values[origins - 1].T
        tolerance = max(_EXACT, 1e-1 * self.residual)
        return follow(self.family.field(self.theta), x, horizon, tolerance, _BEYOND).transpose(2, 0, 1)


def fit_field(
    family: Family, values: Array, rows: Indices, hints: tuple[Array, ...] = (), iterations: int = 12
) -> FittedField | None:
    """The member of `family` whose flow takes values[k] to values[k + 1] for every k in rows, in least squares.

    hints are parameters worth starting from. None when no start lets the flow through.
    """
    if len(rows) < 1.5 * family.size:
        return None
    x0, x1 = values[rows].T, values[rows + 1].T
    substeps = 1
    best: tuple[float, Array] | None = None
    for theta in (*hints, *_starts(family, values, rows)):
        if not np.all(np.isfinite(theta)):
            continue
        cost = _cost(x1 - step(family.field(theta), x0, substeps))
        if best is None or cost < best[0]:
            best = cost, theta
    if best is None:
        return None
    cost, theta = best
    for _ in range(4):
        wanted = needed_substeps(family.field(theta), x0, tolerance=max(_EXACT, 1e-2 * cost))
        if wanted > substeps or cost == best[0]:
            substeps = max(wanted, substeps)
            cost, theta = _gauss_newton(family, theta, x0, x1, substeps, iterations)
    conclusive = cost < _CONCLUSIVE and len(rows) > 3 * family.size
    return FittedField(family, theta, substeps, cost, conclusive)


def _cost(residual: Array) -> float:
    clipped = np.clip(np.nan_to_num(residual, nan=_FAR, posinf=_FAR, neginf=-_FAR), -_FAR, _FAR)
    return float(np.sqrt(np.mean(clipped**2)))


def _gauss_newton(
    family: Family, theta: Array, x0: Array, x1: Array, substeps: int, iterations: int
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

    def __init__(self, family: Family, theta: Array, x0: Array, residual: Array, substeps: int) -> None:
        field, gradients = family.field(theta), family.gradients(theta)
        variables, points = x0.shape
        self._shape = variables, family.size
        coupled = variables * family.size <= _COUPLED or family.denominator is not None
        if coupled:
            _, response = sensitivities(field, gradients, x0, substeps)
            system, target = response.reshape(points * variables, -1), residual.T.reshape(-1, 1)
        else:
            system, target = _mean_gradient(field, gradients, x0), residual.T
        sound = np.isfinite(system).all(axis=1) & (np.abs(target) < 10 * _FAR).all(axis=1)
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


def _mean_gradient(field, gradients, x0):  # type: ignore[no-untyped-def]
    ends = step(field, x0)
    middle = (x0 + ends) / 2 - (field(ends) - field(x0)) / 8
    parts = [gradients(x)[0].T for x in (x0, middle, ends)]
    return (parts[0] + 4 * parts[1] + parts[2]) / 6


def _starts(family: Family, values: Array, rows: Indices) -> Iterator[Array]:
    """Parameters from the integral form along local interpolations, then from the logarithm of the linear map."""
    rise = values[rows + 1] - values[rows]
    for width in (8, 4):
        if len(values) <= width:
            continue
        path, slope = _interpolate(values, rows, width)
        points = path.reshape(path.shape[0], -1)
        phi = family.features(points).reshape(family.upper, len(rows), -1) @ _WEIGHTS
        if family.denominator is None:
            yield _solve(phi.T, rise)
            continue
        psi = family.divisors(points).reshape(-1, len(rows), len(_WEIGHTS))
        systems = [np.concatenate([phi, -(psi * each) @ _WEIGHTS]).T for each in slope]
        for damping in (1e-12, 1e-8, 1e-6, 1e-4, 1e-2):
            columns = [_solve(s, rise[:, [i]], damping) for i, s in enumerate(systems)]
            yield np.concatenate(columns, axis=1)
    yield from _linear_start(family, values, rows)


def _linear_start(family: Family, values: Array, rows: Indices) -> Iterator[Array]:
    """Where samples are so far apart that no interpolation helps, the linear part still has a logarithm."""
    variables = values.shape[1]
    affine = np.column_stack([np.ones(len(rows)), values[rows]])
    matrix = np.eye(variables + 1)
    matrix[1:] = _solve(affine, values[rows + 1]).T
    if not np.all(np.isfinite(matrix)) or np.min(np.abs(np.linalg.eigvals(matrix))) < 1e-12:
        return
    theta = np.zeros((family.size, variables))
    theta[: variables + 1] = np.real(logm(matrix))[1:].T
    yield theta


def _solve(system: Array, target: Array, damping: float = 1e-13) -> Array:
    norms = np.linalg.norm(system, axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    u, s, vt = np.linalg.svd(system / norms, full_matrices=False)
    gain = s / (s**2 + (damping * s[0]) ** 2)
    return np.asarray((vt.T @ (gain[:, None] * (u.T @ target))) / norms[:, None])


def _interpolate(values: Array, rows: Indices, width: int) -> tuple[Array, Array]:
    """Values and slopes between samples k and k + 1, by the polynomial through the `width` samples around them.

    Both (variables, rows, nodes).
    """
    first = np.clip(rows - width // 2 + 1, 0, len(values) - width)
    path = np.empty((values.shape[1], len(rows), len(_NODES)))
    slope = np.empty_like(path)
    for offset in np.unique(first - rows):
        here = np.nonzero(first - rows == offset)[0]
        stencil = values[first[here][:, None] + np.arange(width)]
        centre = offset + (width - 1) / 2
        vander = np.polynomial.legendre.legvander((np.arange(offset, offset + width) - centre) * 2 / width, width - 1)
        to_series = np.linalg.inv(vander)
        at = (_NODES - centre) * 2 / width
        weights = np.polynomial.legendre.legvander(at, width - 1) @ to_series
        series_slopes = np.polynomial.legendre.legder(np.eye(width), axis=0) * 2 / width
        slopes = np.polynomial.legendre.legvander(at, width - 2) @ series_slopes @ to_series
        path[:, here] = np.einsum("nw,hwv->vhn", weights, stencil)
        slope[:, here] = np.einsum("nw,hwv->vhn", slopes, stencil)
    return path, slope
