"""What is written: tables, whole or not at all (CSV, gzipped by its name, and Parquet), and unfinished work."""

import contextlib
import csv
import gzip
import io
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import prophecy
from prophecy import _files, _interrupts
from prophecy._arrays import Array
from prophecy.frames.columns import Hints
from prophecy.frames.times import Times

ENDINGS = {".csv": "csv", ".csv.gz": "csv.gz", ".parquet": "parquet", ".pq": "parquet"}


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
    """A table as CSV; text is quoted only where there is some that needs it, and moments without a zone have no more
    digits than they need."""
    import pyarrow as pa
    import pyarrow.csv as arrow

    columns = table.columns
    for place, column in enumerate(columns):
        if pa.types.is_timestamp(column.type) and column.type.tz is None:
            columns[place] = pa.array(Times(column.to_numpy()).texts(), pa.string())
    table = pa.table(columns, names=table.column_names)
    for quoting in ("none", "needed"):
        buffer = pa.BufferOutputStream()
        options = arrow.WriteOptions(include_header=False, quoting_style=quoting)
        try:
            arrow.write_csv(table, buffer, options)
        except pa.ArrowInvalid:
            continue
        return memoryview(buffer.getvalue())
    raise ValueError("a table with binary columns cannot be written as CSV; use --out FILE.parquet")


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
    """The series a run has forecast so far; with `out` in `OUT.part` too, a line each below the plan: `--resume` goes
    on after Ctrl-C, a kill or a power cut. A context: leaving it well, or by an error of the data, removes the file;
    Ctrl-C keeps it.

    While it is open Ctrl-C waits for the series at hand.
    """

    def __init__(self, out: Path | None, plan: dict[str, Any], resume: bool) -> None:
        self.answers: dict[str, Array] = {}
        self.path = None if out is None else out.with_name(out.name + ".part")
        self._held = contextlib.ExitStack()
        if self.path is None:
            return
        if resume and self.path.exists():
            self._read(self.path, plan)
        else:
            self.path.write_bytes(_line(plan))
        self._file = self._held.enter_context(self.path.open("ab", buffering=0))

    def _read(self, path: Path, plan: dict[str, Any]) -> None:
        """What a run that was stopped had; a last line without an end was cut, and goes."""
        data = path.read_bytes()
        try:
            first, *lines = data[: data.rindex(b"\n")].split(b"\n")
            kept = dict(json.loads(first))
            for line in lines:
                series, cells = json.loads(line)
                self.answers[series] = np.frombuffer(bytes.fromhex(cells))
        except (ValueError, TypeError, RecursionError):
            raise self._foreign() from None
        differs = sorted(name for name in {*kept, *plan} if kept.get(name) != plan.get(name))
        if differs:
            raise ValueError(f"{path} was made with another {', '.join(differs)}; leave out --resume to start afresh")
        os.truncate(path, data.rindex(b"\n") + 1)

    def _foreign(self) -> ValueError:
        return ValueError(f"{self.path} is no part of such a run; delete it, or leave out --resume")

    def rows(self, series: str, shape: tuple[int, ...]) -> Array | None:
        """The answer about a series, if there is one. Numbers of another shape were written by somebody else."""
        found = self.answers.get(series)
        if found is not None and found.size != math.prod(shape):
            raise self._foreign()
        return None if found is None else found.reshape(shape)

    def add(self, series: str, rows: Array) -> None:
        """Note an answer just made."""
        self.answers[series] = rows
        if self.path is not None:
            self._file.write(_line([series, rows.tobytes().hex()]))
        _interrupts.check()

    def __enter__(self) -> "Journal":
        self._held.enter_context(_interrupts.held())
        return self

    def __exit__(self, kind: type[BaseException] | None, *more: Any) -> None:
        if self.path is not None and (kind is None or issubclass(kind, Exception)):
            self.path.unlink(missing_ok=True)
        with contextlib.suppress(KeyboardInterrupt):  # all is done
            self._held.__exit__(kind, *more)


def _line(what: Any) -> bytes:
    return json.dumps(what).encode() + b"\n"


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
