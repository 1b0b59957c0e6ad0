"""The long run: distances between statistics, and 10 000 free steps that keep them."""

from __future__ import annotations

import numpy as np
import pytest

from prophecy import chaos
from prophecy.evaluation import hellinger, histogram_distance, spectral_distance, spectrum
from prophecy.forecasting import forecast


def test_hellinger_distance_is_that_of_two_normal_distributions() -> None:
    # For two normals a standard deviation apart: 1 - exp(-1 / 8) is the square of the distance.
    x = np.linspace(-12, 12, 20_001)
    p, q = (np.exp(-0.5 * (x - centre) ** 2) for centre in (0.0, 1.0))
    assert hellinger(p / p.sum(), q / q.sum()) == pytest.approx(np.sqrt(1 - np.exp(-1 / 8)), rel=1e-6)


def test_shares_of_a_spectrum_sum_to_one_and_peak_at_the_frequency() -> None:
    wave = np.sin(2 * np.pi * 20 / 400 * np.arange(1200)).reshape(3, 400, 1)
    shares = spectrum(wave)
    assert shares.sum() == pytest.approx(1.0)
    assert np.argmax(shares[0]) + 1 == 20


def test_a_path_that_rests_or_is_lost_is_as_far_as_can_be() -> None:
    truth = chaos.lorenz.sample(2000).reshape(4, 500, 3)
    assert spectral_distance(np.zeros((4, 500, 3)), truth) == 1.0
    assert spectral_distance(np.full((4, 500, 3), np.nan), truth) == 1.0
    assert histogram_distance(np.full((500, 3), np.inf), truth[0]) == 1.0


def test_two_starts_of_one_system_are_closer_than_two_systems() -> None:
    one, other = (chaos.lorenz.sample(4000, seed=seed).reshape(8, 500, 3) for seed in (0, 1))
    third = chaos.rossler.sample(4000).reshape(8, 500, 3)
    assert spectral_distance(one, other) < 0.08 < 0.2 < spectral_distance(one, third)
    assert histogram_distance(one.reshape(-1, 3), other.reshape(-1, 3)) < 0.2


def test_ten_thousand_free_steps_of_lorenz_keep_its_spectrum_and_histogram() -> None:
    truth = chaos.lorenz.sample(10_000, seed=1)
    free = np.asarray(forecast(chaos.lorenz.sample(512), 10_000).point)
    assert spectral_distance(free.reshape(20, 500, 3), truth.reshape(20, 500, 3)) < 0.1
    assert histogram_distance(free, truth) < 0.2


def test_past_its_valid_time_a_forecast_is_one_path_and_its_interval_says_so() -> None:
    context, far = chaos.lorenz.sample(512), slice(900, 1200)
    one = forecast(context, 1200)
    spread = context.std(axis=0)
    path, interval = np.asarray(one.point)[far], np.asarray(one.upper - one.lower)[far]
    assert (path.std(axis=0) > 0.5 * spread).all()
    assert (np.median(interval, axis=0) > 2 * spread).all()
    assert (np.asarray(one.mean)[far].std(axis=0) < 0.5 * spread).all()
