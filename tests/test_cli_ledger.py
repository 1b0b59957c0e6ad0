"""The stream's ledger: whatever moment it is cut off at, the state goes on as if nothing had happened."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip("typer")

from prophecy import Prophecy
from prophecy.commands._ledger import Entry, Ledger

VALUES = np.random.default_rng(0).standard_normal(60)


def open_ledger(path, every=7):
    return Ledger(path, Prophecy.load, lambda model, value: model.observe(float(value)), every)


def feed(ledger, first, last):
    answers = []
    for line in range(first, last + 1):
        ledger.model.observe(VALUES[line - 1])
        answers.append(repr(ledger.model.predict().mean))
        ledger.record(Entry(line, repr(float(VALUES[line - 1])), answers[-1]))
    return answers


@pytest.fixture(scope="module")
def expected():
    model = Prophecy()
    return [(model.observe(value), repr(model.predict().mean))[1] for value in VALUES]


@pytest.mark.parametrize("cut", [0, 1, 6, 7, 8, 13, 14, 15, 29])
def test_reopening_after_any_line_goes_on_to_the_last_bit(tmp_path, expected, cut):
    with open_ledger(tmp_path / "s") as ledger:
        assert ledger.model is None
        ledger.start(Prophecy())
        feed(ledger, 1, cut)
    with open_ledger(tmp_path / "s") as ledger:
        assert ledger.line == cut
        assert feed(ledger, cut + 1, 60) == expected[cut:]


@pytest.mark.parametrize("kept", [0, 1, 2, 3, 7, 20, 39])
def test_a_journal_torn_at_any_byte_forgets_only_the_torn_line(tmp_path, expected, kept):
    with open_ledger(tmp_path / "s", every=100) as ledger:
        ledger.start(Prophecy())
        feed(ledger, 1, 5)
    journal = tmp_path / "s.journal"
    whole = journal.read_bytes()
    last = whole[:-1].rfind(b"\n") + 1
    journal.write_bytes(whole[: min(last + kept, len(whole) - 1)])
    with open_ledger(tmp_path / "s") as ledger:
        assert ledger.line == 4
        assert feed(ledger, 5, 60) == expected[4:]


def test_killed_between_checkpoint_and_rotation_nothing_is_observed_twice(tmp_path, expected, monkeypatch):
    class Killed(Exception):
        pass

    def die(*_):
        raise Killed

    with open_ledger(tmp_path / "s") as ledger:
        ledger.start(Prophecy())
        feed(ledger, 1, 6)
        monkeypatch.setattr(
            os,
            "replace",
            lambda source, target: die() if str(source).endswith(".journal") else os.rename(source, target),
        )
        with pytest.raises(Killed):
            feed(ledger, 7, 7)
        monkeypatch.undo()
    with open_ledger(tmp_path / "s") as ledger:
        assert (ledger.saved, ledger.line) == (7, 7)
        assert ledger.told(7).answer == expected[6]
        assert feed(ledger, 8, 60) == expected[7:]


def test_answers_are_told_again_as_far_back_as_promised(tmp_path, expected):
    with open_ledger(tmp_path / "s", every=10) as ledger:
        ledger.start(Prophecy())
        feed(ledger, 1, 37)
    with open_ledger(tmp_path / "s", every=10) as ledger:
        assert ledger.oldest == 21
        assert [ledger.told(line).answer for line in range(21, 38)] == expected[20:37]
        assert ledger.told(20) is None


def test_one_process_at_a_time(tmp_path):
    with open_ledger(tmp_path / "s") as ledger:
        ledger.start(Prophecy())
        with pytest.raises(ValueError, match="in use by another process"):
            open_ledger(tmp_path / "s")
    with open_ledger(tmp_path / "s") as ledger:
        assert ledger.line == 0


def test_other_files_and_damage_are_refused_and_left_alone(tmp_path):
    (tmp_path / "s").write_bytes(b"something else")
    with pytest.raises(ValueError, match="not a saved prophecy stream"):
        open_ledger(tmp_path / "s")
    assert (tmp_path / "s").read_bytes() == b"something else"
    with open_ledger(tmp_path / "t", every=100) as ledger:
        ledger.start(Prophecy())
        feed(ledger, 1, 5)
    journal = tmp_path / "t.journal"
    journal.write_bytes(b"".join(line for line in journal.read_bytes().splitlines(True) if not line.startswith(b"3\t")))
    with pytest.raises(ValueError, match="jumps from line 2 to 4"):
        open_ledger(tmp_path / "t")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        open_ledger(tmp_path / "no" / "s")
