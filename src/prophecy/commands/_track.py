"""Series through a file: rows in the order of their times, the model of each series, what it said of each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from prophecy.commands._common import Progress
from prophecy.commands._options import SHELL
from prophecy.commands._write import free_names, sink, with_columns
from prophecy.frames.align import average, ordered, said
from prophecy.frames.grid import Grid, infer
from prophecy.frames.names import count, series_title
from prophecy.frames.table import Table
from prophecy.frames.times import Times
from prophecy.streams import Prophecy

Array: TypeAlias = NDArray[np.float64]

LONG = 1_000_000  # values that take long enough to show how far the work is
HOLE = 10_000  # grid times a single hole is filled with, at most: by then the bank has forgotten what was before


class RowPredictions(NamedTuple):
    """About each row, before it was seen: point and interval; and when it was, its residual, score and alarm."""

    point: Array
    lower: Array
    upper: Array
    residual: Array
    score: Array
    alarm: Array


@dataclass(frozen=True, eq=False)
class Series:
    """One series of a file, and what was said of each of its rows before it was seen.

    grid: that its times lie on; times missing on it (`filled`) are gaps. irregular: they lie on none, and rows were
    predicted for the times they came at. seasons: that were found, in rows of the grid.
    """

    title: str
    values: Array
    times: Times | None
    said: RowPredictions
    seasons: tuple[float, ...]
    grid: Grid | None
    irregular: bool
    filled: int

    @property
    def axis(self) -> NDArray[Any]:
        """Where its rows are drawn."""
        return np.arange(len(self.values)) if self.times is None else self.times.wall()


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
    return Series(title, values, times, said, model.seasons(), grid, uneven, len(whole) - len(values))


class Answer(Protocol):
    """What a command makes of a series. columns: what it writes beside the rows."""

    series: Series
    columns: dict[str, Array]


Kind = TypeVar("Kind", bound=Answer)


def follow(
    command: str, table: Table, made: Callable[[str, Array, Times | None], Kind], parts: tuple[str, ...],
    out: Path | None, mean: bool,
) -> list[Kind]:  # fmt: skip
    """Every row of a table, in the order of time, through the series it belongs to: made(title, values, times) each.
    The table with the answers is written to `out`.

    mean: rows of one series and time are averaged and go through once; each of them gets the answer, and a residual of
    its own.
    """
    names = free_names(parts, table.roles.values, table.names)
    met: Counter[str] = Counter()
    with sink(out) as write, Progress(command, table.values.size, "values", table.values.size > LONG) as progress:
        found, rows, columns = _answered(table, made, names, mean, met, progress)
        if write is not None:
            write(with_columns(table.rows()[rows], {name: column[rows] for name, column in columns.items()}))
    table.notes.extend(said(met))
    return found


def _answered(
    table: Table, made: Callable[[str, Array, Times | None], Kind], names: dict[tuple[str, str], str], mean: bool,
    met: Counter[str], progress: Progress,
) -> tuple[list[Kind], NDArray[np.intp], dict[str, Array]]:  # fmt: skip
    """The series, the rows to write, in their order, and the columns to write beside all rows."""
    block, times, series, done = table.values, table.times, list[Kind](), 0
    columns = {name: np.full(len(block), np.nan) for name in names.values()}
    kept = np.zeros(len(block), dtype=bool)
    for key, rows in table.split().items():
        starts, moments = np.arange(len(rows)), None
        if times is not None:
            try:
                found = ordered(block[rows], times[rows], mean, SHELL)
            except ValueError as error:
                raise ValueError(f"series {key}: {error}" if key else str(error)) from None
            rows, starts = rows[found.rows], found.starts
            moments = times[rows[starts]]
            met.update(found.met)
        if not len(rows):
            continue
        kept[rows] = True
        single, sizes = average(block[rows], starts), np.diff(np.append(starts, len(rows)))
        for place, column in enumerate(table.roles.values):
            title = series_title(key, column)
            try:
                series.append(made(title, single[:, place], moments))
            except ValueError as problem:
                raise ValueError(f"series {title}: {problem}") from None
            for (name, part), called in names.items():
                if name == column:
                    columns[called][rows] = np.repeat(series[-1].columns[part], sizes)
            if (column, "residual") in names:
                columns[names[column, "residual"]][rows] = block[rows, place] - columns[names[column, "point"]][rows]
            done += len(rows)
            progress.update(done)
    found_rows = np.flatnonzero(kept)
    if times is not None and met["sorted"] + met["reversed"]:
        found_rows = found_rows[np.argsort(times.values[found_rows], kind="stable")]
    return series, found_rows, columns


def words(answers: Sequence[Answer], table: Table) -> str:
    """One line about what was read and assumed. Columns of one key share its times, which count once."""
    series, width = [answer.series for answer in answers], len(table.roles.values)
    facts = [count(sum(len(one.values) for one in series) // width, "row")]
    grids = list(dict.fromkeys(one.grid.words() for one in series if one.grid is not None))
    facts += grids[:2] if len(grids) < 3 else [*grids[:2], "and other steps"]
    filled = sum(one.filled for one in series) // width
    if filled:
        facts.append(f"{count(filled, 'missing time')} taken as {'gaps' if filled > 1 else 'a gap'}")
    if any(one.irregular for one in series):
        facts.append("times are uneven: each row is predicted for the time it came at")
    return ", ".join([*facts, *table.notes])
