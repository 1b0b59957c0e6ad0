"""The plain step: the reference that every other engine is tested against.

# x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
x = A @ x + B * u[k]
y[k] = C @ x + D * u[k]
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from prophecy.system import ScaledSystem, System

Array = NDArray[Any]


def run(system: System, u: Array, x: Array, y: Array) -> None:
    """All series together, one sample at a time: O(time · series · N²)."""
    A, B, C, D = system.A.T, system.B, system.C, system.dtype.type(system.D)
    for k in range(u.shape[1]):
        now = u[:, k].astype(system.dtype)
        x[:] = x @ A + now[:, None] * B
        y[:, k] = x @ C + D * now


def run_scaled(system: ScaledSystem, u: Array, x: Array, y: Array, count: int) -> None:
    """The same with the matrices of each step made anew: the reference for LegS."""
    for k, (A, B, C, D) in zip(range(u.shape[1]), system.steps(count), strict=False):
        now = u[:, k].astype(system.dtype)
        x[:] = x @ A.T + now[:, None] * B
        y[:, k] = x @ C + system.dtype.type(D) * now


def record(system: System | ScaledSystem, u: Array, x: Array, y: Array, states: Array, count: int) -> None:
    """The plain step that keeps every state: states (series, time, N)."""
    for k in range(u.shape[1]):
        one = slice(k, k + 1)
        if isinstance(system, ScaledSystem):
            run_scaled(system, u[:, one], x, y[:, one], count + k)
        else:
            run(system, u[:, one], x, y[:, one])
        states[:, k] = x
