"""How a CSV is written: what separates cells, which mark is the decimal one, whether there is a header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from prophecy.commands._open import HEAD, LARGEST_HEAD, Replay, encoding_of
from prophecy.frames import dates

SEPARATORS = (",", ";", "\t", "|")
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "None", "-", "?", "#N/A", "#NV")
JUDGED = 400  # rows that decide about separator, marks and header: enough for a rare cell, read in some milliseconds
MOSTLY = 0.9  # share of cells that make a column one of numbers: a stray cell is then reported where it stands

_THOUSANDS = " '’\u00a0\u202f"
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")
_GROUPED = {
    ".": re.compile(rf"[+-]?\d{{1,3}}([,{_THOUSANDS}]\d{{3}})+(\.\d+)?"),
    ",": re.compile(rf"[+-]?\d{{1,3}}([.{_THOUSANDS}]\d{{3}})+(,\d+)?"),
}
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")  # 1,234: a thousand and some, or one and a bit


@dataclass(frozen=True)
class Dialect:
    """separator, decimal mark and marks between thousands; names of the columns, whether the first line has them
    (`header`), lines before it (`skipped`); kinds of the columns: number, date, clock (a time of day), text or empty.

    cells: the columns of the first rows, to recognise them by. width: bytes of a usual line.
    """

    separator: str
    decimal: str
    thousands: str
    header: bool
    skipped: int
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    width: float
    longest: int
    encoding: str
    notes: tuple[str, ...]


def sniff(path: str, stream: Replay, header: bool | None = None, decimal: str | None = None) -> Dialect:
    """The dialect of a file by its first lines, without consuming them."""
    text, encoding, complete = _beginning(path, stream)
    skipped = 0
    lines = text.split("\n")
    while skipped < len(lines) - 1 and (not lines[skipped].strip() or lines[skipped].startswith("#")):
        skipped += 1
    body = "\n".join(lines[skipped:])
    if not body.strip():
        raise ValueError(f"{path} is empty; a table needs at least two rows")
    notes = (
        [f"{skipped} lines before the table skipped"] if any(lines[k].startswith("#") for k in range(skipped)) else []
    )
    separator = _separator(body, decimal)
    rows = _rows(body, separator)
    if not complete and len(rows) > 2:
        rows = rows[:-1]  # it may be cut off
    width = max(len(rows[0]), len(rows[1]) if len(rows) > 1 else 0)
    columns = [[row[i].strip() if i < len(row) else "" for row in rows] for i in range(width)]
    mark, said = _decimal(columns, separator, decimal)
    notes += said
    kinds = [_kind(column[1 : JUDGED + 1] or column[:1], mark) for column in columns]
    named = _has_header(columns, kinds, mark) if header is None else header
    if not named:
        kinds = [_kind(column[:JUDGED], mark) for column in columns]
        notes.append(
            f"no header: columns are called {'column1 …' if width > 1 else 'value'}, and the first line is data"
        )
    if named and len(rows) == 1:
        raise ValueError(f"{path} has a header but no rows")
    names = _names(path, [column[0] for column in columns], named)
    cells = tuple(tuple(column[1 if named else 0 :]) for column in columns)
    grouped = {m for column, kind in zip(cells, kinds, strict=True) if kind == "number" for m in _marks(column, mark)}
    thousands = "".join(sorted(grouped))
    if thousands:
        shown = " and ".join(repr(m) if m.isprintable() else "a narrow space" for m in sorted(grouped))
        notes.append(f"{shown} between thousands taken out")
    usual = len(body) / max(1, len(rows))
    longest = max(len(line) for line in lines)
    return Dialect(
        separator, mark, thousands, named, skipped, names, tuple(kinds), cells, usual, longest, encoding, tuple(notes)
    )


def _beginning(path: str, stream: Replay) -> tuple[str, str, bool]:
    """Text with at least two whole lines where the file has them, its encoding, and whether it is all there is."""
    size = HEAD
    while True:
        head = stream.head(size)
        encoding = encoding_of(path, head)
        codec = "utf-8-sig" if encoding == "utf-8" else encoding
        text = head.decode(codec, errors="ignore").replace("\r\n", "\n").replace("\r", "\n")
        complete = len(head) < size
        if complete or text.count("\n") >= 3:
            return text, encoding, complete
        if size >= LARGEST_HEAD:
            raise ValueError(f"{path}: its first lines are longer than {LARGEST_HEAD >> 20} MB; it is no table of rows")
        size *= 4


def _rows(text: str, separator: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(io.StringIO(text), delimiter=separator) if row]
    except csv.Error:
        return [line.split(separator) for line in text.split("\n") if line]


def _separator(text: str, decimal: str | None) -> str:
    """The separator that makes rows of one width out of numbers and dates."""
    sample = "\n".join(text.split("\n")[: JUDGED + 1])

    def merit(mark: str) -> tuple[bool, float, float, int]:
        rows = _rows(sample, mark)
        body = rows[1:] or rows
        widths = [len(row) for row in body]
        usual = max(set(widths), key=widths.count)
        if usual == 1:
            return False, 0.0, 0.0, 0
        cells = [cell.strip() for row in body[:100] for cell in row]
        typed = sum(_typed(cell) for cell in cells) / max(1, len(cells))
        return len(rows[0]) == usual, round(widths.count(usual) / len(widths), 1), round(typed, 2), usual

    return max(SEPARATORS, key=merit)


def _typed(cell: str) -> bool:
    return (
        cell in MISSING
        or any(number(cell, mark) is not None for mark in ".,")
        or dates.is_date(cell)
        or dates.is_time_of_day(cell)
    )


def number(cell: str, decimal: str) -> float | None:
    """A cell as a number, thousands grouped or not; None where it is none."""
    text = cell.strip()
    plain = _PLAIN if decimal == "." else _COMMA
    if plain.fullmatch(text) or (decimal == "," and _PLAIN.fullmatch(text) and "." not in text):
        return float(text.replace(",", "."))
    if _GROUPED[decimal].fullmatch(text):
        return float(re.sub(f"[{_THOUSANDS}{'.' if decimal == ',' else ','}]", "", text).replace(",", "."))
    return None


def _marks(cells: Sequence[str], decimal: str) -> set[str]:
    """The marks between thousands that a column uses."""
    plain = _PLAIN if decimal == "." else _COMMA
    grouped = [cell for cell in cells if not plain.fullmatch(cell) and _GROUPED[decimal].fullmatch(cell)]
    return {letter for cell in grouped for letter in cell if not letter.isdigit() and letter not in f"+-{decimal}"}


def _decimal(columns: list[list[str]], separator: str, given: str | None) -> tuple[str, list[str]]:
    """The decimal mark, by cells that allow only one; dates are none of its business."""
    if given is not None:
        return given, []
    cells = [cell for column in columns for cell in column[1 : JUDGED + 1] if not dates.is_date(cell)]
    marked = [cell for cell in cells if ("," in cell or "." in cell) and not _EITHER.fullmatch(cell)]
    comma = sum(number(cell, ",") is not None and "," in cell for cell in marked)
    point = sum(number(cell, ".") is not None and "." in cell for cell in marked)
    # 1.234,5 and 1,234.5 are settled by their last mark; 1.234.567 has points between thousands.
    comma += sum(cell.count(".") > 1 and number(cell, ",") is not None for cell in marked)
    point += sum(cell.count(",") > 1 and number(cell, ".") is not None for cell in marked)
    if comma > point:
        return ",", []
    open_ = next((cell for cell in cells if _EITHER.fullmatch(cell)), None)
    if open_ is None or point:
        return ".", []
    # Nothing decides. 1,234 between semicolons has a decimal comma; 1.334 beside dates such as 01.07.2016 has none.
    german = any("." in cell and dates.is_date(cell) for column in columns for cell in column[1 : JUDGED + 1])
    mark = "," if separator != "," and ("," in open_ or german) else "."
    read = number(open_, mark)
    return mark, [f"{open_!r} is read as {read:g}; if it is not, --decimal '{'.' if mark == ',' else ','}'"]


def _kind(cells: Sequence[str], decimal: str) -> str:
    filled = [cell for cell in cells if cell not in MISSING]
    if not filled:
        return "empty"
    enough = MOSTLY * len(filled)
    if sum(number(cell, decimal) is not None for cell in filled) >= enough:
        return "number"
    if sum(map(dates.is_date, filled)) >= enough:
        return "date"
    return "clock" if sum(map(dates.is_time_of_day, filled)) >= enough else "text"


def _has_header(columns: list[list[str]], kinds: list[str], decimal: str) -> bool:
    """Whether the first line is names: somewhere it differs in kind from what stands below it."""
    first = [column[0] for column in columns]
    if len(columns[0]) == 1:  # a single line: names where nothing in it is a number or a date
        return not any(_kind([cell], decimal) in ("number", "date") for cell in first)
    for cell, kind in zip(first, kinds, strict=True):
        if kind in ("number", "date", "clock") and cell not in MISSING and _kind([cell], decimal) != kind:
            return True
    if any(_kind([cell], decimal) in ("number", "date", "clock") for cell in first):
        return False
    return any(cell not in MISSING for cell in first)


def _names(path: str, first: list[str], named: bool) -> tuple[str, ...]:
    if not named:
        return ("value",) if len(first) == 1 else tuple(f"column{i + 1}" for i in range(len(first)))
    repeated = {name for name in first if name and first.count(name) > 1}
    if repeated:
        raise ValueError(f"{path} has several columns called {sorted(repeated)[0]!r}; rename them")
    blank = [i for i, name in enumerate(first) if not name]
    # One column without a name is the row number pandas writes; several are empty cells beyond the table.
    return tuple(name or ("" if i == blank[0] else f"column{i + 1}") for i, name in enumerate(first))
