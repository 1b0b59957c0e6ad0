"""Tables that are no text: JSON and sheets of Excel files as columns of text, Parquet, .npy and frames as
columns that have types."""

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from prophecy.frames.columns import Hints, Layout, described, text_of
from prophecy.frames.dates import JUDGED
from prophecy.frames.numbers import is_number
from prophecy.frames.opening import Opened
from prophecy.frames.rows import of_rows
from prophecy.frames.source import DATES

DEEPEST = 50  # levels of nested JSON objects whose keys are columns: far below Python's limit of 1 000 calls
UNPACKED = 1 << 29  # bytes an Excel file may unfold to
SHEET_CELLS = 20_000_000  # of a sheet: 20 columns of the million rows Excel has

Row = Sequence[Any]


def read_json(opened: Opened, asked: Hints) -> Layout:
    """An object a line, or (a file that begins with a bracket) one array of objects."""
    if opened.kind == "json":
        found = _parsed(opened.data, "", "write an object per line")
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise ValueError("a JSON table is an array of objects, or one object per line; write it so")
        objects = (_flat(row, f"item {i}") for i, row in enumerate(found, start=1))
    else:
        text = io.TextIOWrapper(io.BytesIO(opened.data), "utf-8-sig", errors="replace")
        lines = ((f"line {place}", line) for place, line in enumerate(text, start=1) if line.strip())
        objects = (_flat(_parsed(line, f"{place} is ", "correct or remove it"), place) for place, line in lines)
    table = list(objects)
    names = tuple(dict.fromkeys(name for row in table for name in row))
    if not names:
        raise ValueError("its objects hold no values, or lists of them; write an object for each row")
    return of_rows(opened.path, enumerate(([row.get(name) for name in names] for row in table), 1), asked, names)


def _parsed(text: str | bytes, where: str, way_out: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}not JSON: {str(error)[:200]}; {way_out}") from None


def _flat(row: Any, where: str, prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Nested keys as `sensor.temp`; lists are left out, numbers too large for a float refused."""
    if not isinstance(row, dict):
        raise ValueError(f"{where} is {type(row).__name__}, not an object with keys; write one per line")
    if depth > DEEPEST:
        raise ValueError(f"{where}: objects nested more than {DEEPEST} deep; flatten them")
    made: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            made |= _flat(value, where, f"{prefix}{name}.", depth + 1)
        elif not isinstance(value, list):
            if isinstance(value, int) and abs(value) > 1e300:
                raise ValueError(f"{where}: {prefix}{name} is a number of {len(str(value))} digits; correct it")
            made[f"{prefix}{name}"] = value
    return made


def read_excel(opened: Opened, asked: Hints) -> Layout:
    """A sheet, the first that holds a table unless one is named; titles and units are found as in text."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise ValueError("Excel files need openpyxl; install it with: pip install 'hippo-prophecy[excel]'") from None
    data = io.BytesIO(opened.data)
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
        title, rows = "", list[Row]()
        for one in chosen:
            found = _sheet_rows(sheets[one])
            numbers = (any(isinstance(c, int | float) or is_number(text_of(c)) for c in row) for row in found[:JUDGED])
            told = sum(numbers) > 1  # rows of a cover sheet have none
            if told or (not rows and len(found) > 1):
                title, rows = one, found
            if told:
                break
    except ValueError:
        raise
    except Exception as error:  # openpyxl raises a dozen kinds on damaged files
        raise ValueError(f"is not a readable Excel file: {error}; save it again, or as CSV") from None
    if not rows:
        raise ValueError("no sheet holds a table of at least two rows; name another file, or save the table as CSV")
    made = of_rows(opened.path, enumerate(rows[asked.skip or 0 :], 1), asked)
    return replace(made, notes=[*made.notes, *[f"sheet {title!r} of {len(sheets)}"] * (len(sheets) > 1)])


def _sheet_rows(sheet: Any) -> list[Row]:
    """The rows and columns of a sheet that have cells: what it says of its size may be wrong, and one cell may stand
    far off."""
    sheet.reset_dimensions()
    rows: list[Row] = []
    cells = 0
    for row in sheet.iter_rows(values_only=True):
        cells += len(row)
        if cells > SHEET_CELLS:
            raise ValueError(f"sheet {sheet.title!r} has more than {SHEET_CELLS:,} cells; save it as CSV or Parquet")
        if any(cell is not None for cell in row):
            rows.append(row)
    used = sorted({i for row in rows for i, cell in enumerate(row) if cell is not None})
    return [[row[i] if i < len(row) else None for i in used] for row in rows]


def read_parquet(opened: Opened, asked: Hints) -> Layout:
    """Columns of any type."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(io.BytesIO(opened.data))
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"is not a Parquet file: {error}; write it again, or as CSV") from None
    return of_frame(opened.path, table, asked)


def read_npy(opened: Opened, asked: Hints) -> Layout:
    """(time,) or (time, series): a column is a series, as in any table."""
    import pyarrow as pa

    try:
        data = np.load(io.BytesIO(opened.data), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"is not an .npy file of numbers: {error}; write it with numpy.save") from None
    if data.ndim not in (1, 2) or data.dtype.kind not in "iuf" or data.size == 0:
        raise ValueError(f"must hold real numbers, (time,) or (time, series), got {data.dtype} {data.shape}")
    names = ["value"] if data.ndim == 1 else [f"value{i}" for i in range(data.shape[1])]
    columns = data.reshape(len(data), -1).astype(np.float64).T
    return of_frame(opened.path, pa.table(list(columns), names), asked)


def of_frame(path: str, data: Any, asked: Hints) -> Layout:
    """A frame of any library. Kinds of columns are told by their types, those of text by its cells."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(data, eager_only=True)
    if not len(frame):
        raise ValueError("the table has no rows; a forecast needs at least two")
    kinds = []
    for name, kind in frame.schema.items():
        there = [cell for cell in frame[name].head(JUDGED).to_list() if cell is not None] if kind == nw.Object else []
        dated = kind in (nw.Date, nw.Datetime) or (bool(there) and all(isinstance(cell, DATES) for cell in there))
        kinds.append("typed" if dated else "number" if kind.is_numeric() else "bool" * (kind == nw.Boolean))
    return described(path, frame, asked, kinds)
