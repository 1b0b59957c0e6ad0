"""Rows of cells as a table, from whatever file they come; text tables in any dialect.

Above the rows there may be titles, a line of names and lines of units: the rows begin where cells are of the kinds that
stand below, names are the first line above them that has one for every column, and all else is skipped and said.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from prophecy.frames import dates
from prophecy.frames.columns import NOTHING, Form, Hints, Layout, described, kind_of, text_of
from prophecy.frames.dates import JUDGED
from prophecy.frames.names import count, printable
from prophecy.frames.numbers import MOSTLY, is_missing, is_number
from prophecy.frames.opening import Opened, encoding_of
from prophecy.frames.roles import USUAL, spread_over_columns

SAMPLED = 10_000  # lines that tell the separator, and what stands before the table
SEPARATORS = (",", ";", "\t", "|")
MOST_COLUMNS = 20_000  # of a table: one of more is no table of series, and takes minutes to look at
REMARKS = ("#", "%")  # what lines of remarks above a table begin with
AT_ONCE = 1 << 14  # cells that are held as rows until they become columns
TYPED = ("number", "date", "clock")

Line = tuple[int, Sequence[Any]]  # the number of a row in its file, and its cells


def read_text(opened: Opened, asked: Hints) -> Layout:
    """A text table in any dialect."""
    path, encoding = opened.path, encoding_of(opened.path, opened.data)
    lines = [line.rstrip("\n") for line in islice(_lines(opened, encoding), SAMPLED)] or [""]
    skip = min(asked.skip or 0, len(lines) - 1)
    named = re.fullmatch(r"sep=(.)", lines[skip].strip())  # what Excel writes above a table for itself
    skip += named is not None
    remarks = []
    while skip < len(lines) - 1 and (not lines[skip].strip() or lines[skip].startswith(REMARKS)):
        remarks += [lines[skip].lstrip("#% \t")] if lines[skip].strip() else []
        skip += 1
    if not any(line.strip() for line in lines[skip:]):
        raise ValueError(f"{path} is empty; a table needs at least two rows")
    separator = asked.sep or (named[1] if named else _separator(lines[skip:], asked))
    widest = max(line.count(separator) for line in lines[skip : skip + 50]) + 1
    if widest > MOST_COLUMNS:
        raise ValueError(f"{path} has {widest:,} columns, and at most {MOST_COLUMNS:,} are read; put series into rows")
    form = Form(separator, encoding, skip)
    names = [[cell.strip() for cell in cells] for cells in _rows(remarks, separator)]
    made = of_rows(path, _cells(opened, form, blank=widest == 1), asked, above=names, form=form)
    notes = _skipped([[]] * skip, "before the table") if remarks else []
    if separator == "," and widest > 1 and all(map(is_number, filter(None, lines[skip : skip + 9]))):
        way_out = asked.ways("decimal", ",")
        notes.append(f"{lines[skip]!r} is read as {widest} cells; if it is one number, use {way_out}")
    if len(made.names) == 1 and not asked.sep and any("," in cell for cell in made[made.names[0]].texts):
        notes.append(f"a comma is the decimal mark of a single column; {asked.ways('sep', ',')} splits at it")
    return replace(made, notes=[*notes, *made.notes])


def _lines(opened: Opened, encoding: str) -> io.TextIOWrapper:
    codec = "utf-8-sig" if encoding == "utf-8" else encoding
    return io.TextIOWrapper(io.BytesIO(opened.data), codec, errors="replace")


def _cells(opened: Opened, form: Form, blank: bool) -> Iterator[Line]:
    """The cells of every line below those skipped. blank: an empty line is a row too, whose only cell is missing."""
    lines = islice(_lines(opened, form.encoding), form.skip, None)
    reader = csv.reader(_spaced(lines, form.separator), delimiter=form.separator)
    try:
        for row in reader:
            if row or blank:
                yield form.skip + reader.line_num, row or [""]
    except csv.Error:  # a cell beyond the limit is the only one that lines without marks of their ends can make
        where, most = f"line {form.skip + reader.line_num}", csv.field_size_limit()
        raise ValueError(
            f"{where} has a cell of more than {most:,} characters; perhaps a quotation mark is not closed"
        ) from None


def _spaced(lines: Iterable[str], separator: str) -> Iterable[str]:
    """Lines whose cells stand in columns have one space between two; others are as they are."""
    return (" ".join(line.split()) for line in lines) if separator == " " else lines


def _rows(lines: Iterable[str], separator: str) -> list[list[str]]:
    """Rows of a sample that are not empty; a cell without an end is the end of it."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows += filter(None, csv.reader(_spaced(lines, separator), delimiter=separator))
    return rows


