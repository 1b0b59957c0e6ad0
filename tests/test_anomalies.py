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
    return find_events(disturbed, model.follow(disturbed, level=1 - RATE), RATE, model.seasons())


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
