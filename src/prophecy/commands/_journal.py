"""What a run has answered so far: `--resume` goes on after Ctrl-C, a kill or a power cut.

`OUT.part` is an SQLite file: the answers in the order they were made and, of a run over rows, the model of every series
as it stood after the last of them, both written in one transaction now and then. A run that goes on reads the input
from its beginning, takes these answers as long as there are some, and then continues with the models.
"""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray

import prophecy
from prophecy import _interrupts
from prophecy.commands._common import INTERRUPTED, say
from prophecy.frames.columns import Hints

Array: TypeAlias = NDArray[np.float64]

EVERY = 20.0  # seconds of work a power cut may cost
LARGE = 1 << 22  # bytes of input from which a journal is kept: less is done in a second or two
SCHEMA = """
CREATE TABLE plan (text TEXT);
CREATE TABLE answers (number INTEGER PRIMARY KEY, series TEXT, about TEXT, rows BLOB);
CREATE INDEX answers_series ON answers (series);
CREATE TABLE models (series TEXT PRIMARY KEY, state BLOB);
"""


class Model(Protocol):
    """What predicts a series and can be written down: `Prophecy`, `streams.ahead.Ahead`."""

    def save(self, path: io.BytesIO, /) -> None: ...


class Kept(NamedTuple):
    """Answers about some rows of a series, and what else was noted: the seasons it had after them, for one."""

    rows: Array
    about: Any


class Journal:
    """A context: leaving it well, or by an error of the data, removes the file; Ctrl-C keeps it.

    While it is open Ctrl-C waits for the series at hand, so that models and answers agree.
    """

    def __init__(self, out: Path, plan: dict[str, Any], resume: bool, every: float = EVERY) -> None:
        self.path, self._every = out.with_name(out.name + ".part"), every
        if not resume:
            self._remove()
        self._file = sqlite3.connect(self.path)
        try:
            self._begin(plan)
        except sqlite3.DatabaseError:
            raise ValueError(f"{self.path} is no part of such a run; delete it, or leave out --resume") from None
        self._stored = self._read()
        self._next = next(self._stored, None)
        self.kept = self._file.execute("SELECT count(*) FROM answers").fetchone()[0]
        self._models: dict[str, Model] = {}
        self._held = contextlib.ExitStack()
        self._last = time.monotonic()

    def _begin(self, plan: dict[str, Any]) -> None:
        if not self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            self._file.executescript(SCHEMA)
            self._file.execute("INSERT INTO plan VALUES (?)", (json.dumps(plan),))
            self._file.commit()
            return
        kept = json.loads(self._file.execute("SELECT text FROM plan").fetchone()[0])
        differs = sorted(name for name in {*kept, *plan} if kept.get(name) != plan.get(name))
        if differs:
            names = ", ".join(differs)
            raise ValueError(f"{self.path} was made with another {names}; leave out --resume to start afresh")

    def _read(self) -> Iterator[tuple[str, Kept]]:
        for series, about, rows in self._file.execute("SELECT series, about, rows FROM answers ORDER BY number"):
            yield series, self._kept(about, rows)

    def _kept(self, about: str, rows: bytes) -> Kept:
        """Lists of names or numbers, and numbers; anything else was written by somebody else."""
        try:
            kept = Kept(np.frombuffer(rows, dtype=np.float64), json.loads(about))
        except (ValueError, TypeError, RecursionError):
            kept = Kept(np.zeros(0), None)
        lists = kept.about.values() if isinstance(kept.about, dict) else [kept.about]
        if not all(isinstance(one, list) and all(isinstance(x, str | int | float) for x in one) for one in lists):
            raise ValueError(f"{self.path} is no part of such a run; delete it, or leave out --resume")
        return kept

    def done(self) -> set[str]:
        """The series that have answers."""
        return {series for (series,) in self._file.execute("SELECT series FROM answers")}

    def first(self, series: str) -> Kept | None:
        """The first answer about a series."""
        found = self._file.execute("SELECT about, rows FROM answers WHERE series = ?", (series,)).fetchone()
        return None if found is None else self._kept(*found)

    def answer(self, series: str, count: int, parts: int) -> Kept | None:
        """What was said of the next `count` rows of a series, if it is here."""
        _interrupts.check()
        if self._next is None:
            return None
        whose, kept = self._next
        if whose != series or kept.rows.size != parts * count:
            raise ValueError(f"{self.path} does not fit the input; leave out --resume to start afresh")
        self._next = next(self._stored, None)
        return Kept(kept.rows.reshape(parts, count), kept.about)

    def model(self, series: str) -> io.BytesIO:
        """What the model of a series wrote after the last answer that was kept, to be loaded."""
        found = self._file.execute("SELECT state FROM models WHERE series = ?", (series,)).fetchone()
        if found is None:
            raise ValueError(f"{self.path} has no model of series {series!r}; leave out --resume to start afresh")
        return io.BytesIO(found[0])

    def add(self, series: str, rows: Array, about: Any, model: Model | None = None) -> None:
        """Note answers just made, what else is to be known of them, and that the model has gone on."""
        insert = "INSERT INTO answers (series, about, rows) VALUES (?, ?, ?)"
        self._file.execute(insert, (series, json.dumps(about), rows.tobytes()))
        self.kept += 1
        if model is not None:
            self._models[series] = model
        try:
            _interrupts.check()
        except KeyboardInterrupt:
            self._save()
            raise
        if time.monotonic() - self._last > self._every:
            self._save()

    def _save(self) -> None:
        for series, model in self._models.items():
            state = io.BytesIO()
            model.save(state)
            self._file.execute("INSERT OR REPLACE INTO models VALUES (?, ?)", (series, state.getvalue()))
        self._file.commit()
        self._models.clear()
        self._last = time.monotonic()

    def __enter__(self) -> Journal:
        self._held.enter_context(_interrupts.held())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._models:  # they may have gone on since their last answer
            self._file.rollback()
        self._file.commit()
        self._file.close()
        if kind is None or issubclass(kind, Exception):
            self._remove()
        with contextlib.suppress(KeyboardInterrupt):  # all is done
            self._held.__exit__(kind, error, trace)

    def _remove(self) -> None:
        for ending in ("", "-journal"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)


