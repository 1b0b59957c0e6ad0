"""Series through a file: rows in the order of their times, the model of each series, what it said of each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from prophecy.commands._common import Progress
from prophecy.commands._options import SHELL
from prophecy.commands._write import free_names, sink, with_columns
from prophecy.frames.align import average, ordered, said
from prophecy.frames.grid import Grid, infer
from prophecy.frames.names import count, series_title
from prophecy.frames.table import Table, floats
from prophecy.frames.times import Times, joined
from prophecy.streams import Prophecy

Array: TypeAlias = NDArray[np.float64]

POINTS = 4096  # rows kept of a long series, at most: more cannot be told apart in a picture
HOLE = 10_000  # grid times a single hole is filled with, at most: by then the bank has forgotten what was before


class RowPredictions(NamedTuple):
    """About each row, before it was seen: point and interval; and when it was, its residual, score and alarm."""

    point: Array
    lower: Array
    upper: Array
    residual: Array
    score: Array
    alarm: Array


class RowGrid:
    """Where the rows of a series lie on its grid. Missing grid times are gaps; where there is no grid, rows are
    predicted for the times they came at."""

    def __init__(self) -> None:
        self.grid: Grid | None = None
        self.irregular = False
        self.filled = 0
        self._last: Times | None = None
        self._origin: float | None = None

    def place(self, times: Times) -> NDArray[np.int64] | None:
        """Slots of these rows after the last row before them (the first row of all has slot 0); None if irregular."""
        last, self._last = self._last, times[-1:]
        if last is None and len(times) > 2:
            self.grid = infer(times)
            self.irregular = self.grid is None
        if last is not None and times.values[0] <= last.values[0]:
            raise ValueError(f"{times.text(0)} comes after {last.text(0)}; sort the file by time first")
        if self.irregular:
            return None
        if self.grid is None:  # one or two rows: nothing is known about their distance
            return np.arange(len(times))
        steps = np.diff(self.grid.positions(times if last is None else joined([last, times])))
        steps = np.clip(steps if last is not None else np.append(1, steps), 1, HOLE)  # some may be off the first grid
        self.filled += int(steps.sum()) - len(steps)
        return np.cumsum(steps) - 1

    def seconds(self, times: Times) -> Array:
        """Times since the first row, in seconds or whatever unit the numbers have."""
        ticks = times.ticks / times.per_second if times.dates else times.ticks
        if self._origin is None:
            self._origin = float(ticks[0])
        return np.asarray(ticks - self._origin, dtype=np.float64)


class RowModel:
    """`Prophecy` over the rows of one series, each predicted from those at least `horizon` rows above it."""

    def __init__(self, level: float, horizon: int = 1, irregular: bool = False) -> None:
        from prophecy.streams.ahead import Ahead

        self._level, self._forced = level, irregular
        self._far = Ahead(horizon, level) if horizon > 1 else None
        self._model = Prophecy(context=1)
        self.clock = RowGrid()

    def advance(self, values: Array, times: Times | None) -> RowPredictions:
        """Take in rows; what was said of each before it was seen. Rows missing between them, by their slots on the
        grid, are gaps."""
        slots = None if times is None else self.clock.place(times)
        seconds = self.clock.seconds(times) if times is not None and (slots is None or self._forced) else None
        if seconds is not None and self._far is not None:
            raise ValueError(
                "the times are uneven; rows further ahead than the next need an even grid: leave out --horizon"
            )
        if seconds is not None or slots is None or int(slots[-1]) + 1 == len(values):
            return RowPredictions(*self._predicted(values, seconds))
        filled = np.full(int(slots[-1]) + 1, np.nan)
        filled[slots] = values
        return RowPredictions(*self._predicted(filled, None)[:, slots])

    def _predicted(self, values: Array, seconds: Array | None) -> Array:
        if self._far is not None:
            point, half, score = self._far.advance(np.ascontiguousarray(values))
            rows = np.stack([point, point - half, point + half, score, np.full_like(point, np.nan)])
        else:
            track = self._model.follow(values, self._level, time=seconds)
            rows = np.stack([track.point, track.lower, track.upper, track.score, track.alarm])
        point, lower, upper, score, alarm = np.where(np.isfinite(rows) & np.isfinite(rows[0]), rows, np.nan)
        return np.stack([point, lower, upper, values - point, score, alarm])

    def seasons(self) -> tuple[float, ...]:
        """The seasons found so far, in rows of the grid."""
        return self._model.seasons()


class Thinned:
    """Every so many-th row of columns that grow, at most `POINTS` of them."""

    def __init__(self) -> None:
        self.stride, self.length = 1, 0
        self.rows = np.empty(0, np.int64)
        self.columns: list[NDArray[Any]] = []

    def add(self, *columns: NDArray[Any]) -> None:
        new = np.arange(self.length, self.length + len(columns[0]))
        self.length += len(new)
        while self.length // self.stride > POINTS:
            self.stride *= 2
        old, fresh = self.rows % self.stride == 0, new % self.stride == 0
        before = [column[old] for column in self.columns] or [column[:0] for column in columns]
        self.columns = [np.concatenate([a, b[fresh]]) for a, b in zip(before, columns, strict=True)]
        self.rows = np.concatenate([self.rows[old], new[fresh]])


class Series:
    """One series of a file with its model. What a command makes of the model's words is its `note`."""

    def __init__(self, title: str, bank: RowModel) -> None:
        self.title, self.bank, self.rows = title, bank, 0

    def advance(self, values: Array, times: Times | None) -> dict[str, Array]:
        """Take in rows; the columns to write beside them."""
        try:
            said = self.bank.advance(values, times)
        except ValueError as problem:
            rows = f"rows {self.rows + 1} to {self.rows + len(values)}"
            raise ValueError(f"series {self.title}, {rows}: {problem}") from None
        axis = np.arange(self.rows, self.rows + len(values)) if times is None else times.wall()
        columns = self.note(values, times, axis, said)
        self.rows += len(values)
        return columns

    def note(self, values: Array, times: Times | None, axis: NDArray[Any], said: RowPredictions) -> dict[str, Array]:
        """Remember what is wanted of some rows; `self.rows` came before them. axis: where they are drawn."""
        raise NotImplementedError


