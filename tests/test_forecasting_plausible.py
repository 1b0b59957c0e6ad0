"""Past what can be predicted the path of a deterministic system goes on as the series once did."""

from __future__ import annotations

import numpy as np
import pytest

from prophecy import chaos
from prophecy.forecasting import forecast
from prophecy.forecasting.plausible import continued
from prophecy.forecasting.settings import DEFAULT
from prophecy.laws.trajectory import like_the_past

STEPS = 200


@pytest.fixture(scope="module")
def lorenz() -> np.ndarray:
    series = chaos.lorenz.sample(600, 15, seed=5)
    return (series - series.mean(axis=0)) / series.std(axis=0)


def growing(steps: int, at: int) -> np.ndarray:
    """Rolling errors (8 origins) of 0.1 standard deviations before step `at`, and of 1 from there on."""
    size = np.where(np.arange(steps) < at, 0.1, 1.0)
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(8, steps, 3)) * size[:, None]


def test_a_flat_path_becomes_a_stretch_of_the_past_where_nothing_is_known(lorenz):
    found = continued(np.zeros((STEPS, 3)), growing(100, 40), lorenz)
    assert found is not None
    assert (found[:25] == 0).all()
    far = found[60:]
    apart = np.abs(lorenz[:, None] - far[None]).max(axis=2)
    assert (apart.min(axis=0) == 0).all(), "each state is one that was"
    assert (np.diff(np.argmin(apart, axis=0)) == 1).mean() > 0.9, "in the order in which they came"


@pytest.mark.parametrize(
    ("what", "path", "errors"),
    [
        ("forecasts that are good throughout", np.zeros((STEPS, 3)), growing(100, 100)),
        ("forecasts that never knew anything", np.zeros((STEPS, 3)), growing(100, 0)),
        ("a path that lives", np.sin(np.arange(STEPS)[:, None] / 3 + np.arange(3)), growing(100, 40)),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_nothing_is_changed_for(what, path, errors, lorenz):
    assert continued(path, errors, lorenz) is None


def test_noise_of_several_variables_keeps_its_mean():
    noise = np.random.default_rng(0).standard_normal((300, 3))
    made = forecast(noise, 100)
    assert "repetition" not in made.method
    assert np.asarray(made.point)[20:].std() < 0.2


def test_a_decomposition_without_an_end_is_no_law_and_no_error(monkeypatch):
    def gives_up(*rest: object, **named: object) -> None:
        raise np.linalg.LinAlgError("SVD did not converge")

    series = chaos.lorenz.sample(300, 30, seed=3)
    noisy = series + 0.02 * series.std(axis=0) * np.random.default_rng(0).standard_normal(series.shape)
    monkeypatch.setattr(np.linalg, "svd", gives_up)
    assert np.isfinite(np.asarray(forecast(noisy, 30).point)).all()


def test_a_path_through_noise_that_comes_to_rest_or_leaves_is_no_laws(lorenz):
    noisy = lorenz[:400] + 0.1 * np.random.default_rng(0).standard_normal((400, 3))
    noise, laws = np.full(3, 0.1), DEFAULT.laws
    true, still = lorenz[400:], np.tile(lorenz[400], (200, 1))
    assert like_the_past(true, noisy, noise, laws)
    assert not like_the_past(still, noisy, noise, laws)
    assert not like_the_past(4 * true, noisy, noise, laws)
    assert like_the_past(still[:20], noisy, noise, laws), "too short to say"
    assert like_the_past(np.full((200, 3), np.nan), noisy, noise, laws), "lost, not led astray"
    # A series that came to rest may stay there.
    calm = np.concatenate([noisy[:200], still + 0.1 * np.random.default_rng(1).standard_normal((200, 3))])
    assert like_the_past(still, calm, noise, laws)
