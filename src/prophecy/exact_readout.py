r"""Exact readouts: predictions without error for polynomials, in discrete time, with the least noise (docs/exact.md).

The paper's readout (Eq. 5) is right in continuous time; the half step by which B̄ u[k] lags and the trapezoid rule cost
it most of its accuracy. Here the discrete memory is taken as it is, and the readout is solved for: whatever the memory
is, y[k] is to equal q(k + horizon) for every polynomial q up to a degree. These are degree + 1 linear conditions on the
order + 1 numbers (C, D); what freedom they leave is spent on the smallest noise gain, the sum of the squared kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.linalg import lu_factor, lu_solve

from prophecy import _checks, discretize
from prophecy._arrays import Array
from prophecy.bases import Basis
from prophecy.system import Readout, System

# Directions of the state that reach the kernel with less than this share of the strongest are rounding, not memory:
# LegT of order 64 over 64 samples has singular values down to 4e-16, and a readout leaning on them loses their digits.
SMALLEST_DIRECTION = 1e-6

# Measured (docs/exact.md has the table): LegT's conditions stay below this up to degree 19 and more over 128 samples or
# longer, and jump to 1e7 where the memory's tail outside the window meets polynomials too steep there for float64.
LARGEST_CONDITION = 1e3

# The polynomials are scaled over the window, or over a multiple of it where that conditions them better: LegT forgets
# at the window's edge, FouT's memory rings on for several windows.
GOOD_CONDITION = 30.0
STRETCHES = (2.0, 4.0, 8.0)


def exact(
    basis: Basis,
    dt: float,
    degree: int,
    horizon: float = 1,
    derivative: int = 0,
    *,
    memory: discretize.Rule = discretize.bilinear,
) -> System:
    r"""The system on this memory that is exact for polynomials up to `degree`, with the least noise gain.

    For inputs u[k] = q(k dt), q any polynomial of degree ≤ `degree`, once the memory has filled,

        y[k] = q((k + horizon) dt), or its derivative number `derivative` at that time.

    White noise of variance σ² on the input comes out as `noise_gain(system)` · σ². Where the degree allows it, the
    system's `derivative` reads the exact u'(k dt) from the same state, also with the least noise.

    >>> from prophecy import legt, run
    >>> system = exact(legt(order=4, window=16.0), dt=1.0, degree=3)
    >>> round(float(run(system, 2.0 * np.arange(200))[0][-1]), 9), round(noise_gain(system), 3)
    (400.0, 1.164)
    """
    dt = _checks.positive("dt", dt)
    if not isinstance(basis, Basis):
        raise TypeError(f"basis must be a Basis, got {basis!r}; use prophecy.legt or prophecy.fout")
    degree = _checks.whole("degree", degree, least=0)
    derivative = _checks.whole("derivative", derivative, least=0)
    if degree > basis.order:
        raise ValueError(f"degree {degree} needs a memory of order {degree} or more, got order {basis.order}")
    if derivative > degree:
        raise ValueError(
            f"derivative {derivative} of polynomials up to degree {degree} is 0; use degree >= {derivative}"
        )
    if not isinstance(horizon, int | float | np.number) or not np.isfinite(horizon):
        raise ValueError(f"horizon must be a finite number of steps, got {horizon}")
    pair, samples = memory(basis.A, basis.B, dt), basis.timescale / dt
    best = _Conditions.of(pair, samples, degree)
    for stretch in STRETCHES:
        if best.number > GOOD_CONDITION:
            best = min(best, _Conditions.of(pair, stretch * samples, degree), key=lambda one: one.number)
    if not best.number < LARGEST_CONDITION:
        raise ValueError(
            f"degree {degree} is beyond what {basis.name} of order {basis.order} over {samples:.4g} samples is exact "
            f"for in float64 (condition {best.number:.1e}); use a smaller degree, a larger order or a longer window"
        )
    C, D = best.solve(horizon, derivative, dt)
    slope = best.solve(0.0, 1, dt) if degree >= 1 else None
    return System(A=pair.A, B=pair.B, C=C, D=D, dt=dt, derivative=slope)


def noise_gain(system: System, readout: Readout | None = None) -> float:
    """Variance of the output for white noise of variance 1 at the input: the sum of the squared kernel.

    The kernel is C B + D, C A B, C A² B, …; `readout` puts another (C, D) in place of the system's own, such as
    `system.derivative`.
    """
    if not isinstance(system, System):
        raise TypeError(f"system must be a System, got {system!r}")
    C, D = system.readout if readout is None else readout
    joint = _kernel_factor(np.asarray(system.A, np.float64), np.asarray(system.B, np.float64))
    kernel = np.append(np.asarray(C, np.float64), D) @ joint
    return float(kernel @ kernel)


def polynomial_response(A: Array, B: Array, samples: float, degree: int) -> Array:
    r"""The steady state of x = A @ x + B * u for u = P_i(1 + 2k/samples), i ≤ degree, at k = 0: (N, degree + 1).

    Legendre polynomials over the window, because monomials lose all their digits in floating point. One step back in
    time is a triangular matrix S with ones on its diagonal, p(k - 1) = S p(k), so that the states X of all inputs obey
    X = B p(0)ᵀ + A X Sᵀ: one solve with I - A per column.
    """
    # S with P_i(x - step) = Σ_l S_il P_l(x): a projection by Gauss quadrature, exact for these degrees.
    nodes, weights = legendre.leggauss(degree + 1)
    here, back = legendre.legvander(nodes, degree), legendre.legvander(nodes - 2.0 / samples, degree)
    shift = np.tril((back.T * weights) @ here * (np.arange(degree + 1) + 0.5))
    factor = lu_factor(np.eye(len(B)) - A)
    states = np.zeros((len(B), degree + 1))
    for i in range(degree + 1):
        states[:, i] = lu_solve(factor, B + A @ (states[:, :i] @ shift[i, :i]))
    return states


def _kernel_factor(A: Array, B: Array) -> Array:
    r"""F with F Fᵀ = Σ_j v_j v_jᵀ, where (C, D) · v_j is the kernel at age j: (N + 1, N + 2 at most).

    v_0 = (B, 1), v_j = (Aʲ B, 0). The later ones add up by doubling, V ← [V, A^(2^i) V], compressed by QR each time.
    This is the factor of the discrete Lyapunov equation P = A P Aᵀ + B Bᵀ without ever forming P, whose condition
    number would be the square.
    """
    order = len(B)
    later, power = (A @ B)[:, None], A
    for _ in range(64):  # 2^64 samples: what is not forgotten by then is kept for ever
        more = power @ later
        grown, size = np.linalg.norm(more), np.linalg.norm(later)
        if grown <= 1e-17 * size:
            return np.block([[B[:, None], later], [np.ones((1, 1)), np.zeros((1, later.shape[1]))]])
        if grown > 1e30 * size:  # no memory that forgets grows so; its squares overflow soon
            break
        later = np.hstack([later, more])
        if later.shape[1] > order:
            later = np.asarray(np.linalg.qr(later.T, mode="r")).T
        power = power @ power
    raise ValueError(
        "the memory does not forget (its A has an eigenvalue on or outside the unit circle); use another rule"
    )


class _Conditions(NamedTuple):
    """(C, D) = whiten @ w has the noise gain w · w and is exact where `balanced`ᵀ w = targets / scale."""

    whiten: Array
    balanced: Array
    scale: Array
    samples: float
    number: float  # the condition number

    @classmethod
    def of(cls, pair: discretize.Discrete, samples: float, degree: int) -> _Conditions:
        seen = polynomial_response(pair.A, pair.B, samples, degree)
        left, strength, _ = np.linalg.svd(_kernel_factor(pair.A, pair.B), full_matrices=False)
        used = strength > SMALLEST_DIRECTION * strength[0]
        whiten = left[:, used] / strength[used]
        constraints = whiten.T @ np.vstack([seen, np.ones(degree + 1)])
        scale = np.linalg.norm(constraints, axis=0)
        singular = np.linalg.svd(constraints / scale, compute_uv=False)
        enough = len(singular) == degree + 1 and singular[-1] > 0
        number = float(singular[0] / singular[-1]) if enough else np.inf
        return cls(whiten, constraints / scale, scale, samples, number)

    def solve(self, horizon: float, derivative: int, dt: float) -> Readout:
        """The solution of least norm, hence of least noise gain."""
        step, polynomials = 2.0 / self.samples, np.eye(len(self.scale))  # P_i(1 + 2k/samples), at k = horizon
        slopes = legendre.legder(polynomials, derivative) * step**derivative
        targets = legendre.legval(1.0 + step * horizon, slopes).reshape(len(self.scale)) / dt**derivative
        shortest = np.linalg.lstsq(self.balanced.T, targets / self.scale, rcond=None)[0]
        solution = self.whiten @ shortest
        return Readout(solution[:-1], float(solution[-1]))
