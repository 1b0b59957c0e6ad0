"""Predictions several values ahead: from the past alone, however it is cut, never far behind copying."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prophecy.streams.ahead import Ahead
from prophecy.streams.settings import DEFAULT

RNG = np.random.default_rng(0)
STEPS = RNG.standard_normal(1000).cumsum()


def errors(values, horizon):
    """Absolute errors of ours and of copying, where both predict."""
    mean, _, _ = Ahead(horizon, 0.9).advance(np.ascontiguousarray(values, dtype=float))
    copy = np.concatenate([np.full(horizon, np.nan), values])[: len(values)]
    fair = np.isfinite(mean) & np.isfinite(copy) & np.isfinite(values)
    return np.abs(values - mean)[fair], np.abs(values - copy)[fair]


@pytest.mark.parametrize("horizon", [2, 3, 24, 100])
def test_predictions_h_values_ahead_use_values_h_before_alone(horizon):
    base = Ahead(horizon, 0.9).advance(STEPS)
    changed = STEPS.copy()
    changed[400:] += 100
    other = Ahead(horizon, 0.9).advance(changed)
    assert np.array_equal(base[0, : 400 + horizon], other[0, : 400 + horizon], equal_nan=True)
    assert np.isnan(base[0, :horizon]).all()
    assert np.isfinite(base[0, horizon:]).all()


@settings(max_examples=30)
@given(st.lists(st.integers(0, 1000), max_size=6), st.sampled_from([2, 7, 60]))
def test_where_a_series_is_cut_changes_nothing(cuts, horizon):
    values = np.where(np.arange(1000) % 97 == 5, np.nan, STEPS + 5 * np.sin(np.arange(1000) / 4))
    whole = Ahead(horizon, 0.9).advance(values)
    model = Ahead(horizon, 0.9)
    parts = [model.advance(np.ascontiguousarray(part)) for part in np.split(values, sorted(cuts))]
    assert np.array_equal(np.concatenate(parts, axis=1), whole, equal_nan=True)


HOSTILE = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1e9, -1e9, 5.0])


@settings(max_examples=120)
@given(arrays(np.float64, st.integers(20, 400), elements=HOSTILE), st.sampled_from([2, 5, 30]))
def test_the_summed_error_is_never_more_than_allowed_above_that_of_copying(values, horizon):
    ours, copying = errors(values, horizon)
    slack = 1e-9 * np.abs(values).sum()
    assert (np.cumsum(ours) <= (1 + DEFAULT.ahead.allowed) * np.cumsum(copying) + slack).all()


@pytest.mark.parametrize("horizon", [2, 24, 96])
def test_random_walks_and_jumps_cost_less_than_two_percent(horizon):
    rng = np.random.default_rng(1)
    walks = [
        rng.standard_normal(3000).cumsum(),
        np.cumsum(rng.standard_t(2.5, 3000)),
        np.repeat(rng.standard_normal(30), 100),
    ]
    for values in walks:
        ours, copying = errors(values, horizon)
        assert ours.mean() <= 1.02 * copying.mean()


@pytest.mark.parametrize(("horizon", "most"), [(2, 0.85), (24, 0.97), (48, 0.9), (96, 0.9)])
def test_days_within_weeks_are_found_and_beat_copying(horizon, most):
    """A day ahead, copying is the seasonal naive and hard to beat; other distances are not."""
    rng = np.random.default_rng(2)
    hours = np.arange(24 * 7 * 20)
    day = np.sin(2 * np.pi * hours / 24) * (1 + 0.5 * (hours // 24 % 7 < 5))
    level = np.zeros(len(hours))
    for k in range(1, len(hours)):
        level[k] = 0.97 * level[k - 1] + 0.15 * rng.standard_normal()
    ours, copying = errors(10 + 3 * day + level, horizon)
    assert ours[500:].mean() < most * copying[500:].mean()
    model = Ahead(horizon, 0.9)
    model.advance(10 + 3 * day + 0.1 * level)
    assert model.seasons[0] == 24


def test_what_follows_a_rule_is_soon_predicted_by_it():
    wave = np.sin(np.arange(3000) / 9)
    ours, copying = errors(wave, 10)
    assert ours[1000:].mean() < 1e-6 * copying[1000:].mean()
    ramp = 3.0 * np.arange(400) + 1e6
    mean, _, _ = Ahead(10, 0.9).advance(ramp)
    assert np.allclose(mean[200:], ramp[200:], rtol=1e-12)


@pytest.mark.parametrize("horizon", [2, 24])
def test_intervals_hold_what_they_say(horizon):
    rng = np.random.default_rng(3)
    for values in (rng.standard_normal(4000), rng.standard_normal(4000).cumsum()):
        mean, half, _ = Ahead(horizon, 0.9).advance(values)
        assert 0.87 < (np.abs(values - mean) <= half)[500:].mean() < 0.93


def test_gaps_constants_and_empty_pieces_are_survived():
    values = np.sin(np.arange(600) / 5)
    values[::7] = np.nan
    values[:20] = np.nan
    mean, half, score = Ahead(3, 0.9).advance(values)
    assert np.isfinite(mean[30:]).all()
    assert np.nanmean(np.abs(values - mean)[300:]) < 0.2
    still = Ahead(5, 0.9)
    flat, _, _ = still.advance(np.full(300, 7.0))
    assert (flat[5:] == 7.0).all()
    assert Ahead(2, 0.9).advance(np.empty(0)).shape == (3, 0)
    assert np.isnan(Ahead(2, 0.9).advance(np.full(50, np.nan))[0]).all()
    assert still.seasons == ()
    assert np.isfinite(half[100:]).all()
    assert np.isnan(score[np.isnan(values)]).all()
