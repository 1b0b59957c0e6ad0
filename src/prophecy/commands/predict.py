"""`prophecy predict`: every row of a file predicted before it is looked at."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table as RichTable

from prophecy.commands import _io, _options, _plots, _series, _track
from prophecy.commands._common import appearing, guarded

Array: TypeAlias = NDArray[np.float64]

EXAMPLES = """Examples:

\b
  prophecy predict sensor.csv --plot sensor.png
  prophecy predict sensor.csv --column temperature --out predictions.csv
  prophecy predict shops.parquet --group shop --column sales --out predictions.parquet --plot shops.html
  zcat huge.csv.gz | prophecy predict - --out predictions.parquet

A row's prediction uses the rows above it alone. Columns written: prediction, lower, upper, residual, surprise
(-log10 of the probability of a residual this large); with several columns each has its name before these.
"""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="predict", epilog=EXAMPLES)(predict)


def predict(
    file: _options.File,
    column: _options.Columns = None,
    time: _options.Time = None,
    group: _options.Group = None,
    horizon: Annotated[int, typer.Option("--horizon", "-H", min=1, help="Rows ahead.")] = 1,
    level: _options.Level = 0.9,
    irregular: _options.Irregular = False,
    out: _options.Out = None,
    plot: _options.Plot = None,
) -> None:
    """Predict each row from those before it; print the error beside those of a copy and of a straight line."""
    with guarded("predict"):
        _options.check(level=level, out=out, plot=plot, file=file)
        table = _io.open_table(file, column or (), time, group)
        table = _series.remarking(table, "predict", irregular, "; --irregular takes each at its time")
        _options.check_irregular(irregular, horizon, table)
        trackers = run(table, maker(irregular, level, horizon), horizon, out)
        rows = _track.summary(trackers)
        if plot is not None:
            draw(plot, file, trackers, level, rows, horizon)
        show(rows, len(trackers))


def maker(irregular: bool, level: float, horizon: int = 1) -> Callable[[], _track.Model]:
    """Makes the model of a series."""
    return lambda: _track.Timed(level) if irregular else _track.Full(level, horizon)


def run(table: _io.Table, make: Callable[[], _track.Model], horizon: int, out: Path | None) -> list[_track.Tracker]:
    """All of a table through the models, one per series, writing as it goes."""
    trackers: dict[tuple[str, str], _track.Tracker] = {}

    def advance(group: str, column: str, values: Array, times: Any) -> dict[str, Array]:
        tracker = trackers.get((group, column))
        if tracker is None:
            tracker = trackers[group, column] = _track.Tracker(_series.title(group, column), make(), horizon)
        said = tracker.advance(values, times)
        return dict(zip(("prediction", *said._fields[1:]), said, strict=True))

    with sink(out) as write, progress(table) as batches:
        for batch in batches:
            added = _series.through(batch, table.roles, advance)
            if write is not None:
                write(_io.with_columns(batch, added))
    if not trackers:
        raise ValueError(f"{table.path} has a header but no rows")
    return list(trackers.values())


@contextlib.contextmanager
def sink(out: Path | None) -> Iterator[Callable[[Any], None] | None]:
    if out is None:
        yield None
        return
    with appearing(out) as temporary:
        writer = _io.Writer(temporary, out)
        yield writer.write
        writer.close()


@contextlib.contextmanager
def progress(table: _io.Table) -> Iterator[Iterator[Any]]:
    """The table's batches, with a bar on stderr where somebody is there to see it."""
    if not sys.stderr.isatty() or table.size < _io.PIECE:
        yield table.batches
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(Path(table.path).name, total=table.size)

        def told() -> Iterator[Any]:
            for batch in table.batches:
                yield batch
                bar.update(task, completed=table.position())

        yield told()


def draw(
    plot: Path,
    file: str,
    trackers: Sequence[_track.Tracker],
    level: float,
    rows: Sequence[Sequence[str]],
    horizon: int = 1,
) -> None:
    """The picture: last stretch and error over time of the first few series."""
    from prophecy.reproduce import style

    with style.use():
        figure = _plots.predictions([tracker.panel() for tracker in trackers[: _plots.PANELS]], level, len(trackers))
        note = f"Mean absolute errors, {'one row' if horizon == 1 else f'{horizon} rows'} ahead."
        _plots.save(figure, plot, f"Predictions of {Path(file).name}", [note], rows)


def show(rows: Sequence[Sequence[str]], count: int) -> None:
    """The table of errors, on stdout."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    table = RichTable(title="mean absolute error", title_justify="left", box=None, pad_edge=False)
    for i, heading in enumerate(rows[0]):
        table.add_column(heading, justify="left" if i == 0 else "right")
    for row in rows[1:]:
        table.add_row(*row)
    console.print(table)
    if count > len(rows) - 1:
        console.print(f"… and {count - len(rows) + 1} more series")
