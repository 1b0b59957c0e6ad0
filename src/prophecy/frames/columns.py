"""Columns of a table: what a user said about them, their kinds, and how text writes numbers: signs, units, decimal
marks and thousands, decided for a column as a whole."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.frames import dates
from prophecy.frames.align import FRAMES, WaysOut
from prophecy.frames.names import count

Array = NDArray[np.float64]

JUDGED = 400  # cells that decide about a column: enough for a rare one, read in some milliseconds
LOOKED = 1 << 18  # cells that decide about the roles of columns: some ten thousand rows
NAMED = 3  # stray cells of a column that are shown
OFTEN = 3  # times that a number comes before it may be a code
MOSTLY = 0.9  # share of a column's filled cells that must be numbers (or dates); the others are taken as missing

_ABSENT = frozenset(
    {
        "na", "n/a", "nan", "null", "none", "nil", "missing", "#n/a", "#na", "#nv",
        "#value!", "#div/0!", "#ref!", "#num!", "#null!",
    }
)  # fmt: skip
_CURRENCY = "$€£¥₹₽₩₺¢"
_SPACES = " \u00a0\u202f\u2009"
_SIGNS = "+-\u2212\u2013"
_DIGITS = re.compile(rf"(\d[\d.,'’{_SPACES}]*|[.,]\d+)([eE][+-]?\d+)?(.*)", re.DOTALL)
_UNIT = re.compile(rf"[%‰{_CURRENCY}]|°[{_SPACES}]?[A-Za-z]?|[^\W\d_][\w./²³·°%^*-]{{0,11}}( [A-Za-z]{{1,3}})?")
_ATTACHED = f"%‰°{_CURRENCY}"  # what may follow a number at once; letters behind a fraction, or of a whole column
_MONEY = re.compile(rf"([A-Z]{{0,3}}[{_CURRENCY}])[{_SPACES}]*")  # before a number: $, R$, US$
_PLAIN = {".": re.compile(r"\d+\.?\d*|\.\d+"), ",": re.compile(r"\d+,?\d*|,\d+")}
_GROUPED = {
    ".": re.compile(rf"\d{{1,3}}(?:([,'’{_SPACES}])\d{{3}}(?:\1\d{{3}})*|(?:,\d{{2}})+,\d{{3}})(\.\d+)?"),
    ",": re.compile(rf"\d{{1,3}}([.'’{_SPACES}])\d{{3}}(?:\1\d{{3}})*(,\d+)?"),
}


def is_missing(cell: str, more: frozenset[str] = frozenset()) -> bool:
    """Whether a cell means "no value": empty, without a letter or digit (-, ---, ?), a usual word, or one of `more`."""
    text = cell.strip().lower()
    return text in _ABSENT or text in more or not (text[:1].isalnum() or any(letter.isalnum() for letter in text))


@dataclass(frozen=True)
class Parsed:
    """A cell taken apart: its sign, its digits with their marks, what stands around them."""

    negative: bool
    digits: str
    exponent: str
    unit: str

    def value(self, decimal: str) -> float | None:
        """The number by a decimal mark; None where the digits are not written so."""
        plain, grouped = _PLAIN[decimal].fullmatch(self.digits), _GROUPED[decimal].fullmatch(self.digits)
        if plain is None and (grouped is None or self.exponent):
            return None
        digits = self.digits if plain is not None else re.sub(f"[^0-9{decimal}]", "", self.digits)
        value = float(("-" if self.negative else "") + digits.replace(",", ".") + self.exponent)
        return value if math.isfinite(value) else None


def parsed(cell: str, unit: str = "") -> Parsed | None:
    """The parts of a cell that may be a number; None where it is none by any mark. unit: that of its column.

    >>> parsed("(1.234,50 €)")
    Parsed(negative=True, digits='1.234,50', exponent='', unit='€')
    """
    text = cell.strip()
    brackets = text.startswith("(") and text.endswith(")")
    text = text[1:-1].strip() if brackets else text
    negative, usual, unit = brackets, unit, ""
    for _ in range(2):  # a sign before or behind a currency
        if text[:1] and text[0] in _SIGNS:
            negative, text = negative or text[0] != "+", text[1:].lstrip(_SPACES)
        if money := _MONEY.match(text):
            unit, text = money[1], text[money.end() :]
    match = _DIGITS.fullmatch(text)
    if match is None:
        return None
    digits, rest = match[1].rstrip(_SPACES), match[3]
    if rest == "-" and not negative:  # 12-, as accountants' programs write it
        negative, rest = True, ""
    attached = not rest[:1].isspace() and digits == match[1]
    rest = rest.strip()
    named = attached and rest[:1] not in _ATTACHED and digits.isdigit() and rest != usual
    if rest and (unit or not _UNIT.fullmatch(rest) or named):
        return None
    return Parsed(negative, digits, match[2] or "", unit or rest)


@dataclass(frozen=True)
class NumberStyle:
    """How a column writes numbers. plain: digits, a sign and a point alone; grouped: marks between thousands."""

    decimal: str = "."
    plain: bool = True
    unit: str = ""
    grouped: bool = False

    def read(self, cell: str) -> float | None:
        """A cell as a number; None where it is none, or has another unit than the column."""
        found = parsed(cell, self.unit)
        return None if found is None or found.unit not in ("", self.unit) else found.value(self.decimal)


def number(cell: str, decimal: str) -> float | None:
    """A cell as a number by a decimal mark, whatever its unit."""
    found = parsed(cell)
    return None if found is None else found.value(decimal)


def shared_unit(cells: Sequence[str]) -> str:
    """The letters that follow the digits of nearly all cells at once, such as 12k and 7k; 12a alone is a name."""
    ends = [found[1] for cell in cells if (found := re.fullmatch(r"\d+([^\W\d_]{1,3})", cell))]
    usual = max(sorted(set(ends)), key=ends.count, default="")
    return usual if len(ends) > 1 and ends.count(usual) >= MOSTLY * len(cells) else ""


def is_number(cell: str, unit: str = "") -> bool:
    """Whether a cell is a number by some decimal mark. unit: that of its column."""
    found = parsed(cell, unit)
    return found is not None and (found.value(".") is not None or found.value(",") is not None)


def marks_of(cells: Iterable[str]) -> dict[str, str]:
    """What cells say of their decimal mark: the first that is a number by `.` alone, by `,` alone, and (under "either")
    by both, with different values."""
    seen: dict[str, str] = {}
    for cell in cells:
        found = parsed(cell)
        if found is not None and re.search("[.,]", found.digits):
            point, comma = found.value("."), found.value(",")
            if point != comma:
                seen.setdefault("." if comma is None else "," if point is None else "either", cell)
    return seen


def two_ways(name: str, point: str, comma: str, way_out: str) -> str:
    """The message about a column with both decimal marks."""
    one, other = number(point, "."), number(comma, ",")
    return (
        f"column {name!r} writes numbers in two ways: {point!r} is {one:.15g} with a decimal point, {comma!r} is "
        f"{other:.15g} with a decimal comma; write all of them in one way, or say which one counts with {way_out}"
    )


def file_mark(columns: Sequence[Sequence[str]], separator: str) -> tuple[str, str | None]:
    """The decimal mark of columns that do not tell: that of the others; and the cell that is open where none does."""
    found = [marks_of(column) for column in columns]
    comma, point = (sum(mark in one for one in found) for mark in ",.")
    open_ = next((one["either"] for one in found if "either" in one), None)
    if comma or point or open_ is None:
        return ("," if comma > point else "."), None
    # Nothing decides. 1,234 between semicolons has a decimal comma; 1.334 beside dates such as 01.07.2016 has none.
    german = any("." in cell and dates.is_date(cell) for column in columns for cell in column)
    return ("," if separator != "," and ("," in open_ or german) else "."), open_


def column_style(name: str, cells: Sequence[str], given: str | None, others: str, way_out: str) -> NumberStyle:
    """The style of a column by its own cells, or by a mark that was `given`; where neither tells, as `others` write."""
    marks = marks_of(cells)
    if "." in marks and "," in marks and given is None:
        raise ValueError(two_ways(name, marks["."], marks[","], way_out))
    decimal = given or next((mark for mark in ".," if mark in marks), others)
    shared = shared_unit(cells)
    found = [one for cell in cells if (one := parsed(cell, shared)) is not None and one.value(decimal) is not None]
    units = [one.unit for one in found if one.unit]
    grouped = any(_PLAIN[decimal].fullmatch(one.digits) is None for one in found)
    unit = max(sorted(set(units)), key=units.count, default="")
    return NumberStyle(decimal, decimal == "." and not grouped and not units, unit, grouped)


@dataclass(frozen=True)
class Hints:
    """What a user said about a table: its columns, how dates and numbers are written, what to skip.

    time: a column, or "" where no column is. missing: further cells that mean "no value". skip: lines at the top.
    sheet: of an Excel file. sep: what stands between cells. ways: how messages name these options. A single name may
    stand for several.
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
    ways: WaysOut = field(default=FRAMES, repr=False)

    def __post_init__(self) -> None:
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


