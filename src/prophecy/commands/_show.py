"""Tables for people, on stdout. Cells are data: no markup, emoji code or escape sequence in them is interpreted."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from prophecy.frames.names import printable


def console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 120, markup=False, emoji=False, highlight=False)


def show(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,), title: str | None = None, after: str = "") -> None:
    """Rows, header first; the columns in `left` are flush left, all others right."""
    table = RichTable(title=title, title_justify="left", box=None, pad_edge=False)
    for i, heading in enumerate(rows[0]):
        table.add_column(Text(printable(heading)), justify="left" if i in left else "right")
    for row in rows[1:]:
        table.add_row(*(Text(printable(cell)) for cell in row))
    screen = console()
    screen.print(table)
    if after:
        screen.print(Text(printable(after)))
