"""Forcing that is not among the variables, and parameters that drift: found from the context, and continued."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from prophecy import chaos
from prophecy.forecasting import forecast
from prophecy.forecasting.context import read
from prophecy.forecasting.settings import DEFAULT
from prophecy.laws import flow, inputs

Array = NDArray[np.float64]


def _duffing() -> Array:
    """Position and velocity of a forced Duffing oscillator, (812, 2), sampled every 0.2; the phase is not seen."""
    times = 100 + 0.2 * np.arange(812)

    def field(t: float, x: Array) -> list[float]:
        return [x[1], x[0] - x[0] ** 3 - 0.3 * x[1] + 0.5 * np.cos(1.2 * t)]

    return np.asarray(solve_ivp(field, (0, times[-1]), [1.0, 0.0], "DOP853", times, rtol=1e-11, atol=1e-11).y.T)


def _drifting() -> Array:
    """Lorenz' system whose Rayleigh number rises by 0.3 a second, (812, 3)."""
    times = 20 + 0.0368 * np.arange(812)

    def field(t: float, x: Array) -> list[float]:
        return [10 * (x[1] - x[0]), x[0] * (22 + 0.3 * t - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]]

    return np.asarray(solve_ivp(field, (0, times[-1]), [1.0, 1.0, 20.0], "DOP853", times, rtol=1e-11, atol=1e-11).y.T)


def strongest(values: Array) -> tuple[float, float]:
    return inputs.strongest(values, DEFAULT.forcing_periods, flow.polynomial_terms(values.shape[1], 3))


def test_the_frequency_of_a_hidden_forcing_is_found_to_seven_digits() -> None:
    frequency, left = strongest(read(_duffing()[:512]).values)
    assert frequency == pytest.approx(0.24, rel=1e-7)
    assert left < 1e-6


def test_a_forced_duffing_oscillator_is_followed_without_its_phase() -> None:
    series = _duffing()
    made = forecast(series[:512], 300)
    assert made.method == "field with hidden forcing"
    assert np.abs(made.point - series[512:])[:200].max() < 1e-3
    found = made.equations(dt=0.2, names=("x", "v"))
    assert found is not None
    assert found.lines()[0] == "x' = v"
    assert "26.1799 samples" in " ".join(made.notes)
    assert found.lines()[-1].endswith(f"not seen, period {2 * np.pi / 1.2:.6g}, 1 and 0 at the last row")
    # Its own field, with the amplitude split between the two phases.
    force = np.hypot(*(found([0, 0, *phase])[1] for phase in ((1, 0), (0, 1))))
    assert force == pytest.approx(0.5, rel=1e-5)
    assert found([2, 0, 0, 0])[1] == pytest.approx(2 - 8, rel=1e-5)


def test_exact_steps_tune_the_frequency_of_a_hidden_forcing() -> None:
    series = _duffing()
    made = forecast(series[:512], 200)
    found = made.equations(dt=0.2, names=("x", "v"))
    assert found is not None
    assert abs(found.terms[2][0].coefficient) == pytest.approx(1.2, rel=1e-9)
    assert np.abs(made.point - series[512:712])[:100].max() < 1e-6
    inside = (made.lower <= series[512:712]) & (series[512:712] <= made.upper)
    assert inside.mean() > 0.3  # with the frequency of the spectrum 0.03


def test_the_frequency_of_a_forcing_is_as_far_off_as_its_error_says() -> None:
    series, off = _duffing(), []
    for seed in range(6):
        noise = 0.02 * series[:512].std(axis=0) * np.random.default_rng(seed).standard_normal((512, 2))
        found = forecast(series[:512] + noise, 5).equations(dt=0.2, names=("x", "v"))
        assert found is not None
        term = found.terms[2][0]
        off.append((abs(term.coefficient) - 1.2) / term.error)
    assert 0.05 < np.sqrt(np.mean(np.square(off))) < 2.5  # it was hundreds of errors off


def test_hidden_forcing_is_found_through_one_per_cent_of_noise() -> None:
    series = _duffing()
    noisy = series[:512] + 0.01 * series[:512].std(axis=0) * np.random.default_rng(0).standard_normal((512, 2))
    made = forecast(noisy, 300)
    assert made.method == "field with hidden forcing"
    assert np.abs(made.point - series[512:])[:60].max() < 0.1


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_systems_without_forcing_or_drift_get_neither(noise: float) -> None:
    for system in (chaos.lorenz, chaos.rossler):
        series = system.sample(512)
        noisy = series + noise * series.std(axis=0) * np.random.default_rng(1).standard_normal(series.shape)
        values = read(noisy).values
        assert strongest(values)[1] > 2 * DEFAULT.input_left
        assert inputs.unexplained(values) > 1.5 * DEFAULT.input_left


