"""The first values of a predictor cost their own computation and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import prophecy

SYSTEMS = {
    "LegT": prophecy.next_value(prophecy.legt(16, window=400.0), dt=1.0),
    "LegS": prophecy.next_value(prophecy.legs(16), dt=1.0),
    "unstable": prophecy.System(np.array([[1.01]]), np.ones(1), np.ones(1), 0.0),
}


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("channels", [None, 60])
def test_observing_an_array_is_the_step_and_writes_no_file(name, channels, tmp_path, monkeypatch):
    """Entry 11 of the defects."""
    for variable in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    u = np.random.default_rng(0).standard_normal(700 if channels is None else (700, channels))
    predictor = prophecy.Predictor(SYSTEMS[name], channels=channels)
    predictor.observe(u)
    y, _ = prophecy.run(SYSTEMS[name], u.T, engine="step")
    np.testing.assert_allclose(predictor.predict(), y[..., -1], rtol=1e-9, atol=1e-9)
    assert not list(tmp_path.iterdir())
