"""Options of all commands, by the names of their parameters, and what they mean."""

import enum
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from prophecy.commands._common import CLOSED, guarded
from prophecy.commands._write import output_kind
from prophecy.frames.align import WaysOut
from prophecy.frames.columns import Hints
from prophecy.tables.forecasting import Asked
from prophecy.tables.pictures import ENDINGS

SHELL = WaysOut(
    "--", {}, "average rows of one time with --duplicates mean",
    "name their zone with --time-zone, such as Europe/Berlin",
)  # fmt: skip
Duplicates = enum.StrEnum("Duplicates", ["refuse", "mean"])  # what happens to rows of one time
LineFormat = enum.StrEnum("LineFormat", ["csv", "jsonl"])

FILE: dict[str, Any] = {
    "column": list[str] | None, "time": str | None, "key": str | None, "time_format": str | None,
    "time_zone": str | None, "decimal": str | None, "header": bool | None, "missing": list[str] | None,
    "skip": int | None, "sheet": str | None, "sep": str | None, "duplicates": Duplicates,
}  # fmt: skip
"""Options of every command that reads a table, which come to it together, as `asked: Hints`."""
AHEAD: dict[str, Any] = {
    "horizon": int, "level": float, "season": str | None, "least": float | None, "most": float | None,
}  # fmt: skip
"""Those of every command that forecasts its series, as `each: Asked`."""
DEFAULTS = {"duplicates": Duplicates.refuse, "level": 0.9, "horizon": inspect.Parameter.empty}  # None of all others


def _option(text: str, *flags: str, **more: Any) -> Any:
    return typer.Option(*flags, help=text, **more)


