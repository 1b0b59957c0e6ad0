"""One variable of a system through noise: hidden variables assimilated with noisy samples (`hidden_law.py`)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from prophecy import chaos
from prophecy.forecasting import forecast
from prophecy.forecasting.context import read
from prophecy.forecasting.settings import DEFAULT
from prophecy.laws.flow import EIGHTH, SparseField, polynomial_terms
from prophecy.laws.flows import finished
from prophecy.laws.hidden import HELD, Search
from prophecy.laws.hidden_law import noise_of, through_noise
from prophecy.laws.problem import Assimilated
from prophecy.laws.weak_form import regression, roughness

Array = NDArray[np.float64]
SETTINGS = DEFAULT.hidden


def _standardised(values: Array) -> Array:
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


def _noisy(values: Array, level: float, seed: int = 0) -> Array:
    return values + level * values.std(axis=0) * np.random.default_rng(seed).standard_normal(values.shape)


@pytest.mark.parametrize(
    ("system", "variable", "level"),
    [(chaos.lorenz, 0, 0.01), (chaos.lorenz, 1, 0.01), (chaos.rossler, 1, 0.003)],
)
def test_one_noisy_variable_is_followed_by_a_field_with_hidden_ones(
    system: chaos.ChaoticSystem, variable: int, level: float
) -> None:
    """Two Lyapunov times to a third of a standard deviation, on most of four trajectories."""
    followed, inside = 0, []
    for seed in range(1, 5):
        series = system.sample(812, seed=seed)[:, variable]
        ahead = forecast(_noisy(series[:512], level, seed), 300)
        if ahead.method == "field with 2 hidden variables by assimilation":
            error = np.abs(np.asarray(ahead.point) - series[512:])[:60] / series[:512].std()
            followed += bool(error.max() < 1 / 3)
            inside.append((np.asarray(ahead.lower) <= series[512:]) & (series[512:] <= np.asarray(ahead.upper)))
    assert followed >= 3
    assert np.mean(inside) > 0.8


@pytest.mark.parametrize("seen", [(0, 2), (1, 2)])
def test_two_noisy_variables_are_followed_without_the_third(seen: tuple[int, int]) -> None:
    followed = 0
    for seed in range(1, 4):
        series = chaos.lorenz.sample(812, seed=seed)[:, list(seen)]
        ahead = forecast(_noisy(series[:512], 0.01, seed), 300)
        if ahead.method == "field with 1 hidden variable by assimilation":
            error = np.abs(np.asarray(ahead.point) - series[512:])[:60] / series[:512].std(axis=0)
            followed += bool(error.max() < 1 / 3)
    assert followed >= 2


@pytest.mark.parametrize("level", [3e-3, 0.01, 0.03])
def test_noise_is_known_by_high_differences_of_one_size(level: float) -> None:
    series = _noisy(chaos.lorenz.sample(512)[:, :1], level)
    said = noise_of(_standardised(series), float(roughness(_standardised(series)).max()), SETTINGS)
    assert said == pytest.approx(level, rel=0.3)


@pytest.mark.parametrize("per_lyapunov", [15, 30, 60])
def test_a_clean_series_has_no_noise_at_any_rate(per_lyapunov: int) -> None:
    clean = _standardised(chaos.lorenz.sample(512, per_lyapunov=per_lyapunov)[:, :1])
    assert noise_of(clean, float(roughness(clean).max()), SETTINGS) == 0.0


@pytest.mark.parametrize("kind", ["season", "autoregression", "walk"])
def test_no_law_is_found_in_what_has_none(kind: str) -> None:
    generator = np.random.default_rng(1)
    time = np.arange(512)
    if kind == "season":
        values = np.sin(2 * np.pi * time / 24) + 0.5 * np.sin(2 * np.pi * time / 168) + 0.003 * time
        values = values + 0.1 * np.cumsum(generator.standard_normal(512)) / 5
    elif kind == "walk":
        values = np.cumsum(np.cumsum(generator.standard_normal(512)))
    else:
        values = np.zeros(512)
        for k in range(2, 512):
            values[k] = 1.95 * values[k - 1] - 0.98 * values[k - 2] + generator.standard_normal()
    context = read(_noisy(values[:, None], 0.01, 1))
    assert through_noise(context, context.values, 60, 0.01, DEFAULT) is None


def test_a_track_needs_the_noise_that_is_there_and_no_more_with_the_law() -> None:
    """From the true field and states the noise found is the noise added, at every tightness."""
    system = chaos.rossler.sample(400)
    states = _standardised(system)
    field = regression(SparseField.of(polynomial_terms(3, 2)), states)
    values = states[:, :1] + 0.02 * np.random.default_rng(3).standard_normal((400, 1))
    track = Search(values, field, states.copy(), 0.02)
    for looseness in (0.3, 0.1, 0.03, 0.01):
        track.tighten(looseness)
    assert track.noise == pytest.approx(0.02, rel=0.15)
    assert np.abs(track.states[:, 0] - states[:, 0]).std() < 0.01  # half of the noise or less is left in the states
    ends = track.field.steps(EIGHTH, track.states[:-1], 4)
    assert np.abs(ends - track.states[1:]).max() < 0.02  # one trajectory, up to a small part of the noise


@pytest.mark.parametrize(("kind", "noise_only"), [("white", True), ("slow", False)])
def test_residuals_that_are_not_white_are_no_noise(kind: str, noise_only: bool) -> None:
    states = _standardised(chaos.rossler.sample(300))
    rest = {"white": np.random.default_rng(0).standard_normal(300), "slow": np.sqrt(2) * np.sin(np.arange(300) / 5)}
    values = states + 0.01 * rest[kind][:, None] * np.array([1.0, 0.0, 0.0])
    field = SparseField.of(polynomial_terms(3, 2))
    found = Assimilated(field, states, np.full(3, 0.01), 0.01, np.zeros((30, 30)), np.zeros((3, 33)), 0.0)
    seen = np.broadcast_to([1.0, HELD, HELD], values.shape)
    model = finished(found, values, values[:, :1], seen, np.zeros(3), values, DEFAULT.laws)
    assert model.conclusive == noise_only
