"""Tables whose cells have types, in pieces: JSON, sheets of Excel files, Parquet, .npy, frames in memory."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Any

import numpy as np

from prophecy.frames.columns import Content, Hints, Layout, described
from prophecy.frames.opening import Opened
from prophecy.frames.text import header_of, said_about

LINES = 50_000  # rows of objects per piece: some megabytes
ROWS = 1 << 18  # rows of arrays per piece: 2 MB of each column
LOOKED = 10_000  # rows read to find roles: about as many as the first megabyte of a CSV has
DEEPEST = 50  # levels of nested JSON objects whose keys are columns: far below Python's limit of 1 000 calls
UNPACKED = 1 << 29  # bytes an Excel file may unfold to
SHEET_CELLS = 20_000_000  # of a sheet: 20 columns of the million rows Excel has

Row = Sequence[Any]


def read_json_lines(opened: Opened, asked: Hints) -> Content:
    """An object a line."""
    text = io.TextIOWrapper(io.BufferedReader(opened.stream), "utf-8-sig", errors="replace")
    lines = ((place, line) for place, line in enumerate(text, start=1) if line.strip())
    return _of_objects(opened, asked, (_flat(_parsed(line, place), f"line {place}") for place, line in lines))


def read_json(opened: Opened, asked: Hints) -> Content:
    """One array of objects."""
    try:
        found = json.loads(opened.stream.read())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {str(error)[:200]}; write an object per line") from None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ValueError("a JSON table is an array of objects, or one object per line; write it so")
    return _of_objects(opened, asked, (_flat(row, f"item {i}") for i, row in enumerate(found, start=1)))


def _parsed(line: str, place: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"line {place} is not JSON: {str(error)[:200]}; correct or remove it") from None
    if not isinstance(row, dict):
        raise ValueError(f"line {place} is {type(row).__name__}, not an object with keys; write one per line")
    return row


def _flat(row: dict[str, Any], where: str, prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Nested keys as `sensor.temp`; lists are left out, numbers too large for a float refused."""
    if depth > DEEPEST:
        raise ValueError(f"{where}: objects nested more than {DEEPEST} deep; flatten them")
    made: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            made |= _flat(value, where, f"{prefix}{name}.", depth + 1)
        elif not isinstance(value, list):
            if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 1e300:
                raise ValueError(f"{where}: {prefix}{name} is a number of {len(str(value))} digits; correct it")
            made[f"{prefix}{name}"] = value
    return made


def _of_objects(opened: Opened, asked: Hints, objects: Iterator[dict[str, Any]]) -> Content:
    """A table of dicts: columns are the keys of the first rows."""
    first = list(islice(objects, LOOKED))
    names = tuple(dict.fromkeys(name for row in first for name in row))
    return _of_rows(opened, asked, names, ([row.get(name) for name in names] for row in chain(first, objects)))


def _of_rows(opened: Opened, asked: Hints, names: tuple[str, ...], rows: Iterator[Row]) -> Content:
    """A table of rows whose cells are numbers, text and dates as they are."""
    first = list(islice(rows, LOOKED))
    if not first:
        raise ValueError("there are no rows; a table needs at least two")
    layout, notes = described(opened.path, names, list(zip(*first, strict=True)), asked)
    pieces = chain([first], iter(lambda: list(islice(rows, LINES)), []))
    return Content(layout, (dict(zip(names, zip(*held, strict=True), strict=True)) for held in pieces), notes)


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
            raise ValueError(
                f"it unpacks to {unpacked >> 20:,} MB, and at most {UNPACKED >> 20} are read; save it as CSV or Parquet"
            )
        book = openpyxl.load_workbook(data, read_only=True, data_only=True)
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        if asked.sheet is not None and asked.sheet not in sheets:
            raise ValueError(f"there is no sheet {asked.sheet!r}; it has {', '.join(map(repr, sheets))}")
        chosen = sheets if asked.sheet is None else [asked.sheet]
        title, rows = next(((one, found) for one in chosen if len(found := _sheet_rows(sheets[one])) > 1), ("", []))
    except ValueError:
        raise
    except Exception as error:  # openpyxl raises a dozen kinds on damaged files
        raise ValueError(f"is not a readable Excel file: {error}; save it again, or as CSV") from None
    if not rows:
        raise ValueError("no sheet holds a table of at least two rows; name another file, or save the table as CSV")
    rows = rows[asked.skip or 0 :]
    texts = [[_text(cell) for cell in row] for row in rows]
    names, header, start = header_of(opened.path, texts, asked)
    made = _of_rows(opened, asked, names, (row[: len(names)] for row in rows[start:]))
    notes = [*made.notes, *said_about(texts[:start], header, start, len(names))]
    return made._replace(notes=[*notes, f"sheet {title!r} of {len(sheets)}"] if len(sheets) > 1 else notes)


def _sheet_rows(sheet: Any) -> list[Row]:
    """The rows of a sheet by its cells; what it says of its own size may be wrong."""
    sheet.reset_dimensions()
    rows: list[Row] = []
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


def read_parquet(opened: Opened, asked: Hints) -> Content:
    """Columns of any type."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(opened.raw if opened.size and not opened.packed else opened.whole())
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"is not a Parquet file: {error}; write it again, or as CSV") from None
    pieces = (nw.from_native(pa.Table.from_batches([batch]), eager_only=True) for batch in file.iter_batches(ROWS))
    head = next(pieces, None)
    if head is None or not len(head):
        raise ValueError("the table has no rows; a forecast needs at least two")
    return of_frames(opened.path, chain([head], pieces), asked)


def of_frames(path: str, pieces: Iterator[Any], asked: Hints) -> Content:
    """Narwhals frames below each other. Kinds of columns are told by their types, or else by the first cells."""
    import narwhals.stable.v2 as nw

    first = next(pieces)
    head = first.head(LOOKED)
    kinds = [
        "typed" if kind in (nw.Date, nw.Datetime) else "number" if kind.is_numeric() else "bool" * (kind == nw.Boolean)
        for kind in head.schema.values()
    ]
    cells = [column.to_list() for column in head.iter_columns()]
    layout, notes = described(path, head.columns, cells, asked, kinds=kinds)
    return Content(layout, chain([first], pieces), notes)


def read_npy(opened: Opened, asked: Hints) -> Content:
    """(time,) or (time, series): a column is a series, as in any table."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    try:
        if opened.size and not opened.packed:
            data = np.load(opened.path, mmap_mode="r", allow_pickle=False)
        else:
            data = np.load(opened.whole(), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"is not an .npy file of numbers: {error}; write it with numpy.save") from None
    if data.ndim not in (1, 2) or data.dtype.kind not in "iuf" or data.size == 0:
        raise ValueError(f"must hold real numbers, (time,) or (time, series), got {data.dtype} {data.shape}")
    names = ["value"] if data.ndim == 1 else [f"value{i}" for i in range(data.shape[1])]
    data = data.reshape(len(data), -1)
    layout = Layout(opened.path, tuple(names), ("number",) * len(names), ((),) * len(names), {}, asked)
    rows = max(1, ROWS // len(names))
    parts = (np.asarray(data[start : start + rows], dtype=np.float64) for start in range(0, len(data), rows))
    return Content(layout, (nw.from_native(pa.table(list(part.T), names), eager_only=True) for part in parts), [])