Kind = TypeVar("Kind", bound=Series)


def follow(
    command: str, table: Table, made: Callable[[str], Kind], parts: tuple[str, ...], out: Path | None, mean: bool
) -> list[Kind]:
    """Every row of a table, in the order of time, through the series it belongs to, made(title) each; the table with
    the answers is written to `out` as it goes.

    mean: rows of one series and time are averaged and go through once; each of them gets the answer, and a residual of
    its own.
    """
    names = free_names(parts, table.roles.values, table.names)
    found: dict[tuple[str, str], Kind] = {}
    met: Counter[str] = Counter()

    def advance(key: str, name: str, values: Array, times: Times | None) -> dict[str, Array]:
        if (key, name) not in found:
            found[key, name] = made(series_title(key, name))
        return found[key, name].advance(values, times)

    with sink(out) as write, Progress(command, table.size, "bytes", table.size > 1 << 22) as progress:
        for batch, times in _segments(table):
            rows, columns = _answered(table, batch, times, advance, names, mean, met)
            if write is not None:
                write(with_columns(batch[rows], {name: column[rows] for name, column in columns.items()}))
            progress.update(table.position())
    if not found:
        raise ValueError(f"{table.path} has a header but no rows; write rows below the names")
    table.found += said(met)
    return list(found.values())


def _segments(table: Table) -> Iterator[tuple[Any, Times | None]]:
    """Rows and their times, as many together as are sorted at once; a cut lies between two times."""
    import narwhals.stable.v2 as nw

    held: list[Any] = []
    moments: list[Times] = []
    first = 1
    for batch in table.batches:
        times = table.times(batch, first)
        first += len(batch)
        held.append(batch)
        moments += [] if times is None else [times]
        if sum(map(len, held)) > table.sizes.sorted_rows:
            whole, times = nw.concat(held), joined(moments) if moments else None
            other = np.flatnonzero(times.values != times.values[-1]) if times is not None else [len(whole) - 1]
            cut = int(other[-1]) + 1 if len(other) else 0
            if cut:
                yield whole[:cut], None if times is None else times[:cut]
            held, moments = [whole[cut:]], [] if times is None else [times[cut:]]
    if sum(map(len, held)):
        yield nw.concat(held), joined(moments) if moments else None


def _answered(
    table: Table, batch: Any, times: Times | None, advance: Callable[..., dict[str, Array]],
    names: dict[tuple[str, str], str], mean: bool, met: Counter[str],
) -> tuple[NDArray[np.intp], dict[str, Array]]:  # fmt: skip
    """Rows to write, in their order, and what `advance(key, column, values, times)` gives for each series' rows."""
    block = np.stack([floats(batch, name) for name in table.roles.values], axis=1)
    made = {name: np.full(len(batch), np.nan) for name in names.values()}
    kept = np.zeros(len(batch), dtype=bool)
    before = met["sorted"] + met["reversed"]
    for key, some in table.split(batch):
        rows = np.arange(len(batch))[some]
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
            answers = advance(key, column, single[:, place], moments)
            for (name, part), called in names.items():
                if name == column:
                    made[called][rows] = np.repeat(answers[part], sizes)
            if (column, "residual") in names:
                made[names[column, "residual"]][rows] = block[rows, place] - made[names[column, "point"]][rows]
    found_rows = np.flatnonzero(kept)
    if times is not None and met["sorted"] + met["reversed"] > before:
        found_rows = found_rows[np.argsort(times.values[found_rows], kind="stable")]
    return found_rows, made


def words(series: Sequence[Series], table: Table) -> str:
    """One line about what was read and assumed. Columns of one key share its times, which count once."""
    clocks, width = [one.bank.clock for one in series], len(table.roles.values)
    facts = [count(sum(one.rows for one in series) // width, "row")]
    grids = list(dict.fromkeys(clock.grid.words() for clock in clocks if clock.grid is not None))
    facts += grids[:2] if len(grids) < 3 else [*grids[:2], "and other steps"]
    filled = sum(clock.filled for clock in clocks) // width
    if filled:
        facts.append(f"{count(filled, 'missing time')} taken as {'gaps' if filled > 1 else 'a gap'}")
    if any(clock.irregular for clock in clocks):
        facts.append("times are uneven: each row is predicted for the time it came at")
    return ", ".join([*facts, *table.notes])
