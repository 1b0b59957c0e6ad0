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

from prophecy.frames.clock import DATES
from prophecy.frames.columns import Hints, Layout, described
from prophecy.frames.opening import Opened, explained
from prophecy.frames.roles import Content, Roles
from prophecy.frames.stray import Stray
from prophecy.frames.text import header_of, said_about, with_numbers

LINES = 50_000  # rows of objects per piece: some megabytes
ROWS = 1 << 18  # rows of arrays per piece: 2 MB of each column
LOOKED = 10_000  # rows read to find roles: about as many as the first megabyte of a CSV has
DEEPEST = 50  # levels of nested JSON objects whose keys are columns: far below Python's limit of 1 000 calls
UNPACKED = 1 << 29  # bytes an Excel file may unfold to
SHEET_CELLS = 20_000_000  # of a sheet: 20 columns of the million rows Excel has

Row = Sequence[Any]


def read_json_lines(opened: Opened, asked: Hints) -> Content:
    """An object a line."""
    return _of_objects(opened, asked, _json_lines(opened))


def read_json(opened: Opened, asked: Hints) -> Content:
    """One array of objects."""
    try:
        found = json.loads(opened.stream.read())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {str(error)[:200]}; write an object per line") from None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ValueError("a JSON table is an array of objects, or one object per line; write it so")
    return _of_objects(opened, asked, (_flat(row, f"item {i}") for i, row in enumerate(found, start=1)))


def _json_lines(opened: Opened) -> Iterator[dict[str, Any]]:
    text = io.TextIOWrapper(io.BufferedReader(opened.stream), "utf-8-sig", errors="replace")
    for place, line in enumerate(text, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {place} is not JSON: {str(error)[:200]}; correct or remove it") from None
        if not isinstance(row, dict):
            raise ValueError(f"line {place} is {type(row).__name__}, not an object with keys; write one per line")
        yield _flat(row, f"line {place}")


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
    stray = Stray(asked, layout.styles)

    def batches(roles: Roles) -> Iterator[Any]:
        with explained(opened.path):
            held = first
            while held:
                yield _batch(list(zip(*held, strict=True)), names, roles, stray)
                held = list(islice(rows, LINES))
            stray.finish()

    return Content(layout, batches, notes, stray)


def _batch(columns: Sequence[Row], names: Sequence[str], roles: Roles, stray: Stray) -> Any:
    """Columns of cells as an Arrow batch, values as float64; a cell of a column of dates that is none is stray."""
    import pyarrow as pa

    made = []
    for name, cells in zip(names, map(list, columns), strict=True):
        if name in roles.values:
            made.append(pa.array(stray.read(name, cells), pa.float64(), from_pandas=True))
            continue
        if roles.clock is not None and roles.clock.typed and name in roles.clock.columns:
            odd = [k for k, cell in enumerate(cells) if cell is not None and not isinstance(cell, DATES)]
            if odd:
                stray.missing_times(name, [(stray.rows + k + 1, str(cells[k])[:40]) for k in odd], len(cells))
                cells = [cell if isinstance(cell, DATES) else None for cell in cells]
        try:
            made.append(pa.array(cells))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # kinds mixed: as text
            made.append(pa.array([None if cell is None else str(cell) for cell in cells]))
        if pa.types.is_null(made[-1].type):
            made[-1] = made[-1].cast(pa.string())
    stray.done(len(columns[0]))
    return pa.RecordBatch.from_arrays(made, names=list(names))


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
        chosen = [sheets[asked.sheet]] if asked.sheet is not None else list(sheets.values())
        sheet, rows = next(((one, found) for one in chosen if len(found := _sheet_rows(one)) > 1), (None, []))
    except ValueError:
        raise
    except Exception as error:  # openpyxl raises a dozen kinds on damaged files
        raise ValueError(f"is not a readable Excel file: {error}; save it again, or as CSV") from None
    if sheet is None:
        raise ValueError("no sheet holds a table of at least two rows; name another file, or save the table as CSV")
    rows = rows[asked.skip or 0 :]
    texts = [[_text(cell) for cell in row] for row in rows]
    names, header, start = header_of(opened.path, texts, asked)
    notes = said_about(texts[:start], header, start, len(names))
    made = _of_rows(opened, asked, names, (row[: len(names)] for row in rows[start:]))
    return made._replace(
        notes=[*made.notes, *notes, *([f"sheet {sheet.title!r} of {len(sheets)}"] if len(sheets) > 1 else [])]
    )


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
    """Columns of any type; numbers as float64."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(opened.raw if opened.size and not opened.packed else opened.whole())
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"is not a Parquet file: {error}; write it again, or as CSV") from None
    head = next(file.iter_batches(LOOKED), None)
    if head is None or not head.num_rows:
        raise ValueError("the table has no rows; a forecast needs at least two")
    layout, notes = described_frame(opened.path, pa.Table.from_batches([head]), asked)
    stray = Stray(asked, layout.styles)

    def batches(roles: Roles) -> Iterator[Any]:
        for batch in file.iter_batches(ROWS):
            yield with_numbers(batch, roles, stray)
        stray.finish()

    return Content(layout, batches, notes, stray)


def described_frame(path: str, frame: Any, asked: Hints) -> tuple[Layout, list[str]]:
    """Columns of a frame: their kinds by type where it says so, else by the first cells."""
    import narwhals.stable.v2 as nw

    head = nw.from_native(frame, eager_only=True).head(LOOKED)
    kinds = [
        "typed" if kind in (nw.Date, nw.Datetime) else "number" if kind.is_numeric() else "bool" * (kind == nw.Boolean)
        for kind in head.schema.values()
    ]
    return described(path, head.columns, [column.to_list() for column in head.iter_columns()], asked, kinds=kinds)


def read_npy(opened: Opened, asked: Hints) -> Content:
    """(time,) or (time, series): a column is a series, as in any table."""
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
    layout = Layout(opened.path, tuple(names), ("number",) * len(names), ((),) * len(names), {}, asked)

    def batches(roles: Roles) -> Iterator[Any]:
        rows = max(1, ROWS // len(names))
        for start in range(0, len(data), rows):
            part = np.asarray(data[start : start + rows], dtype=np.float64).reshape(-1, len(names))
            yield pa.RecordBatch.from_arrays([pa.array(column, from_pandas=True) for column in part.T], names)

    return Content(layout, batches, [], Stray(asked))
