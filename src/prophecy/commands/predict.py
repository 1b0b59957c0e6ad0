"""`prophecy predict`: every row of a file predicted from the rows before it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray

from prophecy.commands import _options
from prophecy.commands._common import guarded, say, show
from prophecy.commands._track import RowModel, RowPredictions, Series, Thinned, follow, words
from prophecy.frames.columns import Hints
from prophecy.frames.table import Table, open_table
from prophecy.frames.times import Times
from prophecy.tables.pictures import Line, Panel, Picture, of_track, save

Array: TypeAlias = NDArray[np.float64]

PARTS = ("point", "lower", "upper", "residual", "score")
DRAWN = 3  # series in the picture, two panels each
LISTED = 12  # series in the table
SHOWN = 300  # rows drawn: more cannot be told apart in a picture of that width
POINTS = 20  # of an error curve: fewer are not a curve, more are noise

EXAMPLES = """
Examples:
  prophecy predict sensor.csv --plot sensor.html
  prophecy predict sensor.csv --column temperature --out predictions.csv
  prophecy predict shops.parquet --key shop --column sales --horizon 7 --out predictions.parquet
  zcat huge.csv.gz | prophecy predict - --out predictions.parquet

A row's prediction uses the rows above it alone (with --horizon H, those at least H above it). Columns written:
point, lower, upper, residual, score (-log10 of the probability of a residual this large); with several columns
each has its name before these. Rows are taken in the order of their times; missing times are gaps.
"""


@_options.reading
def predict(
    file: _options.File,
    asked: Hints,
    horizon: Annotated[int, typer.Option("--horizon", "-H", min=1, help="How many rows ahead.")] = 1,
    level: _options.Level = 0.9,
    irregular: _options.Irregular = False,
    out: _options.Out = None,
    plot: _options.Plot = None,
) -> None:
    """Predict each row from those before it; print the error beside those of a copy and of a straight line."""
    with guarded("predict"):
        _options.check(level, out, plot, file)
        table = open_table(file, asked)
        _options.check_irregular(irregular, horizon, table)
        trackers = run(table, level, horizon, irregular, out, asked.duplicates == "mean")
        say("predict", f"{Path(file).name}: {words(trackers, table)}")
        rows = [["series", "rows", *NAMES, "against the better"], *(one.summary() for one in trackers[:LISTED])]
        if plot is not None:
            panels = [panel for one in trackers[:DRAWN] for panel in one.panels()]
            note = f"Mean absolute errors, {'one row' if horizon == 1 else f'{horizon} rows'} ahead."
            save(Picture(f"Predictions of {Path(file).name}", panels, [note], rows), plot)
        more = len(trackers) - len(rows) + 1
        show(rows, title="mean absolute error", after=f"… and {more:,} more series" if more > 0 else "")


def run(
    table: Table, level: float, horizon: int, irregular: bool, out: Path | None, mean: bool = False
) -> list[Tracker]:
    """All of a table through the models, one per series, writing as it goes."""

    def made(title: str) -> Tracker:
        return Tracker(title, RowModel(level, horizon, irregular), horizon, level)

    return follow("predict", table, made, PARTS, out, mean)


NAMES = {"prophecy": "forecast", "copy": "rival", "line": "rival"}
"""Whose errors are counted, and how they are drawn. Copy and straight line are what any prediction has to beat."""


class Tracker(Series):
    """A series with its score sheet."""

    def __init__(self, title: str, bank: RowModel, horizon: int, level: float) -> None:
        super().__init__(title, bank)
        self._horizon, self._level = horizon, level
        self._past = np.full(horizon + 1, np.nan)
        self._sums = np.zeros((2, len(NAMES)))  # absolute errors of each where all could predict, and of how many rows
        self.squares = np.zeros((2, len(NAMES)))  # squares of all errors, and how many there were
        self._curve = Thinned()
        self._tail, self._moments = np.empty((4, 0)), np.empty(0)  # of the last rows, to be drawn

    def note(self, values: Array, times: Times | None, axis: NDArray[Any], said: RowPredictions) -> dict[str, Array]:
        """The errors made on these rows, and the last of them to be drawn."""
        errors = np.column_stack([said.residual, *self.baselines(values)])
        there = np.isfinite(errors)
        fair = there.all(axis=1)
        self._sums += [np.abs(errors[fair]).sum(axis=0), np.full(len(NAMES), fair.sum())]
        running = self.squares[:, None] + np.cumsum([np.where(there, errors, 0.0) ** 2, there], axis=1)
        self._curve.add(*running.transpose(0, 2, 1).reshape(-1, len(values)))
        self.squares = running[:, -1]
        self._moments = np.concatenate([self._moments.astype(axis.dtype), axis[-SHOWN:]])[-SHOWN:]
        drawn = np.stack([values, said.point, said.lower, said.upper])[:, -SHOWN:]
        self._tail = np.concatenate([self._tail, drawn], axis=1)[:, -SHOWN:]
        return said._asdict()

    def baselines(self, values: Array) -> tuple[Array, Array]:
        """Errors of a copy and of a straight line, `horizon` rows ahead."""
        joint = np.concatenate([self._past, values])
        self._past = joint[-self._horizon - 1 :]
        newest, before = joint[1 : 1 + len(values)], joint[: len(values)]
        return values - newest, values - newest - self._horizon * (newest - before)

    def mean_errors(self) -> dict[str, float]:
        """Mean absolute errors over the rows all three could predict."""
        with np.errstate(invalid="ignore"):
            return dict(zip(NAMES, (self._sums[0] / self._sums[1]).tolist(), strict=True))

    def curves(self) -> tuple[Array, Array]:
        """Rows, and root mean square errors around them, (stretches,) and (stretches, models): some twenty."""
        cuts = np.unique(np.linspace(0, len(self._curve.rows) - 1, POINTS).astype(int))
        edges = np.append(self._curve.rows[cuts], self.rows - 1)
        sums = np.concatenate([np.stack(self._curve.columns)[:, cuts].T, self.squares.reshape(1, -1)])
        squares, counts = np.split(np.diff(sums, axis=0), 2, axis=1)
        with np.errstate(invalid="ignore"):
            return (edges[1:] + edges[:-1]) / 2, np.sqrt(squares / counts)

    def panels(self) -> list[Panel]:
        """The last rows with what was said of them, and the errors over the whole file."""
        where, sizes = self.curves()
        lines = [Line(name, where[y > 0], y[y > 0], NAMES[name]) for name, y in zip(NAMES, sizes.T, strict=True)]
        lines = [line for line in lines if len(line.x)]
        errors = [Panel("root mean square error, by row", lines, height=0.55, log=True)] if lines else []
        return [of_track(self._moments, self._tail, self._level, self.title), *errors]

    def summary(self) -> list[str]:
        """Mean absolute errors, and how ours compares with the better of the others."""
        ours, *others = self.mean_errors().values()
        sizes = (f"{error:.4g}" for error in (ours, *others))
        return [self.title, f"{self.rows:,}", *sizes, _ratio(ours, min(others))]


def _ratio(ours: float, best: float) -> str:
    if not (np.isfinite(ours) and np.isfinite(best)):
        return "too few rows"
    if best == 0 or ours == 0:
        return "equal" if best == ours else "exact" if ours == 0 else "worse: it is exact"
    if abs(best / ours - 1) < 0.005:
        return "equal"
    return f"{best / ours:.3g} times smaller" if ours <= best else f"{ours / best:.3g} times larger"