def text_of(cell: Any) -> str:
    """A cell of any type as a CSV would have it: "" where it is missing, no time of day at midnight."""
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, datetime):
        return "" if cell != cell else cell.isoformat(sep=" ").removesuffix(" 00:00:00")
    return "" if cell is None or cell != cell else str(cell)


def texts_of(cells: Sequence[Any]) -> list[str]:
    """`text_of` of all cells; text alone, as of a CSV, is read at once."""
    return list(map(str.strip if set(map(type, cells)) == {str} else text_of, cells))


def plain_numbers(cells: Sequence[Any]) -> Array | None:
    """Numbers and text of plain numbers at once, NaN where cells are empty; None where one of them is neither."""
    if "_" in "".join(cell for cell in cells if isinstance(cell, str)):
        return None  # 1_000 is a number for Python alone
    with suppress(ValueError, TypeError):
        found = np.array([np.nan if cell is None or cell == "" else cell for cell in cells], dtype=np.float64)
        return None if np.isinf(found).any() else found
    return None


def kind_of(cells: Sequence[Any], asked: Hints) -> str:
    """number, date, clock (a time of day), text or empty, by most of the cells that are there."""
    texts = [text for text in map(text_of, cells) if not is_missing(text, asked.absent)]
    if not texts:
        return "empty"
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
    return "date" if dates.is_date(cell) else "clock" if dates.is_time_of_day(cell) else "text"


