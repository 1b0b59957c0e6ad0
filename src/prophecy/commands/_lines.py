"""Lines of a stream: a value out of each, with its key and time where there are any, and an answer to each."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from prophecy.fleet.check import LONGEST_KEY, is_key
from prophecy.frames.numbers import is_missing
from prophecy.streams.limits import LARGEST, LARGEST_TIME

ONLY = "value"
"""The key of a stream without keys."""


class InputLine(NamedTuple):
    """What one line holds. shown: the time as it was written."""

    key: str
    time: float
    dated: bool
    shown: str | float | None
    value: float


@dataclass
class LineReader:
    """column, key, time: what was asked for, None where there is none; pattern: how dates are written, ISO by default.

    places: where in a line each of them stands, once that is known; under "dated", whether times are dates.
    """

    column: str | None = None
    key: str | None = None
    time: str | None = None
    pattern: str | None = None
    places: dict[str, int] = field(default_factory=dict)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of what an answer holds."""
        start = [name for name, asked in (("key", self.key), ("time", self.time)) if asked is not None]
        more = ("status", "alarm") if start else ()
        return ("line", *start, "value", "score", *more, "next", "lower", "upper")

    @property
    def unplaced(self) -> bool:
        """Whether a header is needed to find the named fields."""
        return False

    def _line(self, key: Any, time: Any, value: float) -> InputLine:
        name = ONLY if self.key is None else _key(key)
        if self.time is None:
            return InputLine(name, math.nan, False, None, value)
        number, dated = _moment(time, self.pattern)
        if self.places.setdefault("dated", int(dated)) != dated:
            kinds = ("numbers", "dates")
            raise ValueError(f"time {time!r}: {kinds[not dated]} came before, and these are {kinds[dated]}")
        return InputLine(name, number, dated, time, value)


@dataclass
class Csv(LineReader):
    """Fields by number (1 is the first), or by name if there is a header; the value is the last by default.

    They stand between commas, or semicolons or tabs where a line has any.
    """

    @property
    def unplaced(self) -> bool:
        return any(not name.isdigit() and role not in self.places for role, name in self._asked())

    def is_header(self, text: str) -> bool:
        """Whether a first line is names rather than values; remembers where the wanted columns are."""
        cells, mark = [cell.strip() for cell in _cells(text)], _mark(text)
        wanted = {role: name for role, name in self._asked() if not name.isdigit()}
        if not wanted or not set(wanted.values()) <= set(cells):
            if any(_number(cell, mark) is not None for cell in cells) or not any(cells):
                return False
            for name in wanted.values():
                if name not in cells:
                    raise ValueError(f"line 1: no column {name!r}; the header has {', '.join(cells)[:500]}")
        self.places |= {role: cells.index(name) for role, name in wanted.items()}
        return True

    def read(self, text: str) -> InputLine:
        """What a line holds; ValueError for one without a number."""
        cells, mark = _cells(text), _mark(text)
        if not cells:
            raise ValueError("the line is empty")
        found = {role: cells[self._place(role, asked, len(cells))].strip() for role, asked in self._asked()}
        cell = found["value"] if "value" in found else cells[self.places.get("value", -1)].strip()
        number = math.nan if is_missing(cell) else _number(cell, mark)
        if number is None:
            raise ValueError(f"{cell[:200]!r} is not a number")
        return self._line(found.get("key"), found.get("time"), in_range(number))

    def _asked(self) -> list[tuple[str, str]]:
        asked = (("value", self.column), ("key", self.key), ("time", self.time))
        return [(role, name) for role, name in asked if name is not None]

    def _place(self, role: str, asked: str, width: int) -> int:
        if role not in self.places:
            if not asked.isdigit() or int(asked) < 1:
                raise ValueError(f"column {asked!r} needs a header line to be found in; or give its number, from 1")
            self.places[role] = int(asked) - 1
        place = self.places[role]
        if place >= width:
            raise ValueError(f"there are {width} fields, wanted number {place + 1}")
        return place

    def answer(self, fields: dict[str, Any]) -> str:
        cells = [
            value if isinstance(value, str) else "" if _missing(value) else repr(value) for value in fields.values()
        ]
        if self.key is None and self.time is None:
            return ",".join(cells)
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow(cells)
        return out.getvalue()

    def heading(self) -> str | None:
        return ",".join(self.fields)


