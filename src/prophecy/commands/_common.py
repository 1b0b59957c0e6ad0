"""What all commands share: exit codes, messages on stderr, files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import sys
from collections.abc import Iterator

import typer

from prophecy import _interrupts
from prophecy.frames.names import printable

DATA, USAGE, INTERRUPTED, PIPE = 1, 2, _interrupts.INTERRUPTED, 141
"""Exit codes: the data, the call, and 128 + the signals SIGINT and SIGPIPE, as shells report them."""

CLOSED = "stdin is closed; pipe values into the command, or name a file"
"""What a command says where whoever started it has closed its input."""


@contextlib.contextmanager
def guarded(command: str, code: int = DATA) -> Iterator[None]:
    """Turn the user's mistakes into one line on stderr and an exit code: no traceback, nothing half-written.

    0 is success, 1 a problem with the data, 2 with the way the command was called, 130 Ctrl-C, 141 a reader that left.
    """
    try:
        with _interrupts.last_words(lambda: f"prophecy {command}: stopped"):
            yield
    except BrokenPipeError:
        # Whoever read our output is gone: not an error worth a word. Python must not try to flush into the pipe again.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(PIPE) from None
    except KeyboardInterrupt:
        say(command, "stopped")
        raise typer.Exit(INTERRUPTED) from None
    except ModuleNotFoundError as error:
        say(command, f"needs {error.name!r}; install it with: pip install 'hippo-prophecy[cli]'")
        raise typer.Exit(DATA) from None
    except FileNotFoundError as error:
        say(command, f"no such file: {error.filename}" if error.filename else str(error))
        raise typer.Exit(code) from None
    except (ValueError, OSError, sqlite3.Error) as error:
        say(command, str(error))
        raise typer.Exit(code) from None


def say(command: str, message: str) -> None:
    """One line to the person, on stderr, so that stdout stays data."""
    typer.echo(printable(f"prophecy {command}: {message}"), err=True)


def digits_between(lower: float, upper: float) -> int:
    """Digits that tell the ends of an interval apart: four, or more where they differ late (beyond rounding)."""
    size, width = max(abs(lower), abs(upper)), upper - lower
    if not (math.isfinite(size) and 1e-11 * size < width):
        return 4
    return max(4, math.ceil(math.log10(size / width)) + 2)
