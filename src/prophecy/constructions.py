r"""The paper's constructions: readouts that make a memory predict (Sec. 3, App. B–D).

`derivative` is step (1) of Sec. 3, the continuous system with y(t) ≈ u'(t); `next_value` is step (2), the discrete
system of Eq. (5) with y[k] ≈ u[k + 1]. Nothing is trained: every number follows from the basis and the step.
`exact` (from its own room) goes beyond the paper: readouts without error for polynomials in discrete time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

import numpy as np

from prophecy import _checks, discretize
from prophecy.bases import Basis, ScaledBasis
from prophecy.exact import exact, noise_gain
from prophecy.system import Continuous, Readout, ScaledContinuous, ScaledSystem, System

__all__ = ["RULES", "derivative", "exact", "next_value", "noise_gain", "series_derivative"]

RULES = ("trapezoid", "euler", "twice")

# Where the trapezoid rule is refused. It divides by 1 - D dt/2: at D dt = 1.8 it multiplies the derivative's error by
# ten, at 2 it is infinite, and beyond its sign is wrong.
LARGEST_GAIN = 1.8

# LegS meets the same pole at sample D/2 and is given forward Euler until D/count has fallen to 1, sample D = N².
SCALED_GAIN = 1.0


@overload
def derivative(basis: Basis) -> Continuous: ...
@overload
def derivative(basis: ScaledBasis) -> ScaledContinuous: ...
def derivative(basis: Basis | ScaledBasis) -> Continuous | ScaledContinuous:
    r"""The continuous system whose output is the derivative of its input (Prop. 1; App. B.2 for LegS).

    C_j = Σ_k A_kj p_k(t, t) and D = Σ_k B_k p_k(t, t): differentiate u(t) = Σ_k x_k(t) p_k(t, t), put x' = A x + B u.

    For LegS the state obeys x' = (-A x + B u)/t, so C carries the minus sign that Prop. 3 leaves out. With FouT the
    series converges to the mean of the window's two ends, so the output tends to (u'(t) + u'(t - window))/2.

    >>> from prophecy import legt
    >>> derivative(legt(order=4, window=2.0)).D     # N²/window
    8.0
    """
    if isinstance(basis, Basis):
        return Continuous(A=basis.A, B=basis.B, C=basis.newest @ basis.A, D=float(basis.newest @ basis.B))
    if isinstance(basis, ScaledBasis):
        return ScaledContinuous(A=basis.A, B=basis.B, C=-basis.newest @ basis.A, D=float(basis.newest @ basis.B))
    raise TypeError(f"basis must be a Basis or a ScaledBasis, got {basis!r}; see prophecy.legt, fout and legs")


def series_derivative(basis: Basis) -> Continuous:
    r"""The alternative construction for FouT: differentiate the Fourier series term by term (Prop. 2).

    C = -2√2 π m/window on the sine of frequency m, 0 elsewhere, and D = 0. Right for signals with period `window`, at
    the rate of Theorem 1; for others the series at the window's edge does not converge and neither does this.
    """
    if not isinstance(basis, Basis) or not basis.name.startswith("FouT"):
        raise TypeError(f"series_derivative needs a FouT basis, got {getattr(basis, 'name', basis)!r}; use fout")
    sine = np.arange(2, basis.order, 2)
    C = np.zeros(basis.order)
    # A[sine, cosine] = 2πm/window, the rotation's own entries, so the as-printed basis keeps its own frequencies.
    C[sine] = -np.sqrt(2.0) * basis.A[sine, sine - 1]
    return Continuous(A=basis.A, B=basis.B, C=C, D=0.0)


@overload
def next_value(
    basis: Basis,
    dt: float,
    rule: str = ...,
    *,
    construction: Callable[[Basis], Continuous] = ...,
    memory: discretize.Rule = ...,
) -> System: ...
@overload
def next_value(basis: ScaledBasis, dt: float, rule: str = ..., *, memory: discretize.Rule = ...) -> ScaledSystem: ...
def next_value(
    basis: Basis | ScaledBasis,
    dt: float,
    rule: str = "trapezoid",
    *,
    construction: Callable[[Basis], Continuous] = derivative,
    memory: discretize.Rule = discretize.bilinear,
) -> System | ScaledSystem:
    r"""The discrete system that predicts the next value of its input (Eq. 5): y[k] ≈ u[k + 1].

    rule: how the integral of u' over the next step is taken.
      "trapezoid" (the paper's): C̄ = dt C/(1 - D dt/2), D̄ = (1 + D dt/2)/(1 - D dt/2).
      "euler": C̄ = dt C, D̄ = 1 + D dt. No pole, one order less in dt.
      "twice": C and D are first discretised with the memory, then as above; App. C.2 finds it worse: check it here.
    construction: `derivative` (Prop. 1) or `series_derivative` (Prop. 2, FouT only).
    memory: how A and B are discretised, one of `prophecy.discretize`; the paper uses `bilinear`.

    >>> from prophecy import legt
    >>> system = next_value(legt(order=2, window=8.0), dt=1.0)
    >>> round(system.D, 3)
    1.667
    """
    dt, rule = _checks.positive("dt", dt), _checks.choice("rule", rule, RULES)
    if isinstance(basis, ScaledBasis):
        return _next_scaled(basis, dt, rule, memory)
    rate = construction(basis)
    pair = memory(rate.A, rate.B, dt)
    C, D = rate.C, rate.D
    if rule == "twice":
        C, D = _discretised_readout(rate, dt)
    if rule == "euler":
        C, D = dt * C, 1 + dt * D
    else:
        _refuse_pole(basis, dt, D * dt)
        C, D = dt * C / (1 - D * dt / 2), (1 + D * dt / 2) / (1 - D * dt / 2)
    return System(
        A=pair.A,
        B=pair.B,
        C=C,
        D=D + float(C @ pair.shift),
        dt=dt,
        # The slope the prediction is made of, (y - u)/dt. The bare C x + D u lags it: x has held u[k] for a whole step,
        # which costs a ramp the fraction D dt/2 of its slope, just what the trapezoid rule divides by.
        derivative=Readout(C / dt, (D + float(C @ pair.shift) - 1) / dt),
    )


def _next_scaled(basis: ScaledBasis, dt: float, rule: str, memory: discretize.Rule) -> ScaledSystem:
    if rule == "twice":
        raise ValueError("rule 'twice' is for constant systems (App. C.2); for LegS use 'trapezoid' or 'euler'")
    rate = derivative(basis)
    always = np.iinfo(np.int64).max
    switch = always if rule == "euler" else int(np.ceil(rate.D / SCALED_GAIN))
    return ScaledSystem(A=rate.A, B=rate.B, C=rate.C, D=rate.D, dt=dt, rule=memory, switch=switch)


def _discretised_readout(rate: Continuous, dt: float) -> Readout:
    """C̃ = C (I - dt/2 A)⁻¹ and D̃ = D + C B̄/2, the bilinear rule applied to the readout too (App. C.2)."""
    C = np.linalg.solve((np.eye(rate.order) - dt / 2 * rate.A).T, rate.C)
    return Readout(C, rate.D + float(rate.C @ discretize.bilinear(rate.A, rate.B, dt).B) / 2)


def _refuse_pole(basis: Basis, dt: float, gain: float) -> None:
    if gain <= LARGEST_GAIN:
        return
    where = "sits near" if gain < 2.2 else "lies beyond"
    raise ValueError(
        f"order {basis.order} with dt/window {dt / basis.window:.3g} gives D·dt = {gain:.3g}, which {where} the pole "
        f"D·dt = 2 of the trapezoid rule (LegT: N²·dt/window = 2); use a window of at least "
        f"{basis.window * gain / LARGEST_GAIN:.3g}, a smaller order or rule='euler'"
    )
