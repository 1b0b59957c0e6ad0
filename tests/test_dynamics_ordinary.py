"""Ordinary series: trends, growth, seasons, walks, noise and counts, each against the truth or a stated rival."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from prophecy._forecast import PROBABILITIES
from prophecy.dynamics import forecast, forecast_many
from prophecy.dynamics.columns import Column, Kind, candidates
from prophecy.dynamics.direct import fit_readout, hippo, lags
from prophecy.dynamics.kernels import smooth, window_products
from prophecy.dynamics.mixing import Rolled, mixed
from prophecy.dynamics.outliers import outliers
from prophecy.dynamics.plain import Drift, MeanProfile, RareEvents
from prophecy.dynamics.seasons import chosen, profile
from prophecy.dynamics.settings import DEFAULT
from prophecy.dynamics.smoothers import bank


def inside(answer, truth) -> float:
    return float(np.mean((answer.lower <= truth) & (truth <= answer.upper)))


def test_a_ramp_goes_on_as_far_as_it_is_asked_for():
    ramp = np.arange(300.0) + 0.01 * np.random.default_rng(0).standard_normal(300)
    answer = forecast(ramp[:100], 200)
    np.testing.assert_allclose(answer.mean, np.arange(100.0, 300.0), atol=0.5)
    assert answer.mean[119] == pytest.approx(219, abs=0.1)
    assert inside(answer, np.arange(100.0, 300.0)) > 0.9
    assert (answer.upper > answer.lower).all()


def test_exponential_growth_goes_on_and_its_interval_keeps_a_width():
    growth = np.exp(np.arange(80) / 5)
    answer = forecast(growth[:60], 20)
    np.testing.assert_allclose(answer.mean, growth[60:], rtol=1e-6)
    assert (answer.upper > answer.lower).all()
    noisy = np.exp(0.05 * np.arange(100)) * (1 + 0.02 * np.random.default_rng(1).standard_normal(100))
    answer = forecast(noisy[:80], 20)
    np.testing.assert_allclose(answer.mean, np.exp(0.05 * np.arange(80, 100)), rtol=0.12)
    assert inside(answer, noisy[80:]) >= 0.7


def test_logistic_growth_that_has_flattened_stays_flat():
    times = np.arange(160)
    curve = 100 / (1 + np.exp(-(times - 50) / 8))
    answer = forecast(curve[:120] + 0.5 * np.random.default_rng(2).standard_normal(120), 40)
    assert np.abs(answer.mean - curve[120:]).max() < 5
    assert inside(answer, curve[120:]) > 0.9


def test_a_trend_with_a_season_beats_repeating_the_last_season():
    times = np.arange(144)
    generator = np.random.default_rng(3)
    series = 50 + 0.5 * times + 10 * np.sin(2 * np.pi * times / 12) + generator.standard_normal(144)
    answer = forecast(series[:120], 24, season=12)
    naive = np.abs(np.tile(series[108:120], 2) - series[120:]).mean()
    assert np.abs(answer.mean - series[120:]).mean() < 0.3 * naive
    assert inside(answer, series[120:]) > 0.8


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
        held.append(inside(forecast(walk[:8], 4), walk[8:]))
    assert np.mean(held) > 0.8


def test_sunspots_are_foreseen_better_than_by_the_last_cycle():
    sunspots = pytest.importorskip("statsmodels.datasets").sunspots
    spots = sunspots.load_pandas().data["SUNACTIVITY"].to_numpy()
    ours, rival, held = [], [], []
    for origin in range(200, 299, 11):
        truth = spots[origin : origin + 11]
        answer = forecast(spots[:origin], len(truth))
        ours.append(np.abs(answer.mean - truth).mean())
        rival.append(np.abs(spots[origin - 11 : origin - 11 + len(truth)] - truth).mean())
        held.append(inside(answer, truth))
        assert (answer.lower >= 0).all()
    assert np.mean(ours) < np.mean(rival)
    assert np.mean(held) > 0.7


@pytest.mark.parametrize("log", [False, True])
def test_airline_passengers_two_years_ahead(log):
    passengers = pytest.importorskip("sktime.datasets").load_airline().to_numpy(dtype=float)
    series = np.log(passengers) if log else passengers
    answer = forecast(series[:-24], 24, season=12)
    naive = np.abs(np.tile(series[-36:-24], 2) - series[-24:]).mean()
    assert np.abs(answer.mean - series[-24:]).mean() < (0.6 if log else 0.8) * naive
    assert inside(answer, series[-24:]) >= 0.8


def test_rare_counts_are_forecast_by_their_rate_with_zeros_inside():
    held, rates = [], []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        counts = generator.poisson(3, 140) * (generator.random(140) < 0.25).astype(float)
        answer = forecast(counts[:120], 20)
        held.append(inside(answer, counts[120:]))
        rates.append(float(np.mean(answer.mean)))
        assert (answer.lower == 0).all()
        assert (answer.upper > 0).all()
    assert np.mean(rates) == pytest.approx(0.75, abs=0.25)
    assert np.mean(held) > 0.85
    assert "expected rate" in answer.explain()


def test_a_series_that_was_never_negative_stays_so_and_says_it():
    counts = np.random.default_rng(5).poisson(2, 60).astype(float)
    answer = forecast(counts, 30)
    assert (answer.quantile(0.001) >= 0).all()
    assert "never negative" in answer.explain()


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
    np.testing.assert_array_equal(plain.mean, bounded.mean)
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
    np.testing.assert_array_equal(wide.mean, narrow.mean)


def test_the_season_is_found_where_none_is_given():
    times = np.arange(240)
    for season in (7, 12, 24, 17):
        wave = np.where(times % season == 0, 5.0, 0.0) + 0.3 * np.random.default_rng(season).standard_normal(240)
        assert season in chosen(None, wave, DEFAULT)
    assert chosen(1, times.astype(float), DEFAULT) == ()


def test_weeks_are_found_beside_days():
    hours = np.arange(24 * 7 * 6)
    weekend = np.where(hours // 24 % 7 >= 5, -4.0, 0.0)
    series = 3 * np.sin(2 * np.pi * hours / 24) + weekend + 0.3 * np.random.default_rng(0).standard_normal(len(hours))
    assert chosen(24, series, DEFAULT) == (24, 168)
    assert chosen(None, series, DEFAULT) == (24, 168)


@pytest.mark.parametrize("season", [0, -4, np.nan, "week"])
def test_a_season_that_cannot_be_is_refused(season):
    with pytest.raises((ValueError, TypeError), match="season"):
        forecast(np.arange(40.0), 3, season=season)


def test_a_profile_of_noise_is_shrunk_and_one_of_a_season_is_not():
    generator = np.random.default_rng(0)
    strong = profile(np.tile([5.0, -5.0, 0.0, 0.0], 20) + 0.1 * generator.standard_normal(80), 4, False, DEFAULT)
    np.testing.assert_allclose(strong.deviations, [5, -5, 0, 0], atol=0.1)
    sizes = []
    for seed in range(20):
        weak = profile(np.random.default_rng(seed).standard_normal(80), 4, False, DEFAULT)
        sizes.append(0.0 if weak is None else np.abs(weak.deviations).max())
    assert np.mean(sizes) < 0.15  # phase means of 20 values have standard deviation 0.22


def plain_smoother(y, alpha, beta, phi, level, slope):
    """One system step by step; its sum of squares and last state."""
    total = 0.0
    for value in y:
        ahead = level + phi * slope
        error = value - ahead
        total += error**2
        level, slope = ahead + alpha * error, phi * slope + beta * error
    return total, level, slope


@pytest.mark.parametrize(("alpha", "beta", "phi"), [(0.3, 0.1, 0.9), (1.0, 0.0, 1.0), (0.0, 0.0, 1.0), (0.5, 0.2, 1.0)])
def test_the_bank_starts_each_smoother_where_its_squares_are_least(alpha, beta, phi):
    from scipy.optimize import minimize

    y = np.random.default_rng(0).standard_normal(30).cumsum()
    best = minimize(lambda s: plain_smoother(y, alpha, beta, phi, *s)[0], [0.0, 0.0], tol=1e-12)
    _, level, slope = plain_smoother(y, alpha, beta, phi, *best.x)
    one = (np.array([v]) for v in (alpha, beta, phi, 0.0, 5.0))
    mean, within, between, weight = smooth(y, *one, 1, np.array([30]), 3, np.ones(1))
    ahead = level + slope * np.cumsum(phi ** np.arange(1, 4))
    np.testing.assert_allclose(mean[0], ahead, atol=1e-4)
    assert within[0, 0] == pytest.approx(best.fun / 26, rel=1e-5)
    assert weight.tolist() == [1.0]
    assert between[0].max() < 1e-9


def test_the_variance_of_a_smoother_grows_as_simulated_paths_spread():
    alpha, beta, phi, steps = 0.4, 0.1, 0.9, 8
    noise = np.random.default_rng(0).standard_normal((20_000, steps))
    level, slope, ends = np.zeros(20_000), np.zeros(20_000), []
    for k in range(steps):
        ahead = level + phi * slope
        ends.append(np.var(ahead + noise[:, k]))
        level, slope = ahead + alpha * noise[:, k], phi * slope + beta * noise[:, k]
    y = np.random.default_rng(1).standard_normal(50)
    one = (np.array([v]) for v in (alpha, beta, phi, 0.0, 5.0))
    within = smooth(y, *one, 1, np.array([50]), steps, np.ones(1))[1][0]
    np.testing.assert_allclose(within / within[0], ends, rtol=0.05)


def test_no_smoother_of_the_grid_is_unstable():
    for seasonal in (False, True):
        grid = bank(seasonal, True)
        for alpha, beta, phi in zip(grid.alpha, grid.beta, grid.phi, strict=True):
            matrix = np.array([[1 - alpha, phi * (1 - alpha)], [-beta, phi * (1 - beta)]])
            assert np.abs(np.linalg.eigvals(matrix)).max() <= 1 + 1e-9


@pytest.mark.parametrize(("length", "rows", "width"), [(40, 5, 9), (200, 30, 77), (31, 30, 31)])
def test_products_of_windows_are_those_of_the_windows(length, rows, width):
    x = np.random.default_rng(0).standard_normal(length)
    windows = np.lib.stride_tricks.sliding_window_view(x, width)
    np.testing.assert_allclose(window_products(x, rows, width), windows[:, :rows].T @ windows, atol=1e-10)


@pytest.mark.parametrize("memory", [lags(6), hippo(4, 12, 5)], ids=["lags", "hippo"])
def test_a_readout_is_the_ridge_regression_with_the_least_cross_validation_error(memory):
    y = np.sin(np.arange(200) / 3) + 0.2 * np.random.default_rng(0).standard_normal(200)
    horizon, window = 4, len(memory)
    fitted = fit_readout(y, horizon, memory, (), False, DEFAULT)
    windows = np.lib.stride_tricks.sliding_window_view(y, window + horizon)
    last = windows[:, window - 1 : window]
    x, target = (windows[:, :window] - last) @ memory, windows[:, window:] - last
    mean = np.linalg.eigvalsh(x.T @ x).mean()
    best = None
    for ridge in 10.0 ** np.arange(-5, 1.1, 0.5):
        inverse = np.linalg.inv(x.T @ x + ridge * mean * np.eye(x.shape[1]))
        solution = inverse @ x.T @ target
        left, free = np.sum((target - x @ solution) ** 2), np.trace(x @ inverse @ x.T)
        error = left / (1 - min(free / len(x), 0.99)) ** 2
        best = (error, solution) if best is None or error < best[0] else best
    np.testing.assert_allclose(fitted.coefficients, best[1], atol=1e-6)


def rolled(kind, errors, value):
    return Rolled(kind, kind.value, errors, np.full(3, float(value)))


def column(y):
    return Column(y, np.ones(len(y), dtype=bool), (), 3)


def test_one_lucky_candidate_does_not_take_all_after_few_forecasts():
    good, fair = np.full((2, 3), 0.1), np.full((2, 3), 0.2)
    few = mixed(column(np.arange(9.0)), [rolled(Kind.DRIFT, good, 1), rolled(Kind.SMOOTHERS, fair, 0)], DEFAULT)
    many = mixed(
        column(np.arange(90.0)),
        [rolled(Kind.DRIFT, np.repeat(good, 60, 0), 1), rolled(Kind.SMOOTHERS, np.repeat(fair, 60, 0), 0)],
        DEFAULT,
    )
    assert few.weights[1] > 0.9
    assert many.weights[0] > 0.7
    np.testing.assert_allclose(many.path, many.weights[0])


def test_what_cannot_be_rolled_is_mixed_by_its_prior():
    nothing = np.full((2, 3), np.nan)
    parts = [rolled(Kind.SMOOTHERS, nothing, 1), rolled(Kind.COPY, nothing, 0)]
    priors = np.array([DEFAULT.prior("SMOOTHERS"), DEFAULT.prior("COPY")])
    np.testing.assert_allclose(mixed(column(np.arange(9.0)), parts, DEFAULT).weights, priors / priors.sum())


def test_candidates_are_left_out_by_kind():
    some = column(np.exp(np.random.default_rng(0).standard_normal(200)))
    kinds = {candidate.kind for candidate in candidates(some, DEFAULT)}
    fewer = {c.kind for c in candidates(some, replace(DEFAULT, without=frozenset({"READOUT", "THETA"})))}
    assert {Kind.SMOOTHERS, Kind.LOG_SMOOTHERS, Kind.READOUT, Kind.THETA} <= kinds
    assert fewer == kinds - {Kind.READOUT, Kind.THETA}


def test_plain_forecasts_know_only_the_past_of_their_origin():
    y = np.arange(20.0)
    changed = y.copy()
    changed[12:] = 99.0
    for model in (Drift(0.0), Drift(1.0), MeanProfile(4, 2), RareEvents()):
        origins = np.array([8, 12])
        np.testing.assert_array_equal(model.rollout(y, origins, 5), model.rollout(changed, origins, 5))
    assert Drift(1.0).rollout(y, np.array([10]), 3)[0].tolist() == [10, 11, 12]
    assert MeanProfile(4, 2).rollout(y, np.array([8]), 5)[0].tolist() == [2, 3, 4, 5, 2]


def test_variables_are_mixed_each_on_its_own_and_solved_together_where_that_is_better():
    generator = np.random.default_rng(0)
    apart = np.stack([generator.standard_normal(80).cumsum(), 50 + generator.standard_normal(80)], axis=1)
    together = forecast(apart, 5)
    for v in range(2):
        alone = forecast(apart[:, v], 5)
        np.testing.assert_allclose(together.mean[:, v], alone.mean, atol=2.0 if v == 0 else 1.0)
    turning = np.stack([np.cos(np.arange(100) / 5), np.sin(np.arange(100) / 5)], axis=1)
    np.testing.assert_allclose(forecast(turning[:80], 20).mean, turning[80:], atol=1e-4)


def test_two_forecasts_at_once_are_those_made_alone():
    series = [np.random.default_rng(seed).standard_normal(100).cumsum() for seed in range(4)]
    alone = [forecast(one, 8).mean for one in series]
    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(alone, pool.map(lambda s: forecast(s, 8).mean, series), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_batch_passes_season_and_bounds_on():
    counts = np.random.default_rng(0).poisson(5, (2, 48)).astype(float)
    for answer, one in zip(forecast_many(counts, 6, season=12, bounds=(0, 7), jobs=1), counts, strict=True):
        np.testing.assert_array_equal(answer.upper, forecast(one, 6, season=12, bounds=(0, 7)).upper)
        assert (answer.upper <= 7).all()


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


@pytest.mark.parametrize(("length", "place", "value"), [(60, 55, 500.0), (96, 79, 200.0), (300, 140, -80.0)])
def test_one_outlier_does_not_move_the_forecast(length, place, value):
    off, width = [], []
    for seed in range(8):
        clean = np.random.default_rng(seed).normal(10, 0.5, length + 12)
        spoilt = clean.copy()
        spoilt[place] = value
        pair = [forecast(series[:length], 12) for series in (clean, spoilt)]
        off.append([np.abs(answer.mean - clean[length:]).mean() for answer in pair])
        width.append([np.mean(answer.upper - answer.lower) for answer in pair])
        assert f"set aside: {value:.6g} at position {place}" in pair[1].explain()
    assert np.mean(off, axis=0)[1] < 1.5 * np.mean(off, axis=0)[0]
    assert np.mean(width, axis=0)[1] < 2 * np.mean(width, axis=0)[0]


def test_spikes_that_come_again_are_kept_and_so_is_a_new_level():
    generator = np.random.default_rng(0)
    regular = generator.normal(10, 0.5, (120, 1))
    regular[11::12] += 100
    twice = generator.normal(10, 0.5, (60, 1))
    twice[[20, 44]] += 100
    level = generator.normal(10, 0.5, (60, 1))
    level[-2:] += 100
    orders = np.where(generator.random((80, 1)) < 0.8, 0.0, 1.0)
    orders[40] = 30.0
    for series in (regular, twice, level, orders, 2.0 ** np.arange(60)[:, None], generator.normal(0, 1, (4000, 1))):
        assert not outliers(series, DEFAULT).any()
    once = generator.normal(10, 0.5, (60, 2))
    once[30:32, 1] = 90
    assert np.argwhere(outliers(once, DEFAULT)).tolist() == [[30, 1], [31, 1]]


def test_a_trend_is_said_only_where_the_path_goes_farther_than_it_may_be_off():
    generator, times = np.random.default_rng(5), np.arange(200)
    noise = generator.standard_normal(200)
    for flat in (10 + noise, 30 + 5 * np.sin(2 * np.pi * times / 24) + 0.3 * noise, noise.cumsum()):
        assert "No trend: stays near" in forecast(flat, 12).explain()
    assert "Trend: rises from 4" in forecast(3 + 2 * times + 3 * noise, 12).explain()
    assert "Trend: falls" in forecast(50 - 0.5 * times + 10 * np.sin(2 * np.pi * times / 12) + noise, 12).explain()
    assert "No season was found, though 24 samples were looked at." in forecast(noise.cumsum(), 12, season=24).explain()


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e-90, 1e90])
def test_the_unit_of_a_series_does_not_matter(size):
    series = 3 + np.random.default_rng(2).standard_normal(60)
    one, other = forecast(series, 5), forecast(size * series, 5, bounds=(None, 100 * size))
    for a, b in ((one.mean, other.mean), (one.lower, other.lower), (one.upper, other.upper)):
        np.testing.assert_allclose(b / size, a, rtol=1e-6)


def test_bounds_that_the_context_does_not_keep_are_said():
    series = np.random.default_rng(3).normal(90, 2, 60)
    said = forecast(series, 5, bounds=(0, 60)).explain()
    assert "60 values of 60 in the context lie outside the bounds (0, 60)." in said
    assert "The bounds hold the mean at 5 of 5 steps." in said
    assert "bounds" not in forecast(series, 5, bounds=(0, 200)).explain()


def test_a_forecast_is_shown_in_one_line():
    shown = repr(forecast(np.random.default_rng(4).standard_normal(60), 5))
    assert "\n" not in shown
    assert len(shown) < 200
    assert shown.startswith("<Forecast by ")
