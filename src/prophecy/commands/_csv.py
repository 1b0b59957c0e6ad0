"""CSV in pieces: Arrow's parser, set to how the file is written, with bad cells named by their column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from prophecy.commands._dialect import MISSING, Dialect, number, sniff
from prophecy.commands._open import Opened, explained
from prophecy.commands._roles import Content, Layout, Roles


def read_csv(opened: Opened, header: bool | None, decimal: str | None, piece: int) -> Content:
    """A text table in any dialect, parsed by Arrow. piece: bytes of text parsed at once."""
    dialect = sniff(opened.path, opened.stream, header, decimal)
    layout = Layout(opened.path, dialect.names, dialect.kinds, dialect.cells, dialect.decimal)
    return Content(layout, lambda roles: _batches(opened, dialect, roles, piece), list(dialect.notes))


def _batches(opened: Opened, dialect: Dialect, roles: Roles, piece: int) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.csv as arrow

    names, path = list(dialect.names), opened.path
    direct = not dialect.thousands  # Arrow reads numbers itself, but knows nothing of marks between thousands
    types = {name: pa.float64() if direct and name in roles.values else pa.string() for name in names}
    stream: Any = opened.stream
    if path != "-" and not opened.packed:
        # Arrow's own file: its threads may still be reading when an error ends the process, and a Python file then
        # takes the interpreter down with it.
        opened.raw.close()
        stream = opened.raw = pa.OSFile(path)
    read = arrow.ReadOptions(
        block_size=max(piece, 4 * dialect.longest),
        column_names=names,
        skip_rows=dialect.skipped + (1 if dialect.header else 0),
        encoding={"utf-8": "utf8"}.get(dialect.encoding, dialect.encoding),
    )
    parse = arrow.ParseOptions(
        delimiter=dialect.separator,
        ignore_empty_lines=len(names) > 1,
        newlines_in_values=any("\n" in cell for column in dialect.cells for cell in column),
    )
    convert = arrow.ConvertOptions(
        column_types=types, null_values=list(MISSING), decimal_point=dialect.decimal, strings_can_be_null=False
    )
    with explained(path):
        try:
            done = 0
            for batch in _ahead(lambda: arrow.open_csv(stream, read, parse, convert)):
                yield batch if direct else _converted(batch, roles, dialect, done)
                done += batch.num_rows
        except pa.ArrowInvalid as error:
            raise ValueError(_cell_named(str(error), names)) from None


def _cell_named(problem: str, names: Sequence[str]) -> str:
    """Arrow's message about a bad cell or row, in terms of the file's columns."""
    cell = re.fullmatch(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to double: (.*)", problem)
    ragged = re.fullmatch(
        r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", problem, re.DOTALL
    )
    if ragged is not None:
        row = "a row" if ragged[1] is None else f"row {ragged[1]} of the file"
        return (
            f"{row} has {ragged[3]} cells and the first {ragged[2]}: {ragged[4][:80]!r}; quote cells that hold the "
            "separator, or correct the row"
        )
    if cell is None:
        return problem
    row = "" if cell[2] is None else f", row {cell[2]} of the file"
    return (
        f"column {names[int(cell[1])]!r}{row}: {cell[3]}; correct it, or leave the cell empty where a value is missing"
    )


def _converted(batch: Any, roles: Roles, dialect: Dialect, before: int) -> Any:
    """A batch whose value columns, read as text, become numbers: thousands joined, the decimal mark a point.

    before: rows of the data before it, for messages.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in roles.values:
            text = pc.replace_substring_regex(column, f"[\\s{re.escape(dialect.thousands)}]", "")
            text = text if dialect.decimal == "." else pc.replace_substring(text, ",", ".")
            text = pc.if_else(pc.is_in(text, value_set=pa.array(MISSING)), None, text)
            try:
                column = text.cast(pa.float64())
            except pa.ArrowInvalid as error:
                row, bad = next(
                    (row, cell)
                    for row, cell in enumerate(column.to_pylist(), before + 1)
                    if cell.strip() not in MISSING and number(cell, dialect.decimal) is None
                )
                raise ValueError(
                    f"column {name!r}: {bad!r} is no number, row {row} of the data ({error}); correct it, or leave the "
                    "cell empty"
                ) from None
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _ahead(opened: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """The batches of a reader, each parsed while the one before it is worked on."""
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(lambda: iter(opened())).result()
        due = pool.submit(next, reader, None)
        while (batch := due.result()) is not None:
            due = pool.submit(next, reader, None)
            yield batch
