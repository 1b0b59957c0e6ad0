"""Guesses of hidden variables: leaky integrals, what closes, and what becomes of series without a law."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from prophecy import chaos, forecast
from prophecy.forecasting.settings import DEFAULT
from prophecy.laws import flow
from prophecy.laws.hidden_starts import (
    MARGIN,
    Family,
    Pair,
    alike,
    closing,
    directions,
    guesses,
    leaky,
)

Array = NDArray[np.float64]
THREE, FOUR, CUBIC = Family(3, 2), Family(4, 2), Family(3, 3)


def _standardised(values: Array) -> Array:
    return np.ascontiguousarray((values - values.mean(axis=0)) / values.std(axis=0))


def _pair(u: Array, r: Array) -> Pair:
    """One choice of variables at hand, (time, m), none of them an integral."""
    return Pair(u.T, r)


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
    u = np.column_stack([y, x])
    pair = _pair(u, rate / rate.std())
    zero = -raw[:, 0].mean() / raw[:, 0].std()
    (guess, other), (share, worse) = closing(pair, np.array([[0.0, 1.0, zero], [1.0, 0.0, 0.3]]), 2)
    away = np.nonzero(np.abs(x - zero) > 0.5)[0]
    away = away[(away >= MARGIN) & (away < 256 - MARGIN)]
    columns = np.column_stack([np.ones(256), y, x, guess])[away]
    rest = z[away] - columns @ np.linalg.lstsq(columns, z[away], rcond=None)[0]
    assert rest.std() < 0.1
    assert share < 0.05
    assert worse > 3 * share
    assert np.abs(other).max() <= 6.0


def test_a_cube_of_the_visible_variable_is_taken_out_by_terms_of_degree_3_alone() -> None:
    """r = z - x^3: with B = 1 and degree 3, what is left of r is z without its part along 1, x, q and their powers."""
    t = np.arange(256) / 8
    x, q, z = np.sin(t) + 0.4 * np.sin(2.3 * t), np.cos(0.7 * t), np.sin(1.7 * t + 1)
    u, one = np.column_stack([x, q]), np.array([[0.0, 0.0, -1.0]])
    terms = flow.features(flow.polynomial_terms(2, 3), u)[MARGIN:-MARGIN]
    want = z[MARGIN:-MARGIN] - terms @ np.linalg.lstsq(terms, z[MARGIN:-MARGIN], rcond=None)[0]
    for degree, agrees in ((3, True), (2, False)):
        guess = closing(_pair(u, z - 5 * x**3), one, degree)[0][0, MARGIN:-MARGIN]
        inside = np.abs(guess) < 5.9  # farther ones are cut
        correlation = float(np.corrcoef(guess[inside], want[inside])[0, 1])
        assert (abs(correlation) > 0.999) == agrees


@pytest.mark.parametrize("family", [THREE, FOUR, CUBIC])
def test_the_terms_of_a_family_are_closed_under_changes_that_keep_hidden_variables_in_order(family: Family) -> None:
    """Each hidden variable may be changed by affine functions of those before it: that is what `standardise` does."""
    generator, v = np.random.default_rng(0), family.variables
    points = generator.standard_normal((200, v))
    change = np.tril(generator.standard_normal((v, v)))
    after = points @ change.T + generator.standard_normal(v)
    before_terms, after_terms = (flow.features(family.terms, np.ascontiguousarray(each)) for each in (points, after))
    rest = after_terms - before_terms @ np.linalg.lstsq(before_terms, after_terms, rcond=None)[0]
    assert np.abs(rest).max() < 1e-9 * np.abs(after_terms).max()


def test_no_direction_is_the_opposite_of_another() -> None:
    for m in (2, 3):
        towards = directions(m)
        cosines = towards @ towards.T
        assert np.allclose(np.diag(cosines), 1.0)
        assert np.abs(cosines - np.eye(len(towards))).max() < 1 - 1e-9


@pytest.mark.parametrize(("seen", "family"), [(1, THREE), (2, THREE), (1, FOUR), (2, FOUR), (3, FOUR), (1, CUBIC)])
def test_guesses_are_finite_bounded_different_and_ranked(seen: int, family: Family) -> None:
    visible = _standardised(chaos.rossler.sample(220)[:, :seen])
    found = guesses(visible, family, DEFAULT.hidden)
    assert found
    for _, hidden in found:
        assert hidden.shape == (220, family.variables - seen)
        assert np.isfinite(hidden).all()
        assert np.abs(hidden).max() <= 6.0
    shares = [share for share, _ in found]
    assert shares == sorted(shares)
    assert not alike(visible, found[0][1], [hidden for _, hidden in found[1:]], 0.01).any()


def test_a_guess_is_alike_itself_under_an_affine_change() -> None:
    generator = np.random.default_rng(0)
    visible, guess = generator.standard_normal((80, 1)), generator.standard_normal((80, 2))
    turned = guess @ np.array([[1.0, 0.5], [-0.3, 2.0]]) + 3.0 + visible
    other = generator.standard_normal((80, 2))
    assert alike(visible, guess, [other, turned, other], 1e-12).tolist() == [False, True, False]
    assert alike(visible, guess, [], 0.1).tolist() == []


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
    assert np.isfinite(ahead.point).all()
    assert (ahead.lower <= ahead.point).all()
    assert (ahead.point <= ahead.upper).all()
