"""Cells of text as numbers: signs, units, decimal marks and thousands, decided for a column as a whole."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prophecy.frames import dates

JUDGED = 400  # cells that decide about a column: enough for a rare one, read in some milliseconds
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
_ATTACHED = f"%‰°{_CURRENCY}"  # what may follow a number at once; letters only behind a fraction: 12a is a name
_PLAIN = {".": re.compile(r"\d+\.?\d*|\.\d+"), ",": re.compile(r"\d+,?\d*|,\d+")}
_GROUPED = {
    ".": re.compile(rf"\d{{1,3}}(?:([,'’{_SPACES}])\d{{3}}(?:\1\d{{3}})*|(?:,\d{{2}})+,\d{{3}})(\.\d+)?"),
    ",": re.compile(rf"\d{{1,3}}([.'’{_SPACES}])\d{{3}}(?:\1\d{{3}})*(,\d+)?"),
}


def is_missing(cell: str, more: frozenset[str] = frozenset()) -> bool:
    """Whether a cell means "no value": empty, without a letter or digit (-, ---, ?), a usual word, or one of `more`."""
    text = cell.strip().lower()
    return text in _ABSENT or text in more or not any(letter.isalnum() for letter in text)


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


def parsed(cell: str) -> Parsed | None:
    """The parts of a cell that may be a number; None where it is none by any mark.

    >>> parsed("(1.234,50 €)")
    Parsed(negative=True, digits='1.234,50', exponent='', unit='€')
    """
    text = cell.strip()
    brackets = text.startswith("(") and text.endswith(")")
    text = text[1:-1].strip() if brackets else text
    negative, unit = brackets, ""
    for _ in range(2):  # a sign before or behind a currency
        if text[:1] and text[0] in _SIGNS:
            negative, text = negative or text[0] != "+", text[1:].lstrip(_SPACES)
        if text[:1] and text[0] in _CURRENCY:
            unit, text = text[0], text[1:].lstrip(_SPACES)
    match = _DIGITS.fullmatch(text)
    if match is None:
        return None
    digits, rest = match[1].rstrip(_SPACES), match[3]
    if rest == "-" and not negative:  # 12-, as accountants' programs write it
        negative, rest = True, ""
    attached = not rest[:1].isspace() and digits == match[1]
    rest = rest.strip()
    if rest and (unit or not _UNIT.fullmatch(rest) or (attached and rest[0] not in _ATTACHED and digits.isdigit())):
        return None
    return Parsed(negative, digits, match[2] or "", unit or rest)


@dataclass(frozen=True)
class NumberStyle:
    """How a column writes numbers. plain: with digits, a sign and a decimal point alone; grouped: with marks between
    thousands."""

    decimal: str = "."
    plain: bool = True
    units: frozenset[str] = frozenset()
    grouped: bool = False

    def read(self, cell: str) -> float | None:
        """A cell as a number; None where it is none, or has another unit than the column."""
        found = parsed(cell)
        if found is None or (found.unit and found.unit not in self.units):
            return None
        return found.value(self.decimal)


def number(cell: str, decimal: str) -> float | None:
    """A cell as a number by a decimal mark, whatever its unit."""
    found = parsed(cell)
    return None if found is None else found.value(decimal)


def is_number(cell: str) -> bool:
    """Whether a cell is a number by some decimal mark."""
    found = parsed(cell)
    return found is not None and (found.value(".") is not None or found.value(",") is not None)


@dataclass(frozen=True)
class Marks:
    """What a column's cells say of its decimal mark: the first cell that allows only one of them, and the first that
    allows both, with different values."""

    point: str | None = None
    comma: str | None = None
    either: str | None = None


def marks_of(cells: Iterable[str]) -> Marks:
    """The evidence of some cells."""
    seen: dict[str, str] = {}
    for cell in cells:
        found = parsed(cell)
        if found is None or not re.search("[.,]", found.digits):
            continue
        point, comma = found.value("."), found.value(",")
        kind = "point" if comma is None else "comma" if point is None else "either" if point != comma else ""
        if (point is not None or comma is not None) and kind:
            seen.setdefault(kind, cell)
    return Marks(**seen)


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
    comma, point = sum(one.comma is not None for one in found), sum(one.point is not None for one in found)
    if comma != point or comma:
        return ("," if comma > point else "."), None
    open_ = next((one.either for one in found if one.either is not None), None)
    if open_ is None:
        return ".", None
    # Nothing decides. 1,234 between semicolons has a decimal comma; 1.334 beside dates such as 01.07.2016 has none.
    german = any("." in cell and dates.is_date(cell) for column in columns for cell in column)
    return ("," if separator != "," and ("," in open_ or german) else "."), open_


def style_of(cells: Sequence[str], decimal: str) -> NumberStyle:
    """The style of a column of numbers by its decimal mark."""
    found = [one for one in map(parsed, cells) if one is not None and one.value(decimal) is not None]
    units = [one.unit for one in found if one.unit]
    usual = frozenset({max(set(units), key=units.count)} if units else ())
    grouped = any(_PLAIN[decimal].fullmatch(one.digits) is None for one in found)
    return NumberStyle(decimal, decimal == "." and not grouped and not units, usual, grouped)


def column_style(name: str, cells: Sequence[str], given: str | None, others: str, way_out: str) -> NumberStyle:
    """The style of a column by its own cells, or by a mark that was `given`; where neither tells, as `others` write."""
    marks = marks_of(cells)
    if marks.point and marks.comma and given is None:
        raise ValueError(two_ways(name, marks.point, marks.comma, way_out))
    return style_of(cells, given or ("." if marks.point else "," if marks.comma else others))
