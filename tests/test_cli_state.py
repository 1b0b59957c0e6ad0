"""`prophecy state`: lists, checks, exports, thins out and vacuums what streams have kept."""

from __future__ import annotations

import csv
import os
import sqlite3

import numpy as np
import pyarrow.parquet
import pytest

pytest.importorskip("typer")

from prophecy import Fleet


@pytest.fixture
def state(prophecy):
    return lambda *arguments: prophecy("state", *arguments)


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "plant.state"
    dates = np.datetime64("2026-01-01T00:00:00") + np.arange(300) * np.timedelta64(1, "s")
    values = np.random.default_rng(0).standard_normal(300)
    values[200] = 50.0
    with Fleet(path) as fleet:
        fleet.observe("pump", values, time=dates)
        fleet.observe("fan", np.arange(5.0))
    return path


def test_streams_are_listed_with_their_newest_row(state, made):
    code, out, _ = state(made)
    assert code == 0
    assert "pump" in out
    assert "2026-01-01T00:04:59Z" in out
    assert "2 streams" in out
    with Fleet(made) as fleet:
        assert f"no. {fleet.last_event} at" in out
    assert "pump" not in state(made, "--search", "FA")[1]
    code, _, err = state(made.with_name("absent"))
    assert code == 1
    assert "no state 'absent'" in err
    assert not made.with_name("absent").exists()


def test_events_are_written_as_they_were_raised(state, made, tmp_path):
    code, _, err = state(made, "--events", tmp_path / "events.csv")
    assert code == 0
    with Fleet(made) as fleet:
        events = fleet.events()
    found = list(csv.DictReader((tmp_path / "events.csv").open()))
    assert [int(row["number"]) for row in found] == [event.number for event in events]
    assert [float(row["score"]) for row in found] == [event.score for event in events]
    assert 50.0 in {float(row["value"]) for row in found}
    assert f"{len(found)} events" in err
    assert state(made, "--events", tmp_path / "events.parquet")[0] == 0
    assert pyarrow.parquet.read_table(tmp_path / "events.parquet")["number"].to_pylist() == [e.number for e in events]
    assert state(made, "--events", tmp_path / "none.csv", "--search", "absent")[0] == 0
    assert (tmp_path / "none.csv").read_text() == "number,key,time,value,score,alarm,kind,fault\n"
    assert state(made, "--events", tmp_path / "none.txt")[0] == 2
    assert state(made, "--events", made)[0] == 2


def test_check_says_what_is_wrong_and_where(state, made):
    assert "are fine" in state(made, "--check")[2]
    db = sqlite3.connect(made)
    db.execute("UPDATE streams SET state = substr(state, 1, 20) WHERE key = 'fan'")
    db.commit()
    db.close()
    code, _, err = state(made, "--check")
    assert code == 1
    assert "stream 'fan' was set aside" in err
    assert "--discard forgets what was kept" in err
    assert "1 could not be read" in state(made)[1]
    assert state(made, "--discard", "fan", "--check")[0] == 0
    assert state(made, "--discard", "fan")[0] == 1


@pytest.mark.parametrize(
    "statement", ["DELETE FROM log", "UPDATE streams SET seen = 9999", "UPDATE streams SET count = 'x'"]
)
def test_check_finds_a_contradictory_file_and_says_how_to_repair_it(state, made, statement):
    db = sqlite3.connect(made)
    db.execute(statement)
    db.commit()
    db.close()
    code, _, err = state(made, "--check")
    assert code == 1
    assert "put back a copy" in err or "starts it afresh" in err


def test_removing_streams_and_vacuuming_makes_the_file_smaller(state, made):
    with Fleet(made) as fleet:
        fleet.observe([f"k{k}" for k in range(50)] * 100, np.arange(5000.0))  # too old to be kept as values
    before = os.path.getsize(made)
    removed = [word for k in range(50) for word in ("--remove", f"k{k}")]
    code, _, _ = state(made, *removed, "--vacuum")
    assert code == 0
    assert os.path.getsize(made) < before / 4
    with Fleet(made) as fleet:
        assert list(fleet) == ["fan", "pump"]
        assert fleet.summary(["pump"]).rows[0].count == 300
    assert state(made, "--remove", "k0")[0] == 1


def test_events_are_written_before_streams_are_removed(state, made, tmp_path):
    assert state(made, "--events", tmp_path / "all.csv", "--remove", "pump")[0] == 0
    assert {row["key"] for row in csv.DictReader((tmp_path / "all.csv").open())} == {"pump"}
    with Fleet(made) as fleet:
        assert list(fleet) == ["fan"]
