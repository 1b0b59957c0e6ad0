"""Functions beside powers: found from what powers leave, solved exactly and through noise, printed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import prophecy
from prophecy.forecasting import forecast
from prophecy.forecasting.context import read
from prophecy.forecasting.settings import DEFAULT
from prophecy.laws import flow
from prophecy.laws.context import Units
from prophecy.laws.families import Library, propose
from prophecy.laws.flow import EIGHTH, EXPONENTIAL, RECIPROCAL, TANH, Function, SparseField
from prophecy.laws.flows import Search
from prophecy.laws.problem import Steps, one_step
from prophecy.laws.weak_form import Budget


def _sampled(field, start, step, samples=812, wait=30.0):
    times = wait + step * np.arange(samples)
    return solve_ivp(field, (0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-11).y.T


def _exponential_of_a_product(_, x):
    return [10 * (x[1] - x[0]), 35 * x[0] - 2 * x[0] * x[2], np.exp(x[0] * x[1]) - 2.5 * x[2]]


def _saturated(_, x):
    return [x[0] * (1 - x[0] / 6.0) - 2 * x[0] * x[1] / (1.5 + x[0]), 1.5 * x[0] * x[1] / (1.5 + x[0]) - 0.6 * x[1]]


def _bell(_, x):
    return [x[1], -x[0] - 0.4 * x[1] + 3 * x[1] * np.exp(-(x[0] ** 2))]


@pytest.fixture(scope="module")
def exponential():
    return _sampled(_exponential_of_a_product, [1.0, 1.0, 10.0], 0.018)


def test_an_exponential_of_a_product_is_found_exactly_printed_and_evaluated(exponential):
    ahead = prophecy.forecast(exponential[:512], 100)
    equations = ahead.equations(dt=0.018, names="xyz")
    assert equations is not None
    assert "exp(x y)" in equations.lines()[2]
    state = np.array([0.5, 1.0, 12.0])
    assert np.allclose(equations(state), _exponential_of_a_product(0, state), rtol=1e-5)
    sympy = pytest.importorskip("sympy")
    third = list(equations.sympy().values())[2]
    value = third.subs(dict(zip((sympy.Symbol(n) for n in "xyz"), state, strict=True)))
    assert float(value) == pytest.approx(float(equations(state)[2]), rel=1e-9)
    scale = exponential.std(axis=0)
    assert (np.abs(ahead.point - exponential[512:612]) / scale).max() < 0.01


def test_it_is_found_through_noise_and_without_functions_it_is_not(exponential):
    clean = exponential[:512]
    noisy = clean + 0.01 * clean.std(axis=0) * np.random.default_rng(0).standard_normal(clean.shape)
    found = forecast(noisy, 30).equations(dt=0.018, names="xyz")
    assert found is not None
    assert "exp(" in found.lines()[2]
    plain = replace(DEFAULT, laws=replace(DEFAULT.laws, functions=0))
    assert forecast(noisy, 30, settings=plain).equations() is None


@pytest.mark.parametrize(
    ("field", "start", "kind"), [(_saturated, [2.0, 1.0], RECIPROCAL), (_bell, [1.0, 0.2], EXPONENTIAL)]
)
def test_saturations_and_bells_are_found_exactly(field, start, kind):
    values = _sampled(field, start, 0.12, 400, wait=0.0)
    ahead = prophecy.forecast(values[:300], 100)
    equations = ahead.equations(dt=0.12)
    assert equations is not None
    kinds = {argument.function for argument in equations.functions}
    assert ("1/" if kind == RECIPROCAL else "exp") in kinds
    points = values[::17]
    assert np.allclose(equations(points), np.array([field(0, x) for x in points]), atol=2e-5 * np.abs(points).max())


def test_the_pole_is_proposed_where_it_is():
    values = _sampled(_saturated, [2.0, 1.0], 0.1, 500, wait=0.0)
    scale = values.std(axis=0)
    first = next(propose(values / scale, Units(np.zeros(2), scale)))[0][0]
    function = first.functions[0]
    assert function.kind == RECIPROCAL
    pole = -function.shift / function.rates[0] * scale[0]
    assert pole == pytest.approx(-1.5, abs=0.02)


def test_functions_of_squares_and_products_have_the_derivatives_of_their_steps():
    generator = np.random.default_rng(2)
    bends = tuple(0.1 * generator.standard_normal(9))
    functions = [Function(kind, (0.2, -0.1, 0.3), 1.0, bends) for kind in range(5)]
    terms = flow.polynomial_terms(3, 2, functions, 2)
    field = SparseField.of(terms, 0.01 * generator.standard_normal((terms.size, 3)))
    points = 0.3 * generator.standard_normal((7, 3))
    ends, tangent = field.tangents(EIGHTH, points, 1)
    nudge = 1e-6
    for c in range(3 + field.count):
        if c < 3:
            there = field.steps(EIGHTH, points + nudge * np.eye(3)[c], 1)
        else:
            there = field.moved(nudge * np.eye(field.count)[c - 3]).steps(EIGHTH, points, 1)
        assert np.allclose((there - ends) / nudge, tangent[:, :, c], atol=2e-4)


def test_kicks_are_added_to_the_flow_at_every_sample():
    terms = flow.polynomial_terms(2, 2)
    field = SparseField.of(terms, 0.1 * np.random.default_rng(0).standard_normal((terms.size, 2)))
    start, kicks = np.array([[0.3, -0.2]]), 0.05 * np.random.default_rng(1).standard_normal((1, 6, 2))
    path = field.paths(start, 6, 1e-13, 100.0, kicks)[0]
    x = start
    for k in range(6):
        x = field.steps(EIGHTH, x, 4) + kicks[:, k]
        assert np.allclose(path[k], x[0], rtol=0, atol=1e-12)


def test_work_is_bounded_by_a_count_and_repeats_to_the_last_bit(exponential):
    values = exponential[:256] / exponential.std(axis=0)
    field = SparseField.of(flow.polynomial_terms(3, 2))
    budget = Budget(100.0)
    one_step(field, Steps.of(values), EIGHTH, 1, 50, budget=budget)
    assert budget.left < 0, "the first step alone takes 99 derivatives per sample"
    once, again = (forecast(exponential[:200], 20).point for _ in range(2))
    assert np.array_equal(once, again)


def test_a_saturation_is_seen_along_the_smooth_path_where_powers_imitate_it():
    """Prey and predators (Rosenzweig and MacArthur) with 1 % noise: x' = x (1 - x / 3) - x y / (x + 0.5),
    y' = y (x / (x + 0.5) - 0.5). Their limit cycle has cubic imitations with more terms."""

    def eaten(_, s):
        meal = s[0] / (s[0] + 0.5)
        return [s[0] * (1 - s[0] / 3) - meal * s[1], s[1] * (meal - 0.5)]

    series = _sampled(eaten, [1.0, 1.0], 0.4, 400)
    noisy = series + 0.01 * series.std(axis=0) * np.random.default_rng(0).standard_normal(series.shape)
    context = read(noisy)
    search = Search(context.values, context.known, context.units)
    with np.errstate(all="ignore"):  # as `forecast` does: fields that lead nowhere overflow
        powers, found = search._powers(), search.others()
    assert powers is not None
    assert found is not None
    assert found.conclusive
    assert len(found.field.terms.kinds) > 0
    assert found.found.evidence > powers.found.evidence + 20


def test_a_library_of_the_users_own_has_the_first_word():
    """A function of a sum that no library of ours looks at, in the units of the data."""

    def field(_, s):
        return [s[1], -s[0] - 0.1 * s[1] + 2 * np.tanh(s[0] + 3 * s[1] - 0.5)]

    series = solve_ivp(field, (0, 40), [2.0, 0.0], "DOP853", np.arange(400) * 0.1, rtol=1e-11, atol=1e-11).y.T
    own = Library((Function(TANH, (1.2, 2.7), -0.4),), degree=1)
    settings = replace(DEFAULT, laws=replace(DEFAULT.laws, libraries=(own,)))
    found = forecast(series, 5, settings=settings).equations(dt=0.1)
    assert [each.function for each in found.functions] == ["tanh"]
    state = np.array([0.3, -0.4])
    assert np.allclose(found(state), field(0, state), rtol=1e-6)
    short = Library((Function(TANH, (1.0,), 0.0),))
    with pytest.raises(ValueError, match="a rate for each of 2 variables"):
        forecast(series, 5, settings=replace(settings, laws=replace(settings.laws, libraries=(short,))))
