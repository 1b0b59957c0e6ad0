"""Scores follow the time convention and fail loudly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
