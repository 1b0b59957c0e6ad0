"""Noise of any size by the same mechanism: between exact samples and noise that shows there is no hole."""

from __future__ import annotations

import numpy as np
import pytest

from prophecy import chaos, forecast

STEP = 1 / (30 * chaos.lorenz.exponent)


@pytest.mark.parametrize("noise", [1e-8, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 1e-2])
def test_lorenz_is_found_at_every_level_of_noise_and_its_forecast_is_as_good_as_the_noise_allows(noise):
    """Errors grow e-fold in a Lyapunov time: every factor e less noise is worth about one more."""
    series = chaos.lorenz.sample(812, seed=1)
    draw = np.random.default_rng(0).standard_normal((512, 3))
    answer = forecast(series[:512] + noise * series.std(axis=0) * draw, 300)
    equations = answer.equations(STEP, ("x", "y", "z"))
    assert equations is not None
    exact = forecast(series[:512], 1).equations(STEP, ("x", "y", "z"))
    found, truth = ([{term.powers: term.coefficient for term in each} for each in e.terms] for e in (equations, exact))
    for one, other in zip(found, truth, strict=True):
        assert one.keys() == other.keys()
        for powers in other:
            assert abs(one[powers] / other[powers] - 1) < 3 * noise + 1e-7
    followed = int(30 * min(9.0, np.log(0.3 / noise) - 2.5))
    off = np.abs(answer.point[:followed] - series[512 : 512 + followed]) / series.std(axis=0)
    assert off.max() < 0.5
