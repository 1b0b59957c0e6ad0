"""Lines of a stream: a value out of each, with its key and time where there are any, and an answer to each."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from prophecy.fleet.check import LONGEST_KEY, are_keys
from prophecy.frames.columns import Hints, kind_of
from prophecy.frames.dates import is_date
from prophecy.frames.numbers import is_missing, is_number, number
from prophecy.frames.roles import KEYS, is_time_name, spread_over_columns
from prophecy.frames.rows import names_among
from prophecy.streams.limits import LARGEST, LARGEST_TIME

ONLY = "value"  # the key of a stream without keys
_QUOTED = re.compile('"[^"]*"')


class InputLine(NamedTuple):
    """What one line holds. shown: the time as it was written."""

    key: str
    time: float
    shown: str | float | None
    value: float


@dataclass
class LineReader:
    """column, key, time: what was asked for, None where there is none; pattern: how dates are written, ISO by default.

    missing: cells and numbers that mean "no value".
    places: where in a line each of them stands, once that is known; under "dated", whether times are dates.
    """

    column: str | None = None
    key: str | None = None
    time: str | None = None
    pattern: str | None = None
    missing: Hints = field(default_factory=Hints)
    places: dict[str, int] = field(default_factory=dict)
    settled: bool = False  # whether a value was seen
    notes: list[str] = field(default_factory=list)  # what was assumed when it was
    unplaced = False  # whether a header is needed to find the named fields

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of what an answer holds."""
        start = [name for name, asked in (("key", self.key), ("time", self.time)) if asked is not None]
        more = ("status", "alarm") if start else ()
        return ("line", *start, "value", "score", *more, "next", "lower", "upper")

    def settle(self, text: str) -> bool:
        """Find the value in a first line whose fields have names; whether the line is a title, names or units instead.
        ValueError where the names leave several fields, or streams that a key would tell apart."""
        raise NotImplementedError

    def _value(self, numbers: Iterable[str], fields: Mapping[str, Any]) -> str | None:
        """The only field of numbers that is no time, by its name; None where no field is."""
        found = [name for name in numbers if name and not is_time_name(name)] or [*numbers][-1:]
        keys = [name for name in fields if name.lower() in KEYS and name not in found]
        if found and keys and self.key is None:
            raise ValueError(
                f"{keys[0]!r} tells streams apart; say --key {keys[0]!r}, or --column {found[-1]!r} to take all lines "
                "as one stream"
            )
        if len(found) > 1:
            shown = ", ".join(map(repr, found))[:500]
            raise ValueError(f"{shown} are numbers; say which to predict with --column {found[-1]!r}")
        words = [
            name for name, cell in fields.items() if isinstance(cell, str) and kind_of([cell], self.missing) == "text"
        ]
        if found and words and self.key is None:
            self.notes.append(f"{words[0]!r} left out; if it tells streams apart, --key {words[0]!r}")
        return found[0] if found else None

    def _line(self, key: Any, time: Any, value: float) -> InputLine:
        name = ONLY if self.key is None else _key(key)
        if not math.isnan(value) and abs(value) > LARGEST:
            raise ValueError(f"{value!r} is beyond ±{LARGEST:g}")
        value = math.nan if value in self.missing.codes else value
        if self.time is None:
            return InputLine(name, math.nan, None, value)
        moment, dated = _moment(time, self.pattern)
        if self.places.setdefault("dated", int(dated)) != dated:
            kinds = ("numbers", "dates")
            raise ValueError(f"time {time!r}: {kinds[not dated]} came before, and these are {kinds[dated]}")
        return InputLine(name, moment, time, value)


