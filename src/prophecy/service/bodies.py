"""Bodies of `POST /v1/observe`: JSON and JSON lines as columns of keys, times and values."""

import contextlib
import functools
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import repeat
from typing import Annotated, Any

import numpy as np
from fastapi import Query

from prophecy._arrays import Array
from prophecy.service.errors import Problem, bad, shown
from prophecy.service.settings import Settings

TIME_NAMES = ("time", "at", "timestamp", "datetime", "date", "ds", "ts")  # usual ones: JSON refuses all but the first
ROW = 'write a row as {"key": "boiler", "time": "2026-03-01T12:00:00Z", "value": 20.5}'
VALUES = "send a number, or null where it is missing"
TIMES = "send seconds as a number, or a date such as 2026-03-01T12:00:00+01:00; without a zone it is UTC"
FARTHEST = 9.2e9  # seconds before and after 1970 of dates taken, 1678 to 2261: what 64 bits of nanoseconds hold


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

    @property
    def kind(self) -> tuple[bool, bool]:
        """Whether rows have times, and whether these are dates; rows of one transaction are alike."""
        return self.times is not None, self.dated

    def moments(self) -> Any:
        """Times as the fleet takes them: datetime64 for dates, so that it remembers that they were."""
        if self.times is None or not self.dated:
            return self.times
        return np.round(self.times * 1e6).astype(np.int64).astype("datetime64[us]")


@dataclass(frozen=True)
class BodyNames:
    """What a request's query parameters give about its body."""

    name: Annotated[str | None, Query(description="Series of rows without a key.")] = None
    key: Annotated[str, Query(description="Field or column of the key.")] = "key"
    time: Annotated[str, Query(description="Field or column of the time.")] = "time"
    value: Annotated[str, Query(description="Field or column of the value.")] = "value"
    time_format: Annotated[str | None, Query(description="CSV: how dates are written, %d.%m.%Y.")] = None
    decimal: Annotated[str | None, Query(description="CSV: the decimal mark.", pattern="^[.,]$")] = None
    header: Annotated[bool | None, Query(description="CSV: whether the first line has names.")] = None
    missing: Annotated[tuple[str, ...], Query(description="CSV: a mark for no value; repeatable.", max_length=20)] = ()
    skip: Annotated[int | None, Query(description="CSV: lines at the top to skip.", ge=0, le=1000)] = None
    sep: Annotated[str | None, Query(description="CSV: what stands between cells.", pattern="^[,;|\t ]$")] = None


def from_json(body: bytes, asked: BodyNames, settings: Settings) -> Batch:
    """One object, a list of objects, or one object whose fields are lists (columns)."""
    _check_structure(body, settings)
    found = _parsed(_text(body), None)
    if isinstance(found, dict) and isinstance(found.get(asked.value), list):
        return _from_columns(found, asked, settings)
    rows = [found] if isinstance(found, dict) else found
    if not isinstance(rows, list):
        raise bad(f"the body is {shown(rows)}, neither an object nor a list", ROW)
    return _from_rows(rows, range(1, len(rows) + 1), asked, settings)


