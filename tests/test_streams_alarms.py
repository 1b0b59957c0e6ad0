"""Alarms, resolution, levels, missing values: what sensors do, and what is said about it."""

import numpy as np
import pytest

from benchmarks import nab
from prophecy import Prophecy
from prophecy.streams.limits import VALUE

RNG = np.random.default_rng(6)
K = np.arange(6000)


def test_ranks_in_a_sketch_are_ranks_among_all_values():
    x = RNG.standard_normal(5000)
    model = Prophecy()
    model.observe([0.0, *x])  # the first value has nothing to be ranked among
    size, middle, weight = (model._stream.records[0][f"alarm_{name}"][VALUE] for name in ("size", "middle", "weight"))
    assert weight[:size].sum() == len(x)
    assert (np.diff(middle[:size]) > 0).all()
    assert (middle[0], middle[size - 1]) == (x.min(), x.max())
    for at in np.quantile(x, [0.001, 0.01, 0.1, 0.3, 0.7, 0.9, 0.99, 0.999]):
        exact = min(np.mean(x >= at), np.mean(x <= at))
        got = min(weight[:size][middle[:size] >= at].sum(), weight[:size][middle[:size] <= at].sum()) / len(x)
        assert got == pytest.approx(exact, rel=0.35, abs=2e-4)


@pytest.mark.parametrize("kind", ["uniform", "laplace", "moving average", "gamma", "day"])
def test_the_false_alarm_rate_is_at_most_what_is_stated(kind):
    """Streams of kinds the map from sums to rates was not made with."""
    rng, n = np.random.default_rng(31), 30_000
    x = rng.standard_normal(n + 4)
    u = {
        "uniform": rng.uniform(size=n),
        "laplace": rng.laplace(size=n),
        "moving average": x[4:] + 0.8 * x[3:-1] - 0.5 * x[2:-2] + 0.3 * x[:-4],
        "gamma": rng.gamma(2.0, size=n),
        "day": np.sin(2 * np.pi * np.arange(n) / 96) ** 3 + 0.3 * x[4:],
    }[kind]
    alarm = Prophecy().follow(u).alarm
    assert ((alarm >= 0) & (alarm <= 1)).all()
    for rate in (1e-2, 1e-3):
        assert np.mean(alarm >= 1 - rate) <= rate


def test_a_shift_that_stays_is_reported_when_it_comes_and_not_again():
    u = RNG.standard_normal(4000)
    u[2500:] += 12.0
    alarm = Prophecy().follow(u).alarm
    reported = np.flatnonzero(alarm >= 0.999)
    assert len(reported) >= 1
    assert 2500 <= reported[reported >= 2000][0] < 2510
    assert (reported >= 2530).sum() == 0


@pytest.mark.parametrize("kind", ["spike", "noise", "flat"])
def test_other_changes_raise_an_alarm_too(kind):
    u = np.sin(2 * np.pi * K / 48) + 0.1 * np.random.default_rng(1).standard_normal(6000)
    if kind == "spike":
        u[4000] += 3.0
    elif kind == "noise":
        u[4000:4100] += np.random.default_rng(2).standard_normal(100)
    else:
        u[4000:4060] = u[3999]
    alarm = Prophecy().follow(u).alarm
    assert alarm[4000:4065].max() > 0.998
    assert np.mean(alarm[2000:4000] > 0.999) < 2e-3


def test_live_alarms_are_those_of_follow():
    u = RNG.standard_normal(300)
    u[250] = 9.0
    track = Prophecy().follow(u)
    model = Prophecy()
    live = []
    for value in u.tolist():
        model.observe(value)
        live.append(model.alarm())
    np.testing.assert_array_equal(live, track.alarm)


def test_a_tick_of_a_thermometer_is_no_sensation():
    """LIFE: a sensor at 20.0 that ticks to 20.1 had a surprise of 2e197."""
    u = np.full(3000, 20.0)
    model = Prophecy()
    model.observe(u)
    assert model.score(20.1) <= np.log10(1 + 3000) + 1e-9
    ticking = 20.0 + 0.1 * (np.cumsum(np.random.default_rng(2).random(4000) < 0.02) % 2)
    track = (model := Prophecy()).follow(np.round(ticking, 1))
    assert "ticks of 0.1" in model.explain()
    assert np.nanmax(track.score[2000:]) < 4.0
    wide = track.upper[2000:] - track.lower[2000:]
    assert wide.min() >= 0.1 * (1 - 1e-9)


@pytest.mark.parametrize("tick", [1.0, 0.1, 0.25, 3.0, 1e-3])
def test_the_resolution_is_learned_and_continuous_values_have_none(tick):
    u = np.round(np.cumsum(np.random.default_rng(3).standard_normal(800)) * 2) * tick
    model = Prophecy()
    model.observe(u)
    assert f"ticks of {tick:g};" in model.explain()
    ahead = model.predict(0.01)
    assert ahead.upper - ahead.lower == pytest.approx(tick, rel=1e-6)
    plain = Prophecy()
    plain.observe(np.random.default_rng(3).standard_normal(800))
    assert "ticks" not in plain.explain()


