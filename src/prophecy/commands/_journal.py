"""The series a run has forecast so far: `--resume` goes on after Ctrl-C, a kill or a power cut.

`OUT.part` is an SQLite file with what was asked and the numbers of every answer, written in a transaction now and then.
"""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
import time
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import prophecy
from prophecy import _interrupts
from prophecy.frames.columns import Hints

Array: TypeAlias = NDArray[np.float64]

EVERY = 1.0  # seconds of finished series that a kill may cost
SCHEMA = ("CREATE TABLE plan (text TEXT)", "CREATE TABLE answers (series TEXT PRIMARY KEY, rows BLOB)")


class Journal:
    """A context: leaving it well, or by an error of the data, removes the file; Ctrl-C keeps it.

    While it is open Ctrl-C waits for the series at hand.
    """

    def __init__(self, out: Path, plan: dict[str, Any], resume: bool, every: float = EVERY) -> None:
        self.path, self._every = out.with_name(out.name + ".part"), every
        if not resume:
            self._remove()
        self._file = sqlite3.connect(self.path)
        self._file.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)  # we have none
        try:
            self._begin(plan)
        except sqlite3.DatabaseError:
            raise self._foreign() from None
        self.kept = self._file.execute("SELECT count(*) FROM answers").fetchone()[0]
        self._held = contextlib.ExitStack()
        self._last = time.monotonic()

    def _begin(self, plan: dict[str, Any]) -> None:
        found = {made for (made,) in self._file.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        if not found:
            for made in ("BEGIN", *SCHEMA):
                self._file.execute(made)
            self._file.execute("INSERT INTO plan VALUES (?)", (json.dumps(plan),))
            self._file.commit()
            return
        if found != {*SCHEMA}:  # a view may take for ever
            raise self._foreign()
        text = (self._file.execute("SELECT text FROM plan").fetchone() or [None])[0]
        try:
            kept = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            kept = None
        if not isinstance(kept, dict):
            raise self._foreign()
        differs = sorted(name for name in {*kept, *plan} if kept.get(name) != plan.get(name))
        if differs:
            raise ValueError(
                f"{self.path} was made with another {', '.join(differs)}; leave out --resume to start afresh"
            )

    def _foreign(self) -> ValueError:
        return ValueError(f"{self.path} is no part of such a run; delete it, or leave out --resume")

    def done(self) -> set[str]:
        """The series that have answers."""
        return {series for (series,) in self._file.execute("SELECT series FROM answers")}

    def rows(self, series: str, shape: tuple[int, ...]) -> Array | None:
        """The answer about a series, if there is one. Numbers of another shape were written by somebody else."""
        found = self._file.execute("SELECT rows FROM answers WHERE series = ?", (series,)).fetchone()
        if found is None:
            return None
        if not isinstance(found[0], bytes) or len(found[0]) != 8 * math.prod(shape):
            raise self._foreign()
        return np.frombuffer(found[0]).reshape(shape)

    def add(self, series: str, rows: Array) -> None:
        """Note an answer just made."""
        self._file.execute("INSERT INTO answers VALUES (?, ?)", (series, rows.tobytes()))
        self.kept += 1
        _interrupts.check()
        if time.monotonic() - self._last > self._every:
            self._file.commit()
            self._last = time.monotonic()

    def __enter__(self) -> Journal:
        self._held.enter_context(_interrupts.held())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
