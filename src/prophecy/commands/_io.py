"""Tables in and out, in pieces: CSV (plain or gzipped), Parquet and .npy, with bounded memory.

A table is read as a sequence of Arrow record batches. Columns to be predicted arrive as float64 with missing values as
nulls; all other columns of a CSV are carried along as the very text they were.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

PIECE = 8 << 20  # bytes of text per piece: some 300 000 short rows, large enough for Arrow's parser to work in parallel
LONG = 200_000  # rows from which a table counts as long
ROWS = 1 << 18  # rows per piece where rows are known (Parquet, .npy)
SNIFF = 1 << 16  # bytes looked at to find delimiter, header and number columns

TIMES = ("time", "timestamp", "datetime", "date_time", "date time", "date", "when", "ds", "t")
GROUPS = ("unique_id",)
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "None", "-", "?"]


class Roles(NamedTuple):
    """Which columns are predicted, which says when, and which tells the series apart."""

    values: tuple[str, ...]
    time: str | None
    group: str | None


@dataclass(frozen=True)
class Dialect:
    """How a CSV is written; `numeric` columns begin with numbers or gaps; `width` is the bytes of a usual line."""

    delimiter: str
    decimal: str
    header: bool
    names: tuple[str, ...]
    numeric: tuple[str, ...]
    width: float
    encoding: str


@dataclass(frozen=True)
class Table:
    """A file opened for reading in pieces; `size` and `position` are bytes, for a progress bar."""

    path: str
    roles: Roles
    names: tuple[str, ...]
    size: int
    long: bool
    raw: BinaryIO | None
    batches: Iterator[Any]

    def position(self) -> int:
        return self.raw.tell() if self.raw is not None and self.raw.seekable() else 0


def open_table(path: str, columns: Sequence[str] = (), time: str | None = None, group: str | None = None) -> Table:
    """Open a table; roles not given are told by the columns' names and contents. `-` is CSV from stdin."""
    if path != "-" and Path(path).is_dir():
        raise ValueError(f"{path} is a folder; name a file")
    kind = "".join(Path(path).suffixes[-2:]).lower() if path != "-" else ".csv"
    if kind.endswith(".npy"):
        return _open_npy(path, columns, time, group)
    if kind.endswith((".parquet", ".pq")):
        return _open_parquet(path, columns, time, group)
    return _open_csv(path, columns, time, group)


def _open_csv(path: str, columns: Sequence[str], time: str | None, group: str | None) -> Table:
    raw: BinaryIO = sys.stdin.buffer if path == "-" else open(path, "rb", SNIFF)  # noqa: SIM115 (closed with the process)
    size = os.fstat(raw.fileno()).st_size if path != "-" else 0
    stream: Any = raw
    with _explaining(path):
        if stream.peek(2)[:2] == b"\x1f\x8b":
            stream = io.BufferedReader(gzip.GzipFile(fileobj=stream), SNIFF)
        dialect = sniff(path, stream)
    roles = resolve(path, dialect.names, dialect.numeric, columns, time, group)
    packed = 4 if stream is not raw else 1  # text like this shrinks to a quarter or less
    if stream is raw and raw.seekable() and path != "-":
        # Arrow's own file: its threads may still be reading when an error ends the process, and a Python file then
        # takes the interpreter down with it.
        import pyarrow as pa

        raw.close()
        stream = raw = pa.OSFile(path)
    long = size * packed > LONG * dialect.width
    return Table(path, roles, dialect.names, size, long, raw, _csv_batches(path, stream, dialect, roles))


def _csv_batches(path: str, stream: Any, dialect: Dialect, roles: Roles) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.csv as arrow

    names = list(dialect.names)
    types = {name: pa.float64() if name in roles.values else pa.string() for name in names}
    with _explaining(path, names):
        yield from _ahead(
            lambda: arrow.open_csv(
                stream,
                arrow.ReadOptions(
                    block_size=PIECE,
                    column_names=names,
                    skip_rows=1 if dialect.header else 0,
                    encoding=dialect.encoding,
                ),
                arrow.ParseOptions(delimiter=dialect.delimiter),
                arrow.ConvertOptions(column_types=types, null_values=MISSING, decimal_point=dialect.decimal),
            )
        )


