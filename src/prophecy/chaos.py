"""Chaotic systems integrated from their equations: data for forecasts of many steps and many variables.

    series = lorenz.sample(800, per_lyapunov=30, seed=1)       # (samples, variables)

`exponent` is the largest Lyapunov exponent in the system's own unit of time (`tests/test_chaos.py` has the method). One
Lyapunov time is 1 / exponent: errors grow e-fold in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from prophecy import _checks
from prophecy._arrays import Array

_TOLERANCE = 1e-10  # relative and absolute error of a step: ten Lyapunov times make 2e-6 of it


@dataclass(frozen=True, eq=False)
class ChaoticSystem:
    """dx/dt = field(t, x) from near `start`; what is seen of a state x at time t is observe(t, x)."""

    name: str
    field: Callable[[float, Array], ArrayLike]
    start: tuple[float, ...]
    exponent: float
    observe: Callable[[Array, Array], Array] | None = None

    def sample(self, samples: int, per_lyapunov: float = 30.0, seed: int = 0) -> Array:
        """(samples, variables) on the attractor, `per_lyapunov` samples per Lyapunov time.

        The start is nudged by the seed and followed for 20 Lyapunov times first.
        """
        step = 1.0 / (self.exponent * _checks.positive("per_lyapunov", per_lyapunov))
        nudge = np.random.default_rng(seed).standard_normal(len(self.start))
        times = 20.0 / self.exponent + step * np.arange(_checks.whole("samples", samples), dtype=np.float64)
        start, span = np.array(self.start) * (1 + 0.05 * nudge), (0.0, float(times[-1]))
        states = solve_ivp(self.field, span, start, "DOP853", times, rtol=_TOLERANCE, atol=_TOLERANCE).y
        return np.array((states if self.observe is None else self.observe(times, states)).T, np.float64, order="C")


def _lorenz(t: float, x: Array) -> ArrayLike:
    return [10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]]


def _rossler(t: float, x: Array) -> ArrayLike:
    return [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - 5.7)]


def _thomas(t: float, x: Array) -> ArrayLike:
    return np.sin(np.roll(x, -1)) - 0.18 * x


def _halvorsen(t: float, x: Array) -> ArrayLike:
    y, z = np.roll(x, -1), np.roll(x, -2)
    return -1.4 * x - 4 * y - 4 * z - y**2


def _chua(t: float, x: Array) -> ArrayLike:
    bend = -0.714 * x[0] - 0.2145 * (abs(x[0] + 1) - abs(x[0] - 1))
    return [15.6 * (x[1] - x[0] - bend), x[0] - x[1] + x[2], -28 * x[1]]


def _food_chain(t: float, x: Array) -> ArrayLike:
    low, high = 5 * x[0] / (1 + 3 * x[0]), 0.1 * x[1] / (1 + 2 * x[1])
    return [x[0] * (1 - x[0]) - low * x[1], low * x[1] - high * x[2] - 0.4 * x[1], high * x[2] - 0.01 * x[2]]


def _duffing(t: float, x: Array) -> ArrayLike:
    return [x[1], x[0] - x[0] ** 3 - 0.3 * x[1] + 0.5 * np.cos(1.2 * t)]


def _lorenz96(t: float, x: Array) -> ArrayLike:
    return (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + 8


def _double_pendulum(t: float, x: Array) -> ArrayLike:
    """Two equal rods and masses, g = length = mass = 1: angles x[:2], angular velocities x[2:]."""
    gap, (w1, w2) = x[0] - x[1], x[2:]
    under = 2 - np.cos(gap) ** 2
    first = -2 * np.sin(x[0]) + np.cos(gap) * np.sin(x[1]) - np.sin(gap) * (w2**2 + w1**2 * np.cos(gap))
    second = 2 * (np.cos(gap) * np.sin(x[0]) - np.sin(x[1])) + np.sin(gap) * (2 * w1**2 + w2**2 * np.cos(gap))
    return [w1, w2, first / under, second / under]


_DELAY, _CELLS = 17.0, 24  # seconds; intervals between Chebyshev points of the delay line


def _mackey_glass(t: float, x: Array) -> ArrayLike:
    """x' = 0.2 x(t - 17) / (1 + x(t - 17)^10) - 0.1 x: the delay line is the flow of 24 Chebyshev points."""
    past = x[-1]
    slopes = _CHEBYSHEV @ x * (2 / _DELAY)
    slopes[0] = 0.2 * past / (1 + past**10) - 0.1 * x[0]
    return slopes


def _chebyshev_matrix(points: int) -> Array:
    """Differentiation on the points cos(pi j / points), newest (j = 0) first."""
    j = np.arange(points + 1)
    nodes = np.cos(np.pi * j / points)
    weights = np.where((j == 0) | (j == points), 2.0, 1.0) * (-1.0) ** j
    gaps = nodes[:, None] - nodes + np.eye(points + 1)
    matrix = np.outer(weights, 1 / weights) / gaps
    return np.asarray(matrix - np.diag(matrix.sum(axis=1)))


_CHEBYSHEV = _chebyshev_matrix(_CELLS)


def _first(times: Array, states: Array) -> Array:
    return states[:1]


def _with_cosine(times: Array, states: Array) -> Array:
    return np.concatenate([states, np.cos(1.2 * times)[None]])


lorenz = ChaoticSystem("Lorenz", _lorenz, (1.0, 2.0, 20.0), 0.906)
rossler = ChaoticSystem("Rössler", _rossler, (1.0, 1.0, 0.1), 0.0714)
thomas = ChaoticSystem("Thomas", _thomas, (1.0, 0.5, -0.3), 0.033)
halvorsen = ChaoticSystem("Halvorsen", _halvorsen, (-5.0, 0.5, 1.0), 0.65)
chua = ChaoticSystem("Chua", _chua, (0.7, 0.1, -0.3), 0.46)
food_chain = ChaoticSystem("food chain", _food_chain, (0.8, 0.2, 8.0), 0.0071)
duffing = ChaoticSystem("forced Duffing, hidden phase", _duffing, (0.5, 0.1), 0.10, _with_cosine)
lorenz96 = ChaoticSystem("Lorenz 96, 8 variables", _lorenz96, (8.0, 8.1, 7.9, 8.2, 8.0, 7.8, 8.05, 8.0), 1.6)
double_pendulum = ChaoticSystem("double pendulum", _double_pendulum, (2.0, 2.0, 0.0, 0.0), 0.41)
mackey_glass = ChaoticSystem("Mackey–Glass", _mackey_glass, (1.2,) * (_CELLS + 1), 0.0053, _first)

SYSTEMS = (lorenz, rossler, thomas, halvorsen, chua, food_chain, duffing, lorenz96, double_pendulum, mackey_glass)
