"""Discretisations: outside oracles, exactness where each rule promises it, singular A."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.signal import cont2discrete

from prophecy import fout, legs, legt
from prophecy.discretize import Rule, backward, bilinear, euler, foh, lag, lines, scaled, zoh

RULES = [bilinear, zoh, foh, euler, backward]


@given(order=st.integers(1, 12), window=st.floats(0.5, 50), dt=st.floats(1e-4, 0.2))
def test_rules_agree_with_scipy(order: int, window: float, dt: float) -> None:
    b = legt(order, window)
    C = np.random.default_rng(order).standard_normal((1, order))
    for rule, name in ((zoh, "zoh"), (euler, "euler"), (backward, "backward_diff")):
        ad, bd, *_ = cont2discrete((b.A, b.B[:, None], C, np.zeros((1, 1))), dt, method=name)
        ours = rule(b.A, b.B, dt)
        np.testing.assert_allclose(ours.A, ad, atol=1e-10)
        np.testing.assert_allclose(ours.B, bd[:, 0], atol=1e-10)
        if name != "backward_diff":  # SciPy moves backward Euler's lag into D, which we leave to the readout
            np.testing.assert_array_equal(ours.shift, 0)


@given(order=st.integers(1, 40), window=st.floats(0.5, 50), dt=st.floats(1e-4, 10))
def test_bilinear_is_the_formula_of_the_paper_and_contracts(order: int, window: float, dt: float) -> None:
    b = legt(order, window)
    ours, eye = bilinear(b.A, b.B, dt), np.eye(order)
    np.testing.assert_allclose(
        (eye - dt / 2 * b.A) @ ours.A, eye + dt / 2 * b.A, atol=1e-9 * np.abs(b.A).max() * dt + 1e-12
    )
    assert np.linalg.norm(ours.A, 2) <= 1 + 1e-12  # A + Aᵀ ≤ 0 makes Tustin's rule a contraction, at any step


def test_holds_are_exact_where_they_promise_and_singular_A_is_no_special_case() -> None:
    A, B, dt = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([0.0, 1.0]), 0.7  # a double integrator: A is nilpotent
    hold = zoh(A, B, dt)
    np.testing.assert_allclose(hold.A, [[1, dt], [0, 1]], atol=1e-15)
    np.testing.assert_allclose(hold.B, [dt**2 / 2, dt], atol=1e-15)
    line = foh(A, B, dt)
    z, u = np.zeros(2), lambda k: 3.0 * k * dt
    for k in range(6):
        z = line.A @ z + line.B * u(k)
    end = 5 * dt
    np.testing.assert_allclose(z + line.shift * u(5), [3 * end**3 / 6, 3 * end**2 / 2], rtol=1e-13)
    zero = np.zeros((2, 2))
    for rule in RULES:
        np.testing.assert_allclose(rule(zero, B, dt).A, np.eye(2), atol=1e-15)


@given(order=st.integers(1, 12), window=st.floats(0.5, 50), ticks=st.floats(1e-4, 0.1))
def test_first_order_hold_is_scipys_one_sample_later(order: int, window: float, ticks: float) -> None:
    b, dt = legt(order, window), ticks * window
    u = np.random.default_rng(order).standard_normal(40)
    ad, bd, cd, dd, _ = cont2discrete((b.A, b.B[:, None], np.eye(order), np.zeros((order, 1))), dt, method="foh")
    ours, x, z = foh(b.A, b.B, dt), np.zeros(order), np.zeros(order)
    for now in u:
        x, expected = ours.A @ x + ours.B * now, cd @ z + dd[:, 0] * now
        z = ad @ z + bd[:, 0] * now
        np.testing.assert_allclose(x + ours.shift * now, expected, atol=1e-8)


@pytest.mark.parametrize("rule", [*RULES, lines])
def test_every_rule_solves_its_equation_at_the_time_its_state_stands_for(rule: Rule) -> None:
    """Against an ODE solver, for a smooth signal: at the samples for `foh`, `lines`, `lag` steps later for others."""
    b, dt, steps = legt(8, 2.0), 0.01, 600

    def u(t: float) -> float:
        return float(np.sin(t) ** 2)

    pair = rule(b.A, b.B, dt)
    x = np.zeros(len(pair.B))
    for k in range(steps):
        x = pair.A @ x + pair.B * u(k * dt)
    now = (steps - 1) * dt
    state = (x + pair.shift * u(now))[:8]
    at = [now + lag(rule) * dt, now + (0.5 - lag(rule)) * dt]
    ode = solve_ivp(
        lambda t, s: b.A @ s + b.B * u(t), (0, now + dt), np.zeros(8), rtol=1e-10, atol=1e-12, t_eval=sorted(at)
    )
    there, elsewhere = (np.abs(state - ode.y[:, sorted(at).index(t)]).max() for t in at)
    assert there < {foh: 1e-4, lines: 1e-4, bilinear: 1e-3, zoh: 1e-3}.get(rule, 2e-2)
    assert there < elsewhere / (3 if rule in (foh, lines, bilinear, zoh) else 1)
    if rule in (foh, lines):
        ages = np.linspace(0, 2, 41)
        np.testing.assert_allclose(b.reconstruct(state, ages), [u(now - a) for a in ages], atol=5e-3)


@pytest.mark.parametrize(("rule", "order"), [(euler, 1), (backward, 1), (bilinear, 2)])
def test_rules_converge_at_their_order(rule: Rule, order: int) -> None:
    """Halving the step divides the error of exp(A t) by 2^order."""
    b, end = fout(5, 2.0), 1.0
    exact = zoh(b.A, b.B, end).A
    errors = [np.abs(np.linalg.matrix_power(rule(b.A, b.B, end / n).A, n) - exact).max() for n in (512, 1024)]
    assert errors[0] / errors[1] == pytest.approx(2.0**order, rel=0.1)


@pytest.mark.parametrize("rule", RULES)
def test_legs_starts_from_the_first_sample_and_keeps_constants(rule: Rule) -> None:
    b = legs(5)
    x = np.zeros(5)
    for count in range(1, 40):
        pair = scaled(rule, b.A, b.B, count)
        x = pair.A @ x + pair.B * 2.5
        np.testing.assert_allclose(x + pair.shift * 2.5, [2.5, 0, 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize(("rule", "tolerance"), [(zoh, 8e-3), (foh, 1e-4), (bilinear, 8e-3), (backward, 2e-2)])
def test_legs_follows_its_differential_equation(rule: Rule, tolerance: float) -> None:
    b, steps, dt = legs(4), 1000, 4e-3

    def u(t: object) -> object:
        return np.cos(2 * np.asarray(t))

    x = np.zeros(4)
    for count in range(1, steps + 1):
        pair = scaled(rule, b.A, b.B, count)
        x = pair.A @ x + pair.B * u(count * dt)
    start = np.array([u(dt), 0, 0, 0])
    ode = solve_ivp(lambda t, y: (-b.A @ y + b.B * u(t)) / t, (dt, steps * dt), start, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(x + pair.shift * u(steps * dt), ode.y[:, -1], atol=tolerance)


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan, np.inf, "1"])
def test_steps_that_are_no_lengths_are_refused(dt: object) -> None:
    b = legt(3, 1.0)
    for rule in RULES:
        with pytest.raises((TypeError, ValueError), match="dt must be"):
            rule(b.A, b.B, dt)  # type: ignore[arg-type]


def test_pairs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"A must have shape \(3, 3\), got \(2, 2\)"):
        zoh(np.eye(2), np.ones(3), 0.1)
    with pytest.raises(ValueError, match="B must be finite, got nan at index 1"):
        zoh(np.eye(2), np.array([1.0, np.nan]), 0.1)
    with pytest.raises(TypeError, match="A must be real"):
        zoh(np.eye(2) * 1j, np.ones(2), 0.1)
