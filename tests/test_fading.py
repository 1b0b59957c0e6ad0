"""Memories without a window: biorthogonality, signals given back, converters against published formulas."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from scipy.integrate import quad_vec
from scipy.linalg import expm

from prophecy import Basis, derivative, fout, legs, legt, next_value, run
from prophecy.bases import rescaled
from prophecy.constructions import exact
from prophecy.conventions import from_hippo, from_hippox, from_s4, to_hippo, to_hippox, to_s4
from prophecy.fading import foud, fourier_decay, lagt, legs_invariant

MEMORIES: dict[str, Callable[[float], Basis]] = {
    "legs": lambda unit: legs_invariant(6, unit),
    "lagt": lambda unit: lagt(6, unit),
    "lagt, no tilt": lambda unit: lagt(6, unit, 0.0),
    "lagt, some tilt": lambda unit: lagt(5, unit, 0.3),
    "lagt, alpha": lambda unit: lagt(5, unit, 0.4, 0.5),
    "foud": lambda unit: foud(7, unit),
    "fourier decay": lambda unit: fourier_decay(7, unit),
}


@pytest.mark.parametrize("make", MEMORIES.values(), ids=MEMORIES)
def test_what_the_memory_weighs_with_is_biorthogonal_to_what_gives_the_past_back(
    make: Callable[[float], Basis],
) -> None:
    """∫ exp(A a) B p(a)ᵀ da = 1: a past made of the functions with some coefficients has these as its state."""
    b = make(2.0)

    def product(age: float) -> object:
        return np.outer(expm(b.A * age) @ b.B, b.evaluate([age])[0])

    far = 400.0 if make is MEMORIES["fourier decay"] else 120.0
    found = quad_vec(product, 1e-12, far, epsabs=1e-10, limit=2000)[0]
    np.testing.assert_allclose(found, np.eye(b.order), atol=1e-9)
    np.testing.assert_allclose(b.evaluate([0.0])[0], b.newest, atol=1e-12)


@given(unit=st.floats(1e-3, 1e3), powers=st.integers(0, 5))
def test_time_invariant_legs_gives_exponentials_back(unit: float, powers: int) -> None:
    """u = exp(k t/timescale) is a polynomial in exp(-age/timescale): its steady state is (k - A)⁻¹ B."""
    b = legs_invariant(6, unit)
    state = np.linalg.solve(powers / unit * np.eye(6) - b.A, b.B)
    ages = unit * np.array([0.0, 0.1, 1.0, 3.0])
    np.testing.assert_allclose(b.reconstruct(state, ages), np.exp(-powers * ages / unit), atol=1e-9)


def test_laguerre_gives_polynomials_back_and_its_derivative_is_exact() -> None:
    b = lagt(5, 3.0)
    rate, state, now = derivative(b), np.zeros(5), 2.0
    coefficients = np.array([1.0, -2.0, 0.5, 0.25])
    signal = np.polynomial.Polynomial(coefficients)
    # x' = A x + B u with x a polynomial in t: the coefficients of x follow from the highest down.
    terms = [np.zeros(5) for _ in range(5)]
    for power in range(3, -1, -1):
        terms[power] = np.linalg.solve(-b.A, b.B * coefficients[power] - (power + 1) * terms[power + 1])
    state = sum((term * now**power for power, term in enumerate(terms)), start=np.zeros(5))
    ages = np.array([0.0, 0.5, 2.0, 7.0])
    np.testing.assert_allclose(b.reconstruct(state, ages), signal(now - ages), atol=1e-9)
    assert rate.C @ state + rate.D * signal(now) == pytest.approx(signal.deriv()(now), abs=1e-9)


@pytest.mark.parametrize("make", [v for k, v in MEMORIES.items() if "alpha" not in k])
def test_constructions_and_exact_readouts_work_on_fading_memories(make: Callable[[float], Basis]) -> None:
    system = exact(make(60.0), 1.0, degree=1)
    y, _ = run(system, 3.0 + 0.5 * np.arange(4000.0), "step")
    assert y[-1] == pytest.approx(3.0 + 0.5 * 4000, rel=1e-6)
    if make in (MEMORIES["legs"], MEMORIES["lagt"]):
        y, _ = run(next_value(make(300.0), 1.0), 0.5 * np.arange(4000.0), "step")
        assert y[-1] == pytest.approx(2000.0, rel=1e-5)


def test_a_memory_that_does_not_hold_its_newest_value_is_refused_by_the_constructions() -> None:
    with pytest.raises(ValueError, match="does not hold its newest value"):
        next_value(lagt(5, 100.0, 0.5, 0.5), 1.0)


# --- the formulas as S4, hippo-code and hippox publish them, written out from their definitions ---


def fourier_rotation(half: int, scale: float) -> np.ndarray:
    """Frequencies 0, …, half - 1 in pairs (cosine, sine)."""
    A = np.zeros((2 * half, 2 * half))
    for m in range(half):
        A[2 * m, 2 * m + 1], A[2 * m + 1, 2 * m] = -scale * m, scale * m
    return A


def published(name: str, N: int) -> tuple[np.ndarray, np.ndarray]:
    n, k = np.mgrid[:N, :N]
    root = np.sqrt(2.0 * np.arange(N) + 1)
    edge = np.where(np.arange(N) % 2 == 0, math.sqrt(2), 0.0)
    edge[0] = 1.0
    lower = np.where(n > k, 1.0, 0.0)
    beta = 0.01
    return {
        "legt": (-0.5 * np.outer(root, root) * np.where(n < k, (-1.0) ** (n - k), 1), 0.5 * root),
        "legs": (-np.where(n > k, np.outer(root, root), np.where(n == k, n + 1.0, 0)), root),
        "lagt": (np.eye(N) / 2 - np.tril(np.ones((N, N))), np.ones(N)),
        "glagt": (-np.eye(N) * (1 + beta) / 2 - lower, special.binom(np.arange(N), np.arange(N)) * math.sqrt(beta)),
        "fourier": (fourier_rotation(N // 2, np.pi) - np.outer(edge, edge), edge),
        "fourier2": (fourier_rotation(N // 2, 2 * np.pi) - 2 * np.outer(edge, edge), 2 * edge),
        "fourier_decay": (fourier_rotation(N // 2, np.pi) - 0.5 * np.outer(edge, edge), 0.5 * edge),
        "fourier_diag": (
            fourier_rotation(N // 2, 2 * np.pi) - 0.5 * np.eye(N),
            np.where(np.arange(N) % 2 == 0, 1.0, 0.0),
        ),
        "hippox diagonal": (fourier_rotation(N // 2, 2 * np.pi) - 0.5 * np.eye(N), edge),
    }[name]


OURS: dict[str, tuple[Callable[[int, float], Basis], int]] = {
    "legt": (legt, 0),
    "legs": (legs_invariant, 0),
    "lagt": (lambda n, unit: lagt(n, unit, 0.0), 0),
    "glagt": (lambda n, unit: lagt(n, unit, 0.01), 0),
    "fourier": (fout, 1),
    "fourier2": (fout, 1),
    "fourier_decay": (fourier_decay, 1),
    "fourier_diag": (foud, 1),
    "hippox diagonal": (foud, 1),
}


# Of order 1, a constant alone, several are one and the same low-pass: nothing tells them apart.
@pytest.mark.parametrize("order", [4, 8, 16])
@pytest.mark.parametrize("name", OURS)
def test_s4_and_hippox_measures_are_their_published_formulas_and_come_back(name: str, order: int) -> None:
    make, extra = OURS[name]
    there, back = (to_hippox, from_hippox) if name.startswith("hippox") else (to_s4, from_s4)
    A, B = published(name, order)
    ours = make(order - extra, 5.0)
    theirs = there(ours, double=name == "fourier2")
    np.testing.assert_allclose(theirs.A, A, atol=1e-12)
    np.testing.assert_allclose(theirs.B, B, atol=1e-12)
    again = back(A.astype(np.float32), B[:, None].astype(np.float32), 5.0)
    np.testing.assert_allclose(again.A, ours.A, rtol=1e-5, atol=1e-9)
    assert again.window == ours.window
    assert again.timescale == 5.0


def test_hippo_code_has_laguerre_and_the_generalised_one() -> None:
    for name in ("lagt", "glagt"):
        A, B = published(name, 6)
        ours = OURS[name][0](6, 4.0)
        theirs = to_hippo(ours)
        assert isinstance(theirs, Basis)
        np.testing.assert_allclose(theirs.A, A, atol=1e-12)
        np.testing.assert_allclose(theirs.B, B, atol=1e-12)
        np.testing.assert_allclose(from_hippo(A, B, 4.0).A, ours.A, rtol=1e-6)


@pytest.mark.parametrize("name", OURS)
def test_a_converted_fading_memory_remembers_the_same_past(name: str) -> None:
    ours = OURS[name][0](7, 5.0)
    theirs = (to_hippox if name.startswith("hippox") else to_s4)(ours, double=name == "fourier2")
    ages = np.linspace(0, 5, 21)
    ratio = theirs.timescale / 5.0
    state, other = (expm(b.A * unit) @ b.B * unit for b, unit in ((ours, 1.0), (theirs, ratio)))
    np.testing.assert_allclose(theirs.reconstruct(other, ages * ratio), ours.reconstruct(state, ages), atol=1e-9)


def test_s4_runs_legs_without_the_division_by_time_and_the_converters_say_so() -> None:
    with pytest.raises(TypeError, match=r"S4 runs LegS without the 1/t; use prophecy\.fading\.legs_invariant"):
        to_s4(legs(4))  # type: ignore[arg-type]
    model = from_s4(-legs(4).A, legs(4).B, 2.0)
    assert isinstance(model, Basis)
    np.testing.assert_allclose(model.A, -legs(4).A / 2)


def test_rescaling_keeps_an_infinite_window() -> None:
    b = rescaled(lagt(4, 3.0), 6.0)
    assert b.window == math.inf
    np.testing.assert_allclose(b.A, lagt(4, 6.0).A)


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match=r"tilt must lie in \[0, 1\], got 2"):
        lagt(4, 1.0, 2.0)
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\), got -0\.5"):
        lagt(4, 1.0, 1.0, -0.5)
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\), got 1"):
        lagt(4, 1.0, 1.0, 1.0)
    assert lagt(4, 1.0).name == "LagT"
    assert lagt(4, 1.0, 0.5, 0.0).name == "LagT, tilt 0.5, alpha 0"
    with pytest.raises(ValueError, match="timescale must be positive"):
        legs_invariant(4, 0.0)
    with pytest.raises(ValueError, match="order must be odd"):
        foud(4, 1.0)
    with pytest.raises(ValueError, match="ages must lie between 0"):
        lagt(4, 1.0).evaluate([math.inf])
    with pytest.raises(ValueError, match="timescale must be"):
        Basis(np.eye(1), np.ones(1), np.ones(1), np.ones(1), math.inf, lambda ages: ages[:, None])
