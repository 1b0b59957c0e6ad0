r"""Fading memories: bases without a window, which forget the past gradually instead of at an edge.

Each is a function of (order, timescale) that returns a `Basis` with an infinite window. With s = a/timescale the age in
its unit, its state is x_n = ∫₀^∞ u(t - a) w_n(s) ds, w(s) = exp(A s) B at timescale 1, and the functions p_n that give
the past back are biorthogonal to the w_n: ∫ w_n p_m ds is 1 for n = m, else 0. All four are exact as they stand: no
value that leaves a window has to be guessed.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_continuous_lyapunov
from scipy.special import eval_genlaguerre, gammaln

from prophecy import _checks
from prophecy.bases import Array, Basis, fout, legendre, legs


def legs_invariant(order: int, timescale: float) -> Basis:
    r"""LegS with a constant step, as S4 runs it: x' = (-A x + B u)/timescale, A and B those of `prophecy.legs`.

    Legendre polynomials of exp(-s): p_n = √(2n+1) P_n(2 e^-s - 1), w_n = e^-s p_n. It remembers the last second finely
    and the distant past ever more coarsely.

    >>> legs_invariant(order=3, timescale=2.0).A.round(3)
    array([[-0.5  ,  0.   ,  0.   ],
           [-0.866, -1.   ,  0.   ],
           [-1.118, -1.936, -1.5  ]])
    """
    scaled, timescale = legs(order), _checks.positive("timescale", timescale)
    return Basis(
        A=0.0 - scaled.A / timescale,
        B=scaled.B / timescale,
        newest=scaled.newest,
        oldest=scaled.oldest,
        window=math.inf,
        functions=partial(_warped_legendre, scaled.order, timescale),
        name="LegS, time-invariant",
        timescale=timescale,
    )


def lagt(order: int, timescale: float, tilt: float = 1.0, alpha: float = 0.0) -> Basis:
    r"""Translated Laguerre memory, generalised: w_n = e^(-(1+β)s/2) L_n^α(s)/λ_n, p_n = s^α e^((β-1)s/2) L_n^α(s)/λ_n.

    tilt: β in [0, 1]. β = 1 weighs the past by e^-s and gives polynomials back (HiPPO's LagT, A = -tril(1)); β = 0 is
        the orthonormal system of Laguerre functions e^(-s/2) L_n (S4's `lagt`).
    alpha: α in [0, 1). For α > 0 the functions vanish at age 0: such a memory knows its past but not its newest value,
        and the constructions refuse it.
    λ_n² = Γ(n+α+1)/n! makes them orthonormal under s^α e^-s.

    >>> lagt(order=3, timescale=1.0).A
    array([[-1.,  0.,  0.],
           [-1., -1.,  0.],
           [-1., -1., -1.]])
    """
    order, timescale = _checks.whole("order", order), _checks.positive("timescale", timescale)
    if not 0 <= tilt <= 1:
        raise ValueError(f"tilt must lie in [0, 1], got {tilt}; 1 weighs the past by exp(-age/timescale)")
    if not 0 <= alpha < 1:
        raise ValueError(f"alpha must lie in [0, 1), got {alpha}; below 0 the functions are infinite at age 0")
    n = np.arange(order)
    norm = np.exp((gammaln(n + alpha + 1) - gammaln(n + 1)) / 2)
    lower = np.tril(np.ones((order, order)), -1) + np.eye(order) * (1 + tilt) / 2
    start = np.exp(gammaln(n + alpha + 1) - gammaln(n + 1) - gammaln(alpha + 1)) / norm  # L_n^α(0)/λ_n
    return Basis(
        A=0.0 - lower * norm[None, :] / norm[:, None] / timescale,
        B=start / timescale,
        newest=start if alpha == 0 else np.zeros(order),
        oldest=np.zeros(order),
        window=math.inf,
        functions=partial(_laguerre, n, norm, timescale, tilt, alpha),
        name="LagT" if alpha == 0 and tilt == 1 else f"LagT, tilt {tilt:g}, alpha {alpha:g}",
        timescale=timescale,
    )


def foud(order: int, timescale: float) -> Basis:
    r"""Damped Fourier memory (FouD, S4's `fourier_diag`): w = e^(-s/2) [1, √2 cos 2πms, √2 sin 2πms, …].

    A is diagonal but for rotations: S4D-Lin in real numbers. The w overlap; p = G⁻¹ w with G = ∫ w wᵀ ds gives back the
    past of least energy that explains the state.
    """
    window = fout(order, _checks.positive("timescale", timescale))  # its rotation, and its check of the order
    rotation = window.A + 2 * np.outer(window.newest, window.newest) / timescale
    A, B = rotation - np.eye(window.order) / (2 * timescale), window.newest / timescale
    gram = solve_continuous_lyapunov(A * timescale, -np.outer(window.newest, window.newest))
    inverse = np.linalg.inv(gram)
    return Basis(
        A=A,
        B=B,
        newest=inverse @ window.newest,
        oldest=np.zeros(window.order),
        window=math.inf,
        functions=partial(_damped_fourier, window.order // 2, timescale, inverse),
        name="FouD",
        timescale=timescale,
    )


def fourier_decay(order: int, timescale: float) -> Basis:
    r"""Fourier memory that takes the value leaving its period for the one it holds (S4's `fourier_decay`).

    FouT with half its coupling, A = rotation - newest newestᵀ/θ, B = newest/θ, θ = timescale: w is orthogonal,
    ∫ w wᵀ ds = 1/2, so p = 2 w. Signals of period θ are kept for ever, others fade.
    """
    window = fout(order, _checks.positive("timescale", timescale))
    A = window.A + np.outer(window.newest, window.newest) / timescale
    return Basis(
        A=A,
        B=window.newest / timescale,
        newest=2 * window.newest,
        oldest=np.zeros(window.order),
        window=math.inf,
        functions=partial(_responses, A, 2 * window.newest),
        name="Fourier, decaying",
        timescale=timescale,
    )


def _warped_legendre(order: int, timescale: float, ages: Array) -> Array:
    return legendre(2 * np.exp(-ages / timescale) - 1, order)


def _laguerre(n: NDArray[Any], norm: Array, timescale: float, tilt: float, alpha: float, ages: Array) -> Array:
    s = (ages / timescale)[:, None]
    made: Array = s**alpha * np.exp((tilt - 1) * s / 2) * eval_genlaguerre(n[None, :], alpha, s) / norm
    return made


def _damped_fourier(frequencies: int, timescale: float, inverse: Array, ages: Array) -> Array:
    s = ages[:, None] / timescale
    phase = 2 * np.pi * s * np.arange(1, frequencies + 1)
    table = np.ones((len(ages), 1 + 2 * frequencies))
    table[:, 1::2], table[:, 2::2] = math.sqrt(2) * np.cos(phase), math.sqrt(2) * np.sin(phase)
    made: Array = table * np.exp(-s / 2) @ inverse
    return made


def _responses(A: Array, start: Array, ages: Array) -> Array:
    """exp(A a) start for all ages, from one eigendecomposition (A is a rotation with a loss, far from defective)."""
    values, vectors = np.linalg.eig(A)
    weights = np.linalg.solve(vectors, start.astype(complex))
    return np.asarray((np.exp(np.outer(ages, values)) * weights) @ vectors.T).real
