"""The paper's constructions: Propositions 1-3, Eq. (5), the poles, the bounds."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import StateSpace, lsim

from prophecy import Basis, Predictor, derivative, fout, legs, legt, next_value, run, signals
from prophecy.bases import fout_as_printed
from prophecy.bounds import coefficient_bound, derivative_bound, high_frequency_response, value_bound
from prophecy.constructions import series_derivative
from prophecy.conventions import to_s4, transformed
from prophecy.discretize import Discrete, Rule, backward, bilinear, euler, foh, lines, zoh
from prophecy.system import Continuous, ScaledContinuous, ScaledSystem, System


@given(order=st.integers(1, 60), window=st.floats(1e-3, 1e3))
def test_D_is_what_the_paper_says(order: int, window: float) -> None:
    assert pytest.approx(order**2 / window) == derivative(legt(order, window)).D
    assert pytest.approx(2 * (order | 1) / window) == derivative(fout(order | 1, window)).D
    assert pytest.approx(order**2) == derivative(legs(order)).D


@given(order=st.integers(1, 30), window=st.floats(0.1, 10), seed=st.integers(0, 99))
def test_prediction_does_not_depend_on_the_scaling_of_the_states(order: int, window: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    b = legt(order, window)
    T = np.diag(rng.uniform(0.5, 2, order)) @ np.linalg.qr(rng.standard_normal((order, order)))[0]
    u = rng.standard_normal(50)
    dt = window / max(4 * order**2, 64)
    ours, theirs = (run(next_value(basis, dt), u, "step")[0] for basis in (b, transformed(b, T)))
    np.testing.assert_allclose(theirs, ours, atol=1e-9)


def test_next_value_is_equation_5() -> None:
    b, dt = legt(7, 3.0), 0.01
    rate, system = derivative(b), next_value(b, dt)
    half = rate.D * dt / 2
    np.testing.assert_allclose(system.C, dt * rate.C / (1 - half), rtol=1e-14)
    assert pytest.approx((1 + half) / (1 - half)) == system.D
    eye = np.eye(7)
    np.testing.assert_allclose((eye - dt / 2 * b.A) @ system.A, eye + dt / 2 * b.A, atol=1e-13)
    np.testing.assert_allclose((eye - dt / 2 * b.A) @ system.B, dt * b.B, atol=1e-14)


@pytest.mark.parametrize("order", [3, 6, 10])
def test_the_derivative_of_a_polynomial_below_the_order_is_exact(order: int) -> None:
    """With the state the exact projection, C x + D u is u'(t): the construction has no error of its own here."""
    b = legt(order, 2.0)
    rate = derivative(b)
    polynomial = np.polynomial.Legendre(np.random.default_rng(order).standard_normal(order), domain=[0, 5])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    now, ages = 4.0, b.window * (nodes + 1) / 2
    x = (polynomial(now - ages) * weights / 2) @ b.evaluate(ages)
    assert rate.C @ x + rate.D * polynomial(now) == pytest.approx(polynomial.deriv()(now), abs=1e-10)


def test_the_derivative_converges_on_a_smooth_signal_faster_than_any_power() -> None:
    """LegT on exp(sin t): each two more orders gain at least a factor five until rounding (spectral convergence)."""
    t = np.linspace(0, 12, 6001)
    u, exact = np.exp(np.sin(t)), np.cos(t) * np.exp(np.sin(t))
    errors = []
    for order in (4, 6, 8, 10):
        rate = derivative(legt(order, 2.0))
        plant = StateSpace(rate.A, rate.B[:, None], rate.C[None, :], rate.D)
        y = lsim(plant, u, t)[1]
        errors.append(np.abs(y - exact)[3000:].max())
    assert all(late < early / 5 for early, late in itertools.pairwise(errors)), errors


