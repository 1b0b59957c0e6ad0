"""Options several commands share, worded once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from prophecy.commands import _io, _plots

File: TypeAlias = Annotated[
    str, typer.Argument(help="CSV (also gzipped), Parquet or .npy; - is CSV from stdin.", show_default=False)
]
Columns: TypeAlias = Annotated[
    list[str] | None, typer.Option("--column", "-c", help="A column to predict; repeatable. All numbers if not given.")
]
Time: TypeAlias = Annotated[str | None, typer.Option(help="The column that says when; found by its name if not given.")]
Group: TypeAlias = Annotated[str | None, typer.Option(help="The column that tells series apart in a long table.")]
Level: TypeAlias = Annotated[float, typer.Option(help="Probability that an interval holds the value.")]
Out: TypeAlias = Annotated[Path | None, typer.Option(help="Table to write: .csv, .csv.gz or .parquet.")]
Plot: TypeAlias = Annotated[Path | None, typer.Option(help="Picture to draw: .png, .svg or .html.")]
Irregular: TypeAlias = Annotated[
    bool, typer.Option("--irregular", help="Rows come at uneven times: predict each for the time it came at.")
]


def check_irregular(irregular: bool, horizon: int, table: _io.Table) -> None:
    """Uneven times need a time column and are predicted one row ahead."""
    if irregular and table.roles.time is None:
        raise ValueError(
            f"--irregular needs times; name their column with --time, {table.path} has {', '.join(table.names)}"
        )
    if irregular and horizon > 1:
        raise typer.BadParameter("--irregular predicts one row ahead; leave out --horizon")


def check(level: float, out: Path | None, plot: Path | None, file: str) -> None:
    """Refuse what cannot work before any work is done; a usage error, exit code 2."""
    try:
        if not 0 < level < 1:
            raise ValueError(f"--level must lie between 0 and 1, got {level:g}")
        if out is not None:
            _io.output_kind(out)
        _plots.check_ending(plot)
        for name, path in (("--out", out), ("--plot", plot)):
            if path is not None and file != "-" and path.exists() and Path(file).exists() and path.samefile(file):
                raise ValueError(f"{name} would replace the file that is read; choose another name")
            if path is not None and not path.parent.is_dir():
                raise ValueError(f"folder {str(path.parent)!r} does not exist; create it first")
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
