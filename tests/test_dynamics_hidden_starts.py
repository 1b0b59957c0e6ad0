"""Guesses of hidden variables: leaky integrals, what closes, and what is said of series that tell nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from prophecy import chaos, forecast
from prophecy.dynamics.hidden_starts import MARGIN, Pair, alike, closing, guesses, leaky, pairs, refine, scan
from prophecy.dynamics.settings import DEFAULT

Array = NDArray[np.float64]


def _standardised(values: Array) -> Array:
    return np.ascontiguousarray((values - values.mean(axis=0)) / values.std(axis=0))


@pytest.mark.parametrize("time", [2.0, 8.0, -4.0])
def test_a_leaky_integral_obeys_its_equation(time: float) -> None:
    """Of a sinusoid it is the sinusoid divided by 1 + i w time, once the beginning is forgotten."""
    t, w = np.arange(400), 0.2
    found = leaky(np.cos(w * t), time)
    want = (np.exp(1j * w * t) / (1 + 1j * w * time)).real
    assert np.abs(found - want)[120:-120].max() < 0.01


def test_an_undamped_integral_is_the_integral_up_to_a_line() -> None:
    t = np.arange(300) / 10
    want = np.sin(t)
    got = leaky(np.cos(t) / 10, np.inf)
    line = np.column_stack([np.ones(300), t])
    rest = [each - line @ np.linalg.lstsq(line, each, rcond=None)[0] for each in (want, got)]
    assert np.abs(rest[0] - rest[1]).max() < 1e-2


def test_the_true_pair_of_lorenz_closes_and_another_does_not() -> None:
    """y' = x (28 - z) - y: seen y, with q = x and B = x what is left is affine in z, y and x."""
    x, y, z = _standardised(chaos.lorenz.sample(256)).T
    raw = chaos.lorenz.sample(256)
    rate = raw[:, 0] * (28 - raw[:, 2]) - raw[:, 1]
    pair = Pair(np.ascontiguousarray(y), np.ascontiguousarray(x), rate / rate.std(), 1)
    zero = -raw[:, 0].mean() / raw[:, 0].std()
    guess, share = closing(pair, 0.0, 1.0, zero)
    away = np.nonzero(np.abs(x - zero) > 0.5)[0]
    away = away[(away >= MARGIN) & (away < 256 - MARGIN)]
    columns = np.column_stack([np.ones(256), y, x, guess])[away]
    rest = z[away] - columns @ np.linalg.lstsq(columns, z[away], rcond=None)[0]
    assert rest.std() < 0.1
    assert share < 0.05
    assert closing(pair, 1.0, 0.0, 0.3)[1] > 3 * share


def test_refining_never_makes_a_choice_worse() -> None:
    visible = _standardised(chaos.lorenz.sample(200)[:, :1])
    noise = np.random.default_rng(1).standard_normal((20, 2))
    for pair in pairs(visible, np.zeros(1), DEFAULT)[:3]:
        choices = scan(pair, 4, 3)
        assert choices.shape == (13, 4)
        for choice in choices:
            better = refine(pair, choice, noise)
            assert better[3] <= choice[3]
            assert closing(pair, *better[:3])[1] == pytest.approx(better[3], rel=1e-9)


@pytest.mark.parametrize("seen", [1, 2])
def test_guesses_are_finite_bounded_and_different(seen: int) -> None:
    visible = _standardised(chaos.rossler.sample(220)[:, :seen])
    found = guesses(visible, np.zeros(seen), DEFAULT)
    assert len(found) > DEFAULT.hidden_plain
    for guess in found:
        assert guess.shape == (220, 3 - seen)
        assert np.isfinite(guess).all()
    ranked = found[: -DEFAULT.hidden_plain]
    assert all(np.abs(guess).max() <= 6.0 for guess in ranked)
    assert not alike(visible, ranked[0], ranked[1], 0.01)


def test_a_guess_is_alike_itself_under_an_affine_change() -> None:
    generator = np.random.default_rng(0)
    visible, guess = generator.standard_normal((80, 1)), generator.standard_normal((80, 2))
    turned = guess @ np.array([[1.0, 0.5], [-0.3, 2.0]]) + 3.0 + visible
    assert alike(visible, guess, turned, 1e-12)
    assert not alike(visible, guess, generator.standard_normal((80, 2)), 0.1)


def test_a_short_series_has_no_guesses() -> None:
    assert guesses(np.random.default_rng(0).standard_normal((31, 1)), np.zeros(1), DEFAULT) == []


@pytest.mark.parametrize("kind", ["constant", "steps", "line", "short", "square"])
def test_series_without_a_flow_behind_them_are_forecast_all_the_same(kind: str) -> None:
    t = np.arange(300)
    values = {
        "constant": np.full(300, 3.0),
        "steps": np.floor(t / 50.0),
        "line": 0.5 * t,
        "short": np.sin(t[:40] / 3.0),
        "square": np.sign(np.sin(t / 9.0)),
    }[kind]
    ahead = forecast(values, 20)
    assert np.isfinite(ahead.mean).all()
    assert (ahead.lower <= ahead.mean).all()
    assert (ahead.mean <= ahead.upper).all()
