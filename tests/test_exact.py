"""Exact readouts: exact for polynomials, least noise among all that are, whatever the memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import solve_discrete_lyapunov

from prophecy import discretize, run
from prophecy.bases import Basis, fout, legs, legt
from prophecy.exact_readout import exact, noise_gain, polynomial_response
from prophecy.signals import white_signal
from prophecy.system import Readout, System
from reproduction.baselines import extrapolation_weights

MEMORIES = {
    "LegT": lambda order, window: legt(order, window),
    "FouT": lambda order, window: fout(order + 1 - order % 2, window),
}


def kernel(system: System, readout: Readout | None = None, length: int = 4000) -> np.ndarray:
    """The impulse response by stepping: independent of the Gramian and of the solve."""
    C, D = readout or system.readout
    x, taps = np.array(system.B), np.empty(length)
    for j in range(length):
        taps[j] = C @ x
        x = system.A @ x
    taps[0] += D
    return taps


def stepped(system: System, u: np.ndarray) -> np.ndarray:
    x, y = np.zeros(system.order), np.empty(len(u))
    for k, value in enumerate(u):
        x = system.A @ x + system.B * value
        y[k] = system.C @ x + system.D * value
    return y


@given(
    order=st.integers(2, 16),
    samples=st.floats(10, 200),
    degree=st.integers(0, 5),
    horizon=st.integers(0, 5),
    derivative=st.integers(0, 2),
    rule=st.sampled_from([discretize.bilinear, discretize.zoh, discretize.backward]),
    dt=st.floats(1e-3, 1e3),
)
@settings(max_examples=60, deadline=None)
def test_every_polynomial_up_to_the_degree_is_predicted_exactly(order, samples, degree, horizon, derivative, rule, dt):
    degree = min(degree, order)
    derivative = min(derivative, degree)
    system = exact(legt(order, samples * dt), dt, degree, horizon, derivative, memory=rule)
    taps = kernel(system)
    ages = -np.arange(len(taps)) / samples
    for power in range(degree + 1):
        wanted = np.polynomial.Polynomial([0] * power + [1]).deriv(derivative)(horizon / samples)
        got = taps @ ages**power * (samples * dt) ** derivative
        size = np.abs(taps) @ np.abs(ages) ** power * (samples * dt) ** derivative
        assert abs(got - wanted) <= 1e-11 * max(size, 1.0), (power, got, wanted)


@pytest.mark.parametrize(
    ("order", "samples", "degree"), [(8, 64, 3), (8, 64, 7), (33, 300, 9), (64, 1024, 11), (64, 64, 7)]
)
@pytest.mark.parametrize("name", MEMORIES)
def test_orders_up_to_64_run_without_error_on_ramps_and_parabolas(name, order, samples, degree):
    degree = degree if name == "LegT" else 2
    system = exact(MEMORIES[name](order, float(samples)), 1.0, degree)
    # LegT forgets the start within a few windows; FouT rings on, for a hundred where it holds frequencies near Nyquist.
    windows = 6 if name == "LegT" else 40 if order < samples / 2 else 120
    k = np.arange(windows * samples) / samples
    for u in (np.ones_like(k), k, k**2):
        y = stepped(system, u)
        assert abs(y[-2] - u[-1]) <= 1e-10 * np.abs(u).max()


@pytest.mark.parametrize("name", MEMORIES)
@pytest.mark.parametrize(("order", "samples", "degree"), [(3, 16, 1), (7, 40, 2), (9, 100, 3)])
def test_no_other_readout_that_is_exact_has_less_noise(name, order, samples, degree):
    basis = MEMORIES[name](order, float(samples))
    system = exact(basis, 1.0, degree)
    seen = np.vstack([polynomial_response(system.A, system.B, samples, degree), np.ones(degree + 1)])
    _, _, right = np.linalg.svd(seen.T)
    least = noise_gain(system)
    rng = np.random.default_rng(0)
    for direction in rng.normal(size=(20, len(right) - degree - 1)) @ right[degree + 1 :]:
        for size in (1e-3, 1e-1):
            other = Readout(system.C + size * direction[:-1], system.D + size * direction[-1])
            assert noise_gain(system, other) > least


@pytest.mark.parametrize("order", [1, 2, 8, 33])
def test_noise_gain_is_the_squared_kernel_summed_and_solves_the_lyapunov_equation(order):
    system = exact(legt(order, 80.0), 1.0, min(order, 3))
    gramian = solve_discrete_lyapunov(system.A, np.outer(system.B, system.B))
    C, D = system.readout
    by_lyapunov = C @ gramian @ C + 2 * D * (C @ system.B) + D * D
    assert noise_gain(system) == pytest.approx(np.sum(kernel(system) ** 2), rel=1e-10)
    assert noise_gain(system) == pytest.approx(by_lyapunov, rel=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3, 6, 7, 12])
def test_the_noise_gain_of_a_moving_average_is_the_sum_of_its_squared_weights(order):
    """A register that shifts its values forgets in `order` steps, although its powers do not become small before."""
    weights = np.random.default_rng(order).standard_normal(order)
    newest = np.eye(order)[0]
    register = System(np.eye(order, k=-1), newest, weights, 0.5, dt=1.0)
    assert noise_gain(register) == pytest.approx((weights[0] + 0.5) ** 2 + weights[1:] @ weights[1:], rel=1e-13)
    louder = System(3.0 * np.eye(order, k=-1), newest, weights, 0.0, dt=1.0)
    assert noise_gain(louder) == pytest.approx(np.sum((weights * 3.0 ** np.arange(order)) ** 2), rel=1e-13)


def test_a_system_without_memory_passes_noise_on_by_its_gain():
    assert noise_gain(System(np.zeros((3, 3)), np.ones(3), np.arange(3.0), 0.5, dt=1.0)) == pytest.approx(3.5**2)


@pytest.mark.parametrize("size", [1.0, -1.0, 1.0 + 1e-9, 2.0, 1e60])
@pytest.mark.parametrize("order", [1, 4])
@pytest.mark.filterwarnings("error")
def test_what_does_not_forget_has_no_noise_gain(size, order):
    kept = System(np.diag([size] + [0.5] * (order - 1)), np.ones(order), np.ones(order), 0.0, dt=1.0)
    with pytest.raises(ValueError, match="does not forget"):
        noise_gain(kept)


def test_noise_gain_is_the_variance_noise_comes_out_with():
    system = exact(legt(8, 64.0), 1.0, 3)
    noise = np.random.default_rng(1).normal(size=200_000)
    taps = kernel(system, length=600)
    out = np.convolve(noise, taps)[600 : len(noise)]
    assert np.var(out) == pytest.approx(noise_gain(system), rel=0.03)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_a_rich_memory_does_no_worse_than_least_squares_over_its_window(degree):
    """Least squares over the window is the best unbiased readout of *all* its samples; order 20 nearly holds all 64."""
    window = 64
    best = np.sum(extrapolation_weights(window, degree) ** 2)
    assert noise_gain(exact(legt(20, float(window)), 1.0, degree)) <= 1.05 * best


def test_noise_falls_as_the_square_of_the_degree_over_the_window():
    gains = [noise_gain(exact(legt(8, float(w)), 1.0, 3)) * w / 16 for w in (64, 128, 256, 512, 1024)]
    assert np.ptp(gains[2:]) < 0.1 * gains[2]
    assert 0.8 < gains[-1] < 1.2


def test_the_derivative_beside_a_prediction_is_exact_and_is_the_derivative_construction():
    dt = 0.01
    system = exact(legt(8, 0.64), dt, 4)
    alone = exact(legt(8, 0.64), dt, 4, horizon=0, derivative=1)
    assert system.derivative is not None
    np.testing.assert_allclose(system.derivative.C, alone.C, rtol=1e-10, atol=1e-9)
    times = np.arange(600) * dt
    y = stepped(alone, times**4 - times[-1] * times**2)
    assert y[-1] == pytest.approx(4 * times[-1] ** 3 - 2 * times[-1] ** 2, rel=1e-10)


def test_the_step_only_sets_the_unit_of_time():
    slow, fast = exact(legt(6, 32.0), 1.0, 3, derivative=1), exact(legt(6, 32e-6), 1e-6, 3, derivative=1)
    np.testing.assert_allclose(fast.A, slow.A, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fast.C, slow.C * 1e6, rtol=1e-8, atol=1e-3)
    assert fast.dt == 1e-6


@pytest.mark.parametrize(("cutoff", "at_most"), [(0.3, 1e-29), (1.0, 1e-24), (2.0, 1e-18)])
def test_white_signals_are_predicted_ten_digits_better_than_the_paper(cutoff, at_most):
    system = exact(legt(8, 64.0), 1.0, 7)
    u = white_signal(cutoff, samples=3000)[0]
    y = stepped(system, u - u[0]) + u[0]
    assert np.mean((y[1500:-1] - u[1501:]) ** 2) < at_most


def test_a_step_of_zero_steps_ahead_is_the_best_estimate_of_now():
    smooth, ahead = exact(legt(8, 64.0), 1.0, 2, horizon=0), exact(legt(8, 64.0), 1.0, 2, horizon=4)
    assert noise_gain(smooth) < noise_gain(ahead)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: exact(legt(3, 1.0), 0.1, 4), ValueError, "degree 4 needs a memory of order 4"),
        (lambda: exact(legt(3, 1.0), 0.0, 1), ValueError, "dt must be positive"),
        (lambda: exact(legt(3, 1.0), 0.1, 1, derivative=2), ValueError, "derivative 2 of polynomials up to degree 1"),
        (lambda: exact(legt(3, 1.0), 0.1, -1), ValueError, "degree must be at least 0, got -1"),
        (lambda: exact(legt(3, 1.0), 0.1, 1, derivative=-1), ValueError, "derivative must be at least 0, got -1"),
        (lambda: exact(legt(3, 1.0), 0.1, 1.5), TypeError, "degree must be a whole number"),
        (lambda: exact(legt(3, 1.0), 0.1, 1, horizon=float("nan")), ValueError, "horizon must be a finite number"),
        (lambda: exact(legs(3), 0.1, 1), TypeError, "basis must be a Basis, got ScaledBasis"),
        (lambda: exact(legt(64, 1024.0), 1.0, 50), ValueError, "degree 50 is beyond what LegT of order 64"),
        (lambda: exact(legt(64, 51.3), 0.5, 50), ValueError, "LegT of order 64 over 102.6 samples"),
        (lambda: exact(legt(8, 1.0), 0.1, 1, memory=discretize.euler), ValueError, "does not forget"),
        (lambda: noise_gain("LegT"), TypeError, "system must be a System"),
    ],
)
def test_bad_input_names_the_argument_and_the_way_out(call, error, message):
    with pytest.raises(error, match=message):
        call()


# docs/exact.md: the largest degree accepted, by order and window in samples (degrees up to 24 tried).
ACCEPTED = {
    (8, 64): 8, (8, 1000): 8, (20, 64): 18, (20, 128): 20, (20, 1000): 20, (20, 100_000): 19, (32, 64): 17,
    (32, 128): 23, (32, 1000): 24, (32, 10_000): 21, (32, 100_000): 20, (64, 64): 17, (64, 128): 22, (64, 1000): 23,
    (64, 100_000): 20,
}  # fmt: skip


@pytest.mark.parametrize(("size", "largest"), ACCEPTED.items(), ids=str)
def test_degrees_are_accepted_and_refused_where_the_page_says(size: tuple[int, int], largest: int) -> None:
    """To within a degree: the limit is where rounding sets in, and conditions there differ between matrix libraries
    (order 32, 10 000 samples, degree 22: 672 on one processor, beyond 1 000 on another)."""
    order, samples = size
    basis = legt(order, float(samples))
    exact(basis, 1.0, largest if largest == order else largest - 1)
    if largest + 1 < min(order, 24):
        with pytest.raises(ValueError, match=rf"degree {largest + 2} is beyond what LegT of order {order}"):
            exact(basis, 1.0, largest + 2)


@pytest.mark.parametrize(("order", "largest"), [(9, 5), (17, 6), (33, 6), (65, 6)])
@pytest.mark.parametrize("samples", [64.0, 1000.0, 10_000.0])
def test_fout_is_accepted_to_degree_five_or_six(order: int, largest: int, samples: float) -> None:
    exact(fout(order, samples), 1.0, largest)
    with pytest.raises(ValueError, match=f"degree {largest + 1} is beyond what FouT"):
        exact(fout(order, samples), 1.0, largest + 1)


def test_a_constant_has_no_slope_to_read_and_a_line_has() -> None:
    basis = legt(6, 32.0)
    assert exact(basis, 1.0, degree=0).derivative is None
    slope = exact(basis, 1.0, degree=1).derivative
    assert slope is not None
    system = exact(basis, 1.0, degree=1)
    x = np.zeros(6)
    for u in 3.0 * np.arange(400.0):
        x = system.A @ x + system.B * u
    assert slope.C @ x + slope.D * u == pytest.approx(3.0, rel=1e-9)


@pytest.mark.parametrize("dt", [1.0, 1e-3])
@pytest.mark.parametrize("order", [17, 33])
def test_polynomials_over_two_windows_serve_where_those_over_one_are_hopeless(order: int, dt: float) -> None:
    """LegT over 16 samples, backward Euler, degree 8: condition 1e4 over the window, 23 over two of them."""
    system = exact(legt(order, 16.0 * dt), dt, degree=8, memory=discretize.backward)
    k = np.arange(600.0)
    u = ((k - 300) / 300) ** 7
    y, _ = run(system, u, "step")
    error = np.abs(y[300:-1] - u[301:]).max()
    assert error < 1e-9


def test_states_that_all_hold_the_same_are_one_state() -> None:
    """Three copies of one leaky mean are one number: with the newest value enough for lines, not for parabolas."""
    ones = np.ones(3)
    copies = Basis(-np.eye(3), ones, ones, np.zeros(3), 8.0, lambda ages: np.exp(-ages)[:, None] * ones, "copies")
    system = exact(copies, 0.5, degree=1)
    u = 2.0 - 0.3 * np.arange(200)
    y, _ = run(system, u, "step")
    assert y[-1] == pytest.approx(u[-1] - 0.3, rel=1e-9)
    with pytest.raises(ValueError, match=r"degree 2 is beyond what copies of order 3 .*condition inf"):
        exact(copies, 0.5, degree=2)
