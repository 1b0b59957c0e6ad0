"""What a layer reads from its memory: functions (basis, dt) → one `System`, or several on the same memory."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from prophecy.bases import Basis
from prophecy.constructions import exact, next_value
from prophecy.discretize import lines
from prophecy.system import System

Construct: TypeAlias = Callable[[Basis, float], System | Sequence[System]]


def following(basis: Basis, dt: float) -> System:
    """u one step ahead: the paper's trapezoid rule (Eq. 5) on a memory with first-order hold, which has no pole."""
    return next_value(basis, dt, memory=lines)


def slope(basis: Basis, dt: float) -> System:
    """u'(t) at the newest sample, in units per unit of time: the derivative Eq. (5) integrates."""
    system = following(basis, dt)
    assert system.derivative is not None, "next_value has one"
    return replace(system, C=system.derivative.C, D=system.derivative.D)


def horizons(*steps: float, degree: int = 3) -> Construct:
    """Several steps ahead, each exact for polynomials up to `degree`: y[..., i] predicts u[k + steps[i]].

    >>> from prophecy import legt, run
    >>> line = [float(k) for k in range(600)]
    >>> [round(float(run(system, line)[0][-1]), 3) for system in horizons(1, 4)(legt(8, 64.0), 1.0)]
    [600.0, 603.0]
    """
    if not steps:
        raise ValueError("horizons needs at least one number of steps, such as horizons(1, 4, 16)")
    return lambda basis, dt: [exact(basis, dt, degree, horizon, memory=lines) for horizon in steps]
