"""Bodies of `POST /v1/observe`: JSON, JSON lines or CSV as columns of keys, times and values."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.service.errors import Problem, bad, shown
from prophecy.service.settings import Settings

Array = NDArray[np.float64]

TIME_NAMES = ("time", "at", "timestamp", "datetime", "date", "ds", "ts")
"""Names under which times are usual. CSV reads the first of them; JSON reads `time` alone, and refuses the others."""

ROW = 'write a row as {"key": "boiler", "time": "2026-03-01T12:00:00Z", "value": 20.5}'


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows in the order they were sent.

    times: seconds (dates: since 1970 in UTC), or None where none were sent. dated: whether the times were dates.
    lines: where each row stands in the body, for messages: its line, or its place in a list, from 1. notes: what was
    assumed when a table was read.
    """

    keys: list[str]
    times: Array | None
    values: Array
    dated: bool = False
    lines: Sequence[int] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True)
class BodyNames:
    """What a request's query parameters give about its body. name: the series of rows without a key."""

    name: str | None = None
    key: str = "key"
    time: str = "time"
    value: str = "value"
    time_format: str | None = None
    decimal: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] = ()
    skip: int | None = None
    sep: str | None = None


def text_of(body: bytes) -> str:
    """The body as text; a byte order mark is dropped."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad(f"byte {error.start} of the body is no UTF-8", "send text in UTF-8") from None


def from_json(body: bytes, asked: BodyNames, settings: Settings) -> Batch:
    """One object, a list of objects, or one object whose fields are lists (columns)."""
    _check_structure(body, settings)
    found = _parsed(text_of(body), None)
    if isinstance(found, dict):
        columns = found.get(asked.value)
        found = _from_columns(found, asked, settings) if isinstance(columns, list) else [found]
    if not isinstance(found, list):
        raise bad(f"the body is {shown(found)}, neither an object nor a list", ROW)
    _check_size(len(found), settings)
    return _batch(found, range(1, len(found) + 1), asked, settings)


def from_lines(body: bytes, asked: BodyNames, settings: Settings) -> Batch:
    """JSON lines: an object on every line; empty lines are passed over."""
    _check_structure(body, settings)
    rows: list[Any] = []
    lines: list[int] = []
    for number, line in enumerate(text_of(body).split("\n"), start=1):
        if line.strip():
            rows.append(_parsed(line, number))
            lines.append(number)
            _check_size(len(rows), settings)
    return _batch(rows, lines, asked, settings)


def _parsed(text: str, row: int | None) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise bad("lists and objects are nested too deeply", ROW, row) from None
    except ValueError as error:
        # JSONDecodeError names the place; a number of more than 4 300 digits is a plain ValueError.
        reason = str(error) if isinstance(error, json.JSONDecodeError | _Constant) else "a number has too many digits"
        raise bad(f"the body is no JSON: {reason}", "null is a missing value; " + ROW, row) from None


class _Constant(ValueError):
    """NaN or Infinity, which JSON does not have."""


def _no_number(name: str) -> Any:
    raise _Constant(f"{name} is no number there")


def _from_columns(found: dict[str, Any], asked: BodyNames, settings: Settings) -> list[dict[str, Any]]:
    """{"key": …, "time": [...], "value": [...]} as rows; a single key or time stands for all of them."""
    values = found[asked.value]
    if asked.time not in found:
        _refuse_other_time(found, None, asked)
    _check_size(len(values), settings)
    columns = {}
    for field in (asked.key, asked.time, asked.value):
        column = found.get(field)
        if isinstance(column, list) and len(column) != len(values):
            raise bad(
                f"{field!r} has {len(column)} entries and {asked.value!r} {len(values)}",
                "give every column as many entries",
                field=field,
            )
        if field in found:
            columns[field] = column if isinstance(column, list) else [column] * len(values)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _batch(rows: Sequence[Any], lines: Sequence[int], asked: BodyNames, settings: Settings) -> Batch:
    if not rows:
        raise bad("the body has no rows", ROW)
    keys, moments, values = [], [], []
    for number, row in zip(lines, rows, strict=True):
        if not isinstance(row, dict):
            raise bad(f"row {number} is {shown(row)}, not an object", ROW, number)
        if asked.value not in row:
            raise bad(f"row {number} has no {asked.value!r}", ROW + "; null is a missing value", number, asked.value)
        keys.append(row.get(asked.key, asked.name))
        if asked.time not in row:
            _refuse_other_time(row, number, asked)
        moments.append(row.get(asked.time))
        values.append(_number(row[asked.value], number, asked.value))
    times, dated = times_of(moments, lines, asked.time)
    return Batch(_keys(keys, lines, asked, settings), times, np.array(values, dtype=np.float64), dated, lines)


def _refuse_other_time(row: dict[str, Any], number: int | None, asked: BodyNames) -> None:
    """Refuse a row whose time stands under another usual name: it would be taken without a time, and a stream that
    began without times cannot be given any later."""
    other = next((name for name in TIME_NAMES if name in row and name not in (asked.key, asked.value)), None)
    if other is not None:
        where = "the body" if number is None else f"row {number}"
        raise bad(f"{where} has {other!r} and no {asked.time!r}", f"say ?time={other}, or leave it out", number, "time")


def _number(value: Any, row: int, field: str) -> float:
    return math.nan if value is None else _finite(value, row, field, "send a number, or null where it is missing")


def _finite(value: Any, row: int, field: str, way_out: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad(f"row {row}: {field} is {shown(value)}, not a number", way_out, row, field)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise bad(f"row {row}: {field} is {shown(value)}, too large", way_out, row, field)
    return number


def _keys(found: Sequence[Any], lines: Sequence[int], asked: BodyNames, settings: Settings) -> list[str]:
    good: set[str] = set()
    for row, key in zip(lines, found, strict=True):
        if key.__class__ is str and key in good:
            continue
        if key is None:
            raise bad(
                f"row {row} has no {asked.key!r}",
                f"add {asked.key!r} to every row, or ?name=… for a body of one series",
                row,
                asked.key,
            )
        check_key(key, settings, row, asked.key)
        good.add(key)
    return list(found)


def check_key(key: Any, settings: Settings, row: int | None = None, field: str = "key") -> None:
    """Refuse keys that cannot be shown in a line or be part of an address."""
    where = "" if row is None else f"row {row}: "
    if not isinstance(key, str):
        raise bad(f"{where}{field} is {shown(key)}, not text", 'write keys as text, "7" rather than 7', row, field)
    if not 0 < len(key) <= settings.key_length:
        raise bad(f"{where}{field} has {len(key)} characters", f"use 1 to {settings.key_length} characters", row, field)
    if not key.isprintable() or key != key.strip():
        raise bad(
            f"{where}{field} {ascii(key)[:60]} has characters that cannot be printed, or spaces around it",
            "use letters, digits, marks and spaces within",
            row,
            field,
        )
    if not {".", ".."}.isdisjoint(key.split("/")):
        raise bad(
            f"{where}{field} {shown(key)} has . or .. between slashes, which addresses cannot carry",
            "name that part",
            row,
            field,
        )


def times_of(moments: Sequence[Any], lines: Sequence[int], field: str) -> tuple[Array | None, bool]:
    """Seconds and whether they were dates; None where no row has a time. All rows are stamped alike or none is."""
    kind = _kind(moments[0])
    read: Callable[[Any, int, str], float] = _date if kind == "a date" else _seconds
    times = np.empty(len(moments))
    for place, (row, moment) in enumerate(zip(lines, moments, strict=True)):
        if _kind(moment) != kind:
            raise bad(
                f"row {row} has {_kind(moment)} and row {lines[0]} {kind}",
                "send rows that are stamped alike in one batch",
                row,
                field,
            )
        if moment is not None:
            times[place] = read(moment, row, field)
    return (None if kind == "no time" else times), kind == "a date"


def _kind(moment: Any) -> str:
    return "no time" if moment is None else "a date" if isinstance(moment, str) else "a number for its time"


def _seconds(moment: Any, row: int, field: str) -> float:
    return _finite(moment, row, field, TIMES)


TIMES = "send seconds as a number, or a date such as 2026-03-01T12:00:00+01:00; without a zone it is UTC"
FARTHEST = 9.2e9
"""Seconds before and after 1970 of dates taken, 1678 to 2261: what 64 bits of nanoseconds hold."""


def _date(moment: str, row: int, field: str) -> float:
    try:
        if moment.isdigit():
            raise ValueError
        found = datetime.fromisoformat(moment.strip())
        seconds = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise bad(f"row {row}: {field} {shown(moment)} cannot be read as a date", TIMES, row, field) from None
    check_date(seconds, row, field)
    return seconds


def check_date(seconds: float, row: int, field: str) -> None:
    """Refuse dates that cannot be counted in nanoseconds, instead of taking them for others."""
    if not abs(seconds) <= FARTHEST:
        raise bad(f"row {row}: {field} lies outside the years 1678 to 2261", "send a later or earlier date", row, field)


def _check_structure(body: bytes, settings: Settings) -> None:
    """Refuse what cannot be a batch before it is parsed: millions of empty lists take fifty times their text."""
    _check_size(max(body.count(b"{"), body.count(b"[")) - 1, settings)


def _check_size(rows: int, settings: Settings) -> None:
    if rows > settings.batch:
        raise Problem(413, f"the batch has more than {settings.batch} rows", f"send at most {settings.batch} at a time")
