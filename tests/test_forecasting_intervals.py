"""Intervals of ordinary series: how many values they hold, bounds, and the distribution they are cut from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from prophecy._forecast import PROBABILITIES
from prophecy.forecasting import forecast

WALKS = {
    "random walk": lambda g, n: g.standard_normal(n).cumsum(),
    "white noise": lambda g, n: g.standard_normal(n),
    "trend": lambda g, n: 0.3 * np.arange(n) + g.standard_normal(n),
    "season": lambda g, n: 5 * np.sin(2 * np.pi * np.arange(n) / 12) + g.standard_normal(n),
}


@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize("length", [60, 300])
def test_intervals_hold_as_many_values_as_they_say_at_every_step(name, length):
    """Sixty draws: the share inside an 80 % interval has a standard error of 5 points at one step, less over all.

    Short contexts may be cautious, never overconfident.
    """
    found = np.zeros((3, 12))
    draws = 60
    for seed in range(draws):
        series = WALKS[name](np.random.default_rng(1000 + seed), length + 12)
        answer = forecast(series[:length], 12, season=12 if name == "season" else None)
        q = answer.quantile([0.025, 0.1, 0.25, 0.75, 0.9, 0.975])
        truth = series[length:]
        found += [(q[k] <= truth) & (truth <= q[5 - k]) for k in (2, 1, 0)]
    share = found / draws
    assert 0.38 < share[0].mean() < 0.68
    assert 0.70 < share[1].mean() < 0.95
    assert share[2].mean() > 0.90
    assert (share[1] > 0.55).all()
    assert (share[2] > 0.80).all()


def test_eight_samples_have_intervals_that_mostly_hold():
    held = []
    for seed in range(80):
        walk = np.random.default_rng(seed).standard_normal(12).cumsum()
        answer = forecast(walk[:8], 4)
        held.append(np.mean((answer.lower <= walk[8:]) & (walk[8:] <= answer.upper)))
    assert np.mean(held) > 0.8


@given(st.floats(-50, 150), st.floats(1, 100), st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_bounds_hold_everything_and_leave_a_width(low, width, seed):
    series = 100 + np.random.default_rng(seed).standard_normal(40).cumsum() * 5
    answer = forecast(series, 12, bounds=(low, low + width))
    every = answer.quantile(PROBABILITIES)
    assert (every >= low).all()
    assert (every <= low + width).all()
    assert (np.diff(every, axis=0) >= 0).all()
    assert (answer.upper > answer.lower).all()


def test_one_sided_bounds_move_nothing_that_is_inside():
    series = 100 + np.random.default_rng(0).standard_normal(60)
    plain, bounded = forecast(series, 10), forecast(series, 10, bounds=(None, 1e6))
    np.testing.assert_array_equal(plain.point, bounded.point)
    np.testing.assert_array_equal(plain.upper, bounded.upper)


@pytest.mark.parametrize("bounds", [(1, 0), (3, 3), "ab", (1, 2, 3), ("x", None), (np.nan, 1)])
def test_bounds_that_cannot_be_are_refused_with_their_value(bounds):
    with pytest.raises(ValueError, match="bounds must be"):
        forecast(np.arange(20.0), 3, bounds=bounds)


def test_paths_of_a_forecast_have_its_marginals():
    series = np.random.default_rng(1).standard_normal(120).cumsum()
    answer = forecast(series, 10)
    paths = answer.samples(20_000, seed=1)
    for q in (0.1, 0.5, 0.95):
        np.testing.assert_allclose(np.mean(paths <= answer.quantile(q), axis=0), q, atol=0.015)
    # A walk's values hang together from step to step.
    assert np.corrcoef(paths[:, 4], paths[:, 5])[0, 1] > 0.5


def test_several_levels_come_from_one_solve():
    series = np.random.default_rng(1).standard_normal(80)
    wide, narrow = forecast(series, 6, level=0.95), forecast(series, 6, level=0.5)
    np.testing.assert_array_equal(narrow.upper, wide.quantile(0.75))
    np.testing.assert_array_equal(wide.point, narrow.point)


def _autoregressive(g, n):
    return 20 + lfilter([1.0], [1.0, -0.8], g.standard_normal(n + 50))[50:]


TIMES = np.arange(1200)
KINDS = {
    "white noise": lambda g, n: g.normal(10, 2, n),
    "random walk": lambda g, n: 100 + g.standard_normal(n).cumsum(),
    "trend and season": lambda g, n: 50 + 0.5 * TIMES[:n] + 10 * np.sin(np.pi * TIMES[:n] / 6) + g.normal(0, 2, n),
    "ramp": lambda g, n: 3 + 2 * TIMES[:n] + g.normal(0, 3, n),
    "counts with a season": lambda g, n: g.poisson(20 + 15 * np.sin(np.pi * TIMES[:n] / 6)).astype(float),
    "autoregressive": _autoregressive,
}


def _coverage(name, length, draws, season=None):
    """Which of 12 values (draws, 12) 0.9 intervals hold, and how wide they are."""
    held, width = [], []
    for seed in range(draws):
        series = KINDS[name](np.random.default_rng(seed), length + 12)
        answer = forecast(series[:length], 12, season=season)
        held.append((answer.lower <= series[length:]) & (series[length:] <= answer.upper))
        width.append(answer.upper - answer.lower)
    return np.array(held), np.array(width)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("length", [96, 300])
def test_nine_in_ten_values_are_held_at_the_first_step_and_over_all(name, length):
    """Without a season given. Three hundred draws: standard error 1.7 points at one step, about 1 over all."""
    held, _ = _coverage(name, length, 300)
    assert 0.86 < held.mean() < 0.965
    assert 0.81 < held[:, 0].mean() < 0.98
    assert (held.mean(axis=0) > 0.78).all()


@pytest.mark.parametrize("season", [12, 24])
def test_a_season_given_to_a_random_walk_does_not_widen_its_intervals(season):
    """Steps have a standard deviation of 1: the first interval is 3.29 wide when all is known."""
    held, width = _coverage("random walk", 200, 60, season)
    assert 0.84 < held.mean() < 0.96
    assert np.median(width[:, 0]) < 1.4 * 3.29


def test_bounds_that_the_context_does_not_keep_are_said():
    series = np.random.default_rng(3).normal(90, 2, 60)
    said = forecast(series, 5, bounds=(0, 60)).explain()
    assert "60 values of 60 in the context lie outside the bounds (0, 60)." in said
    assert "The bounds hold the forecast at 5 of 5 steps." in said
    assert "bounds" not in forecast(series, 5, bounds=(0, 200)).explain()


@pytest.mark.parametrize("seed", range(4))
def test_the_mean_of_a_short_positive_series_is_inside_its_interval(seed):
    """Heavy tails of logarithms have no mean: a line from 0 to 10 was expected to be at 3 900 after three steps."""
    short = np.abs(2.0 * np.arange(6) + 0.1 * np.random.default_rng(seed).standard_normal(6))
    ahead = forecast(short, 4, level=0.8)
    assert (ahead.mean < ahead.upper).all()
    drawn = ahead.samples(20_000, seed=1)
    assert (np.abs(drawn.mean(axis=0) - ahead.mean) < 5 * drawn.std(axis=0) / np.sqrt(len(drawn))).all()


@pytest.mark.parametrize(("sign", "bounds"), [(-1, None), (1, (None, None)), (1, (-50, 50)), (1, (-1e9, None))])
def test_intervals_go_on_beyond_zero_where_zero_is_no_bound(sign, bounds):
    """Temperatures, balances and levels in dB pass zero."""
    held = []
    for seed in range(12):
        noise = np.random.default_rng(seed).normal(0, 1, 40)
        values = sign * (20 - 18 * np.arange(40) / 29 + noise)
        made = forecast(values[:30], 10, bounds=bounds)
        assert (made.lower < made.point).all()
        assert (made.point < made.upper).all()
        held.append((made.lower <= values[30:]) & (values[30:] <= made.upper))
    assert np.mean(held) > 0.85


def test_without_bounds_values_that_were_positive_stay_so():
    values = 20 - 18 * np.arange(30) / 29 + np.random.default_rng(0).normal(0, 1, 30)
    made = forecast(values, 10)
    assert made.quantile(0.01).min() >= 0
    assert forecast(values, 10, bounds=(0, None)).quantile(0.01).min() >= 0
    assert forecast(values, 10, bounds=(None, 100)).quantile(0.01).min() < 0
