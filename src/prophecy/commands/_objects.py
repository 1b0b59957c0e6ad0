"""Tables of objects in pieces: JSON lines, an array of objects, the sheets of Excel files."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.commands._dialect import MISSING, number
from prophecy.commands._open import Opened, explained
from prophecy.commands._roles import Content, Layout, Roles
from prophecy.frames import dates

Array: TypeAlias = NDArray[np.float64]

LINES = 50_000  # rows per piece: some megabytes
LOOKED = 10_000  # rows read to find roles: about as many as the first megabyte of a CSV has
DEEPEST = 50  # levels of nested JSON objects whose keys are columns: far below Python's limit of 1 000 calls


def read_json_lines(opened: Opened) -> Content:
    """An object a line."""
    return _records(opened, _json_lines(opened))


def read_json(opened: Opened) -> Content:
    """One array of objects."""
    try:
        found = json.loads(opened.stream.read())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {str(error)[:200]}") from None
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ValueError("a JSON table is an array of objects, or one object per line")
    return _records(opened, (_flat(row, f"item {i}") for i, row in enumerate(found, start=1)))


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


def _records(opened: Opened, rows: Iterator[dict[str, Any]]) -> Content:
    """A table of dicts: columns are the keys of the first rows, numbers and text as they are."""
    first = [row for _, row in zip(range(LOOKED), rows, strict=False)]
    if not first:
        raise ValueError("there are no rows")
    names = tuple(dict.fromkeys(name for row in first for name in row))
    cells = tuple([row.get(name) for row in first] for name in names)
    layout = Layout(opened.path, names, tuple(object_kind(column) for column in cells), cells)

    def batches(roles: Roles) -> Iterator[Any]:
        with explained(opened.path):
            held, done = first, 0
            while held:
                yield _record_batch(held, names, roles, done)
                done += len(held)
                held = [row for _, row in zip(range(LINES), rows, strict=False)]

    return Content(layout, batches, [])


def object_kind(cells: Sequence[Any]) -> str:
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


def read_excel(opened: Opened, header: bool | None) -> Content:
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
    named = header if header is not None else all(isinstance(cell, str) or cell is None for cell in rows[0])
    width = max(len(row) for row in rows)
    names = [
        str(cell) if named and cell is not None else f"column{i + 1}"
        for i, cell in enumerate([*rows[0], *[None] * (width - len(rows[0]))])
    ]
    if len(set(names)) < width:
        raise ValueError(f"several columns are called {max(names, key=names.count)!r}; rename them")
    body = rows[1:] if named else rows
    records = ({name: row[i] if i < len(row) else None for i, name in enumerate(names)} for row in body)
    table = _records(opened, records)
    if len(book.worksheets) > 1:
        table.notes.append(f"sheet {sheet.title!r} of {len(book.worksheets)}")
    if not named:
        table.notes.append("no header: columns are called column1 …, and the first row is data")
    return table
