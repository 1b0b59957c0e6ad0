r"""Fading memories: bases without a window, which forget the past gradually instead of at an edge.

Each is a function of (order, timescale) that returns a `Basis` with an infinite window. With s = a/timescale the age in
its unit, its state is x_n = ∫₀^∞ u(t - a) w_n(s) ds, w(s) = exp(A s) B at timescale 1, and the functions p_n that give
the past back are biorthogonal to the w_n: ∫ w_n p_m ds is 1 for n = m, else 0. All four are exact as they stand: no
value that leaves a window has to be guessed.
"""

import math
from functools import partial

import numpy as np
from scipy.linalg import solve_continuous_lyapunov
from scipy.special import eval_genlaguerre, gammaln

from prophecy import _checks
from prophecy._arrays import Array, Counts
from prophecy.bases import Basis, fout, legendre, legs, rescaled


def legs_invariant(order: int, timescale: float) -> Basis:
    r"""LegS with a constant step, as S4 runs it: x' = (-A x + B u)/timescale, A and B those of `prophecy.legs`.

    Legendre polynomials of exp(-s): p_n = √(2n+1) P_n(2 e^-s - 1), w_n = e^-s p_n. It remembers the last second finely
    and the distant past ever more coarsely.

    >>> legs_invariant(order=3, timescale=2.0).A.round(3)
    array([[-0.5  ,  0.   ,  0.   ],
           [-0.866, -1.   ,  0.   ],
           [-1.118, -1.936, -1.5  ]])
    """
    scaled = legs(order)
    functions = partial(_warped_legendre, scaled.order)
    unit = Basis(-scaled.A, scaled.B, scaled.newest, scaled.oldest, math.inf, functions, "LegS, time-invariant", 1.0)
    return rescaled(unit, timescale)


def lagt(order: int, timescale: float, tilt: float = 1.0, alpha: float = 0.0) -> Basis:
    r"""Translated Laguerre memory, generalised: w_n = e^(-(1+β)s/2) L_n^α(s)/λ_n, p_n = s^α e^((β-1)s/2) L_n^α(s)/λ_n.

    tilt: β in [0, 1]. β = 1 weighs the past by e^-s and gives polynomials back (HiPPO's LagT, A = -tril(1)); β = 0 is
        the orthonormal system of Laguerre functions e^(-s/2) L_n (S4's `lagt`).
    alpha: α in [0, 1). For α > 0 the functions vanish at age 0: such a memory knows its past but not its newest value,
        and the constructions refuse it.
    λ_n² = Γ(n+α+1)/n! makes them orthonormal under s^α e^-s.
    """
    order = _checks.whole("order", order)
    if not 0 <= tilt <= 1:
        raise ValueError(f"tilt must lie in [0, 1], got {tilt}; 1 weighs the past by exp(-age/timescale)")
    if not 0 <= alpha < 1:
        raise ValueError(f"alpha must lie in [0, 1), got {alpha}; below 0 the functions are infinite at age 0")
    n = np.arange(order)
    norm = np.exp((gammaln(n + alpha + 1) - gammaln(n + 1)) / 2)
    lower = np.tril(np.ones((order, order)), -1) + np.eye(order) * (1 + tilt) / 2
    start = np.exp(gammaln(n + alpha + 1) - gammaln(n + 1) - gammaln(alpha + 1)) / norm  # L_n^α(0)/λ_n
    newest, name = start, "LagT" if alpha == 0 and tilt == 1 else f"LagT, tilt {tilt:g}, alpha {alpha:g}"
    if alpha > 0:
        newest = np.zeros(order)
    functions = partial(_laguerre, n, norm, tilt, alpha)
    A = -lower * norm[None, :] / norm[:, None]
    return rescaled(Basis(A, start, newest, np.zeros(order), math.inf, functions, name, 1.0), timescale)


def foud(order: int, timescale: float) -> Basis:
    r"""Damped Fourier memory (FouD, S4's `fourier_diag`): w = e^(-s/2) [1, √2 cos 2πms, √2 sin 2πms, …].

    A is diagonal but for rotations: S4D-Lin in real numbers. The w overlap; p = G⁻¹ w with G = ∫ w wᵀ ds gives back the
    past of least energy that explains the state.
    """
    window = fout(order, 1.0)  # its rotation, and its check of the order
    edges = np.outer(window.newest, window.newest)
    A = window.A + 2 * edges - np.eye(window.order) / 2
    inverse = np.linalg.inv(solve_continuous_lyapunov(A, -edges))
    newest, functions = inverse @ window.newest, partial(_damped_fourier, window, inverse)
    unit = Basis(A, window.newest, newest, np.zeros(window.order), math.inf, functions, "FouD", 1.0)
    return rescaled(unit, timescale)


def fourier_decay(order: int, timescale: float) -> Basis:
    r"""Fourier memory that takes the value leaving its period for the one it holds (S4's `fourier_decay`).

    FouT with half its coupling, A = rotation - newest newestᵀ/θ, B = newest/θ, θ = timescale: w is orthogonal,
    ∫ w wᵀ ds = 1/2, so p = 2 w. Signals of period θ are kept for ever, others fade.
    """
    window = fout(order, 1.0)
    A, newest = window.A + np.outer(window.newest, window.newest), 2 * window.newest
    functions, oldest = partial(_responses, A, newest), np.zeros(window.order)
    return rescaled(Basis(A, window.newest, newest, oldest, math.inf, functions, "Fourier, decaying", 1.0), timescale)


def _warped_legendre(order: int, ages: Array) -> Array:
    return legendre(2 * np.exp(-ages) - 1, order)


def _laguerre(n: Counts, norm: Array, tilt: float, alpha: float, ages: Array) -> Array:
    s = ages[:, None]
    return np.asarray(s**alpha * np.exp((tilt - 1) * s / 2) * eval_genlaguerre(n[None, :], alpha, s) / norm)


def _damped_fourier(window: Basis, inverse: Array, ages: Array) -> Array:
    return np.asarray(window.functions(ages) * np.exp(-ages / 2)[:, None] @ inverse)


def _responses(A: Array, start: Array, ages: Array) -> Array:
    """exp(A a) start for all ages, from one eigendecomposition (A is a rotation with a loss, far from defective)."""
    values, vectors = np.linalg.eig(A)
    weights = np.linalg.solve(vectors, start.astype(complex))
    return np.asarray((np.exp(np.outer(ages, values)) * weights) @ vectors.T).real