def _ahead(opened: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """The batches of a reader, each parsed while the one before it is worked on."""
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(lambda: iter(opened())).result()
        due = pool.submit(next, reader, None)
        while (batch := due.result()) is not None:
            due = pool.submit(next, reader, None)
            yield batch


@contextlib.contextmanager
def _explaining(path: str, names: Sequence[str] = ()) -> Iterator[None]:
    """Errors of readers, told in terms of the file and its columns."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, csv.Error) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    except ValueError as error:
        cell = re.fullmatch(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to double: (.*)", str(error))
        if cell is not None:
            raise ValueError(
                f"{path}: column {names[int(cell[1])]!r}, row {cell[2]} of the file: {cell[3]}; correct it, or leave "
                "the cell empty where a value is missing"
            ) from None
        raise ValueError(str(error) if str(error).startswith(path) else f"{path}: {error}") from error


def sniff(path: str, stream: Any) -> Dialect:
    """Delimiter, header and number columns from the file's first lines, without consuming them."""
    head = stream.peek(SNIFF)[:SNIFF]
    text, encoding = _decoded(path, head)
    lines = text.splitlines()
    if len(lines) > 2 and not text.endswith("\n"):
        lines = lines[:-1]  # it may be cut off
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise ValueError(f"{path} is empty; a table needs at least a header and two rows")
    delimiter = max(",;\t|", key=lambda mark: min(line.count(mark) for line in lines[:20]))
    rows = list(csv.reader(lines, delimiter=delimiter))
    decimal = "," if delimiter == ";" and _decimal_commas(rows[1:]) else "."
    header = any(cell.strip() not in MISSING and _number(cell, decimal) is None for cell in rows[0])
    width = len(rows[0])
    names = tuple(cell.strip() for cell in rows[0]) if header else tuple(f"column{i + 1}" for i in range(width))
    if not header and width == 1:
        names = ("value",)
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f"{path} has several columns called {sorted(repeated)[0]!r}; rename them")
    body = [row for row in rows[1 if header else 0 :] if len(row) == width]
    numeric = tuple(name for i, name in enumerate(names) if _numbers([row[i] for row in body], decimal))
    return Dialect(delimiter, decimal, header, names, numeric, sum(map(len, lines)) / len(lines) + 1, encoding)


def _decoded(path: str, head: bytes) -> tuple[str, str]:
    """A file's beginning as text, and its encoding: UTF-8, or Latin-1 where it is not that but has no control codes."""
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head), "utf8"
    except UnicodeDecodeError as error:
        if re.search(rb"[\x00-\x08\x0e-\x1f\x7f]", head) is None:
            return head.decode("latin-1"), "latin-1"
        raise ValueError(
            f"{path} is neither UTF-8 text nor Parquet, .npy or gzip: {error}; save it as CSV (UTF-8)"
        ) from None


def _number(cell: str, decimal: str) -> float | None:
    try:
        return float(cell.strip().replace(decimal, "."))
    except ValueError:
        return None


def _numbers(cells: list[str], decimal: str) -> bool:
    """Whether a column is one of numbers: nine in ten will do, so that the odd bad cell is reported where it stands."""
    filled = [cell for cell in cells if cell.strip() not in MISSING]
    return bool(filled) and sum(_number(cell, decimal) is not None for cell in filled) >= 0.9 * len(filled)


def _decimal_commas(rows: list[list[str]]) -> bool:
    cells = [cell for row in rows for cell in row]
    return any("," in cell and _number(cell, ",") is not None for cell in cells) and not any("." in c for c in cells)


def resolve(
    path: str,
    names: Sequence[str],
    numeric: Sequence[str],
    columns: Sequence[str],
    time: str | None,
    group: str | None,
) -> Roles:
    """Give every column its part, or say which ones there are."""
    for what, name in [("", column) for column in columns] + [("time ", time), ("group ", group)]:
        if name is not None and name not in names:
            raise ValueError(f"{path} has no {what}column {name!r}; it has {', '.join(names)}")
    lower = {name.lower(): name for name in reversed(names) if name != "T"}  # T is a temperature
    taken = set(columns)
    group = group or next((lower[g] for g in GROUPS if g in lower and lower[g] not in taken), None)
    time = time or next((lower[t] for t in TIMES if t in lower and lower[t] not in taken | {group}), None)
    free = [name for name in numeric if name not in (time, group)]
    # A column without a name is the row number pandas writes; it is predicted only where there is nothing else.
    values = tuple(columns) or tuple(name for name in free if name) or tuple(free)
    if not values:
        raise ValueError(f"{path} has no column of numbers to predict; it has {', '.join(names)}; choose with --column")
    for name in values:
        if name in (time, group):
            raise ValueError(f"column {name!r} cannot be both predicted and the time or the group")
        if name not in numeric:
            raise ValueError(
                f"{path}: column {name!r} does not hold numbers; columns that do: {', '.join(numeric) or 'none'}"
            )
    return Roles(values, time, group)


