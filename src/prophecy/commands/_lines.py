"""Lines of a stream: a number out of each, and an answer to each."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass

from prophecy.adaptive.prophecy import LARGEST
from prophecy.commands._dialect import MISSING

FIELDS = ("line", "value", "surprise", "next", "lower", "upper")


@dataclass
class Csv:
    """Fields, one of which is the value: by number (1 is the first), by name if there is a header.

    They stand between commas, or semicolons or tabs where a line has any.
    """

    column: str | None = None
    index: int | None = None

    def is_header(self, text: str) -> bool:
        """Whether a first line is names rather than numbers; remembers where the wanted column is."""
        cells, mark = _cells(text), _mark(text)
        if any(_number(cell, mark) is not None for cell in cells) or not any(cell.strip() for cell in cells):
            return False
        if self.column is not None and not self.column.isdigit():
            if self.column not in cells:
                raise ValueError(f"line 1: no column {self.column!r}; the header has {', '.join(cells)}")
            self.index = cells.index(self.column)
        return True

    def value(self, text: str) -> float:
        cells = _cells(text)
        if not cells:
            raise ValueError("the line is empty")
        cell = cells[self._place(len(cells))].strip()
        if cell in MISSING:
            return math.nan
        number = _number(cell, _mark(text))
        if number is None:
            raise ValueError(f"{cell!r} is not a number")
        return in_range(number)

    def _place(self, width: int) -> int:
        if self.index is None and self.column is not None:
            if not self.column.isdigit() or int(self.column) < 1:
                raise ValueError(
                    f"column {self.column!r} needs a header line to be found in; or give its number, from 1"
                )
            self.index = int(self.column) - 1
        place = width - 1 if self.index is None else self.index
        if place >= width:
            raise ValueError(f"there are {width} fields, wanted number {place + 1}")
        return place

    def answer(self, fields: dict[str, float | int]) -> str:
        return ",".join("" if _missing(value) else repr(value) for value in fields.values())

    def heading(self) -> str | None:
        return ",".join(FIELDS)


@dataclass
class Jsonl:
    """One JSON value per line: a number, null, or an object holding one under a key."""

    column: str | None = None
    index: int | None = None

    def is_header(self, text: str) -> bool:
        return False

    def value(self, text: str) -> float:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:  # integers of thousands of digits and deep nesting among them
            raise ValueError(f"not JSON: {str(error)[:200]}") from None
        if isinstance(found, dict):
            key = self.column or "value"
            if key not in found:
                raise ValueError(f"no key {key!r}; there are {', '.join(map(repr, found))}")
            found = found[key]
        if found is None:
            return math.nan
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise ValueError(f"{repr(found)[:200]} is not a number")
        if isinstance(found, int) and abs(found) > LARGEST:  # float() of an integer of 400 digits overflows
            raise ValueError(f"an integer of {len(str(abs(found)))} digits is beyond ±{LARGEST:g}")
        return in_range(float(found))

    def answer(self, fields: dict[str, float | int]) -> str:
        return json.dumps({name: None if _missing(value) else value for name, value in fields.items()})

    def heading(self) -> str | None:
        return None


def in_range(number: float) -> float:
    """A number a model can take; NaN is a gap."""
    if math.isnan(number) or abs(number) <= LARGEST:
        return number
    raise ValueError(f"{number!r} is beyond ±{LARGEST:g}")


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


def _missing(value: float | int) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
