"""Fields with hidden variables at other sampling rates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from prophecy import chaos
from prophecy.forecasting.context import read
from prophecy.forecasting.settings import DEFAULT
from prophecy.laws import hidden_law
from prophecy.laws.hidden_starts import pairs, time_scale

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
