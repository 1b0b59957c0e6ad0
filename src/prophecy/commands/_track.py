"""Series through a file: the model of each, what it said of each row, how wrong that was, and what is drawn of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from prophecy.commands._journal import Journal
from prophecy.commands._rows import answer
from prophecy.frames.grid import Grid, infer
from prophecy.frames.names import series_title
from prophecy.frames.table import Table
from prophecy.frames.times import Times, joined
from prophecy.streams import Prophecy
from prophecy.tables.pictures import Line, Panel, of_track

Array: TypeAlias = NDArray[np.float64]

SHOWN = 300  # rows drawn: more cannot be told apart in a picture of that width
BINS = 256  # stretches an error curve is kept in, at most, so that memory does not grow with the file
POINTS = 20  # of them drawn: fewer are not a curve, more are noise
HOLE = 10_000  # grid times a single hole is filled with, at most: by then the bank has forgotten what was before


class RowPredictions(NamedTuple):
    """About each row, before it was seen: mean and interval; and when it was, its residual, score and alarm."""

    mean: Array
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
    """`Prophecy` over the rows of one series, each predicted from those at least `horizon` rows above it.

    With a journal, answers made by an earlier run are taken from it, and new ones noted there.
    """

    def __init__(
        self, level: float, horizon: int = 1, irregular: bool = False, journal: Journal | None = None, title: str = ""
    ) -> None:
        from prophecy.streams.ahead import Ahead

        self._title, self._level, self._forced, self._journal = title, level, irregular, journal
        self._far = Ahead(horizon, level) if horizon > 1 else None
        self._model = Prophecy(context=1)
        self._seasons: tuple[float, ...] | None = None  # those of the last answers taken from the journal
        self.clock = RowGrid()

    def advance(self, values: Array, times: Times | None) -> RowPredictions:
        """Take in rows; what was said of each before it was seen."""
        slots = None if times is None else self.clock.place(times)
        seconds = self.clock.seconds(times) if times is not None and (slots is None or self._forced) else None
        if seconds is not None and self._far is not None:
            raise ValueError(
                "the times are uneven; rows further ahead than the next need an even grid: leave out --horizon"
            )
        if self._journal is None:
            return RowPredictions(*self._answers(values, slots, seconds))
        kept = self._journal.answer(self._title, len(values), len(RowPredictions._fields))
        if kept is not None:
            self._seasons = tuple(kept.about)
            return RowPredictions(*kept.rows)
        if self._seasons is not None:
            self._go_on(self._journal)
        rows = self._answers(values, slots, seconds)
        self._journal.add(self._title, rows, self.seasons(), self._far or self._model)
        return RowPredictions(*rows)

    def _go_on(self, journal: Journal) -> None:
        """Take up the model of the run before."""
        state, self._seasons = journal.model(self._title), None
        if self._far is None:
            self._model = Prophecy.load(state)
        else:
            self._far = type(self._far).load(state)

    def _answers(self, values: Array, slots: NDArray[np.int64] | None, seconds: Array | None) -> Array:
        """(parts, rows): what is said of each row; rows missing between them, by their slots on the grid, are gaps."""
        if seconds is not None or slots is None or int(slots[-1]) + 1 == len(values):
            return self._predicted(values, seconds)
        filled = np.full(int(slots[-1]) + 1, np.nan)
        filled[slots] = values
        return self._predicted(filled, None)[:, slots]

    def _predicted(self, values: Array, seconds: Array | None) -> Array:
        if self._far is not None:
            mean, half, score = self._far.advance(np.ascontiguousarray(values))
            rows = np.stack([mean, mean - half, mean + half, score, np.full_like(mean, np.nan)])
        else:
            track = self._model.follow(values, self._level, time=seconds)
            rows = np.stack([track.mean, track.lower, track.upper, track.score, track.alarm])
        mean, lower, upper, score, alarm = np.where(np.isfinite(rows) & np.isfinite(rows[0]), rows, np.nan)
        return np.stack([mean, lower, upper, values - mean, score, alarm])

    def seasons(self) -> tuple[float, ...]:
        """The seasons found so far, in rows of the grid."""
        return self._model.seasons() if self._seasons is None else self._seasons


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
        columns = self.note(values, times, said)
        self.rows += len(values)
        return columns

    def note(self, values: Array, times: Times | None, said: RowPredictions) -> dict[str, Array]:
        """Remember what is wanted of some rows; `self.rows` came before them."""
        raise NotImplementedError


Kind = TypeVar("Kind", bound=Series)


def follow(
    command: str, table: Table, made: Callable[[str], Kind], parts: tuple[str, ...], out: Path | None, mean: bool
) -> list[Kind]:
    """All of a table through the series it holds, made(title) each, writing as it goes. mean: average doubled times."""
    found: dict[tuple[str, str], Kind] = {}

    def advance(key: str, name: str, values: Array, times: Times | None) -> dict[str, Array]:
        if (key, name) not in found:
            found[key, name] = made(series_title(key, name))
        return found[key, name].advance(values, times)

    answer(command, table, advance, parts, out, mean)
    if not found:
        raise ValueError(f"{table.path} has a header but no rows; write rows below the names")
    return list(found.values())


class CopyAndLine:
    """Copy and straight line, `horizon` rows ahead: what any prediction has to beat."""

    def __init__(self, horizon: int) -> None:
        self._horizon = horizon
        self._past = np.full(horizon + 1, np.nan)

    def errors(self, values: Array) -> dict[str, Array]:
        joint = np.concatenate([self._past, values])
        self._past = joint[-self._horizon - 1 :]
        newest, before = joint[1 : 1 + len(values)], joint[: len(values)]
        return {"copy": values - newest, "line": values - newest - self._horizon * (newest - before)}


class ErrorCurve:
    """Root mean square errors over a file of unknown length, in at most `BINS` equal stretches."""

    def __init__(self) -> None:
        self._width, self._rows = 1, 0
        self._sums, self._counts = np.zeros(BINS), np.zeros(BINS)

    def add(self, errors: Array) -> None:
        while self._rows + len(errors) > BINS * self._width:
            for name in ("_sums", "_counts"):
                halves = getattr(self, name).reshape(-1, 2).sum(axis=1)
                setattr(self, name, np.concatenate([halves, np.zeros(BINS - len(halves))]))
            self._width *= 2
        first, known = self._rows % self._width, np.isfinite(errors)
        cuts = np.arange(0, len(errors) + first, self._width) - first
        cuts[0] = 0
        place = self._rows // self._width
        self._sums[place : place + len(cuts)] += np.add.reduceat(np.where(known, errors, 0.0) ** 2, cuts)
        self._counts[place : place + len(cuts)] += np.add.reduceat(known.astype(np.float64), cuts)
        self._rows += len(errors)

    def points(self) -> tuple[Array, Array]:
        """Row numbers and errors, some twenty of each."""
        used = -(-self._rows // self._width)
        cuts = np.arange(0, used, max(1, -(-used // POINTS)))
        sums, counts = np.add.reduceat(self._sums[:used], cuts), np.add.reduceat(self._counts[:used], cuts)
        ends = np.append(cuts[1:], used) * self._width
        where = (cuts * self._width + np.minimum(ends, self._rows)) / 2
        filled = counts > 0
        return np.asarray(where[filled]), np.asarray(np.sqrt(sums[filled] / counts[filled]))


class Tracker(Series):
    """A series with its score sheet."""

    def __init__(self, title: str, bank: RowModel, horizon: int, level: float) -> None:
        super().__init__(title, bank)
        self._baselines, self._level = CopyAndLine(horizon), level
        self.compared = 0
        self.totals = dict.fromkeys(("prophecy", "copy", "line"), 0.0)
        self._curves = {name: ErrorCurve() for name in self.totals}
        self._tail, self._moments = np.empty((4, 0)), np.empty(0)  # of the last rows, to be drawn

    def note(self, values: Array, times: Times | None, said: RowPredictions) -> dict[str, Array]:
        """The errors made on these rows, and the last of them to be drawn."""
        errors = {"prophecy": said.residual, **self._baselines.errors(values)}
        fair = np.isfinite(errors["prophecy"]) & np.isfinite(errors["line"])
        for name, error in errors.items():
            self.totals[name] += float(np.abs(error[fair]).sum())
            self._curves[name].add(error)
        self.compared += int(fair.sum())
        drawn = np.stack([values, said.mean, said.lower, said.upper])[:, -SHOWN:]
        count, end = drawn.shape[1], self.rows + len(values)
        moments: Any = np.arange(end - count, end) if times is None else times[-count:].wall()
        self._moments = np.concatenate([self._moments.astype(moments.dtype), moments])[-SHOWN:]
        self._tail = np.concatenate([self._tail, drawn], axis=1)[:, -SHOWN:]
        return said._asdict()

    def mean_errors(self) -> dict[str, float]:
        """Mean absolute errors over the rows all three could predict."""
        return {name: total / self.compared if self.compared else np.nan for name, total in self.totals.items()}

    def panels(self) -> list[Panel]:
        """The last rows with what was said of them, and the errors over the whole file."""
        truth, mean, lower, upper = self._tail
        roles = {"prophecy": "forecast", "copy": "rival", "line": "rival"}
        curves = {name: curve.points() for name, curve in self._curves.items()}
        lines = [
            Line(name, where[size > 0], size[size > 0], roles[name])
            for name, (where, size) in curves.items()
            if (size > 0).any()
        ]
        errors = [Panel("root mean square error, by row", lines, height=0.55, log=True)] if lines else []
        return [of_track(self._moments, truth, mean, lower, upper, self._level, self.title), *errors]


def summary(trackers: Sequence[Tracker], most: int = 12) -> list[list[str]]:
    """A table, header first: mean absolute errors of each series, and how they compare with the better baseline."""
    table = [["series", "rows", "prophecy", "copy", "line", "against the better"]]
    for tracker in trackers[:most]:
        errors = tracker.mean_errors()
        best = min(errors["copy"], errors["line"])
        sizes = (f"{errors[name]:.4g}" for name in ("prophecy", "copy", "line"))
        table.append([tracker.title, f"{tracker.rows:,}", *sizes, _ratio(errors["prophecy"], best)])
    return table


def words(clocks: Sequence[RowGrid], rows: int, table: Table) -> str:
    """One line about what was read and assumed. Columns of one key share its times, which count once."""
    facts = [f"{rows:,} row{'' if rows == 1 else 's'}"]
    grids = list(dict.fromkeys(clock.grid.words() for clock in clocks if clock.grid is not None))
    facts += grids[:2] if len(grids) < 3 else [*grids[:2], "and other steps"]
    filled = sum(clock.filled for clock in clocks) // len(table.roles.values)
    if filled:
        facts.append(f"{filled:,} missing time{'s' if filled > 1 else ''} taken as {'gaps' if filled > 1 else 'a gap'}")
    if any(clock.irregular for clock in clocks):
        facts.append("times are uneven: each row is predicted for the time it came at")
    return ", ".join([*facts, *table.notes])


def _ratio(ours: float, best: float) -> str:
    if not (np.isfinite(ours) and np.isfinite(best)):
        return "too few rows"
    if best == 0 or ours == 0:
        return "equal" if best == ours else "exact" if ours == 0 else "worse: it is exact"
    if abs(best / ours - 1) < 0.005:
        return "equal"
    return f"{best / ours:.3g} times smaller" if ours <= best else f"{ours / best:.3g} times larger"
