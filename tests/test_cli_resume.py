"""`--resume` of `predict` and `anomalies`: a stopped run and the one that goes on with it write what one run does."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from itertools import product

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from prophecy.commands._journal import Journal  # noqa: E402
from prophecy.commands.anomalies import _watch  # noqa: E402
from prophecy.commands.predict import run  # noqa: E402
from prophecy.frames.columns import Hints  # noqa: E402
from prophecy.frames.table import Sizes, open_table  # noqa: E402

RNG = np.random.default_rng(5)
COMMAND = [sys.executable, "-m", "prophecy.cli", "predict"]


@pytest.fixture
def table(tmp_path):
    """Two series with a season, a gap and an outlier, rows of both in turns."""
    rows = 900
    wave = np.sin(2 * np.pi * np.arange(rows) / 24) + 0.1 * RNG.standard_normal(rows)
    wave[700] += 5
    frame = pd.DataFrame(
        {
            "time": np.repeat(pd.date_range("2024-01-01", periods=rows, freq="h"), 2),
            "key": ["a", "b"] * rows,
            "v": np.column_stack([wave, 3 - 2 * wave]).ravel(),
            "w": RNG.standard_normal(2 * rows),
        }
    )
    path = tmp_path / "t.csv"
    frame.drop(index=range(800, 812)).to_csv(path, index=False)
    return path


class Stopping(Journal):
    """Ctrl-C at a given answer, as the signal's handler notes it."""

    at: int | None = None

    def add(self, *arguments):
        if self.at is not None:
            self.at -= 1
            if not self.at:
                os.kill(os.getpid(), signal.SIGINT)
        super().add(*arguments)


def pieces(path):
    """The table in pieces of some 300 rows."""
    return open_table(str(path), Hints(key="key"), Sizes(piece=4_000, sorted_rows=250))


def ahead(path, out, journal):
    return predicted(path, out, journal, 24)


def predicted(path, out, journal, horizon=1):
    trackers = run(pieces(path), 0.9, horizon, False, out, journal=journal)
    return [(one.title, one.rows, one.mean_errors(), one.bank.seasons()) for one in trackers]


def watched(path, out, journal):
    watches = _watch(pieces(path), 1e-3, False, out, False, journal)
    return [(one.title, one.count, one.events.finish(one.bank.seasons())) for one in watches]


@pytest.mark.parametrize("every", [1e-9, 1e9], ids=["saved after every answer", "saved when stopped"])
@pytest.mark.parametrize(
    ("command", "at"), [*product((predicted, watched), (1, 6, 11, 24)), (ahead, 6), (ahead, 24)]
)  # fmt: skip
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(table, tmp_path, command, every, at):
    whole = command(table, tmp_path / "whole.csv", None)
    out, part = tmp_path / "o.csv", tmp_path / "o.csv.part"
    stopping = Stopping(out, {"a": 1}, False, every)
    stopping.at = at
    with pytest.raises(KeyboardInterrupt), stopping:
        command(table, out, stopping)
    assert part.exists()
    assert not out.exists()
    with Journal(out, {"a": 1}, True) as journal:
        assert journal.kept == at
        assert command(table, out, journal) == whole
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.csv", "t.csv", "whole.csv"]


def test_a_part_of_another_question_input_or_kind_is_refused(table, tmp_path):
    out, plan = tmp_path / "o.csv", {"level": 0.9, "horizon": 1}
    stopping = Stopping(out, plan, False)
    stopping.at = 7
    with pytest.raises(KeyboardInterrupt), stopping:
        predicted(table, out, stopping)
    with pytest.raises(ValueError, match="made with another level; leave out --resume"):
        Journal(out, {**plan, "level": 0.5}, True)
    with pytest.raises(ValueError, match="made with another horizon"):
        Journal(out, {**plan, "horizon": 24}, True)
    shorter = tmp_path / "u.csv"
    shorter.write_text("\n".join(table.read_text().splitlines()[:250]))
    part = (tmp_path / "o.csv.part").read_bytes()
    with pytest.raises(ValueError, match="does not fit the input"), Journal(out, plan, True) as journal:
        predicted(shorter, out, journal)
    (tmp_path / "o.csv.part").write_bytes(part)
    with sqlite3.connect(tmp_path / "o.csv.part") as file:
        file.execute("UPDATE models SET state = substr(state, 1, 5000)")
    with pytest.raises(ValueError, match="not a saved Prophecy"), Journal(out, plan, True) as journal:
        predicted(table, out, journal)
    (tmp_path / "o.csv.part").write_bytes(part)
    with pytest.raises(ValueError, match="holds a saved Prophecy, not a Ahead"), Journal(out, plan, True) as journal:
        ahead(table, out, journal)
    (tmp_path / "o.csv.part").write_text("{}")
    with pytest.raises(ValueError, match="no part of such a run"):
        Journal(out, plan, True)
    Journal(out, plan, False).__exit__(None, None, None)
    assert not (tmp_path / "o.csv.part").exists()


def test_an_error_in_the_data_leaves_no_part(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("time,v\n1,2\n2,3\n2,4\n")
    with (
        pytest.raises(ValueError, match="comes twice"),
        Journal(tmp_path / "o.csv", {}, False) as journal,
    ):
        run(open_table(str(path), Hints(time="time")), 0.9, 1, False, tmp_path / "o.csv", journal=journal)
    assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]


def test_what_cannot_go_on_is_said(prophecy, table, tmp_path):
    for arguments, says in (
        ((table, "--resume"), "continues the run that was writing --out"),
        (("-", "--resume", "--out", tmp_path / "o.csv"), "stdin cannot be"),
    ):
        code, _, err = prophecy("predict", *arguments)
        assert code == 2
        assert says in err


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file beyond 4 MB, and what one run over it writes."""
    folder = tmp_path_factory.mktemp("large")
    values = np.round(np.cumsum(RNG.standard_normal(60_000)), 4)
    notes = [
        f"{k:06d} a note as long as those operators leave beside numbers, in full, with every word"
        for k in range(60_000)
    ]
    pd.DataFrame({"v": values, "note": notes}).to_csv(folder / "t.csv", index=False)
    subprocess.run([*COMMAND, folder / "t.csv", "--out", folder / "whole.csv"], check=True, capture_output=True)
    return folder / "t.csv", (folder / "whole.csv").read_bytes()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_long_run_that_is_ended_from_outside_goes_on(large, tmp_path, how):
    """In another process: Ctrl-C keeps what is done, -9 what the last transaction had."""
    path, whole = large
    out, part = tmp_path / "o.csv", tmp_path / "o.csv.part"
    call = [*COMMAND, path, "--out", out]
    child = subprocess.Popen(call, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    until = time.monotonic() + 120
    while not part.exists() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.2)
    child.send_signal(how)
    _, said = child.communicate(timeout=120)
    if child.returncode:  # not 0: the machine was not faster than we
        assert not out.exists()
        assert part.exists()
    if child.returncode and how == signal.SIGINT:
        assert child.returncode == 130
        assert "go on with --resume" in said
    done = subprocess.run([*call, "--resume"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == whole
    assert not part.exists()
