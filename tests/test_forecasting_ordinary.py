"""Ordinary series: trends, growth, seasons, walks, noise and counts, each against the truth or a stated rival."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from prophecy import forecast_many
from prophecy.forecasting import forecast
from prophecy.forecasting.outliers import outliers
from prophecy.forecasting.seasons import chosen, profile
from prophecy.forecasting.settings import DEFAULT


def inside(answer, truth) -> float:
    return float(np.mean((answer.lower <= truth) & (truth <= answer.upper)))


def test_a_ramp_goes_on_as_far_as_it_is_asked_for():
    ramp = np.arange(300.0) + 0.01 * np.random.default_rng(0).standard_normal(300)
    answer = forecast(ramp[:100], 200)
    np.testing.assert_allclose(answer.point, np.arange(100.0, 300.0), atol=0.5)
    assert answer.point[119] == pytest.approx(219, abs=0.1)
    assert inside(answer, np.arange(100.0, 300.0)) > 0.9
    assert (answer.upper > answer.lower).all()


def test_exponential_growth_goes_on_and_its_interval_keeps_a_width():
    growth = np.exp(np.arange(80) / 5)
    answer = forecast(growth[:60], 20)
    np.testing.assert_allclose(answer.point, growth[60:], rtol=1e-6)
    assert (answer.upper > answer.lower).all()
    noisy = np.exp(0.05 * np.arange(100)) * (1 + 0.02 * np.random.default_rng(1).standard_normal(100))
    answer = forecast(noisy[:80], 20)
    np.testing.assert_allclose(answer.point, np.exp(0.05 * np.arange(80, 100)), rtol=0.12)
    assert inside(answer, noisy[80:]) >= 0.7


def test_logistic_growth_that_has_flattened_stays_flat():
    times = np.arange(160)
    curve = 100 / (1 + np.exp(-(times - 50) / 8))
    answer = forecast(curve[:120] + 0.5 * np.random.default_rng(2).standard_normal(120), 40)
    assert np.abs(answer.point - curve[120:]).max() < 5
    assert inside(answer, curve[120:]) > 0.9


def test_a_trend_with_a_season_beats_repeating_the_last_season():
    times = np.arange(144)
    generator = np.random.default_rng(3)
    series = 50 + 0.5 * times + 10 * np.sin(2 * np.pi * times / 12) + generator.standard_normal(144)
    answer = forecast(series[:120], 24, season=12)
    naive = np.abs(np.tile(series[108:120], 2) - series[120:]).mean()
    assert np.abs(answer.point - series[120:]).mean() < 0.3 * naive
    assert inside(answer, series[120:]) > 0.8


def test_sunspots_are_foreseen_better_than_by_the_last_cycle():
    sunspots = pytest.importorskip("statsmodels.datasets").sunspots
    spots = sunspots.load_pandas().data["SUNACTIVITY"].to_numpy()
    ours, rival, held = [], [], []
    for origin in range(200, 299, 11):
        truth = spots[origin : origin + 11]
        answer = forecast(spots[:origin], len(truth))
        ours.append(np.abs(answer.point - truth).mean())
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
    assert np.abs(answer.point - series[-24:]).mean() < (0.6 if log else 0.8) * naive
    assert inside(answer, series[-24:]) >= 0.8


def test_rare_counts_are_forecast_by_their_rate_with_zeros_inside():
    held, rates = [], []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        counts = generator.poisson(3, 140) * (generator.random(140) < 0.25).astype(float)
        answer = forecast(counts[:120], 20)
        held.append(inside(answer, counts[120:]))
        rates.append(float(np.mean(answer.mean)))
        assert ((answer.lower <= answer.point) & (answer.point <= answer.upper)).all()
        assert (answer.lower == 0).all()
        assert (answer.upper > 0).all()
    assert np.mean(rates) == pytest.approx(0.75, abs=0.25)
    assert np.mean(held) > 0.85
    assert "quantiles come from how often and how far the others differ" in answer.explain()


def test_a_series_that_was_never_negative_stays_so_and_says_it():
    counts = np.random.default_rng(5).poisson(2, 60).astype(float)
    answer = forecast(counts, 30)
    assert (answer.quantile(0.001) >= 0).all()
    assert "never negative" in answer.explain()


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


def test_variables_are_mixed_each_on_its_own_and_solved_together_where_that_is_better():
    generator = np.random.default_rng(0)
    apart = np.stack([generator.standard_normal(80).cumsum(), 50 + generator.standard_normal(80)], axis=1)
    together = forecast(apart, 5)
    for v in range(2):
        alone = forecast(apart[:, v], 5)
        np.testing.assert_allclose(together.point[:, v], alone.point, atol=2.0 if v == 0 else 1.0)
    turning = np.stack([np.cos(np.arange(100) / 5), np.sin(np.arange(100) / 5)], axis=1)
    np.testing.assert_allclose(forecast(turning[:80], 20).point, turning[80:], atol=1e-4)


def test_two_forecasts_at_once_are_those_made_alone():
    series = [np.random.default_rng(seed).standard_normal(100).cumsum() for seed in range(4)]
    alone = [forecast(one, 8).point for one in series]
    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(alone, pool.map(lambda s: forecast(s, 8).point, series), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_batch_passes_season_and_bounds_on():
    counts = np.random.default_rng(0).poisson(5, (2, 48)).astype(float)
    made = forecast_many(counts, 6, season=12, bounds=(0, 7), jobs=1)
    for answer, one in zip(made.values(), counts, strict=True):
        np.testing.assert_array_equal(answer.upper, forecast(one, 6, season=12, bounds=(0, 7)).upper)
        assert (answer.upper <= 7).all()


@pytest.mark.parametrize(("length", "place", "value"), [(60, 55, 500.0), (96, 79, 200.0), (300, 140, -80.0)])
def test_one_outlier_does_not_move_the_forecast(length, place, value):
    off, width = [], []
    for seed in range(8):
        clean = np.random.default_rng(seed).normal(10, 0.5, length + 12)
        spoilt = clean.copy()
        spoilt[place] = value
        pair = [forecast(series[:length], 12) for series in (clean, spoilt)]
        off.append([np.abs(answer.point - clean[length:]).mean() for answer in pair])
        width.append([np.mean(answer.upper - answer.lower) for answer in pair])
        assert f"set aside: {value:.6g} at position {place}" in pair[1].explain()
    assert np.mean(off, axis=0)[1] < 1.5 * np.mean(off, axis=0)[0]
    assert np.mean(width, axis=0)[1] < 2 * np.mean(width, axis=0)[0]


def test_spikes_that_come_again_and_again_are_kept_and_so_is_a_new_level():
    generator = np.random.default_rng(0)
    regular = generator.normal(10, 0.5, (120, 1))
    regular[11::12] += 100
    level = generator.normal(10, 0.5, (60, 1))
    level[-2:] += 100
    orders = np.where(generator.random((80, 1)) < 0.8, 0.0, 1.0)
    orders[40] = 30.0
    skewed = np.exp(generator.normal(0, 1, (400, 1)))
    for series in (regular, level, orders, skewed, 2.0 ** np.arange(60)[:, None], generator.normal(0, 1, (4000, 1))):
        assert not outliers(series, DEFAULT).any()
    once = generator.normal(10, 0.5, (60, 2))
    once[30:32, 1] = 90
    assert np.argwhere(outliers(once, DEFAULT)).tolist() == [[30, 1], [31, 1]]


@pytest.mark.parametrize("value", [-9999.0, 1e6, 60.0])
@pytest.mark.parametrize("places", [[399], [0], [17, 90, 91, 200, 333, 398], list(range(5, 400, 40))])
def test_wild_values_are_set_aside_wherever_they_are(value, places):
    times = np.arange(400)
    series = 10 + 3 * np.sin(2 * np.pi * times / 7) + 0.3 * np.random.default_rng(1).standard_normal(400)
    series[places] = value
    assert np.nonzero(outliers(series[:, None], DEFAULT)[:, 0])[0].tolist() == places


def test_a_jump_at_the_end_is_believed_where_earlier_ones_stayed():
    steps = np.repeat(np.random.default_rng(2).normal(0, 30, 12), 20) + np.random.default_rng(3).normal(0, 0.3, 240)
    assert not outliers(np.append(steps, steps[-1] + 40)[:, None], DEFAULT).any()


def test_a_trend_is_said_only_where_the_path_goes_farther_than_it_may_be_off():
    generator, times = np.random.default_rng(5), np.arange(200)
    noise = generator.standard_normal(200)
    for flat in (10 + noise, 30 + 5 * np.sin(2 * np.pi * times / 24) + 0.3 * noise, noise.cumsum()):
        assert "No trend: stays near" in forecast(flat, 12).explain()
    assert "Trend: rises from 4" in forecast(3 + 2 * times + 3 * noise, 12).explain()
    assert "Trend: falls" in forecast(50 - 0.5 * times + 10 * np.sin(2 * np.pi * times / 12) + noise, 12).explain()
    assert "No season is used: one of 24 values does not help." in forecast(noise.cumsum(), 12, season=24).explain()
    daily = 10 * np.sin(2 * np.pi * times / 24) + noise
    assert "Season of 24 values. One of 60 values does not help." in forecast(daily, 12, season=[24, 60]).explain()


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e-90, 1e90])
def test_the_unit_of_a_series_does_not_matter(size):
    series = 3 + np.random.default_rng(2).standard_normal(60)
    one, other = (forecast(by * series, 5, bounds=(None, 100 * by)) for by in (1, size))
    for a, b in ((one.point, other.point), (one.lower, other.lower), (one.upper, other.upper)):
        np.testing.assert_allclose(b / size, a, rtol=1e-6)


def test_a_forecast_is_shown_in_one_line():
    shown = repr(forecast(np.random.default_rng(4).standard_normal(60), 5))
    assert "\n" not in shown
    assert len(shown) < 200
    assert shown.startswith("<Forecast by ")


def test_what_keeps_coming_back_to_an_end_of_its_range_stays_inside_and_a_rising_staircase_does_not():
    humidity = np.minimum(100.0, 92 + 8 * np.random.default_rng(7).standard_normal(150))
    made = forecast(humidity, 24, level=0.98)
    assert made.upper.max() == 100
    assert made.upper.min() > made.point.max()
    assert any("never beyond 100" in note for note in made.notes)
    price = np.repeat(10.0 + np.arange(12), 10)
    assert forecast(price, 24, level=0.8).upper.max() > price.max() + 1


@pytest.mark.parametrize("rows", [48, 49, 50, 56])
def test_a_season_that_is_named_helps_from_its_second_time_on(rows):
    for seed in range(4):
        time = np.arange(rows + 24)
        truth = 10 + 5 * np.sin(2 * np.pi * time / 24)
        seen = truth[:rows] + 0.3 * np.random.default_rng(seed).standard_normal(rows)
        ahead = forecast(seen, 24, season=24)
        assert np.abs(ahead.point - truth[rows:]).mean() < 0.4
        assert (ahead.upper - ahead.lower).max() < 5
        assert "Season of 24 values" in ahead.explain()


def test_notes_call_a_trend_what_is_one():
    time, noise = np.arange(300), np.random.default_rng(0).standard_normal(300)
    assert "No trend" in forecast(np.sin(time / 7) + 0.1 * noise, 40).explain()
    assert "Trend: rises" in forecast(0.5 * time + noise, 40).explain()
    assert (
        "Trend: rises from 188 to 195.2"
        in forecast(100 + 0.3 * time + 10 * np.sin(np.pi * time / 6), 24, season=12).explain()
    )
    assert "No trend: stays near 0." in forecast((noise > 1.5) * 1.0, 20).explain()


def test_half_a_bad_year_does_not_hide_the_season():
    off = []
    for seed in range(8):
        months = np.arange(78)
        season = 10 * np.sin(months * np.pi / 6)
        y = 100 + season + np.random.default_rng(seed).normal(0, 2, 78)
        y[48:54] = [60, 30, 45, 60, 75, 85]
        found = profile(y[:66], 12, DEFAULT)
        assert found is not None
        assert np.corrcoef(found.deviations, season[:12])[0, 1] > 0.9
        made = forecast(y[:66], 12, season=12)
        assert "Season of 12 values." in made.explain()
        off.append(np.abs(made.point - y[66:]).mean())
    assert np.mean(off) < 6.6  # 7.2 without the season