@dataclass
class Jsonl(LineReader):
    """One JSON value per line: a number, null, or an object holding value, key and time under their names."""

    def is_header(self, text: str) -> bool:
        return False

    def read(self, text: str) -> InputLine:
        """What a line holds; ValueError for one without a number."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:  # integers of thousands of digits and deep nesting among them
            raise ValueError(f"not JSON: {str(error)[:200]}") from None
        key = time = None
        if isinstance(found, dict):
            key = None if self.key is None else _under(self.key, found)
            time = None if self.time is None else _under(self.time, found)
            found = _under(self.column or "value", found)
        elif self.key is not None or self.time is not None:
            raise ValueError(f"{repr(found)[:200]} is not an object with key and time")
        return self._line(key, time, math.nan if found is None else in_range(_float(found)))

    def answer(self, fields: dict[str, Any]) -> str:
        return json.dumps({name: None if _missing(value) else value for name, value in fields.items()})

    def heading(self) -> str | None:
        return None


def in_range(number: float) -> float:
    """A number a model can take; NaN is a gap."""
    if math.isnan(number) or abs(number) <= LARGEST:
        return number
    raise ValueError(f"{number!r} is beyond ±{LARGEST:g}")


def _under(name: str, found: dict[str, Any]) -> Any:
    if name not in found:
        raise ValueError(f"no key {name!r}; there are {', '.join(map(repr, found))[:500]}")
    return found[name]


def _float(found: Any) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ValueError(f"{repr(found)[:200]} is not a number")
    if isinstance(found, int) and abs(found) > LARGEST:  # float() of an integer of 400 digits overflows
        raise ValueError(f"an integer of {len(str(abs(found)))} digits is beyond ±{LARGEST:g}")
    return float(found)


def _key(found: Any) -> str:
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise ValueError(f"key {repr(found)[:200]} is neither text nor a whole number")
    if isinstance(found, int) and abs(found) > LARGEST:
        raise ValueError(f"key is a whole number of more than {LARGEST:g}")
    if not is_key(str(found).encode(errors="surrogatepass")):
        raise ValueError(f"key {repr(found)[:80]} must have 1 to {LONGEST_KEY} characters of plain text")
    return str(found)


def _moment(found: Any, pattern: str | None) -> tuple[float, bool]:
    """A time in seconds, and whether it was a date: a number, or a date in ISO's form or the pattern's (in UTC where it
    names no zone)."""
    if isinstance(found, str):
        cell = found.strip()
        number = _number(cell, ",") if pattern is None else None
        if number is None:
            try:
                date = datetime.fromisoformat(cell) if pattern is None else datetime.strptime(cell, pattern)
            except ValueError:
                form = "an ISO date (2026-01-31T12:00:00Z); --time-format names another form"
                raise ValueError(f"time {cell[:200]!r} is neither a number nor {form}") from None
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp(), True
    else:
        number = _float(found) if found is not None else math.nan
    if not abs(number) <= LARGEST_TIME:
        raise ValueError(f"time {found!r} must be finite, at most {LARGEST_TIME:g} in size")
    return number, False


def _mark(text: str) -> str:
    """What stands between the fields of a line; after semicolons and tabs a comma is a decimal one."""
    return "," if '"' in text else next((mark for mark in ";\t" if mark in text), ",")


def _cells(text: str) -> list[str]:
    """The fields of a line; one that is no CSV (a carriage return inside, say) is a single field of its own."""
    try:
        return next(csv.reader([text], delimiter=_mark(text)), [])
    except csv.Error:
        return [text]


def _number(cell: str, mark: str) -> float | None:
    try:
        return float(cell if mark == "," else cell.replace(",", "."))
    except ValueError:
        return None


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))
