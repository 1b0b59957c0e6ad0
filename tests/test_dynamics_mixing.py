"""The mixture's arithmetic, computed a second time: weights, errors, disagreement, what smoothers expect."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prophecy.dynamics.choice import Rolling
from prophecy.dynamics.columns import Column, Kind, candidates
from prophecy.dynamics.mixing import Mixture, Rolled, mixed, roll, score
from prophecy.dynamics.settings import DEFAULT

NAN = np.nan
RNG = np.random.default_rng(0)
ERRORS = {
    Kind.SMOOTHERS: RNG.normal(0, 1.0, (6, 3)),
    Kind.DRIFT: RNG.normal(0, 1.3, (6, 3)),
    Kind.COPY: np.where(np.arange(18).reshape(6, 3) % 5 == 4, NAN, RNG.normal(0, 1.1, (6, 3))),
    Kind.THETA: np.full((6, 3), NAN),
}
PATHS = {kind: RNG.normal(0, 2, 4) for kind in ERRORS}
DEVIATIONS = {
    Kind.SMOOTHERS: (RNG.uniform(1, 2, (6, 3)), RNG.uniform(1, 2, 4)),
    Kind.THETA: (np.ones((6, 3)), np.full(4, 3.0)),
}
PARTS = [Rolled(kind, kind.value, ERRORS[kind], PATHS[kind], DEVIATIONS.get(kind)) for kind in ERRORS]
COLUMN = Column(RNG.normal(0, 3, 40), np.ones(40, dtype=bool), (), 4)


def plain_score(errors):
    steps = []
    for step in errors.T:
        sizes = [abs(value) for value in step if not np.isnan(value)]
        if sizes:
            steps.append(sum(sizes) / len(sizes))
    return sum(steps) / len(steps) if steps else NAN


@pytest.mark.parametrize("kind", ERRORS)
def test_a_score_is_the_mean_over_steps_of_the_mean_size_at_each(kind):
    np.testing.assert_allclose(score(ERRORS[kind]), plain_score(ERRORS[kind]), rtol=1e-14)


def test_steps_without_an_error_do_not_count_in_a_score():
    assert score(np.array([[2.0, NAN, -4.0], [NAN, NAN, 8.0]])) == 4.0
    assert np.isnan(score(np.full((2, 3), NAN)))


@pytest.mark.parametrize("least", [1e-3, 0.3])
@pytest.mark.parametrize("rounding", [1e-9, 0.2])
def test_weights_fall_with_a_power_of_the_relative_score(least, rounding):
    settings = replace(DEFAULT, mixing_least=least, mixing_rounding=rounding)
    made = mixed(COLUMN, PARTS, settings)
    known = [plain_score(part.errors) for part in PARTS[:3]]
    unknown = np.quantile(known, settings.mixing_unrolled)
    folds = 6  # of the most complete part at the first step
    power = settings.mixing_power * folds / (folds + settings.mixing_folds)
    floor = rounding * np.std(COLUMN.y)
    weights = []
    for part, value in zip(PARTS, [*known, unknown], strict=True):
        weights.append(settings.prior(part.kind.name) * ((value + floor) / (min(known) + floor)) ** -power)
    weights = [weight if weight >= least * max(weights) else 0.0 for weight in weights]
    np.testing.assert_allclose(made.weights, np.array(weights) / sum(weights), rtol=1e-12)
    np.testing.assert_allclose(made.path, sum(w * part.path for w, part in zip(made.weights, PARTS, strict=True)))
    for place in np.ndindex(6, 3):
        pairs = [(w, part.errors[place]) for w, part in zip(made.weights, PARTS, strict=True)]
        there = [(w, error) for w, error in pairs if not np.isnan(error)]
        expected = sum(w * error for w, error in there) / sum(w for w, _ in there)
        np.testing.assert_allclose(made.errors[place], expected, rtol=1e-12)


def test_forecasts_are_counted_at_their_first_step():
    """Later steps of late origins lie beyond the end of the context."""
    late = np.arange(6)[:, None] + np.arange(3) > 5
    parts = [replace(part, errors=np.where(late, NAN, part.errors)) for part in PARTS[:2]]
    scores = [plain_score(part.errors) for part in parts]
    power = DEFAULT.mixing_power * 6 / (6 + DEFAULT.mixing_folds)
    priors = np.array([DEFAULT.prior(part.kind.name) for part in parts])
    weights = priors * (np.array(scores) / min(scores)) ** -power
    np.testing.assert_allclose(mixed(COLUMN, parts, DEFAULT).weights, np.array(weights) / sum(weights), rtol=1e-7)


def test_a_constant_column_has_a_floor_of_rounding_too():
    flat = Column(np.full(40, 5.0), np.ones(40, dtype=bool), (), 4)
    exact = [replace(PARTS[0], errors=np.zeros((6, 3))), replace(PARTS[1], errors=np.full((6, 3), 1e-12))]
    made = mixed(flat, exact, DEFAULT)
    priors = np.array([DEFAULT.prior(part.kind.name) for part in exact])
    power = DEFAULT.mixing_power * 6 / (6 + DEFAULT.mixing_folds)
    weights = priors * np.array([1.0, (1e-12 + 1e-9) / 1e-9]) ** -power
    np.testing.assert_allclose(made.weights, weights / weights.sum(), rtol=1e-12)


def test_where_nothing_was_rolled_the_mixtures_errors_are_unknown():
    nothing = [replace(part, errors=np.full((6, 3), NAN)) for part in PARTS[:2]]
    assert np.isnan(mixed(COLUMN, nothing, DEFAULT).errors).all()


def test_disagreement_is_the_weighted_deviation_of_the_paths_that_were_rolled():
    weights = np.array([0.4, 0.3, 0.1, 0.2])
    made = Mixture(PARTS, weights, np.zeros(4), np.zeros((6, 3)))
    for step in range(4):
        paths = [part.path[step] for part in PARTS[:3]]
        centre = np.average(paths, weights=weights[:3])
        expected = np.sqrt(np.average((np.array(paths) - centre) ** 2, weights=weights[:3]))
        np.testing.assert_allclose(made.disagreement()[step], expected, rtol=1e-12)
    nothing = [replace(part, errors=np.full((6, 3), NAN)) for part in PARTS]
    unrolled = Mixture(nothing, weights, np.zeros(4), np.zeros((6, 3)))
    paths = np.array([part.path for part in PARTS])
    centre = np.average(paths, axis=0, weights=weights)
    np.testing.assert_allclose(
        unrolled.disagreement(), np.sqrt(np.average((paths - centre) ** 2, axis=0, weights=weights)), rtol=1e-12
    )


def test_shares_are_the_weights_above_zero_the_largest_first_and_a_kinds_weight_is_their_sum():
    made = Mixture([*PARTS, PARTS[0]], np.array([0.2, 0.5, 0.0, 0.1, 0.2]), np.zeros(4), np.zeros((6, 3)))
    assert made.shares()[0] == (0.5, Kind.DRIFT.value)
    assert [share for share, _ in made.shares()] == [0.5, 0.2, 0.2, 0.1]
    assert made.weight(Kind.SMOOTHERS) == pytest.approx(0.4)
    assert made.weight(Kind.RARE) == 0.0


def test_smoothers_are_those_that_expect_errors_of_their_own_by_weight():
    made = Mixture(PARTS, np.array([0.3, 0.5, 0.1, 0.1]), np.zeros(4), np.zeros((6, 3)))
    errors, then, now = made.smoothers()
    np.testing.assert_allclose(then, 0.75 * DEVIATIONS[Kind.SMOOTHERS][0] + 0.25 * DEVIATIONS[Kind.THETA][0], rtol=1e-7)
    np.testing.assert_allclose(now, 0.75 * DEVIATIONS[Kind.SMOOTHERS][1] + 0.25 * DEVIATIONS[Kind.THETA][1], rtol=1e-7)
    assert errors.shape == (6, 3)
    idle = Mixture(PARTS, np.array([0.0, 1.0, 0.0, 0.0]), np.zeros(4), np.zeros((6, 3)))
    np.testing.assert_allclose(idle.smoothers()[2], (DEVIATIONS[Kind.SMOOTHERS][1] + 3.0) / 2)  # none has weight: alike
    assert Mixture(PARTS[1:3], np.array([0.5, 0.5]), np.zeros(4), np.zeros((6, 3))).smoothers() is None


def test_rolling_compares_each_candidate_with_what_was_seen_and_nothing_beyond_the_end():
    y = np.cumsum(np.random.default_rng(3).normal(size=30))
    seen = np.ones(30, dtype=bool)
    seen[24] = False
    rolling = Rolling(15, np.array([15, 22, 27]), 4, seen)
    only = replace(DEFAULT, without=frozenset(kind.name for kind in Kind) - {"COPY"})
    (copy,) = [part for part in roll(Column(y, seen, (), 6), rolling, only) if part.kind is Kind.COPY]
    for row, origin in enumerate(rolling.origins):
        for step in range(4):
            place = origin + step
            if place >= 30 or not seen[place]:
                assert np.isnan(copy.errors[row, step])
            else:
                assert copy.errors[row, step] == pytest.approx(y[origin - 1] - y[place])
    assert copy.path.shape == (6,)
    np.testing.assert_allclose(copy.path, y[-1])


def test_smoothers_say_what_errors_they_expect_and_plain_candidates_do_not():
    y = np.cumsum(np.random.default_rng(4).normal(size=40))
    seen = np.ones(40, dtype=bool)
    parts = {
        part.kind: part for part in roll(Column(y, seen, (), 3), Rolling(20, np.array([20, 30]), 3, seen), DEFAULT)
    }
    smoothers = parts[Kind.SMOOTHERS]
    then, now = smoothers.deviations
    assert then.shape == (2, 3)
    assert now.shape == (3,)
    assert (then > 0).all()
    assert (np.diff(now) > 0).all()
    assert parts[Kind.DRIFT].deviations is None


def test_errors_of_smoothers_are_weighed_like_what_they_expected():
    both = [PARTS[0], replace(PARTS[3], errors=RNG.normal(0, 2.0, (6, 3)))]
    made = Mixture([both[0], PARTS[1], both[1]], np.array([0.3, 0.5, 0.2]), np.zeros(4), np.zeros((6, 3)))
    errors, then, now = made.smoothers()
    for found, values in (
        (errors, [part.errors for part in both]),
        (then, [part.deviations[0] for part in both]),
        (now, [part.deviations[1] for part in both]),
    ):
        np.testing.assert_allclose(found, 0.6 * values[0] + 0.4 * values[1], rtol=1e-7)


def test_nothing_is_compared_beyond_the_end_and_candidates_after_one_that_fails_are_tried():
    short = Column(COLUMN.y[:20], COLUMN.seen[:20], (7,), 6)
    rolling = Rolling.over(short.seen, 6, 7, DEFAULT)
    beyond = rolling.origins[:, None] + np.arange(rolling.horizon) >= 20
    assert beyond.sum() > len(rolling.origins)
    parts = roll(short, rolling, DEFAULT)
    kinds = [candidate.kind for candidate in candidates(short, DEFAULT)]
    failed = [k for k, candidate in enumerate(candidates(short, DEFAULT)) if candidate.fit(short) is None]
    assert failed
    assert failed[0] < len(kinds) - 1
    assert [part.kind for part in parts] == [kind for k, kind in enumerate(kinds) if k not in failed]
    for part in parts:
        if np.isfinite(part.errors).any():
            np.testing.assert_array_equal(np.isnan(part.errors), beyond)


def test_candidates_whose_path_overflows_are_left_out_and_those_after_them_tried():
    huge = Column(np.exp(np.linspace(600, 700, 40)), np.ones(40, dtype=bool), (), 4)
    with np.errstate(all="ignore"):
        parts = roll(huge, Rolling.over(huge.seen, 4, 1, DEFAULT), DEFAULT)
    assert next(iter(candidates(huge, DEFAULT))).kind is Kind.SMOOTHERS
    assert [part.kind for part in parts if part.kind in (Kind.SMOOTHERS, Kind.COPY, Kind.DRIFT)] == [
        Kind.COPY,
        Kind.DRIFT,
    ]
    assert all(np.isfinite(part.path).all() for part in parts)


def test_a_part_counts_from_a_share_of_the_largest_weight_on_whatever_that_is():
    """Weights before they are normalised: those of the priors, which need not reach 1."""
    priors = tuple((name, 0.25 if name == Kind.SMOOTHERS.name else 0.05) for name, _ in DEFAULT.priors)
    unknown = [replace(part, errors=np.full((6, 3), NAN)) for part in PARTS]
    for least, kept in ((0.15, 4), (0.25, 1)):
        made = mixed(COLUMN, unknown, replace(DEFAULT, priors=priors, mixing_least=least))
        assert int((made.weights > 0).sum()) == kept
