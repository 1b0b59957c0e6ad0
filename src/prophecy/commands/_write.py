"""What is written: tables, whole or not at all (CSV, gzipped by its name, and Parquet), and unfinished work."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import math
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np

import prophecy
from prophecy import _files, _interrupts
from prophecy._arrays import Array
from prophecy.frames.columns import Hints
from prophecy.frames.times import Times

Array: TypeAlias = Array

ENDINGS = {".csv": "csv", ".csv.gz": "csv.gz", ".parquet": "parquet", ".pq": "parquet"}
EVERY = 1.0  # seconds of finished series that a kill may cost
SCHEMA = ("CREATE TABLE plan (text TEXT)", "CREATE TABLE answers (series TEXT PRIMARY KEY, rows BLOB)")


def output_kind(path: Path) -> str:
    """ "csv", "csv.gz" or "parquet" by the name of a file to be written."""
    for ending, kind in ENDINGS.items():
        if path.name.lower().endswith(ending):
            return kind
    raise ValueError(f"--out must end in .csv, .csv.gz or .parquet, got {path.name!r}")


@contextlib.contextmanager
def sink(out: Path | None) -> Iterator[Callable[[Any], None] | None]:
    """A function that writes Arrow tables below each other to a file, which appears when all is written; None without
    a file. The columns are those of the first."""
    if out is None:
        yield None
        return
    kind = output_kind(out)
    with _files.replacing(out) as temporary, contextlib.ExitStack() as closing:
        opened: list[Any] = []

        def write(table: Any) -> None:
            if not opened:
                opened.append(closing.enter_context(_opened(temporary, kind, table.schema)))
            if kind == "parquet":
                opened[0].write_table(table)
            else:
                opened[0].write(_csv_text(table))

        yield write


def _opened(path: Path, kind: str, schema: Any) -> Any:
    import pyarrow.parquet as parquet

    if kind == "parquet":
        return parquet.ParquetWriter(str(path), schema)
    # Level 1: the time goes to making text, not to shaving a few percent off it.
    file = gzip.GzipFile(path, "wb", 1) if kind == "csv.gz" else open(path, "wb")  # noqa: SIM115
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(schema.names)
    file.write(header.getvalue().encode())
    return file


def _csv_text(table: Any) -> memoryview:
    """A table as CSV; text is quoted only where there is some that needs it, and dates have no more digits than they
    need."""
    import pyarrow as pa
    import pyarrow.csv as arrow

    dated = [_dates(column) if pa.types.is_timestamp(column.type) else column for column in table.columns]
    table = pa.table(dated, names=table.column_names)
    for quoting in ("none", "needed"):
        buffer = pa.BufferOutputStream()
        options = arrow.WriteOptions(include_header=False, quoting_style=quoting)
        try:
            arrow.write_csv(table, buffer, options)
        except pa.ArrowInvalid:
            continue
        return memoryview(buffer.getvalue())
    raise ValueError("a table with binary columns cannot be written as CSV; use --out FILE.parquet")


def _dates(column: Any) -> Any:
    """Moments without a zone as text: days, or times of day as precise as they are; others as they are."""
    import pyarrow as pa

    return column if column.type.tz is not None else pa.array(Times(column.to_numpy()).texts(), pa.string())


def as_table(columns: Mapping[str, Any]) -> Any:
    """Named columns (Arrow, NumPy or lists) as an Arrow table; NaN is a missing value."""
    import pyarrow as pa

    made = {}
    for name, column in columns.items():
        if isinstance(column, pa.Array | pa.ChunkedArray) and pa.types.is_floating(column.type):
            column = column.to_numpy()
        made[name] = pa.array(column, from_pandas=True) if isinstance(column, np.ndarray | list) else column
    return pa.table(made)


def with_columns(batch: Any, added: Mapping[str, Any]) -> Any:
    """A narwhals frame with columns added, as an Arrow table."""
    read = batch.to_arrow()
    return as_table({**dict(zip(read.column_names, read.columns, strict=True)), **added})


def free_names(parts: Sequence[str], columns: Sequence[str], present: Sequence[str]) -> dict[tuple[str, str], str]:
    """What added columns are called, by value column and part: `part` alone where one column is predicted,
    `column_part` where several are, with `prophecy_` before all of them where the table has such a column already."""
    names = {(c, p): p if len(columns) == 1 else f"{c}_{p}" for c in columns for p in parts}
    while set(names.values()) & set(present):
        names = {place: f"prophecy_{name}" for place, name in names.items()}
    return names


class Journal:
    """The series a run has forecast so far, in `OUT.part`, an SQLite file: `--resume` goes on after Ctrl-C, a kill or a
    power cut. A context: leaving it well, or by an error of the data, removes the file; Ctrl-C keeps it.

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
