"""Scores follow the time convention and fail loudly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter1d
from scipy.signal import get_window, periodogram

from prophecy import evaluation


def test_a_perfect_prediction_scores_zero_only_when_it_is_one_step_ahead() -> None:
    u = np.random.default_rng(0).normal(size=(3, 40))
    perfect = np.roll(u, -1, axis=-1)
    np.testing.assert_array_equal(evaluation.mean_squared_error(u, perfect), 0)
    assert np.all(evaluation.mean_squared_error(u, u) > 0.1)


def test_only_the_second_half_counts_by_default() -> None:
    u, y = np.zeros(10), np.zeros(10)
    y[:5] = 100.0
    assert evaluation.mean_absolute_error(u, y) == 0.0
    assert evaluation.one_step_errors(u, y).shape == (4,)
    assert evaluation.mean_absolute_error(u, y, start=0) == pytest.approx(500 / 9)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_smape_is_zero_for_the_truth_and_never_above_200(values: list[float]) -> None:
    truth = np.array(values)
    np.testing.assert_array_equal(evaluation.smape(truth, truth), 0)
    assert np.all(evaluation.smape(truth, -2.0 * truth) <= 200.0)


def test_valid_time_counts_steps_before_the_first_failure() -> None:
    truth = np.ones((60, 2))
    forecast = truth.copy()
    assert evaluation.valid_prediction_time(truth, forecast, 30) == 2.0
    forecast[45:] = 5.0
    assert evaluation.valid_prediction_time(truth, forecast, 30) == 1.5
    forecast[0] = np.nan
    assert evaluation.valid_prediction_time(truth, forecast, 30) == 0.0


def test_coverage_counts_values_inside() -> None:
    assert evaluation.coverage([0.0, 1.0, 2.0, 3.0], [0, 0, 0, 0], [1, 1, 1, 4]) == 0.75


def test_scaled_errors_are_in_units_of_copying_one_step_or_one_season() -> None:
    x = np.array([1.0, 5.0, 2.0, 7.0, 4.0, 9.0])
    assert evaluation.naive_scale(x) == pytest.approx(np.abs(np.diff(x)).mean())
    assert evaluation.naive_scale(x, 2) == pytest.approx((1 + 2 + 2 + 2) / 4)
    assert evaluation.naive_scale(x, 6) == evaluation.naive_scale(x)  # no two seasons of six
    assert evaluation.mase([10.0, 10.0], [9.0, 13.0], x, season=2) == pytest.approx(2.0 / 1.75)


def test_the_ranked_probability_score_is_that_of_its_samples() -> None:
    """E|X - y| - E|X - X'|/2, from draws; quantiles of the same normal distribution in the middle of equal shares."""
    rng, shares = np.random.default_rng(0), (np.arange(400) + 0.5) / 400
    draws = rng.normal(2.0, 3.0, 20_000)
    for y in (-4.0, 2.5, 9.0):
        exact = np.abs(draws - y).mean() - 0.5 * np.abs(draws - rng.permutation(draws)).mean()
        quantiles = np.quantile(draws, shares)
        assert evaluation.crps(y, quantiles, shares) == pytest.approx(exact, rel=0.03)
    np.testing.assert_allclose(evaluation.pinball([3.0, 1.0], [1.0, 4.0], 0.8), [1.6, 0.6])
    for q in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            evaluation.pinball([1.0], [1.0], q)


@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.01, 1.0)), min_size=2, max_size=6))
def test_hellingers_distance_is_that_of_the_roots(pairs: list[tuple[float, float]]) -> None:
    p, q = (np.array(side) / sum(side) for side in zip(*pairs, strict=True))
    direct = np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2)
    assert evaluation.hellinger(p, q) == pytest.approx(direct, abs=1e-7)
    assert evaluation.hellinger([p, p], [q, p]) == pytest.approx(direct / 2, abs=1e-7)


def test_spectra_are_shares_of_smoothed_periodograms() -> None:
    stretches = np.random.default_rng(1).standard_normal((5, 200, 2)).cumsum(axis=1)
    window = get_window("hann", 200, fftbins=False)
    flat = stretches - stretches.mean(axis=(0, 1))
    _, power = periodogram(flat, window=window, axis=1, detrend=False, scaling="spectrum")
    power = power.mean(axis=0)[1:].T
    power[:, -1] *= 2.0  # one side: all frequencies twice but the last
    smooth = gaussian_filter1d(power, evaluation._SMOOTHED, mode="mirror", truncate=4.0)
    np.testing.assert_allclose(evaluation.spectrum(stretches), smooth / smooth.sum(axis=1, keepdims=True), rtol=1e-9)


def test_spectral_distance_forgets_size_and_phase_and_notices_frequency() -> None:
    t, phases = np.arange(400)[:, None], np.random.default_rng(2).uniform(0, 2 * np.pi, (6, 1, 1))
    wave = np.sin(t / 8 + phases)
    assert evaluation.spectral_distance(3.0 * wave[:3], wave[3:]) < 0.15
    assert evaluation.spectral_distance(np.sin(t / 2 + phases), wave) > 0.9
    assert evaluation.spectral_distance(np.full_like(wave, np.nan), wave) == 1.0
    assert evaluation.spectral_distance(np.ones_like(wave), wave) == 1.0
    for short in (wave[0], wave[:, :7]):
        with pytest.raises(ValueError, match="at least 8 samples"):
            evaluation.spectrum(short)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluation.one_step_errors(np.ones(5), np.ones(6)), "one shape"),
        (
            lambda: evaluation.one_step_errors(np.ones(5), np.ones(5), start=4),
            "start must lie between 0 and time - 2 = 3",
        ),
        (lambda: evaluation.smape(np.ones(3), np.ones(4)), "truth and forecast"),
        (lambda: evaluation.coverage([], [], []), "one shape"),
        (
            lambda: evaluation.valid_prediction_time([1.0], [1.0], samples_per_time=0),
            "samples_per_time must be positive",
        ),
    ],
)
def test_bad_input_is_named(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()
