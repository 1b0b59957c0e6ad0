"""`prophecy anomalies`: the rows of a file that nobody who had read the rows before would have expected."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as RichTable

from prophecy.commands import _io, _options, _plots, _series, _times, _track
from prophecy.commands._common import digits_between, guarded
from prophecy.commands.predict import maker, progress, sink

Array: TypeAlias = NDArray[np.float64]

POINTS = 4096  # of a long series, that many are drawn, and all flagged ones up to as many again

EXAMPLES = """Examples:

\b
  prophecy anomalies sensor.csv --plot sensor.png
  prophecy anomalies machines.parquet --group machine --rate 1e-4 --out scored.csv

A row's surprise is -log10 of the probability of an error at least as large as its own, judged by the errors before it.
A row is flagged above -log10(rate): where nothing strange happens, about that share of rows is flagged all the same.
"""


class Flagged(NamedTuple):
    """A row that was not expected."""

    row: int
    when: Any
    value: float
    lower: float
    upper: float
    surprise: float


class Watch:
    """One series: its model, its flagged rows, and enough of the rest to draw it."""

    def __init__(self, title: str, model: _track.Model, threshold: float) -> None:
        self.title = title
        self.rows = self.count = 0
        self.flagged: list[Flagged] = []
        self._model, self._threshold = model, threshold
        self._stride = 1
        self._kept: list[tuple[int, Any, float, float]] = []

    def advance(self, values: Array, times: Any) -> dict[str, Array]:
        said = self._model.advance(values, times)
        flags = said.surprise > self._threshold
        self.count += int(flags.sum())
        for k in np.flatnonzero(flags)[: max(0, POINTS - len(self.flagged))].tolist():
            when = times[k].as_py() if times is not None else self.rows + k
            numbers = (float(column[k]) for column in (values, said.lower, said.upper, said.surprise))
            self.flagged.append(Flagged(self.rows + k, when, *numbers))
        self._thin(values, said.surprise, times)
        self.rows += len(values)
        return {
            "prediction": said.mean,
            "lower": said.lower,
            "upper": said.upper,
            "surprise": said.surprise,
            "flagged": flags.astype(np.float64),
        }

    def _thin(self, values: Array, surprise: Array, times: Any) -> None:
        """Keep every so many-th row, fewer as the series grows."""
        while (self.rows + len(values)) // self._stride > POINTS:
            self._stride *= 2
        self._kept = [point for point in self._kept if point[0] % self._stride == 0]
        for k in range(-self.rows % self._stride, len(values), self._stride):
            when = times[k].as_py() if times is not None else self.rows + k
            self._kept.append((self.rows + k, when, float(values[k]), float(surprise[k])))

    def panel(self) -> _plots.Panel:
        """The series as kept, with every flagged row in its place."""
        points = {row: (when, value, surprise, False) for row, when, value, surprise in self._kept}
        points |= {flag.row: (flag.when, flag.value, flag.surprise, True) for flag in self.flagged}
        rows = sorted(points)
        where = _times.axis([points[row][0] for row in rows], len(rows))
        values, surprises = (np.array([points[row][part] for row in rows], dtype=np.float64) for part in (1, 2))
        flags = np.array([points[row][3] for row in rows])
        nothing = np.full(len(rows), np.nan)
        return _plots.Panel(self.title, where, values, nothing, nothing, nothing, flags=flags, scores=surprises)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="anomalies", epilog=EXAMPLES)(anomalies)


def anomalies(
    file: _options.File,
    column: _options.Columns = None,
    time: _options.Time = None,
    group: _options.Group = None,
    rate: Annotated[float, typer.Option(help="Share of ordinary rows flagged by mistake.")] = 1e-3,
    irregular: _options.Irregular = False,
    out: _options.Out = None,
    plot: _options.Plot = None,
) -> None:
    """Score every row by how surprising it is after those before it, and flag the outliers."""
    if not 0 < rate < 1:
        raise typer.BadParameter(f"--rate must lie between 0 and 1, got {rate:g}")
    with guarded("anomalies"):
        _options.check(level=0.9, out=out, plot=plot, file=file)
        table = _io.open_table(file, column or (), time, group)
        table = _series.remarking(table, "anomalies", irregular, "; --irregular takes each at its time")
        _options.check_irregular(irregular, 1, table)
        threshold = -math.log10(rate)
        watches = _watch(table, maker(irregular, 1 - rate), threshold, out)
        if plot is not None:
            _draw(plot, file, watches, threshold)
        _show(watches)


def _watch(table: _io.Table, make: Callable[[], _track.Model], threshold: float, out: Path | None) -> list[Watch]:
    watches: dict[tuple[str, str], Watch] = {}

    def advance(group: str, column: str, values: Array, times: Any) -> dict[str, Array]:
        if (group, column) not in watches:
            watches[group, column] = Watch(_series.title(group, column), make(), threshold)
        return watches[group, column].advance(values, times)

    with sink(out) as write, progress(table) as batches:
        for batch in batches:
            added = _series.through(batch, table.roles, advance)
            if write is not None:
                write(_io.with_columns(batch, added))
    if not watches:
        raise ValueError(f"{table.path} has a header but no rows")
    return list(watches.values())


def _draw(plot: Path, file: str, watches: list[Watch], threshold: float) -> None:
    from prophecy.reproduce import style

    ranked = sorted(watches, key=lambda watch: -watch.count)
    with style.use():
        figure = _plots.anomalies([watch.panel() for watch in ranked[: _plots.PANELS]], threshold, len(ranked))
        _plots.save(figure, plot, f"Anomalies in {Path(file).name}", [], _rows(watches))


def _rows(watches: list[Watch], most: int = 20) -> list[list[str]]:
    """The most surprising rows of all series, header first."""
    ranked = sorted(
        ((flag, watch.title) for watch in watches for flag in watch.flagged), key=lambda pair: -pair[0].surprise
    )
    table = [["series", "row", "when", "value", "expected", "surprise"]]
    for flag, title in ranked[:most]:
        surprise = f"{flag.surprise:.1f}" if flag.surprise < 1e4 else f"{flag.surprise:.1e}"
        digits = digits_between(flag.lower, flag.upper)
        expected = f"{flag.lower:.{digits}g} … {flag.upper:.{digits}g}"
        table.append([title, f"{flag.row}", f"{flag.when}", f"{flag.value:.{max(6, digits)}g}", expected, surprise])
    return table


def _show(watches: list[Watch]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 120)
    found, rows = sum(watch.count for watch in watches), sum(watch.rows for watch in watches)
    console.print(f"{found} of {rows:,} rows flagged")
    lines = _rows(watches)
    if len(lines) > 1:
        table = RichTable(box=None, pad_edge=False)
        for i, heading in enumerate(lines[0]):
            table.add_column(heading, justify="left" if i == 0 else "right")
        for row in lines[1:]:
            table.add_row(*row)
        console.print(table)
