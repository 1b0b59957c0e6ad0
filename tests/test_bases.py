"""Bases remember: energy balances, projections, reconstruction, conventions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import legendre as npleg
from scipy.integrate import quad_vec, solve_ivp

from prophecy import Basis, fout, legs, legt
from prophecy.bases import check_basis, fout_as_printed, rescaled
from prophecy.conventions import from_hippo, from_lmu, from_s4, to_hippo, to_lmu, to_s4, transformed
from prophecy.discretize import foh, zoh
from prophecy.fading import foud, fourier_decay, lagt, legs_invariant

ORDERS = [1, 2, 3, 8, 33, 65, 128, 257]
odd = st.integers(0, 20).map(lambda m: 2 * m + 1)
windows = st.floats(1e-6, 1e6)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("window", [1e-3, 1.0, 7.5])
def test_energy_leaves_legt_only_through_the_window_edges(order: int, window: float) -> None:
    b = legt(order, window)
    edges = np.outer(b.newest, b.newest) + np.outer(b.oldest, b.oldest)
    np.testing.assert_allclose(b.A + b.A.T, -edges / window, rtol=1e-12, atol=1e-12 / window)


@pytest.mark.parametrize("order", [n for n in ORDERS if n % 2])
@pytest.mark.parametrize("make", [fout, fout_as_printed])
def test_energy_leaves_fout_only_through_its_joined_edge(make: object, order: int) -> None:
    # Twice LegT's: FouT estimates the value that leaves by 2û - u, because its two edges are one point of a circle.
    window = 2.5
    b = make(order, window)  # type: ignore[operator]
    edge = fout(order, window).newest
    np.testing.assert_allclose(b.A + b.A.T, -4 * np.outer(edge, edge) / window, rtol=1e-12, atol=1e-12)


def test_the_energy_identities_hold_at_every_order_to_257() -> None:
    for order in range(1, 258):
        b, s = legt(order, 1.0), legs(order)
        edges = np.outer(b.newest, b.newest) + np.outer(b.oldest, b.oldest)
        assert np.abs(b.A + b.A.T + edges).max() <= 1e-12 * np.abs(b.A).max()
        assert np.abs(s.A + s.A.T - np.eye(order) - np.outer(s.newest, s.newest)).max() <= 1e-12 * np.abs(s.A).max()
        if order % 2:
            f = fout(order, 1.0)
            edges = np.outer(f.newest, f.newest) + np.outer(f.oldest, f.oldest)
            assert np.abs(f.A + f.A.T + 2 * edges).max() <= 1e-12 * np.abs(f.A).max()


@pytest.mark.parametrize("order", ORDERS)
def test_energy_of_legs_grows_by_its_newest_value(order: int) -> None:
    b = legs(order)
    np.testing.assert_allclose(b.A + b.A.T, np.eye(order) + np.outer(b.newest, b.newest), rtol=1e-12)


@given(order=st.integers(1, 40), window=windows)
def test_edges_are_the_functions_at_the_edges(order: int, window: float) -> None:
    for b in (legt(order, window), fout(order | 1, window), fout_as_printed(order | 1, window)):
        np.testing.assert_allclose(b.evaluate([0.0, window]), [b.newest, b.oldest], atol=1e-9)


@pytest.mark.parametrize("make", [legt, fout])
def test_functions_are_orthonormal_over_the_window(make: object) -> None:
    order, window = 9, 3.0
    b = make(order, window)  # type: ignore[operator]
    nodes, weights = npleg.leggauss(64)
    table = b.evaluate(window * (nodes + 1) / 2)
    np.testing.assert_allclose((table * weights[:, None] / 2).T @ table, np.eye(order), atol=1e-13)


@pytest.mark.parametrize("order", [1, 2, 5, 16])
def test_a_polynomial_of_degree_below_the_order_is_reconstructed(order: int) -> None:
    """Drive LegT continuously with a polynomial; its state is the exact projection and gives the polynomial back."""
    window = 2.0
    b = legt(order, window)
    rng = np.random.default_rng(order)
    coefficients = rng.standard_normal(order)

    def signal(t: object) -> object:
        return npleg.legval(np.asarray(t) / 5 - 1, coefficients)  # type: ignore[arg-type]

    projection = quad_vec(lambda a: signal(4.0 - a) * b.evaluate(a)[0] / window, 0, window)[0]  # type: ignore[operator]
    # Starting from the exact projection at t = 4, LegT must stay on it: the closure u(t - θ) ≈ p·x is exact for these.
    out = solve_ivp(
        lambda t, x: b.A @ x + b.B * signal(t), (4.0, 9.0), projection, method="LSODA", rtol=1e-11, atol=1e-12
    )
    ages = np.linspace(0, window, 41)
    np.testing.assert_allclose(b.reconstruct(out.y[:, -1], ages), signal(9.0 - ages), atol=1e-8)  # type: ignore[operator]


def test_fout_remembers_a_periodic_signal_and_its_twin_as_printed_only_the_doubled_one() -> None:
    window, order = 1.0, 17
    ages = np.linspace(0, window, 50)
    t = np.arange(0, 40, 1e-3)
    for make, frequency in ((fout, 3), (fout_as_printed, 4)):
        b = make(order, window)
        pair = foh(b.A, b.B, 1e-3)
        x = np.zeros(order)
        u = np.cos(2 * np.pi * frequency * t) + 0.5 * np.sin(2 * np.pi * frequency * t)
        for value in u:
            x = pair.A @ x + pair.B * value
        x, now = x + pair.shift * u[-1], t[-1]
        past = np.cos(2 * np.pi * frequency * (now - ages)) + 0.5 * np.sin(2 * np.pi * frequency * (now - ages))
        np.testing.assert_allclose(b.reconstruct(x, ages), past, atol=0.02)


BASES = [legt(1, 2.0), legt(16, 200.0), legt(64, 2000.0), fout(17, 3.0), lagt(8, 5.0), lagt(8, 5.0, 0.0),
         legs_invariant(16, 4.0), foud(9, 3.0), fourier_decay(9, 3.0), to_lmu(legt(6, 2.0))]  # fmt: skip


@pytest.mark.parametrize("basis", BASES, ids=str)
def test_a_basis_of_ones_own_is_checked_and_every_slip_found(basis: Basis) -> None:
    check_basis(basis)
    slips = {"A": -basis.A, "B": 2 * basis.B, "newest": basis.newest * 1.01}
    slips |= {"A ": basis.A.T} if not np.allclose(basis.A, basis.A.T) else {}
    for name, value in slips.items():
        with pytest.raises(ValueError, match=r"do not move the functions|must be the functions' values"):
            check_basis(replace(basis, **{name.strip(): value}))
    with pytest.raises(ValueError, match="do not move the functions of FouT as printed"):
        check_basis(fout_as_printed(5, 2.0))


def test_legs_reconstructs_the_whole_past() -> None:
    b = legs(6)
    coefficients = np.array([0.3, -1.0, 0.5, 0.2])
    end = 7.0
    nodes, weights = npleg.leggauss(32)
    ages = end * (nodes + 1) / 2
    state = (npleg.legval(1 - 2 * ages / end, coefficients) * weights / 2) @ b.evaluate(ages, end)
    where = np.linspace(0, end, 23)
    np.testing.assert_allclose(
        b.reconstruct(state, where, end), npleg.legval(1 - 2 * where / end, coefficients), atol=1e-13
    )


def impulse(basis: Basis, dt: float, ages: object) -> object:
    """What a memory says of the past after one pulse, at a physical step: the invariant between conventions."""
    pair = zoh(basis.A, basis.B, dt)
    state = np.linalg.matrix_power(pair.A, 20) @ pair.B
    return basis.reconstruct(state, np.asarray(ages) * basis.window)


@pytest.mark.parametrize(
    ("ours", "converted"),
    [
        (legt(9, 5.0), to_lmu(legt(9, 5.0))),
        (legt(9, 5.0), to_s4(legt(9, 5.0))),
        (legt(9, 5.0), to_hippo(legt(9, 5.0))),
        (fout(9, 5.0), to_s4(fout(9, 5.0))),
        (legt(9, 5.0), transformed(legt(9, 5.0), np.random.default_rng(0).standard_normal((9, 9)))),
    ],
)
def test_a_converted_memory_remembers_the_same_past(ours: Basis, converted: Basis) -> None:
    fractions = np.linspace(0, 1, 33)
    dt = ours.window / 64
    theirs = impulse(converted, dt * converted.window / ours.window, fractions)
    np.testing.assert_allclose(theirs, impulse(ours, dt, fractions), atol=1e-11)  # type: ignore[arg-type]


def test_matrices_that_are_discretised_already_are_recognised_too() -> None:
    lmu, dt = to_lmu(legt(12, 1.0)), 0.01
    pair = zoh(lmu.A, lmu.B, dt / 3.0)
    found = from_lmu(pair.A.astype(np.float32), pair.B.astype(np.float32), window=3.0, dt=dt)
    np.testing.assert_array_equal(found.A, legt(12, 3.0).A)
    with pytest.raises(ValueError, match="are not a LMU memory"):
        from_lmu(pair.A.T, pair.B, window=3.0, dt=dt)


def test_lmu_matches_its_published_formula_and_s4_its_halves() -> None:
    n, k = np.mgrid[:7, :7]
    lmu = to_lmu(legt(7, 3.0))
    np.testing.assert_allclose(lmu.A, (2 * n + 1) * np.where(n < k, -1, (-1.0) ** (n - k + 1)), atol=1e-12)
    np.testing.assert_allclose(lmu.B, (2 * np.arange(7) + 1) * (-1.0) ** np.arange(7), atol=1e-12)
    s4 = to_s4(legt(7, 3.0))
    assert isinstance(s4, Basis)
    np.testing.assert_allclose(s4.A * 2, legt(7, 1.0).A)
    np.testing.assert_allclose(s4.B * 2, legt(7, 1.0).B)


@given(order=st.integers(1, 16), window=st.floats(0.01, 100))
def test_conventions_round_trip(order: int, window: float) -> None:
    ours = legt(order, window)
    for there, back in ((to_lmu, from_lmu), (to_s4, from_s4), (to_hippo, from_hippo)):
        foreign = there(ours)
        assert isinstance(foreign, Basis)
        again = back(foreign.A.astype(np.float32), foreign.B[:, None], window)
        np.testing.assert_allclose(again.A, ours.A)
    np.testing.assert_array_equal(from_hippo(*to_hippo(legs(order))).A, legs(order).A)  # type: ignore[misc]
    if order % 2:
        foreign = to_s4(fout(order, window))
        assert isinstance(foreign, Basis)
        np.testing.assert_allclose(from_s4(foreign.A, foreign.B, window).A, fout(order, window).A)


def test_foreign_arrays_that_are_something_else_are_refused() -> None:
    with pytest.raises(ValueError, match="not a LMU memory"):
        from_lmu(legt(5, 1.0).A, legt(5, 1.0).B, 1.0)
    with pytest.raises(ValueError, match="leave window out for hippo-code's LegS"):
        from_hippo(-legs(4).A, legs(4).B, 1.0)
    with pytest.raises(ValueError, match="give window in seconds"):
        from_hippo(legt(4, 1.0).A, legt(4, 1.0).B)
    with pytest.raises(TypeError, match="to_lmu knows LegT"):
        to_lmu(fout(5, 1.0))


def test_a_convention_is_not_applied_twice() -> None:
    for step in (to_lmu, to_hippo, to_s4):
        with pytest.raises(TypeError, match="in this project's scaling"):
            step(to_lmu(legt(5, 3.0)))
    with pytest.raises(ValueError, match="T must be invertible"):
        transformed(legt(3, 1.0), np.zeros((3, 3)))


def test_rescaling_is_a_change_of_unit() -> None:
    np.testing.assert_allclose(rescaled(legt(6, 3.0), 12.0).A, legt(6, 12.0).A, rtol=1e-14)


@pytest.mark.parametrize("order", [0, -3, 2.0, "8", True, None, 1.5, float("nan")])
def test_orders_that_are_no_counts_are_refused(order: object) -> None:
    for make in (lambda n: legt(n, 1.0), legs, lambda n: fout(n, 1.0)):
        with pytest.raises((TypeError, ValueError), match="order must be"):
            make(order)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("window", [0.0, -1.0, np.inf, np.nan, "1", 1j, None, 10**400, 1e-320])
def test_windows_that_are_no_lengths_are_refused(window: object) -> None:
    for make in (legt, fout, fout_as_printed):
        with pytest.raises((TypeError, ValueError), match="window must"):
            make(3, window)  # type: ignore[arg-type]


def test_even_fout_orders_are_refused_with_the_next_odd_one() -> None:
    with pytest.raises(ValueError, match=r"order must be odd.*got 8; use 9"):
        fout(8, 1.0)


def test_a_basis_cannot_be_changed() -> None:
    b = legt(4, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        b.A[0, 0] = 1
    with pytest.raises(AttributeError):
        b.window = 2.0  # type: ignore[misc]


def test_reconstruction_refuses_ages_outside_the_window_and_states_of_another_order() -> None:
    b = legt(4, 2.0)
    with pytest.raises(ValueError, match=r"between 0 \(now\) and 2 seconds, got 2\.5"):
        b.reconstruct(np.zeros(4), [0.0, 2.5])
    with pytest.raises(ValueError, match=r"state must have shape \(\.\.\., 4\), got \(5,\)"):
        b.reconstruct(np.zeros(5), 0.0)
    assert b.reconstruct(np.zeros((3, 2, 4)), [0.0, 1.0, 2.0]).shape == (3, 2, 3)
    assert legt(4, 0.3).evaluate(np.arange(4) * 0.1).shape == (4, 4)  # 3 · 0.1 is a rounding beyond 0.3
