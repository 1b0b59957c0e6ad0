"""NPLR, DPLR, S4D and S5: the identities that define them, and the published spectra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from prophecy import Basis, fout, legs, legt
from prophecy.conventions import to_lmu
from prophecy.diagonal import dplr, nplr, s4d_inv, s4d_legs, s4d_lin, s5
from prophecy.fading import foud, fourier_decay, lagt, legs_invariant

RANKS = {legt: 2, legs_invariant: 1, lagt: 1, fout: 1, fourier_decay: 1, foud: 0}


@pytest.mark.parametrize("order", [3, 9, 65, 257])
@pytest.mark.parametrize("make", RANKS, ids=lambda make: make.__name__)
def test_every_memory_is_normal_minus_low_rank_and_diagonal_minus_low_rank(make, order: int) -> None:  # type: ignore[no-untyped-def]
    b: Basis = make(order, 3.0)
    normal, low, damping = nplr(b)
    assert low.shape == (order, RANKS[make])
    scale = np.abs(b.A).max()
    assert np.abs(normal - low @ low.T - b.A).max() < 1e-13 * scale
    assert np.abs(normal @ normal.T - normal.T @ normal).max() < 1e-12 * scale**2
    assert np.abs(normal + normal.T + 2 * damping * np.eye(order)).max() < 1e-12 * scale
    rates, P, B, V = dplr(b)
    assert np.abs(V @ V.conj().T - np.eye(order)).max() < 1e-12
    assert np.abs(V @ (np.diag(rates) - P @ P.conj().T) @ V.conj().T - b.A).max() < 1e-12 * scale
    assert np.abs(V @ B - b.B).max() < 1e-12 * np.abs(b.B).max()


def test_the_published_low_rank_terms_come_out() -> None:
    """S4: LegS √(n + 1/2); LegT over window 2, half of even and odd √(2n+1); LagT √(1/2)."""
    for b, expected in (
        (legs_invariant(8, 1.0), np.outer(*[np.sqrt(np.arange(8) + 0.5)] * 2)),
        (lagt(8, 1.0, 0.0), np.full((8, 8), 0.5)),
        (
            legt(8, 2.0),
            sum(np.outer(p, p) for p in np.sqrt((2 * np.arange(8) + 1) / 2) * np.array([[1, 0] * 4, [0, 1] * 4])),
        ),
    ):
        low = nplr(b).low_rank
        np.testing.assert_allclose(low @ low.T, expected, atol=1e-12)


def test_a_scaling_without_the_form_is_refused() -> None:
    with pytest.raises(ValueError, match="no normal matrix minus one of low rank"):
        nplr(to_lmu(legt(8, 1.0)))
    with pytest.raises(TypeError, match="legs_invariant"):
        nplr(legs(8))  # type: ignore[arg-type]


@pytest.mark.parametrize("order", [4, 16, 64])
def test_s4d_spectra_are_those_published(order: int) -> None:
    n = np.arange(order // 2)
    np.testing.assert_allclose(s4d_lin(order).rates, -0.5 + 1j * np.pi * n)
    np.testing.assert_allclose(s4d_inv(order).rates, -0.5 + 1j * order / np.pi * (order / (2 * n + 1) - 1))
    rates, B = s4d_legs(order)
    P = np.sqrt(np.arange(order) + 0.5)
    values = np.linalg.eigvals(-legs(order).A + np.outer(P, P))  # an independent way to the same spectrum
    np.testing.assert_allclose(np.sort(rates.imag), np.sort(values.imag[values.imag > 0]), rtol=1e-9)
    np.testing.assert_allclose(rates.real, -0.5, atol=1e-12)
    normal = -legs(order).A + np.outer(P, P)
    for age in (0.01, 0.3):  # the normal part's own response, in complex pairs
        dense = expm(normal * age) @ legs(order).B
        assert np.sum(dense**2) == pytest.approx(2 * np.sum(np.abs(np.exp(rates * age) * B) ** 2), rel=1e-9)
    with pytest.raises(ValueError, match="order must be even, conjugate pairs, got 5; use 6"):
        s4d_lin(5)


def test_foud_is_s4d_lin_in_real_numbers() -> None:
    """Eigenvalues -1/2 ± 2πi m over one timescale: S4D-Lin's with its time in half periods."""
    found = np.sort_complex(np.linalg.eigvals(foud(9, 1.0).A))
    lin = s4d_lin(10).rates
    expected = np.concatenate([lin[:1], lin[1:] * 1, lin[1:].conj()])
    expected = expected.real + 2j * expected.imag
    np.testing.assert_allclose(found, np.sort_complex(expected), atol=1e-12)


@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_s5_is_block_diagonal_legs_in_its_eigenvectors(blocks: int) -> None:
    order, inputs, outputs = 16, 3, 2
    made = s5(order, inputs, outputs, blocks, dt=(1e-3, 1e-1), seed=1)
    assert made.rates.shape == made.log_dt.shape == (8,)
    np.testing.assert_allclose(np.sort(made.rates.imag), np.sort(np.tile(s4d_legs(order // blocks).rates.imag, blocks)))
    assert ((made.log_dt >= np.log(1e-3)) & (made.log_dt <= np.log(1e-1))).all()
    # The complex form's transfer function is that of the real system it came from: C₀ (s - W)⁻¹ B₀.
    random = np.random.default_rng(1)
    B, C = random.standard_normal((order, inputs)) / np.sqrt(inputs), random.standard_normal((outputs, order)) / 4
    size = order // blocks
    P = np.sqrt(np.arange(size) + 0.5)
    W = np.kron(np.eye(blocks), -legs(size).A + np.outer(P, P))
    s = 0.7
    found = 2 * ((made.C / (s - made.rates)) @ made.B).real
    np.testing.assert_allclose(found, C @ np.linalg.solve(s * np.eye(order) - W, B), atol=1e-10)
    with pytest.raises(ValueError, match="multiple of 2 · blocks = 6"):
        s5(16, 2, blocks=3)