@dataclass
class Csv(LineReader):
    """Fields by number (1 is the first), or by name if there is a header. By default the value is the only number that
    a header does not call a time; of lines without a header, the last field of numbers.

    They stand between commas, or semicolons, tabs, bars or spaces where a line with a number has any.
    """

    headings: list[str] = field(default_factory=list)  # lines above the first value: titles, names, units

    @property
    def unplaced(self) -> bool:  # type: ignore[override]
        return any(not name.isdigit() and role not in self.places for role, name in self._asked())

    def is_header(self, text: str) -> bool:
        """Whether a first line is names rather than values; remembers it."""
        if text.lstrip().startswith(("{", "[{")):
            way_out = "add" if text.lstrip().startswith("{") else "write an object per line, and add"
            raise ValueError(f"line 1 is JSON, not CSV; {way_out} --format jsonl")
        cells, mark = _cells(text)
        wanted = {name for _, name in self._asked() if not name.isdigit()}
        named = bool(wanted) and wanted <= set(cells)
        if self.column is None:
            spread_over_columns(cells, self.missing)
        if not named and (any(_number(cell, mark) is not None for cell in cells) or not any(cells)):
            return False
        self.headings, self.settled = [text], False
        return True

    def settle(self, text: str) -> bool:
        cells, mark = _cells(text)
        kinds = [kind_of([cell], self.missing) for cell in cells]
        if "text" in kinds and 2 * (kinds.count("text") + kinds.count("empty")) > len(kinds):
            self.headings.append(text)
            return True
        self.settled = "number" in kinds
        headings = [_cells(heading.lstrip("#% "), mark)[0] for heading in self.headings]
        used = [place for place, kind in enumerate(kinds) if kind != "empty"]
        names = names_among([heading for heading in headings if len(heading) == len(cells)], used)
        if self.settled and not names:
            self._choose(kinds)
        if not self.settled or not names:
            return False
        wanted = {role: name for role, name in self._asked() if not name.isdigit()}
        for name in wanted.values():
            if name not in names:
                raise ValueError(f"no column {name!r}; the header has {', '.join(names)[:500]}")
        self.places |= {role: names.index(name) for role, name in wanted.items()}
        taken = {self.places.get("key"), self.places.get("time")}
        free = {name: cell for place, (name, cell) in enumerate(zip(names, cells, strict=True)) if place not in taken}
        if self.column is None:
            value = self._value([name for name, cell in free.items() if _number(cell, mark) is not None], free)
            self.places |= {} if value is None else {"value": names.index(value)}
        return False

    def _choose(self, kinds: Sequence[str]) -> None:
        """Without names the value is the last field that may hold numbers and is asked for as nothing else; where there
        are several, that is said."""
        taken = {self.places.get(role, int(name) - 1 if name.isdigit() else -1) for role, name in self._asked()}
        free = [place for place, kind in enumerate(kinds) if kind in ("number", "empty") and place not in taken]
        if self.column is not None or "value" in self.places or not free:
            return
        self.places["value"] = free[-1]
        if len(free) > 1:
            which = f"field {free[-1] + 1} of {len(kinds)} is predicted"
            self.notes.append(f"no header: {which}; --column {free[0] + 1} chooses another by its number")

    def read(self, text: str) -> InputLine:
        """What a line holds; ValueError for one without a number."""
        cells, mark = _cells(text)
        if not cells:
            raise ValueError("the line is empty")
        found = {role: cells[self._place(role, asked, len(cells))].strip() for role, asked in self._asked()}
        place = self.places.get("value", len(cells) - 1)
        cell = found["value"] if "value" in found else cells[_within(place, len(cells))].strip()
        value = math.nan if is_missing(cell, self.missing.absent) else _number(cell, mark)
        if value is None:
            raise ValueError(f"{cell[:200]!r} is not a number")
        return self._line(found.get("key"), found.get("time"), value)

    def _asked(self) -> list[tuple[str, str]]:
        asked = (("value", self.column), ("key", self.key), ("time", self.time))
        return [(role, name) for role, name in asked if name is not None]

    def _place(self, role: str, asked: str, width: int) -> int:
        if role not in self.places:
            if not asked.isdigit() or int(asked) < 1:
                raise ValueError(f"column {asked!r} needs a header line to be found in; or give its number, from 1")
            self.places[role] = int(asked) - 1
        return _within(self.places[role], width)

    def answer(self, fields: dict[str, Any]) -> str:
        out = io.StringIO()
        cells = (
            value if isinstance(value, str) else "" if _missing(value) else repr(value) for value in fields.values()
        )
        csv.writer(out, lineterminator="").writerow(cells)
        return out.getvalue()

    def heading(self) -> list[str]:
        return [",".join(self.fields)]


