"""Fields with hidden variables: the elimination against dense least squares, the search, and what it must not do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from prophecy import chaos
from prophecy.forecasting import forecast
from prophecy.forecasting.context import read
from prophecy.forecasting.settings import DEFAULT
from prophecy.laws import flow, hidden_law
from prophecy.laws.flow import FOURTH, SparseField
from prophecy.laws.hidden import Search, damped_step, found
from prophecy.laws.weak_form import roughness

Array = NDArray[np.float64]


def _problem(seen: int, hidden: int, time: int = 9, seed: int = 0) -> tuple[Search, Array, Array]:
    """A small search at a random place, with its tangents and defects."""
    generator = np.random.default_rng(seed)
    variables = seen + hidden
    terms = flow.polynomial_terms(variables, 2)
    field = SparseField.of(terms, 0.1 * generator.standard_normal((terms.size, variables)))
    states = generator.standard_normal((time, variables))
    search = Search(np.ascontiguousarray(states[:, :seen]), field, states)
    ends, tangent = field.tangents(FOURTH, states[:-1], 1)
    return search, tangent, ends - states[1:]


def _dense(tangent: Array, defects: Array, seen: int, damping: float) -> tuple[Array, Array]:
    """Hidden changes and parameter changes by least squares on the whole matrix, parameters damped as they are scaled
    once the hidden states are eliminated."""
    steps, v = defects.shape
    h, p = v - seen, tangent.shape[2] - v
    time = steps + 1
    rows = np.zeros((steps * v + time * h + p, time * h + p))
    right = np.zeros(len(rows))
    for k in range(steps):
        here = slice(k * v, (k + 1) * v)
        rows[here, k * h : (k + 1) * h] = tangent[k, :, seen:v]
        rows[here, (k + 1) * h : (k + 2) * h] -= np.eye(v)[:, seen:]
        rows[here, time * h :] = tangent[k, :, v:]
        right[here] = -defects[k]
    rows[steps * v : steps * v + time * h, : time * h] = damping * np.eye(time * h)
    hidden, own = rows[:, : time * h], rows[:, time * h :]
    left = own - hidden @ np.linalg.lstsq(hidden, own, rcond=None)[0]
    rows[steps * v + time * h :, time * h :] = 0.4 * damping * np.diag(np.linalg.norm(left, axis=0))
    solution = np.linalg.lstsq(rows, right, rcond=None)[0]
    return solution[: time * h].reshape(time, h), solution[time * h :]


@pytest.mark.parametrize(("seen", "hidden"), [(1, 2), (1, 1), (2, 1), (1, 3)])
def test_elimination_solves_the_same_least_squares_as_the_whole_matrix(seen: int, hidden: int) -> None:
    search, tangent, defects = _problem(seen, hidden, time=40)
    shift, change = damped_step(tangent, defects, seen, search.damping)
    want_shift, want_change = _dense(tangent, defects, seen, search.damping)
    scale = np.abs(want_change).max()
    assert np.abs(change - want_change).max() < 1e-6 * scale
    assert np.abs(shift[:, seen:] - want_shift).max() < 1e-6 * np.abs(want_shift).max()
    assert not shift[:, :seen].any()


def test_standardised_hidden_variables_follow_the_same_flow() -> None:
    search, _, _ = _problem(1, 2, time=30)
    search.states[:, 1:] = search.states[:, 1:] @ np.array([[0.3, 0.1], [0.0, 0.2]]) + 1.0
    before, states = search.field.steps(FOURTH, search.states, 4), search.states.copy()
    search.standardise()
    after = search.field.steps(FOURTH, search.states, 4)
    columns = np.column_stack([states, np.ones(len(states))])
    change = np.linalg.lstsq(columns, search.states, rcond=None)[0]
    assert np.abs(np.column_stack([before, np.ones(len(before))]) @ change - after).max() < 1e-8
    assert np.abs(search.states[:, 1:].mean(axis=0)).max() < 1e-10
    assert np.abs(search.states[:, 1:].std(axis=0) - 1).max() < 1e-5
    assert np.array_equal(search.states[:, 0], states[:, 0])


def test_steps_never_raise_the_misfit_and_say_what_it_is() -> None:
    series = chaos.lorenz.sample(160)[:, :1]
    visible = (series - series.mean()) / series.std()
    slope = np.gradient(visible, axis=0)
    terms = flow.polynomial_terms(3, 2)
    states = np.concatenate([visible, slope / slope.std(), np.gradient(slope, axis=0)], axis=1)
    search = Search(visible, SparseField.of(terms), states)
    search.standardise()
    for _ in range(12):
        search.standardise()
        before = search.misfit
        said = search.improve(1, 0.0)
        assert said <= before * (1 + 1e-9)
    assert said < 0.02


def test_x_of_lorenz_alone_is_followed_for_eight_lyapunov_times() -> None:
    series = chaos.lorenz.sample(812)[:, 0]
    ahead = forecast(series[:512], 300)
    truth = series[512:]
    assert ahead.method == "field with 2 hidden variables"
    assert np.abs(ahead.point - truth)[:240].max() < 0.05 * series.std()
    assert np.mean((ahead.lower <= truth) & (truth <= ahead.upper)) > 0.86
    assert ahead.equations() is None


def test_y_of_lorenz_alone_whose_rate_is_a_product_of_hidden_variables_is_followed_as_well() -> None:
    series = chaos.lorenz.sample(812)[:, 1]
    ahead = forecast(series[:512], 300)
    assert ahead.method == "field with 2 hidden variables"
    assert np.abs(ahead.point - series[512:])[:240].max() < 0.05 * series.std()


def _sampled(rate: Callable[[Array], Array], start: list[float], samples: int) -> Array:
    """(samples, variables) of x' = rate(x), time in samples, from after a transient of a thousand."""
    times = 1000.0 + np.arange(samples)
    done = solve_ivp(lambda _, x: rate(x), (0.0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-12)
    return np.asarray(done.y.T)


def _wang(s: Array) -> Array:
    """Wang's hyperchaotic field of four variables."""
    x, y, z, w = s
    return 0.0258 * np.array([10 * (y - x), 40 * x - x * z + w, -2.5 * z + 4 * x**2, -10.6 * x])


def _moore_spiegel(s: Array) -> Array:
    """Moore and Spiegel's oscillator, a cubic equation of third order."""
    x, y, z = s
    return 0.047838 * np.array([y, 10 * z, -4 * x + 9 * y - z - x**2 * y])


@pytest.mark.parametrize(
    ("rate", "start", "variable", "variables"),
    [(_wang, [5.0, 1.0, 30.0, 1.0], 0, 4), (_moore_spiegel, [0.2, 3.0, 1.0], 1, 3)],
)
def test_one_variable_of_four_or_of_a_cubic_field_is_followed(
    rate: Callable[[Array], Array], start: list[float], variable: int, variables: int
) -> None:
    series = _sampled(rate, start, 602)[:, [variable]]
    centre, scale = series[:512].mean(axis=0), series[:512].std(axis=0)
    search = found((series[:512] - centre) / scale, DEFAULT)
    assert search is not None
    assert len(search.states) == 512
    assert search.states.shape[1] == variables
    ahead = search.ahead(90)[:, :1] * scale + centre
    assert np.abs(ahead - series[512:]).max() < 0.05 * scale[0]


def test_behind_rough_samples_fields_of_three_variables_alone_are_looked_for() -> None:
    """x of Lorenz' system has one, x of Wang's has four variables; both are smooth here and called rough."""
    rough = 2 * DEFAULT.hidden.smooth
    for whole, want in ((chaos.lorenz.sample(512), True), (_sampled(_wang, [5.0, 1.0, 30.0, 1.0], 512), False)):
        series = whole[:, :1]
        centre, scale = series.mean(axis=0), series.std(axis=0)
        law = found((series - centre) / scale, DEFAULT, rough)
        assert (law is not None) == want


def test_only_smooth_series_are_searched_for_hidden_variables() -> None:
    """The law behind a smooth series is not looked for where its roughness is above the limit; 1 % of noise is."""
    series = chaos.lorenz.sample(512)[:, :1]
    noisy = series + 0.01 * series.std() * np.random.default_rng(0).standard_normal(series.shape)
    smooth, rough = (float(roughness(read(each).values)[0]) for each in (series, noisy))
    assert smooth < DEFAULT.hidden.smooth < rough
    assert hidden_law.decide(read(noisy), 30, DEFAULT, promising=False) is None
    assert hidden_law.decide(read(series), 30, DEFAULT) is not None
    assert (
        hidden_law.decide(read(series), 30, replace(DEFAULT, hidden=replace(DEFAULT.hidden, rough=smooth / 2))) is None
    )


@pytest.mark.parametrize("seen", [(0, 1), (0, 2), (1, 2)])
def test_two_variables_of_lorenz_are_followed_without_the_third(seen: tuple[int, int]) -> None:
    series = chaos.lorenz.sample(812)[:, seen]
    ahead = forecast(series[:512], 300)
    assert ahead.method == "field with 1 hidden variable"
    assert np.abs(ahead.point - series[512:])[:240].max() < 0.05 * series.std()


def test_a_law_has_forecast_what_it_was_later_solved_from() -> None:
    series = chaos.lorenz.sample(512)[:, :1]
    law = found((series - series.mean()) / series.std(), DEFAULT)
    assert law is not None
    assert len(law.errors) == (512 - DEFAULT.hidden.stretches[0]) / DEFAULT.hidden.stretch == 4
    assert max(law.errors) < 1e-3
    assert law.misfit < 1e-6
    assert np.array_equal(law.states[:, :1], law.visible)


@pytest.mark.parametrize("kind", ["noise", "walk", "noisy chaos"])
def test_noise_is_no_law_of_hidden_variables(kind: str) -> None:
    generator = np.random.default_rng(3)
    noise = generator.standard_normal((400, 1))
    lorenz = chaos.lorenz.sample(400)[:, :1]
    values = {"noise": noise, "walk": noise.cumsum(axis=0), "noisy chaos": lorenz + 0.5 * noise}[kind]
    assert found((values - values.mean()) / values.std(), DEFAULT) is None


@pytest.mark.parametrize(
    "signal",
    [
        lambda k: np.sin(k / 7),
        lambda k: 0.01 * k + np.sin(k / 12),
        lambda k: np.exp(-k / 300) * np.sin(k / 9),
        lambda k: np.sin(k / 7) + 0.5 * np.cos(k / 3.1),
    ],
)
def test_waves_stay_linear_and_exact_to_rounding(signal):
    """A field with hidden variables passes through them too, at a millionth of their size."""
    k = np.arange(812.0)
    u = signal(k)
    made = forecast(u[:512, None], 300)
    assert "hidden" not in made.method
    np.testing.assert_allclose(made.point[:, 0], u[512:], rtol=0, atol=1e-11)
