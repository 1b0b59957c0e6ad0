r"""Diagonal forms of HiPPO memories: NPLR and DPLR (S4), S4D's three spectra, S5's MIMO initialisation.

Every HiPPO memory here is a normal matrix minus one of low rank, A = W - P Pᵀ, with W + Wᵀ = -2 c I (`nplr`): energy
decays at the rate c, and leaves through few edges. Normal matrices have orthonormal eigenvectors, so the diagonal form
A = V (diag(rates) - P P*) V* (`dplr`) loses no digits, which a plain diagonalisation of A does: its eigenvectors have a
condition number that grows like 10^(N/2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy import _checks
from prophecy._arrays import Array
from prophecy.bases import Basis
from prophecy.fading import legs_invariant

Complex = NDArray[np.complexfloating[Any, Any]]


class NPLR(NamedTuple):
    """A = normal - low_rank @ low_rank.T; normal + normal.T = -2 damping I. normal (N, N), low_rank (N, rank)."""

    normal: Array
    low_rank: Array
    damping: float


class DPLR(NamedTuple):
    """A = V (diag(rates) - low_rank low_rank*) V*, B_memory = V B; V (N, N) unitary, rates and B (N,) complex."""

    rates: Complex
    low_rank: Complex
    B: Complex
    V: Complex


class Diagonal(NamedTuple):
    """x' = rates x + B u in complex numbers, one of each conjugate pair; y = 2 Re(C x) + D u. Both (N/2,)."""

    rates: Complex
    B: Complex


class S5(NamedTuple):
    """x' = rates x + B u, y = 2 Re(C x) + D u with vectors u and y; conjugates are left out, P = N/2 modes stay.

    rates (P,), B (P, inputs), C (outputs, P), D (inputs,); log_dt (P,), the logarithm of each mode's own step.
    """

    rates: Complex
    B: Complex
    C: Complex
    D: Array
    log_dt: Array


def nplr(basis: Basis) -> NPLR:
    r"""A = W - P Pᵀ with the smallest rank there is: 1 for LegS, LagT and FouT, 2 for LegT, 0 for FouD.

    -(A + Aᵀ)/2 is c I + P Pᵀ: c is the least eigenvalue, which all but few share, P comes from those few.
    """
    if not isinstance(basis, Basis):
        raise TypeError(
            f"basis must be a Basis, got {type(basis).__name__}; for LegS use prophecy.fading.legs_invariant"
        )
    losses, directions = np.linalg.eigh(-(basis.A + basis.A.T) / 2)
    scale = np.abs(losses).max()
    damping = float(losses[losses - losses[0] <= 1e-9 * scale].mean())
    damping = 0.0 if abs(damping) < 1e-10 * scale else damping
    apart = losses - damping > 1e-9 * scale
    low = directions[:, apart] * np.sqrt(losses[apart] - damping)
    if low.shape[1] > max(2, basis.order // 2):  # any matrix is a normal one minus one of full rank
        raise ValueError(f"{basis.name} is no normal matrix minus one of low rank in these coordinates")
    return NPLR(basis.A + low @ low.T, low, damping)


def dplr(basis: Basis) -> DPLR:
    """Diagonal plus low rank, with unitary V: the eigenvectors of the skew part of `nplr`'s W."""
    form = nplr(basis)
    skew = (form.normal - form.normal.T) / 2
    imaginary, V = np.linalg.eigh(-1j * skew)
    rates = -form.damping + 1j * imaginary
    back = V.conj().T
    return DPLR(rates, back @ form.low_rank.astype(complex), back @ basis.B.astype(complex), V)


def s4d_lin(order: int) -> Diagonal:
    """S4D-Lin: rates -1/2 + iπn, B = 1, for n < N/2: damped Fourier modes, of period 2 and its fractions."""
    n = np.arange(_even(order) // 2)
    return Diagonal(-0.5 + 1j * np.pi * n, np.ones(len(n), complex))


def s4d_inv(order: int) -> Diagonal:
    """S4D-Inv: rates -1/2 + i (N/π) (N/(2n+1) - 1), B = 1: an approximation of S4D-LegS's spectrum."""
    n = np.arange(_even(order) // 2)
    return Diagonal(-0.5 + 1j * order / np.pi * (order / (2 * n + 1) - 1), np.ones(len(n), complex))


def s4d_legs(order: int) -> Diagonal:
    """S4D-LegS: the diagonal of LegS's `dplr`, its low rank left out, and its B; imaginary parts positive, falling."""
    rates, _, B, _ = dplr(legs_invariant(_even(order), 1.0))
    half = np.argsort(-rates.imag)[: order // 2]
    return Diagonal(rates[half], B[half])


def s5(
    order: int,
    inputs: int,
    outputs: int | None = None,
    blocks: int = 1,
    dt: tuple[float, float] = (1e-3, 1e-1),
    seed: int | None = None,
) -> S5:
    r"""S5's initialisation of one system with many inputs and outputs.

    `blocks` copies of S4D-LegS of order N/blocks on the diagonal; B and C drawn at random in the coordinates of LegS
    and taken to the diagonal ones: B = V* B₀, C = C₀ V, B₀ and C₀ normal with variances 1/inputs and 1/N; D normal;
    steps uniform in the logarithm between the two `dt`.
    """
    order, inputs = _checks.whole("order", order), _checks.whole("inputs", inputs)
    outputs, blocks = inputs if outputs is None else _checks.whole("outputs", outputs), _checks.whole("blocks", blocks)
    if order % (2 * blocks):
        raise ValueError(f"order must be a multiple of 2 · blocks = {2 * blocks}, got {order}")
    low, high = (_checks.positive("dt", value) for value in dt)
    random = np.random.default_rng(seed)
    rates, _, _, V = dplr(legs_invariant(order // blocks, 1.0))
    half = np.argsort(-rates.imag)[: len(rates) // 2]
    wide = np.kron(np.eye(blocks), V[:, half])
    B = random.standard_normal((order, inputs)) / np.sqrt(inputs)
    C = random.standard_normal((outputs, order)) / np.sqrt(order)
    return S5(
        np.tile(rates[half], blocks), wide.conj().T @ B, C @ wide, random.standard_normal(inputs),
        random.uniform(np.log(low), np.log(high), order // 2),
    )  # fmt: skip


def _even(order: Any) -> int:
    number = _checks.whole("order", order)
    if number % 2:
        raise ValueError(f"order must be even, conjugate pairs, got {number}; use {number + 1}")
    return number
