"""Columns of a table: what a user said about them, their kinds, and their cells as numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from prophecy import _checks
from prophecy._arrays import Array
from prophecy.frames import dates
from prophecy.frames.align import FRAMES, WaysOut
from prophecy.frames.dates import JUDGED
from prophecy.frames.names import count
from prophecy.frames.numbers import (
    MOSTLY,
    PLAIN,
    NumberStyle,
    column_style,
    is_missing,
    is_number,
    marks_of,
    number,
    plain_numbers,
    shared_unit,
)

LOOKED = 1 << 18  # cells that decide about the roles of columns: some ten thousand rows
NAMED = 3  # stray cells of a column that are shown
WORDS = 30  # of a column of text that become regressors
OFTEN = 3  # times that a number comes before it may be a code


@dataclass(frozen=True)
class Hints:
    """What a user said about a table: its columns, how dates and numbers are written, what to skip.

    time: a column, or "" where no column is. missing: further cells that mean "no value". skip: lines at the top.
    sheet: of an Excel file. sep: what stands between cells. beside: it holds regressors, which words may be, and may
    lack columns of that time and key. ways: how messages name these options. A single name may stand for several.
    """

    columns: Sequence[str] = ()
    time: str | None = None
    key: Sequence[str] = ()
    time_format: str | None = None
    decimal: str | None = None
    header: bool | None = None
    time_zone: str | None = None
    missing: Sequence[str] = ()
    skip: int | None = None
    sheet: str | None = None
    sep: str | None = None
    duplicates: str = "refuse"
    beside: bool = False
    ways: WaysOut = field(default=FRAMES, repr=False)

    def __post_init__(self) -> None:
        _checks.choice("duplicates", self.duplicates, ("refuse", "mean"))
        for name in ("columns", "key", "missing"):
            said = getattr(self, name)
            object.__setattr__(self, name, (said,) if isinstance(said, str) else tuple(said or ()))

    @property
    def absent(self) -> frozenset[str]:
        """`missing` in small letters."""
        return frozenset(cell.strip().lower() for cell in self.missing)

    @property
    def codes(self) -> list[float]:
        """Those of `missing` that are numbers, such as -9999."""
        return [value for cell in self.missing if (value := number(cell, ".")) is not None]


NOTHING = Hints()  # said


def text_of(cell: Any) -> str:
    """A cell of any type as a CSV would have it: "" where it is missing, no time of day at midnight."""
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, datetime):
        return "" if cell != cell else cell.isoformat(sep=" ").removesuffix(" 00:00:00")
    return "" if cell is None or cell != cell else str(cell)


def kind_of(cells: Sequence[Any], asked: Hints) -> str:
    """number, date, clock (a time of day, or since a start), text or empty, by most of the cells that are there."""
    texts = [text for text in map(text_of, cells) if not is_missing(text, asked.absent)]
    if not texts:
        return "empty"
    if plain_numbers(texts) is not None:
        return "number"
    unit = shared_unit(texts)
    kinds = [_kind(text, unit) for text in texts]
    usual = max(dict.fromkeys(kinds), key=kinds.count)
    return usual if kinds.count(usual) >= MOSTLY * len(kinds) else "text"


def _kind(cell: str, unit: str = "") -> str:
    worded = any(letter.isalpha() for letter in cell)
    if worded and dates.is_date(cell):  # 2005 Q1 is a date, though Q1 might be a unit
        return "date"
    if is_number(cell, unit):
        return "number"
    clock = dates.TIME_OF_DAY.fullmatch(cell) or dates.elapsed(cell) is not None
    return "date" if dates.is_date(cell) else "clock" if clock else "text"


class Form(NamedTuple):
    """How a text table is written. skip: lines before its first row."""

    separator: str
    encoding: str
    skip: int


@dataclass
class Stray:
    """Cells of a column that are not like the others and are taken as missing: how many, and the first few with their
    rows. filled: cells that are there, these among them."""

    filled: int = 0
    count: int = 0
    shown: list[tuple[int, str]] = field(default_factory=list)
    what: str = "numbers"

    def add(self, row: int, cell: str) -> None:
        self.count += 1
        if len(self.shown) < NAMED:
            self.shown.append((row, cell[:40]))

    def said(self, name: str, asked: Hints) -> list[str]:
        """A note about them; too many are refused."""
        if self.count > (1 - MOSTLY) * self.filled + 1e-9:
            raise ValueError(self.refusal(name, asked))
        shown = ", ".join(f"{cell!r} (row {row})" for row, cell in self.shown)
        more = f" and {self.count - NAMED:,} more" if self.count > NAMED else ""
        return [f"{count(self.count, 'cell')} of {name!r} taken as missing: {shown}{more}"] if self.count else []

    def refusal(self, name: str, asked: Hints) -> str:
        """Why the column is refused: its first stray cell, where it stands, how many cells are like the others."""
        row, cell = self.shown[0]
        way_out = f"correct the others, or name what stands for no value with {asked.ways('missing', cell)}"
        return (
            f"column {name!r} holds {cell!r} in row {row} of the data; {self.filled - self.count:,} of {self.filled:,} "
            f"cells are {self.what}, {MOSTLY:.0%} are needed; {way_out if self.count < self.filled else 'correct them'}"
        )


@dataclass(eq=False)
class Column:
    """One column of a table. cells: a narwhals series, of text or of another type.

    kind: as of `kind_of`; of columns that have a type also typed (dates) and bool. style: how text writes numbers.
    looked: rows that decide about its role. The numbers of a clock are seconds.
    """

    name: str
    cells: Any
    asked: Hints
    looked: int
    kind: str = ""
    style: NumberStyle = PLAIN

    @cached_property
    def first(self) -> list[Any]:
        """The first cells as they are."""
        return list(self.cells.head(self.looked).to_list())

    @cached_property
    def texts(self) -> list[str]:
        """The first cells that are there, as text."""
        return [text for text in map(text_of, self.first) if not is_missing(text, self.asked.absent)]

    @cached_property
    def _read(self) -> tuple[Array, Stray, str]:
        """The cells as numbers, those that are none, and why all of them are refused ("" where they are not)."""
        import narwhals.stable.v2 as nw

        if self.cells.dtype.is_numeric() or self.cells.dtype == nw.Boolean:
            return np.asarray(self.cells.cast(nw.Float64).to_numpy(), dtype=np.float64), Stray(), ""
        cells, style = self.cells.to_list(), self.style
        read = dates.elapsed if self.kind == "clock" else style.read
        plain = plain_numbers(cells) if style.plain else None
        if plain is not None:
            return plain, Stray(), ""
        values, mixed, absent = np.full(len(cells), np.nan), "", self.asked.absent
        stray = Stray(what=f"numbers in {style.unit!r}" if style.unit else "numbers")
        for place, cell in enumerate(map(text_of, cells)):
            if is_missing(cell, absent):
                continue
            stray.filled += 1
            value = read(cell)
            if value is not None:
                values[place] = value
                continue
            stray.add(place + 1, cell)
            other = "," if style.decimal == "." else "."
            if not self.asked.decimal and not mixed and number(cell, other) is not None:
                seen = {style.decimal: f"1{style.decimal}5"} | marks_of(self.texts) | {other: cell}
                one, two = number(seen["."], "."), number(seen[","], ",")
                counts = {mark: sum(number(text, mark) is not None for text in self.texts) for mark in ".,"}
                usual = max(counts, key=counts.__getitem__)
                drop = f", or leave those of the other out with {self.asked.ways('decimal', usual)}"
                mixed = (
                    f"column {self.name!r} writes numbers in two ways: {seen['.']!r} is {one:.15g} with a decimal "
                    f"point, {seen[',']!r} is {two:.15g} with a decimal comma; write all of them in one way"
                    f"{drop if counts[usual] >= MOSTLY * len(self.texts) else ''}"
                )
        return values, stray, mixed

    @cached_property
    def numbers(self) -> Array:
        """All cells as numbers, NaN where they are missing or stray."""
        values, codes = self._read[0], self.asked.codes
        return np.where(np.isin(values, codes), np.nan, values) if codes else values

    @property
    def known(self) -> Array:
        """The numbers that are there."""
        return self.numbers[np.isfinite(self.numbers)]

    def flags(self) -> dict[str, Array]:
        """Words as numbers: a column of 0 and 1 for each word but the first, such as `sky = rain`."""
        cells = [text_of(cell) for cell in self.cells.to_list()]
        there = np.array([not is_missing(cell, self.asked.absent) for cell in cells])
        words = sorted({cell for cell, known in zip(cells, there, strict=True) if known})
        if len(words) > WORDS:
            raise ValueError(
                f"known has {len(words)} different words in {self.name!r}, and at most {WORDS} are taken as "
                "regressors; leave the column out, or write it as numbers"
            )
        found = np.array(cells)
        return {f"{self.name} = {word}": np.where(there, found == word, np.nan) for word in words[1:]}

    def said(self) -> list[str]:
        """A note about cells that are no numbers; refused where they are too many, or written in two ways."""
        _, stray, mixed = self._read
        if mixed:
            raise ValueError(mixed)
        return stray.said(self.name, self.asked)

    def code(self) -> str | None:
        """A note about a number that comes again and again, further from all others than these are from each other."""
        seen, times = np.unique(self.known, return_counts=True)
        for end, near, other in ((0, 1, -1), (-1, -2, 0)) if len(seen) > 2 else ():
            if times[end] >= OFTEN and abs(seen[near] - seen[end]) > abs(seen[other] - seen[near]):
                code, far = f"{seen[end]:.15g}", "far from all other values"
                way_out = f"if it means 'no value', use {self.asked.ways('missing', code)}"
                return f"{code} comes {times[end]:,} times in {self.name!r}, {far}; {way_out}"
        return None

    def why_text(self) -> str:
        """Why a column is none of numbers."""
        stray = Stray(len(self.texts))
        for row, text in enumerate(map(text_of, self.first), 1):
            if not is_missing(text, self.asked.absent) and _kind(text) != "number":
                stray.add(row, text)
        return stray.refusal(self.name, self.asked) if stray.count else "all its cells are empty"


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns of a table, by name, before they have roles.

    strict: the columns of a frame, which a program has named: nothing is chosen among them that content alone suggests.
    frame: the rows, as a narwhals frame. notes: what was found. form: of text files.
    """

    path: str
    frame: Any
    columns: dict[str, Column]
    asked: Hints
    notes: Sequence[str] = ()
    strict: bool = False
    form: Form | None = None

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @property
    def ways(self) -> WaysOut:
        return self.asked.ways


