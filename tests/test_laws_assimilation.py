"""Compiled flows, the smoother over states and parameters, and fields found through noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from prophecy.laws.kernels.entry import eliminate, substitute
from scipy.integrate import solve_ivp

from prophecy import chaos
from prophecy.forecasting import forecast
from prophecy.forecasting.settings import DEFAULT
from prophecy.laws import flow
from prophecy.laws.context import Units
from prophecy.laws.families import propose
from prophecy.laws.flow import EIGHTH, EXPONENTIAL, FOURTH, MODULUS, RECIPROCAL, SINE, TANH, Function, SparseField
from prophecy.laws.noise_free import step_by_step
from prophecy.laws.problem import Steps, assimilate, one_step
from prophecy.laws.select_terms import eliminated, exchanged
from prophecy.laws.weak_form import WeakForm, regression, roughness, smoothed


def _some_field(seed: int = 0) -> SparseField:
    generator = np.random.default_rng(seed)
    functions = [Function(kind, (0.3, 0.1 * kind, -0.4), 2.5) for kind in range(5)]
    terms = flow.polynomial_terms(3, 2, functions, 2)
    return SparseField.of(terms, 0.02 * generator.standard_normal((terms.size, 3)))


def _plain(field: SparseField, x: np.ndarray) -> np.ndarray:
    """The field written out with NumPy, from the table of powers."""
    terms = field.terms
    named = {
        SINE: np.sin,
        TANH: np.tanh,
        MODULUS: np.abs,
        EXPONENTIAL: np.exp,
        RECIPROCAL: lambda z: 1 / z,
    }
    values = [
        named[k](r @ x + s) for k, r, s in zip(terms.kinds.tolist(), terms.rates, terms.shifts.tolist(), strict=True)
    ]
    factors = np.concatenate([x, values])
    return np.asarray(np.prod(factors ** flow.powers(terms), axis=1) @ field.theta)


def test_a_step_of_order_eight_is_that_of_an_outside_integrator():
    field = _some_field()
    x = np.array([0.4, -0.3, 0.7])
    outside = solve_ivp(lambda _, y: _plain(field, y), (0, 1), x, rtol=1e-12, atol=1e-12).y[:, -1]
    assert np.allclose(field.steps(EIGHTH, x[None], 4)[0], outside, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("tableau", "order"), [(FOURTH, 4), (EIGHTH, 8)])
def test_halving_the_step_divides_the_error_by_at_least_two_to_the_order(tableau, order):
    terms = flow.polynomial_terms(2, 3)
    theta = np.zeros((terms.size, 2))
    theta[2, 0], theta[1, 1], theta[2, 1] = 3.0, -3.0, 1.0
    theta[terms.size - 3, 1] = -1.0
    field = SparseField.of(terms, theta)
    x = np.array([[0.5, 0.8]])
    exact = field.steps(EIGHTH, x, 64)
    coarse, fine = (np.abs(field.steps(tableau, x, n) - exact).max() for n in ((4, 8) if order == 4 else (1, 2)))
    assert np.log2(coarse / fine) > order - 0.5


@pytest.mark.parametrize("tableau", [FOURTH, EIGHTH])
def test_tangents_are_the_derivatives_of_the_step(tableau):
    field = _some_field()
    points = 0.5 * np.random.default_rng(1).standard_normal((17, 3))
    ends, tangent = field.tangents(tableau, points, 2)
    assert np.array_equal(ends, field.steps(tableau, points, 2))
    nudge = 1e-6
    for i in range(3):
        there = field.steps(tableau, points + nudge * np.eye(3)[i], 2)
        assert np.allclose((there - ends) / nudge, tangent[:, :, i], atol=1e-5)
    assert field.count > field.coefficients, "functions have parameters of their own"
    for c in range(field.count):
        change = np.zeros(field.count)
        change[c] = nudge
        there = field.moved(change).steps(tableau, points, 2)
        assert np.allclose((there - ends) / nudge, tangent[:, :, 3 + c], atol=2e-4)


def _dense(misfit, weights, defects, tangent, tightness, prior):
    time, v = misfit.shape
    parameters = tangent.shape[2] - v
    unknowns = time * v + parameters
    rows, right = [], []

    def add(entries, value):
        row = np.zeros(unknowns)
        for place, entry in entries:
            row[place] = entry
        rows.append(row)
        right.append(value)

    for i in range(v):
        add([(i, prior)], 0.0)
    for k in range(time):
        for i in range(v):
            add([(k * v + i, weights[k, i])], weights[k, i] * misfit[k, i])
    for k in range(time - 1):
        for i in range(v):
            before = [(k * v + j, -tightness[i] * tangent[k, i, j]) for j in range(v)]
            own = [(time * v + c, -tightness[i] * tangent[k, i, v + c]) for c in range(parameters)]
            add([((k + 1) * v + i, tightness[i]), *before, *own], tightness[i] * defects[k, i])
    return np.array(rows), np.array(right)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.integers(2, 9), st.integers(0, 5), st.integers(0, 2**32 - 1), st.floats(-3, 3))
def test_eliminating_states_gives_the_least_squares_solution_of_all_equations(v, time, parameters, seed, tight):
    generator = np.random.default_rng(seed)
    misfit, weights = generator.standard_normal((time, v)), generator.random((time, v))
    weights[generator.random((time, v)) < 0.2] = 0.0
    defects = generator.standard_normal((time - 1, v))
    tangent = generator.standard_normal((time - 1, v, v + parameters))
    tightness = 10.0**tight * (0.5 + generator.random(v))
    system, right = _dense(misfit, weights, defects, tangent, tightness, 0.1)
    assume(np.linalg.cond(system) < 1e8)
    whole = np.linalg.lstsq(system, right, rcond=None)[0]
    found = eliminate(misfit, weights, defects, tangent, tightness, 0.1)
    change = np.linalg.lstsq(found.rest[:, :-1], found.rest[:, -1], rcond=None)[0] if parameters else np.zeros(0)
    states = substitute(found.rows, change)
    residual = np.linalg.norm(system @ np.append(states.reshape(-1), change) - right)
    assert residual <= np.linalg.norm(system @ whole - right) * (1 + 1e-6) + 1e-9
    triangle = np.linalg.qr(system[:, : time * v], mode="r")
    assert found.logarithm == pytest.approx(np.log(np.abs(np.diag(triangle))).sum(), rel=1e-6, abs=1e-5)


def test_backward_elimination_is_that_of_refitting_without_the_term():
    generator = np.random.default_rng(5)
    system = generator.standard_normal((60, 6))
    target = system[:, :3] @ [2.0, -1.0, 0.5] + 0.01 * generator.standard_normal(60)
    root = np.linalg.cholesky(np.linalg.inv(system.T @ system)) * 1e-2
    value = np.linalg.lstsq(system, target, rcond=None)[0]
    left, root, alive = eliminated(value, root, np.ones(6, dtype=bool), np.log(60), 6)
    assert alive.tolist() == [True] * 3 + [False] * 3
    assert np.allclose(left[:3], np.linalg.lstsq(system[:, :3], target, rcond=None)[0], atol=1e-12)
    assert np.allclose(root[:3] @ root[:3].T, np.linalg.inv(system[:, :3].T @ system[:, :3]) * 1e-4, atol=1e-15)


def test_terms_that_are_nearly_combinations_of_each_other_are_exchanged_for_the_few_that_are_there():
    """Powers of a variable of small range: the two that are there, not the others that imitate them."""
    z = 3 + 0.05 * np.linspace(-1, 1, 400)
    x = np.sin(np.arange(400))
    system = np.column_stack([x**a * z**b for a in range(4) for b in range(4 - a)])
    target = 1000 * (system[:, 1] - 0.5 * system[:, 4]) + np.random.default_rng(0).standard_normal(400)
    every = np.ones(10, dtype=bool)
    assert np.nonzero(exchanged(system, target, every, [np.arange(10)], np.log(400))[1])[0].tolist() == [1, 4]


def test_the_noise_is_read_off_high_differences():
    times = np.arange(600)
    smooth = np.column_stack([np.sin(times / 9), np.cos(times / 15) ** 3])
    for size in (1e-3, 0.05):
        noise = size * np.random.default_rng(0).standard_normal(smooth.shape)
        assert np.allclose(roughness(smooth + noise), size, rtol=0.25)
    assert roughness(smooth).max() < 1e-4


def _noisy(system, share: float, seed: int = 1, samples: int = 512):
    series = system.sample(samples, seed=seed)
    scale = series.std(axis=0)
    noise = share * np.random.default_rng(seed).standard_normal(series.shape)
    return series / scale, series / scale + noise, scale


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_lorenz_is_found_term_by_term_through_noise(share):
    clean, values, scale = _noisy(chaos.lorenz, share)
    found = assimilate(SparseField.of(flow.polynomial_terms(3, 2)), values, np.ones_like(values))
    assert found is not None
    assert found.looseness <= DEFAULT.laws.one_trajectory
    present = {(p, i) for p, i in zip(*np.nonzero(found.field.mask), strict=True)}
    names = {term: p for p, term in enumerate(["1", "x", "y", "z", "xx", "xy", "xz", "yy", "yz", "zz"])}
    true = [("x", 0), ("y", 0), ("x", 1), ("y", 1), ("xz", 1), ("z", 2), ("xy", 2)]
    assert present == {(names[term], i) for term, i in true}
    assert np.allclose(found.noise, share, rtol=0.2)
    first = found.field.theta[:, 0]
    assert -first[names["y"]] / first[names["x"]] * scale[0] / scale[1] == pytest.approx(1.0, rel=0.05)
    assert np.sqrt(np.mean((found.states - clean) ** 2)) < 0.5 * share


def test_missing_samples_are_bridged_by_the_flow():
    clean, values, _ = _noisy(chaos.lorenz, 0.01)
    seen = np.ones_like(values)
    seen[200:205] = 0.0
    values = np.where(seen > 0, values, np.linspace(values[199], values[205], 7)[np.clip(np.arange(512) - 199, 0, 6)])
    found = assimilate(SparseField.of(flow.polynomial_terms(3, 2)), values, seen)
    assert found is not None
    assert np.abs(found.states[200:205] - clean[200:205]).max() < 0.03


def test_sines_of_single_variables_are_proposed_where_they_are():
    series = chaos.thomas.sample(512, seed=1)
    scale = series.std(axis=0)
    values = series / scale + 0.01 * np.random.default_rng(0).standard_normal(series.shape)
    *_, proposal = next(propose(smoothed(values, roughness(values)), Units(np.zeros(3), scale), noise=0.01))[0]
    assert sorted(int(np.argmax(np.abs(f.rates))) for f in proposal.functions if f.kind == SINE) == [0, 1, 2]
    found = assimilate(SparseField.of(proposal.terms), values, np.ones_like(values))
    assert found is not None
    assert found.looseness <= DEFAULT.laws.one_trajectory
    rates = found.field.terms.rates / scale
    assert np.allclose(rates[rates != 0], 1.0, rtol=0.02)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.9))
def test_terms_that_no_equation_has_change_nothing_but_the_cost(seed, share):
    field = _some_field(seed % 1000)
    generator = np.random.default_rng(seed)
    sparse = field.with_mask(generator.random(field.mask.shape) < share)
    points = 0.5 * generator.standard_normal((5, 3))
    full = SparseField.of(sparse.terms, sparse.theta)
    whole, of_all = full.tangents(FOURTH, points, 2)  # every term is free, and none left out
    assert np.allclose(sparse.steps(FOURTH, points, 2), whole, rtol=0, atol=1e-14)
    ends, tangent = sparse.tangents(FOURTH, points, 2)
    places = {parameter: 3 + place for place, parameter in enumerate(zip(*full.parameters, strict=True))}
    free = [*range(3), *(places[parameter] for parameter in zip(*sparse.parameters, strict=True))]
    assert np.allclose(ends, whole, rtol=0, atol=1e-14)
    assert np.allclose(tangent, of_all[:, :, free], rtol=0, atol=1e-13)
    ahead, there = (each.paths(points, 3, 1e-6, 1e3) for each in (sparse, full))
    assert np.allclose(ahead, there, rtol=0, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-10])
def test_a_path_takes_steps_as_short_as_its_tolerance_asks(tolerance):
    """Van der Pol's oscillator, mu = 8: jumps within a tenth of a sample, long slow stretches between them."""

    def relaxing(_, x):
        return [x[1], 8.0 * (1 - x[0] ** 2) * x[1] - x[0]]

    terms = flow.polynomial_terms(2, 3)
    theta = np.zeros((terms.size, 2))
    powers = [tuple(each) for each in flow.powers(terms)]
    theta[powers.index((0, 1)), 0] = 1.0
    theta[powers.index((1, 0)), 1], theta[powers.index((0, 1)), 1], theta[powers.index((2, 1)), 1] = -1.0, 8.0, -8.0
    times = np.arange(41)
    truth = solve_ivp(relaxing, (0, 40), [2.0, 0.0], "DOP853", times, rtol=1e-13, atol=1e-13).y.T
    path = SparseField.of(terms, theta).paths(np.array([[2.0, 0.0]]), 40, tolerance, 1e3)[0]
    assert np.abs(path - truth[1:]).max() < 300 * tolerance, "a jump's time is off by what was missed before it"
    fixed = SparseField.of(terms, theta).steps(EIGHTH, truth[:-1], 1)
    assert np.abs(fixed - truth[1:]).max() > 1e-2, "one step a sample is not enough here"


