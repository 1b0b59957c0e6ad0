"""Vector fields: integration, sensitivities, and identification from samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from prophecy import chaos
from prophecy.dynamics.features import Family, Monomials, Units, monomial_count
from prophecy.dynamics.fields import fit_field
from prophecy.dynamics.flows import fit_flow
from prophecy.dynamics.guesses import roughness, smoothed
from prophecy.dynamics.integrate import follow, sensitivities, step
from prophecy.dynamics.starts import Paths, interpolate, starts


def plain(variables: int) -> Units:
    return Units(np.zeros(variables), np.ones(variables))


def polynomial(variables: int, degree: int) -> Family:
    return Family("polynomial", plain(variables), Monomials(variables, degree))


def rational(variables: int, above: int, below: int) -> Family:
    return Family("rational", plain(variables), Monomials(variables, above), Monomials(variables, below))


def scaled(series: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    centre, scale = series.mean(axis=0), series.std(axis=0)
    return (series - centre) / scale, centre, scale


def solve_field(family: Family, values: np.ndarray):
    rows = np.arange(len(values) - 1)
    return fit_field(family, values, rows, starts(family, Paths.through(values, rows)))


def test_one_step_converges_with_order_eight():
    def pendulum(x):
        return np.stack([x[1], -np.sin(x[0])])

    start = np.array([[1.0], [0.5]])
    exact = step(pendulum, start, 64)
    errors = [np.abs(step(pendulum, start, n) - exact).max() for n in (1, 2)]
    assert 7.0 < np.log2(errors[0] / errors[1]) < 10.0


def test_follow_agrees_with_an_independent_solver_at_different_step_sizes():
    def lorenz(x):
        return np.stack([10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]]) * 0.05

    start = np.array([1.0, 2.0, 20.0])
    mine = follow(lorenz, start[:, None], 40, tolerance=1e-9, bound=1e3)[:, :, 0]
    times = np.arange(1, 41)
    theirs = solve_ivp(lambda t, x: lorenz(x), (0, 40), start, "Radau", times, rtol=1e-9, atol=1e-9).y.T
    np.testing.assert_allclose(mine, theirs, atol=1e-4)


@pytest.mark.parametrize(
    "slope",
    [
        lambda x: np.full_like(x, np.nan),
        lambda x: np.full_like(x, np.inf),
        lambda x: -1e9 * x,
        lambda x: np.where(x > 0, -1e3, 1e3),
        lambda x: np.sin(1e12 * x),
        lambda x: x**9,
    ],
)
@pytest.mark.parametrize("tolerance", [0.0, 1e-12, 1e-3])
def test_a_field_that_cannot_be_followed_costs_a_bounded_number_of_steps(slope, tolerance):
    calls = 0

    def field(x):
        nonlocal calls
        calls += 1
        assert calls < 12 * 32 * 6 * 20
        return slope(x)

    with np.errstate(all="ignore"):
        flown = follow(field, np.array([[0.3, -1.7]]), 20, tolerance, 1e6)
    assert flown.shape == (20, 1, 2)


def test_points_that_leave_are_given_up_and_the_others_go_on():
    with np.errstate(all="ignore"):
        paths = follow(lambda x: x**2, np.array([[2.0, -1.0]]), 5, tolerance=1e-9, bound=10.0)[:, 0]
    assert np.isnan(paths[:, 0]).all()
    np.testing.assert_allclose(paths[:, 1], -1 / (1 + np.arange(1, 6)), atol=1e-8)


@pytest.mark.parametrize("substeps", [1, 3])
@pytest.mark.parametrize("family", [polynomial(2, 3), rational(2, 2, 1)], ids=["polynomial", "rational"])
def test_sensitivities_are_the_derivatives_of_the_step(family, substeps):
    generator = np.random.default_rng(0)
    theta = 0.1 * generator.standard_normal((family.size, 2))
    x = 0.5 * generator.standard_normal((2, 7))
    transition, response = sensitivities(family.field(theta), family.gradients(theta), x, substeps)
    nudge = 1e-6
    for j in range(2):
        moved = x.copy()
        moved[j] += nudge
        change = (step(family.field(theta), moved, 4) - step(family.field(theta), x, 4)) / nudge
        np.testing.assert_allclose(transition[:, :, j].T, change, atol=1e-4)
        for p in range(family.size):
            other = theta.copy()
            other[p, j] += nudge
            change = (step(family.field(other), x, 4) - step(family.field(theta), x, 4)) / nudge
            np.testing.assert_allclose(response[:, :, j, p].T, change, atol=1e-4)


@given(st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_monomials_are_all_products_up_to_the_degree_once(variables, degree):
    monomials = Monomials(variables, degree)
    assert monomials.size == monomial_count(variables, degree)
    logs = np.log(np.arange(2, 2 + variables, dtype=float)) * np.pi ** np.arange(variables)
    values = np.log(monomials(np.exp(logs)[:, None])[:, 0])
    assert len(np.unique(values.round(9))) == monomials.size
    assert values.max() == pytest.approx(degree * logs.max())


@pytest.mark.parametrize("width", [4, 8])
def test_interpolation_reproduces_polynomials_below_its_width_and_their_slopes(width):
    times = np.arange(20.0)
    powers = np.arange(width)
    values = (times[:, None] / 10) ** powers
    rows = np.array([0, 1, 9, 17, 18])
    path, slope = interpolate(values, rows, width)
    nodes = (np.polynomial.legendre.leggauss(5)[0] + 1) / 2
    at = (rows[:, None] + nodes) / 10
    np.testing.assert_allclose(path, at[None] ** powers[:, None, None], atol=1e-8)
    expected = powers[:, None, None] * at[None] ** np.maximum(powers - 1, 0)[:, None, None] / 10
    np.testing.assert_allclose(slope, expected, atol=1e-7)


def test_the_equations_of_lorenz_are_read_off_two_hundred_samples():
    series = chaos.lorenz.sample(200, per_lyapunov=30)
    found = solve_field(polynomial(3, 2), series)
    assert found is not None
    assert found.conclusive
    pace = 1 / (0.906 * 30)
    by_term = found.theta / pace
    names = {"1": 0, "x": 1, "y": 2, "z": 3, "xx": 4, "xy": 5, "xz": 6, "yy": 7, "yz": 8, "zz": 9}
    truth = np.zeros((10, 3))
    for variable, terms in enumerate(({"x": -10, "y": 10}, {"x": 28, "y": -1, "xz": -1}, {"z": -8 / 3, "xy": 1})):
        for term, value in terms.items():
            truth[names[term], variable] = value
    np.testing.assert_allclose(by_term, truth, atol=1e-4)


@pytest.mark.parametrize("per_lyapunov", [15, 30, 100])
def test_a_polynomial_field_is_found_at_any_sampling_rate(per_lyapunov):
    values, *_ = scaled(chaos.rossler.sample(300, per_lyapunov=per_lyapunov))
    found = solve_field(polynomial(3, 2), values)
    assert found is not None
    assert found.residual < 1e-5


def test_a_rational_field_is_found():
    values, *_ = scaled(chaos.food_chain.sample(400, per_lyapunov=100))
    found = solve_field(rational(3, 3, 2), values)
    assert found is not None
    assert found.residual < 1e-6
    assert solve_field(polynomial(3, 3), values).residual > 10 * found.residual


def test_too_few_samples_make_no_field():
    assert solve_field(polynomial(3, 3), np.random.default_rng(0).standard_normal((20, 3))) is None


def test_smoothing_removes_most_of_the_noise_of_a_slow_wave():
    clean = np.sin(np.arange(400) / 15)[:, None]
    noisy = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape)
    assert np.std(smoothed(noisy, roughness(noisy)) - clean) < 0.4 * np.std(noisy - clean)


def test_assimilation_reaches_the_noise_and_keeps_few_terms():
    noise = 0.01
    raw = chaos.lorenz.sample(500)
    centre, scale = raw.mean(axis=0), raw.std(axis=0)
    values = (raw - centre) / scale
    noisy = values + noise * np.random.default_rng(0).standard_normal(values.shape)
    found = fit_flow(noisy, np.ones(500, dtype=np.bool_), Units(centre, scale))
    assert found is not None
    assert 0.9 * noise < found.residual < 1.1 * noise
    assert found.conclusive
    assert found.field.count == 7
    now = found.rollout(noisy, np.array([480]), 20)[0]
    assert np.abs(now - values[480:]).max() < 0.05
