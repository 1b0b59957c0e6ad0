"""Options several commands share, worded once, and what they mean."""

from __future__ import annotations

import enum
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from prophecy.commands._common import CLOSED
from prophecy.commands._write import output_kind
from prophecy.frames.align import WaysOut
from prophecy.frames.columns import Hints
from prophecy.tables.pictures import ENDINGS

SHELL = WaysOut(
    "--", {}, "with --key", "average rows of one time with --duplicates mean",
    "name their zone with --time-zone, such as Europe/Berlin",
)  # fmt: skip
File: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="CSV, JSON lines, Parquet, Excel or .npy, also gzip, zstd, bzip2, xz; - is stdin.", show_default=False
    ),
]
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--column", "-c", help="A column to use; repeatable. All columns of numbers if not given."),
]
Time: TypeAlias = Annotated[
    str | None, typer.Option(help="The column with the times; found by content if not given. 'DATE + TIME' joins two.")
]
TimeFormat: TypeAlias = Annotated[
    str | None, typer.Option("--time-format", help="How dates are written, such as '%d.%m.%Y %H:%M'.")
]
TimeZone: TypeAlias = Annotated[
    str | None,
    typer.Option("--time-zone", help="The zone that local times are in, such as Europe/Berlin."),
]
Key: TypeAlias = Annotated[
    str | None, typer.Option("--key", "--group", help="The column that names the series a row belongs to.")
]
Decimal: TypeAlias = Annotated[
    str | None, typer.Option(help="The decimal mark, . or , ; found by content if not given.")
]
Header: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line has names; found by content if not given.",
        show_default=False,
    ),
]
Level: TypeAlias = Annotated[float, typer.Option(help="Probability that an interval contains the value.")]
Season: TypeAlias = Annotated[
    str | None, typer.Option(help="Rows in a season, or in several: 24,168. From the dates, or found, if not given.")
]
Least: TypeAlias = Annotated[float | None, typer.Option("--min", help="Values never lie below this.")]
Most: TypeAlias = Annotated[float | None, typer.Option("--max", help="Values never lie above this.")]
Known: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Table of what is known in advance (prices, holidays), over past and future, with the same times."
    ),
]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Processes that share the work; all cores if not given.")
]
Out: TypeAlias = Annotated[Path | None, typer.Option(help="Table to write: .csv, .csv.gz or .parquet.")]
Resume: TypeAlias = Annotated[
    bool, typer.Option("--resume", help="Continue the interrupted run that was writing --out.")
]
Irregular: TypeAlias = Annotated[
    bool, typer.Option("--irregular", help="Rows come at uneven times: predict each for its own time.")
]
Plot: TypeAlias = Annotated[Path | None, typer.Option(help="Picture: .png, .svg, or .html to zoom and hover.")]


Duplicates = enum.StrEnum("Duplicates", ["refuse", "mean"])  # what happens to rows of one time

Doubled: TypeAlias = Annotated[
    Duplicates, typer.Option("--duplicates", help="Rows with the same time: refuse the file, or average them.")
]


Missing: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="A cell that means no value, such as -9999; repeatable. NA, - and similar always count."),
]
Skip: TypeAlias = Annotated[int | None, typer.Option(min=0, help="Lines at the top to skip.")]
Sheet: TypeAlias = Annotated[
    str | None, typer.Option(help="Sheet of an Excel file; the first with a table if not given.")
]
Sep: TypeAlias = Annotated[
    str | None, typer.Option(help="Separator of cells, such as ';' or tab; found by content if not given.")
]
SHARED: dict[str, Any] = {
    "column": Columns, "time": Time, "key": Key, "time_format": TimeFormat, "time_zone": TimeZone, "decimal": Decimal,
    "header": Header, "missing": Missing, "skip": Skip, "sheet": Sheet, "sep": Sep, "duplicates": Doubled,
}  # fmt: skip
"""Options of every command that reads a table."""


def reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options about its file; it gets them together, as `asked`."""
    own = inspect.signature(command, eval_str=True)
    first, *others = (part for part in own.parameters.values() if part.name != "asked")
    defaults = {"duplicates": Duplicates.refuse}
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=kind)
        for name, kind in SHARED.items()
        if name not in own.parameters
    ]
    parts = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (first, *others)]

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        said = {name: given[name] if name in own.parameters else given.pop(name) for name in SHARED}
        command(**given, asked=asked(**said))

    wrapped.__signature__ = inspect.Signature([parts[0], *shared, *parts[1:]])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in (parts[0], *shared, *parts[1:])}
    return wrapped


def asked(
    column: Sequence[str] | None = None,
    duplicates: Duplicates = Duplicates.refuse,
    decimal: str | None = None,
    sep: str | None = None,
    missing: Sequence[str] | None = None,
    **said: Any,
) -> Hints:
    """What was said about the file."""
    if decimal not in (None, ".", ","):
        raise typer.BadParameter(f"--decimal must be . or , and not {decimal!r}")
    sep = {"tab": "\t", "\\t": "\t", "space": " "}.get(sep or "", sep)
    if sep is not None and (len(sep) != 1 or sep.isalnum() or sep in '"\n.+-'):
        raise typer.BadParameter(f"--sep must be one mark such as ; or tab, and not {sep!r}")
    return Hints(
        tuple(column or ()), decimal=decimal, sep=sep, missing=tuple(missing or ()), duplicates=duplicates.value,
        ways=SHELL, **said,
    )  # fmt: skip


def numbers(option: str, text: str | None, least: float, most: float) -> tuple[float, ...]:
    """`0.1,0.5` as numbers strictly between two."""
    if text is None:
        return ()
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{option} takes numbers with commas between, got {text!r}") from None
    if not found or not all(least < value < most for value in found):
        raise typer.BadParameter(f"{option} must lie between {least:g} and {most:g}, got {text!r}")
    return found


def bounds(least: float | None, most: float | None) -> tuple[float | None, float | None] | None:
    """The bounds of --min and --max together."""
    if least is not None and most is not None and least >= most:
        raise typer.BadParameter(f"--min {least:g} must lie below --max {most:g}")
    return None if least is None and most is None else (least, most)


def check(level: float, out: Path | None, plot: Path | None, file: str, resume: bool = False) -> None:
    """Refuse what cannot work before any work is done; a usage error, exit code 2."""
    if file == "-" and sys.stdin is None:
        raise ValueError(CLOSED)
    try:
        if resume and out is None:
            raise ValueError("--resume continues the run that was writing --out; name that file")
        if resume and file == "-":
            raise ValueError("--resume reads the input again, and stdin cannot be; name a file")
        if not 0 < level < 1:
            raise ValueError(f"--level must lie between 0 and 1, got {level:g}")
        if out is not None:
            output_kind(out)
        if plot is not None and plot.suffix.lower() not in ENDINGS:
            raise ValueError(f"--plot must end in {', '.join(ENDINGS)}, got {plot.name!r}")
        for name, path in (("--out", out), ("--plot", plot)):
            if path is not None and file != "-" and path.exists() and Path(file).exists() and path.samefile(file):
                raise ValueError(f"{name} would replace the file that is read; choose another name")
            if path is not None and not path.parent.is_dir():
                raise ValueError(f"folder {str(path.parent)!r} does not exist; create it first")
            if path is not None and path.is_dir():
                raise ValueError(f"{name}: {str(path)!r} is a folder; name a file")
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
