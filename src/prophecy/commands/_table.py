"""A table opened for reading in pieces: Arrow batches whose predicted columns are float64, whatever the file's format.

All other columns of text files are carried along as the very text they were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.commands._dialect import MISSING, Dialect, number, sniff
from prophecy.commands._open import Opened, explained, open_bytes
from prophecy.commands._roles import Layout, Roles, keys_of, resolve
from prophecy.frames import dates
from prophecy.frames.times import Times
from prophecy.frames.zones import Local, zone_of

Array: TypeAlias = NDArray[np.float64]

PIECE = 8 << 20  # bytes of text per piece: some 300 000 short rows, large enough for Arrow's parser to work in parallel
ROWS = 1 << 18  # rows per piece where rows are known (Parquet, .npy)
LINES = 50_000  # lines of JSON per piece
LOOKED = 10_000  # rows of typed formats looked at to find roles
DEEPEST = 50  # levels of nested JSON objects whose keys are columns


@dataclass
class Table:
    """A file opened for reading in pieces; `batches` can be gone through once."""

    path: str
    roles: Roles
    names: tuple[str, ...]
    opened: Opened
    batches: Iterator[Any]
    notes: list[str] = field(default_factory=list)
    texts: tuple[str, ...] = ()  # columns of text, any of which may tell series apart
    local: Local | None = None  # the zone whose clocks the times are of, where one was named

    @property
    def size(self) -> int:
        return self.opened.size

    def position(self) -> int:
        return self.opened.position()

    def times(self, batch: Any, first: int = 1) -> Times | None:
        """When the rows of a batch were."""
        if self.roles.clock is None:
            return None
        times = self.roles.clock.read(batch, first)
        return times if self.local is None else self.local.read(times, keys_of(batch, self.roles.key))


@dataclass(frozen=True)
class Asked:
    """What a user said about a file's columns and its way of writing."""

    columns: Sequence[str] = ()
    time: str | None = None
    key: str | None = None
    time_format: str | None = None
    decimal: str | None = None
    header: bool | None = None
    time_zone: str | None = None


NOTHING = Asked()


def open_table(path: str, asked: Asked = NOTHING) -> Table:
    """Open a table of any kind; what was not said is told by its content, and noted."""
    opened = open_bytes(path)
    with explained(path):
        return {"csv": _csv, "jsonl": _jsonl, "json": _json, "parquet": _parquet, "excel": _excel, "npy": _npy}[
            opened.kind
        ](opened, asked)


def _made(
    opened: Opened, asked: Asked, layout: Layout, batches: Callable[[Roles], Iterator[Any]], notes: Sequence[str] = ()
) -> Table:
    roles = resolve(layout, asked.columns, asked.time, asked.key, asked.time_format)
    local = _local(asked.time_zone, roles, layout)
    texts = tuple(name for name, kind in zip(layout.names, layout.kinds, strict=True) if kind == "text")
    return Table(opened.path, roles, layout.names, opened, batches(roles), [*notes, *roles.notes], texts, local)


def _local(zone: str | None, roles: Roles, layout: Layout) -> Local | None:
    if zone is None:
        return None
    found = zone_of(zone)
    if roles.time is None:
        raise ValueError(
            f"--time-zone needs times; name their column with --time, {layout.path} has {', '.join(layout.names)}"
        )
    return Local(found, roles.time, roles.clock is not None and roles.clock.unit is not None)


# --- CSV ------------------------------------------------------------------------------------------------------------


def _csv(opened: Opened, asked: Asked) -> Table:
    dialect = sniff(opened.path, opened.stream, asked.header, asked.decimal)
    layout = Layout(opened.path, dialect.names, dialect.kinds, dialect.cells)
    return _made(opened, asked, layout, lambda roles: _csv_batches(opened, dialect, roles), dialect.notes)


def _csv_batches(opened: Opened, dialect: Dialect, roles: Roles) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.csv as arrow

    names, path = list(dialect.names), opened.path
    direct = not dialect.thousands  # Arrow reads numbers itself, but knows nothing of marks between thousands
    types = {name: pa.float64() if direct and name in roles.values else pa.string() for name in names}
    stream: Any = opened.stream
    if path != "-" and not opened.packed:
        # Arrow's own file: its threads may still be reading when an error ends the process, and a Python file then
        # takes the interpreter down with it.
        opened.raw.close()
        stream = opened.raw = pa.OSFile(path)
    read = arrow.ReadOptions(
        block_size=max(PIECE, 4 * dialect.longest),
        column_names=names,
        skip_rows=dialect.skipped + (1 if dialect.header else 0),
        encoding={"utf-8": "utf8"}.get(dialect.encoding, dialect.encoding),
    )
    parse = arrow.ParseOptions(
        delimiter=dialect.separator,
        ignore_empty_lines=len(names) > 1,
        newlines_in_values=any("\n" in cell for column in dialect.cells for cell in column),
    )
    convert = arrow.ConvertOptions(
        column_types=types, null_values=list(MISSING), decimal_point=dialect.decimal, strings_can_be_null=False
    )
    with explained(path):
        try:
            for batch in _ahead(lambda: arrow.open_csv(stream, read, parse, convert)):
                yield batch if direct else _converted(batch, roles, dialect, path)
        except pa.ArrowInvalid as error:
            raise ValueError(_cell_named(str(error), names)) from None


