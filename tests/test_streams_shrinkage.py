"""Shrinkage: what it does to forecasts, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prophecy import Prophecy


def shrunk(u):
    """Of each value but the first: the change its members forecast, and the change forecast."""
    model, full = Prophecy(), []
    for value in u:
        model.observe(float(value))
        record = model._stream.records[0]
        full.append((float(record["shrink_ahead"][0]), float(record["change"])))
    return np.array(full)[:-1].T


@pytest.mark.parametrize("name", ["line", "sine", "steps"])
def test_where_changes_come_as_forecast_nothing_is_taken_off(name):
    k = np.arange(800)
    u = {"line": 0.3 * k, "sine": np.sin(k / 7), "steps": np.resize([0.0, 0.0, 3.0, 1.0], 800)}[name]
    full, forecast = shrunk(u)
    np.testing.assert_allclose(forecast[400:], full[400:], rtol=1e-9, atol=1e-9)


def test_the_share_that_is_kept_lies_between_none_and_all_of_it():
    rng = np.random.default_rng(3)
    full, forecast = shrunk(rng.standard_t(2, 600))
    assert (np.abs(forecast) <= np.abs(full) * (1 + 1e-12)).all()
    assert (forecast * full >= 0).all()


def test_short_noisy_series_are_predicted_better_than_without():
    """The first hundred values of walks with noise on top, where members are chosen by chance: 60 of them."""
    with_it, without = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        u = np.cumsum(rng.standard_normal(100)) + 0.3 * rng.standard_normal(100)
        full, forecast = shrunk(u)
        came = np.diff(u)
        with_it.append(np.mean((came - forecast)[30:] ** 2))
        without.append(np.mean((came - full)[30:] ** 2))
    assert np.mean(with_it) < 0.985 * np.mean(without)


def test_across_a_gap_nothing_is_taken_off():
    """Step after step a part of a part would be left of them, and nothing of a season."""
    rng = np.random.default_rng(5)
    model = Prophecy()
    model.observe(np.sin(np.arange(400) / 5) + 0.5 * rng.standard_normal(400))
    for _ in range(40):
        model.observe(float("nan"))
        record = model._stream.records[0]
        assert record["change"] == record["shrink_ahead"][0]
    model.observe(0.3)
    record = model._stream.records[0]
    assert abs(record["change"]) < abs(record["shrink_ahead"][0])


def test_explain_says_when_changes_are_doubted():
    rng = np.random.default_rng(12)
    model = Prophecy()
    for value in np.cumsum(rng.standard_normal(90)):
        model.observe(float(value))
        record = model._stream.records[0]
        doubted = float(record["change"]) < 0.95 * float(record["shrink_ahead"][0])
        if record["shrink_ahead"][0] > 0 and record["count"] > 1:
            assert ("The change its members forecast is cut to" in model.explain()) == doubted


@settings(max_examples=30, deadline=None)
@given(arrays(np.float64, 60, elements=st.floats(-1e75, 1e75)))
def test_any_values_leave_finite_sums_and_weights_that_add_up_to_one(u):
    model = Prophecy()
    model.observe(u)
    record = model._stream.records[0]
    assert np.isfinite(record["shrink_sums"]).all()
    assert np.isfinite(record["shrink_ahead"]).all()
    assert record["shrink_weight"].sum() == pytest.approx(1.0)
    assert abs(record["shrink_sums"][1]) <= 1e40


def test_the_bank_says_what_its_members_say_also_when_a_season_has_just_been_found():
    """Replaying the past for the seasonal members once left a copy of the newest value in its place."""
    rng = np.random.default_rng(8)
    model, found = Prophecy(), 0
    for value in 3 * np.sin(2 * np.pi * np.arange(260) / 12) + rng.standard_normal(260):
        on = int(model._stream.records[0]["season_on"])
        model.observe(float(value))
        record = model._stream.records[0]
        found += int(record["season_on"]) > on
        full = model.shares() @ model.member_predictions() - record["last"]
        assert record["shrink_ahead"][0] == pytest.approx(full, abs=1e-9)
    assert found
