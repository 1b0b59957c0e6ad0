"""Tables written whole or not at all: CSV (gzipped by its name) and Parquet, through symbolic links."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from prophecy import _files
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