def plan_of(file: str, asked: Hints, **more: Any) -> dict[str, Any]:
    """What must be the same for a run to go on: the file as it was, read by the same version, and what was asked."""
    there = Path(file).stat() if file != "-" else None
    read = {
        "file": str(Path(file).resolve()) if there else "-",
        "size": there.st_size if there else 0,
        "date of the file": there.st_mtime_ns if there else 0,
        "version of prophecy": prophecy.__version__,
    }
    said = {name: value for name, value in asdict(asked).items() if name != "ways"}
    return json.loads(json.dumps({**read, **said, **more}))  # type: ignore[no-any-return]


@contextlib.contextmanager
def keeping(
    command: str, file: str, size: int, asked: Hints, out: Path | None, resume: bool, **more: Any
) -> Iterator[Journal | None]:
    """A journal for work on a file of so many bytes, where it is worth one; Ctrl-C says how to go on.

    asked and more: what the answers depend on, besides the file."""
    if out is None or file == "-" or (size < LARGE and not resume):
        yield None
        return
    journal = Journal(out, plan_of(file, asked, **more), resume)
    if journal.kept:
        say(command, f"goes on with what is in {journal.path}")
    stopped = f"stopped; what is done is in {journal.path}: go on with --resume"
    try:
        with _interrupts.last_words(lambda: f"prophecy {command}: {stopped}"), journal:
            yield journal
    except KeyboardInterrupt:
        say(command, stopped)
        raise typer.Exit(INTERRUPTED) from None
