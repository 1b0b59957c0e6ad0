"""A column that has nothing to do with the others does not cost these their law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from prophecy.forecasting import forecast

Array = NDArray[np.float64]


def _fitzhugh(t: float, x: Any) -> list[Any]:
    return [x[0] - x[0] ** 3 / 3 - x[1] + 0.5, 0.08 * (x[0] + 0.7 - 0.8 * x[1])]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_column_of_white_noise_leaves_the_law_of_the_others(place: int, noise: float) -> None:
    times = 0.4 * np.arange(350)
    path = solve_ivp(_fitzhugh, (0, times[-1]), [-1.0, 1.0], "DOP853", times, rtol=1e-11, atol=1e-12).y.T
    generator = np.random.default_rng(place)
    seen = path + noise * path.std(axis=0) * generator.standard_normal(path.shape)
    table = np.insert(seen, place, 7 + 2 * generator.standard_normal(len(seen)), axis=1)
    names = tuple(np.insert(np.array(["v", "w"], dtype=object), place, "hum"))
    made = forecast(table[:300], 50)
    law = made.equations(dt=0.4, names=names)
    assert law is not None
    assert law.names == ("v", "w")
    truth = np.array([_fitzhugh(0.0, x) for x in path])
    assert np.abs(law(path) - truth).max() < 1e-5 + 5 * noise
    others = [i for i in range(3) if i != place]
    assert np.abs(made.point[:, others] - path[300:]).max() < 1e-4 + 20 * noise
    assert np.abs(made.point[:, place] - 7).max() < 2
    assert np.mean((made.lower[:, place] <= table[300:, place]) & (table[300:, place] <= made.upper[:, place])) > 0.75
