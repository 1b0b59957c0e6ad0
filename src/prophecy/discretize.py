r"""From the continuous pair (A, B) to the discrete pair of a step dt (App. C.2).

Each rule takes x' = A x + B u to the recurrence of the time convention, where x has seen u[k]:

    x = A @ x + B * u[k]

`shift` is zero except for `foh`: there the state that fits the samples' straight-line interpolation at the time of u[k]
is `x + shift * u[k]`. The states of `bilinear` and `zoh` are those half a step after it, `euler`'s a whole step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import expm

from prophecy import _checks
from prophecy._arrays import Reals


class Discrete(NamedTuple):
    """A discrete pair A (N, N), B (N,); the state to read from is `x + shift * u`. (N is one more for `lines`.)"""

    A: Reals
    B: Reals
    shift: Reals


Rule: TypeAlias = Callable[[Reals, Reals, float], Discrete]


def bilinear(A: Reals, B: Reals, dt: float) -> Discrete:
    """Tustin's rule, the paper's: A = (I - dt/2 A)⁻¹ (I + dt/2 A), B = dt (I - dt/2 A)⁻¹ B (Sec. 3). A (N, N), B (N,).

    >>> bilinear(np.array([[-2.0]]), np.array([2.0]), 0.5).A
    array([[0.33333333]])
    """
    return _between(A, B, dt, 0.5)


def zoh(A: Reals, B: Reals, dt: float) -> Discrete:
    """Zero-order hold, A (N, N), B (N,): exact when the input is constant within a step."""
    phi, start, end = _line(A, B, dt)
    return Discrete(phi, start + end, np.zeros_like(end))


def foh(A: Reals, B: Reals, dt: float) -> Discrete:
    """First-order hold, A (N, N), B (N,): exact when the input is a straight line between samples.

    s[k] = Φ s[k - 1] + Γ₀ u[k - 1] + Γ₁ u[k] asks for the sample before; the recurrence carries x = s - shift u with
    `shift` = -Φ⁻¹ Γ₀, which does not, and whose input matrix is Γ₁ - shift. Φ⁻¹ Γ₀ is Γ₁ of the system -A.
    (`scipy.signal.cont2discrete` carries Φ s + Γ₀ u, and shifts by the *next* sample.)
    """
    phi, _, end = _line(A, B, dt)
    shift = -_line(np.negative(A), B, dt)[2]
    return Discrete(phi, end - shift, shift)


def lines(A: Reals, B: Reals, dt: float) -> Discrete:
    """First-order hold with the value before as one more state, A (N + 1, N + 1), B (N + 1,): right for any A and dt.

    [s, u][k] = [[Φ, Γ₀], [0, 0]] [s, u][k - 1] + [Γ₁, 1] u[k]. `foh` needs Φ⁻¹ instead, which rounding destroys for
    order 64 below 64 samples a window.
    """
    phi, start, end = _line(A, B, dt)
    wide = np.block([[phi, start[:, None]], [np.zeros((1, len(end) + 1))]])
    return Discrete(wide, np.append(end, 1.0), np.zeros(len(end) + 1))


def euler(A: Reals, B: Reals, dt: float) -> Discrete:
    """Forward Euler: A = I + dt A (N, N), B = dt B (N,). Stable only while dt is small against A's fastest mode."""
    return _between(A, B, dt, 0.0)


def backward(A: Reals, B: Reals, dt: float) -> Discrete:
    """Backward Euler: A = (I - dt A)⁻¹ (N, N), B = dt (I - dt A)⁻¹ B (N,). Stable for every dt when A is."""
    return _between(A, B, dt, 1.0)


def scaled(rule: Rule, A: Reals, B: Reals, count: int) -> Discrete:
    """LegS's pair for the sample that makes `count` seen, under any rule: x' = (-A x + B u)/t, t = count · dt.

    A (N, N), B (N,). The holds are exact in the logarithm of time, where LegS is a constant system: from t to t + dt
    they advance by log(count / (count - 1)). The other rules take the step dt/t = 1/count. The first sample has no
    past: it *is* the memory, so x = e₀ u whatever the rule (App. A.2; B₀ = 1 and A e₀ = B make e₀ u the rest point).
    """
    count = _checks.whole("count", count)
    A, B, _ = _pair(A, B, 1.0)
    first = np.zeros_like(B)
    first[0] = 1.0
    if rule is foh:  # what it carries depends on the step to come, which differs from the one just made
        shift = -_line(A, B, np.log1p(1 / count))[2]
        if count == 1:
            return Discrete(np.zeros_like(A), first - shift, shift)
        phi, _, end = _line(-A, B, -np.log1p(-1 / count))
        return Discrete(phi, end - shift, shift)
    if count == 1:
        return Discrete(np.zeros_like(A), first, np.zeros_like(B))
    return rule(-A, B, -np.log1p(-1 / count) if rule is zoh else 1.0 / count)


@lru_cache(maxsize=32)
def lag(rule: Rule) -> float:
    """By how many steps the state of a rule runs ahead of its newest sample, in the limit of short steps.

    Read off x' = u - x, whose state trails a ramp by 1: 0 for `backward`, `foh` and `lines`, 1/2 for `bilinear` and
    `zoh`, 1 for `euler`.
    """
    dt = 2.0**-12
    pair = rule(np.array([[-1.0]]), np.ones(1), dt)
    remains = np.eye(len(pair.B)) - pair.A
    trails = np.linalg.solve(remains, pair.A @ np.linalg.solve(remains, pair.B))  # x[k] = x₁ k - trails for u[k] = k
    return abs(round(1 / dt - float(trails[0]), 2))


def _line(A: Reals, B: Reals, dt: float) -> tuple[Reals, Reals, Reals]:
    """Φ, Γ₀, Γ₁ of x(t + dt) = Φ x(t) + Γ₀ u(t) + Γ₁ u(t + dt) for a straight line between the two.

    From one exponential of [[A, B, 0], [0, 0, 1], [0, 0, 0]], so that a singular A is no special case.
    """
    A, B, dt = _pair(A, B, dt)
    order = len(B)
    joint = np.zeros((order + 2, order + 2))
    joint[:order, :order], joint[:order, order], joint[order, order + 1] = A * dt, B * dt, 1.0
    powered = expm(joint)
    hold, ramp = powered[:order, order], powered[:order, order + 1]
    return powered[:order, :order], hold - ramp, ramp


def _between(A: Reals, B: Reals, dt: float, end: float) -> Discrete:
    """x' = x + dt (B u + A (end x' + (1 - end) x)): the slope is taken between both ends of the step."""
    A, B, dt = _pair(A, B, dt)
    eye = np.eye(len(B))
    try:
        solved = np.linalg.solve(eye - end * dt * A, np.column_stack([eye + (1 - end) * dt * A, dt * B]))
    except np.linalg.LinAlgError:
        raise ValueError(
            f"dt = {dt:g} meets an eigenvalue of A that this rule cannot invert; use another step or zoh"
        ) from None
    return Discrete(solved[:, :-1], solved[:, -1], np.zeros_like(B))


def _pair(A: Reals, B: Reals, dt: float) -> tuple[Reals, Reals, float]:
    order = len(np.atleast_1d(B))
    return _checks.shaped("A", A, (order, order)), _checks.shaped("B", B, (order,)), _checks.positive("dt", dt)
