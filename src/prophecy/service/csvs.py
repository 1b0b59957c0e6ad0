"""CSV bodies: a long table (key, time, value) or a wide one (time and a column for every series)."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prophecy.frames import dates
from prophecy.service.bodies import (
    MISSING,
    TIME_NAMES,
    Array,
    Batch,
    BodyNames,
    check_date,
    check_key,
    text_of,
    times_of,
)
from prophecy.service.errors import Problem, bad, shown
from prophecy.service.settings import Settings

KEY_NAMES = ("key", "series", "sensor", "id", "unique_id", "name")
VALUE_NAMES = ("value", "y", "values")
LONGEST_TIME = 64
"""Characters of a time or of its format: a date with nanoseconds and an offset has 35."""

HEADER = "begin with a line of names such as key,time,value, and name others with ?key=…&time=…&value=…"


@dataclass(frozen=True)
class Places:
    """Places of the columns: of the key and time (None without), and of the values."""

    key: int | None
    time: int | None
    values: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells as they were written, and the lines they stood on."""

    names: list[str]
    rows: list[list[str]]
    lines: list[int]
    separator: str


def from_csv(body: bytes, asked: BodyNames, settings: Settings) -> Batch:
    """Rows of a table with names in its first line. The separator is the one of , ; and tab that line has most of."""
    table = _table(text_of(body), settings)
    names, rows, lines = table.names, table.rows, table.lines
    roles = _roles(names, rows, asked)
    _check_values(len(rows) * len(roles.values), settings)
    times, dated = _times(table, roles.time, asked)
    decimal = asked.decimal or _decimal(rows, roles, table.separator)
    values = np.empty((len(rows), len(roles.values)))
    for place, column in enumerate(roles.values):
        values[:, place] = [
            _cell(row[column], line, names[column], decimal) for line, row in zip(lines, rows, strict=True)
        ]
    keys = _keys(table, roles, asked, settings)
    if times is not None:
        times = np.repeat(times, len(roles.values))
    return Batch(keys, times, values.ravel(), dated, [line for line in lines for _ in roles.values])


