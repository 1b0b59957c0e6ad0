"""Angles that grow: phases of coupled oscillators, in radians."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from prophecy.forecasting import forecast

Array = NDArray[np.float64]


def _rates(x: Array) -> Array:
    """Kuramoto's oscillators, (..., oscillators)."""
    count = x.shape[-1]
    own = np.linspace(1, 2, count) + 0.1 * np.sin(3 * np.arange(count))
    return np.asarray(own + 0.6 / count * np.sin(x[..., None, :] - x[..., :, None]).sum(axis=-1))


@pytest.mark.parametrize(("count", "rows", "noise"), [(3, 400, 0.0), (3, 400, 0.01), (6, 1000, 0.0), (6, 1000, 0.01)])
def test_phases_that_grow_have_their_law(count: int, rows: int, noise: float) -> None:
    times = 0.1 * np.arange(rows + 50)
    path = solve_ivp(lambda _, x: _rates(x), (0, times[-1]), 1.1 * np.arange(count), "DOP853", times, rtol=1e-11).y.T
    made = forecast(path[:rows] + noise * np.random.default_rng(0).standard_normal((rows, count)), 50)
    law = made.equations(dt=0.1)
    assert law is not None
    assert np.abs(law(path) - _rates(path)).max() < 1e-5 + noise
    assert np.abs(made.point - path[rows:]).max() < 1e-5 + 3 * noise
    assert all(function.function == "sin" for function in law.functions)
