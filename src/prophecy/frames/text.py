"""Text tables: how a file is written, found by its content, and its rows in pieces by Arrow's parser.

Above the rows there may be titles, a line of names and lines of units: the rows begin where cells are of the kinds that
stand below, names are the first line above them that has one for every column, and all else is skipped and said.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from prophecy.frames import dates
from prophecy.frames.columns import JUDGED, MOSTLY, Hints, Layout, described, is_missing, is_number, kind_of
from prophecy.frames.names import count, printable
from prophecy.frames.opening import HEAD, LARGEST_HEAD, Opened, Replay, encoding_of
from prophecy.frames.roles import USUAL, spread_over_columns

if TYPE_CHECKING:
    from prophecy.frames.table import Stray

SEPARATORS = (",", ";", "\t", "|")
MOST_COLUMNS = 20_000  # of a table: one of more is no table of series, and takes minutes to look at
TYPED = ("number", "date", "clock")
NOTHING = Hints()
REMARKS = ("#", "%")  # what lines of remarks above a table begin with


@dataclass(frozen=True)
class Dialect:
    """separator, encoding; names of the columns and their first cells; lines before the rows (`skipped`).

    longest: characters of the longest line looked at.
    """

    separator: str
    encoding: str
    names: tuple[str, ...]
    skipped: int
    cells: tuple[tuple[str, ...], ...]
    longest: int
    notes: tuple[str, ...]


def read_csv(opened: Opened, asked: Hints, stray: Stray, piece: int) -> Layout:
    """A text table in any dialect, parsed by Arrow. piece: bytes of text parsed at once."""
    dialect = sniff(opened.path, opened.stream, asked)
    found = described(opened.path, dialect.names, dialect.cells, asked, dialect.separator)
    return replace(found, pieces=_pieces(opened, dialect, piece, stray), notes=[*dialect.notes, *found.notes])


def sniff(path: str, stream: Replay, asked: Hints) -> Dialect:
    """The dialect of a file by its first lines, without consuming them."""
    text, encoding, complete = _beginning(path, stream)
    lines = text.split("\n")
    skipped = min(asked.skip or 0, len(lines) - 1)
    named = re.fullmatch(r"sep=(.)", lines[skipped].strip())  # what Excel writes above a table for itself
    skipped += named is not None
    remarks = []
    while skipped < len(lines) - 1 and (not lines[skipped].strip() or lines[skipped].startswith(REMARKS)):
        remarks += [lines[skipped]] if lines[skipped].strip() else []
        skipped += 1
    if not any(line.strip() for line in lines[skipped:]):
        raise ValueError(f"{path} is empty; a table needs at least two rows")
    body = "\n".join(lines[skipped:])
    separator = asked.sep or (named[1] if named else _separator(body, asked))
    body = _single_spaces(body) if separator == " " else body
    widest = max(line.count(separator) for line in lines[skipped : skipped + 50]) + 1
    if widest > MOST_COLUMNS:
        raise ValueError(f"{path} has {widest:,} columns, and at most {MOST_COLUMNS:,} are read; put series into rows")
    rows, ends = _rows(body, separator, chosen=True)
    if not complete and len(rows) > 2:
        rows, ends = rows[:-1], ends[:-1]  # it may be cut off
    names, header, start = header_of(path, rows, asked)
    if start >= len(rows):
        raise ValueError(f"{path} has a header but no rows; write rows below the names")
    if header is None and asked.header is None:
        mark, columns = (None if separator == " " else separator), range(len(names))
        lines_of = (remark.lstrip("#% \t").split(mark) for remark in remarks)
        named_in = _best([cells for cells in lines_of if len(cells) == len(names) and _is_names(cells, columns)])
        if named_in:
            names, header = tuple(cell.strip() for cell in named_in), -1
    notes = [_said(skipped, "before the table")] if remarks else []
    notes += said_about(rows, header, start, len(names))
    if separator == "," and header is None and all(map(is_number, filter(None, lines[skipped : skipped + 9]))):
        way_out = asked.ways("decimal", ",")
        notes.append(f"{lines[skipped]!r} is read as {len(names)} cells; if it is one number, {way_out}")
    if len(names) == 1 and not asked.sep and any("," in row[0] for row in rows[start:]):
        notes.append(f"a comma is the decimal mark of a single column; {asked.ways('sep', ',')} splits at it")
    whole = [row for row in rows[start:] if len(row) == len(names)]
    cells = tuple(tuple(row[i].strip() for row in whole) for i in range(len(names)))
    before = ends[start - 1] if start else 0
    return Dialect(separator, encoding, names, skipped + before, cells, max(map(len, lines)), tuple(notes))


def said_about(rows: Sequence[Sequence[str]], header: int | None, start: int, width: int) -> list[str]:
    """What was skipped above the rows, which begin in line `start`."""
    titles = rows[: start if header is None else max(header, 0)]
    units = rows[header + 1 : start] if header is not None else []
    notes = []
    if titles:
        notes.append(_said(len(titles), "before the table") + _shown(titles[0]))
    if units:
        notes.append(_said(len(units), "below the names") + _shown(units[0], "units, perhaps: "))
    if header is None:
        called = "column1 …" if width > 1 else "value"
        notes.append(f"no header: columns are called {called}, and the first line is data")
    return notes


def _said(lines: int, where: str) -> str:
    return f"{count(lines, 'line')} {where} skipped"


def _shown(row: Sequence[str], about: str = "") -> str:
    text = printable(" ".join(cell.strip() for cell in row if cell.strip()))[:60]
    return f" ({about}{text!r})" if text else ""


def header_of(path: str, rows: Sequence[Sequence[str]], asked: Hints) -> tuple[tuple[str, ...], int | None, int]:
    """The names, the line they stand in (None without one), and the first line of the rows."""
    some = rows[1 : JUDGED + 1] or rows
    widths = [len(row) for row in some]
    width = max(sorted(set(widths), reverse=True), key=widths.count)
    whole = [row for row in some if len(row) == width]
    whole = whole[min(30, len(whole) // 2) :]  # what is above may be titles and units
    kinds = [kind_of([row[i].strip() for row in whole], asked) for i in range(width)]
    used = [i for i, kind in enumerate(kinds) if kind != "empty"]
    typed = any(kind in TYPED for kind in kinds)
    start = _first_row(rows, kinds, asked) if typed else None
    if start is None:  # a single line of words has names without rows
        start = 1 if len(rows) > 1 or not typed else 0
    above = [k for k in range(start) if len(rows[k]) >= max(len(used), min(2, width))]
    header: int | None = None
    if asked.header is not False and above:
        good = _best([rows[k] for k in above if _is_names(rows[k], used)])
        header = 0 if start == 1 else None if good is None else rows.index(good)
    if asked.header and header is None:
        header, start = max(start - 1, 0), max(start, 1)
    if asked.header is None:
        spread_over_columns([cell.strip() for cell in rows[header if header is not None else start]], asked)
    first = [] if header is None else [cell.strip() for cell in (*rows[header], *[""] * width)][:width]
    return _names(path, first, width), header, start


def _first_row(rows: Sequence[Sequence[str]], kinds: Sequence[str], asked: Hints) -> int | None:
    """The first line whose cells are of the kinds of the columns; a stray cell is allowed below a line of names."""
    named = False
    for k, row in enumerate(rows[:JUDGED]):
        cells = [(cell, kind) for cell, kind in zip(row, kinds, strict=False) if kind in TYPED]
        fits = [kind_of([cell.strip()], asked) == kind for cell, kind in cells if not is_missing(cell, asked.absent)]
        fit, miss = fits.count(True), fits.count(False)
        if len(row) == len(kinds) and fit and (not miss or (named and fit >= miss)):
            return k
        named = named or (miss > 0 and not fit and len(row) == len(kinds))
    return None


def _is_names(row: Sequence[str], used: Sequence[int]) -> bool:
    """Whether a line has a name for every column with cells (but the first, where pandas writes none), none of them a
    number, a date, or a label with a colon."""
    cells = [row[i].strip() if i < len(row) else "" for i in used]
    filled = [cell for cell in cells if cell]
    if not filled or len(filled) < len(cells) - (not cells[0]):
        return False
    others = (cell for cell in filled if is_number(cell) or dates.is_date(cell) or cell.endswith(":"))
    return len(set(filled)) == len(filled) and not any(others)


def _best(lines: Sequence[Sequence[str]]) -> Sequence[str] | None:
    """The first line of names, one with a usual name before others."""
    usual = (line for line in lines if any(cell.strip().lower() in USUAL for cell in line))
    return next(usual, lines[0] if lines else None)


def _names(path: str, first: list[str], width: int) -> tuple[str, ...]:
    if not first:
        return ("value",) if width == 1 else tuple(f"column{i + 1}" for i in range(width))
    repeated = {name for name in first if name and first.count(name) > 1}
    if repeated:
        raise ValueError(f"{path} has several columns called {sorted(repeated)[0]!r}; rename them")
    # One column without a name is the row number pandas writes; several are empty cells beyond the table.
    blank = first.index("") if "" in first else None
    return tuple(name or ("" if i == blank else f"column{i + 1}") for i, name in enumerate(first))


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
            raise ValueError(f"{path}: its first lines are longer than {LARGEST_HEAD >> 20} MB; it is not a table")
        size *= 4


def _rows(text: str, separator: str, chosen: bool = False) -> tuple[list[list[str]], list[int]]:
    """Rows that are not empty, and the number of lines up to the end of each. chosen: the separator is not a trial."""
    rows, ends = [], []
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        for row in reader:
            if row:
                rows.append(row)
                ends.append(reader.line_num)
    except csv.Error as error:
        if chosen and "field limit" in str(error):
            raise ValueError(_too_long(csv.field_size_limit(), f"line {reader.line_num}")) from None
        lines = [(line, k) for k, line in enumerate(text.split("\n"), 1) if line]
        return [line.split(separator) for line, _ in lines], [k for _, k in lines]
    return rows, ends


def _too_long(most: int, where: str) -> str:
    return f"{where} has a cell of more than {most:,} characters; perhaps a quotation mark is not closed"


def _single_spaces(text: str) -> str:
    """Lines whose cells stand in columns, with one space between two."""
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


def _separator(text: str, asked: Hints) -> str:
    """The separator that makes rows of one width out of numbers and dates."""
    sample = "\n".join(text.split("\n")[: JUDGED + 1])
    lines = [line.strip() for line in sample.split("\n") if line.strip()]
    numbers = [line for line in lines if is_number(line)]
    others = [line for line in lines if not is_number(line)]
    # A comma that only numbers have separates nothing: 1,5 below a name without one is a number.
    commas = any("," in line for line in numbers) and not any("," in line for line in others)
    # Nor does it before a zero, which no whole number begins with: 19,05.
    told = others or asked.decimal == "," or any(re.search(r",0\d", line) for line in numbers)
    if commas and told and len(others) < len(numbers):
        return next((mark for mark in SEPARATORS[1:] if mark not in sample), ";")

    def merit(mark: str) -> tuple[bool, float, float, int]:
        rows, _ = _rows(_single_spaces(sample) if mark == " " else sample, mark)
        body = rows[1:] or rows
        widths = [len(row) for row in body]
        usual = max(set(widths), key=widths.count)
        if usual == 1:
            return False, 0.0, 0.0, 0
        cells = [cell.strip() for row in body[:100] for cell in row[:100]]
        typed = sum(is_missing(cell) or kind_of([cell], NOTHING) != "text" for cell in cells) / max(1, len(cells))
        return len(rows[0]) == usual, round(widths.count(usual) / len(widths), 1), round(typed, 2), usual

    best = max(SEPARATORS, key=merit)
    if merit(best)[3] == 0 and kind_of(lines[1:101], NOTHING) == "text" and merit(" ")[2] >= MOSTLY:
        return " "
    return best


def _pieces(opened: Opened, dialect: Dialect, piece: int, stray: Stray) -> Iterator[Any]:
    """Frames of text, as they stand in the file."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa
    import pyarrow.csv as arrow

    names, encoding = list(dialect.names), dialect.encoding
    stream: Any = opened.stream
    if dialect.separator == " ":
        encoding, codec = "utf-8", dialect.encoding.replace("utf-8", "utf-8-sig")
        stream = io.BytesIO(_single_spaces(opened.stream.read().decode(codec, errors="replace")).encode())
    elif opened.plain:
        # Arrow's own file: its threads may still be reading when an error ends the process, and a Python file then
        # takes the interpreter down with it.
        opened.raw.close()
        stream = opened.raw = pa.OSFile(opened.path)
    read = arrow.ReadOptions(
        use_threads=False,  # with threads a row does not know its number
        block_size=max(piece, 4 * dialect.longest),
        column_names=names,
        skip_rows=dialect.skipped,
        encoding={"utf-8": "utf8"}.get(encoding, encoding),
    )
    parse = arrow.ParseOptions(
        delimiter=dialect.separator,
        ignore_empty_lines=len(names) > 1,
        newlines_in_values=any("\n" in cell for column in dialect.cells for cell in column),
        invalid_row_handler=stray.ragged,
    )
    convert = arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    try:
        for batch in _ahead(lambda: arrow.open_csv(stream, read, parse, convert)):
            yield nw.from_native(pa.Table.from_batches([batch]), eager_only=True)
    except pa.ArrowInvalid as error:
        long = "straddl" in str(error)
        raise ValueError(_too_long(read.block_size, "a row") if long else str(error)) from None


def _ahead(opened: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """The batches of a reader, each parsed while the one before it is worked on."""
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(lambda: iter(opened())).result()
        due = pool.submit(next, reader, None)
        while (batch := due.result()) is not None:
            due = pool.submit(next, reader, None)
            yield batch
