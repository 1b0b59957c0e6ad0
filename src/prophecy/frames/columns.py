"""Columns of a table as found: what a user said about them, their kinds, and how text writes numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.frames import dates
from prophecy.frames.align import FRAMES, WaysOut
from prophecy.frames.clock import DATES
from prophecy.frames.numbers import (
    JUDGED,
    MOSTLY,
    NumberStyle,
    column_style,
    file_mark,
    is_missing,
    is_number,
    marks_of,
    number,
)


@dataclass(frozen=True)
class Hints:
    """What a user said about a table: its columns, how dates and numbers are written, what to skip.

    time: a column, or "" where no column is. missing: further cells that mean "no value". skip: lines at the top.
    sheet: of an Excel file. sep: what stands between cells. ways: how messages name these options.
    """

    columns: Sequence[str] = ()
    time: str | None = None
    key: str | tuple[str, ...] | None = None
    time_format: str | None = None
    decimal: str | None = None
    header: bool | None = None
    time_zone: str | None = None
    missing: tuple[str, ...] = ()
    skip: int | None = None
    sheet: str | None = None
    sep: str | None = None
    duplicates: str = "refuse"
    ways: WaysOut = field(default=FRAMES, repr=False)

    @property
    def keys(self) -> tuple[str, ...]:
        return () if self.key is None else (self.key,) if isinstance(self.key, str) else tuple(self.key)

    @property
    def absent(self) -> frozenset[str]:
        """`missing` in small letters."""
        return frozenset(cell.strip().lower() for cell in self.missing)

    @property
    def codes(self) -> list[float]:
        """Those of `missing` that are numbers, such as -9999."""
        return [value for cell in self.missing if (value := number(cell, ".")) is not None]

    def means_nothing(self, cell: Any) -> bool:
        """Whether a cell is missing."""
        return cell is None or cell != cell or (isinstance(cell, str) and is_missing(cell, self.absent))


def kind_of(cells: Sequence[Any], asked: Hints) -> str:
    """number, date (as text), typed (a date by its type), clock (a time of day), bool, text or empty, by most of the
    cells that are there."""
    kinds = [_kind(cell) for cell in cells if not asked.means_nothing(cell)]
    if not kinds:
        return "empty"
    usual = max(dict.fromkeys(kinds), key=kinds.count)
    return usual if kinds.count(usual) >= MOSTLY * len(kinds) else "text"


def _kind(cell: Any) -> str:
    if isinstance(cell, str):
        tests = [("number", is_number), ("date", dates.is_date), ("clock", dates.is_time_of_day)]
        worded = any(letter.isalpha() for letter in cell)  # 2005 Q1 is a date, though Q1 might be a unit
        return next((kind for kind, fits in (tests[1:2] * worded + tests) if fits(cell)), "text")
    if isinstance(cell, bool | np.bool_):
        return "bool"
    return "number" if isinstance(cell, int | float | np.number) else "typed" if isinstance(cell, DATES) else "text"


@dataclass(frozen=True)
class Layout:
    """Columns of a table as found: names, kinds (see `kind_of`), first cells of each, how text writes numbers.

    strict: the columns of a frame, which a program has named: nothing is chosen among them that content alone suggests.
    """

    path: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    cells: tuple[Sequence[Any], ...]
    styles: Mapping[str, NumberStyle]
    asked: Hints
    strict: bool = False

    @property
    def ways(self) -> WaysOut:
        return self.asked.ways

    def kind(self, name: str) -> str:
        return self.kinds[self.names.index(name)]

    def column(self, name: str) -> Sequence[Any]:
        return self.cells[self.names.index(name)]

    def filled(self, name: str) -> list[Any]:
        return [cell for cell in self.column(name) if not self.asked.means_nothing(cell)]

    def texts(self, name: str) -> list[str]:
        return [str(cell) for cell in self.filled(name)]

    def numbers(self, name: str) -> NDArray[Any]:
        """The first cells as numbers, those that are none left out."""
        style = self.styles.get(name, NumberStyle())
        cells = (style.read(cell) if isinstance(cell, str) else cell for cell in self.filled(name))
        numbers = np.array([float(cell) for cell in cells if isinstance(cell, int | float | np.number)])
        return numbers if np.isfinite(numbers).all() else np.empty(0)

    def why_text(self, name: str) -> str:
        """Why a column is none of numbers: its first cell that is no number, where it stands, how many are numbers."""
        judged = enumerate(self.column(name)[:JUDGED], 1)
        cells = {row: cell for row, cell in judged if not self.asked.means_nothing(cell)}
        wrong = [row for row, cell in cells.items() if _kind(cell) != "number"]
        if not wrong:
            return "all its cells are empty"
        return (
            f"column {name!r} holds {str(cells[wrong[0]])[:40]!r} in row {wrong[0]} of the data; "
            f"{len(cells) - len(wrong)} of {len(cells)} cells are numbers, {MOSTLY:.0%} are needed "
            "(leave the cell empty, or write NA, where a value is missing)"
        )


class Content(NamedTuple):
    """What a reader finds in a source. pieces: narwhals frames, or dicts of lists whose cells have types."""

    layout: Layout
    pieces: Iterator[Any]
    notes: list[str]


def described(
    path: str,
    names: Sequence[str],
    cells: Sequence[Sequence[Any]],
    asked: Hints,
    separator: str = ";",
    kinds: Sequence[str] | None = None,
) -> tuple[Layout, list[str]]:
    """The kinds of columns by their first cells, the notation of numbers in text by each column as a whole, and notes.

    kinds: those of columns whose type says it, "" where it does not.
    """
    judged = [column[:JUDGED] for column in cells]
    found = [kind or kind_of(column, asked) for kind, column in zip(kinds or [""] * len(names), judged, strict=True)]
    texts = [[cell for cell in column if isinstance(cell, str)] for column in judged]
    telling = [column for kind, column in zip(found, texts, strict=True) if kind in ("number", "date")]
    mark, open_ = (asked.decimal, None) if asked.decimal else file_mark(telling, separator)
    notes, styles = [], {}
    for name, kind, column in zip(names, found, texts, strict=True):
        if kind != "number" or not column:
            continue
        own = styles[name] = column_style(name, column, asked.decimal, mark or ".", asked.ways("decimal", ","))
        if open_ is not None and marks_of(column).either == open_:
            shown, other = number(open_, own.decimal), "." if own.decimal == "," else ","
            notes.append(f"{open_!r} is read as {shown:g}; if it is not, {asked.ways('decimal', other)}")
            open_ = None
    units = dict.fromkeys(unit for style in styles.values() for unit in style.units)
    if units:
        notes.append(f"{', '.join(map(repr, units))} after numbers taken out")
    if any(style.grouped for style in styles.values()):
        notes.append("marks between thousands taken out")
    return Layout(path, tuple(names), tuple(found), tuple(cells), styles, asked), notes
