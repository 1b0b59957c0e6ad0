"""Numbers as text writes them: signs, units, decimal marks and thousands, decided for a column as a whole."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from prophecy._arrays import Array

MOSTLY = 0.9  # share of a column's filled cells that must be numbers (or dates); the others are taken as missing

_ABSENT = {
    "na", "n/a", "nan", "null", "none", "nil", "missing", "#n/a", "#na", "#nv", "#value!", "#div/0!", "#ref!", "#num!",
    "#null!",
}  # fmt: skip
_CURRENCY = "$€£¥₹₽₩₺¢"
_SPACES = " \u00a0\u202f\u2009"
_SIGNS = "+-\u2212\u2013"
_DIGITS = re.compile(rf"(\d[\d.,'’{_SPACES}]*|[.,]\d+)([eE][+-]?\d+)?(.*)", re.DOTALL)
_UNIT = re.compile(rf"[%‰{_CURRENCY}]|°[{_SPACES}]?[A-Za-z]?|[^\W\d_][\w./²³·°%^*-]{{0,11}}( [A-Za-z]{{1,3}})?")
_ATTACHED = f"%‰°{_CURRENCY}"  # what may follow a number at once; letters behind a fraction, or of a whole column
_MONEY = re.compile(rf"([A-Z]{{0,3}}[{_CURRENCY}]|[A-Z]{{3}}(?=[{_SPACES}]))[{_SPACES}]*")  # $, R$, US$; CHF 1.50
_PLAIN = {".": re.compile(r"\d+\.?\d*|\.\d+"), ",": re.compile(r"\d+,?\d*|,\d+")}
_GROUPED = {
    ".": re.compile(rf"\d{{1,3}}(?:([,'’{_SPACES}])\d{{3}}(?:\1\d{{3}})*|(?:,\d{{2}})+,\d{{3}})(\.\d+)?"),
    ",": re.compile(rf"\d{{1,3}}([.'’{_SPACES}])\d{{3}}(?:\1\d{{3}})*(,\d+)?"),
}


def is_missing(cell: str, more: frozenset[str] = frozenset()) -> bool:
    """Whether a cell means "no value": empty, without a letter or digit (-, ---, ?), a usual word, or one of `more`."""
    text = cell.strip().lower()
    return text in _ABSENT or text in more or not (text[:1].isalnum() or any(letter.isalnum() for letter in text))


class Parsed(NamedTuple):
    """A cell that is a number: its value by every decimal mark that it can be read with, its digits and its unit."""

    values: dict[str, float]
    digits: str
    unit: str


def parsed(cell: str, unit: str = "") -> Parsed | None:
    """A cell as a number; None where it is none by any mark. unit: that of its column.

    >>> parsed("(1.234,50 €)")
    Parsed(values={',': -1234.5}, digits='1.234,50', unit='€')
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
    digits, exponent, rest = match[1].rstrip(_SPACES), match[2] or "", match[3]
    if rest == "-" and not negative:  # 12-, as accountants' programs write it
        negative, rest = True, ""
    attached = not rest[:1].isspace() and digits == match[1]
    rest = rest.strip()
    named = attached and rest[:1] not in _ATTACHED and digits.isdigit() and rest != usual
    coded = unit.isalpha() and digits.isdigit()  # CHF 1.50 is an amount, SKU 150 a name
    if coded or (rest and (unit or not _UNIT.fullmatch(rest) or named)):
        return None
    values: dict[str, float] = {}
    for mark in ".,":
        plain = _PLAIN[mark].fullmatch(digits)
        if plain or (_GROUPED[mark].fullmatch(digits) and not exponent):
            written = digits if plain else re.sub(f"[^0-9{mark}]", "", digits)
            value = float(written.replace(",", ".") + exponent)
            values |= {mark: -value if negative else value} if math.isfinite(value) else {}
    return Parsed(values, digits, unit or rest) if values else None


class NumberStyle(NamedTuple):
    """How a column writes numbers. plain: digits, a sign and a point alone; grouped: marks between thousands."""

    decimal: str = "."
    plain: bool = True
    unit: str = ""
    grouped: bool = False

    def read(self, cell: str) -> float | None:
        """A cell as a number; None where it is none, or has another unit than the column."""
        found = parsed(cell, self.unit)
        return None if found is None or found.unit not in ("", self.unit) else found.values.get(self.decimal)


PLAIN = NumberStyle()


def number(cell: str, decimal: str) -> float | None:
    """A cell as a number by a decimal mark, whatever its unit."""
    found = parsed(cell)
    return None if found is None else found.values.get(decimal)


def shared_unit(cells: Sequence[str]) -> str:
    """The letters that follow the digits of nearly all cells at once, such as 12k and 7k; 12a alone is a name."""
    ends = [found[1] for cell in cells if (found := re.fullmatch(r"\d+([^\W\d_]{1,3})", cell))]
    usual = max(sorted(set(ends)), key=ends.count, default="")
    return usual if len(ends) > 1 and ends.count(usual) >= MOSTLY * len(cells) else ""


def is_number(cell: str, unit: str = "") -> bool:
    """Whether a cell is a number by some decimal mark. unit: that of its column."""
    return parsed(cell, unit) is not None


def marks_of(cells: Sequence[str]) -> dict[str, str]:
    """What cells say of their decimal mark: the first that is a number by `.` alone, by `,` alone, and (under "either")
    by both, with different values."""
    seen: dict[str, str] = {}
    telling = "." if plain_numbers(cells) is not None else ".,"  # no comma is in plain numbers
    for cell in cells:
        found = parsed(cell)
        if found is not None and (len(found.values) == 1 or found.values["."] != found.values[","]):
            seen.setdefault(next(iter(found.values)) if len(found.values) == 1 else "either", cell)
            if all(mark in seen for mark in telling):
                break
    return seen


def column_style(cells: Sequence[str], decimal: str) -> NumberStyle:
    """How a column writes numbers, whose decimal mark is known."""
    if decimal == "." and plain_numbers(cells) is not None:
        return PLAIN
    shared = shared_unit(cells)
    found = [one for cell in cells if (one := parsed(cell, shared)) is not None and decimal in one.values]
    units = [one.unit for one in found if one.unit]
    grouped = any(_PLAIN[decimal].fullmatch(one.digits) is None for one in found)
    unit = max(sorted(set(units)), key=units.count, default="")
    return NumberStyle(decimal, decimal == "." and not grouped and not units, unit, grouped)


def plain_numbers(cells: Sequence[Any]) -> Array | None:
    """Numbers and text of plain numbers at once, NaN where cells are empty; None where one of them is neither."""
    if "_" in "".join(cell for cell in cells if isinstance(cell, str)):
        return None  # 1_000 is a number for Python alone
    with suppress(ValueError, TypeError):
        found = np.array([np.nan if cell is None or cell == "" else cell for cell in cells], dtype=np.float64)
        return None if np.isinf(found).any() else found
    return None
