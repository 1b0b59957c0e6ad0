"""Tables whose cells have types, in pieces: JSON lines, an array of objects, sheets of Excel files, Parquet, .npy."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np

from prophecy.frames import dates
from prophecy.frames.numbers import JUDGED, MOSTLY, NumberStyle, column_style, file_mark, is_missing, is_number
from prophecy.frames.opening import Opened, explained
from prophecy.frames.roles import Content, Hints, Layout, Roles
from prophecy.frames.stray import Stray
from prophecy.frames.text import header_of, said_about

LINES = 50_000  # rows of objects per piece: some megabytes
ROWS = 1 << 18  # rows of arrays per piece: 2 MB of each column
LOOKED = 10_000  # rows read to find roles: about as many as the first megabyte of a CSV has
DEEPEST = 50  # levels of nested JSON objects whose keys are columns: far below Python's limit of 1 000 calls
UNPACKED = 1 << 29  # bytes an Excel file may unfold to
SHEET_CELLS = 20_000_000  # of a sheet: 20 columns of the million rows Excel has


def read_json_lines(opened: Opened, asked: Hints) -> Content:
    """An object a line."""
    return _records(opened, asked, _json_lines(opened), None)


def read_json(opened: Opened, asked: Hints) -> Content:
    """One array of objects."""
    try:
        found = json.loads(opened.stream.read())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ValueError("a JSON table is an array of objects, or one object per line")
    return _records(opened, asked, (_flat(row, f"item {i}") for i, row in enumerate(found, start=1)), None)


def _json_lines(opened: Opened) -> Iterator[dict[str, Any]]:
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


def _records(
    opened: Opened, asked: Hints, rows: Iterator[dict[str, Any]], styles: dict[str, NumberStyle] | None
) -> Content:
    """A table of dicts: columns are the keys of the first rows, numbers and text as they are."""
    first = [row for _, row in zip(range(LOOKED), rows, strict=False)]
    if not first:
        raise ValueError("there are no rows")
    names = tuple(dict.fromkeys(name for row in first for name in row))
    cells = tuple([row.get(name) for row in first] for name in names)
    kinds = tuple(
        "number" if styles and name in styles else object_kind(column, asked)
        for name, column in zip(names, cells, strict=True)
    )
    layout, stray = Layout(opened.path, names, kinds, cells, styles, asked), Stray(asked, styles)

    def batches(roles: Roles) -> Iterator[Any]:
        with explained(opened.path):
            held, done = first, 0
            while held:
                yield _record_batch(held, names, roles, done, stray)
                done += len(held)
                held = [row for _, row in zip(range(LINES), rows, strict=False)]
            stray.finish()

    return Content(layout, batches, [], stray)


def _there(cells: Sequence[Any], asked: Hints) -> list[Any]:
    """Cells that mean something."""
    return [c for c in cells if c is not None and c == c and not (isinstance(c, str) and is_missing(c, asked.absent))]


def object_kind(cells: Sequence[Any], asked: Hints) -> str:
    """The kind of a column by most of its cells."""
    known = _there(cells, asked)
    if not known:
        return "empty"
    enough = MOSTLY * len(known)
    if sum(isinstance(cell, datetime | date) for cell in known) >= enough:
        return "typed"
    if all(isinstance(cell, bool) for cell in known):
        return "bool"
    if sum(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in known) >= enough:
        return "number"
    texts = [cell for cell in known if isinstance(cell, str)]
    if texts and sum(map(dates.is_date, texts)) >= enough:
        return "date"
    return "clock" if texts and sum(map(dates.is_time_of_day, texts)) >= enough else "text"


def _record_batch(rows: list[dict[str, Any]], names: Sequence[str], roles: Roles, before: int, stray: Stray) -> Any:
    import pyarrow as pa

    columns = []
    for name in names:
        cells = [row.get(name) for row in rows]
        if name in roles.values:
            columns.append(pa.array(stray.read(name, cells, before), pa.float64(), from_pandas=True))
            continue
        if roles.clock is not None and roles.clock.columns == (name,) and roles.clock.typed:
            cells = stray.moments(name, cells, before)
        try:
            columns.append(pa.array(cells))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # kinds mixed: as text
            columns.append(pa.array([None if cell is None else str(cell) for cell in cells]))
        if pa.types.is_null(columns[-1].type):
            columns[-1] = columns[-1].cast(pa.string())
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def read_excel(opened: Opened, asked: Hints) -> Content:
    """A sheet, the first that holds a table unless one is named; titles and units are found as in text."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise ValueError("Excel files need openpyxl; install it with: pip install 'hippo-prophecy[excel]'") from None
    data = opened.whole()
    try:
        unpacked = sum(part.file_size for part in zipfile.ZipFile(data).infolist())
        if unpacked > UNPACKED:
            raise ValueError(f"it unpacks to {unpacked >> 20:,} MB, and at most {UNPACKED >> 20} are read")
        book = openpyxl.load_workbook(data, read_only=True, data_only=True)
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        if asked.sheet is not None and asked.sheet not in sheets:
            raise ValueError(f"there is no sheet {asked.sheet!r}; it has {', '.join(map(repr, sheets))}")
        chosen = [sheets[asked.sheet]] if asked.sheet is not None else list(sheets.values())
        sheet, rows = next(((one, found) for one in chosen if len(found := _sheet_rows(one)) > 1), (None, []))
    except ValueError:
        raise
    except Exception as error:  # openpyxl raises a dozen kinds on damaged files
        raise ValueError(f"is not a readable Excel file: {error}") from None
    if sheet is None:
        raise ValueError("no sheet holds a table of at least two rows")
    rows = rows[asked.skip or 0 :]
    names, header, start = header_of(opened.path, [[_text(cell) for cell in row] for row in rows], asked)
    notes = said_about([[_text(cell) for cell in row] for row in rows[:start]], header, start, len(names))
    body = [row for row in rows[start:] if any(cell is not None for cell in row)]
    records = ({name: row[i] if i < len(row) else None for i, name in enumerate(names)} for row in body)
    columns = {name: [row[i] for row in body[:LOOKED] if i < len(row)] for i, name in enumerate(names)}
    table = _records(opened, asked, records, _styles(columns, asked))
    if len(sheets) > 1:
        notes.append(f"sheet {sheet.title!r} of {len(sheets)}")
    table.notes.extend(notes)
    return table


