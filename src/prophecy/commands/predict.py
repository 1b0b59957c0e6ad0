"""`prophecy predict`: every row of a file predicted from the rows before it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophecy.commands import _options
from prophecy.commands._common import guarded, say
from prophecy.commands._journal import Journal, keeping
from prophecy.commands._show import show
from prophecy.commands._track import RowModel, Tracker, follow, summary, words
from prophecy.frames.columns import Hints
from prophecy.frames.table import Table, open_table
from prophecy.tables.pictures import Picture, save

PARTS = ("mean", "lower", "upper", "residual", "score")
DRAWN = 3  # series in the picture, two panels each

EXAMPLES = """
Examples:
  prophecy predict sensor.csv --plot sensor.html
  prophecy predict sensor.csv --column temperature --out predictions.csv
  prophecy predict shops.parquet --key shop --column sales --horizon 7 --out predictions.parquet
  zcat huge.csv.gz | prophecy predict - --out predictions.parquet

A row's prediction uses the rows above it alone (with --horizon H, those at least H above it). Columns written:
mean, lower, upper, residual, score (-log10 of the probability of a residual this large); with several columns
each has its name before these. Rows are taken in the order of their times; missing times are gaps. Of files beyond 4 MB
the answers so far are kept in OUT.part; after Ctrl-C, --resume goes on with the rest.
"""


@_options.reading
def predict(
    file: _options.File,
    asked: Hints,
    horizon: Annotated[int, typer.Option("--horizon", "-H", min=1, help="How many rows ahead.")] = 1,
    level: _options.Level = 0.9,
    irregular: _options.Irregular = False,
    out: _options.Out = None,
    resume: _options.Resume = False,
    plot: _options.Plot = None,
) -> None:
    """Predict each row from those before it; print the error beside those of a copy and of a straight line."""
    with guarded("predict"):
        _options.check(level, out, plot, file, resume)
        table = open_table(file, asked)
        _options.check_irregular(irregular, horizon, table)
        made = {"horizon": horizon, "level": level, "irregular": irregular, "duplicates": asked.duplicates}
        with keeping("predict", file, table.size, asked, out, resume, **made) as journal:
            trackers = run(table, level, horizon, irregular, out, asked.duplicates == "mean", journal)
        counted = sum(one.rows for one in trackers) // len(table.roles.values)
        say("predict", f"{Path(file).name}: {words([one.bank.clock for one in trackers], counted, table)}")
        rows = summary(trackers)
        if plot is not None:
            panels = [panel for one in trackers[:DRAWN] for panel in one.panels()]
            note = f"Mean absolute errors, {'one row' if horizon == 1 else f'{horizon} rows'} ahead."
            save(Picture(f"Predictions of {Path(file).name}", panels, [note], rows), plot)
        more = len(trackers) - len(rows) + 1
        show(rows, title="mean absolute error", after=f"… and {more:,} more series" if more > 0 else "")


def run(
    table: Table,
    level: float,
    horizon: int,
    irregular: bool,
    out: Path | None,
    mean: bool = False,
    journal: Journal | None = None,
) -> list[Tracker]:
    """All of a table through the models, one per series, writing as it goes."""

    def made(title: str) -> Tracker:
        return Tracker(title, RowModel(level, horizon, irregular, journal, title), horizon, level)

    return follow("predict", table, made, PARTS, out, mean)
