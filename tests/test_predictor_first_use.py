"""The first values of a predictor cost their own computation and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import prophecy
from prophecy.engines import choice, lifted

SYSTEMS = {
    "LegT": prophecy.next_value(prophecy.legt(16, window=400.0), dt=1.0),
    "LegS": prophecy.next_value(prophecy.legs(16), dt=1.0),
    "unstable": prophecy.System(np.array([[1.01]]), np.ones(1), np.ones(1), 0.0),
}


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("channels", [None, 60])
def test_observing_an_array_measures_no_engine_and_writes_no_cache(name, channels, tmp_path, monkeypatch):
    """Entry 11 of the defects."""
    monkeypatch.setenv("PROPHECY_CACHE", str(tmp_path / "cache"))
    lifted._search.cache_clear()
    choice._remembered.cache_clear()
    system, length = SYSTEMS[name], lifted.SEARCH // channels + 5 if name == "LegT" and channels else 700
    u = np.random.default_rng(0).standard_normal(length if channels is None else (length, channels))
    predictor = prophecy.Predictor(system, channels=channels)
    predictor.observe(u)
    y, _ = prophecy.run(system, u.T, engine="step")
    np.testing.assert_allclose(predictor.predict(), y[..., -1], rtol=1e-9, atol=1e-9)
    assert not (tmp_path / "cache").exists()
