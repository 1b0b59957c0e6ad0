"""What `forecast --resume` goes on with: a part fits its question or is refused, and none is left behind."""

from __future__ import annotations

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


def interrupted(journal, answers=(("a", 1.5), ("b", 2.5))):
    for name, value in answers:
        journal.add(name, np.array([value]))
    raise KeyboardInterrupt


def test_a_run_that_was_stopped_has_its_answers(stopped):
    with Journal(stopped, PLAN, True) as journal:
        assert {*journal.answers} == {"a", "b"}
        assert journal.rows("b", (1, 1)).tolist() == [[2.5]]
        assert journal.rows("c", (1, 1)) is None
    assert not list(stopped.parent.iterdir())


def test_a_line_that_was_cut_is_forgotten_and_others_follow_it(stopped):
    part = stopped.with_name("o.csv.part")
    whole = part.read_bytes()
    for end in range(len(whole) - 1, whole.rindex(b"\n", 0, -1), -7):
        part.write_bytes(whole[:end])
        journal = Journal(stopped, PLAN, True)
        assert {*journal.answers} == {"a"}
        with pytest.raises(KeyboardInterrupt), journal:
            interrupted(journal, [("b", 2.5)])
        assert part.read_bytes() == whole


def test_a_part_of_another_question_or_kind_is_refused(stopped):
    with pytest.raises(ValueError, match="made with another level; leave out --resume"):
        Journal(stopped, {**PLAN, "level": 0.5}, True)
    part = stopped.with_name("o.csv.part")
    plan, first, _ = part.read_bytes().splitlines()
    for cells in ("null", '"[1, 2"', "7", '"00000000000000"', '"' + "0" * 32 + '"', '"x"', "[]", '"0"'):
        part.write_bytes(plan + b'\n["a", ' + cells.encode() + b"]\n")
        with pytest.raises(ValueError, match="no part of such a run"):
            Journal(stopped, PLAN, True).rows("a", (1, 1))
    for text in (b"null", b"[1]", b"\xff", b"[" * 100_000, b""):
        for after in (b"\n" + first + b"\n", b""):
            part.write_bytes(text + after)
            with pytest.raises(ValueError, match="no part of such a run"):
                Journal(stopped, PLAN, True)
            assert part.read_bytes() == text + after
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
