"""Short measured series, beside rivals whose constants were chosen in hindsight."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from benchmarks.speed.peers import least_squares
from prophecy import Prophecy
from reproduction.measured import SERIES

FIRST = 10
"""Rows that no error is counted of."""


def holt(u, level, trend, damping):
    """One step ahead by a level and a damped trend."""
    at, rise, ahead = u[0], 0.0, [u[0]]
    for value in u[1:]:
        ahead.append(at + damping * rise)
        error = value - ahead[-1]
        rise = damping * rise + level * trend * error
        at = ahead[-1] + level * error
    return np.array(ahead)


def tbill():
    statsmodels = pytest.importorskip("statsmodels.datasets.macrodata")
    return statsmodels.load_pandas().data["tbilrate"].to_numpy()


@pytest.mark.parametrize(
    ("name", "most"),
    [("flow of the Nile, yearly", 1.05), ("T-bill, quarterly", 1.08), ("shampoo sales, monthly", 1.17)],
)
def test_the_error_on_short_series_is_near_that_of_the_best_rival_in_hindsight(name, most):
    """Of copying, least squares on eight lags and Holt's method, the best of 96. The aim is 1.02."""
    pytest.importorskip(SERIES[name].package if name in SERIES else "statsmodels")
    u = np.asarray(SERIES[name].read() if name in SERIES else tbill(), dtype=np.float64).ravel()

    def error(ahead):
        return np.mean(np.abs(ahead - u)[FIRST:])

    grid = product((0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0), (0.0, 0.02, 0.05, 0.1, 0.2, 0.5), (1.0, 0.8))
    rivals = [np.append(u[:1], u[:-1]), np.append(u[:1], least_squares(u, range(1, 9))[:-1])]
    best = min(error(ahead) for ahead in (*rivals, *(holt(u, *constants) for constants in grid)))
    assert error(Prophecy().follow(u).point) < most * best