def _cell_named(problem: str, names: Sequence[str]) -> str:
    """Arrow's word on a bad cell, in terms of the file's columns."""
    cell = re.fullmatch(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to double: (.*)", problem)
    if cell is None:
        return problem
    row = "" if cell[2] is None else f", row {cell[2]} of the file"
    return (
        f"column {names[int(cell[1])]!r}{row}: {cell[3]}; correct it, or leave the cell empty where a value is missing"
    )


def _converted(batch: Any, roles: Roles, dialect: Dialect, path: str) -> Any:
    """A batch whose value columns, read as text, become numbers: thousands joined, the decimal mark a point."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in roles.values:
            text = pc.replace_substring_regex(column, f"[\\s{re.escape(dialect.thousands)}]", "")
            text = text if dialect.decimal == "." else pc.replace_substring(text, ",", ".")
            text = pc.if_else(pc.is_in(text, value_set=pa.array(MISSING)), None, text)
            try:
                column = text.cast(pa.float64())
            except pa.ArrowInvalid as error:
                bad = next(
                    c for c in column.to_pylist() if c.strip() not in MISSING and number(c, dialect.decimal) is None
                )
                raise ValueError(
                    f"column {name!r}: {bad!r} is no number ({error}); correct it, or leave the cell empty"
                ) from None
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _ahead(opened: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """The batches of a reader, each parsed while the one before it is worked on."""
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(lambda: iter(opened())).result()
        due = pool.submit(next, reader, None)
        while (batch := due.result()) is not None:
            due = pool.submit(next, reader, None)
            yield batch


# --- JSON -----------------------------------------------------------------------------------------------------------


def _jsonl(opened: Opened, asked: Asked) -> Table:
    rows = _json_lines(opened)
    return _records(opened, asked, rows)


def _json(opened: Opened, asked: Asked) -> Table:
    """One array of objects."""
    try:
        found = json.loads(opened.stream.read())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ValueError("a JSON table is an array of objects, or one object per line")
    return _records(opened, asked, (_flat(row, f"item {i}") for i, row in enumerate(found, start=1)))


def _json_lines(opened: Opened) -> Iterator[dict[str, Any]]:
    import io

    for place, line in enumerate(
        io.TextIOWrapper(io.BufferedReader(opened.stream), "utf-8-sig", errors="replace"), start=1
    ):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {place} is not JSON: {str(error)[:200]}") from None
        if not isinstance(row, dict):
            raise ValueError(f"line {place} is {type(row).__name__}, not an object with keys")
        yield _flat(row, f"line {place}")


def _flat(row: dict[str, Any], where: str, prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Nested keys as `sensor.temp`; lists are left out, numbers too large for a float refused."""
    if depth > DEEPEST:
        raise ValueError(f"{where}: objects nested more than {DEEPEST} deep")
    made: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            made |= _flat(value, where, f"{prefix}{name}.", depth + 1)
        elif not isinstance(value, list):
            if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 1e300:
                raise ValueError(f"{where}: {prefix}{name} is a number of {len(str(value))} digits")
            made[f"{prefix}{name}"] = value
    return made


def _records(opened: Opened, asked: Asked, rows: Iterator[dict[str, Any]]) -> Table:
    """A table of dicts: columns are the keys of the first rows, numbers and text as they are."""
    first = [row for _, row in zip(range(LOOKED), rows, strict=False)]
    if not first:
        raise ValueError("there are no rows")
    names = tuple(dict.fromkeys(name for row in first for name in row))
    cells = tuple([row.get(name) for row in first] for name in names)
    layout = Layout(opened.path, names, tuple(_object_kind(column) for column in cells), cells)

    def batches(roles: Roles) -> Iterator[Any]:
        with explained(opened.path):
            held, done = first, 0
            while held:
                yield _record_batch(held, names, roles, done)
                done += len(held)
                held = [row for _, row in zip(range(LINES), rows, strict=False)]

    return _made(opened, asked, layout, batches)


def _object_kind(cells: Sequence[Any]) -> str:
    from datetime import date, datetime

    known = [cell for cell in cells if cell is not None and cell not in MISSING]
    if not known:
        return "empty"
    if all(isinstance(cell, datetime | date) for cell in known):
        return "typed"
    if sum(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in known) >= 0.9 * len(known):
        return "number"
    texts = [cell for cell in known if isinstance(cell, str)]
    if texts and sum(map(dates.is_date, texts)) >= 0.9 * len(known):
        return "date"
    return "clock" if texts and sum(map(dates.is_time_of_day, texts)) >= 0.9 * len(known) else "text"


def _record_batch(rows: list[dict[str, Any]], names: Sequence[str], roles: Roles, before: int) -> Any:
    import pyarrow as pa

    columns = []
    for name in names:
        cells = [row.get(name) for row in rows]
        if name in roles.values:
            columns.append(pa.array(_as_floats(cells, name, before), pa.float64(), from_pandas=True))
        else:
            try:
                columns.append(pa.array(cells))
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # kinds mixed: as text
                columns.append(pa.array([None if cell is None else str(cell) for cell in cells]))
            if pa.types.is_null(columns[-1].type):
                columns[-1] = columns[-1].cast(pa.string())
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def _as_floats(cells: Sequence[Any], name: str, before: int) -> Array:
    made = np.full(len(cells), np.nan)
    for place, cell in enumerate(cells):
        if cell is None or (isinstance(cell, str) and cell.strip() in MISSING):
            continue
        value = number(cell, ".") if isinstance(cell, str) else float(cell) if isinstance(cell, int | float) else None
        if value is None:
            raise ValueError(
                f"column {name!r}, row {before + place + 1}: {cell!r} is no number; correct it, or leave it empty"
            )
        made[place] = value
    return made


# --- typed formats --------------------------------------------------------------------------------------------------


def _excel(opened: Opened, asked: Asked) -> Table:
    """The first sheet that holds a table, with a header or without."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise ValueError("Excel files need openpyxl; install it with: pip install 'hippo-prophecy[excel]'") from None
    try:
        book = openpyxl.load_workbook(opened.whole(), read_only=True, data_only=True)
    except Exception as error:  # openpyxl raises a dozen kinds on damaged files
        raise ValueError(f"is no Excel file that can be read: {error}") from None
    for sheet in book.worksheets:
        rows = [row for row in sheet.iter_rows(values_only=True) if any(cell is not None for cell in row)]
        if len(rows) > 1:
            break
    else:
        raise ValueError("no sheet holds a table of at least two rows")
    named = asked.header if asked.header is not None else all(isinstance(cell, str) or cell is None for cell in rows[0])
    width = max(len(row) for row in rows)
    names = [
        str(cell) if named and cell is not None else f"column{i + 1}"
        for i, cell in enumerate([*rows[0], *[None] * (width - len(rows[0]))])
    ]
    if len(set(names)) < width:
        raise ValueError(f"several columns are called {max(names, key=names.count)!r}; rename them")
    body = rows[1:] if named else rows
    records = ({name: row[i] if i < len(row) else None for i, name in enumerate(names)} for row in body)
    table = _records(opened, asked, records)
    if len(book.worksheets) > 1:
        table.notes.append(f"sheet {sheet.title!r} of {len(book.worksheets)}")
    if not named:
        table.notes.append("no header: columns are called column1 …, and the first row is data")
    return table


def _parquet(opened: Opened, asked: Asked) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(opened.raw if opened.size and not opened.packed else opened.whole())
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"is not a Parquet file: {error}") from None
    schema = file.schema_arrow
    head = next(file.iter_batches(LOOKED), None)
    if head is None or not head.num_rows:
        raise ValueError("the table has no rows")
    cells = tuple(_sample(head.column(i), field_.type) for i, field_ in enumerate(schema))
    kinds = tuple(_arrow_kind(field_.type, column) for field_, column in zip(schema, cells, strict=True))
    layout = Layout(opened.path, tuple(schema.names), kinds, cells)

    def batches(roles: Roles) -> Iterator[Any]:
        for batch in file.iter_batches(ROWS):
            columns = [
                column.cast(pa.float64(), safe=False) if name in roles.values else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    return _made(opened, asked, layout, batches)


def _sample(column: Any, kind: Any) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return []
    return list(column.to_pylist())


def _arrow_kind(kind: Any, cells: Sequence[Any]) -> str:
    import pyarrow as pa

    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "typed"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return _object_kind(cells) if pa.types.is_string(kind) or pa.types.is_large_string(kind) else "text"


def _npy(opened: Opened, asked: Asked) -> Table:
    """(time,) or (time, series): a column is a series, as in any table."""
    import pyarrow as pa

    try:
        if opened.size and not opened.packed:
            data = np.load(opened.path, mmap_mode="r", allow_pickle=False)
        else:
            data = np.load(opened.whole(), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"is not an .npy file of numbers: {error}") from None
    if data.ndim not in (1, 2) or data.dtype.kind not in "iuf" or data.size == 0:
        raise ValueError(f"must hold real numbers, (time,) or (time, series), got {data.dtype} {data.shape}")
    names = ("value",) if data.ndim == 1 else tuple(f"value{i}" for i in range(data.shape[1]))
    layout = Layout(opened.path, names, ("number",) * len(names), ((),) * len(names))

    def batches(roles: Roles) -> Iterator[Any]:
        rows = max(1, ROWS // len(names))
        for start in range(0, len(data), rows):
            part = np.asarray(data[start : start + rows], dtype=np.float64).reshape(-1, len(names))
            yield pa.RecordBatch.from_arrays(
                [pa.array(part[:, i], from_pandas=True) for i in range(len(names))], list(names)
            )

    return _made(opened, asked, layout, batches)


def floats(batch: Any, name: str) -> Array:
    """A value column as float64, missing values as NaN."""
    column = batch.column(batch.schema.get_field_index(name))
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