@dataclass(frozen=True)
class Form:
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

    def add(self, row: int, cell: str) -> None:
        self.count += 1
        if len(self.shown) < NAMED:
            self.shown.append((row, cell[:40]))

    def said(self, name: str, asked: Hints) -> list[str]:
        """A note about them; too many are refused."""
        if self.count > (1 - MOSTLY) * self.filled + 1e-9:
            row, cell = self.shown[0]
            raise ValueError(
                f"column {name!r}: {self.count:,} of {self.filled:,} cells are not like the others, the first is "
                f"{cell!r} in row {row} of the data; at most {1 - MOSTLY:.0%} are taken as missing; correct them, "
                f"or name cells without a value with {asked.ways('missing', cell)}"
            )
        shown = ", ".join(f"{cell!r} (row {row})" for row, cell in self.shown)
        more = f" and {self.count - NAMED:,} more" if self.count > NAMED else ""
        return [f"{count(self.count, 'cell')} of {name!r} taken as missing: {shown}{more}"] if self.count else []


@dataclass(eq=False)
class Column:
    """One column of a table. cells: a narwhals series, of text or of another type.

    kind: as of `kind_of`; of columns that have a type also typed (dates) and bool. style: how text writes numbers.
    looked: rows that decide about its role.
    """

    name: str
    cells: Any
    asked: Hints
    looked: int
    kind: str = ""
    style: NumberStyle = NumberStyle()

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
        plain = plain_numbers(cells) if style.plain else None
        if plain is not None:
            return plain, Stray(), ""
        values, stray, mixed, absent = np.full(len(cells), np.nan), Stray(), "", self.asked.absent
        for place, cell in enumerate(map(text_of, cells)):
            if is_missing(cell, absent):
                continue
            stray.filled += 1
            value = style.read(cell)
            if value is not None:
                values[place] = value
                continue
            stray.add(place + 1, cell)
            other = "," if style.decimal == "." else "."
            if not self.asked.decimal and not mixed and number(cell, other) is not None:
                point, comma = (cell, "1,5") if other == "." else ("1.5", cell)
                mixed = two_ways(self.name, point, comma, self.asked.ways("decimal", other))
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
                way_out = f"if it means 'no value', {self.asked.ways('missing', code)}"
                return f"{code} comes {times[end]:,} times in {self.name!r}, {far}; {way_out}"
        return None

    def why_text(self) -> str:
        """Why a column is none of numbers: its first cell that is no number, where it stands, how many are numbers."""
        judged = enumerate(map(text_of, self.first[:JUDGED]), 1)
        cells = {row: text for row, text in judged if not is_missing(text, self.asked.absent)}
        wrong = [row for row, text in cells.items() if _kind(text) != "number"]
        if not wrong:
            return "all its cells are empty"
        return (
            f"column {self.name!r} holds {cells[wrong[0]][:40]!r} in row {wrong[0]} of the data; "
            f"{len(cells) - len(wrong)} of {len(cells)} cells are numbers, {MOSTLY:.0%} are needed "
            "(leave the cell empty, or write NA, where a value is missing)"
        )


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
    judged = {
        name: [text_of(cell) for cell in column.cells.head(JUDGED).to_list()]
        for name, column in columns.items()
        if not column.kind
    }
    for name, cells in judged.items():
        columns[name].kind = kind_of(cells, asked)
    telling = [cells for name, cells in judged.items() if columns[name].kind in ("number", "date")]
    separator = ";" if form is None else form.separator
    mark, open_ = (asked.decimal, None) if asked.decimal else file_mark(telling, separator)
    notes, styles = [], []
    for name, cells in judged.items():
        if columns[name].kind != "number":
            continue
        own = columns[name].style = column_style(name, cells, asked.decimal, mark, asked.ways("decimal", ","))
        styles.append(own)
        if open_ is not None and marks_of(cells).get("either") == open_:
            other = "." if own.decimal == "," else ","
            shown, otherwise = number(open_, own.decimal), number(open_, other)
            notes.append(
                f"{open_!r} is read as {shown:.12g}; if it is {otherwise:.12g}, {asked.ways('decimal', other)}"
            )
            open_ = None
    units = dict.fromkeys(style.unit for style in styles if style.unit)
    if units:
        notes.append(f"{', '.join(map(repr, units))} after numbers taken out")
    if any(style.grouped for style in styles):
        notes.append("marks between thousands taken out")
    return Layout(path, frame, columns, asked, notes, form=form)
