"""What forecasts of ordinary series are made of: profiles, smoothers, readouts and their mixture, each by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from prophecy.laws.kernels.entry import smooth, window_products

from prophecy.forecasting.candidates import candidates
from prophecy.forecasting.rare import RareEvents
from prophecy.forecasting.readouts import fit_readout, lags, legendre
from prophecy.forecasting.seasons import MeanProfile, profile
from prophecy.forecasting.series import Series
from prophecy.forecasting.settings import DEFAULT
from prophecy.forecasting.smoothers import bank


def test_a_profile_of_noise_is_shrunk_and_one_of_a_season_is_not():
    generator = np.random.default_rng(0)
    strong = profile(np.tile([5.0, -5.0, 0.0, 0.0], 20) + 0.1 * generator.standard_normal(80), 4, DEFAULT)
    np.testing.assert_allclose(strong.deviations, [5, -5, 0, 0], atol=0.1)
    sizes = []
    for seed in range(20):
        weak = profile(np.random.default_rng(seed).standard_normal(80), 4, DEFAULT)
        sizes.append(0.0 if weak is None else np.abs(weak.deviations).max())
    assert np.mean(sizes) < 0.15  # phase means of 20 values have standard deviation 0.22


def plain_smoother(y, alpha, beta, phi, level, slope):
    """One system step by step; its errors, and the first three steps of its path."""
    errors = []
    for value in y:
        ahead = level + phi * slope
        errors.append(value - ahead)
        level, slope = ahead + alpha * errors[-1], phi * slope + beta * errors[-1]
    return np.array(errors), level + slope * np.cumsum(phi ** np.arange(1, 4))


@pytest.mark.parametrize(("alpha", "beta", "phi"), [(0.3, 0.1, 0.9), (1.0, 0.0, 1.0), (0.0, 0.0, 1.0), (0.5, 0.2, 1.0)])
def test_the_bank_starts_each_smoother_where_its_squares_are_least_and_doubts_that_start(alpha, beta, phi):
    y = np.random.default_rng(0).standard_normal(30).cumsum()
    (errors, path), *moved = (plain_smoother(y, alpha, beta, phi, *start) for start in ((0, 0), (1, 0), (0, 1)))
    by_start = np.column_stack([errors - other for other, _ in moved])  # all is linear in the start
    best, (squares,), _, _ = np.linalg.lstsq(by_start, errors, rcond=None)
    slopes = np.column_stack([other - path for _, other in moved])
    variance = squares / 26
    one = (np.array([v]) for v in (alpha, beta, phi, 0.0, 2.0))
    mean, within, between, weight = smooth(y, *one, 1, np.array([30]), 3)
    np.testing.assert_allclose(mean[0], path + slopes @ best, atol=1e-4)
    response = np.concatenate([[0.0], alpha + beta * np.cumsum(phi ** np.arange(1, 3))])
    doubt = np.sum(slopes @ np.linalg.inv(by_start.T @ by_start) * slopes, axis=1)
    np.testing.assert_allclose(within[0], variance * (1 + np.cumsum(response**2) + doubt), rtol=1e-5)
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
    within = smooth(y, *one, 1, np.array([50]), steps)[1][0]
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


@pytest.mark.parametrize("memory", [lags(6), legendre(4, 12, 5)], ids=["lags", "memory"])
def test_a_readout_is_the_ridge_regression_with_the_least_cross_validation_error(memory):
    y = np.sin(np.arange(200) / 3) + 0.2 * np.random.default_rng(0).standard_normal(200)
    horizon, window = 4, len(memory)
    fitted = fit_readout(y, horizon, memory, DEFAULT)
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


def test_candidates_are_left_out_by_family():
    some = Series(np.exp(np.random.default_rng(0).standard_normal(200)), np.ones(200, dtype=bool), (), 3)
    families = {candidate.family for candidate in candidates(some, DEFAULT)}
    fewer = {c.family for c in candidates(some, replace(DEFAULT, without=frozenset({"readout", "theta"})))}
    assert {"smoothers", "autoregression", "readout", "theta", "waves"} <= families
    assert fewer == families - {"readout", "theta"}


def test_every_family_has_a_prior():
    zeros = np.where(np.arange(200) % 3 == 0, 2.0, 0.0)
    for y, seasons in ((zeros, ()), (1 + zeros, (4, 28))):
        for candidate in candidates(Series(y, np.ones(200, dtype=bool), seasons, 3), DEFAULT):
            assert DEFAULT.prior(candidate) > 0


def test_candidates_know_only_the_past_of_their_origin():
    y = 5 + np.sin(np.arange(80.0)) + np.random.default_rng(0).standard_normal(80) / 9
    changed, seen, origins = y.copy(), np.ones(80, dtype=bool), np.array([45, 52])
    changed[52:] = 99.0
    for candidate in candidates(Series(y, seen, (4,), 5), DEFAULT):
        one, other = (candidate.scale.of(values) for values in (y, changed))
        fitted = candidate.fit(one[:45], seen[:45], 5)
        if fitted is not None:
            found, again = (fitted.predictive(x, seen, origins, 5)[0] for x in (one, other))
            np.testing.assert_allclose(found, again, rtol=1e-9, err_msg=candidate.label)
    flat = np.arange(20.0)
    assert MeanProfile(4, 2).predictive(flat, flat > -1, np.array([8]), 5)[0][0].tolist() == [2, 3, 4, 5, 2]
    rare = RareEvents(0.0, (0.1, 0.3)).predictive(flat, flat > -1, np.array([8, 12]), 2)[0]
    assert rare.shape == (2, 2)
