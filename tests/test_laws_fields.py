"""Vector fields: paths that cannot be followed, and identification from exact samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophecy import chaos, forecast
from prophecy.forecasting.context import read
from prophecy.forecasting.settings import DEFAULT
from prophecy.laws import flow
from prophecy.laws.context import Units, monomial_count
from prophecy.laws.flow import EXPONENTIAL, RECIPROCAL, SIGN, SINE, Function, SparseField
from prophecy.laws.flows import Search
from prophecy.laws.trajectory import FittedFlow
from prophecy.laws.weak_form import integrated, roughness, smoothed


def searched(series: np.ndarray, kind: type[Search] = Search) -> Search:
    context = read(series)
    return kind(context.values, context.known, context.units)


def one_variable(degree: int, coefficients: dict[int, float], function: Function | None = None) -> SparseField:
    """x' = the sum of coefficients[p] times term p: powers up to the degree, then the function."""
    terms = flow.polynomial_terms(1, degree, [] if function is None else [function])
    theta = np.zeros((terms.size, 1))
    for term, value in coefficients.items():
        theta[term] = value
    return SparseField.of(terms, theta)


@pytest.mark.parametrize(
    "field",
    [
        one_variable(1, {0: np.nan}),
        one_variable(1, {0: np.inf}),
        one_variable(1, {1: -1e9}),
        one_variable(0, {1: -1e3}, Function(SIGN, (1.0,), 0.0)),
        one_variable(0, {1: 1.0}, Function(SINE, (1e12,), 0.0)),
        one_variable(0, {1: 1.0}, Function(EXPONENTIAL, (1e3,), 0.0)),
        one_variable(0, {1: 1.0}, Function(RECIPROCAL, (1.0,), 0.0)),
        one_variable(9, {9: 1.0}),
    ],
)
@pytest.mark.parametrize("tolerance", [0.0, 1e-12, 1e-3])
def test_a_field_that_cannot_be_followed_ends_and_its_path_is_lost_for_good(field, tolerance):
    paths = field.paths(np.array([[0.3], [-1.7]]), 20, tolerance, 1e6)
    assert paths.shape == (2, 20, 1)
    lost = np.isnan(paths[:, :, 0])
    assert (np.diff(lost.astype(int), axis=1) >= 0).all(), "what is lost stays lost"
    assert (np.abs(paths[~lost]) <= 1e6).all()


def test_points_that_leave_are_given_up_and_the_others_go_on():
    paths = one_variable(2, {2: 1.0}).paths(np.array([[2.0], [-1.0]]), 5, 1e-9, 10.0)[:, :, 0]
    assert np.isnan(paths[0]).all()
    np.testing.assert_allclose(paths[1], -1 / (1 + np.arange(1, 6)), atol=1e-8)


@given(st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_monomials_are_all_products_up_to_the_degree_once(variables, degree):
    terms = flow.polynomial_terms(variables, degree)
    assert terms.size == monomial_count(variables, degree)
    logs = np.log(np.arange(2, 2 + variables, dtype=float)) * np.pi ** np.arange(variables)
    values = np.log(flow.features(terms, np.exp(logs)[None])[0])
    assert len(np.unique(values.round(9))) == terms.size
    assert values.max() == pytest.approx(degree * logs.max())


def test_integrals_over_a_step_are_exact_for_polynomials_of_degree_five():
    powers = np.arange(6)
    primitive = np.arange(20.0)[:, None] ** (powers + 1) / (powers + 1)
    found = integrated(np.arange(20.0)[:, None] ** powers)
    np.testing.assert_allclose(found, np.diff(primitive, axis=0)[2:-2], rtol=1e-12)


def test_the_equations_of_lorenz_are_read_off_two_hundred_samples():
    found = forecast(chaos.lorenz.sample(200, per_lyapunov=30), 10).equations(dt=1 / (0.906 * 30), names="xyz")
    assert found is not None
    points = np.random.default_rng(0).normal(0, 10, (20, 3))
    x, y, z = points.T
    truth = np.column_stack([10 * (y - x), 28 * x - y - x * z, x * y - 8 / 3 * z])
    np.testing.assert_allclose(found(points), truth, atol=1e-3)
    assert [len(terms) for terms in found.terms] == [2, 3, 2]


@pytest.mark.parametrize("per_lyapunov", [15, 30, 100])
def test_a_polynomial_field_is_found_at_any_sampling_rate(per_lyapunov):
    found = searched(chaos.rossler.sample(300, per_lyapunov=per_lyapunov)).exact_powers()
    assert found is not None
    assert found.found.residual < 1e-6


def _food_chain() -> FittedFlow | None:
    search = searched(chaos.food_chain.sample(400, per_lyapunov=100))
    with np.errstate(all="ignore"):  # as `forecast` does: fields that lead nowhere overflow
        assert search.exact_powers() is None, "powers alone do not do"
        return search.quotients()


def test_a_quotient_of_polynomials_is_found():
    found = _food_chain()
    assert found is not None
    assert found.conclusive
    assert found.found.residual < 1e-6
    assert set(found.field.terms.kinds) == {RECIPROCAL}


def test_noise_has_no_field_of_powers():
    noise = np.random.default_rng(0).standard_normal((100, 3))
    with np.errstate(all="ignore"):
        assert Search(noise, np.ones(100, dtype=np.bool_), Units(np.zeros(3), np.ones(3))).exact_powers() is None
    assert DEFAULT.laws.shortest <= 100


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
    found = Search(noisy[:480], np.ones(480, dtype=np.bool_), Units(centre, scale)).best()
    assert found is not None
    assert 0.9 * noise < found.found.residual < 1.1 * noise
    assert found.conclusive
    assert found.field.count == 7
    now = found.path(20)
    assert np.abs(now - values[480:]).max() < 0.05


@pytest.mark.parametrize("system", [chaos.food_chain, chaos.double_pendulum])
def test_a_field_of_powers_is_not_assimilated_twice(system):
    """Each family costs a fifth of a second."""
    series = system.sample(300, 30, seed=1)
    tried = []

    class Counted(Search):
        def _assimilated(self, field):
            if self._noisy_work.left > 0 and not len(field.terms.kinds):
                powers = flow.powers(field.terms)
                tried.append(sorted((v, *powers[k]) for k, v in np.argwhere(field.mask)))
            return super()._assimilated(field)

    noise = 0.03 * series.std(axis=0) * np.random.default_rng(0).standard_normal(series.shape)
    search = searched(series + noise, Counted)
    with np.errstate(all="ignore"):
        search.others()
    assert tried
    assert all(tried.count(each) == 1 for each in tried)


@pytest.mark.parametrize(("noise", "ahead"), [(0.0, 40), (0.01, 20)])
def test_a_law_that_leads_below_zero_is_followed_there(noise, ahead):
    """A ball that was only seen in the air, in metres: a series that was never negative is one of counts no longer
    where its law is known."""
    time = 0.03 * np.arange(170)
    drag = 0.05
    speed = (20 + 9.8 / drag) * np.exp(-drag * time) - 9.8 / drag
    height = (20 + 9.8 / drag) / drag * (1 - np.exp(-drag * time)) - 9.8 / drag * time
    series = np.column_stack([height, speed])
    assert (height[:130] >= 0).all()
    assert height[-1] < -5
    seen = series[:130] + noise * series[:130].std(axis=0) * np.random.default_rng(1).standard_normal((130, 2))
    seen[:, 0] = np.maximum(seen[:, 0], 0.0)
    answer = forecast(seen, ahead)
    assert np.abs(answer.point[:, 0] - height[130 : 130 + ahead]).max() < 0.3 + 3 * noise * height.std()