def _open_parquet(path: str, columns: Sequence[str], time: str | None, group: str | None) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    raw = open(path, "rb")  # noqa: SIM115 (closed with the process)
    try:
        file = parquet.ParquetFile(raw)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is not a Parquet file: {error}") from None
    schema = file.schema_arrow
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    numeric = [field.name for field in schema if any(is_kind(field.type) for is_kind in kinds)]
    roles = resolve(path, schema.names, numeric, columns, time, group)
    batches = (_as_floats(batch, roles) for batch in file.iter_batches(ROWS))
    long = file.metadata.num_rows > LONG
    return Table(path, roles, tuple(schema.names), os.fstat(raw.fileno()).st_size, long, raw, batches)


def _as_floats(batch: Any, roles: Roles) -> Any:
    import pyarrow as pa

    columns = [
        column.cast(pa.float64(), safe=False) if name in roles.values else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _open_npy(path: str, columns: Sequence[str], time: str | None, group: str | None) -> Table:
    """(time,) or (time, series): a column is a series, as in any table."""
    import pyarrow as pa

    try:
        data = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path} is not an .npy file of numbers: {error}") from None
    if data.ndim not in (1, 2) or data.dtype.kind not in "iuf" or data.size == 0:
        raise ValueError(f"{path} must hold real numbers, (time,) or (time, series), got {data.dtype} {data.shape}")
    names = ["value"] if data.ndim == 1 else [f"value{i}" for i in range(data.shape[1])]
    roles = resolve(path, names, names, columns, time, group)

    def batches() -> Iterator[Any]:
        rows = max(1, ROWS // len(names))
        for start in range(0, len(data), rows):
            part = np.asarray(data[start : start + rows], dtype=np.float64).reshape(-1, len(names))
            yield pa.RecordBatch.from_arrays([pa.array(part[:, i], from_pandas=True) for i in range(len(names))], names)

    return Table(path, roles, tuple(names), 0, len(data) > LONG, None, batches())


def floats(batch: Any, name: str) -> Array:
    """A value column as float64, missing values as NaN."""
    column = batch.column(batch.schema.get_field_index(name))
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def with_columns(batch: Any, added: dict[str, Array]) -> Any:
    """The batch with columns added; NaN is written as a missing value."""
    import pyarrow as pa

    arrays = [*batch.columns, *(_column(values) for values in added.values())]
    return pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, *added])


def _column(values: NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.array(values, from_pandas=True)


class Writer:
    """Batches into one CSV (gzipped by its name) or Parquet file; the schema is that of the first batch."""

    def __init__(self, temporary: Path, final: Path) -> None:
        self._kind = output_kind(final)
        self._path = temporary
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
    """A batch as CSV; text is quoted only where a batch has some that needs it."""
    import pyarrow as pa
    import pyarrow.csv as arrow

    for quoting in ("none", "needed"):
        buffer = pa.BufferOutputStream()
        options = arrow.WriteOptions(include_header=False, quoting_style=quoting)
        try:
            arrow.write_csv(pa.Table.from_batches([batch]), buffer, options)
        except pa.ArrowInvalid:
            continue
        return memoryview(buffer.getvalue())
    raise ValueError("a table with binary columns cannot be written as CSV; use --out FILE.parquet")


def output_kind(path: Path) -> str:
    """ "csv", "csv.gz" or "parquet" by the name of a file to be written."""
    name = path.name.lower()
    for ending, kind in ((".csv", "csv"), (".csv.gz", "csv.gz"), (".parquet", "parquet"), (".pq", "parquet")):
        if name.endswith(ending):
            return kind
    raise ValueError(f"--out must end in .csv, .csv.gz or .parquet, got {path.name!r}")