OPTIONS: dict[str, Any] = {
    "file": typer.Argument(
        help="CSV, JSON lines, Parquet, Excel or .npy, also gzip, zstd, bzip2, xz; - is stdin.", show_default=False
    ),
    "column": _option("A column to use; repeatable. By default all columns of numbers.", "--column", "-c"),
    "time": _option("The column of times, detected by default. 'DATE + TIME' joins two."),
    "key": _option("The column that says which series a row belongs to.", "--key", "--group"),
    "time_format": _option("How dates are written, such as '%d.%m.%Y %H:%M'."),
    "time_zone": _option("The zone that local times are in, such as Europe/Berlin."),
    "decimal": _option("The decimal mark, . or , (detected by default)."),
    "header": _option(
        "Whether the first line has names (detected by default).", "--header/--no-header", show_default=False
    ),
    "missing": _option("A cell that means no value, such as -9999; repeatable. NA, - and similar always count."),
    "skip": _option("Lines at the top to skip.", min=0),
    "sheet": _option("Sheet of an Excel file; by default the first that has a table."),
    "sep": _option("Separator of cells, such as ';' or tab (detected by default)."),
    "duplicates": _option("What to do with rows of the same time: refuse the file, or average them."),
    "horizon": _option("How many rows ahead.", "--horizon", "-H", min=1),
    "level": _option("Probability that an interval contains the value."),
    "quantiles": _option("Further quantiles to write, such as 0.1,0.5,0.9."),
    "season": _option("Rows per season, such as 24, or 24,168 for two. By default from the dates, or detected."),
    "least": _option("Values never lie below this.", "--min"),
    "most": _option("Values never lie above this.", "--max"),
    "known": _option("Table of values known in advance (prices, holidays), for past and future times."),
    "joint": _option("Treat the columns as variables of one system.", "--joint"),
    "context": _option("Use at most this many of the last rows.", min=8),
    "jobs": _option("Processes that share the work; by default one for each core.", min=1),
    "out": _option("Table to write: .csv, .csv.gz or .parquet."),
    "resume": _option("Continue the interrupted run that was writing --out.", "--resume"),
    "irregular": _option("Predict each row for its own time, however uneven the times are.", "--irregular"),
    "plot": _option("Picture: .png, .svg, or .html to zoom and hover."),
    "dask": _option("Workers that share the partitions of a Parquet folder: local, or tcp://host:port."),
    "folds": _option("How many forecasts to score.", min=1),
    "step": _option("Rows from one forecast to the next; by default the horizon.", min=1),
    "rate": _option("Share of ordinary rows flagged by mistake."),
    "dt": _option("Time between two rows, in the unit wanted."),
    "errors": _option("Print the standard error of every coefficient.", "--errors"),
    "files": typer.Argument(help="Files read one after the other; stdin if none."),
    "layout": _option("How lines are written, in and out.", "--format"),
    "field": _option("csv: name or number of the field, else the only number; jsonl: key.", "--column"),
    "moment": _option("Field with the time: seconds, or dates in ISO form.", "--time"),
    "state": _option("File that keeps all streams; it survives kill -9 and power cuts."),
    "from_line": _option("Number of this input's first line, counted over all runs; see below.", min=1),
    "path": typer.Argument(help="A state of `prophecy stream`, `prophecy serve` or `Fleet`.", metavar="FILE"),
    "search": _option("Only keys that contain this."),
    "limit": _option("How many streams to list at most.", min=0),
    "check": _option("Read every page, checksum and number.", "--check"),
    "events": _option("Write all events: .csv, .csv.gz or .parquet."),
    "remove": _option("Forget the stream with this key, and its events."),
    "discard": _option("Forget what was set aside under this key."),
    "vacuum": _option("Give unused space in the file back to the disk.", "--vacuum"),
    "db": _option("SQLite file that keeps everything; without one all is in memory.", "--db", "--state"),
    "host": _option("Address to listen on; any other than loopback needs a token."),
    "port": _option("Port to listen on; 0 chooses one.", min=0, max=65535),
    "token_file": _option("File whose first line is the token that clients must send; or put it into PROPHECY_TOKEN."),
    "allow_host": _option("Host name that requests may carry (a proxy's); repeatable. Others are refused."),
    "demo": _option("Start with a few example streams that keep running.", "--demo"),
    "max_keys": _option("Refuse more streams than this; by default 100 000.", min=1),
    "max_per_second": _option("Refuse more values a second from one address than this; by default 400 000.", min=1.0),
}


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Each parameter gets the option of its name, `asked` and `each` several; mistakes of the user are lines on stderr
    (`guarded`). Below the options of a command stands what follows the first sentence of its docstring."""
    own = inspect.signature(function, eval_str=True).parameters
    every: dict[str, tuple[dict[str, Any], Callable[..., Any]]] = {"asked": (FILE, asked), "each": (AHEAD, _each)}
    together = {name: pair for name, pair in every.items() if name in own}
    parts = []
    for name, part in own.items():
        kinds = together[name][0] if name in together else {name: part.annotation}
        for one, kind in kinds.items():
            default = DEFAULTS.get(one) if name in together else part.default
            annotation = Annotated[kind, OPTIONS[one]]  # type: ignore[valid-type]
            parts.append(inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation))

    @functools.wraps(function)
    def wrapped(**given: Any) -> None:
        with guarded(function.__name__):
            for name in {"level", "rate"} & {*given}:
                if not 0 < given[name] < 1:
                    raise typer.BadParameter(f"--{name} must lie between 0 and 1, got {given[name]:g}")
            if "file" in given and given.get("dask") is None:
                check(given["file"], given.get("out"), given.get("plot"), given.get("resume", False))
            for name, (kinds, made) in together.items():
                given[name] = made(**{one: given.pop(one) for one in kinds})
            function(**given)

    wrapped.__signature__ = inspect.Signature(parts)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parts}
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


def _each(horizon: int, level: float, season: str | None, least: float | None, most: float | None) -> Asked:
    """What was asked of every series; the bounds are --min and --max together."""
    if least is not None and most is not None and least >= most:
        raise typer.BadParameter(f"--min {least:g} must lie below --max {most:g}")
    bounds = None if least is None and most is None else (least, most)
    return Asked(horizon, level, numbers("--season", season, 1, 1e7) or None, bounds)


def check(file: str, out: Path | None = None, plot: Path | None = None, resume: bool = False) -> None:
    """Refuse what cannot work before any work is done; a usage error, exit code 2."""
    if file == "-" and sys.stdin is None:
        raise ValueError(CLOSED)
    try:
        if resume and out is None:
            raise ValueError("--resume continues the run that was writing --out; name that file")
        if resume and file == "-":
            raise ValueError("--resume reads the input again, and stdin cannot be; name a file")
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
