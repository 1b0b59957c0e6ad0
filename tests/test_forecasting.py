"""One scorer: candidates as predictive distributions, their weights, the mixture; each computed a second time."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

import prophecy
from prophecy import forecast
from prophecy._forecast import PROBABILITIES
from prophecy.forecasting import seasons
from prophecy.forecasting.autoregression import fit_autoregressions
from prophecy.forecasting.calibration import standard_quantiles
from prophecy.forecasting.mixture import mixed
from prophecy.forecasting.of_time import frequencies, polynomial, waves
from prophecy.forecasting.own import own_candidates
from prophecy.forecasting.scorer import Part, Rolling, nearby, roll, scored, weights
from prophecy.forecasting.series import VALUES, Candidate, Series, logarithms
from prophecy.forecasting.settings import DEFAULT

R = np.random.default_rng


def series(y, seasons=(), horizon=6):
    return Series(np.asarray(y, dtype=float), np.ones(len(y), dtype=bool), seasons, horizon)


def rolled(y, horizon=6, seasons=(), own=None):
    one, settings = series(y, seasons, horizon), replace(DEFAULT, own=own_candidates(own))
    rolling = Rolling.over(one.seen, horizon, min(seasons, default=1), settings)
    return one, rolling, roll(one, rolling, settings)


def test_a_line_and_its_interval_are_those_of_least_squares():
    y = 3 + 0.5 * np.arange(40) + R(0).standard_normal(40)
    location, deviation = polynomial(1)(y, y > -99, 5).predictive(y, y > -99, np.array([30, 40]), 5)
    for row, end in enumerate((30, 40)):
        design = np.column_stack([np.ones(end), np.arange(end)])
        ahead = np.column_stack([np.ones(5), np.arange(end, end + 5)])
        c, (left,), *_ = np.linalg.lstsq(design, y[:end], rcond=None)
        np.testing.assert_allclose(location[row], ahead @ c, rtol=1e-9)
        lever = np.sum(ahead @ np.linalg.inv(design.T @ design) * ahead, axis=1)
        np.testing.assert_allclose(deviation[row], np.sqrt(left / (end - 4) * (1 + lever)), rtol=1e-6)


def test_an_autoregression_returns_to_its_mean_and_its_errors_grow_as_simulated():
    y = np.zeros(4000)
    noise = R(1).standard_normal(4000)
    for t in range(1, 4000):
        y[t] = 0.8 * y[t - 1] + noise[t]
    y += 50
    location, deviation = fit_autoregressions(y, y > 0, DEFAULT).predictive(y, y > 0, np.array([4000]), 30)
    assert location[0, -1] == pytest.approx(y[-2048:].mean(), abs=0.5)
    np.testing.assert_allclose(deviation[0] ** 2, np.cumsum(0.64 ** np.arange(30)), rtol=0.1)


@pytest.mark.parametrize("period", [7.3, 24.0, 61.7])
def test_sinusoids_are_found_at_any_frequency(period):
    times = np.arange(400)
    truth = 2 + 0.01 * times + 3 * np.sin(2 * np.pi * times / period + 1)
    y = truth + 0.5 * R(2).standard_normal(400)
    location, _ = waves(4, 2.0)(y[:300], y[:300] > -99, 100).predictive(y, y > -99, np.array([300]), 100)
    assert np.abs(location[0] - truth[300:]).max() < 0.6


def test_noise_alone_has_no_sinusoids():
    found = [waves(4, 2.0)(R(seed).standard_normal(200), np.ones(200, dtype=bool), 5) for seed in range(20)]
    assert sum(one is not None for one in found) <= 1


def test_a_walk_has_no_sinusoid_that_was_not_seen_twice():
    for seed in range(10):
        walk = R(seed).standard_normal(120).cumsum()
        assert (frequencies(walk, np.ones(120, dtype=bool), 4, 2.0) * 120 >= 1.75).all()


def test_the_size_of_errors_is_that_of_the_leads_nearby():
    errors = R(4).standard_normal((7, 9))
    errors[2, 4:] = np.nan
    for step in range(9):
        reach = int(np.ceil((step + 1) / 4))
        some = errors[:, max(step - reach, 0) : step + reach + 1]
        assert nearby(errors)[step] == pytest.approx(np.sqrt(np.pi / 2) * np.nanmean(np.abs(some)))
    assert np.isnan(nearby(np.full((2, 3), np.nan))).all()


def test_candidates_on_different_scales_are_scored_in_the_same_units():
    """The difference of two scores is that of the mean log densities of the values, as scipy computes them."""
    y = np.exp(1 + 0.5 * R(5).standard_normal(3000))
    one = series(y, horizon=1)
    rolling = Rolling(1, np.arange(1, 3000), 1, one.seen)
    centre, mean = np.log(y).mean(), y.mean()
    parts = []
    for scale, at in ((VALUES, mean), (logarithms(1), centre)):
        candidate = Candidate("constant", "", scale, lambda x, seen, steps: None)
        parts.append(Part(candidate, np.full((2999, 1), at), None, lambda: None))
    parts = scored(one, rolling, parts, DEFAULT)
    sizes = [part.size[0] for part in parts]
    plain = stats.t.logpdf(y[1:], DEFAULT.tails, mean, sizes[0])
    log = stats.t.logpdf(np.log(y[1:]), DEFAULT.tails, centre, sizes[1])
    difference = np.mean(log - np.log(y[1:])) - np.mean(plain)
    assert parts[1].score[0] - parts[0].score[0] == pytest.approx(difference, rel=1e-6)
    assert difference > 0


def test_weights_are_priors_times_flattened_likelihoods():
    one, rolling, parts = rolled(R(6).standard_normal(120).cumsum(), 8)
    parts = [part for part in parts if np.isfinite(part.score).any()]
    independent = rolling.independent(rolling.compared(one.seen))
    found = weights(parts, rolling, independent, replace(DEFAULT, least_weight=0.0))
    leads = [2**k for k in range(int(np.log2(rolling.steps)) + 1)]
    for step in (0, 4, rolling.steps - 1):
        logs = []
        for part in parts:
            total = np.log(DEFAULT.prior(part.candidate))
            for lead in leads:
                low, high = int(np.ceil(lead / 2**0.5)), max(int(lead * 2**0.5), 1)
                mean = np.nanmean(part.score[low - 1 : high])
                count = independent[lead - 1]
                worth = 1 / (1 / count + abs(np.log2((step + 1) / lead)) / DEFAULT.octave)
                worth *= lead <= 2**0.5 * (step + 1)  # what lies beyond has no say
                total += DEFAULT.flatness * worth * mean
            logs.append(total)
        expected = np.exp(np.array(logs) - max(logs))
        np.testing.assert_allclose(found[:, step], expected / expected.sum(), rtol=1e-8, atol=1e-12)


def test_what_cannot_be_rolled_is_mixed_by_its_prior():
    one, rolling, parts = rolled(np.arange(9.0) + R(7).standard_normal(9), 3)
    nothing = [replace(part, score=np.full(rolling.steps, np.nan)) for part in parts]
    priors = np.array([DEFAULT.prior(part.candidate) for part in parts])
    found = weights(nothing, rolling, rolling.independent(rolling.compared(one.seen)), DEFAULT)
    np.testing.assert_allclose(found, np.repeat((priors / priors.sum())[:, None], rolling.steps, axis=1))


def test_rolling_compares_with_what_was_seen_and_nothing_beyond_the_end():
    seen = np.ones(30, dtype=bool)
    seen[24] = False
    rolling = Rolling(15, np.array([15, 22, 27]), 4, seen)
    expected = [[o + s < 30 and seen[o + s] for s in range(4)] for o in rolling.origins]
    assert rolling.compared(seen).tolist() == expected


def test_long_contexts_are_rolled_over_an_eighth_where_it_shows_a_season():
    """A rest that shows part of a season would choose what suits that part."""
    known = np.ones(6000, dtype=np.bool_)
    for season, least, most in ((1, 750, 751), (24, 750, 751), (1500, 600, 640)):
        assert least <= 6000 - Rolling.over(known, 48, season, DEFAULT).early <= most


def test_the_mixture_is_the_weighted_mean_and_covers_its_parts():
    one, rolling, parts = rolled(50 + R(8).standard_normal(100).cumsum(), 10)
    made = mixed(one, parts, rolling, DEFAULT)
    np.testing.assert_allclose(made.weights.sum(axis=0), 1.0)
    np.testing.assert_allclose(
        made.path,
        sum(w * part.candidate.scale.back(part.ahead()[0]) for w, part in zip(made.weights, made.parts, strict=True)),
    )
    grid = made.quantiles(DEFAULT)
    assert (np.diff(grid, axis=0) > 0).all()
    np.testing.assert_allclose(grid[len(grid) // 2], made.path)
    assert made.shares() == sorted(made.shares(), reverse=True)


def test_tomorrow_does_not_depend_on_how_far_one_asks():
    y = 20 + 5 * np.sin(2 * np.pi * np.arange(400) / 24) + R(9).standard_normal(400)
    short, day, long = (forecast(y, horizon) for horizon in (1, 24, 500))
    assert day.point[0] == pytest.approx(short.point[0], abs=1e-9)
    assert long.point[0] == pytest.approx(short.point[0], abs=0.3)
    assert (long.upper - long.lower)[0] == pytest.approx((short.upper - short.lower)[0], rel=0.25)


def error(make, rival, horizon, draws=6):
    """The mean absolute error of forecasts over that of a rival, and how often an 80 % interval holds."""
    ours = theirs = held = 0.0
    for seed in range(draws):
        y, truth, came = make(R(100 + seed))
        answer = forecast(y, horizon, 0.8)
        ours += np.abs(answer.point - truth).mean()
        theirs += np.abs(rival(y, horizon) - truth).mean()
        held += np.mean((answer.lower <= came) & (came <= answer.upper)) / draws
    return ours / theirs, held


def autoregressive(phi, n, horizon):
    def make(r):
        y = np.zeros(n + horizon + 100)
        for t, e in enumerate(r.standard_normal(len(y) - 1), 1):
            y[t] = phi * y[t - 1] + e
        y = 10 + y[100:]
        return y[:n], y[n:], y[n:]

    return make


def solved(y, horizon):
    x, target = np.column_stack([np.ones(len(y) - 1), y[:-1]]), y[1:]
    c = np.linalg.lstsq(x, target, rcond=None)[0]
    path = [y[-1]]
    for _ in range(horizon):
        path.append(c[0] + c[1] * path[-1])
    return np.array(path[1:])


@pytest.mark.parametrize("phi", [0.5, 0.8])
def test_an_autoregression_is_forecast_as_well_as_by_itself(phi):
    ratio, held = error(autoregressive(phi, 300, 30), solved, 30)
    assert ratio < 1.1
    assert 0.65 < held < 0.95


def test_a_line_in_noise_is_continued():
    def make(r):
        truth = 3 + 0.5 * np.arange(60)
        y = truth + 2 * r.standard_normal(60)
        return y[:45], truth[45:], y[45:]

    ratio, held = error(make, lambda y, h: np.polyval(np.polyfit(np.arange(len(y)), y, 1), len(y) + np.arange(h)), 15)
    assert ratio < 2.2
    assert held > 0.7


def test_a_wild_last_value_does_no_harm():
    def make(r):
        y, _, came = autoregressive(0.5, 150, 20)(r)
        y[-1] += 20
        return y, came, came

    ratio, held = error(make, lambda y, h: np.full(h, np.median(y)), 20)
    assert ratio < 1.2
    assert held > 0.6


@pytest.mark.parametrize("columns", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_columns_of_noise_are_forecast(columns, seed):
    answer = forecast(R(seed).standard_normal((300, columns)), 20)
    assert np.isfinite(answer.point).all()
    heavy = forecast(R(seed).standard_t(3, (300, columns)), 20)
    assert np.isfinite(heavy.point).all()


def bounce(values):
    """A model nobody else has: after 0.9 comes its remainder, and so on."""

    def predict(past, steps):
        path, x = [], past[-1]
        for _ in range(steps):
            x = (7.3 * x + 0.21) % 1
            path.append(x)
        return path

    return predict


def test_candidates_of_the_users_join_and_are_judged_like_all_others():
    x = [0.3]
    while len(x) < 160:
        x.append((7.3 * x[-1] + 0.21) % 1)
    y = np.array(x) + 1e-4 * R(3).standard_normal(160)
    without, given = forecast(y[:150], 3), forecast(y[:150], 3, candidates={"bounce": bounce})
    assert np.abs(given.point[:2] - y[150:152]).max() < 0.02 < np.abs(without.point[:2] - y[150:152]).max()
    assert "bounce" in given.explain()
    wrong = forecast(R(1).standard_normal(150), 5, candidates={"bounce": bounce})
    assert "bounce" not in wrong.explain().split("Weights: ")[1].split("and")[0]
    many = prophecy.forecast_many([y[:150], y[:120]], 2, candidates={"bounce": bounce}, jobs=1)
    assert "bounce" in many[1].explain()


def test_mistakes_of_the_users_candidates_are_named():
    y = R(1).standard_normal(60)
    with pytest.raises(TypeError, match=r"candidates must map names to functions fit\(values\), got \['x'\]"):
        forecast(y, 3, candidates=["x"])
    with pytest.raises(ValueError, match=r"candidate 'short' was asked for .* values and answered with shape \(2,\)"):
        forecast(y, 3, candidates={"short": lambda values: lambda past, steps: past[-2:]})


def test_deviations_of_the_users_candidates_count_and_none_is_passed_over():
    y = R(2).standard_normal(60).cumsum()
    for deviation in (1.0, 2.0):
        own = {"mine": lambda v, d=deviation: lambda u, n: (np.full(n, u[-1]), np.full(n, d)), "no": lambda v: None}
        part, *_ = (p for p in rolled(y, 4, own=own)[2] if p.candidate.family == "own")
        np.testing.assert_array_equal(part.expected, np.full(part.forecasts.shape, deviation))
        np.testing.assert_array_equal(part.ahead()[0], np.full(4, y[-1]))


# What broke when strangers tried it.


@pytest.mark.parametrize("period", [200, 400, 800, 1885])
def test_long_seasons_are_found_without_a_date(period):
    t = np.arange(4 * period + 400)
    clean = np.sin(2 * np.pi * t / period)
    ahead = forecast((clean + 0.1 * R(0).standard_normal(len(t)))[:-200], 200)
    assert np.abs(ahead.point - clean[-200:]).mean() < 0.04


@pytest.mark.parametrize("phi", [0.5, 0.8])
def test_autoregressions_return_to_their_mean(phi):
    left = []
    for seed in range(10):
        y = lfilter([1], [1, -phi], R(seed).standard_normal(400))[100:]
        left.append(abs((forecast(y, 30).point[29] - y.mean()) / (y[-1] - y.mean())))
    assert np.median(left) < 0.2


def test_a_wild_last_value_is_no_level():
    for seed in range(8):
        y = 10 + lfilter([1], [1, -0.5], R(seed).standard_normal(250))[100:]
        y[-1] += 20
        ahead = forecast(y, 8)
        assert (np.abs(ahead.point - 10) < 3).all()
        assert (ahead.lower[1:] < 10).all()
        assert (ahead.upper[1:] > 10).all()


def test_codes_for_missing_values_are_set_aside_and_named():
    y = 20 + 5 * np.sin(2 * np.pi * np.arange(960) / 24) + R(0).standard_normal(960)
    y[R(1).choice(960, 20, replace=False)] = -9999.0
    ahead = forecast(y, 24)
    assert ((ahead.lower > 5) & (ahead.upper < 35)).all()
    assert "-9999 looks like a mark for missing and was treated as missing, 20 times" in ahead.explain()


def test_rare_events_have_one_distribution():
    y = (R(0).random(200) < 0.27) * R(1).geometric(0.4, 200) * 1.0
    ahead = forecast(y, 30)
    drawn = ahead.samples(2000, seed=0)
    assert (ahead.quantile(0.5) == 0).all()
    assert np.mean(drawn == 0) == pytest.approx(np.mean(y == 0), abs=0.08)
    assert drawn.mean() == pytest.approx(float(np.mean(ahead.mean)), rel=0.1)
    assert float(np.mean(ahead.mean)) == pytest.approx(y.mean(), rel=0.4)


def test_a_constant_that_ends_in_other_values_has_an_interval():
    ahead = forecast(np.r_[np.full(60, 3.0), 8.0, 9.0], 6, 0.8)
    assert (ahead.lower <= 3).all()
    assert (ahead.upper >= 9).all()


def test_exact_lines_have_no_width_and_nothing_hidden():
    for n in (50, 200, 2000):
        ahead = forecast(np.arange(float(n)), 24)
        np.testing.assert_allclose(ahead.point, np.arange(n, n + 24), rtol=1e-6)
        assert float(np.max(ahead.upper - ahead.lower)) < 1e-4


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_parabola_goes_on_and_its_interval_holds_it(noise):
    t, inside, off = 0.05 * np.arange(90), 0.0, 0.0
    clean = 2 + 8 * t - 0.5 * 9.81 * t**2
    for seed in range(4):
        y = clean + noise * R(seed).standard_normal(90)
        ahead = forecast(y[:60], 30, 0.8)
        inside += float(np.mean((ahead.lower <= y[60:]) & (y[60:] <= ahead.upper))) / 4
        off += float(np.max(np.abs(ahead.point - clean[60:]))) / 4
    assert inside > 0.75
    assert off < (1.5 if noise else 1e-6)  # it falls by 26


def test_noise_with_a_memory_has_no_season():
    said = [seasons.chosen(None, lfilter([1], [1, -phi], R(s).standard_normal(360)), DEFAULT)
            for s in range(20) for phi in (0.5, 0.7, 0.9)]  # fmt: skip
    assert sum(map(bool, said)) <= 1


def test_the_first_step_does_not_depend_on_how_far_one_asks():
    for seed in range(6):
        noise = R(seed).standard_normal(300)
        for y in (18 + lfilter([1], [1, -0.8], noise), 50 + noise.cumsum(), 3 + 0.2 * np.arange(300) + 2 * noise):
            near, far = forecast(y, 1, 0.8), forecast(y, 500, 0.8)
            width = float(near.upper[0] - near.lower[0])
            assert float(far.upper[0] - far.lower[0]) == pytest.approx(width, rel=0.05)
            assert abs(float(far.point[0] - near.point[0])) < 0.05 * width


def test_decay_growth_and_noise_have_no_season():
    t, said = np.arange(100), 0
    for seed in range(10):
        for signal in (50 * np.exp(-t / 30), 5 * np.exp(0.03 * t), 0 * t):
            said += bool(seasons.chosen(None, signal + 0.5 * R(seed).standard_normal(100), DEFAULT))
    assert said <= 2


@pytest.mark.parametrize("n", range(2, 8))
def test_a_few_values_have_a_trend_and_an_interval(n):
    y = 100 + 5 * np.arange(n + 3) + 0.5 * R(n).standard_normal(n + 3)
    ahead = forecast(y[:n], 3)
    assert (np.diff(ahead.point) > 2).all()
    assert ((ahead.lower < y[n:]) & (y[n:] < ahead.upper)).all()


@pytest.mark.parametrize("n", [5, 8, 12])
def test_intervals_from_a_few_values_are_as_wide_as_so_few_demand(n):
    held = []
    for seed in range(15):
        noise = R(100 * n + seed).standard_normal(n + 4)
        for y in (10 + noise, 10 + np.arange(n + 4) + noise, np.cumsum(noise)):
            low, high = forecast(y[:n], 4).quantile((0.025, 0.975))
            held.append((low <= y[n:]) & (y[n:] <= high))
    assert np.mean(held) > 0.9


@pytest.mark.parametrize(
    "of", [np.array, np.cumsum, lambda e: 10 + np.arange(len(e)) + e], ids=["noise", "walk", "line"]
)
def test_two_values_have_the_intervals_of_two(of):
    """One difference is all that is known of the noise: an interval that holds must be several times as wide."""
    held = []
    for seed in range(60):
        y = of(R(seed).standard_normal(5))
        ahead = forecast(y[:2], 3, 0.8)
        held.append((ahead.lower <= y[2:]) & (y[2:] <= ahead.upper))
    assert (np.mean(held, axis=0) > 0.6).all()


def test_a_spread_near_the_least_number_raises_no_warning():
    y = 1e-300 * R(0).standard_normal(60)
    y[30] = 1e10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ahead = forecast(y, 3)
    assert (np.abs(ahead.point) < 1e-299).all()


def test_growth_is_held_by_its_intervals():
    held = []
    for seed in range(10):
        y = np.exp(np.cumsum(0.02 + 0.05 * R(seed).standard_normal(220)))
        ahead = forecast(y[:200], 20, 0.8)
        held.append((ahead.lower <= y[200:]) & (y[200:] <= ahead.upper))
    assert 0.65 < np.mean(held) < 0.98


@pytest.mark.parametrize("seed", range(3))
def test_adding_a_constant_or_turning_the_sign_does_not_move_the_forecast(seed):
    t = np.arange(120)
    y = 5 * np.sin(2 * np.pi * t / 12) + R(seed).standard_normal(120)
    plain = forecast(y, 24, season=12).point
    for sign, constant in ((-1, 0), (1, 1000), (1, 20), (-1, 20), (1, -20), (1, 7)):
        moved = sign * (forecast(sign * y + constant, 24, season=12).point - constant)
        assert np.abs(moved - plain).max() < 0.05 * y.std()


@pytest.mark.parametrize("after", [0, 1, 20])
def test_one_other_value_in_a_constant_series_is_not_followed(after):
    ahead = forecast(np.r_[np.full(50, 5.0), 7.0, np.full(after, 5.0)], 3)
    assert (ahead.point == 5.0).all()
    assert "7 at position 50" in ahead.explain()


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_noughts_and_ones_have_a_distribution_of_noughts_and_ones(share):
    y = (R(2).random(200) < share) * 1.0
    for sign in (1.0, -1.0):
        ahead = forecast(sign * y, 4, 0.8)
        near = np.minimum(
            np.abs(ahead.quantile([0.05, 0.3, 0.7, 0.95])), np.abs(ahead.quantile([0.05, 0.3, 0.7, 0.95]) - sign)
        )
        assert near.max() < 0.25
        assert sign * float(np.mean(ahead.mean)) == pytest.approx(y.mean(), abs=0.1)


def test_the_width_of_a_mixture_follows_its_errors_and_their_tails():
    """Errors twice as large as expected double the interval; a few wild ones lengthen the tails, not the middle."""
    rolling = Rolling(100, np.arange(100, 164), 8, np.ones(200, dtype=bool))
    noise, one = R(0).standard_normal((64, 8)), np.ones((64, 8))
    independent = rolling.independent(rolling.compared(rolling.known))
    usual, wide = (standard_quantiles(k * noise, one, rolling, independent, 8, DEFAULT)[:, 3] for k in (1.0, 2.0))
    at = np.searchsorted(PROBABILITIES[len(PROBABILITIES) // 2 + 1 :], 0.9)
    assert usual[at] == pytest.approx(1.28, rel=0.2)
    assert 1.5 < wide[at] / usual[at] < 2.1
    wild = np.where(R(1).random((64, 8)) < 0.05, 12 * noise, noise)
    tails = standard_quantiles(wild, one, rolling, independent, 8, DEFAULT)[:, 3]
    assert tails[at] < 1.5 * usual[at]
    assert tails[-1] > 1.5 * usual[-1]
