"""What is never printed: exponents of absurd size, phases that are there already."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from prophecy.forecasting import forecast

Array = NDArray[np.float64]


def _oregonator(t: float, x: Any) -> list[Any]:
    y, z = x[1], x[2]
    return [
        (8e-4 * y - x[0] * y + x[0] * (1 - x[0])) / 0.04,
        (-8e-4 * y - x[0] * y + 0.667 * z) / 4e-3,
        x[0] - z,
    ]


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
def test_no_law_has_an_exponent_of_absurd_size(noise: float) -> None:
    times = 0.05 * np.arange(600)
    path = solve_ivp(_oregonator, (0, times[-1]), [0.5, 0.5, 0.1], "LSODA", times, rtol=1e-10, atol=1e-12).y.T
    for seed in range(3):
        seen = path + noise * path.std(axis=0) * np.random.default_rng(seed).standard_normal(path.shape)
        law = forecast(seen[:500], 50).equations(dt=0.05)
        for function in law.functions if law is not None else ():
            if function.function == "exp":
                at = sum(term.coefficient * np.prod(path ** np.array(term.powers), axis=1) for term in function.terms)
                assert np.ptp(at) < 120, str(law)


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_both_halves_of_a_drive_among_the_columns_are_enough(noise: float) -> None:
    times = 0.1 * np.arange(400)

    def field(t: float, x: Any) -> list[Any]:
        return [x[1], x[0] - x[0] ** 3 - 0.3 * x[1] + 0.5 * np.cos(1.2 * t)]

    path = solve_ivp(field, (0, times[-1]), [1.0, 0.0], "DOP853", times, rtol=1e-11, atol=1e-12).y.T
    table = np.column_stack([path, np.cos(1.2 * times), np.sin(1.2 * times)])
    table += noise * table.std(axis=0) * np.random.default_rng(0).standard_normal(table.shape)
    law = forecast(table, 50).equations(dt=0.1, names=("x", "v", "c", "s"))
    assert law is not None
    assert law.names == ("x", "v", "c", "s")
    assert "phase" not in str(law)


@pytest.mark.parametrize("rest", [50, 199, 200, 300])
@pytest.mark.parametrize("tail", [[5.5, 6.0], [5.5, 6.0, 6.5], [7.0, 6.0, 5.5]])
def test_a_value_that_rested_until_just_now_obeys_no_law(rest: int, tail: list[float]) -> None:
    ahead = forecast(np.r_[np.full(rest, 5.0), tail], 3)
    assert ahead.equations() is None
    assert np.all((ahead.point >= 4) & (ahead.point <= 8)), ahead.point
    assert np.all(ahead.upper - ahead.lower > 0.5)


def test_noise_about_a_level_that_begins_to_rise_has_a_forecast() -> None:
    for seed in range(12):  # the quotient through such samples may have no term left
        noise = 0.01 * np.random.default_rng(seed).standard_normal(200)
        assert np.isfinite(forecast(np.r_[5 + noise, 5 + 0.5 * np.arange(1, 6)], 5).point).all()
