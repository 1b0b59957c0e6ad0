"""Events from Python are those of the command line; bad input is named."""

import csv

import numpy as np
import pytest

import prophecy as package
from prophecy.anomalies import Kind, find_events, flagged

RATE = 1e-3


@pytest.fixture(scope="module")
def disturbed():
    """A daily season in noise with a spike, a shift and a flat line planted, 4032 rows, five missing."""
    k = np.arange(4032)
    u = np.sin(2 * np.pi * k / 48) + 0.1 * np.random.default_rng(5).standard_normal(len(k))
    u[1500] += 4.0
    u[2400:] += 2.0
    u[3500:3560] = u[3500]
    u[900:905] = np.nan
    return u


@pytest.fixture(scope="module")
def found(disturbed):
    model = package.Prophecy()
    return find_events(disturbed, model.follow(disturbed, level=1 - RATE), RATE)


def test_planted_changes_are_found_with_their_kind_and_rows(found):
    by_kind = {kind: [event for event in found if event.kind is kind] for kind in Kind}
    assert [event.first for event in by_kind[Kind.SPIKE]].count(1500) == 1
    assert any(2400 <= event.first <= 2403 for event in by_kind[Kind.SHIFT])
    flat = next(event for event in by_kind[Kind.FLAT_LINE])
    assert flat.first == 3500
    assert 3559 <= flat.last <= 3561


def test_events_from_python_are_those_of_the_command_line(disturbed, found, prophecy, tmp_path):
    source, out = tmp_path / "rows.csv", tmp_path / "scored.csv"
    with source.open("w", newline="") as file:
        csv.writer(file).writerows([["u"], *([repr(float(v))] if v == v else ["nan"] for v in disturbed)])
    code, printed, _ = prophecy("anomalies", source, "--column", "u", "--rate", RATE, "--out", out)
    assert code == 0
    assert f"in {len(found)} events" in printed
    with out.open() as file:
        numbers = [int(float(row["event"] or 0)) for row in csv.DictReader(file)]
    for event in found:
        rows = [k for k, number in enumerate(numbers) if number == event.number]
        assert event.row in rows
        assert min(rows) >= event.first


def events_of(u):
    return find_events(u, package.Prophecy().follow(u, level=1 - RATE), RATE)


@pytest.mark.parametrize(("size", "digits"), [(5.0, 8), (20.0, 8), (300.0, 8), (5.0, 0), (40.0, 0)])
def test_a_shift_is_said_to_be_as_large_as_it_is(size, digits):
    """Rows cut at four deviations said by how much: 4.0 for 20; rows rounded to whole units had no deviation at all."""
    u = np.round(20.0 + np.random.default_rng(0).normal(0.0, 1.0 if digits else 0.3, 3000), digits)
    u[2000:] += size
    event = next(event for event in events_of(u) if event.first >= 1990)
    amount = float(event.sentence.split(" by ")[1].split(",")[0])
    assert (event.kind, event.first) == (Kind.SHIFT, 2000)
    assert amount == pytest.approx(size, rel=0.1)


@pytest.mark.parametrize(("left", "words"), [(0.5, (0.4, 0.6)), (0.0, (0.0, 0.1))])
def test_a_season_that_is_lost_for_good_is_named_with_what_is_left_of_it(left, words):
    """The model forgets a season that has gone: what was there before says which it was."""
    k = np.arange(3000)
    u = 3.0 * np.sin(2 * np.pi * k / 48) * np.where(k < 2000, 1.0, left)
    event = next(
        event for event in events_of(u + 0.2 * np.random.default_rng(0).normal(size=3000)) if event.first > 1990
    )
    share = float(event.sentence.split(" has ")[1].split("%")[0]) / 100
    assert event.kind is Kind.LOST_SEASON
    assert words[0] <= share <= words[1]


@pytest.mark.parametrize("seed", range(4))
def test_one_wild_row_in_a_young_season_is_a_spike(seed):
    rng, day = np.random.default_rng(seed), np.arange(3000) / 288
    u = 20 + 4 * np.sin(2 * np.pi * day) + np.cumsum(rng.normal(0, 0.02, 3000)) + rng.normal(0, 0.1, 3000)
    u[660] = -9999.0
    assert [event.kind for event in events_of(u) if event.row == 660] == [Kind.SPIKE]


@pytest.mark.parametrize("level", [35.0, 5.0])
def test_the_first_change_of_a_constant_is_a_shift_and_not_the_end_of_a_flat_line(level):
    """That it stood still was never unusual: there was nothing before."""
    u = np.full(3000, 20.0)
    u[2200:] = level
    (event,) = events_of(u)
    assert (event.kind, event.first) == (Kind.SHIFT, 2200)


def test_a_row_is_flagged_where_either_sign_is_rarer_than_half_of_the_rate():
    surprise = np.array([3.2, 3.4, 0.0, 0.0])
    alarm = np.array([0.0, 0.0, 0.9994, 0.9996])
    assert flagged(surprise, alarm, 1e-3).tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda u, track: (np.stack([u, u], axis=1), track), "one series"),
        (lambda u, track: (u[:-1], track), "shape"),
    ],
)
def test_tables_and_tracks_of_others_are_refused(disturbed, change, message):
    track = package.Prophecy().follow(disturbed)
    with pytest.raises(ValueError, match=message):
        find_events(*change(disturbed, track))


@pytest.mark.parametrize("rate", [0.0, 1.0, -1.0, np.nan])
def test_rates_outside_0_and_1_are_refused(disturbed, rate):
    with pytest.raises(ValueError, match="rate must lie between 0 and 1"):
        find_events(disturbed, package.Prophecy().follow(disturbed), rate)
