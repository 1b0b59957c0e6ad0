"""`prophecy predict`: every row of a file predicted from the rows before it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray

from prophecy.commands import _options
from prophecy.commands._common import guarded, show
from prophecy.commands._track import Series, follow
from prophecy.frames.columns import Hints
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
        if irregular and horizon > 1:
            raise typer.BadParameter("--irregular predicts one row ahead; leave out --horizon")
        made = partial(Tracker, horizon=horizon, level=level)
        trackers = follow("predict", file, asked, made, PARTS, out, level, horizon, irregular)
        rows = [["series", "rows", *NAMES, "against the better"], *(one.summary() for one in trackers[:LISTED])]
        if plot is not None:
            panels = [panel for one in trackers[:DRAWN] for panel in one.panels()]
            note = f"Mean absolute errors, {'one row' if horizon == 1 else f'{horizon} rows'} ahead."
            save(Picture(f"Predictions of {Path(file).name}", panels, [note], rows), plot)
        more = len(trackers) - len(rows) + 1
        show(rows, title="mean absolute error", after=f"… and {more:,} more series" if more > 0 else "")


NAMES = {"prophecy": "forecast", "copy": "rival", "line": "rival"}
"""Whose errors are counted, and how they are drawn. Copy and straight line are what any prediction has to beat."""


class Tracker:
    """A series with its score sheet."""

    def __init__(self, series: Series, horizon: int, level: float) -> None:
        self.series, self.columns = series, series.said._asdict()
        self._level = level
        self.errors = np.column_stack([series.said.residual, *baselines(series.values, horizon)])

    def mean_errors(self) -> dict[str, float]:
        """Mean absolute errors over the rows all three could predict."""
        fair = self.errors[np.isfinite(self.errors).all(axis=1)]
        sizes = np.abs(fair).mean(axis=0) if len(fair) else np.full(len(NAMES), np.nan)
        return dict(zip(NAMES, sizes.tolist(), strict=True))

    def curves(self) -> tuple[Array, Array]:
        """Rows, and root mean square errors around them, (stretches,) and (stretches, models): some twenty."""
        edges = np.unique(np.linspace(0, len(self.errors), POINTS + 1).astype(int))
        there = np.isfinite(self.errors)
        squares, counts = (
            np.add.reduceat(part, edges[:-1], axis=0) for part in (np.where(there, self.errors, 0.0) ** 2, there * 1.0)
        )
        with np.errstate(invalid="ignore"):
            return (edges[1:] + edges[:-1]) / 2, np.sqrt(squares / counts)

    def panels(self) -> list[Panel]:
        """The last rows with what was said of them, and the errors over the whole file."""
        where, sizes = self.curves()
        lines = [Line(name, where[y > 0], y[y > 0], NAMES[name]) for name, y in zip(NAMES, sizes.T, strict=True)]
        lines = [line for line in lines if len(line.x)]
        errors = [Panel("root mean square error, by row", lines, height=0.55, log=True)] if lines else []
        series, said = self.series, self.series.said
        drawn = (part[-SHOWN:] for part in (series.values, said.point, said.lower, said.upper))
        return [of_track(series.axis[-SHOWN:], drawn, self._level, series.title), *errors]

    def summary(self) -> list[str]:
        """Mean absolute errors, and how ours compares with the better of the others."""
        ours, *others = self.mean_errors().values()
        sizes = (f"{error:.4g}" for error in (ours, *others))
        return [self.series.title, f"{len(self.errors):,}", *sizes, _ratio(ours, min(others))]


def baselines(values: Array, horizon: int) -> tuple[Array, Array]:
    """Errors of a copy and of a straight line, `horizon` rows ahead."""
    joint = np.concatenate([np.full(horizon + 1, np.nan), values])
    newest, before = joint[1 : 1 + len(values)], joint[: len(values)]
    return values - newest, values - newest - horizon * (newest - before)


def _ratio(ours: float, best: float) -> str:
    if not (np.isfinite(ours) and np.isfinite(best)):
        return "too few rows"
    if best == 0 or ours == 0:
        return "equal" if best == ours else "exact" if ours == 0 else "worse: it is exact"
    if abs(best / ours - 1) < 0.005:
        return "equal"
    return f"{best / ours:.3g} times smaller" if ours <= best else f"{ours / best:.3g} times larger"