def _separator(lines: list[str], asked: Hints) -> str:
    """The separator that makes rows of one width out of numbers and dates."""
    sample = [line.strip() for line in lines[: JUDGED + 1] if line.strip()]
    numbers = [line for line in sample if is_number(line)]
    others = [line for line in sample if not is_number(line)]
    # A comma that only numbers have separates nothing: 1,5 below a name without one is a number.
    commas = any("," in line for line in numbers) and not any("," in line for line in others)
    # Nor does it before a zero, which no whole number begins with: 19,05.
    told = others or asked.decimal == "," or any(re.search(r",0\d", line) for line in numbers)
    if commas and told and len(others) < len(numbers):
        return next((mark for mark in SEPARATORS[1:] if not any(mark in line for line in sample)), ";")

    def merit(mark: str) -> tuple[bool, float, float, int]:
        rows = _rows(lines[: JUDGED + 1], mark) or [[""]]
        body = rows[1:] or rows
        widths = [len(row) for row in body]
        usual = max(set(widths), key=widths.count)
        if usual == 1:
            return False, 0.0, 0.0, 0
        cells = [cell.strip() for row in body[:100] for cell in row[:100]]
        typed = sum(is_missing(cell) or kind_of([cell], NOTHING) != "text" for cell in cells) / max(1, len(cells))
        return len(rows[0]) == usual, round(widths.count(usual) / len(widths), 1), round(typed, 2), usual

    best, (_, even, typed, _) = max(SEPARATORS, key=merit), merit(" ")
    single = merit(best)[3] == 0 and kind_of(sample[1:101], NOTHING) == "text"
    return " " if single and even >= MOSTLY and typed > 0.5 else best


