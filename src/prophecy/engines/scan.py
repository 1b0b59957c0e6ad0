r"""The scan for LegS: every step in O(N) per series, instead of the O(N³) of making its matrices.

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

LegS's A is diag(n + 1) plus the strictly lower part of r rᵀ, r_n = √(2n+1). So A x needs only the running sums of r x,
and (I + h A)⁻¹ b is a forward substitution whose running sum s_n = Σ_{j<n} r_j x_j obeys a two-term recurrence,

    s_{n+1} = (1 - h r_n²/d_n) s_n + r_n b_n/d_n,   x_n = (b_n - h r_n s_n)/d_n,   d_n = 1 + h (n + 1),

which is a bidiagonal system for all series at once (LAPACK's banded triangular solve).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import get_lapack_funcs

from prophecy import discretize
from prophecy.system import ScaledSystem

Array = NDArray[Any]

# Weight of the new end of the step in each rule of the family (I + αhA) x' = (I - (1-α)hA) x + h B u.
_ENDS: dict[discretize.Rule, float] = {discretize.bilinear: 0.5, discretize.backward: 1.0}


def supports(system: ScaledSystem) -> bool:
    """Whether the memory is LegS under a rule this scan knows (the hold needs an exponential at each step)."""
    return system.memory in _ENDS and _is_legs(system)


def run(system: ScaledSystem, u: Array, x: Array, y: Array, count: int) -> None:
    """Predictions into y and final states into x, in place."""
    if not supports(system):
        raise ValueError("engine 'scan' knows the LegS memory under the bilinear and backward rules; use engine='step'")
    # The first steps solve systems whose condition number grows with N: they are carried in float64 and rounded on the
    # way out, or a float32 run of order 128 would lose half its digits in two samples.
    (solve,) = get_lapack_funcs(("tbtrs",), (np.empty(0),))
    end, root = _ENDS[system.memory], system.B.astype(np.float64)
    diagonal = np.arange(1.0, system.order + 1)
    state = np.asfortranarray(x.T.astype(np.float64))  # (N, series): LAPACK solves columns
    for k in range(u.shape[1]):
        seen = count + k + 1
        now = u[:, k].astype(np.float64)
        if seen == 1:
            state[:] = 0
            state[0] = now
        else:
            h = 1.0 / seen
            driven = state + h * root[:, None] * now
            if end < 1:
                driven -= (1 - end) * h * _times_A(root, diagonal, state)
            state = _solve(solve, root, diagonal, end * h, driven)
        C, D = system.readout(seen)
        y[:, k] = C @ state + D * now
    x[:] = state.T


def _times_A(root: Array, diagonal: Array, state: Array) -> Array:
    weighted = root[:, None] * state
    sums = np.cumsum(weighted, axis=0) - weighted
    product: Array = diagonal[:, None] * state + root[:, None] * sums
    return product


def _solve(solve: Any, root: Array, diagonal: Array, h: float, right: Array) -> Array:
    d = 1 + h * diagonal
    bands = np.empty((2, len(root)), root.dtype, order="F")
    bands[0] = 1
    bands[1] = h * root**2 / d - 1  # below the unit diagonal; s[0] = 0, so unknown n is s_{n+1}
    bands[1, :-1] = bands[1, 1:]
    sums, info = solve(bands, (root / d)[:, None] * right, uplo="L", diag="U")
    if info:
        raise np.linalg.LinAlgError(f"banded triangular solve failed with info {info}")
    before = np.zeros_like(sums)
    before[1:] = sums[:-1]
    solution: Array = (right - h * root[:, None] * before) / d[:, None]
    return solution


def _is_legs(system: ScaledSystem) -> bool:
    root = system.B
    n = np.arange(1, system.order + 1)
    legs = np.tril(np.outer(root, root), -1) + np.diag(n)
    return bool(np.allclose(system.A, legs, rtol=1e-6, atol=0) and np.allclose(root**2, 2 * n - 1, rtol=1e-6))
