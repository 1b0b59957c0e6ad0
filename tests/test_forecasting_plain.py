"""Plain series that broke forecasts of strangers, each against the rival that knows what it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.signal import lfilter

from prophecy.forecasting import forecast
from prophecy.forecasting.growth import saturation
from prophecy.forecasting.of_time import waves
from prophecy.forecasting.outliers import outliers
from prophecy.forecasting.settings import DEFAULT

R = np.random.default_rng
SEEN = np.ones(200, dtype=bool)


def logistic(t, size=100.0, rate=0.1, middle=60.0):
    return size / (1 + np.exp(-rate * (t - middle)))


@pytest.mark.parametrize("sign", [1, -1])
def test_growth_that_saturates_is_solved_from_the_values_before_each_origin(sign):
    t = np.arange(140.0)
    y = 7 + sign * logistic(t) + 0.2 * R(0).standard_normal(140)
    ahead, doubt = saturation(y[:80], SEEN[:80], 40).predictive(y[:100], SEEN[:100], np.array([80, 100]), 40)
    for origin, path, off in zip((80, 100), ahead, doubt, strict=True):
        assert (np.abs(path - y[origin : origin + 40]) < 4 * off).all()
        assert (off < 1).all()
    changed = np.where(t[:100] < 80, y[:100], 55.0)
    again, _ = saturation(y[:80], SEEN[:80], 40).predictive(changed, SEEN[:100], np.array([80, 100]), 40)
    np.testing.assert_allclose(again[0], ahead[0], rtol=1e-9)


def test_growth_is_solved_from_means_of_a_long_context():
    t = np.arange(3000.0)
    y = logistic(t, rate=0.004, middle=1500) + R(0).standard_normal(3000)
    seen = R(1).random(3000) > 0.2
    ahead, doubt = saturation(y, seen, 600).predictive(np.where(seen, y, 1e9), seen, np.array([2400]), 600)
    assert np.abs(ahead[0] - logistic(t[2400:], rate=0.004, middle=1500)).max() < 1
    np.testing.assert_allclose(doubt, 1.0, rtol=0.2)


@pytest.mark.parametrize("reached", [48, 60, 80])
def test_early_growth_is_not_taken_for_endless(reached):
    held, off = [], []
    now = round(60 + 10 * np.log(reached / (100 - reached)))
    truth = logistic(np.arange(now + 30.0))
    for seed in range(6):
        y = truth + 0.5 * R(seed).standard_normal(now + 30)
        ahead = forecast(y[:now], 30, 0.8)
        held.append((ahead.lower <= y[now:]) & (y[now:] <= ahead.upper))
        off.append(np.abs(ahead.point[-1] - truth[-1]))
        assert (ahead.upper < 200).all()
    assert np.mean(held) > 0.7
    assert np.median(off) < 15


@pytest.mark.parametrize("noise", [0.1, 0.3, 1.0])
def test_a_sinusoid_in_noise_is_forecast_as_well_as_by_a_fitted_one(noise):
    t, ours, theirs = np.arange(300.0), 0.0, 0.0
    clean = np.sin(t / 5)
    for seed in range(8):
        y = clean[:240] + noise * R(seed).standard_normal(240)

        def left(p, y=y):
            return p[0] + p[1] * np.cos(p[3] * t[:240]) + p[2] * np.sin(p[3] * t[:240]) - y

        p = least_squares(left, (0, 0, 1, 0.2), x_scale=(1, 1, 1, 1e-3)).x
        rival = p[0] + p[1] * np.cos(p[3] * t[240:]) + p[2] * np.sin(p[3] * t[240:])
        ahead = forecast(y, 60, 0.8)
        ours, theirs = ours + np.abs(ahead.point - clean[240:]).mean(), theirs + np.abs(rival - clean[240:]).mean()
        assert np.mean(ahead.upper - ahead.lower) < 1.5 * 2.56 * noise
    assert ours < (1.3 if noise < 1 else 1.6) * theirs


def test_sinusoids_have_a_slope_where_it_pays_for_itself():
    t = np.arange(240.0)
    flat = np.sin(t / 5) + 0.3 * R(0).standard_normal(240)
    for y, slope in ((flat[:200], 0.0), (flat[:200] + 0.05 * t[:200], 0.05)):
        path = waves(4, 2.0)(y, SEEN, 4000).predictive(y, SEEN, np.array([200]), 4000)[0][0]
        assert np.polyfit(np.arange(4000), path, 1)[0] == pytest.approx(slope, abs=1e-3 if slope else 1e-5)


def test_a_day_of_ten_second_samples_is_found_without_a_date():
    t = np.arange(8640 * 6 + 2000)
    turn = 2 * np.pi * t / 8640
    for shape in (5 * np.sin(turn) + 1.2 * np.sin(2 * turn + 1), 4.0 * (t % 8640 < 2000)):
        y = 20 + shape + 0.3 * R(1).standard_normal(len(t))
        ahead = forecast(y[:-2000], 2000, 0.8)
        assert np.abs(ahead.point - 20 - shape[-2000:]).mean() < 0.3  # the last day again is off by 0.34
        assert "Season of 8640 values." in ahead.explain()
        assert (ahead.lower > y.min() - 3).all()
        assert (ahead.upper < y.max() + 3).all()


def test_long_walks_and_noise_have_no_long_season():
    for seed in range(3):
        for y in (R(seed).standard_normal(20_000).cumsum(), R(seed).standard_normal(20_000)):
            assert "No season is used." in forecast(y, 3).explain()


def test_a_damped_trend_is_forecast_as_well_as_by_damped_holt():
    def smoothed(y, a, b, phi):
        level, slope, squares = y[0], y[1] - y[0], 0.0
        for value in y[1:]:
            off = value - level - phi * slope
            level, slope, squares = level + phi * slope + a * off, phi * slope + a * b * off, squares + off**2
        return squares, level + slope * np.cumsum(phi ** np.arange(1, 21))

    grid = [(a, b, phi) for a in np.linspace(0.1, 0.9, 9) for b in (0, 0.1, 0.2, 0.3) for phi in (0.8, 0.85, 0.9, 0.95)]
    ours = theirs = 0.0
    for seed in range(8):
        generator, level, slope, y = R(seed), 50.0, 2.0, []
        for e in generator.standard_normal(90):
            y.append(level + 0.9 * slope + e)
            level, slope = level + 0.9 * slope + 0.5 * e, 0.9 * slope + 0.1 * e
        past, came = np.array(y[:70]), np.array(y[70:])
        rival = min((smoothed(past, *gains) for gains in grid), key=lambda pair: pair[0])[1]
        ours, theirs = ours + np.abs(forecast(past, 20).point - came).mean(), theirs + np.abs(rival - came).mean()
    assert ours < 1.1 * theirs


def test_a_step_response_and_a_growing_season_are_continued():
    t, step = np.arange(160), lfilter([0.1], [1, -0.9], (np.arange(160) >= 60) * 1.0)
    season = (100 + t) * (1 + 0.2 * np.sin(2 * np.pi * t / 12))
    for seed in range(4):
        noise = R(seed).standard_normal(160)
        seen = (step + 0.03 * noise)[:90]
        slope, level = np.polyfit(seen[:-1], seen[1:], 1)
        rival = lfilter([level], [1, -slope], np.ones(40), zi=[slope * seen[-1]])[0]
        assert np.abs(forecast(seen, 40).point - step[90:130]).mean() < np.abs(rival - step[90:130]).mean()
        grown = season * np.exp(0.03 * noise)
        ahead = forecast(grown[:120], 24, season=12)
        naive = np.abs(np.tile(grown[108:120], 2) - season[120:144]).mean()
        assert np.abs(ahead.point - season[120:144]).mean() < 0.6 * naive


def test_short_yearly_series_are_forecast_as_well_as_by_theta():
    def theta(y, steps):
        t = np.arange(len(y))
        slope = np.polyfit(t, y, 1)[0] / 2
        flat, best = y - slope * t, (np.inf, 0.0)
        for gain in np.linspace(0.1, 1, 10):
            level, squares = flat[0], 0.0
            for value in flat[1:]:
                squares, level = squares + (value - level) ** 2, level + gain * (value - level)
            best = min(best, (squares, level))
        return best[1] + slope * (len(y) + np.arange(steps))

    ratios = []
    for seed in range(60):
        generator = R(seed)
        n = int(generator.integers(8, 40))
        y = 100 * np.exp(np.cumsum(generator.normal(0.03, 0.03) + 0.08 * generator.standard_normal(n + 4)))
        ours, theirs = (np.abs(path - y[n:]).mean() for path in (forecast(y[:n], 4).point, theta(y[:n], 4)))
        ratios.append(np.log(ours / theirs))
    assert np.exp(np.mean(ratios)) < 1.05


@pytest.mark.parametrize("n", [3, 4, 5, 8, 12])
def test_intervals_of_a_few_values_hold_and_are_not_endless(n):
    held, wide = [], []
    for seed in range(12):
        e = R(100 * n + seed).standard_normal(n + 4)
        for y in (10 + e, 10 + np.arange(n + 4) + e, np.cumsum(e)):
            ahead = forecast(y[:n], 4, 0.8)
            held.append(np.mean((ahead.lower <= y[n:]) & (y[n:] <= ahead.upper)))
            wide.append(np.mean(ahead.upper - ahead.lower))
    assert 0.7 < np.mean(held) <= 1.0
    assert np.median(wide) < 20


@pytest.mark.parametrize("pair", [(-352.0, -161.0), (-161.0, -352.0), (300.0, 140.0), (200.0, -90.0)])
def test_wild_values_beside_each_other_are_set_aside_and_a_peak_is_not(pair):
    t = np.arange(400)
    y = 50 + 10 * np.sin(2 * np.pi * t / 7) + R(0).standard_normal(400)
    y[73:75] += pair
    y[[20, 300]] += (200, -150)
    assert np.nonzero(outliers(y[:, None], DEFAULT)[:, 0])[0].tolist() == [20, 73, 74, 300]
    peak = 50 + R(0).standard_normal(400)
    peak[200:207] += (40, 120, 300, 130, 60, 25, 10)
    assert not outliers(peak[:, None], DEFAULT).any()
