"""What `forecast --resume` goes on with: a part fits its question or is refused, and none is left behind."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from prophecy.commands._write import Journal

PLAN = {"level": 0.9, "horizon": 1}


@pytest.fixture
def stopped(tmp_path):
    """A run that was stopped after two series."""
    out = tmp_path / "o.csv"
    journal = Journal(out, PLAN, False)
    with pytest.raises(KeyboardInterrupt), journal:
        interrupted(journal)
    return out


def interrupted(journal):
    journal.add("a", np.array([1.5]))
    journal.add("b", np.array([2.5]))
    raise KeyboardInterrupt


def test_a_run_that_was_stopped_has_its_answers(stopped):
    with Journal(stopped, PLAN, True) as journal:
        assert (journal.kept, journal.done()) == (2, {"a", "b"})
        assert journal.rows("b", (1, 1)).tolist() == [[2.5]]
        assert journal.rows("c", (1, 1)) is None
    assert not list(stopped.parent.iterdir())


def test_a_part_of_another_question_or_kind_is_refused(stopped):
    with pytest.raises(ValueError, match="made with another level; leave out --resume"):
        Journal(stopped, {**PLAN, "level": 0.5}, True)
    part = stopped.with_name("o.csv.part")
    for rows in (None, "[1, 2", 7, b"\0" * 7, b"\0" * 16):
        with sqlite3.connect(part) as file:
            file.execute("UPDATE answers SET rows = ?", (rows,))
        file.close()
        with pytest.raises(ValueError, match="no part of such a run"):
            Journal(stopped, PLAN, True).rows("a", (1, 1))
    for plan in (None, "[1]", b"\xff", "[" * 100_000):
        with sqlite3.connect(part) as file:
            file.execute("UPDATE plan SET text = ?", (plan,))
        file.close()
        with pytest.raises(ValueError, match="no part of such a run"):
            Journal(stopped, PLAN, True)
    with sqlite3.connect(part) as file:
        file.execute("ALTER TABLE answers RENAME TO kept")
        file.execute(
            "CREATE VIEW answers AS WITH RECURSIVE n(series) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT * FROM n"
        )
    file.close()
    with pytest.raises(ValueError, match="no part of such a run"):  # and at once
        Journal(stopped, PLAN, True)
    part.write_text("{}")
    with pytest.raises(ValueError, match="no part of such a run"):
        Journal(stopped, PLAN, True)
    Journal(stopped, PLAN, False).__exit__(None, None, None)
    assert not part.exists()


def test_an_error_in_the_data_leaves_no_part(prophecy, tmp_path):
    (tmp_path / "t.csv").write_text("time,v\n1,2\n2,3\n2,4\n")
    for command in (("forecast", "-H", 2), ("predict",), ("anomalies",)):
        code, _, err = prophecy(command[0], tmp_path / "t.csv", *command[1:], "--out", tmp_path / "o.csv")
        assert code == 1
        assert "comes twice" in err
        assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]


def test_what_cannot_go_on_is_said(prophecy, tmp_path):
    (tmp_path / "t.csv").write_text("v\n1\n2\n3\n")
    for arguments, says in (
        ((tmp_path / "t.csv", "--resume"), "continues the run that was writing --out"),
        (("-", "--resume", "--out", tmp_path / "o.csv"), "stdin cannot be"),
    ):
        code, _, err = prophecy("forecast", "-H", 2, *arguments)
        assert code == 2
        assert says in err
