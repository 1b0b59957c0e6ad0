"""The first laws that a newcomer tries: one variable, few samples, a little noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import lambertw

from prophecy.forecasting import forecast

Array = NDArray[np.float64]


def _cooling(t: Array) -> Array:
    return 20 + 60 * np.exp(-0.02 * t)


def _charging(t: Array) -> Array:
    return 5 * (1 - np.exp(-t / 40))


def _logistic(t: Array) -> Array:
    return 10 / (1 + 30 * np.exp(-0.05 * t))


def _gompertz(t: Array) -> Array:
    return 10 * np.exp(np.log(0.02) * np.exp(-0.04 * t))


def _tank(t: Array) -> Array:
    return np.asarray((2 - 0.009 * t) ** 2)


def _fall(t: Array) -> Array:
    return 9.9 * np.tanh(0.02 * t)


#: Level of the variable -> its rate of change per sample
RATES: dict[Callable[[Array], Array], Callable[[Array], Array]] = {
    _cooling: lambda x: -0.02 * (x - 20),
    _charging: lambda x: (5 - x) / 40,
    _logistic: lambda x: 0.05 * x * (1 - x / 10),
    _gompertz: lambda x: 0.04 * x * np.log(10 / x),
    _tank: lambda x: -0.018 * np.sqrt(x),
    _fall: lambda x: 0.02 * 9.9 * (1 - (x / 9.9) ** 2),
}


def _found(series: Callable[[Array], Array], noise: float, seed: int, rows: int) -> bool:
    """Whether an announced law has the true rates within 5 per cent along the path. False laws fail at once."""
    path = series(np.arange(rows, dtype=np.float64))
    values = path + noise * path.std() * np.random.default_rng(seed).standard_normal(rows)
    law = forecast(values, 30).equations(names=("x",))
    if law is None:
        return False
    rates = RATES[series](path)
    off = float(np.sqrt(np.mean((law(path[:, None])[:, 0] - rates) ** 2) / np.mean(rates**2)))
    assert law.names == ("x",)
    assert off < 0.05, str(law)
    return True


@pytest.mark.parametrize("noise", [0.0, 0.001, 0.01])
@pytest.mark.parametrize("series", RATES)
def test_the_law_of_one_variable_is_found_in_at_least_four_of_five_draws(
    series: Callable[[Array], Array], noise: float
) -> None:
    assert sum(_found(series, noise, seed, 150) for seed in range(5)) >= 4


def test_equations_with_roots_and_logarithms_read_like_a_book() -> None:
    times = np.arange(150, dtype=np.float64)
    assert str(forecast(_tank(times), 5).equations(names=("h",))) == "h' = -0.018 sqrt(h)"
    gompertz = forecast(_gompertz(times), 5).equations(names=("n",))
    assert gompertz is not None
    assert "n log(n)" in str(gompertz)
    assert gompertz(np.array([5.0]))[0] == pytest.approx(0.04 * 5 * np.log(2), rel=1e-3)


@pytest.mark.parametrize(("start", "half"), [(6.0, 0.8), (6.0, 3.0), (2.0, 2.0)])
def test_a_reaction_that_saturates_has_its_quotient(start: float, half: float) -> None:
    """Michaelis and Menten: s' = -0.07 s / (s + half). Roots and logarithms come close, in three times the terms."""
    elapsed = 0.07 * np.arange(150)
    path = half * lambertw(start / half * np.exp((start - elapsed) / half)).real
    assert str(forecast(path, 5).equations(names=("s",))) == f"s' = -0.07 s /(s + {half:g})"


@pytest.mark.parametrize("seed", range(4))
def test_lines_walks_and_seasons_of_one_variable_have_no_law(seed: int) -> None:
    generator, times = np.random.default_rng(seed), np.arange(120)
    noise = generator.standard_normal(120)
    for values in (
        0.3 * times + 5 * noise,
        np.cumsum(noise) + times,
        np.cumsum(noise),
        np.sin(times / 5) + 0.3 * noise,
    ):
        assert forecast(values, 10).equations() is None


@pytest.mark.parametrize("noise", [0.0, 0.001, 0.01, 0.03])
def test_a_decaying_oscillation_seen_through_its_position_has_a_law_of_second_order(noise: float) -> None:
    times = 0.08 * np.arange(200)
    path = np.exp(-0.15 * times) * np.cos(1.994 * times)
    found = 0
    for seed in range(5):
        values = path + noise * path.std() * np.random.default_rng(seed).standard_normal(200)
        made = forecast(values, 40)
        law = made.equations(dt=0.08, names=("x",))
        if law is None:
            continue
        found += 1
        assert law.names == ("x", "v")
        position, rate = law(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])).T
        assert position == pytest.approx([0, 1, 0])
        assert rate == pytest.approx([-3.9986, -0.3, 0], abs=0.01 + 5 * noise)
    assert found >= 4


@pytest.mark.parametrize("size", [1e-80, 1e80])
def test_values_of_unusual_size_have_their_equations_too(size: float) -> None:
    law = forecast(size * _cooling(np.arange(150.0)), 5).equations(names=("T",))
    assert law is not None
    assert law(np.array([20 * size]))[0] == pytest.approx(0, abs=1e-6 * size)
    assert law(np.array([70 * size]))[0] == pytest.approx(-size, rel=1e-6)
