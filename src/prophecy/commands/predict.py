"""`prophecy predict`: every row of a file predicted from the rows before it, in the order of their times."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer

from prophecy._arrays import Array, Counts, Indices
from prophecy.commands import _options
from prophecy.commands._common import Progress, say, show
from prophecy.commands._options import SHELL
from prophecy.commands._write import free_names, sink, with_columns
from prophecy.frames.align import average, ordered, said
from prophecy.frames.collect import refused
from prophecy.frames.columns import Hints
from prophecy.frames.grid import Grid, infer
from prophecy.frames.names import count, series_title
from prophecy.frames.table import Table, open_table
from prophecy.frames.times import Times
from prophecy.streams import Prophecy
from prophecy.tables.pictures import Line, Panel, Picture, moments, of_track, save

PARTS = ("point", "lower", "upper", "residual", "score")
DRAWN = 3  # series in the picture, two panels each
LISTED = 12  # series in the table
SHOWN = 300  # rows drawn: more cannot be told apart in a picture of that width
POINTS = 20  # of an error curve: fewer are not a curve, more are noise
LONG = 1_000_000  # values that take long enough to show how far the work is
HOLE = 10_000  # grid times a single hole is filled with, at most: by then the bank has forgotten what was before


@_options.command
def predict(
    file: str,
    asked: Hints,
    horizon: int = 1,
    level: float = 0.9,
    irregular: bool = False,
    out: Path | None = None,
    plot: Path | None = None,
) -> None:
    """Predict each row from those before it, and compare the errors with those of a copy and of a straight line.

    Examples:
      prophecy predict sensor.csv --plot sensor.html
      prophecy predict sensor.csv --column temperature --out predictions.csv
      prophecy predict shops.parquet --key shop --column sales --horizon 7 --out predictions.parquet
      zcat huge.csv.gz | prophecy predict - --out predictions.parquet

    A row's prediction uses the rows above it alone (with --horizon H, those at least H above it). Columns written:
    point, lower, upper, residual, score (-log10 of the probability of a residual this large); with several columns
    each has its name before these. Rows are taken in the order of their times; missing times are gaps.
    """
    if irregular and horizon > 1:
        raise typer.BadParameter("--irregular predicts one row ahead; leave out --horizon")
    found = FollowedFile(file, asked, level, horizon, irregular)
    trackers = [Tracker(one, horizon, level) for one in found.series]
    found.write([one.said._asdict() for one in found.series], PARTS, out)
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

    def __init__(self, series: "Series", horizon: int, level: float) -> None:
        self.series, self._level = series, level
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
        axis = moments(series.times, len(series.values))[-SHOWN:]
        return [of_track(axis, drawn, self._level, series.title), *errors]

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


class RowPredictions(NamedTuple):
    """About each row, before it was seen: point and interval; and when it was, its residual, score and alarm."""

    point: Array
    lower: Array
    upper: Array
    residual: Array
    score: Array
    alarm: Array


class Series(NamedTuple):
    """One series of a file, and what was said of each of its rows before it was seen.

    grid: that its times lie on; times missing on it (`filled`) are gaps. irregular: they lie on none, and rows were
    predicted for the times they came at.
    """

    title: str
    values: Array
    times: Times | None
    said: RowPredictions
    grid: Grid | None
    irregular: bool
    filled: int


def followed(
    title: str, values: Array, times: Times | None, level: float, horizon: int = 1, irregular: bool = False
) -> Series:
    """`Prophecy` over the rows of a series, each predicted from those at least `horizon` rows above it. irregular: for
    the times they came at, whether these lie on a grid or not."""
    grid = infer(times) if times is not None and len(times) > 2 else None
    uneven = times is not None and len(times) > 2 and grid is None
    slots, seconds = np.arange(len(values)), None
    if times is not None and (uneven or irregular):
        if horizon > 1:
            raise ValueError(
                "the times are uneven; rows further ahead than the next need an even grid: leave out --horizon"
            )
        ticks = times.ticks / times.per_second if times.dates else times.ticks
        seconds = np.asarray(ticks - ticks[0], dtype=np.float64)
    elif times is not None and grid is not None:
        slots = np.append(0, np.cumsum(np.clip(np.diff(grid.positions(times)), 1, HOLE)))
    whole = np.full(int(slots[-1]) + 1, np.nan)
    whole[slots] = values
    model = Prophecy(context=1)
    if horizon > 1:
        from prophecy.streams.ahead import Ahead

        point, half, score = Ahead(horizon, level).advance(whole)
        rows = np.stack([point, point - half, point + half, score, np.full_like(point, np.nan)])
    else:
        track = model.follow(whole, level, time=seconds)
        rows = np.stack([track.point, track.lower, track.upper, track.score, track.alarm])
    point, lower, upper, score, alarm = np.where(np.isfinite(rows) & np.isfinite(rows[0]), rows, np.nan)[:, slots]
    said = RowPredictions(point, lower, upper, values - point, score, alarm)
    return Series(title, values, times, said, grid, uneven, len(whole) - len(values))


class FollowedFile:
    """Every row of a file, in the order of time, through the series it belongs to.

    Where rows of one time are averaged, they go through once; each of them gets the answer, and a residual of its own.
    """

    def __init__(self, file: str, asked: Hints, level: float, horizon: int = 1, irregular: bool = False) -> None:
        self._name, self.table, self.series = Path(file).name, open_table(file, asked), list[Series]()
        self._places = list[tuple[str, Indices, Counts]]()  # the column of each series, its rows, how many are one
        self._met = Counter[str]()
        table, done = self.table, 0
        if irregular and table.roles.time is None:
            there = ", ".join(table.layout.names)
            raise ValueError(f"--irregular needs times; name their column with --time, {table.layout.path} has {there}")
        progress = Progress(table.values.size, "values", table.values.size > LONG)
        for key, rows in table.split().items():
            starts, times = np.arange(len(rows)), None
            if table.times is not None:
                try:
                    found = ordered(table.values[rows], table.times[rows], asked.duplicates == "mean", SHELL)
                except ValueError as error:
                    raise refused(table, key, error) from None
                rows, starts = rows[found.rows], found.starts
                times = table.times[rows[starts]]
                self._met.update(found.met)
            single, sizes = average(table.values[rows], starts), np.diff(np.append(starts, len(rows)))
            for values, column in zip(single.T, table.roles.values if len(rows) else (), strict=False):
                title = series_title(key, column)
                try:
                    self.series.append(followed(title, values, times, level, horizon, irregular))
                except ValueError as problem:
                    raise ValueError(f"series {title}: {problem}") from None
                self._places.append((column, rows, sizes))
                done += len(rows)
                progress.update(done)

    def write(self, answers: Sequence[Mapping[str, Array]], parts: Sequence[str], out: Path | None) -> None:
        """The table with these parts of the answer about each series beside its rows; what was read and assumed is
        said."""
        table = self.table
        names = free_names(parts, table.roles.values, table.layout.names)
        columns = {name: np.full(len(table.values), np.nan) for name in names.values()}
        kept = np.zeros(len(table.values), dtype=bool)
        for (column, rows, sizes), answer in zip(self._places, answers, strict=True):
            kept[rows] = True
            for part in parts:
                columns[names[column, part]][rows] = np.repeat(answer[part], sizes)
        for column, values in zip(table.roles.values if "residual" in parts else (), table.values.T, strict=False):
            columns[names[column, "residual"]] = values - columns[names[column, "point"]]
        with sink(out) as write:
            if write is not None:
                order = np.flatnonzero(kept)
                if table.times is not None and self._met["sorted"] + self._met["reversed"]:
                    order = order[np.argsort(table.times.values[order], kind="stable")]
                write(with_columns(table.rows()[order], {name: column[order] for name, column in columns.items()}))
        say(f"{self._name}: {words(self.series, table, said(self._met))}")


def words(series: Sequence[Series], table: Table, met: Sequence[str]) -> str:
    """One line about what was read and assumed. Columns of one key share its times, which count once."""
    width = len(table.roles.values)
    facts = [count(sum(len(one.values) for one in series) // width, "row")]
    grids = list(dict.fromkeys(one.grid.words() for one in series if one.grid is not None))
    facts += grids[:2] if len(grids) < 3 else [*grids[:2], "and other steps"]
    filled = sum(one.filled for one in series) // width
    if filled:
        facts.append(f"{count(filled, 'missing time')} taken as {'gaps' if filled > 1 else 'a gap'}")
    if any(one.irregular for one in series):
        facts.append("times are uneven: each row is predicted for the time it came at")
    return ", ".join([*facts, *table.notes, *met])