def described(path: str, frame: Any, asked: Hints, kinds: Sequence[str], form: Form | None = None) -> Layout:
    """The kinds of columns by their first cells, and the notation of numbers in text by each column as a whole.

    kinds: those of columns whose type says it, "" of text.
    """
    looked = max(1, LOOKED // len(frame.columns))
    columns = {
        name: Column(name, frame[name], asked, looked, kind) for name, kind in zip(frame.columns, kinds, strict=True)
    }
    judged: dict[str, list[str]] = {}
    for name, column in columns.items():
        if not column.kind:
            judged[name] = [text_of(cell) for cell in column.cells.head(JUDGED).to_list()]
            column.kind = kind_of(judged[name], asked)
    marks = {name: marks_of(cells) for name, cells in judged.items() if columns[name].kind == "number"}
    told = [mark for found in marks.values() for mark in ".," if mark in found]
    either = "" if asked.decimal or told else next((seen["either"] for seen in marks.values() if "either" in seen), "")
    # Nothing decides. 1,234 between semicolons has a decimal comma; 1.334 beside dates such as 01.07.2016 has none.
    pointed = any("." in cell for name, cells in judged.items() if columns[name].kind == "date" for cell in cells)
    comma = either and (form is None or form.separator != ",") and ("," in either or pointed)
    others, notes = "," if comma or told.count(",") > told.count(".") else ".", []
    for name, found in marks.items():
        decimal = asked.decimal or next((mark for mark in ".," if mark in found), others)
        columns[name].style = column_style(judged[name], decimal)
    if either:
        other = "." if others == "," else ","
        shown, otherwise = number(either, others), number(either, other)
        notes.append(
            f"{either!r} is read as {shown:.12g}; if it is {otherwise:.12g}, use {asked.ways('decimal', other)}"
        )
    styles = [columns[name].style for name in marks]
    units = dict.fromkeys(style.unit for style in styles if style.unit)
    if units:
        notes.append(f"{', '.join(map(repr, units))} removed from numbers")
    if any(style.grouped for style in styles):
        notes.append("thousands separators removed")
    return Layout(path, frame, columns, asked, notes, form=form)