def _table(text: str, settings: Settings) -> Cells:
    separator = max(",;\t", key=text.split("\n", 1)[0].count)
    rows: list[list[str]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                lines.append(reader.line_num)
                _check_values(len(rows) - 1, settings)
    except csv.Error as error:
        at = reader.line_num
        raise bad(f"line {at} is no CSV: {error}", "quote cells that hold separators", at) from None
    if len(rows) < 2:
        raise bad("the body has no rows below its line of names", HEADER)
    names = [name.strip() for name in rows[0]]
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(names):
            raise bad(f"line {line} has {len(row)} cells and the first {len(names)}", HEADER, line)
    if any(_is_number(name) for name in names):
        raise bad(f"the first line holds {shown(next(filter(_is_number, names)))}, a number", HEADER, lines[0])
    return Cells(names, rows[1:], lines[1:], separator)


def _roles(names: Sequence[str], rows: Sequence[Sequence[str]], asked: BodyNames) -> Places:
    """Named columns first, then those of a usual name; without a key every other column of numbers is a series."""
    key = _place(names, asked.key, "key", KEY_NAMES)
    time = _place(names, asked.time, "time", TIME_NAMES)
    value = _place(names, asked.value, "value", VALUE_NAMES)
    if time is None:
        _refuse_other_dates(names, rows, {key, value})
    if key is not None and value is None:
        left = [place for place in range(len(names)) if place not in (key, time)]
        if len(left) != 1:
            raise bad(f"none of the columns {', '.join(map(shown, names[:20]))} is called value", HEADER, 1, "value")
        value = left[0]
    if value is not None and (key is not None or asked.name is not None):
        return Places(key, time, (value,))
    wide = tuple(
        place for place in range(len(names)) if place not in (key, time) and any(_is_number(row[place]) for row in rows)
    )
    if not wide:
        raise bad(f"none of the columns {', '.join(map(shown, names[:20]))} holds numbers", HEADER, 1, "value")
    return Places(None, time, wide)


def _refuse_other_dates(names: Sequence[str], rows: Sequence[Sequence[str]], taken: set[int | None]) -> None:
    """Refuse a table whose dates stand under a name that says nothing: its rows would be taken without times, and a
    stream that began without times cannot be given any later."""
    for place, name in enumerate(names):
        if place not in taken and not _is_number(rows[0][place]) and dates.is_date(rows[0][place].strip()):
            raise bad(
                f"column {shown(name)} holds dates ({shown(rows[0][place])}), and no column is called time",
                f"say ?time={name} to read them, or leave the column out",
                1,
                "time",
            )


def _place(names: Sequence[str], asked: str, usual: str, others: Sequence[str]) -> int | None:
    lower = [name.lower() for name in names]
    if asked != usual:
        if asked not in names:
            raise bad(f"there is no column {shown(asked)}", f"columns are {', '.join(names[:20])}", 1, usual)
        return list(names).index(asked)
    return next((lower.index(name) for name in others if name in lower), None)


def _keys(table: Cells, roles: Places, asked: BodyNames, settings: Settings) -> list[str]:
    names = table.names
    if roles.key is not None:
        keys = [row[roles.key].strip() for row in table.rows]
        checked: set[str] = set()
        for line, key in zip(table.lines, keys, strict=True):
            if key not in checked:
                check_key(key, settings, line, names[roles.key])
                checked.add(key)
        return keys
    if len(roles.values) == 1 and asked.name is not None:
        columns = [asked.name]
    else:
        columns = [f"{asked.name}/{names[place]}" if asked.name else names[place] for place in roles.values]
    for column in columns:
        check_key(column, settings, 1)
    if len(set(columns)) < len(columns):
        raise bad("two columns have the same name", "give every column a name of its own", 1)
    return columns * len(table.rows)


def _times(table: Cells, column: int | None, asked: BodyNames) -> tuple[Array | None, bool]:
    """A column of seconds, of ISO dates, or of dates as `prophecy.frames.dates` reads them."""
    if column is None:
        return None, False
    moments = [row[column].strip() for row in table.rows]
    for line, moment in zip(table.lines, moments, strict=True):
        if not 0 < len(moment) <= LONGEST_TIME:
            wrong = f"line {line} has a time of {len(moment)} characters"
            raise bad(wrong, f"write times of 1 to {LONGEST_TIME}, and leave out rows without one", line, asked.time)
    if asked.time_format is not None:
        return _other_dates(moments, table.lines, asked), True
    if _is_number(moments[0]):
        return times_of([_seconds(moment) for moment in moments], table.lines, asked.time)
    try:
        return times_of(moments, table.lines, asked.time)
    except Problem as no_iso:
        if not dates.is_date(moments[0]):
            raise no_iso from None
        return _other_dates(moments, table.lines, asked), True


def _seconds(moment: str) -> float | str:
    """A number where it is one; else the text, which is then refused for not being like the others."""
    return float(moment) if _is_number(moment) else moment


def _check_format(text: str) -> None:
    """A format becomes a regular expression: short, and with every part once, it cannot take long on any cell."""
    parts = re.findall("%(.)", text)
    if len(text) > LONGEST_TIME or len(parts) != len(set(parts)):
        raise ValueError(f"time_format {shown(text)} is too long or has a part twice")


def _other_dates(moments: Sequence[str], lines: Sequence[int], asked: BodyNames) -> Array:
    try:
        if asked.time_format is not None:
            _check_format(asked.time_format)
            style = dates.given(asked.time_format)
        else:
            style, _ = dates.style_of(moments, asked.time, "?time_format=")
        read = dates.read(moments, style, asked.time, 2)
    except ValueError as error:
        raise bad(
            str(error), "write dates as 2026-03-01T12:00:00Z, or say how with ?time_format=%d.%m.%Y", field=asked.time
        ) from None
    seconds = np.asarray(read.values.astype("datetime64[us]").astype(np.int64) / 1e6)
    for line, moment in zip(lines, seconds.tolist(), strict=True):
        check_date(moment, line, asked.time)
    return seconds


def _decimal(rows: Sequence[Sequence[str]], roles: Places, separator: str) -> str:
    """A comma where cells are not separated by commas, some hold one, and none holds a point."""
    if separator == ",":
        return "."
    cells = [row[place] for row in rows for place in roles.values]
    return "," if any("," in cell for cell in cells) and not any("." in cell for cell in cells) else "."


def _cell(cell: str, row: int, name: str, decimal: str) -> float:
    text = cell.strip()
    if text.lower() in MISSING:
        return math.nan
    try:
        number = float(text.replace(",", ".") if decimal == "," else text)
        if "_" in text or not math.isfinite(number):
            raise ValueError
    except ValueError:
        way_out = "leave the cell empty where a value is missing; ?decimal=, reads 3,5 as a number"
        raise bad(f"line {row}: {name} is {shown(text)}, not a finite number", way_out, row, name) from None
    return number


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return cell.strip().lower() not in MISSING and "_" not in cell


def _check_values(values: int, settings: Settings) -> None:
    if values > settings.batch:
        raise Problem(
            413, f"the body has more than {settings.batch} values", f"send at most {settings.batch} at a time"
        )
