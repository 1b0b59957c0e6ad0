"""Values at uneven times: read at even ones where they are smooth, taken as they are where noise hides the times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")

import prophecy  # noqa: E402
from prophecy.frames.align import interpolated  # noqa: E402
from prophecy.frames.collect import read  # noqa: E402


def waves(at: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sin(at / 4), np.cos(at / 7) + 0.01 * at])


@settings(max_examples=30, deadline=None)
@given(jitter=st.floats(0.01, 0.45), seed=st.integers(0, 2**16), unit=st.sampled_from([1e-3, 1.0, 3600.0]))
def test_smooth_values_are_read_at_even_times_wherever_theirs_were(jitter, seed, unit):
    draw = np.random.default_rng(seed)
    at = np.arange(200) + jitter * draw.uniform(-1, 1, 200)
    series = read(pd.DataFrame({"t": unit * at, "a": waves(at)[:, 0], "b": waves(at)[:, 1]}), time="t").series
    there = np.isfinite(series.values).all(axis=1)
    assert there.mean() > 0.98
    steps = np.diff(series.times.values)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    np.testing.assert_allclose(series.values[there], waves(series.times.values / unit)[there], atol=2e-4)
    assert series.times.values[-1] == unit * at[-1]
    assert "values read at even times from curves through them" in series.facts


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_noise_that_hides_the_times_leaves_values_as_they_are(noise):
    draw = np.random.default_rng(1)
    at = np.arange(300) + 0.1 * draw.uniform(-1, 1, 300)
    values = waves(at)[:, 0] + noise * draw.standard_normal(300)
    series = read(pd.DataFrame({"t": at, "a": values}), time="t").series
    np.testing.assert_array_equal(series.values[:, 0], values)
    assert any("off the grid taken as on it" in fact for fact in series.facts)


def test_dates_stay_dates_and_the_last_row_is_as_it_was():
    draw = np.random.default_rng(2)
    at = np.arange(200) + 0.2 * draw.uniform(-1, 1, 200)
    times = pd.Timestamp("2026-03-01", tz="Europe/Berlin") + pd.to_timedelta(60_000 * at, unit="ms")
    frame = pd.DataFrame({"a": waves(at)[:, 0]}, index=times)
    answer = prophecy.forecast(frame, 20)
    assert str(answer.index.tz) == "Europe/Berlin"
    assert abs((answer.index[0] - times[-1]).total_seconds() - 60) < 0.1
    later = at[-1] + np.arange(1, 21)
    np.testing.assert_allclose(np.asarray(answer.point).ravel(), np.sin(later / 4), atol=0.01)


def test_gaps_stay_gaps():
    at = np.delete(np.arange(200.0), range(60, 75)) + 0.2 * np.random.default_rng(3).uniform(-1, 1, 185)
    series = read(pd.DataFrame({"t": at, "a": np.sin(at / 4)}), time="t").series
    lacking = np.isnan(series.values[:, 0])
    assert 12 <= lacking.sum() <= 17
    there = ~lacking
    np.testing.assert_allclose(series.values[there, 0], np.sin(series.times.values[there] / 4), atol=2e-4)


def test_few_values_or_exactly_even_times_are_left_alone():
    at = np.arange(10.0) + 0.1 * np.random.default_rng(4).uniform(-1, 1, 10)
    assert interpolated(waves(at), at, np.arange(10.0)) is None
    series = read(pd.DataFrame({"t": np.arange(50.0), "a": np.sin(np.arange(50) / 4)}), time="t").series
    np.testing.assert_array_equal(series.values[:, 0], np.sin(np.arange(50) / 4))


def test_the_equations_of_samples_with_jitter_are_exact():
    """Lorenz at times up to 30 % of a step off an even grid: read as even they are noise of some per cent."""
    from scipy.integrate import solve_ivp

    times = 5 + 0.02 * (np.arange(600) + 0.3 * np.random.default_rng(5).uniform(-1, 1, 600))
    field = lambda _, s: [10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]  # noqa: E731
    path = solve_ivp(field, (0, 20), [1, 1, 20], t_eval=times, rtol=1e-11, atol=1e-11).y.T
    frame = pd.DataFrame(path, columns=["x", "y", "z"]).assign(time=times)
    answer = prophecy.forecast(frame, 5, time="time")
    step = float(read(frame, time="time").series.grid.rule.step)
    lines = answer.equations(step).lines()
    assert lines == ["x' = 10 (y - x)", "y' = 28 x - y - x z", "z' = -2.6667 z + x y"]