def test_prediction_error_falls_with_the_cube_of_the_step() -> None:
    """With a memory good enough for sin t, Eq. (5) errs like the trapezoid rule, dt³ (measured 3.25, 3.00)."""
    errors = []
    for dt in (8e-3, 4e-3, 2e-3):
        t = np.arange(0, 8, dt)
        y, _ = run(next_value(legt(12, 2.0), dt), np.sin(t))
        errors.append(np.abs(y[:-1] - np.sin(t[1:]))[len(t) // 2 :].max())
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(rates, 3.0, atol=0.35)


def response(rate: Continuous, omega: float) -> complex:
    """The system's answer to exp(iωt), per exp(iωt)."""
    solved = np.linalg.solve(1j * omega * np.eye(rate.order) - rate.A, rate.B)
    return complex(rate.C @ solved + rate.D)


def test_series_derivative_has_no_feedthrough_and_is_right_for_periodic_signals_only() -> None:
    window, order = 2.0, 9
    rate = series_derivative(fout(order, window))
    assert rate.D == 0
    for m in range(1, order // 2 + 1):
        omega = 2 * np.pi * m / window
        assert response(rate, omega) == pytest.approx(1j * omega, abs=1e-10)
        between = omega + np.pi / window
        assert abs(response(rate, between) - 1j * between) > 0.3 * between


def test_fout_estimates_the_mean_of_the_slopes_at_both_edges() -> None:
    window = 1.0
    for omega in (0.5, 2.0, 7.0):
        mean = 1j * omega * (1 + np.exp(-1j * omega * window)) / 2
        errors = [abs(response(derivative(fout(order, window)), omega) - mean) for order in (17, 65, 257)]
        assert errors[0] > 3 * errors[1] > 9 * errors[2]
        assert errors[2] < 0.01 * omega


def test_legs_carries_the_sign_its_proposition_forgets() -> None:
    rate = derivative(legs(5))
    assert isinstance(rate, ScaledContinuous)
    np.testing.assert_allclose(rate.C, -legs(5).newest @ legs(5).A)
    # A constant past has derivative zero: C e₀ + D = 0.
    assert rate.C[0] + rate.D == pytest.approx(0)


@pytest.mark.parametrize("rule", ["trapezoid", "euler", "twice"])
@pytest.mark.parametrize("make", [legt, fout, fout_as_printed])
def test_every_rule_learns_to_hold_a_constant(rule: str, make: object) -> None:
    system = next_value(make(5, 64.0), 1.0, rule)  # type: ignore[operator]
    y, _ = run(system, np.full(2000, 3.0), "step")
    # As printed, the constant function carries a √2 that A and B do not know: it holds 3.14 instead of 3.
    assert y[-1] == pytest.approx(3.0, abs=0.2 if make is fout_as_printed else 1e-9)


@given(order=st.integers(1, 12), share=st.floats(0.01, 0.9))
def test_forward_euler_adds_one_step_of_the_derivative(order: int, share: float) -> None:
    """C̄ = dt C and D̄ = 1 + dt D, with dt = 2 share / D, short of where it would turn round."""
    basis = legt(order, 3.0)
    rate = derivative(basis)
    dt = 2 * share / rate.D
    system = next_value(basis, dt, "euler")
    np.testing.assert_allclose(system.C, dt * rate.C, rtol=1e-14)
    assert pytest.approx(1 + dt * rate.D, rel=1e-14) == system.D
    assert system.derivative is not None
    np.testing.assert_allclose(system.derivative.C, rate.C / (1 - share), rtol=1e-10)


@pytest.mark.parametrize("beyond", [1.0, 1.2, 3.0])
def test_forward_euler_is_refused_from_where_it_follows_a_ramp_the_wrong_way(beyond: float) -> None:
    basis = legt(4, 8.0)
    dt = beyond * 2 / derivative(basis).D
    with pytest.raises(ValueError, match=f"order 4 with dt/window {dt / 8:.3g}: rule 'euler' would follow"):
        next_value(basis, dt, "euler")


def test_the_series_is_differentiated_on_its_sines_alone() -> None:
    window, order = 3.0, 9
    rate = series_derivative(fout(order, window))
    m = np.arange(1, 5)
    expected = np.zeros(order)
    expected[2 * m] = -2 * np.sqrt(2) * np.pi * m / window
    np.testing.assert_allclose(rate.C, expected, rtol=1e-13)


@pytest.mark.parametrize("name", ["A", "B"])
def test_a_basis_that_only_resembles_fout_is_refused_by_the_series(name: str) -> None:
    basis = fout(5, 2.0)
    changed = getattr(basis, name).copy()
    changed.flat[1] += 1e-6
    with pytest.raises(TypeError, match="series_derivative needs fout"):
        series_derivative(dataclasses.replace(basis, **{name: changed}))


def test_without_feedthrough_no_memory_shows_a_lag() -> None:
    """D = 0 under any memory: Eq. (5) is dt C on the state and the newest value itself."""
    basis = fout(7, 50.0)
    rate = series_derivative(basis)
    for memory in (backward, bilinear):
        system = next_value(basis, 0.5, construction=series_derivative, memory=memory)
        np.testing.assert_allclose(system.C, 0.5 * rate.C, rtol=1e-13)
        assert pytest.approx(1.0) == system.D


@pytest.mark.parametrize("share", [1 + 1e-5, 0.5, 3.0])
def test_a_memory_that_does_not_hold_constants_is_refused(share: float) -> None:
    """Every rule of `discretize` has the continuous system's steady state; one with another input matrix has not."""

    def wrong(A: np.ndarray, B: np.ndarray, dt: float) -> Discrete:
        return backward(A, share * B, dt)

    for window in (50.0, 0.5):
        with pytest.raises(ValueError, match="under wrong LegT of order 5 over 50 samples does not hold constants"):
            next_value(legt(5, window), window / 50, memory=wrong)
    share = 1 + 1e-7  # rounding is not taken for it, whatever the size of D
    for window in (50.0, 0.5):
        next_value(legt(5, window), window / 50, memory=wrong)


def test_discretising_the_readout_twice_is_the_formula_of_appendix_c() -> None:
    b, dt = legt(6, 4.0), 0.05
    rate, once = derivative(b), next_value(b, dt)
    inverse = np.linalg.inv(np.eye(6) - dt / 2 * b.A)
    C, D = inverse.T @ rate.C, rate.D + rate.C @ once.B / 2
    twice = next_value(b, dt, "twice")
    np.testing.assert_allclose(twice.C, dt * C / (1 - D * dt / 2), rtol=1e-10)
    assert pytest.approx((1 + D * dt / 2) / (1 - D * dt / 2)) == twice.D


def test_the_pole_of_the_trapezoid_rule_is_refused_with_the_way_out() -> None:
    for window in (200.0, 182.0, 222.0):
        with pytest.raises(ValueError, match=r"order 20 .* near .* pole.* use another window, .*discretize\.backward"):
            next_value(legt(20, window), 1.0)
    with pytest.raises(ValueError, match=r"rule 'euler' would follow a ramp with -3 of its slope, the wrong way"):
        next_value(legt(20, 50.0), 1.0, rule="euler")
    for window in (50.0, 180.0, 224.0):
        next_value(legt(20, window), 1.0)
    next_value(legt(20, 200.0), 1.0, memory=backward)


@pytest.mark.parametrize("memory", [bilinear, zoh, foh, backward, euler])
@pytest.mark.parametrize("window", [10.0, 30.0, 100.0])
def test_a_ramp_is_followed_exactly_under_every_memory_on_both_sides_of_the_pole(memory: Rule, window: float) -> None:
    if memory is euler and window < 30:
        pytest.skip("forward Euler is unstable there: |A| dt > 2")
    system = next_value(legt(6, window), 1.0, memory=memory)
    p = Predictor(system)
    p.observe(3.0 * np.arange(1500.0))
    assert p.predict() == pytest.approx(4500, rel=1e-9)
    assert p.derivative() == pytest.approx(3.0, rel=1e-6)


def test_first_order_hold_has_no_pole_and_errors_of_third_order() -> None:
    for order in (2, 8, 16, 33):
        for window in np.geomspace(order, 1e4, 25):
            system = next_value(legt(order, window), 1.0, memory=foh)
            x1 = np.linalg.solve(np.eye(order) - system.A, system.B)
            assert system.C @ x1 + system.D == pytest.approx(1, abs=1e-6)
    with pytest.raises(ValueError, match="order 64 over 20 samples does not hold constants"):
        next_value(legt(64, 20.0), 1.0, memory=foh)
    errors = []
    for dt in (0.04, 0.02, 0.01, 0.005):
        u = np.sin(np.arange(0, 40, dt))
        y, _ = run(next_value(legt(14, 8.0), dt, memory=foh), u)
        errors.append(np.abs(y[len(y) // 2 : -1] - u[len(y) // 2 + 1 :]).max())
    assert all(coarse > 7 * fine for coarse, fine in itertools.pairwise(errors)), errors
    assert errors[-1] < 3 * 0.005**3


@pytest.mark.parametrize("rule", ["trapezoid", "euler", "twice"])
def test_the_derivative_does_not_depend_on_how_the_step_is_taken(rule: str) -> None:
    p = Predictor(next_value(fout(5, 100.0), 0.5, rule))
    p.observe(0.5 * np.arange(4000.0))
    # "twice" reads the state half a step later again, which its own gain 1 - D dt/2 does not cover: App. C.2's point.
    assert p.derivative() == pytest.approx(1.0, rel=0.06 if rule == "twice" else 1e-3)


def test_discretising_twice_predicts_worse() -> None:
    u = signals.white_signal(1.0, 8)
    errors = []
    for rule in ("trapezoid", "twice"):
        y, _ = run(next_value(legt(33, 10.0), 1e-3, rule), u)
        errors.append(np.mean((y[:, 4999:-1] - u[:, 5000:]) ** 2))
    assert errors[0] < errors[1]


@pytest.mark.parametrize("memory", [bilinear, backward, zoh])
@pytest.mark.parametrize("order", [2, 6, 16])
def test_legs_follows_a_ramp_before_and_after_its_pole_and_copies_at_it(memory: Rule, order: int) -> None:
    system = next_value(legs(order), 1e-3, memory=memory)
    assert isinstance(system, ScaledSystem)
    pole = order**2 // 2
    y, _ = run(system, np.arange(4.0 * pole + 40))
    slope = y - np.arange(len(y))
    if memory is not backward:
        assert slope[pole - 1] == 0  # sample number N²/2: the last value
        assert system.at(pole).D == 1
    # LegS forgets how it began like 1/t: the slope is right once the start weighs little, whichever side of the pole.
    assert slope[-1] == pytest.approx(1, abs=0.05)
    assert np.abs(slope).max() < 60


def test_legs_readout_is_the_trapezoid_rule_of_its_step() -> None:
    order, count = 6, 100
    C, D = next_value(legs(order), 1.0).readout(count)
    gain = order**2 / count
    assert pytest.approx((1 + gain / 2) / (1 - gain / 2)) == D
    np.testing.assert_allclose(C, -legs(order).newest @ legs(order).A / count / (1 - gain / 2))
    with pytest.raises(ValueError, match="count must be at least 1"):
        next_value(legs(order), 1.0).readout(0)
    with pytest.raises(ValueError, match="memory of a ScaledSystem must be one of bilinear, backward, zoh"):
        next_value(legs(order), 1.0, memory=euler)
    with pytest.raises(ValueError, match="as large as A and has no shift, got <function lines"):
        next_value(legs(order), 1.0, memory=lines)
    with pytest.raises(ValueError, match="has no shift, got <function foh"):
        next_value(legs(order), 1.0, memory=foh)


def test_legs_takes_a_rule_of_ones_own() -> None:
    def radau(A: Any, B: Any, dt: float) -> Discrete:
        return backward(A, B, dt)

    ramp = np.arange(300.0)
    found, expected = (run(next_value(legs(6), 1.0, memory=rule), ramp)[0] for rule in (radau, backward))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    predictor = Predictor(next_value(legs(6), 1.0, memory=radau))
    with pytest.raises(ValueError, match="has no name in a file"):
        predictor.save("nowhere.npz")


def test_legs_by_forward_euler_takes_the_slope_as_it_stands_and_copies_before_its_pole() -> None:
    """Uncorrected: C/count and D/count, and no slope while 1 - D/(2 count) is negative or nearly 0."""
    system = next_value(legs(6), 1.0, "euler")
    assert system.D == 36
    for count in (1, 17, 18):
        assert not system.slope(count).C.any()
        assert system.slope(count).D == 0
    for count in (19, 40, 1000):
        np.testing.assert_allclose(system.slope(count).C, system.C / count, rtol=1e-15)
        assert pytest.approx(36 / count, rel=1e-15) == system.slope(count).D


def test_a_step_is_a_second_unless_said_and_the_order_is_the_number_of_states() -> None:
    pair = np.eye(2) / 2, np.ones(2)
    assert System(*pair, np.ones(2), 0.0).dt == 1.0
    assert ScaledSystem(*pair, np.ones(2), 0.0).dt == 1.0
    assert derivative(legs(4)).order == 4
    assert derivative(legt(4, 1.0)).order == 4


def test_legs_does_not_know_the_unit_of_time() -> None:
    u = np.sin(np.arange(300) / 20)
    slow, fast = (run(next_value(legs(5), dt), u)[0] for dt in (1.0, 1e-6))
    np.testing.assert_array_equal(slow, fast)


@given(smoothness=st.integers(3, 8), m=st.integers(1, 60), window=st.floats(0.1, 10))
def test_theorem_1_is_the_sum_of_its_tail(smoothness: int, m: int, window: float) -> None:
    kept, more = (derivative_bound(2 * n + 1, smoothness, 1.0, window) for n in (m, m + 1))
    term = 2 * np.sqrt(2) * np.pi * (m + 1) / window * coefficient_bound(m + 1, smoothness, 1.0, window)
    assert kept - more == pytest.approx(term, rel=1e-6)  # the bound's steps are the terms, and it tends to zero
    assert derivative_bound(2 * 10**6 + 1, smoothness, 1.0, window) < 1e-4 * kept
    bound = kept
    assert value_bound(2.0, 2 * m + 1, smoothness, 1.0, window) == pytest.approx(2 * bound)
    assert derivative_bound(2 * m + 1, smoothness, 3.0, window) == pytest.approx(3 * bound)


@pytest.mark.parametrize("smoothness", [3, 4, 5])
def test_the_bound_holds_for_a_periodic_signal_and_falls_at_the_papers_rate(smoothness: int) -> None:
    """u^(k) a square wave with |u^(k)| = 1: its sine series is known, so the truncation error is too."""
    window = 1.0
    n = np.arange(1, 200_001, 2)
    for m in (5, 11, 21):
        tail = n[n > m]
        amplitude = 4 / np.pi / tail * (window / (2 * np.pi * tail)) ** smoothness
        worst = np.sum(amplitude * 2 * np.pi * tail / window)  # all terms in phase
        assert worst <= derivative_bound(2 * m + 1, smoothness, 1.0, window)
    far, near = (derivative_bound(2 * m + 1, smoothness, 1.0, window) for m in (800, 400))
    assert np.log2(near / far) == pytest.approx(smoothness - 2, abs=0.02)


@given(m=st.integers(1, 40), above=st.floats(1e-3, 50), window=st.floats(0.1, 10))
def test_above_its_band_the_ssm_errs_no_more_than_leaving_the_frequency_out(
    m: int, above: float, window: float
) -> None:
    """Theorem 1 is argued for ideal coefficients; the system itself keeps each term's bound, so the theorem holds."""
    omega = 2 * np.pi * m / window * (1 + above)
    H = response(series_derivative(fout(2 * m + 1, window)), omega)
    assert pytest.approx(high_frequency_response(omega, 2 * m + 1, window), rel=1e-6) == H
    assert abs(1j * omega - H) <= omega * (1 + 1e-12)
    with pytest.raises(ValueError, match="omega must lie above the band"):
        high_frequency_response(2 * np.pi * m / window, 2 * m + 1, window)


def test_corollary_1_needs_the_value_it_starts_from() -> None:
    """u = cos 2πt: the integral of the exact derivative misses u(0) = 1, which the printed bound does not know."""
    order, smoothness, time = 9, 5, 0.25
    lipschitz = (2 * np.pi) ** smoothness
    difference = abs(np.cos(2 * np.pi * time) - (np.cos(2 * np.pi * time) - 1.0))
    assert difference > 100 * value_bound(time, order, smoothness, lipschitz, 1.0)
    assert difference <= value_bound(time, order, smoothness, lipschitz, 1.0, start=1.0)
    with pytest.raises(ValueError, match=r"start must be u\(0\)"):
        value_bound(1.0, 9, 5, 1.0, 1.0, start=float("nan"))


def test_bounds_refuse_what_the_theorem_excludes() -> None:
    with pytest.raises(ValueError, match="smoothness must be at least 3"):
        derivative_bound(9, 2, 1.0, 1.0)
    with pytest.raises(ValueError, match="order must be odd"):
        derivative_bound(8, 3, 1.0, 1.0)


def test_constructions_refuse_what_is_no_basis() -> None:
    with pytest.raises(TypeError, match="basis must be a Basis"):
        derivative("legt")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="series_derivative needs fout or fout_as_printed, got 'LegT'"):
        series_derivative(legt(5, 1.0))
    with pytest.raises(ValueError, match="rule must be one of 'trapezoid', 'euler', 'twice', got 'simpson'"):
        next_value(legt(5, 100.0), 1.0, "simpson")
    with pytest.raises(ValueError, match="'twice' is for constant systems"):
        next_value(legs(5), 1.0, "twice")
    with pytest.raises(ValueError, match="dt must be positive"):
        next_value(legt(5, 1.0), 0.0)
    with pytest.raises(TypeError, match=r"memory must be a function, such as prophecy.discretize.zoh, got 'zoh'"):
        next_value(legt(5, 100.0), 1.0, memory="zoh")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="construction must be a function"):
        next_value(legt(5, 100.0), 1.0, construction="x")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="construction must be left at derivative for LegS"):
        next_value(legs(5), 1.0, construction=series_derivative)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="'twice' is the bilinear rule applied twice"):
        next_value(legt(5, 100.0), 1.0, "twice", memory=zoh)
    for disguised in (transformed(fout(5, 1.0), 2 * np.eye(5)), to_s4(fout(5, 1.0))):
        with pytest.raises(TypeError, match="series_derivative needs"):
            series_derivative(disguised)  # type: ignore[arg-type]


def haar(order: int, window: float) -> Basis:
    """A toy basis the package has never heard of: steps over parts of the window, upwind transport between them."""
    part = window / order
    return Basis(
        A=(np.eye(order, k=-1) - np.eye(order)) / part,
        B=np.eye(order)[0] / part,
        newest=np.eye(order)[0] * 1.5 - np.eye(order)[min(1, order - 1)] * 0.5,
        oldest=np.eye(order)[-1],
        window=window,
        functions=lambda ages: np.eye(order)[np.minimum((ages / part).astype(int), order - 1)],
        name="steps",
    )


def test_a_basis_from_outside_goes_through_everything(tmp_path: object) -> None:
    from prophecy.engines import ENGINES

    b = haar(16, 32.0)
    assert isinstance(derivative(b), Continuous)
    system = next_value(b, dt=0.25, rule="euler")
    t = np.arange(1000) * 0.25
    u = np.sin(t / 20)
    reference, state = run(system, u, "step")
    for engine in ENGINES:
        np.testing.assert_allclose(run(system, u, engine)[0], reference, atol=1e-12)
    p = Predictor(system)
    p.observe(u)
    assert p.predict() == pytest.approx(reference[-1], abs=1e-12)
    p.save(tmp_path / "p.npz")  # type: ignore[operator]
    assert Predictor.load(tmp_path / "p.npz").predict() == p.predict()  # type: ignore[operator]
    ages = (np.arange(16) + 0.5) * 2.0
    np.testing.assert_allclose(b.reconstruct(state, ages), np.sin((t[-1] - ages) / 20), atol=0.15)
