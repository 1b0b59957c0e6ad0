"""Text tables: their encoding and separator, found by content, and their cells, line by line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from prophecy.frames.columns import JUDGED, MOSTLY, Form, Hints, Layout, is_missing, is_number, kind_of
from prophecy.frames.heading import Line, of_rows, skipped_lines
from prophecy.frames.opening import Opened, encoding_of

SAMPLED = 10_000  # lines that tell the separator, and what stands before the table
SEPARATORS = (",", ";", "\t", "|")
MOST_COLUMNS = 20_000  # of a table: one of more is no table of series, and takes minutes to look at
REMARKS = ("#", "%")  # what lines of remarks above a table begin with
NOTHING = Hints()


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
    notes = [skipped_lines(skip, "before the table")] if remarks else []
    if separator == "," and widest > 1 and all(map(is_number, filter(None, lines[skip : skip + 9]))):
        way_out = asked.ways("decimal", ",")
        notes.append(f"{lines[skip]!r} is read as {widest} cells; if it is one number, {way_out}")
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
