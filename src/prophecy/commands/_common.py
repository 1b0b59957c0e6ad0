"""What all commands share: exit codes, messages and progress on stderr, tables on stdout."""

import contextlib
import math
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import typer

from prophecy import _interrupts
from prophecy.frames.names import printable

DATA, USAGE, INTERRUPTED, PIPE = 1, 2, _interrupts.INTERRUPTED, _interrupts.PIPE
"""Exit codes: a problem with the data, with the call; Ctrl-C; a reader of the output that left."""

FIRST, EVERY = 5.0, 20.0  # seconds until the first line about progress, and between two
CLOSED = "stdin is closed; pipe values into the command, or name a file"
"""What a command says where whoever started it has closed its input."""

EXTRAS = {"openpyxl": "excel", "dask": "dask", "distributed": "dask"} | dict.fromkeys(
    ("fastapi", "starlette", "uvicorn", "websockets"), "service"
)
"""What to install where a package is missing; "cli" has the others."""

_running = ""  # the command of this process


@contextlib.contextmanager
def guarded(command: str) -> Iterator[None]:
    """Turn the user's mistakes into one line on stderr and an exit code: no traceback, nothing half-written.

    0 is success, 1 a problem with the data, 2 with the way the command was called, 130 Ctrl-C, 141 a reader that left.
    """
    global _running
    _running = f" {command}"
    try:
        with _interrupts.last_words(lambda: f"prophecy {command}: stopped"):
            _interrupts.check()  # pressed while the command was loaded
            yield
    except BrokenPipeError:
        _interrupts.discard_output()
        raise typer.Exit(PIPE) from None
    except KeyboardInterrupt:
        say("stopped")
        raise typer.Exit(INTERRUPTED) from None
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0], "cli")
        say(f"needs {error.name!r}; install it with: pip install 'hippo-prophecy[{extra}]'")
        raise typer.Exit(DATA) from None
    except (ValueError, OSError, sqlite3.Error) as error:
        absent = isinstance(error, FileNotFoundError) and error.filename
        say(f"no such file: {absent}" if absent else str(error))
        raise typer.Exit(DATA) from None
    finally:
        _running = ""


def say(message: str) -> None:
    """One line to the person, on stderr, so that stdout stays data."""
    typer.echo(printable(f"prophecy{_running}: {message}"), err=True)


def digits_between(lower: float, upper: float) -> int:
    """Digits that tell the ends of an interval apart: four, or more where they differ late (beyond rounding)."""
    size, width = max(abs(lower), abs(upper)), upper - lower
    if not (math.isfinite(size) and 1e-11 * size < width):
        return 4
    return max(4, math.ceil(math.log10(size / width)) + 2)


def show(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,), title: str | None = None, after: str = "") -> None:
    """Rows on stdout, header first; the columns in `left` are flush left, all others right. Cells are data: no markup,
    emoji code or escape sequence in them is interpreted."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for i, heading in enumerate(rows[0]):
        table.add_column(Text(printable(heading)), justify="left" if i in left else "right")
    for row in rows[1:]:
        table.add_row(*(Text(printable(cell)) for cell in row))
    screen = Console(width=None if sys.stdout.isatty() else 120, markup=False, emoji=False, highlight=False)
    screen.print(table)
    if after:
        screen.print(Text(printable(after)))


class Progress:
    """update(done) as work goes on: a line now and then, none for work that is over at once.

    clock: seconds that only grow.
    """

    def __init__(self, total: int, unit: str, show: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._total, self._unit = clock, total, unit
        self._start, self._next, self._shown = clock(), FIRST, show

    def after(self, before: int) -> Callable[[int, int], None]:
        """A callback for work that begins when `before` items are done."""
        return lambda done, total: self.update(before + done)

    def update(self, done: int) -> None:
        waited = self._clock() - self._start
        if self._shown and 0 < done < self._total and waited >= self._next:
            self._next = waited + EVERY
            left = waited * (self._total - done) / done
            span = f"{left / 60:.0f} min" if left < 5400 else f"{left / 3600:.1f} h"
            span = f"{max(1, round(left))} s" if left < 90 else span
            say(f"{done:,} of {self._total:,} {self._unit}, about {span} left")
