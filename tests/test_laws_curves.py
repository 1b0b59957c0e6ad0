"""Functions of single variables drawn as curves and read; laws of samples far apart; many variables through noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, solve_ivp

import prophecy
from prophecy import chaos
from prophecy.forecasting.settings import DEFAULT
from prophecy.laws import flow
from prophecy.laws.context import Units
from prophecy.laws.families import propose
from prophecy.laws.flow import MODULUS, SINE, TANH, Function, SparseField
from prophecy.laws.noise_free import exactly
from prophecy.laws.weak_form import Budget, WeakForm


def _sampled(field, start, step, samples=812, wait=60.0):
    times = wait + step * np.arange(samples)
    return solve_ivp(field, (0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-11).y.T


def _neurons(_, x):
    """Three sigmoid neurons, each driven by all (Beer)."""
    weights = np.array([[5.422, -0.018, 2.75], [-0.24, 4.59, 1.21], [0.535, -2.25, 3.885]])
    active = 1 / (1 + np.exp(-(x + np.array([-4.108, -2.787, -1.114]))))
    return (-x + weights @ active) / np.array([1.0, 2.5, 1.0])


def _product(_, x):
    """A function of one variable times another, and a kink of the third (Sanum and Srisuchinwong)."""
    return [x[1] - x[0], -x[2] * np.tanh(x[0]), -2 + x[0] * x[1] + abs(x[1])]


def _quick(_, x):
    """A quadratic system whose loops take about three and a half of the samples below (Li)."""
    a, c, d, eps, f, k = 40.0, 11 / 6, 0.16, 0.65, 20.0, 55.0
    return [
        a * (x[1] - x[0]) + d * x[0] * x[2],
        k * x[0] + f * x[1] - x[0] * x[2],
        c * x[2] + x[0] * x[1] - eps * x[0] ** 2,
    ]


def _quartic(_, x):
    """A field of degree 4 (Aizawa)."""
    a, b, c, d, e, f = 0.95, 0.7, 0.6, 3.5, 0.25, 0.1
    u, v, w = x
    last = c + a * w - w**3 / 3 - (u**2 + v**2) * (1 + e * w) + f * w * u**3
    return [(w - b) * u - d * v, d * u + (w - b) * v, last]


@pytest.fixture(scope="module")
def product():
    return _sampled(_product, [0.64, 1.09, 2.45], 0.128)


def test_curves_of_several_variables_are_each_read_as_the_function_they_are():
    series = _sampled(_neurons, np.array([1.5, 2.37, 0.66]), 0.86)
    ahead = prophecy.forecast(series[:512], 300)
    equations = ahead.equations(dt=0.86)
    assert equations is not None
    assert [each.function for each in equations.functions] == ["tanh"] * 3
    largest = [max(abs(term.coefficient) for term in each.terms if any(term.powers)) for each in equations.functions]
    assert np.allclose(largest, 0.5, rtol=1e-4)
    state = np.array([4.0, 2.5, 1.2])
    assert np.allclose(equations(state), _neurons(0, state), rtol=1e-4)


def test_a_function_times_another_variable_is_found_without_noise_and_with(product):
    for noise, close in ((0.0, 1e-5), (0.01, 0.05)):
        values = product[:512]
        values = values + noise * values.std(axis=0) * np.random.default_rng(3).standard_normal(values.shape)
        equations = prophecy.forecast(values, 10).equations(dt=0.128, names="xyz")
        assert equations is not None
        assert sorted(each.function for each in equations.functions) == ["abs", "tanh"], noise
        assert [len(each) for each in equations.terms] == [2, 1, 3], noise
        state = np.array([0.7, -1.1, 0.4])
        assert np.allclose(equations(state), _product(0, state), rtol=close), noise


def test_curves_are_read_off_any_smooth_path():
    generator = np.random.default_rng(0)
    times = np.linspace(0, 60, 601 * 20)
    u = np.sin(times) + 0.5 * np.sin(2.3 * times + 1)
    for kind, truth in ((TANH, np.tanh(3 * u - 1)), (SINE, np.sin(4 * u + 0.5)), (MODULUS, np.abs(u - 0.3))):
        rise = cumulative_simpson(truth - truth.mean(), x=times, initial=0)
        path = np.column_stack([u, rise])[::20]
        scale = path.std(axis=0)
        path = (path + 1e-7 * generator.standard_normal(path.shape)) / scale
        found = next(propose(path, Units(np.zeros(2), scale), noise=1e-6), ([None], []))[0][0]
        assert found is not None
        assert {each.kind for each in found.functions if each.rates[0] and not each.bends} == {kind}


def test_samples_too_far_apart_for_interpolation_still_tell_a_law():
    series = _sampled(_quick, [-11.4, -104.1, 202.5], 0.045, wait=9.0)
    around = 2 * len(series) / np.count_nonzero(np.diff(np.sign(series[:, 1] - series[:, 1].mean())))
    assert around < 4, "samples per turn"
    ahead = prophecy.forecast(series[:512], 20)
    assert ahead.equations() is not None
    assert [len(each) for each in ahead.equations().terms] == [3, 3, 3]


def test_growing_from_the_slowest_steps_is_given_up_at_once_where_there_is_noise():
    series = chaos.lorenz.sample(512)
    values = (series - series.mean(axis=0)) / series.std(axis=0)
    values = values + 0.05 * np.random.default_rng(0).standard_normal(values.shape)
    field = SparseField.of(flow.polynomial_terms(3, 2))
    work = Budget(DEFAULT.laws.work_exact)
    assert exactly(field, values, np.ones(len(values), dtype=np.bool_), work) is None
    assert work.left > 0.95 * DEFAULT.laws.work_exact


def test_powers_of_degree_four_are_found():
    series = _sampled(_quartic, [-0.785, -0.629, -0.176], 0.247)
    equations = prophecy.forecast(series[:512], 10).equations(dt=0.247, names="xyz")
    assert equations is not None
    assert max(sum(term.powers) for term in equations.terms[2]) == 4
    state = np.array([0.3, -0.5, 0.9])
    assert np.allclose(equations(state), _quartic(0, state), rtol=1e-5)


def test_eight_variables_are_told_through_noise():
    system = next(each for each in chaos.SYSTEMS if "96" in each.name)
    series = system.sample(512)
    noisy = series + 0.01 * series.std(axis=0) * np.random.default_rng(0).standard_normal(series.shape)
    equations = prophecy.forecast(noisy, 5).equations(dt=1 / (30 * system.exponent))
    assert equations is not None
    assert [len(each) for each in equations.terms] == [4] * 8
    state = series[100]
    truth = (np.roll(state, -1) - np.roll(state, 2)) * np.roll(state, 1) - state + 8
    assert np.allclose(equations(state), truth, atol=0.02 * np.abs(truth).max())


def test_square_sums_of_many_functions_are_those_of_each():
    generator = np.random.default_rng(0)
    path = np.cumsum(generator.standard_normal((80, 2)), axis=0) / 5
    rises = WeakForm(path, 1e-3)
    known = rises.known(flow.polynomial_terms(2, 1))
    left = rises.rise[:, 0] - known @ (known.T @ rises.rise[:, 0])
    functions = [Function(SINE, (2.0, 0.0), 0.3), Function(TANH, (0.0, 1.5), -0.2)]
    sums = rises.square_sums(functions, rises.columns, known, left)
    for function, found in zip(functions, sums, strict=True):
        value = flow.features(flow.polynomial_terms(2, 0, [function], 1), path)[:, 1]
        system = np.column_stack([known, rises.integrated(value[:, None] * rises.columns)])
        rest = left - system @ np.linalg.lstsq(system, left, rcond=1e-12)[0]
        assert found == pytest.approx(float(rest @ rest), rel=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_a_pendulum_through_noise_has_its_sine_and_no_imitation_of_it(missing):
    def pendulum(_, x):
        return [x[1], -8.175 * np.sin(x[0]) - 0.15 * x[1]]

    times = 0.05 * np.arange(300)
    series = solve_ivp(pendulum, (0, times[-1]), [2.0, 0.0], "DOP853", times, rtol=1e-10, atol=1e-12).y.T
    for seed in range(2):
        draws = np.random.default_rng([7, seed])
        seen = series + 0.01 * series.std(axis=0) * draws.standard_normal(series.shape)
        seen[draws.random(seen.shape) < missing] = np.nan
        found = prophecy.forecast(seen, 10).equations(dt=0.05, names=("angle", "rate"))
        assert found is not None
        assert [function.function for function in found.functions] == ["sin"]
        rates = np.array([pendulum(0, state) for state in series])
        assert np.abs(found(series) - rates).max() < 0.03 * np.abs(rates).max()
