"""Text tables as bodies: read by the one reader there is (`frames.table`), as columns of keys, times and values."""

import re
from typing import Any

import numpy as np

from prophecy.frames.align import ADDRESS, ordered, said
from prophecy.frames.columns import Hints
from prophecy.frames.opening import explained, open_bytes
from prophecy.frames.roles import resolve
from prophecy.frames.rows import read_text
from prophecy.frames.table import open_table
from prophecy.service.bodies import Batch, BodyNames, check_date, check_key, check_size
from prophecy.service.errors import Problem, bad
from prophecy.service.settings import Settings

SHOWN = 5  # rows of a table that are shown to whoever is asked about its columns
LISTED = 200  # columns named in an answer
LOOKED = 2**18  # bytes of a table that its columns are told by: under a second
COLUMNS = 2_000  # columns of a table: each costs up to a millisecond, as much as a hundred rows
WAY_OUT = "begin with a line of names such as key,time,value, and name others with ?key=…&time=…&value=…"


def hints(asked: BodyNames) -> Hints:
    """What a request's query parameters say about its table; key, time and value are found unless they are named."""
    named = {"columns": (asked.value,), "time": asked.time, "key": asked.key}
    usual = {"columns": ("value",), "time": "time", "key": "key"}
    same = ("time_format", "decimal", "header", "missing", "skip", "sep")
    said: dict[str, Any] = {name: named[name] for name in named if named[name] != usual[name]}
    return Hints(**said, **{name: getattr(asked, name) for name in same}, ways=ADDRESS)


def from_csv(body: bytes, asked: BodyNames, settings: Settings) -> Batch:
    """Rows of a table, in the order of time: a series for each key, or for each column of numbers."""
    check_size(max(body.count(b"\n"), body.count(b"\r")) // 2, settings)
    _check_form(body)
    try:
        table = open_table(body, hints(asked))
        roles, width, times = table.roles, len(table.roles.values), table.times
        check_size(table.values.size, settings)
        order, met, dated = np.arange(len(table.values)), dict[str, int](), False
        keys = [table.keys[code] for code in table.codes]
        if times is not None:
            dated = times.dates
            when = times.ticks / times.per_second if dated else times.values
            order, _, met = ordered(np.column_stack([table.codes, table.values]), times, True, ADDRESS)
            if not len(order):
                raise ValueError("no row has a time; correct the column, or leave it out")
            for place in (order[0], order[-1]) if dated else ():
                check_date(float(when[place]), int(place) + 2, asked.time)
        used = {keys[row] for row in order}
        series = {key: _series(key, roles.values, roles.key, asked, settings) for key in used}
        return Batch(
            [name for row in order for name in series[keys[row]]],
            None if times is None else np.repeat(when[order], width),
            table.values[order].ravel(),
            dated,
            np.repeat(order + 2, width).tolist(),
            (*table.notes, *said({**met, "several": 0})),
        )
    except ValueError as error:
        raise refused(error) from None


def _check_form(body: bytes) -> None:
    """Refuse tables too wide to be read soon; and what begins like JSON, as in files (`frames.opening`): read as a
    table, one line of it is a row without names, and a number between two commas of it a series of its own."""
    if body[:256].lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        way_out = "send the header Content-Type: application/json or application/x-ndjson"
        raise bad("the body begins like JSON and was sent as text/csv", way_out)
    wide = [line for line in body.splitlines() if len(line) > COLUMNS]
    if any(line.count(mark) >= COLUMNS for line in wide for mark in (b",", b";", b"|", b"\t", b" ")):
        raise Problem(413, f"the table has more than {COLUMNS} columns", "put series into rows: key, time, value")


def _series(
    key: str, columns: tuple[str, ...], column: str | None, asked: BodyNames, settings: Settings
) -> tuple[str, ...]:
    """The series of a row's values: the key, the column, or both."""
    start = asked.name if column is None else key.strip()
    if column is not None:
        check_key(start, settings, field=column)
    names = (start,) if start and len(columns) == 1 else tuple(f"{start}/{one}" if start else one for one in columns)
    for name in names:
        check_key(name, settings, field=column or "value")
    return names


def preview(body: bytes, asked: BodyNames) -> dict[str, Any]:
    """What a table looks like by its first rows: columns, their kinds, and which are key, time and values; `error`
    where that cannot be told and must be asked."""
    body, said = body[:LOOKED], hints(asked)
    _check_form(body)
    try:
        opened = open_bytes(body)
        with explained(opened.path):
            layout = read_text(opened, said)
    except ValueError as error:
        raise refused(error) from None
    assert layout.form is not None  # it is text
    columns = list(layout.columns.values())[:LISTED]
    marks = {column.style.decimal for column in layout.columns.values() if not column.style.plain}
    found: dict[str, Any] = {
        "names": [column.name for column in columns],
        "kinds": [column.kind for column in columns],
        "rows": [list(row) for row in zip(*(column.first[:SHOWN] for column in columns), strict=True)],
        "sep": layout.form.separator,
        "encoding": layout.form.encoding,
        "skip": layout.form.skip,
        "decimal": marks.pop() if len(marks) == 1 else None,
        "notes": list(layout.notes),
    }
    try:
        roles = resolve(layout)
        times = None if roles.clock is None else roles.clock.read(layout)[0]
    except ValueError as error:
        problem = refused(error)
        return {**found, "error": problem.error, "way_out": problem.way_out}
    try:
        for name in roles.values:
            layout[name].said()  # what no choice of columns mends is refused before anything is sent
    except ValueError as error:
        raise refused(error) from None
    there = np.zeros(0) if times is None else times.values[~times.missing]
    return {
        **found,
        "key": roles.key,
        "time": None if roles.clock is None else " + ".join(roles.clock.columns),
        "time_format": None if roles.clock is None else roles.clock.pattern,
        "values": list(roles.values[:LISTED]),
        "newest_first": len(there) > 1 and bool(there[0] > there[-1]),
        "notes": [*layout.notes, *roles.notes],
    }


def refused(error: ValueError) -> Problem:
    """The reader's message as an answer: what is wrong, what to do, and where."""
    text = str(error).removeprefix("the table: ").replace("the table ", "it ", 1)
    wrong, _, way_out = text.rpartition("; ")
    wrong, way_out = wrong or way_out, way_out if wrong else ""
    row = re.search(r"row (\d+) of the (data|file)", text)
    return bad(wrong[:1000], way_out[:1000] or WAY_OUT, None if row is None else int(row[1]) + (row[2] == "data"))