@dataclass
class Jsonl(LineReader):
    """One JSON value per line: a number, null, or an object holding value, key and time under their names."""

    def is_header(self, text: str) -> bool:
        return False

    def settle(self, text: str) -> bool:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return False
        self.settled = True
        if self.column is None and isinstance(found, dict):
            free = {name: cell for name, cell in found.items() if name not in (self.key, self.time)}
            numbers = [name for name, cell in free.items() if type(cell) in (int, float)]
            self.column = self._value(["value"] if "value" in numbers else numbers, free)
        return False

    def read(self, text: str) -> InputLine:
        """What a line holds; ValueError for one without a number."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:  # integers of thousands of digits and deep nesting among them
            raise ValueError(f"not JSON: {str(error)[:200]}") from None
        cells: dict[str | None, Any] = {}
        if isinstance(found, dict):
            for name in {self.column or "value", self.key, self.time} - {None}:
                if name not in found:
                    role = "--column" if name == (self.column or "value") else "--key" if name == self.key else "--time"
                    there = ", ".join(map(repr, found))[:500]
                    raise ValueError(f"no key {name!r}; there are {there}; {role} names one")
            cells, found = found, found[self.column or "value"]
        elif self.key is not None or self.time is not None:
            raise ValueError(f"{repr(found)[:200]} is not an object with key and time")
        return self._line(cells.get(self.key), cells.get(self.time), math.nan if found is None else _float(found))

    def answer(self, fields: dict[str, Any]) -> str:
        return json.dumps({name: None if _missing(value) else value for name, value in fields.items()})

    def heading(self) -> list[str]:
        return []


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
    if not are_keys([str(found)]):
        raise ValueError(f"key {repr(found)[:80]} must have 1 to {LONGEST_KEY} characters of plain text")
    return str(found)


def _moment(found: Any, pattern: str | None) -> tuple[float, bool]:
    """A time in seconds, and whether it was a date: a number, or a date in ISO's form or the pattern's (in UTC where it
    names no zone)."""
    if not isinstance(found, str):
        moment = math.nan if found is None else _float(found)
    else:
        cell = found.strip()
        try:
            moment = float(cell if pattern is None else "")
        except ValueError:
            try:
                date = datetime.fromisoformat(cell) if pattern is None else datetime.strptime(cell, pattern)
            except ValueError:
                form = "an ISO date (2026-01-31T12:00:00Z); --time-format names another form"
                raise ValueError(f"time {cell[:200]!r} is neither a number nor {form}") from None
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp(), True
    if not abs(moment) <= LARGEST_TIME:
        raise ValueError(f"time {found!r} must be finite, at most {LARGEST_TIME:g} in size")
    return moment, False


def _within(place: int, width: int) -> int:
    if place >= width:
        raise ValueError(f"there are {width} fields, wanted number {place + 1}")
    return place


def _cells(text: str, mark: str | None = None) -> tuple[list[str], str]:
    """The fields of a line, and what stands between them (outside of quotes), spaces where it makes mostly numbers of
    what is none itself. A line that is no CSV (a carriage return inside, say) is a single field of its own."""
    bare = _QUOTED.sub("", text)
    mark = mark or next((mark for mark in ";\t|," if mark in bare), None)
    if mark is None and not is_number(text) and not is_date(text):
        parts = bare.split()
        mark = " " if 2 * sum(map(is_number, parts)) > len(parts) else None
    try:
        line = " ".join(text.split()) if mark == " " else text
        return [cell.strip() for cell in next(csv.reader([line], delimiter=mark or ","), [])], mark or ","
    except csv.Error:
        return [text], ","


def _number(cell: str, mark: str) -> float | None:
    """A cell as in files, with units and marks between thousands; among semicolons or tabs a comma is a decimal one."""
    try:
        return float(cell)
    except ValueError:
        found = number(cell, ",") if mark != "," and "," in cell else None
        return number(cell, ".") if found is None else found


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))