def test_stuck_and_saturated_sensors_stay_calm_and_are_named():
    u = np.sin(K[:3000] / 20) + 0.05 * np.random.default_rng(4).standard_normal(3000)
    stuck = u.copy()
    stuck[1500:2200] = stuck[1499]
    model = Prophecy()
    model.observe(stuck[:1500])
    width = model.predict().upper - model.predict().lower
    model.observe(stuck[1500:2100])
    assert model.predict().upper - model.predict().lower == pytest.approx(width, rel=0.7)
    assert "values are the same" in model.explain()
    assert model.score(float(u[2200])) < 15
    top = Prophecy()
    top.observe(np.minimum(u, 0.7))
    assert "the largest: the sensor may saturate there" in top.explain()


@pytest.mark.parametrize("pattern", ["every second", "every third", "bursts", "at random"])
def test_any_pattern_of_missing_values_teaches(pattern):
    u = np.sin(np.arange(6000) / 30) + 0.02 * np.random.default_rng(5).standard_normal(6000)
    k = np.arange(6000)
    gone = {
        "every second": k % 2 == 1,
        "every third": k % 3 == 1,
        "bursts": k % 50 < 10,
        "at random": np.random.default_rng(6).random(6000) < 0.5,
    }[pattern]
    track = Prophecy().follow(np.where(gone, np.nan, u))
    known = ~gone
    known[:2000] = False
    ours = np.mean(np.abs(track.point - u)[known])
    last = np.concatenate([[np.nan], np.where(gone, np.nan, u)[:-1]])
    for i in range(1, len(last)):
        if np.isnan(last[i]):
            last[i] = last[i - 1]
    assert ours < 0.75 * np.mean(np.abs(last - u)[known])
    inside = (track.lower <= u) & (u <= track.upper)
    assert np.mean(inside[known]) > 0.85


def test_a_sensor_that_reports_only_changes_is_followed():
    u = np.round(20 + np.cumsum(0.02 * np.random.default_rng(7).standard_normal(5000)), 1)
    u[1:][np.diff(u) == 0] = np.nan
    model = Prophecy()
    track = model.follow(u)
    known = np.flatnonzero(~np.isnan(u))[20:]
    assert np.mean(np.abs(track.point[known] - u[known])) < 0.2
    assert np.nanmax(track.score[known]) < 10


def test_after_gaps_the_interval_is_honest_on_signals_without_noise():
    inside, total = 0, 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        u = np.sin(np.arange(4000) / rng.uniform(5, 30) + 1) + 0.4 * np.sin(np.arange(4000) / rng.uniform(3, 11))
        for start in range(600, 3900, 150):
            u[start : start + int(rng.integers(1, 30))] = np.nan
        track = Prophecy().follow(u)
        truth = ~np.isnan(u)
        first = np.flatnonzero(truth[1:] & ~truth[:-1]) + 1
        inside += int(((track.lower[first] <= u[first]) & (u[first] <= track.upper[first])).sum())
        total += len(first)
    assert inside / total > 0.85


@pytest.mark.parametrize("kind", ["normal", "student", "garch"])
def test_levels_from_a_half_to_999_in_1000_hold_what_they_say(kind):
    rng, n = np.random.default_rng(8), 150_000
    x = rng.standard_t(3, n) if kind == "student" else rng.standard_normal(n)
    if kind == "garch":
        variance = 1.0
        for i in range(1, n):
            variance = 0.05 + 0.9 * variance + 0.08 * x[i - 1] ** 2
            x[i] *= np.sqrt(variance)
    for level, tolerance in ((0.5, 0.02), (0.9, 0.01), (0.99, 0.003), (0.999, 0.0006)):
        track = Prophecy(context=1).follow(x, level=level)
        outside = np.mean(~((track.lower <= x) & (x <= track.upper))[5000:])
        assert outside == pytest.approx(1 - level, abs=tolerance)


def test_the_scoring_rule_gives_0_for_nothing_100_for_all_at_once_and_less_for_late_and_false_ones():
    rows, windows = 2000, [[(700, 800), (1500, 1650)]]
    first = np.zeros(rows)
    first[[700, 1500]] = 1.0
    assert nab.at(0.5, [first], windows) == pytest.approx(100.0)
    assert nab.at(2.0, [first], windows) == 0.0
    late = np.zeros(rows)
    late[[780, 1640]] = 1.0
    false = first.copy()
    false[[400, 1200]] = 1.0
    assert 0 < nab.at(0.5, [late], windows) < 80
    assert nab.at(0.5, [false], windows) == pytest.approx(100.0 - 100 * 2 * 0.11 / 4, abs=0.3)
    missed = np.zeros(rows)
    missed[700] = 1.0
    assert nab.at(0.5, [missed], windows) == pytest.approx(50.0)
    early = np.zeros(rows)
    early[100] = 1.0  # within the first 15 %: not scored
    assert nab.optimal([early], windows)[1] == 0.0