def from_lines(body: bytes, asked: BodyNames, settings: Settings) -> Batch:
    """JSON lines: an object on every line; empty lines are passed over."""
    _check_structure(body, settings)
    check_size(body.count(b"\n") // 2, settings)
    lines = {number: line for number, line in enumerate(_text(body).split("\n"), start=1) if line.strip()}
    return _from_rows([_parsed(line, number) for number, line in lines.items()], list(lines), asked, settings)


def _text(body: bytes) -> str:
    """The body as text; a byte order mark is dropped."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad(f"byte {error.start} of the body is no UTF-8", "send text in UTF-8") from None


def _parsed(text: str, row: int | None) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise bad("lists and objects are nested too deeply", ROW, row) from None
    except ValueError as error:
        # JSONDecodeError names the place; a number of more than 4 300 digits is a plain ValueError.
        reason = "a number has too many digits" if type(error) is ValueError else str(error)
        raise bad(f"the body is no JSON: {reason}", "null is a missing value; " + ROW, row) from None


def _no_number(name: str) -> Any:
    raise json.JSONDecodeError(f"{name} is no number there", name, 0)


def _from_columns(found: dict[str, Any], asked: BodyNames, settings: Settings) -> Batch:
    """{"key": …, "time": [...], "value": [...]}; a single key or time stands for all of them."""
    count = len(found[asked.value])
    _refuse_other_time(found, None, asked)
    columns: list[list[Any]] = []
    for field, default in ((asked.key, asked.name), (asked.time, None), (asked.value, None)):
        column = found.get(field, default)
        columns.append(column if isinstance(column, list) else [column] * count)
        if len(columns[-1]) != count:
            error = f"{field!r} has {len(columns[-1])} entries and {asked.value!r} {count}"
            raise bad(error, "give every column as many entries", field=field)
    keys, times, values = columns
    return _batch(keys, times, values, range(1, count + 1), asked, settings)


def _from_rows(rows: Sequence[Any], lines: Sequence[int], asked: BodyNames, settings: Settings) -> Batch:
    for number, row in zip(lines, rows, strict=True):
        if not isinstance(row, dict):
            raise bad(f"row {number} is {shown(row)}, not an object", ROW, number)
        if asked.value not in row:
            raise bad(f"row {number} has no {asked.value!r}", ROW + "; null is a missing value", number, asked.value)
        _refuse_other_time(row, number, asked)
    keys, times = [row.get(asked.key, asked.name) for row in rows], [row.get(asked.time) for row in rows]
    return _batch(keys, times, [row[asked.value] for row in rows], lines, asked, settings)


def _refuse_other_time(row: dict[str, Any], number: int | None, asked: BodyNames) -> None:
    """Refuse a row whose time stands under another usual name: it would be taken without a time, and a stream that
    began without times cannot be given any later."""
    if asked.time in row:
        return
    other = next((name for name in TIME_NAMES if name in row and name not in (asked.key, asked.value)), None)
    if other is not None:
        where = "the body" if number is None else f"row {number}"
        raise bad(f"{where} has {other!r} and no {asked.time!r}", f"say ?time={other}, or leave it out", number, "time")


def _batch(
    keys: list[Any], moments: list[Any], values: list[Any], lines: Sequence[int], asked: BodyNames, settings: Settings
) -> Batch:
    """A batch of columns, every entry of which is checked."""
    if not keys:
        raise bad("the body has no rows", ROW)
    check_size(len(keys), settings)
    if {*map(type, keys)} != {str} or any(map(_fault, keys, repeat(settings.key_length))):
        for row, key in zip(lines, keys, strict=True):
            if key is None:
                way_out = f"add {asked.key!r} to every row, or ?name=… for a body of one series"
                raise bad(f"row {row} has no {asked.key!r}", way_out, row, asked.key)
            check_key(key, settings, row, asked.key)
    numbers, kind = _numbers(values, lines, asked.value, VALUES), _kind(moments[0])
    for row, moment in zip(lines, moments, strict=True) if len({*map(type, moments)}) > 1 else ():
        if _kind(moment) != kind:
            error = f"row {row} has {_kind(moment)} and row {lines[0]} {kind}"
            raise bad(error, "send rows with the same kind of time in one batch", row, asked.time)
    times = None
    if kind is DATE:
        times = np.array([_date(moment, row, asked.time) for row, moment in zip(lines, moments, strict=True)])
    elif kind is SECONDS:
        times = _numbers(moments, lines, asked.time, TIMES)
    return Batch(keys, times, numbers, kind is DATE, lines)


def _numbers(values: list[Any], lines: Sequence[int], field: str, way_out: str) -> Array:
    """Numbers of JSON as floats, NaN for null."""
    with contextlib.suppress(OverflowError):
        if {*map(type, values)} <= {float, int, type(None)}:
            found = np.array(values, dtype=np.float64)
            if not np.isinf(found).any():
                return found
    for row, value in zip(lines, values, strict=True):
        if type(value) not in (float, int, type(None)):
            raise bad(f"row {row}: {field} is {shown(value)}, not a number", way_out, row, field)
        if value is not None and not abs(value) <= sys.float_info.max:
            raise bad(f"row {row}: {field} is {shown(value)}, too large", way_out, row, field)
    raise AssertionError("one of them is no number")


@functools.lru_cache(maxsize=2**16)
def _fault(key: str, most: int) -> tuple[str, str] | None:
    """What is wrong with a key that cannot be shown in a line or be part of an address, and the way out; senders send
    the same keys again and again."""
    if not 0 < len(key) <= most:
        return f"has {len(key)} characters", f"use 1 to {most} characters"
    if not key.isprintable() or key != key.strip():
        wrong = f"{ascii(key)[:60]} has characters that cannot be printed, or spaces around it"
        return wrong, "use letters, digits, marks and spaces within"
    if not {".", ".."}.isdisjoint(key.split("/")):
        return f"{shown(key)} has . or .. between slashes, which addresses cannot carry", "name that part"
    return None


def check_key(key: Any, settings: Settings, row: int | None = None, field: str = "key") -> None:
    """Refuse what is no text, and keys that cannot be used."""
    other = (f"is {shown(key)}, not text", 'write keys as text, "7" rather than 7')
    fault = _fault(key, settings.key_length) if isinstance(key, str) else other
    if fault is not None:
        raise bad(f"{'' if row is None else f'row {row}: '}{field} {fault[0]}", fault[1], row, field)


NO_TIME, DATE, SECONDS = "no time", "a date", "a number for its time"


def _kind(moment: Any) -> str:
    return NO_TIME if moment is None else DATE if isinstance(moment, str) else SECONDS


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


def check_size(rows: int, settings: Settings) -> None:
    if rows > settings.batch:
        raise Problem(413, f"the batch has more than {settings.batch} rows", f"send at most {settings.batch} at a time")


def _check_structure(body: bytes, settings: Settings) -> None:
    """Refuse what cannot be a batch before it is parsed, in one piece that lets nobody else run meanwhile: millions of
    empty lists take fifty times their text, and millions of numbers half a second. A row has three fields, or a few
    more."""
    check_size(max(body.count(b"{"), body.count(b"["), body.count(b",") // 8) - 1, settings)
