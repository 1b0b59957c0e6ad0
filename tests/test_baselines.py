"""The baselines are causal, exact where they should be, and bounded by the floor."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophecy import signals
from prophecy.evaluation import mean_squared_error
from reproduction import baselines


def chosen(family: str) -> Callable[[np.ndarray], np.ndarray]:
    """A family with its setting chosen in context."""
    return lambda u: baselines.in_context(u, baselines.FAMILIES[family](u).values())


ALL: dict[str, Callable[[np.ndarray], np.ndarray]] = {"copy": baselines.copy, "line": baselines.line}
ALL |= {name: chosen(name) for name in baselines.FAMILIES}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("cut", [1, 2, 40, 333])
def test_no_baseline_looks_ahead(name: str, cut: int) -> None:
    u = signals.filtered_noise(0.05, 2, 500, seed=2)
    other = u.copy()
    other[:, cut:] = np.random.default_rng(0).normal(size=other[:, cut:].shape)
    np.testing.assert_array_equal(ALL[name](u)[:, :cut], ALL[name](other)[:, :cut])


@pytest.mark.parametrize("name", ALL)
def test_one_series_equals_its_row_in_a_batch(name: str) -> None:
    u = signals.filtered_noise(0.1, 3, 700, seed=4)
    np.testing.assert_allclose(ALL[name](u[1]), ALL[name](u)[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("time", [1, 2, 3, 31, 32, 33])
def test_short_series_get_finite_predictions(name: str, time: int) -> None:
    ahead = ALL[name](np.linspace(0.0, 1.0, time))
    assert ahead.shape == (time,)
    assert np.isfinite(ahead).all()


def test_line_is_exact_for_lines_and_copy_for_constants() -> None:
    ramp = 3.0 - 0.5 * np.arange(100)
    np.testing.assert_allclose(baselines.line(ramp)[1:-1], ramp[2:], atol=1e-12)
    np.testing.assert_array_equal(baselines.copy(np.full(9, 2.5)), np.full(9, 2.5))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(baselines.SAVITZKY_GOLAY), st.integers(0, 10_000))
def test_savitzky_golay_is_exact_for_polynomials_of_its_degree(pair: tuple[int, int], seed: int) -> None:
    window, degree = pair
    t = np.linspace(-1, 1, 2 * window + 3)
    u = np.polynomial.legendre.legval(t, np.random.default_rng(seed).normal(size=degree + 1))
    ahead = baselines.savitzky_golay(u, window, degree)
    np.testing.assert_allclose(ahead[window - 1 : -1], u[window:], rtol=0, atol=1e-8)


def test_savitzky_golay_is_the_least_squares_fit() -> None:
    u = np.random.default_rng(1).normal(size=60)
    ahead = baselines.savitzky_golay(u, 9, 3)
    for k in (8, 20, 58):
        fit = np.polynomial.Polynomial.fit(np.arange(9), u[k - 8 : k + 1], 3)
        assert ahead[k] == pytest.approx(fit(9), abs=1e-10)


def test_gains_of_one_make_the_filters_copy_and_line() -> None:
    u = signals.filtered_noise(0.1, 2, 300)
    np.testing.assert_allclose(baselines.local_level(u, 1.0), u, atol=1e-13)
    np.testing.assert_allclose(baselines.local_trend(u, 1.0, 1.0)[:, 1:], baselines.line(u)[:, 1:], atol=1e-12)


def test_filters_equal_their_recursions() -> None:
    u = np.random.default_rng(3).normal(size=80)
    level, slope, low, by_hand, by_hand_trend = u[0], 0.0, u[0], [], []
    for value in u:
        low += 0.3 * (value - low)
        by_hand.append(low)
        error = value - (level + slope)
        level, slope = level + slope + 0.5 * error, slope + 0.5 * 0.2 * error
        by_hand_trend.append(level + slope)
    np.testing.assert_allclose(baselines.local_level(u, 0.3), by_hand, atol=1e-12)
    np.testing.assert_allclose(baselines.local_trend(u, 0.5, 0.2), by_hand_trend, atol=1e-12)


def test_autoregression_is_the_least_squares_fit_of_its_past() -> None:
    u = signals.filtered_noise(0.05, 1, 400, seed=9)[0]
    ahead = baselines.autoregression_members(u, 3)["order 3"]
    blocks = list(baselines._blocks(400, 6))
    start, _ = blocks[-1]
    rows = np.stack([np.r_[np.zeros(2), u][k : k + 3][::-1] for k in range(start)])
    weights = np.linalg.lstsq(rows, u[1 : start + 1], rcond=None)[0]
    np.testing.assert_allclose(ahead[start], weights @ u[start - 2 : start + 1][::-1], rtol=1e-6)


def test_autoregression_finds_an_autoregressive_process() -> None:
    rng = np.random.default_rng(0)
    noise, u = rng.normal(size=4000), np.zeros(4000)
    for k in range(2, 4000):
        u[k] = 1.5 * u[k - 1] - 0.8 * u[k - 2] + noise[k]
    assert mean_squared_error(u, ALL["autoregression"](u)) == pytest.approx(1.0, rel=0.08)


@pytest.mark.parametrize("tau", [0.05, 0.1, 0.3])
def test_the_oracle_attains_the_floor_and_nobody_passes_it(tau: float) -> None:
    u = signals.filtered_noise(tau, 20, seed=5)
    floor = baselines.innovation_floor(tau)
    assert mean_squared_error(u, baselines.filtered_noise_oracle(u, tau)).mean() == pytest.approx(floor, rel=0.02)
    for name, predict in ALL.items():
        assert mean_squared_error(u, predict(u)).mean() > 0.98 * floor, name


def test_floor_has_the_published_values() -> None:
    floors = [baselines.innovation_floor(tau) for tau in (0.05, 0.1, 0.3)]
    np.testing.assert_allclose(floors, [3.89e-5, 2.47e-6, 3.07e-8], rtol=3e-3)


def test_choosing_in_context_follows_the_member_that_has_been_right() -> None:
    u = np.arange(50.0)
    wrong, right = baselines.copy(u), baselines.line(u)
    np.testing.assert_array_equal(baselines.in_context(u, [wrong, right])[2:], right[2:])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: baselines.copy(np.array([1.0, np.nan])), "u must be finite, got nan at index 1"),
        (lambda: baselines.copy([]), "at least one sample"),
        (lambda: baselines.savitzky_golay(np.ones(9), 3, 3), "degree must lie between 0 and window - 1 = 2, got 3"),
        (lambda: baselines.local_level(np.ones(9), 0.0), r"gain must lie in \(0, 1\], got 0.0"),
        (lambda: baselines.local_trend(np.ones(9), 0.5, 2.0), r"trend_gain must lie in \(0, 1\], got 2.0"),
        (lambda: baselines.in_context(np.ones(9), []), "members must hold at least one"),
        (lambda: baselines.in_context(np.ones(9), [np.ones(9)], discount=0.0), "discount"),
        (lambda: baselines.innovation_floor(0.0), "time_constant must be positive"),
    ],
)
def test_bad_input_is_named(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()