def test_a_parameter_that_drifts_goes_on_drifting_in_the_forecast() -> None:
    series = _drifting()
    made = forecast(series[:512], 300)
    assert made.method == "field with a drift"
    assert np.abs(made.point - series[512:]).max() < 0.05
    without = forecast(series[:512], 300, settings=replace(DEFAULT, without=frozenset({"DRIFT_FIELDS"})))
    assert np.abs(without.point - series[512:])[:200].max() > 1.0


@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_a_drift_is_found_through_noise(noise: float) -> None:
    series = _drifting()
    scale = series[:512].std(axis=0)
    noisy = series[:512] + noise * scale * np.random.default_rng(0).standard_normal((512, 3))
    made = forecast(noisy, 60)
    assert made.method == "field with a drift"
    assert (np.abs(made.point - series[512:572]) / scale)[:60].max() < 4 * noise


def _sampled(field: Callable[[float, Array], list[float]], start: list[float], step: float) -> Array:
    times = step * np.arange(700)
    return np.asarray(solve_ivp(field, (0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-12).y.T)


def _noisy(values: Array, share: float) -> Array:
    return values + share * values.std(axis=0) * np.random.default_rng(0).standard_normal(values.shape)


def _chaotic_pendulum(t: float, x: Array) -> list[float]:
    return [x[1], -np.sin(x[0]) - 0.5 * x[1] + 1.15 * np.cos(2 / 3 * t)]


def _settled_pendulum(t: float, x: Array) -> list[float]:
    return [x[1], -4 * np.sin(x[0]) - 0.3 * x[1] + 1.5 * np.cos(1.3 * t)]


@pytest.mark.parametrize(
    ("field", "step", "share"),
    [(_chaotic_pendulum, 0.15, 0.0), (_chaotic_pendulum, 0.15, 0.01), (_settled_pendulum, 0.08, 0.0)],
)
def test_a_pendulum_is_found_without_the_phase_of_its_drive(field: Any, step: float, share: float) -> None:
    series = _sampled(field, [0.5, 0.0], step)
    made = forecast(_noisy(series[:500], share), 100)
    assert made.method == "field with hidden forcing"
    found = made.equations(dt=step, names=("theta", "omega"))
    assert found is not None
    assert [function.function for function in found.functions] == ["sin"]
    assert [len(terms) for terms in found.terms] == [1, 4, 1, 1]
    truth = np.asarray(field(np.pi / 2 / (1.3 if step < 0.1 else 2 / 3), np.array([1.0, 0.3])))  # the drive at zero
    np.testing.assert_allclose(found([1.0, 0.3, 0.0, 0.0])[:2], truth, rtol=1e-5 if not share else 0.01)
    assert (np.abs(made.point - series[500:600]) / series.std(axis=0))[:40].max() < max(5 * share, 1e-3)


def test_an_oscillation_that_repeats_is_not_taken_for_a_driven_one() -> None:
    series = _sampled(lambda _, x: [x[1], -4 * np.sin(x[0])], [2.0, 0.0], 0.08)
    found = forecast(series[:300], 10).equations(dt=0.08, names=("x", "v"))
    assert found is not None
    assert found.lines() == ["x' = v", "v' = -4 sin(x)"]


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_a_cubic_oscillator_whose_damping_drifts_has_its_law_with_time_in_it(share: float) -> None:
    series = _sampled(lambda t, x: [x[1], (0.5 + 0.03 * t) * (1 - x[0] ** 2) * x[1] - x[0]], [1.0, 0.0], 0.1)
    made = forecast(_noisy(series[:500], share), 200)
    assert made.method == "field with a drift"
    found = made.equations(dt=0.1, names=("x", "v"))
    assert found is not None
    if not share:
        assert found.lines() == ["x' = v", "v' = -x + 0.5 v + 0.03 v t - 0.5 x^2 v - 0.03 x^2 v t", "t' = 1"]
    assert [len(terms) for terms in found.terms] == [1, 5, 1]
    assert (np.abs(made.point - series[500:]) / series.std(axis=0)).max() < max(10 * share, 1e-4)


@pytest.mark.parametrize("share", [0.005, 0.01, 0.03, 0.1])
def test_an_oscillation_of_the_system_itself_is_no_forcing_through_noise(share: float) -> None:
    hares = _sampled(lambda _, x: [1.1 * x[0] - 0.4 * x[0] * x[1], 0.1 * x[0] * x[1] - 0.4 * x[1]], [10.0, 5.0], 0.1)
    cycle = _sampled(lambda _, x: [x[1], (1 - x[0] ** 2) * x[1] - x[0]], [1.0, 0.0], 0.1)
    for series in (hares, cycle):
        made = forecast(_noisy(series[:500], share), 20)
        assert "forcing" not in made.method
        assert "forcing" not in " ".join(made.notes)