def _sheet_rows(sheet: Any) -> list[tuple[Any, ...]]:
    """The rows of a sheet by its cells; what it says of its own size may be wrong."""
    sheet.reset_dimensions()
    rows: list[tuple[Any, ...]] = []
    cells = 0
    for row in sheet.iter_rows(values_only=True):
        cells += len(row)
        if cells > SHEET_CELLS:
            raise ValueError(f"sheet {sheet.title!r} has more than {SHEET_CELLS:,} cells; save it as CSV or Parquet")
        if any(cell is not None for cell in row):
            rows.append(row)
    width = max((max(i for i, cell in enumerate(row, 1) if cell is not None) for row in rows), default=0)
    return [(*row, *[None] * (width - len(row)))[:width] for row in rows]


def _text(cell: Any) -> str:
    """A cell as a CSV would have it."""
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    return "" if cell is None else str(cell)


def _styles(columns: dict[str, list[Any]], asked: Hints) -> dict[str, NumberStyle]:
    """How columns that hold numbers as text write them."""
    texts = {
        name: [cell for cell in _there(cells[:JUDGED], asked) if isinstance(cell, str)]
        for name, cells in columns.items()
    }
    made = {}
    for name, cells in texts.items():
        known = _there(columns[name][:JUDGED], asked)
        numbers = sum(is_number(cell) if isinstance(cell, str) else isinstance(cell, int | float) for cell in known)
        if not cells or not any(map(is_number, cells)) or numbers < MOSTLY * len(known):
            continue
        others = file_mark(list(texts.values()), ";")[0]
        made[name] = column_style(name, cells, asked.decimal, others, asked.ways("decimal", ","))
    return made


def read_parquet(opened: Opened, asked: Hints) -> Content:
    """Columns of any type; numbers as float64."""
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
    cells = tuple(head.column(i).to_pylist() for i in range(len(schema)))
    kinds = tuple(_arrow_kind(field_.type, column, asked) for field_, column in zip(schema, cells, strict=True))
    layout, stray = Layout(opened.path, tuple(schema.names), kinds, cells, None, asked), Stray(asked)

    def batches(roles: Roles) -> Iterator[Any]:
        for batch in file.iter_batches(ROWS):
            columns = [
                stray.coded(name, column.cast(pa.float64(), safe=False)) if name in roles.values else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        stray.finish()

    return Content(layout, batches, [], stray)


def _arrow_kind(kind: Any, cells: Sequence[Any], asked: Hints) -> str:
    import pyarrow as pa

    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "typed"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_boolean(kind):
        return "bool"
    return object_kind(cells, asked)


def read_npy(opened: Opened, asked: Hints) -> Content:
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
    layout = Layout(opened.path, names, ("number",) * len(names), ((),) * len(names), None, asked)

    def batches(roles: Roles) -> Iterator[Any]:
        rows = max(1, ROWS // len(names))
        for start in range(0, len(data), rows):
            part = np.asarray(data[start : start + rows], dtype=np.float64).reshape(-1, len(names))
            yield pa.RecordBatch.from_arrays(
                [pa.array(part[:, i], from_pandas=True) for i in range(len(names))], list(names)
            )

    return Content(layout, batches, [], Stray(asked))
