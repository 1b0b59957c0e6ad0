"""What a value costs is bounded, whatever its stamp says, and every stream that took its values can be loaded again."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest

from prophecy import Prophecy
from prophecy.streams.limits import EARNED, WALKED


@pytest.mark.parametrize("steps", [(59.3, 60.0, 0.001), (1.0, 1.0, 1000.0, 1e5)])
def test_stamps_full_of_holes_cost_little_more_than_others(steps):
    """700 rows of these took 26 seconds, in which no other stream was written to."""
    rng = np.random.default_rng(3)
    times, values = np.cumsum(rng.choice(steps, 700)), rng.standard_normal(700)
    model = Prophecy()
    begin = time.process_time()
    model.observe(values, time=times)
    walked = WALKED + EARNED * 700
    assert time.process_time() - begin < 1.0 + 2e-5 * walked
    assert np.isfinite(model.predict().point)


def test_a_hole_longer_than_is_walked_is_a_gap_of_its_length():
    k = np.arange(3000)
    hole = 100_000
    place = k + np.where(k >= 2000, hole, 0)
    u = 20.0 + np.sin(2 * np.pi * place / 50) + 0.1 * np.random.default_rng(0).standard_normal(3000)
    model = Prophecy()
    track = model.follow(u, time=60.0 * place)
    assert model._stream.records["gap_seen"][0, 1:].tolist() == [0] * 11 + [1]  # of 4 096 steps or more
    np.testing.assert_array_equal(model._stream.regular_context()[0, -1000:], u[2000:])
    error = np.abs(track.point - u)
    assert error[2001:2050].mean() < 0.5
    assert error[2100:].mean() < 1.1 * error[1000:2000].mean()
    live = Prophecy()
    live.observe(u[:2000], time=60.0 * place[:2000])
    assert live.predict(time=60.0 * place[2000]).point == track.point[2000]


def test_what_extreme_values_lead_to_can_be_loaded_again():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        u = 1e75 * (rng.choice([-1.0, 1.0], 130) if seed % 2 else np.sin(np.arange(130) / 3))
        times = np.cumsum(rng.exponential(1.0, 130) if seed % 3 else rng.choice([1.0, 1.0, 1000.0], 130))
        model = Prophecy()
        model.observe(u, time=times)
        file = io.BytesIO()
        model.save(file)
        file.seek(0)
        assert Prophecy.load(file).predict().point == model.predict().point
