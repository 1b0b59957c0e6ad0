"""Equations read off a forecast: structure, numbers, units, words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import prophecy
from prophecy import chaos
from prophecy.forecasting.settings import DEFAULT
from prophecy.laws.equations import Equations, Term


def _sampled(field, start, step, samples=512, settle=20.0):
    times = settle + step * np.arange(samples)
    done = solve_ivp(field, (0, times[-1]), start, "DOP853", times, rtol=1e-10, atol=1e-10)
    return done.y.T


#: name: field, start, step, non-zero coefficients of x', y' (, z') by monomial
SYSTEMS: dict[str, tuple[Any, Any, Any, Any]] = {
    "Lorenz": (
        lambda t, x: [10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]],
        [1.0, 2.0, 20.0],
        0.03,
        [{"x": -10, "y": 10}, {"x": 28, "y": -1, "xz": -1}, {"xy": 1, "z": -8 / 3}],
    ),
    "Rössler": (
        lambda t, x: [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - 5.7)],
        [1.0, 1.0, 0.1],
        0.2,
        [{"y": -1, "z": -1}, {"x": 1, "y": 0.2}, {"": 0.2, "z": -5.7, "xz": 1}],
    ),
    "Van der Pol": (
        lambda t, x: [x[1], 1.5 * (1 - x[0] ** 2) * x[1] - x[0]],
        [1.0, 0.5],
        0.1,
        [{"y": 1}, {"x": -1, "y": 1.5, "xxy": -1.5}],
    ),
    "Lotka-Volterra": (
        lambda t, x: [1.1 * x[0] - 0.4 * x[0] * x[1], 0.1 * x[0] * x[1] - 0.4 * x[1]],
        [10.0, 5.0],
        0.1,
        [{"x": 1.1, "xy": -0.4}, {"xy": 0.1, "y": -0.4}],
    ),
}


#: Oscillations so close to a sinusoid that one was taken for the drive of the rest, and found in no field
SYSTEMS["slow Van der Pol"] = (
    lambda t, x: [x[1], 0.5 * (1 - x[0] ** 2) * x[1] - x[0]],
    [2.0, 0.0],
    0.2,
    [{"y": 1}, {"x": -1, "y": 0.5, "xxy": -0.5}],
)


def _coefficients(equations):
    letters = "xyz"[: len(equations.names)]
    return [
        {"".join(letter * p for letter, p in zip(letters, t.powers, strict=False)): t.coefficient for t in each}
        for each in equations.terms
    ]


@pytest.mark.parametrize("name", SYSTEMS)
def test_equations_are_exact_without_noise(name):
    field, start, step, truth = SYSTEMS[name]
    equations = prophecy.forecast(_sampled(field, start, step), 5).equations(dt=step)
    assert equations is not None
    found = _coefficients(equations)
    assert [set(each) for each in found] == [set(each) for each in truth]
    for here, there in zip(found, truth, strict=True):
        for monomial, value in there.items():
            assert here[monomial] == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("name", SYSTEMS)
def test_structure_is_right_at_one_percent_noise_and_errors_are_what_they_say(name):
    field, start, step, truth = SYSTEMS[name]
    series = _sampled(field, start, step)
    noise = 0.01 * series.std(axis=0) * np.random.default_rng(1).standard_normal(series.shape)
    equations = prophecy.forecast(series + noise, 5).equations(dt=step)
    assert equations is not None
    assert [set(each) for each in _coefficients(equations)] == [set(each) for each in truth]
    letters = "xyz"[: len(equations.names)]
    for terms, there in zip(equations.terms, truth, strict=True):
        for term in terms:
            monomial = "".join(letter * p for letter, p in zip(letters, term.powers, strict=False))
            assert abs(term.coefficient - there[monomial]) < 5 * term.error
            assert term.error < 0.1 * abs(term.coefficient)


def test_a_driven_oscillator_seen_with_its_drive_is_found():
    equations = prophecy.forecast(chaos.duffing.sample(512, seed=1), 5).equations(dt=1 / 3.0)
    assert equations is not None
    assert equations.names[-1] == "phase1"
    assert [len(each) for each in equations.terms] == [1, 4, 1, 1]


def test_a_driven_relaxation_oscillator_whose_jumps_take_less_than_a_sample_is_found():
    """Its steps need more substeps the closer the field comes to the law: those of the first guess are far too few."""
    drive, step = 1.8, 0.5
    series = _sampled(
        lambda t, x: [8 * (x[0] - x[0] ** 3 / 3 - x[1]), (x[0] + np.cos(drive * t)) / 8], [1.0, 0.5], step, settle=50.0
    )
    series = np.column_stack([series, np.cos(drive * (50 + step * np.arange(512)))])
    equations = prophecy.forecast(series, 5).equations(dt=step, names=("x", "y", "u"))
    assert equations is not None
    assert equations.lines()[:2] == ["x' = 8 x - 8 y - 2.6667 x^3", "y' = 0.125 (x + u)"]


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_a_variable_a_hundred_times_slower_has_its_own_three_terms(noise):
    """Its powers are nearly combinations of each other: noise decides which are removed from all of them first."""
    series = _sampled(
        lambda t, x: [
            x[1] - x[0] ** 3 + 3 * x[0] ** 2 - x[2] + 3.2,
            1 - 5 * x[0] ** 2 - x[1],
            0.006 * (4 * (x[0] + 1.6) - x[2]),
        ],
        [-1.0, 0.0, 3.0],
        0.1,
        samples=1000,
        settle=50.0,
    )
    series = series + noise * series.std(axis=0) * np.random.default_rng([2, 7]).standard_normal(series.shape)
    equations = prophecy.forecast(series, 1).equations(dt=0.1)
    assert equations is not None
    assert [set(each) for each in _coefficients(equations)] == [
        {"", "y", "z", "xx", "xxx"},
        {"", "y", "xx"},
        {"", "x", "z"},
    ]
    assert _coefficients(equations)[2]["z"] == pytest.approx(-0.006, rel=10 * noise)


def test_the_callable_the_expression_and_the_printed_line_agree():
    sympy = pytest.importorskip("sympy")
    series = chaos.thomas.sample(512, seed=1)
    equations = prophecy.forecast(series, 5).equations(dt=0.5, names=["u", "v", "w"])
    assert equations is not None
    point = np.array([0.3, -1.2, 2.0])
    expressions = equations.sympy()
    symbols = list(expressions)
    assert symbols == list(sympy.symbols("u v w"))  # those that a user writes
    values = [float(expression.subs(dict(zip(symbols, point, strict=True)))) for expression in expressions.values()]
    assert np.allclose(equations(point), values, rtol=1e-12)
    assert equations(np.stack([point, point])).shape == (2, 3)
    assert "sin(v)" in equations.lines()[0]
    read = sympy.sympify(re.sub(r"(?<=[0-9)]) (?=[a-z])", "*", equations.lines()[0].split("=")[1]))
    assert float(read.subs({"u": 0.3, "v": -1.2})) == pytest.approx(values[0], rel=1e-3)


def test_units_and_names_are_those_of_the_data():
    series = chaos.lorenz.sample(512, seed=1)
    plain = prophecy.forecast(series, 5)
    larger = prophecy.forecast(series * [1000.0, 1.0, 0.01], 5)
    step = 1 / (30 * chaos.lorenz.exponent)
    a, b = plain.equations(dt=step), larger.equations(dt=step)
    state = np.array([3.0, -4.0, 20.0])
    assert np.allclose(a(state) * [1000.0, 1.0, 0.01], b(state * [1000.0, 1.0, 0.01]), rtol=1e-6)
    assert a.lines()[0].endswith("= 10 (value1 - value0)")
    named = plain.equations(dt=step, names=("x", "y", "z"))
    assert str(named) == "x' = 10 (y - x)\ny' = 28 x - y - x z\nz' = -2.6667 z + x y"
    minutes = plain.equations(dt=step / 60)
    assert np.allclose(minutes(state), 60 * a(state))


@pytest.mark.parametrize(
    ("value", "error", "printed"),
    [
        (3.998e19, 7e16, "3.998e19"),
        (1.001e-14, 2e-17, "1.001e-14"),
        (2.6667, 1e-9, "2.6667"),
        (0.00012, 1e-5, "0.00012"),
    ],
)
def test_very_large_and_small_coefficients_have_an_exponent(value, error, printed):
    found = Equations(("x",), ((Term(value, error, (1,)),),), (), 1.0, (0.0,))
    assert found.lines() == [f"x' = {printed} x"]


def test_a_linear_system_without_noise_has_its_equations():
    def field(_, s):
        return [s[1], -4 * s[0] + s[2] - 0.05 * s[1], s[3], 2 * s[0] - 2 * s[2] - 0.05 * s[3]]

    times = 0.1 * np.arange(600)
    series = solve_ivp(field, (0, 60), [1, 0, 0.3, 0], t_eval=times, rtol=1e-10, atol=1e-12).y.T
    answer = prophecy.forecast(series[:500], 100)
    assert np.abs(answer.point - series[500:]).max() < 1e-5 * series.std()
    assert str(answer.equations(dt=0.1, names=("x", "v", "y", "w"))).splitlines() == [
        "x' = v",
        "v' = -4 x - 0.05 v + y",
        "y' = w",
        "w' = 2 x - 2 y - 0.05 w",
    ]


def test_where_no_field_was_found_there_are_no_equations():
    walk = np.cumsum(np.random.default_rng(0).standard_normal((300, 2)), axis=0)
    assert prophecy.forecast(walk, 10).equations() is None
    assert prophecy.forecast(np.arange(50.0), 5).equations() is None


def test_bad_steps_and_names_are_named():
    answer = prophecy.forecast(chaos.lorenz.sample(512, seed=1), 5)
    with pytest.raises(ValueError, match="dt must be positive and finite, got 0"):
        answer.equations(dt=0)
    with pytest.raises(TypeError, match="dt must be a real number, got '1'"):
        answer.equations(dt="1")
    with pytest.raises(ValueError, match="names must be 3"):
        answer.equations(names=("x", "y"))
    with pytest.raises(ValueError, match="names must differ"):
        answer.equations(names=("x", "x", "z"))
    with pytest.raises(ValueError, match="state must have 3 values"):
        answer.equations()(np.zeros(2))


def test_intervals_of_a_noisy_oscillation_hold_the_noisy_values_to_come():
    times = np.arange(144)
    inside = []
    for seed in range(4):
        generator = np.random.default_rng(seed)
        wave = np.sin(2 * np.pi * times / 24)
        noise = generator.standard_normal((144, 2)) * [0.3, 1.0]
        values = np.column_stack([30 + 5 * wave, 60 + 10 * wave]) + noise
        answer = prophecy.forecast(values[:120], 24)
        inside.append((answer.lower <= values[120:]) & (values[120:] <= answer.upper))
    assert 0.8 < np.mean(inside) < 0.98


@pytest.mark.parametrize(("scale", "offset"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e4)])
def test_noisy_measurements_far_from_zero_or_in_any_unit_have_the_field_of_the_data(scale, offset):
    series = chaos.lorenz.sample(512) * scale + offset
    noise = 0.01 * series.std(axis=0) * np.random.default_rng(0).standard_normal(series.shape)
    equations = prophecy.forecast(series + noise, 5).equations(dt=1 / (30 * chaos.lorenz.exponent))
    assert equations is not None
    x, y, z = (series[50:].T - offset) / scale
    truth = scale * np.column_stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])
    assert (np.abs(equations(series[50:]) - truth).max(axis=0) < 0.02 * truth.std(axis=0)).all()
    assert len(equations.terms[0]) == 2


def test_names_of_several_words_are_told_from_products():
    pandas = pytest.importorskip("pandas")
    clock = pandas.date_range("2024-01-01", periods=512, freq="37s")
    frame = pandas.DataFrame(chaos.lorenz.sample(512), columns=["prey density", "T", "flux"], index=clock)
    step = 1 / (30 * chaos.lorenz.exponent)
    found = prophecy.forecast(frame, 5)
    assert found.equations(dt=step).lines()[2] == "flux' = -2.6667 flux + [prey density] T"


def test_phases_are_folded_and_factors_taken_out_of_exponentials():
    step = 0.5
    equations = prophecy.forecast(chaos.thomas.sample(512), 5).equations(dt=step, names="xyz")
    assert [each.function for each in equations.functions] == ["sin"] * 3
    assert all(any(term.powers) for each in equations.functions for term in each.terms)  # no shift
    assert all(term.coefficient > 0 for terms in equations.terms for term in terms if any(term.powers[3:]))


def test_parameters_inside_of_functions_have_standard_errors():
    values = _sampled(lambda t, x: [x[1], -4 * np.sin(x[0]) - 0.02 * x[1]], [2.5, 0.0], 0.08, settle=0.0)
    noisy = values + 0.01 * values.std(axis=0) * np.random.default_rng(1).standard_normal(values.shape)
    found = prophecy.forecast(noisy, 5).equations(dt=0.08, names=("theta", "omega"))
    inside = re.search(r"sin\(\(([\d.]+) ± ([\d.e-]+)\) theta\)", found.lines(errors=True)[1])
    assert inside is not None, found.lines(errors=True)
    frequency, error = map(float, inside.groups())
    assert 0 < error < 0.01
    assert abs(frequency - 1) < 4 * error + 1e-3
    assert "±" not in str(found)


def test_exact_steps_count_by_how_exact_they_are():
    field, start, step, truth = SYSTEMS["Lorenz"]
    values = _sampled(field, start, step, 600)
    wrong = []
    for size in (1e-12, 1e-8):
        rough = values.copy()
        rough[:300] += size * values.std(axis=0) * np.random.default_rng(0).standard_normal((300, 3))
        found = _coefficients(prophecy.forecast(rough, 5).equations(dt=step))
        wrong.append(max(abs(f[m] / v - 1) for f, there in zip(found, truth, strict=True) for m, v in there.items()))
    assert wrong[1] < 10 * wrong[0]  # a hundred times with all steps counting alike


def test_a_field_of_very_many_parameters_is_no_law():
    few = replace(DEFAULT, laws=replace(DEFAULT.laws, announced=1.0))
    lorenz = _sampled(*SYSTEMS["Lorenz"][:3])
    ahead = prophecy.forecasting.forecast(lorenz, 50, settings=few)
    assert ahead.equations() is None
    assert any("may also imitate another law" in note for note in ahead.notes)
    wide, narrow = ahead.upper - ahead.lower, prophecy.forecasting.forecast(lorenz, 50)
    assert (wide >= 0.99 * (narrow.upper - narrow.lower)).all()
    assert prophecy.forecasting.forecast(lorenz, 50).equations() is not None


def test_a_denominator_keeps_the_constant_that_its_errors_leave_open():
    """Numerator and denominator have a factor in common, whose coefficients nothing determines; their quotient is."""

    def rates(x, y):
        eaten = x * y / (0.4 + x)
        return [x * (1 - x) * (x - 0.2) - eaten, 0.5 * eaten - 0.15 * y]

    times = np.linspace(0, 60, 300)
    path = solve_ivp(
        lambda _, s: rates(*s), (0, 60), [0.6, 0.1], t_eval=times, rtol=1e-10, atol=1e-12, max_step=0.2
    ).y.T  # fmt: skip
    law = prophecy.forecast(path[:240], 60).equations(dt=times[1])
    np.testing.assert_allclose(law(path[:240]), np.transpose(rates(*path[:240].T)), atol=1e-6)
