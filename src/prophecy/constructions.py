r"""The paper's constructions: readouts that make a memory predict (Sec. 3, App. B–D).

`derivative` is step (1) of Sec. 3, the continuous system with y(t) ≈ u'(t); `next_value` is step (2), the discrete
system of Eq. (5) with y[k] ≈ u[k + 1]. Nothing is trained: every number follows from the basis and the step.
`exact` (of `exact_readout`) goes beyond the paper: readouts without error for polynomials in discrete time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

import numpy as np

from prophecy import _checks, discretize
from prophecy._arrays import Array
from prophecy.bases import Basis, ScaledBasis, fout, fout_as_printed
from prophecy.exact_readout import exact, noise_gain
from prophecy.system import Continuous, Readout, ScaledContinuous, ScaledSystem, System

__all__ = ["RULES", "derivative", "exact", "next_value", "noise_gain", "series_derivative"]

RULES = ("trapezoid", "euler", "twice")

# Near its pole the trapezoid rule is refused: it divides the slope by the gain 1 - D dt/2, and with it multiplies the
# noise of the slope, by ten where the gain is this.
SMALLEST_GAIN = 0.1


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
        if not basis.newest.any():
            raise ValueError(
                f"{basis.name} does not hold its newest value (its functions vanish at age 0); use alpha = 0"
            )
        return Continuous(A=basis.A, B=basis.B, C=basis.newest @ basis.A, D=float(basis.newest @ basis.B))
    if isinstance(basis, ScaledBasis):
        return ScaledContinuous(A=basis.A, B=basis.B, C=-basis.newest @ basis.A, D=float(basis.newest @ basis.B))
    raise TypeError(
        f"basis must be a Basis or a ScaledBasis, got {type(basis).__name__}; see prophecy.legt, fout, legs"
    )


def series_derivative(basis: Basis) -> Continuous:
    r"""The alternative construction for FouT: differentiate the Fourier series term by term (Prop. 2).

    C = -2√2 π m/window on the sine of frequency m, 0 elsewhere, and D = 0. Right for signals with period `window`, at
    the rate of Theorem 1. For others the series jumps at the window's edge, and the error grows like the order.
    """
    makers = (fout, fout_as_printed) if isinstance(basis, Basis) and basis.order % 2 else ()
    made = [make(basis.order, basis.timescale) for make in makers]  # by A and B: `basis.name` may be anything
    if not any(np.allclose(basis.A, b.A, rtol=1e-12) and np.allclose(basis.B, b.B, rtol=1e-12) for b in made):
        raise TypeError(f"series_derivative needs fout or fout_as_printed, got {getattr(basis, 'name', basis)!r}")
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
      "euler": C̄ = dt C, D̄ = 1 + D dt. No pole, but a ramp is followed with 1 - D dt/2 of its slope.
      "twice": C and D are first discretised with the memory, then as above; App. C.2 finds it worse: check it here.
    construction: `derivative` (Prop. 1) or `series_derivative` (Prop. 2, FouT only).
    memory: how A and B are discretised, one of `prophecy.discretize`; the paper uses `bilinear`. 1 - D dt/2 is the gain
      with which that memory answers a ramp; for another memory its own gain takes the place (for `backward` it is 1:
      no pole). The state of `foh` and `lines` stands at the newest sample, so the trapezoid rule takes the slopes at
      both ends of the next step, the later one as it will be if the prediction comes true: no pole, and errors of
      third order. Take `lines`, one state more, where the window has fewer samples than the order or not many more.

    >>> from prophecy import legt
    >>> system = next_value(legt(order=2, window=8.0), dt=1.0)
    >>> round(system.D, 3)
    1.667
    """
    dt, rule = _checks.positive("dt", dt), _checks.choice("rule", rule, RULES)
    _checks.function("construction", construction, "prophecy.derivative")
    _checks.function("memory", memory, "prophecy.discretize.zoh")
    if isinstance(basis, ScaledBasis):
        if rule == "twice":
            raise ValueError("rule 'twice' is for constant systems (App. C.2); for LegS use 'trapezoid' or 'euler'")
        if construction is not derivative:
            raise ValueError("construction must be left at derivative for LegS, which has no other")
        scaled = derivative(basis)
        return ScaledSystem(scaled.A, scaled.B, scaled.C, scaled.D, dt, memory, corrected=rule == "trapezoid")
    rate = construction(basis)
    pair = memory(rate.A, rate.B, dt)
    C, D = np.pad(rate.C, (0, len(pair.B) - basis.order)), rate.D
    if rule == "twice":
        if memory is not discretize.bilinear:
            raise ValueError("rule 'twice' is the bilinear rule applied twice (App. C.2); leave memory at bilinear")
        # The bilinear rule for the readout too (App. C.2): C̃ = C (I - dt/2 A)⁻¹ and D̃ = D + C B̄/2.
        C, D = np.linalg.solve((np.eye(rate.order) - dt / 2 * rate.A).T, C), D + float(C @ pair.B) / 2
        gain = 1 - D * dt / 2
    else:
        gain = _ramp_gain(basis, C, D, pair, dt, memory)
    D = D + float(C @ pair.shift)
    if memory in (discretize.foh, discretize.lines) and rule == "trapezoid":
        share = 1 - dt / 2 * float(rate.D + C @ (pair.B + pair.shift))
        ends = Readout((C + C @ pair.A) * dt / 2 / share, (1 + D * dt / 2) / share)
        return System(A=pair.A, B=pair.B, C=ends.C, D=ends.D, dt=dt, derivative=Readout(C, D))
    where = f"order {basis.order} with dt/window {dt / basis.timescale:.3g}"
    if rule == "euler" and gain <= 0:
        raise ValueError(
            f"{where}: rule 'euler' would follow a ramp with {gain:.3g} of its slope, the wrong way; "
            "use a longer window, a smaller order or rule='trapezoid'"
        )
    if rule != "euler" and abs(gain) < SMALLEST_GAIN:
        raise ValueError(
            f"{where} sits near the trapezoid rule's pole (LegT: N²·dt/window = 2): it would divide by {gain:.2g}; "
            "use another window, a smaller order or memory=prophecy.discretize.backward"
        )
    divisor = 1.0 if rule == "euler" else gain
    slope = Readout(C / gain, D / gain)
    return System(A=pair.A, B=pair.B, C=dt * C / divisor, D=1 + dt * D / divisor, dt=dt, derivative=slope)


def _ramp_gain(
    basis: Basis, C: Array, D: float, pair: discretize.Discrete, dt: float, memory: discretize.Rule
) -> float:
    """What share of a ramp's slope C x + D u shows: the discrete state trails the newest sample.

    For the bilinear memory it is 1 - D dt/2 exactly, the trapezoid rule's denominator. For others it is read off the
    steady response x[k] = x₀ + x₁ k to u[k] = k: x₁ = (I - A)⁻¹ B, x₀ = -(I - A)⁻¹ A x₁, and C x₀ is the slope seen.
    """
    if memory is discretize.bilinear or D == 0:
        return 1 - D * dt / 2
    remains = np.eye(len(C)) - pair.A
    constant = np.linalg.solve(remains, pair.B)
    if not abs(C @ (constant + pair.shift) + D) <= 1e-6 * abs(D):
        raise ValueError(
            f"under {memory.__name__} {basis.name} of order {basis.order} over {basis.timescale / dt:.4g} samples does "
            "not hold constants; use a longer window, a smaller order or memory=discretize.bilinear"
        )
    return float(dt * (C @ np.linalg.solve(remains, -pair.A @ constant)))
