"""`forecast` and `forecast_many`: what a user can rely on."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prophecy import chaos, forecast_many, signals
from prophecy._forecast import Failure, Forecast
from prophecy.evaluation import valid_prediction_time
from prophecy.forecasting import forecast
from prophecy.forecasting.batch import in_order


def assert_sound(answer: Forecast, context: np.ndarray, horizon: int) -> None:
    """Finite, ordered, and shaped like the context."""
    mean, lower, upper = (np.asarray(part) for part in (answer.point, answer.lower, answer.upper))
    assert mean.shape == lower.shape == upper.shape == (horizon, *context.shape[1:])
    assert np.isfinite([mean, lower, upper]).all()
    assert (lower <= mean).all()
    assert (mean <= upper).all()


values = st.one_of(st.floats(-1e6, 1e6), st.just(np.nan), st.integers(-3, 3).map(float))


@given(st.data(), st.integers(8, 40), st.integers(1, 3), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_any_context_gives_a_finite_forecast(data, samples, variables, horizon):
    context = data.draw(arrays(np.float64, (samples, variables), elements=values))
    context[0] = 1.0
    assert_sound(forecast(context, horizon), context, horizon)


HOSTILE = {
    "white noise": np.random.default_rng(0).standard_normal(300),
    "random walk": np.random.default_rng(0).standard_normal(300).cumsum(),
    "step": np.r_[np.zeros(50), np.ones(50)],
    "spike": np.r_[np.zeros(50), 1.0, np.zeros(50)],
    "two values": np.arange(100) % 2.0,
    "ramp": np.arange(100.0),
    "growth": np.exp(np.arange(60) / 5),
    "constant": np.full(20, 3.0),
    "tiny": 1e-200 * np.sin(np.arange(80.0)),
    "huge": 1e120 * np.sin(np.arange(80.0)),
    "far from zero": 1e9 + np.sin(np.arange(80.0)),
    "eight samples": np.array([1.0, 2, 4, 7, 11, 16, 22, 29]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_series_are_survived(name):
    assert_sound(forecast(HOSTILE[name], 200), HOSTILE[name], 200)


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("white", signals.white_signal(1.0, samples=3000)[0]),
        ("filtered noise", signals.filtered_noise(0.1, samples=3000)[0]),
        ("van der Pol", signals.van_der_pol(samples=3000)),
        ("bernoulli", signals.bernoulli(samples=3000)),
        ("sines", signals.sines(samples=3000)[0]),
        ("legendre", signals.legendre(samples=3000)[0]),
        ("linear", signals.linear(samples=3000)[0]),
    ],
)
def test_ten_thousand_steps_diverge_on_no_signal_of_the_project(name, series):
    series = np.asarray(series).reshape(-1)
    answer = forecast(series, 10_000)
    assert_sound(answer, series, 10_000)
    # Three thousand samples of a trend may be continued for ten thousand; nothing may run away faster than that.
    assert np.abs(answer.point - series.mean()).max() < 6 * np.ptp(series)


@pytest.mark.parametrize("cutoff", [1.0, 2.0])
def test_a_white_signal_is_known_for_a_full_period_of_its_highest_frequency(cutoff):
    period = int(1000 / cutoff)
    series = signals.white_signal(cutoff, samples=10_000, seed=3)[0]
    for origin in (8000, 8500, 9000):
        answer = forecast(series[:origin], period)
        error = np.abs(np.asarray(answer.point) - series[origin : origin + period])
        assert error.max() < 0.3 * series.std()


SYSTEMS = [
    (chaos.lorenz, 30, 8.0),
    (chaos.rossler, 15, 5.0),
    (chaos.thomas, 30, 5.0),
    (chaos.duffing, 30, 4.0),
    (chaos.lorenz96, 30, 5.0),
    (chaos.lorenz, 100, 2.9),
]


@pytest.mark.parametrize(("system", "rate", "least"), SYSTEMS, ids=lambda part: getattr(part, "name", str(part)))
def test_chaos_is_predicted_for_several_lyapunov_times(system, rate, least):
    series = system.sample(812, per_lyapunov=rate, seed=1)
    answer = forecast(series[:512], 300)
    assert_sound(answer, series[:512], 300)
    assert valid_prediction_time(series[512:], answer.point, samples_per_time=rate) >= least


def test_noise_costs_prediction_time_but_not_all_of_it():
    series = chaos.lorenz.sample(812, seed=2)
    noisy = series[:512] + 0.01 * series[:512].std(axis=0) * np.random.default_rng(0).standard_normal((512, 3))
    answer = forecast(noisy, 300)
    error = np.abs(np.asarray(answer.point) - series[512:]) / series.std(axis=0)
    assert error[:90].max() < 0.5
    assert "assimilation" in answer.method


def test_one_variable_of_a_system_is_enough_to_see_ahead():
    series = chaos.lorenz.sample(812, seed=1)[:, 0]
    answer = forecast(series[:512], 300)
    assert np.abs(np.asarray(answer.point)[:30] - series[512:542]).max() < 0.5 * series.std()


def test_intervals_widen_with_the_horizon_and_hold_the_truth_as_often_as_they_say():
    inside = []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        series = np.sin(np.arange(330) / 4 + seed) + 0.2 * generator.standard_normal(330)
        answer = forecast(series[:300], 30, level=0.8)
        width = np.asarray(answer.upper) - np.asarray(answer.lower)
        assert (np.diff(width) >= -1e-12).all()
        inside.append((answer.lower <= series[300:]) & (series[300:] <= answer.upper))
    assert 0.7 < np.mean(inside) < 0.97


def test_missing_values_at_the_end_are_forecast_along():
    series = np.sin(np.arange(220) / 6)
    context = series[:200].copy()
    context[[50, 51, 90]] = np.nan
    context[-4:] = np.nan
    np.testing.assert_allclose(forecast(context, 20).point, series[200:], atol=1e-6)


@pytest.mark.parametrize("variables", [1, 2])
def test_samples_without_any_value_at_either_end_change_nothing_but_the_horizon(variables):
    series = np.sin(np.arange(240.0)[:, None] / np.array([5.0, 7.0])[:variables])
    context = np.concatenate([np.full((300, variables), np.nan), series[:200], np.full((40, variables), np.nan)])
    late, early = forecast(context, 20), forecast(series[:200], 60)
    np.testing.assert_array_equal(late.point, early.point[40:])
    np.testing.assert_array_equal(late.upper, early.upper[40:])


def test_bridges_over_gaps_do_not_count_as_truths():
    noise = np.random.default_rng(0).standard_normal(400)
    noise[np.arange(400) % 10 > 1] = np.nan
    answer = forecast(noise, 40)
    assert np.mean(np.asarray(answer.upper) - answer.lower) > 2.5


@pytest.mark.parametrize("step", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("horizon", [1, 30])
def test_any_share_of_missing_values_is_survived(step, horizon):
    series = np.sin(np.arange(160.0)[:, None] / np.array([5.0, 7.0]))
    series[np.arange(160) % 21 >= step, 0] = np.nan
    assert_sound(forecast(series, horizon), series, horizon)
    assert_sound(forecast(series[:, 0], horizon), series[:, 0], horizon)


def test_a_glitch_is_pointed_out_and_growth_is_none():
    series = np.sin(np.arange(200) / 5)
    series[150] = 1e6
    assert "1 value far from everything around" in forecast(series, 30).explain()
    series[150] = np.nan
    answer = forecast(series, 30)
    np.testing.assert_allclose(answer.point, np.sin(np.arange(200, 230) / 5), atol=1e-3)
    assert "far from" not in answer.explain()
    assert "far from" not in forecast(np.exp(np.arange(80.0)), 5).explain()


def test_each_variable_keeps_its_own_scale_and_constants_stay():
    times = np.arange(200)
    context = np.stack([1e-6 * np.sin(times / 7), 1e6 * np.cos(times / 7), np.full(200, 5.0)], axis=1)
    answer = forecast(context, 30)
    ahead = np.arange(200, 230)
    truth = np.stack([1e-6 * np.sin(ahead / 7), 1e6 * np.cos(ahead / 7), np.full(30, 5.0)], axis=1)
    np.testing.assert_allclose(np.asarray(answer.point) / [1e-6, 1e6, 1], truth / [1e-6, 1e6, 1], atol=1e-6)
    assert (np.asarray(answer.upper)[:, 2] == 5.0).all()


def test_values_whose_squares_underflow_are_not_constant():
    series = np.sin(np.arange(200) / 5)
    plain, tiny = forecast(series, 20), forecast(np.ldexp(series, -700), 20)
    np.testing.assert_array_equal(np.ldexp(tiny.point, 700), plain.point)


def test_a_change_of_units_by_powers_of_two_changes_nothing_else():
    series = chaos.lorenz.sample(300)[:, 0]
    plain, scaled = forecast(series, 40), forecast(series / 64, 40)
    np.testing.assert_allclose(np.asarray(scaled.point) * 64, plain.point, rtol=1e-6, atol=1e-6)


def test_noise_is_forecast_by_its_mean_and_the_words_say_who_contributed():
    noise = 5 + np.random.default_rng(1).standard_normal(200)
    answer = forecast(noise, 50)
    assert np.abs(answer.point - 5).max() < 0.6
    made_of = answer.explain().split("Weights: ")[1].split("\n")[0]
    assert "smoothers" in made_of
    assert sum(int(share) for share in re.findall(r"(\d+)%", made_of)) == pytest.approx(100, abs=3)  # rounded
    assert "%" in answer.explain()


def test_the_same_context_gives_the_same_forecast():
    series = chaos.rossler.sample(300)
    one, two = forecast(series, 50), forecast(series, 50)
    np.testing.assert_array_equal(one.point, two.point)
    np.testing.assert_array_equal(one.upper, two.upper)


def test_a_million_samples_are_thinned_and_forecast():
    times = np.arange(1_000_000)
    series = np.sin(times / 100) + 0.1 * np.sin(times / 31)
    answer = forecast(series, 200)
    ahead = np.arange(1_000_000, 1_000_200)
    np.testing.assert_allclose(answer.point, np.sin(ahead / 100) + 0.1 * np.sin(ahead / 31), atol=1e-3)
    assert any("was used" in note or "were used" in note for note in answer.notes)


def test_sixty_four_variables_are_forecast_together():
    context = np.random.default_rng(0).standard_normal((120, 64)).cumsum(axis=0)
    assert_sound(forecast(context, 20), context, 20)


def test_a_batch_is_the_single_forecasts_in_order_on_any_number_of_processes():
    batch = np.stack([np.sin(np.arange(60) / p) for p in (3, 5, 8)])
    singly = [forecast(series, 10) for series in batch]
    for jobs in (1, 2):
        for one, other in zip(singly, forecast_many(batch, 10, jobs=jobs).values(), strict=True):
            np.testing.assert_array_equal(one.point, other.point)
    uneven = forecast_many([batch[0], batch[1, :40], np.stack([batch[2], batch[0]], axis=1)], 10, jobs=1)
    assert [np.shape(answer.point) for answer in uneven.values()] == [(10,), (10,), (10, 2)]
    assert forecast_many(np.stack([batch.T, batch.T]), 5, jobs=1)[0].point.shape == (5, 3)


@pytest.mark.parametrize(
    ("context", "horizon", "level", "complaint"),
    [
        (np.zeros(1), 5, 0.9, "at least 2 samples, got 1"),
        (np.zeros((2, 3, 4)), 5, 0.9, "forecast_many"),
        (np.zeros((8, 65)), 5, 0.9, "1 to 64 variables, got 65"),
        (np.r_[np.zeros(8), np.inf], 5, 0.9, "inf at index"),
        (np.full(9, np.nan), 5, 0.9, "no value at all"),
        (np.r_[np.zeros(8), 1e160], 5, 0.9, "rescale"),
        (np.zeros(0), 5, 0.9, "at least 2 samples, got 0"),
        (np.zeros((1, 400)), 5, 0.9, r"is it \(variables, time\)"),
        (np.zeros(9), 0, 0.9, "horizon must be at least 1, got 0"),
        (np.zeros(9), 5, 1.0, "between 0 and 1"),
        (np.zeros(9), 5, -0.5, "level must be positive"),
    ],
)
def test_bad_input_is_named_with_its_value(context, horizon, level, complaint):
    with pytest.raises(ValueError, match=complaint):
        forecast(context, horizon, level)


def test_a_batch_is_refused_as_a_whole_only_when_its_arguments_are_wrong():
    with pytest.raises(ValueError, match="jobs must be at least 1"):
        forecast_many(np.zeros((2, 20)), 3, jobs=0)
    with pytest.raises(TypeError, match="data must be a list of series, an array or a frame, got set"):
        forecast_many({20.0}, 3)


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_bad_context_fails_alone(jobs):
    steps = []
    contexts = [np.arange(20.0), np.zeros(1), "abc", np.arange(30.0)]
    answers = in_order(partial(forecast, horizon=3), contexts, jobs, lambda *at: steps.append(at))
    assert [type(answer) for answer in answers] == [Forecast, Failure, Failure, Forecast]
    assert (answers[1].index, answers[2].index) == (1, 2)
    assert "at least 2 samples, got 1" in str(answers[1])
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def batch_in_a_daemon(answers):
    answers.put([float(np.sum(each.point)) for each in forecast_many(BATCH, 5, jobs=2).values()])


BATCH = np.sin(np.arange(40) / np.array([[3.0], [5.0], [7.0]]))


def test_a_batch_works_in_threads_and_in_daemonic_processes():
    alone = [float(np.sum(each.point)) for each in forecast_many(BATCH, 5, jobs=1).values()]
    with ThreadPoolExecutor(2) as pool:
        for answer in pool.map(lambda _: forecast_many(BATCH, 5, jobs=2), range(2)):
            assert [float(np.sum(each.point)) for each in answer.values()] == alone
    processes = get_context("fork")
    answers = processes.Queue()
    daemon = processes.Process(target=batch_in_a_daemon, args=(answers,), daemon=True)
    daemon.start()
    assert answers.get(timeout=60) == alone
    daemon.join()


def test_a_context_is_not_changed():
    context = chaos.lorenz.sample(100)
    context[5, 0] = np.nan
    before = context.copy()
    forecast(context, 5)
    np.testing.assert_array_equal(context, before)


def test_a_newest_value_that_is_set_aside_is_not_counted_as_missing():
    series = np.append(20 + np.random.default_rng(0).standard_normal(80), 200.0)
    said = forecast(series, 3).explain()
    assert "200 at position 80" in said
    assert "missing" not in said
