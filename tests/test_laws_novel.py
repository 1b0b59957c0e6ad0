"""One variable of a chaotic oscillator through noise, and kernel maps that go where the series has not been."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from prophecy.forecasting import forecast, tournament
from prophecy.forecasting.intervals import half_widths
from prophecy.forecasting.maps import delays, fit_kernel_map, fit_polynomial_map, kernel, off_ahead
from prophecy.laws.context import Rows
from prophecy.laws.settings import DEFAULT


def all_rows(values):
    index = np.arange(len(values) - 1)
    return Rows(index, index + 1)


@pytest.fixture(scope="module")
def rossler():
    """x alone, 39 samples a turn: three turns look like a season of 117 samples."""
    times = np.arange(4000) * 0.15
    path = solve_ivp(
        lambda _, s: [-s[1] - s[2], s[0] + 0.2 * s[1], 0.2 + s[2] * (s[0] - 5.7)],
        (0, times[-1]), [1, 2, 0.2], t_eval=times, rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    return path.y[0]


@pytest.mark.parametrize("first", [0, 400, 3200])
def test_a_chaotic_oscillator_seen_through_one_variable_and_noise_is_no_season(rossler, first):
    series, scale = rossler[first : first + 650], rossler[first : first + 500].std()
    measured = series + 0.01 * scale * np.random.default_rng(first).standard_normal(650)
    answer = forecast(measured[:500], 150)
    inside = (answer.lower <= measured[500:]) & (measured[500:] <= answer.upper)
    assert inside.mean() > 0.85
    off = np.sqrt(np.mean((answer.point - series[500:])[:100] ** 2)) / scale
    assert off < 0.15, "the season of 117 samples is off by half a standard deviation"


def test_doubt_is_the_posterior_deviation_of_a_gaussian_process():
    generator = np.random.default_rng(0)
    values = np.cumsum(generator.standard_normal((60, 2)), axis=0)
    found = fit_kernel_map(delays(2), values, all_rows(values))
    assert found is not None
    readout, points = found.readout, 3 * generator.standard_normal((7, 4))
    gram = kernel(readout.centres, readout.centres, readout.width) + readout.nugget * np.eye(len(readout.centres))
    across = kernel(points, readout.centres, readout.width)
    expected = 1 + readout.nugget - np.einsum("ij,ji->i", across, np.linalg.solve(gram, across.T))
    np.testing.assert_allclose(readout.doubt(points) ** 2, expected, rtol=1e-6, atol=1e-12)
    far = readout.doubt(np.full((1, 4), 1e6))
    np.testing.assert_allclose(far, np.sqrt(1 + readout.nugget), rtol=1e-6)


def test_a_path_along_the_past_is_not_novel_and_one_beside_it_is():
    times = np.arange(400) / 7
    values = np.column_stack([np.cos(times), np.sin(times)])
    early, whole = (fit_kernel_map(delays(1), part, all_rows(part)) for part in (values[:260], values))
    later = np.arange(400, 500) / 7
    circle = np.column_stack([np.cos(later), np.sin(later)])
    along = tournament._novel(early, whole, values, circle, 260)
    assert (along == 1).all()
    spiral = circle * np.linspace(1, 2, 100)[:, None]
    beside = tournament._novel(early, whole, values, spiral, 260)
    assert beside[0] == 1
    assert (np.diff(beside) >= 0).all()
    assert beside[-1] > 3


def test_lost_paths_and_other_maps_are_not_novel():
    values = np.column_stack([np.cos(np.arange(300) / 7), np.sin(np.arange(300) / 7)])
    found = fit_kernel_map(delays(1), values, all_rows(values))
    lost = np.full((20, 2), np.nan)
    assert (tournament._novel(found, found, values, lost, 200) == 1).all()
    other = fit_polynomial_map(delays(1), 2, 1e-8, values, all_rows(values))
    assert (tournament._novel(other, other, values, np.full((20, 2), 9.0), 200) == 1).all()


def test_intervals_are_wider_by_what_is_novel_and_no_wider_than_unrelated_moments():
    generator = np.random.default_rng(1)
    values = generator.standard_normal((400, 1))
    errors = 0.01 * generator.standard_normal((30, 50, 1))
    paths = np.zeros((9, 50, 1)) + 1e-3 * generator.standard_normal((9, 1, 1)) * (np.arange(9) > 0)[:, None, None]
    plain = half_widths(errors, paths, values)
    novel = np.repeat([1.0, 4.0, 1e9], [10, 20, 20])
    wide = half_widths(errors, paths, values, novel=novel)
    np.testing.assert_allclose(wide[:, :10], plain[:, :10])
    np.testing.assert_allclose(wide[:, 10:30], 4 * plain[:, 10:30], rtol=1e-5)
    assert np.isfinite(wide).all()
    assert wide.max() < 1.01 * np.abs(values[:, None] - values[None]).max()


def test_a_kernel_of_delays_tells_a_chaotic_oscillator_from_a_season_with_noise(rossler):
    generator = np.random.default_rng(0)
    own = rossler[:500] + 0.03 * rossler.std() * generator.standard_normal(500)
    profile = np.tile(np.cumsum(generator.standard_normal(24)), 21)[:500]
    season = profile + 0.3 * profile.std() * generator.standard_normal(500)
    off = [off_ahead((x[:, None] - x.mean()) / x.std(), 1) for x in (own, season)]
    assert off[0] < DEFAULT.laboratory.seasonal_ahead < off[1]
    assert off_ahead(own[:20, None], 1) == np.inf
