"""`prophecy anomalies`: the rows of a file that nobody who had read the rows before would have expected."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray

from prophecy.commands import _options
from prophecy.commands._common import digits_between, guarded, say, series_title
from prophecy.commands._rows import added, in_order
from prophecy.commands._show import console, show
from prophecy.commands._table import Table, open_table
from prophecy.commands._track import Bank, words
from prophecy.commands._write import sink, with_columns
from prophecy.frames.times import Times
from prophecy.tables.panels import Line, Panel, Picture
from prophecy.tables.pictures import save

Array: TypeAlias = NDArray[np.float64]

PARTS = ("prediction", "lower", "upper", "surprise", "flagged")
DRAWN = 3  # series in the picture, two panels each
POINTS = 4096  # of a long series, that many are drawn, and all flagged ones up to as many again

EXAMPLES = """Examples:

\b
  prophecy anomalies sensor.csv --plot sensor.html
  prophecy anomalies machines.parquet --key machine --rate 1e-4 --out scored.csv

A row's surprise is -log10 of the probability of an error at least as large as its own, judged by the errors before it.
A row is flagged above -log10(rate): where nothing strange happens, about that share of rows is flagged all the same.
"""


class Flagged(NamedTuple):
    """A row that was not expected."""

    row: int
    when: str
    x: Any
    value: float
    lower: float
    upper: float
    surprise: float


class Watch:
    """One series: its model, its flagged rows, and enough of the rest to draw it."""

    def __init__(self, title: str, bank: Bank, threshold: float) -> None:
        self.title = title
        self.rows = self.count = 0
        self.flagged: list[Flagged] = []
        self.bank, self._threshold = bank, threshold
        self._stride = 1
        self._kept: list[tuple[int, Any, float, float]] = []

    def advance(self, values: Array, times: Times | None) -> dict[str, Array]:
        try:
            said = self.bank.advance(values, times)
        except ValueError as problem:
            rows = f"rows {self.rows + 1} to {self.rows + len(values)}"
            raise ValueError(f"series {self.title}, {rows}: {problem}") from None
        flags = said.surprise > self._threshold
        self.count += int(flags.sum())
        axis = np.arange(self.rows, self.rows + len(values)) if times is None else times.wall()
        for k in np.flatnonzero(flags)[: max(0, POINTS - len(self.flagged))].tolist():
            when = times.text(k) if times is not None else f"{self.rows + k}"
            numbers = (float(column[k]) for column in (values, said.lower, said.upper, said.surprise))
            self.flagged.append(Flagged(self.rows + k, when, axis[k], *numbers))
        self._thin(values, said.surprise, axis)
        self.rows += len(values)
        return dict(
            zip(PARTS, (said.mean, said.lower, said.upper, said.surprise, flags.astype(np.float64)), strict=True)
        )

    def _thin(self, values: Array, surprise: Array, axis: NDArray[Any]) -> None:
        """Keep every so many-th row, fewer as the series grows."""
        while (self.rows + len(values)) // self._stride > POINTS:
            self._stride *= 2
        self._kept = [point for point in self._kept if point[0] % self._stride == 0]
        for k in range(-self.rows % self._stride, len(values), self._stride):
            self._kept.append((self.rows + k, axis[k], float(values[k]), float(surprise[k])))

    def panels(self) -> list[Panel]:
        """The series as kept, with every flagged row in its place, and the surprise of each row below it."""
        points = {row: (x, value, surprise) for row, x, value, surprise in self._kept}
        points |= {flag.row: (flag.x, flag.value, flag.surprise) for flag in self.flagged}
        rows = sorted(points)
        x = np.array([points[row][0] for row in rows])
        values, surprises = (np.array([points[row][part] for row in rows], dtype=np.float64) for part in (1, 2))
        flags = np.isin(rows, [flag.row for flag in self.flagged])
        ceiling = 4 * self._threshold  # what lies beyond is beyond doubt
        return [
            Panel(
                self.title,
                [Line("observed", x, values)],
                marks=[Line("flagged", x[flags], values[flags], "flagged", True)],
            ),
            Panel(
                "surprise", [Line("surprise", x, np.minimum(surprises, ceiling))], height=0.45, level=self._threshold
            ),
        ]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="anomalies", epilog=EXAMPLES)(anomalies)


def anomalies(
    file: _options.File,
    column: _options.Columns = None,
    time: _options.Time = None,
    time_format: _options.TimeFormat = None,
    key: _options.Key = None,
    rate: Annotated[float, typer.Option(help="Share of ordinary rows flagged by mistake.")] = 1e-3,
    irregular: _options.Irregular = False,
    decimal: _options.Decimal = None,
    header: _options.Header = None,
    out: _options.Out = None,
    plot: _options.Plot = None,
) -> None:
    """Score every row by how surprising it is after those before it, and flag the outliers."""
    if not 0 < rate < 1:
        raise typer.BadParameter(f"--rate must lie between 0 and 1, got {rate:g}")
    with guarded("anomalies"):
        _options.check(level=0.9, out=out, plot=plot, file=file)
        table = open_table(file, _options.asked(column, time, key, time_format, decimal, header))
        _options.check_irregular(irregular, 1, table)
        watches = _watch(table, rate, irregular, out)
        counted = sum(watch.rows for watch in watches) // len(table.roles.values)
        say("anomalies", f"{Path(file).name}: {words([watch.bank.clock for watch in watches], counted, table.notes)}")
        if plot is not None:
            ranked = sorted(watches, key=lambda watch: -watch.count)[:DRAWN]
            panels = [panel for watch in ranked for panel in watch.panels()]
            save(Picture(f"Anomalies in {Path(file).name}", panels, [], _rows(watches)), plot)
        _show(watches)


def _watch(table: Table, rate: float, irregular: bool, out: Path | None) -> list[Watch]:
    watches: dict[tuple[str, str], Watch] = {}

    def advance(key: str, name: str, values: Array, times: Times | None) -> dict[str, Array]:
        if (key, name) not in watches:
            bank = Bank(1 - rate, irregular=irregular)
            watches[key, name] = Watch(series_title(key, name), bank, -math.log10(rate))
        return watches[key, name].advance(values, times)

    with sink(out) as write:
        for piece in in_order("anomalies", table):
            columns = added(table, piece, advance, PARTS)
            if write is not None:
                write(with_columns(piece[0], columns))
    if not watches:
        raise ValueError(f"{table.path} has a header but no rows")
    return list(watches.values())


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
        table.append([title, f"{flag.row}", flag.when, f"{flag.value:.{max(6, digits)}g}", expected, surprise])
    return table


def _show(watches: list[Watch]) -> None:
    found, rows = sum(watch.count for watch in watches), sum(watch.rows for watch in watches)
    console().print(f"{found} of {rows:,} rows flagged")
    lines = _rows(watches)
    if len(lines) > 1:
        show(lines)
