"""`Forecast`: quantiles, samples and words agree with each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from prophecy._forecast import PROBABILITIES, Failure, Forecast, QuantileGrid

heights = st.floats(-1e6, 1e6)


def normal_walk(steps: int) -> QuantileGrid:
    """The distribution of a random walk with unit steps: exactly Markov, with standard deviation sqrt(h)."""
    h = np.arange(1, steps + 1)
    return QuantileGrid.of(norm.ppf(PROBABILITIES)[:, None] * np.sqrt(h), np.sqrt(h[:-1] / h[1:]))


@given(arrays(np.float64, (len(PROBABILITIES), 3), elements=heights), st.lists(st.floats(1e-6, 1 - 1e-6), min_size=2))
@settings(max_examples=80, deadline=None)
def test_quantiles_never_cross_whatever_they_were_made_from(values, asked):
    made = Forecast.from_grid(QuantileGrid.of(values), 0.9, "any")
    assert (np.diff(made.quantile(np.sort(asked)), axis=0) >= -1e-9 * np.abs(values).max()).all()
    np.testing.assert_array_equal(made.point, values[len(values) // 2])


def test_mean_and_interval_are_quantiles_exactly():
    made = Forecast.from_grid(normal_walk(5), 0.83, "walk")
    np.testing.assert_array_equal(made.quantile(0.5), made.point)
    np.testing.assert_array_equal(made.quantile(0.5 + 0.83 / 2), made.upper)
    np.testing.assert_array_equal(made.quantile([0.5 - 0.83 / 2])[0], made.lower)


def test_a_normal_distribution_is_kept_without_error_in_the_middle_and_in_the_tails():
    q = np.array([1e-6, 0.001, 0.123, 0.5, 0.777, 0.999999])
    expected = norm.ppf(q)[:, None] * np.sqrt(np.arange(1, 5))
    np.testing.assert_allclose(normal_walk(4).quantile(q), expected, rtol=1e-12, atol=1e-15)


def test_paths_have_the_marginals_and_the_dependence_they_were_given():
    paths = Forecast.from_grid(normal_walk(6), 0.9, "walk").samples(40_000, seed=3)
    assert paths.shape == (40_000, 6)
    for q in (0.05, 0.5, 0.9):
        share = np.mean(paths <= normal_walk(6).quantile(np.array([q]))[0], axis=0)
        np.testing.assert_allclose(share, q, atol=4 * np.sqrt(q * (1 - q) / 40_000))
    steps = np.diff(paths, axis=1)
    np.testing.assert_allclose(steps.std(axis=0), 1.0, atol=0.02)
    np.testing.assert_allclose(np.corrcoef(steps.T), np.eye(5), atol=0.03)


def test_variables_vary_together_as_they_were_said_to():
    values = np.repeat(norm.ppf(PROBABILITIES)[:, None, None], 3, axis=1).repeat(2, axis=2)
    grid = QuantileGrid.of(values, between=np.array([[1.0, 0.8], [0.8, 1.0]]))
    paths = grid.samples(20_000, seed=0)
    assert np.corrcoef(paths[:, 1, 0], paths[:, 1, 1])[0, 1] == pytest.approx(0.8, abs=0.02)


def test_a_forecast_of_one_value_knows_its_quantiles_from_the_interval():
    made = Forecast(point=1.0, lower=0.0, upper=3.0, level=0.9, method="bank")
    assert made.quantile(0.5) == 1.0
    assert made.quantile(0.95) == pytest.approx(3.0)
    assert made.quantile(0.05) == pytest.approx(0.0)
    assert np.mean(made.samples(10_000) <= 3.0) == pytest.approx(0.95, abs=0.01)
    assert made.equations() is None


@given(arrays(np.float64, (len(PROBABILITIES), 3), elements=heights))
@settings(max_examples=20, deadline=None)
def test_mean_median_quantiles_and_samples_are_of_one_distribution(values):
    made = Forecast.from_grid(QuantileGrid.of(values), 0.9, "any")
    np.testing.assert_array_equal(made.median, made.quantile(0.5))
    q = (np.arange(200_000) + 0.5) / 200_000
    size = np.abs(values).max() + 1e-300
    np.testing.assert_allclose(made.mean / size, made.quantile(q).mean(axis=0) / size, atol=1e-4)
    spread = made.samples(20_000).std(axis=0)
    assert (np.abs(made.samples(20_000).mean(axis=0) - made.mean) <= 6 * spread / np.sqrt(20_000) + 1e-9 * size).all()


def test_the_mean_of_a_skewed_interval_lies_towards_its_wider_side():
    made = Forecast(1.0, 0.5, 4.0, 0.9, "bank")
    assert made.mean == pytest.approx(made.samples(400_000).mean(), abs=0.01)
    assert made.median == made.point == 1.0
    assert Forecast(1.0, -np.inf, np.inf, 0.9, "one value").mean == 1.0


def test_a_given_point_is_not_the_median_of_the_distribution():
    made = Forecast.from_grid(normal_walk(4), 0.9, "law", point=np.full(4, 7.0))
    np.testing.assert_array_equal(made.point, np.full(4, 7.0))
    np.testing.assert_array_equal(made.median, np.zeros(4))
    np.testing.assert_allclose(made.mean, np.zeros(4), atol=1e-12)


@pytest.mark.parametrize("q", [0.0, 1.0, -0.1, np.nan, [0.5, 1.5], [[0.5]]])
def test_a_probability_outside_zero_and_one_is_refused_with_its_value(q):
    with pytest.raises(ValueError, match="q must lie strictly between 0 and 1"):
        Forecast(1.0, 0.0, 2.0, 0.9, "bank").quantile(q)


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_a_number_of_paths_must_be_whole_and_positive(n):
    with pytest.raises((TypeError, ValueError), match=rf"n must be (a whole number|at least 1), got {n}"):
        Forecast(1.0, 0.0, 2.0, 0.9, "bank").samples(n)


def test_a_failure_says_which_series_and_why():
    assert str(Failure(3, ValueError("too short"))) == "series 3: too short"


def test_one_value_has_no_picture_and_says_so(tmp_path):
    made = Forecast(1.0, 0.0, 2.0, 0.9, "one value")
    assert made._repr_html_() is None  # notebooks show the repr
    with pytest.raises(ValueError, match="one value makes no picture; draw the track"):
        made.plot(tmp_path / "x.png")


@pytest.mark.parametrize(("call", "message"), [
    (lambda made: made.quantile("high"), "q must hold real numbers, got dtype"),
    (lambda made: made.samples("many"), "n must be a whole number, got 'many'"),
    (lambda made: made.samples(2, seed="luck"), "seed must be a whole number, got 'luck'"),
])  # fmt: skip
def test_odd_questions_to_a_forecast_are_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(Forecast(1.0, 0.0, 2.0, 0.9, "one value"))
