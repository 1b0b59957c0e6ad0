"""Vector fields solved from noisy samples: stretches of the flow laid through them, starts and parameters together.

One step at a time, noise looks like dynamics: it enters every start. A stretch of many samples has one free start, so
what is left over is the noise itself. Gauss-Newton over all starts and parameters, each start projected out of
its own stretch, and terms without weight removed, gives least squares in the usual sense (multiple shooting).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, idct
from scipy.linalg import qr

from prophecy.dynamics.features import Family
from prophecy.dynamics.integrate import VectorField, follow, sensitivities, step
from prophecy.dynamics.starts import integrals, interpolate, solve

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

_BEYOND = 30.0
_STRETCHES = (4, 8, 20, 40)
_PRUNED = 20
_LATEST = 1024  # samples that are shot through
_SIGNIFICANT = 3.0
_FAR = 1.0


@dataclass(frozen=True, eq=False)
class ShotField:
    """A field found by shooting; forecasts start where its flow passes best through the latest samples."""

    family: Family
    theta: Array
    mask: Mask
    residual: float
    stretch: int
    conclusive: bool
    whole_past: bool = False

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        field = self.family.field(self.theta)
        length = int(min(self.stretch, origins.min() - 1))
        seen = values[origins[:, None] - 1 - length + np.arange(length + 1)].transpose(1, 2, 0)
        start = _located(self.family, self.theta, seen)
        now = _flow(field, start, length)[-1]
        return follow(field, now, horizon, max(1e-6, 1e-2 * self.residual), _BEYOND).transpose(2, 0, 1)


def _flow(field: VectorField, x: Array, steps: int) -> Array:
    """x and its next `steps` states: (steps + 1, variables, points)."""
    out = np.empty((steps + 1, *x.shape))
    out[0] = x
    for k in range(steps):
        out[k + 1] = x = step(field, x)
    return out


def _cost(residual: Array) -> float:
    cost = float(np.sqrt(np.mean(residual**2)))
    return cost if np.isfinite(cost) else np.inf


def _located(family: Family, theta: Array, seen: Array) -> Array:
    """The starts, (variables, stretches), whose flows pass best through `seen` (time, variables, stretches).

    The first samples alone come first: over a long stretch the flow from a poor start is lost before it is corrected.
    """
    field = family.field(theta)
    start: Array = seen[0]
    for length in (*(length for length in _STRETCHES if length < len(seen) - 1), len(seen) - 1):
        start = _corrected(field, start, seen[: length + 1])
    return np.asarray(start)


def _corrected(field: VectorField, start: Array, seen: Array, iterations: int = 2) -> Array:
    steps, variables, count = len(seen) - 1, seen.shape[1], seen.shape[2]
    path = _flow(field, start, steps)
    cost = _mean_square(seen - path)
    for _ in range(iterations):
        points = path[:-1].transpose(1, 0, 2).reshape(variables, -1)
        transition, _ = sensitivities(field, lambda x: np.zeros((1, 0, x.shape[1])), points)
        by_start = _chained(transition.reshape(steps, count, variables, variables))
        system = by_start.transpose(1, 0, 2, 3).reshape(count, -1, variables)
        target = (seen - path).transpose(2, 0, 1).reshape(count, -1, 1)
        normal = system.transpose(0, 2, 1) @ system
        normal += 1e-9 * np.trace(normal, axis1=1, axis2=2)[:, None, None] * np.eye(variables)
        lost = ~(np.isfinite(normal).all(axis=(1, 2)) & np.isfinite(target).all(axis=(1, 2)))
        normal[lost], target[lost], system[lost] = np.eye(variables), 0.0, 0.0
        trial = start + np.linalg.solve(normal, system.transpose(0, 2, 1) @ target)[..., 0].T
        path_there = _flow(field, trial, steps)
        cost_there = _mean_square(seen - path_there)
        better = cost_there < cost
        start, path = np.where(better, trial, start), np.where(better, path_there, path)
        cost = np.where(better, cost_there, cost)
    return np.asarray(start)


def _mean_square(residual: Array) -> Array:
    cost = np.mean(residual**2, axis=(0, 1))
    return np.where(np.isfinite(cost), cost, np.inf)


def _chained(transition: Array) -> Array:
    """(steps, stretches, v, v) single steps -> (steps + 1, ...) from the start."""
    out = np.empty((len(transition) + 1, *transition.shape[1:]))
    out[0] = np.eye(transition.shape[-1])
    for k, matrix in enumerate(transition):
        out[k + 1] = matrix @ out[k]
    return out


def fit_shot(family: Family, values: Array, hint: ShotField | None = None, one_step: float = 0.0) -> ShotField | None:
    """Shoot stretches of growing length through all values, removing terms that do not matter.

    one_step: what the best field leaves after single steps from the samples. Noise enters that twice, start and end;
    a flow that passes closer than that over whole stretches has explained all but the noise.
    """
    values = values[-_LATEST:]
    smooth = smoothed(values)
    if hint is None:
        theta, mask = _start(family, smooth), np.ones((family.size, values.shape[1]), dtype=np.bool_)
        stretches = [length for length in _STRETCHES if 3 * length < len(values)]
    else:
        theta, mask, stretches = hint.theta, hint.mask, [s for s in _STRETCHES if s <= hint.stretch]
    best: _Shots | None = None
    for length in stretches:
        shots = _Shots(family, values, length, smooth, theta, mask)
        shots.improve(4 if hint is None else 2)
        if not shots.cost < (1.3 * best.cost if best else _FAR):
            break
        if hint is None and length == _PRUNED:
            shots.prune()
        best, theta, mask, smooth = shots, shots.theta, shots.mask, shots.path(smooth)
    if best is None:
        return None
    conclusive = hint.conclusive if hint else best.length >= _PRUNED and best.cost < 0.9 * one_step
    return ShotField(family, best.theta, best.mask, best.cost, best.length, conclusive)


def smoothed(values: Array) -> Array:
    """Each variable with its roughness (squared second differences) traded against its fit, by cross-validation.

    In the cosine basis the smoother is diagonal, so that every trade is tried at once.
    """
    spectrum = dct(values, axis=0, norm="ortho")
    roughness = (2 - 2 * np.cos(np.pi * np.arange(len(values)) / len(values))) ** 2
    out = np.empty_like(values)
    for variable in range(values.shape[1]):
        power = spectrum[:, variable] ** 2
        gains = 1 / (1 + 10.0 ** np.linspace(-4, 6, 41)[:, None] * roughness)
        scores = ((1 - gains) ** 2 @ power) / (1 - gains.mean(axis=1)) ** 2
        out[:, variable] = idct(gains[np.argmin(scores)] * spectrum[:, variable], norm="ortho")
    return out


def _start(family: Family, smooth: Array) -> Array:
    path, _ = interpolate(smooth, np.arange(len(smooth) - 1), 8)
    return solve(integrals(family, path), smooth[1:] - smooth[:-1], 1e-6)


class _Shots:
    """Stretches of `length` steps through the values, ending at the last one, and the field that flows along them."""

    def __init__(self, family: Family, values: Array, length: int, smooth: Array, theta: Array, mask: Mask) -> None:
        self.family, self.length = family, length
        count = (len(values) - 1) // length
        self._index = len(values) - 1 - count * length + np.arange(count) * length + np.arange(length + 1)[:, None]
        self._seen = values[self._index].transpose(0, 2, 1)
        self._start = smooth[self._index[0]].T
        self._significance = np.full(mask.shape, np.inf)
        self._restart(theta, mask)

    def _restart(self, theta: Array, mask: Mask) -> None:
        self.theta, self.mask = theta, mask
        self._flown = _flow(self.family.field(theta), self._start, self.length)
        self.cost = _cost(self._seen - self._flown)
        self._damping = 1e-4

    def path(self, smooth: Array) -> Array:
        """`smooth`, replaced by the flow where that passes."""
        out = smooth.copy()
        out[self._index.reshape(-1)] = self._flown.transpose(0, 2, 1).reshape(-1, smooth.shape[1])
        return out

    def prune(self) -> None:
        """Remove the least significant terms, many at a time, fewer when the fit suffers."""
        share = 0.5
        for _ in range(10):
            weak = self.mask & (np.abs(self._significance) < _SIGNIFICANT)
            if not weak.any() or share < 0.02:
                break
            kept = self.theta, self.mask, self._start, self._significance, self.cost
            order = np.sort(np.abs(self._significance[weak]))
            mask = self.mask & ~(weak & (np.abs(self._significance) <= order[int(share * len(order))]))
            self._restart(np.where(mask, self.theta, 0.0), mask)
            self.improve(3)
            if not self.cost < 1.02 * kept[4]:
                self._start = kept[2]
                self._restart(kept[0], kept[1])
                self._significance = kept[3]
                share /= 4

    def improve(self, iterations: int) -> None:
        """Gauss-Newton steps over parameters and starts, each damped until the flow passes closer."""
        for _ in range(iterations):
            normal = self._linearised()
            if normal is None:
                break
            before = self.cost
            for _ in range(4):
                if self._moved(*normal(self._damping)):
                    break
                self._damping *= 10
            self._damping /= 10
            spare = max(1, self._seen.size - self._start.size - int(self.mask.sum()))
            errors = normal.spread() * self.cost * np.sqrt(self._seen.size / spare)
            self._significance = np.full(self.mask.shape, np.inf)
            self._significance.T[self.mask.T] = self.theta.T[self.mask.T] / errors
            if self.cost > 0.995 * before:
                break

    def _moved(self, change: Array, shift: Array) -> bool:
        theta = self.theta.copy()
        theta.T[self.mask.T] += change
        flown = _flow(self.family.field(theta), self._start + shift, self.length)
        cost = _cost(self._seen - flown)
        if not cost < self.cost:
            return False
        self.theta, self._start, self._flown, self.cost = theta, self._start + shift, flown, cost
        return True

    def _linearised(self) -> _Normal | None:
        variables, count = self._seen.shape[1:]
        points = self._flown[:-1].transpose(1, 0, 2).reshape(variables, -1)
        field, gradients = self.family.field(self.theta), self.family.gradients(self.theta)
        transition, response = sensitivities(field, gradients, points)
        transition = transition.reshape(self.length, count, variables, variables)
        response = response.reshape(self.length, count, variables, -1)[..., self.mask.T.reshape(-1)]
        by_start = _chained(transition)
        by_theta = np.zeros((self.length + 1, *response.shape[1:]))
        for k in range(self.length):
            by_theta[k + 1] = transition[k] @ by_theta[k] + response[k]
        by_start = by_start.transpose(1, 0, 2, 3).reshape(count, -1, variables)
        by_theta = by_theta.transpose(1, 0, 2, 3).reshape(count, by_start.shape[1], -1)
        target = (self._seen - self._flown).transpose(2, 0, 1).reshape(count, -1)
        sound = np.isfinite(by_theta).all() and np.isfinite(by_start).all() and np.isfinite(target).all()
        return _Normal(by_theta, by_start, target) if sound and by_theta.shape[2] else None


class _Normal:
    """The least-squares problem of one Gauss-Newton step, every start projected out of its own stretch."""

    def __init__(self, by_theta: Array, by_start: Array, target: Array) -> None:
        self._by_theta, self._target = by_theta, target
        self._q, self._r = np.linalg.qr(by_start)
        across = self._q.transpose(0, 2, 1)
        system = (by_theta - self._q @ (across @ by_theta)).reshape(-1, by_theta.shape[2])
        left = target - (self._q @ (across @ target[..., None]))[..., 0]
        norms = np.linalg.norm(system, axis=0)
        self._norms = np.where(norms > 0, norms, 1.0)
        whole, triangle = qr(system / self._norms, mode="economic", check_finite=False)
        u, s, self._vt = np.linalg.svd(triangle)
        self._s = np.maximum(s, 1e-12 * s[0])
        self._projected = u.T @ (whole.T @ left.reshape(-1))

    def __call__(self, damping: float) -> tuple[Array, Array]:
        """The change of the parameters and of the starts, (variables, stretches)."""
        gain = self._s / (self._s**2 + (damping * self._s[0]) ** 2)
        change = (self._vt.T @ (gain * self._projected)) / self._norms
        rest = self._q.transpose(0, 2, 1) @ (self._target - self._by_theta @ change)[..., None]
        return change, np.linalg.solve(self._r, rest)[..., 0].T

    def spread(self) -> Array:
        """Standard errors of the parameters for unit noise."""
        return np.asarray(np.sqrt(((self._vt.T / self._s) ** 2).sum(axis=1)) / self._norms)
