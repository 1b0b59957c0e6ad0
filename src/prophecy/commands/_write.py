"""Tables written whole or not at all: CSV (gzipped by its name) and Parquet, through symbolic links."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import _files

ENDINGS = {".csv": "csv", ".csv.gz": "csv.gz", ".parquet": "parquet", ".pq": "parquet"}


def output_kind(path: Path) -> str:
    """ "csv", "csv.gz" or "parquet" by the name of a file to be written."""
    for ending, kind in ENDINGS.items():
        if path.name.lower().endswith(ending):
            return kind
    raise ValueError(f"--out must end in .csv, .csv.gz or .parquet, got {path.name!r}")


@contextlib.contextmanager
def sink(out: Path | None) -> Iterator[Callable[[Any], None] | None]:
    """A function that writes Arrow batches to a file, which appears when all is written; None without a file."""
    if out is None:
        yield None
        return
    with _files.replacing(out) as temporary:
        writer = Writer(temporary, output_kind(out))
        yield writer.write
        writer.close()


class Writer:
    """Batches into one file; the columns are those of the first batch."""

    def __init__(self, path: Path, kind: str) -> None:
        self._kind, self._path = kind, path
        self._sink: Any = None

    def write(self, batch: Any) -> None:
        import pyarrow as pa

        if self._sink is None:
            self._sink = self._open(batch.schema)
        if self._kind == "parquet":
            self._sink.write_table(pa.Table.from_batches([batch]))
        else:
            self._sink.write(_csv_text(batch))

    def _open(self, schema: Any) -> Any:
        import pyarrow.parquet as parquet

        if self._kind == "parquet":
            return parquet.ParquetWriter(str(self._path), schema)
        # Level 1: the time goes to making text, not to shaving a few percent off it.
        sink = gzip.GzipFile(self._path, "wb", 1) if self._kind == "csv.gz" else open(self._path, "wb")  # noqa: SIM115
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(schema.names)
        sink.write(header.getvalue().encode())
        return sink

    def close(self) -> None:
        if self._sink is not None:
            self._sink.close()


def _csv_text(batch: Any) -> memoryview:
    """A batch as CSV; text is quoted only where a batch has some that needs it, and dates have no more digits than they
    need."""
    import pyarrow as pa
    import pyarrow.csv as arrow

    dated = [_dates(column) if pa.types.is_timestamp(column.type) else column for column in batch.columns]
    batch = pa.RecordBatch.from_arrays(dated, names=batch.schema.names)
    for quoting in ("none", "needed"):
        buffer = pa.BufferOutputStream()
        options = arrow.WriteOptions(include_header=False, quoting_style=quoting)
        try:
            arrow.write_csv(pa.Table.from_batches([batch]), buffer, options)
        except pa.ArrowInvalid:
            continue
        return memoryview(buffer.getvalue())
    raise ValueError("a table with binary columns cannot be written as CSV; use --out FILE.parquet")


def _dates(column: Any) -> Any:
    """Moments without a zone as text: days, or times of day as precise as they are; others as they are."""
    import pyarrow as pa

    values = column.to_numpy(zero_copy_only=False)
    there = ~np.isnat(values)
    if column.type.tz is not None or not there.any():
        return column
    units: tuple[Any, ...] = ("D", "m", "s", "ms", "us", "ns")
    unit = next(u for u in units if (values[there].astype(f"datetime64[{u}]") == values[there]).all() or u == "ns")
    texts = np.datetime_as_string(values, unit).tolist()
    return pa.array([text.replace("T", " ") if ok else None for text, ok in zip(texts, there.tolist(), strict=True)])


def with_columns(batch: Any, added: dict[str, NDArray[Any]]) -> Any:
    """The batch with columns added; NaN is written as a missing value."""
    return as_batch({**dict(zip(batch.schema.names, batch.columns, strict=True)), **added})


def as_batch(columns: dict[str, Any]) -> Any:
    """Named columns (Arrow, NumPy or lists) as a batch; NaN is a missing value."""
    import pyarrow as pa

    arrays = [
        column
        if isinstance(column, pa.Array)
        else pa.array(np.asarray(column) if isinstance(column, np.ndarray) else column, from_pandas=True)
        for column in columns.values()
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def free_names(parts: Sequence[str], columns: Sequence[str], present: Sequence[str]) -> dict[tuple[str, str], str]:
    """What added columns are called, by value column and part: `part` alone where one column is predicted,
    `column_part` where several are, with `prophecy_` before all of them where the table has such a column already."""
    names = {(c, p): p if len(columns) == 1 else f"{c}_{p}" for c in columns for p in parts}
    while set(names.values()) & set(present):
        names = {place: f"prophecy_{name}" for place, name in names.items()}
    return names