def of_rows(
    path: str,
    rows: Iterator[Line],
    asked: Hints,
    names: tuple[str, ...] = (),
    above: Sequence[Sequence[str]] = (),
    form: Form | None = None,
) -> Layout:
    """The table that rows make, as a frame of text; columns of numbers alone are of numbers by their type.

    names: of the columns, where they are known. above: lines before the first row that may have them. form: of a text
    file, of which lines up to the first row are noted here.
    """
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    first, notes, start = list(islice(rows, JUDGED + 1)), list[str](), 0
    if not first:
        raise ValueError("there are no rows; a table needs at least two")
    if not names:
        texts = [[text_of(cell) for cell in row] for _, row in first]
        names, header, start = header_of(path, texts, asked)
        if start >= len(first):
            raise ValueError(f"{path} has a header but no rows; write rows below the names")
        named = names_among([cells for cells in above if len(cells) == len(names)], range(len(names)))
        if header is None and asked.header is None and named:
            names, header = tuple(named), -1
        titles = texts[: start if header is None else max(header, 0)]
        units = texts[header + 1 : start] if header is not None else []
        notes = [*_skipped(titles, "before the table"), *_skipped(units, "below the names", "units, perhaps: ")]
        if header is None:
            called = "column1 …" if len(names) > 1 else "value"
            notes.append(f"no header: columns are called {called}, and the first line is data")
        form = form if form is None or not start else form._replace(skip=first[start - 1][0])
    width, ragged = len(names), list[Line]()
    typed = [{type(row[i]) for _, row in first[start:] if len(row) == width} - {type(None)} for i in range(width)]
    parts: list[list[Any]] = [[] for _ in names]
    below = chain(first[start:], rows)
    while lines := list(islice(below, max(1, AT_ONCE // width))):
        ragged += [line for line in lines if len(line[1]) != width]
        for part, cells in zip(parts, zip(*(row for _, row in lines if len(row) == width), strict=True), strict=False):
            as_text = str.strip if {*map(type, cells)} == {str} else text_of  # the cells of a CSV are text alone
            part.append(pa.array([*map(as_text, cells)], pa.string()))
    table = nw.from_native(pa.table([pa.chunked_array(part, pa.string()) for part in parts], names), eager_only=True)
    kinds = ["number" if found and found <= {int, float} else "" for found in typed]
    layout = described(path, table, asked, kinds, form)
    return replace(layout, notes=[*notes, *layout.notes, *_left_out(ragged, len(table), width, asked)])


def _left_out(ragged: Sequence[Line], rows: int, width: int, asked: Hints) -> list[str]:
    """A note about rows with another number of cells than the others; too many are refused."""
    if not ragged:
        return []
    line, cells = ragged[0]
    text = ",".join(map(text_of, cells))[:80]
    shown = f"row {line} of the file, {count(len(cells), 'cell')} instead of {width}: {text!r}"
    if len(ragged) > (1 - MOSTLY) * (rows + len(ragged)) + 1e-9:
        raise ValueError(
            f"{len(ragged):,} of {rows + len(ragged):,} rows have another number of cells than the others, the first "
            f"in {shown}; quote cells that hold the separator, or name the separator with {asked.ways('sep', ';')}"
        )
    return [f"{count(len(ragged), 'row')} with another number of cells left out ({shown})"]


def _skipped(rows: Sequence[Sequence[str]], where: str, about: str = "") -> list[str]:
    """A note about lines that are no rows, where there are any."""
    text = printable(" ".join(filter(None, rows[0])))[:60] if rows else ""
    shown = f" ({about}{text!r})" if text else ""
    return [f"{count(len(rows), 'line')} {where} skipped{shown}"] if rows else []


def header_of(path: str, rows: Sequence[Sequence[str]], asked: Hints) -> tuple[tuple[str, ...], int | None, int]:
    """The names, the line they stand in (None without one), and the first line of the rows."""
    some = rows[1 : JUDGED + 1] or rows
    widths = [len(row) for row in some]
    width = max(sorted(set(widths), reverse=True), key=widths.count)
    whole = [row for row in some if len(row) == width]
    whole = whole[min(30, len(whole) // 2) :]  # what is above may be titles and units
    kinds = [kind_of([row[i] for row in whole], asked) for i in range(width)]
    used = [i for i, kind in enumerate(kinds) if kind != "empty"]
    typed = any(kind in TYPED for kind in kinds)
    start = _first_row(rows, kinds, asked) if typed else None
    if start is None:  # a single line of words has names without rows
        start = 1 if len(rows) > 1 or not typed else 0
    above = [k for k in range(start) if len(rows[k]) >= max(len(used), min(2, width))]
    header: int | None = None
    if asked.header is not False and above:
        good = names_among([rows[k] for k in above], used)
        header = 0 if start == 1 else rows.index(good) if good else None
    if asked.header and header is None:
        header, start = max(start - 1, 0), max(start, 1)
    if asked.header is None:
        spread_over_columns(rows[header if header is not None else start], asked)
    first = [] if header is None else [*rows[header], *[""] * width][:width]
    return _names(path, first, width), header, start


def _first_row(rows: Sequence[Sequence[str]], kinds: Sequence[str], asked: Hints) -> int | None:
    """The first line whose cells are of the kinds of the columns; below names half may be stray or missing."""
    named = False
    for k, row in enumerate(rows[:JUDGED]):
        cells = [(cell, kind) for cell, kind in zip(row, kinds, strict=False) if kind in TYPED]
        fits = [kind_of([cell], asked) == kind for cell, kind in cells if not is_missing(cell, asked.absent)]
        fit, miss = fits.count(True), fits.count(False)
        if len(row) == len(kinds) and fit and (fit >= miss if named else not miss and 2 * fit >= len(cells)):
            return k
        named = named or (2 * miss >= len(cells) > 0 and not fit and len(row) == len(kinds))
    return None


def _is_names(row: Sequence[str], used: Sequence[int]) -> bool:
    """Whether a line has a name for every column with cells (but the first, where pandas writes none), none of them a
    number, a date, or a label with a colon."""
    cells = [row[i] if i < len(row) else "" for i in used]
    filled = [cell for cell in cells if cell]
    if not filled or len(filled) < len(cells) - (not cells[0]):
        return False
    others = (cell for cell in filled if is_number(cell) or dates.is_date(cell) or cell.endswith(":"))
    return len(set(filled)) == len(filled) and not any(others)


def names_among(lines: Sequence[Sequence[str]], used: Sequence[int]) -> Sequence[str]:
    """The first line that has names for the `used` columns, one with a usual name before others; () without one."""
    lines = [line for line in lines if _is_names(line, used)]
    usual = (line for line in lines if any(cell.lower() in USUAL for cell in line))
    return next(usual, lines[0] if lines else ())


def _names(path: str, first: list[str], width: int) -> tuple[str, ...]:
    if not first:
        return ("value",) if width == 1 else tuple(f"column{i + 1}" for i in range(width))
    repeated = {name for name in first if name and first.count(name) > 1}
    if repeated:
        raise ValueError(f"{path} has several columns called {sorted(repeated)[0]!r}; rename them")
    # One column without a name is the row number pandas writes; several are empty cells beyond the table.
    blank = first.index("") if "" in first else None
    return tuple(name or ("" if i == blank else f"column{i + 1}") for i, name in enumerate(first))