def test_every_step_has_the_substeps_it_needs_and_no_more():
    terms = flow.polynomial_terms(1, 2)
    field = SparseField.of(terms, np.array([[0.0], [0.0], [1.0]]))  # x' = x^2: x / (1 - x) after one sample
    points = np.array([[0.01], [0.1], [0.5], [0.8], [0.9]])
    counts = field.substeps(EIGHTH, points, 1e-9, 64)
    assert counts[0] == 1
    assert (np.diff(counts) >= 0).all()
    assert counts[-1] > 8
    missed = np.abs(field.steps(EIGHTH, points, counts) - points / (1 - points))
    assert missed.max() < 1e-9
    halved = np.maximum(counts // 2, 1)
    assert np.abs(field.steps(EIGHTH, points, halved) - points / (1 - points))[counts > 1].min() > 1e-10


def test_samples_that_were_not_observed_do_not_hide_the_law():
    values = chaos.lorenz.sample(400)
    gaps = values.copy()
    gaps[[100, 101, 250], 1] = np.nan
    ahead = forecast(gaps, 60)
    assert ahead.equations() is not None
    assert np.abs(ahead.point - chaos.lorenz.sample(460)[400:]).max() < 1e-3


def test_steps_too_fast_for_interpolation_do_not_hide_the_law():
    def relaxing(_, x):
        return [x[1], 8.0 * (1 - x[0] ** 2) * x[1] - x[0]]

    times = 30 + 0.12 * np.arange(400)
    values = solve_ivp(relaxing, (0, times[-1]), [1.0, 0.0], "DOP853", times, rtol=1e-11, atol=1e-11).y.T
    values = values / values.std(axis=0)
    assert np.quantile(WeakForm(values).error, 0.99) > 0.1, "some jumps are between two samples"
    field = SparseField.of(flow.polynomial_terms(2, 3))
    start = regression(field, values)
    steps = Steps.of(values)
    rough, _ = one_step(start, steps, EIGHTH, 1, 12, robust=True)
    found = step_by_step(rough, values, steps)
    assert found is not None
    assert found.field.coefficients == 4
    assert np.median(np.abs(values[1:] - found.field.steps(EIGHTH, values[:-1], 16))) < 1e-8
