"""Hidden variables at other sampling rates, behind a periodic forcing, and with parameters that drift."""

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
from prophecy.laws import hidden_law
from prophecy.laws.hidden_starts import driven, pairs, time_scale

Array = NDArray[np.float64]
HIDDEN = DEFAULT.hidden


def _standardised(values: Array) -> Array:
    return np.ascontiguousarray((values - values.mean(axis=0)) / values.std(axis=0))


def _sampled(rate: Callable[[float, Array], list[float]], start: list[float], dt: float, samples: int = 812) -> Array:
    """(samples, variables) every dt, after 100 units of time."""
    times = 100.0 + dt * np.arange(samples)
    done = solve_ivp(rate, (0.0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-11)
    return np.asarray(done.y.T)


def test_the_time_scale_is_that_of_the_signal_at_any_rate() -> None:
    """Of sin(w k) it is 1 / w samples, up to the square of w."""
    for w in (0.02, 0.1, 0.3):
        assert time_scale(np.sin(w * np.arange(20_000))) == pytest.approx(1 / w, rel=0.05 * w + 1e-3)


@pytest.mark.parametrize("lacking", [1, 2])
def test_variables_at_hand_are_the_same_in_a_signal_sampled_twice_as_often(lacking: int) -> None:
    fine = _standardised(chaos.lorenz.sample(801, per_lyapunov=60)[:, :1])
    both = [pairs(each, lacking) for each in (fine, np.ascontiguousarray(fine[::2]))]
    assert len(both[0]) == len(both[1]) >= 8
    for one, other in zip(*both, strict=True):
        assert np.corrcoef(one.u[-1, ::2][20:-20], other.u[-1, 20:-20])[0, 1] > 0.999


@pytest.mark.parametrize("variable", [0, 1])
@pytest.mark.parametrize("per_lyapunov", [15, 60])
def test_lorenz_is_followed_from_one_variable_at_half_and_at_twice_the_rate(per_lyapunov: int, variable: int) -> None:
    ahead = 4 * per_lyapunov
    series = chaos.lorenz.sample(512 + ahead, per_lyapunov=per_lyapunov)[:, [variable]]
    context = read(series[:512])
    made = hidden_law.decide(context, ahead, DEFAULT)
    assert made is not None
    path = made.path * context.units.scale + context.units.centre
    assert np.abs(path - series[512:]).max() < 0.05 * series.std()


def test_a_fine_series_is_thinned_and_a_coarse_one_is_not() -> None:
    for per_lyapunov, want in ((15, 1), (30, 1), (200, 3)):
        values = _standardised(chaos.lorenz.sample(512, per_lyapunov=per_lyapunov)[:, :1])
        assert hidden_law.thinning(values, DEFAULT) == want
    assert hidden_law.thinning(values, replace(DEFAULT, hidden=replace(HIDDEN, kept=512))) == 1


def _duffing(t: float, x: Array) -> list[float]:
    return [x[1], x[0] - x[0] ** 3 - 0.3 * x[1] + 0.5 * np.cos(1.2 * t)]


def _van_der_pol(t: float, x: Array) -> list[float]:
    return [x[1], 3 * (1 - x[0] ** 2) * x[1] - x[0] + 5 * np.cos(1.788 * t)]


def _fitzhugh_nagumo(t: float, x: Array) -> list[float]:
    """Chaotic under this forcing; its x'' is cubic in x and x'."""
    return [x[0] - x[0] ** 3 / 3 - x[1] + 0.74 * np.cos(0.8 * t), 0.1 * (x[0] + 0.7 - 0.8 * x[1])]


@pytest.mark.parametrize(
    ("rate", "dt", "frequency"), [(_duffing, 0.2, 1.2), (_van_der_pol, 0.08, 1.788), (_fitzhugh_nagumo, 0.25, 0.8)]
)
def test_a_forced_oscillator_seen_without_its_velocity_and_its_forcing_is_followed(
    rate: Callable[[float, Array], list[float]], dt: float, frequency: float
) -> None:
    series = _sampled(rate, [0.5, 0.1], dt)[:, 0]
    made = forecast(series[:512], 300)
    assert made.method == "field with hidden forcing and 1 hidden variable"
    period = float(made.notes[0].split("a period of ")[1].split()[0])
    assert period == pytest.approx(2 * np.pi / frequency / dt, rel=1e-4)
    assert np.abs(made.point - series[512:])[:150].max() < 0.02 * series.std()
    assert np.mean((made.lower <= series[512:]) & (series[512:] <= made.upper)) > 0.86


def test_the_frequency_of_a_forcing_is_found_from_x_alone_and_none_where_there_is_none() -> None:
    forced = _standardised(_sampled(_duffing, [0.5, 0.1], 0.2, 256)[:, :1])
    frequency, hidden = driven(forced, DEFAULT)
    assert frequency == pytest.approx(1.2 * 0.2, rel=1e-4)
    phase = np.unwrap(np.arctan2(hidden[:, 2], hidden[:, 1]))
    assert np.diff(phase).mean() == pytest.approx(frequency)
    free = _standardised(chaos.lorenz.sample(256)[:, :1])
    assert driven(free, DEFAULT)[1].shape == (256, 0)


def test_an_oscillator_whose_stiffness_drifts_is_continued_from_x_alone() -> None:
    series = _sampled(lambda t, x: [x[1], (1 - x[0] ** 2) * x[1] - (1 + 0.004 * t) * x[0]], [0.5, 0.1], 0.2)[:, 0]
    made = forecast(series[:512], 300)
    assert made.method == "field with 2 hidden variables"
    assert np.abs(made.point - series[512:]).max() < 0.02 * series.std()
