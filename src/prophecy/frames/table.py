"""A table opened for reading in pieces: narwhals frames whose value columns are float64, all others as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.frames import objects
from prophecy.frames.columns import (
    MOSTLY,
    Hints,
    Layout,
    NumberStyle,
    is_missing,
    number,
    plain_numbers,
    text_of,
    two_ways,
)
from prophecy.frames.names import count
from prophecy.frames.opening import Opened, explained, open_bytes
from prophecy.frames.roles import JOINT, Roles, resolve, spread_over_columns
from prophecy.frames.source import Kind, as_times, in_narwhals, is_clock
from prophecy.frames.text import read_text
from prophecy.frames.times import Local, Times, zone_of

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """How much of a table is in memory at once. piece: cells that are read together.

    sorted_rows: up to which `predict` and `anomalies` hold and sort a table; longer ones must be in order. cells: that
    `forecast` holds (160 MB); beyond, only the newest rows of each series are kept.
    """

    piece: int = 1 << 17
    sorted_rows: int = 1_000_000
    cells: int = 20_000_000


NAMED = 3  # stray cells of a column that are shown
EARLY = 5_000  # rows after which too many stray cells end the reading
SIZES = Sizes()
NOTHING = Hints()
READERS = {
    "csv": read_text, "jsonl": objects.read_json, "json": objects.read_json, "excel": objects.read_excel,
    "parquet": objects.read_parquet, "npy": objects.read_npy,
}  # fmt: skip
"""By the kind that `opening` tells from a file's first bytes."""


@dataclass
class Column:
    """What was met in one column: filled cells, and stray ones, the first few with their rows."""

    filled: int = 0
    stray: int = 0
    shown: list[tuple[int, str]] = field(default_factory=list)


class Stray:
    """What was passed over while a table was read. notes: filled when it has been read."""

    def __init__(self, asked: Hints) -> None:
        self._asked = asked
        self.styles: Mapping[str, NumberStyle] = {}  # how columns of text write numbers
        self._columns: dict[str, Column] = {}
        self._ragged, self._shown = 0, ""
        self.rows = 0  # read so far
        self.notes: list[str] = []

    def ragged(self, line: int, row: Sequence[Any], width: int) -> None:
        """A row with another number of cells than the others: passed over."""
        self._ragged += 1
        if not self._shown:
            text = ",".join(map(text_of, row))
            self._shown = f"row {line} of the file, {len(row)} cells instead of {width}: {text[:80]!r}"

    def done(self, rows: int) -> None:
        """A further piece has been read."""
        self.rows += rows
        if self.rows > EARLY:
            self._check()

    def read(self, name: str, column: Any, before: int | None = None) -> Array:
        """A narwhals column as numbers, NaN where cells are missing or stray. before: rows of the data before it."""
        values = _quick(column, self.styles.get(name, NumberStyle()))
        mine = self._columns.setdefault(name, Column())
        if values is None:
            values = self._one_by_one(name, column.to_list(), self.rows if before is None else before)
        else:
            mine.filled += int(np.count_nonzero(~np.isnan(values)))
        codes = self._asked.codes
        return np.where(np.isin(values, codes), np.nan, values) if codes else values

    def _one_by_one(self, name: str, cells: list[Any], before: int) -> Array:
        style, absent, mine = self.styles.get(name, NumberStyle()), self._asked.absent, self._columns[name]
        other = "," if style.decimal == "." else "."
        values = np.full(len(cells), np.nan)
        for place, cell in enumerate(map(text_of, cells)):
            if is_missing(cell, absent):
                continue
            mine.filled += 1
            value = style.read(cell)
            if value is not None:
                values[place] = value
                continue
            if not self._asked.decimal and number(cell, other) is not None:
                point, comma = (cell, "1,5") if other == "." else ("1.5", cell)
                raise ValueError(two_ways(name, point, comma, self._asked.ways("decimal", other)))
            mine.stray += 1
            if len(mine.shown) < NAMED:
                mine.shown.append((before + place + 1, cell[:40]))
        return values

    def missing_times(self, name: str, shown: list[tuple[int, str]], count: int, filled: int) -> None:
        """Cells of the time column that are no times, some of them shown; their rows are left out."""
        mine = self._columns.setdefault(name, Column())
        mine.filled, mine.stray = mine.filled + filled, mine.stray + count
        mine.shown += shown[:NAMED]

    def _check(self) -> None:
        for name, mine in self._columns.items():
            if mine.stray > (1 - MOSTLY) * mine.filled + 1e-9:
                row, cell = mine.shown[0]
                raise ValueError(
                    f"column {name!r}: {mine.stray:,} of {mine.filled:,} cells are not like the others, the first is "
                    f"{cell!r} in row {row} of the data; at most {1 - MOSTLY:.0%} are taken as missing; correct them, "
                    f"or name cells without a value with {self._asked.ways('missing', cell)}"
                )
        if self._ragged > (1 - MOSTLY) * (self.rows + self._ragged) + 1e-9:
            raise ValueError(
                f"{self._ragged:,} of {self.rows + self._ragged:,} rows have another number of cells than the others, "
                f"the first in {self._shown}; quote cells that hold the separator, or name the separator with "
                f"{self._asked.ways('sep', ';')}"
            )

    def finish(self) -> None:
        """Say what was passed over; refuse where it was too much."""
        self._check()
        for name, mine in self._columns.items():
            if mine.stray:
                shown = ", ".join(f"{cell!r} (row {row})" for row, cell in mine.shown[:NAMED])
                more = f" and {mine.stray - NAMED:,} more" if mine.stray > NAMED else ""
                self.notes.append(f"{count(mine.stray, 'cell')} of {name!r} taken as missing: {shown}{more}")
        if self._ragged:
            self.notes.append(f"{count(self._ragged, 'row')} with another number of cells left out ({self._shown})")


def _quick(column: Any, style: NumberStyle) -> Array | None:
    """A whole column at once: one of numbers, or text of plain numbers; None where it must be cell by cell."""
    import narwhals.stable.v2 as nw

    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return plain_numbers(column.to_list()) if style.plain else None


@dataclass
class Table:
    """A file or frame opened for reading in pieces; `batches` can be gone through once."""

    roles: Roles
    layout: Layout
    batches: Iterator[Any]
    stray: Stray
    found: list[str]  # what was noted so far
    kind: Kind
    opened: Opened | None = None
    local: Local | None = None  # the zone whose clocks the times are of, where one was named
    given: Times | None = None  # times that are no column
    sizes: Sizes = field(default=SIZES)

    @property
    def path(self) -> str:
        return self.layout.path

    @property
    def names(self) -> tuple[str, ...]:
        return self.layout.names

    @property
    def notes(self) -> list[str]:
        """What was assumed and, once it is read, passed over."""
        return [*self.found, *self.stray.notes]

    @property
    def size(self) -> int:
        return 0 if self.opened is None else self.opened.size

    def position(self) -> int:
        return 0 if self.opened is None else self.opened.position()

    def times(self, batch: Any, first: int = 1) -> Times | None:
        """When the rows of a batch were."""
        if self.roles.clock is None:
            return self.given
        times = self.roles.clock.read(batch, first, self.stray)
        return times if self.local is None else self.local.read(times, self.split(batch))

    def split(self, batch: Any) -> Iterator[tuple[Any, NDArray[np.int64] | slice]]:
        """Each key in a batch and its rows in order; without a key column, one key "" with all rows."""
        if not self.roles.keys:
            yield "", slice(None)
            return
        numbers: dict[Any, int] = {}
        yield from zip(numbers, rows_by_code(self.codes(batch, numbers)), strict=True)

    def codes(self, batch: Any, numbers: dict[Any, int]) -> NDArray[np.int64]:
        """The number of each row's key in `numbers`, where new ones are added.

        Keys of files are text, joined where there are several columns; those of frames are the cells, or tuples.
        """
        rows: Any = zip(*(batch[name].to_list() for name in self.roles.keys), strict=True)
        if not self.roles.keys:
            rows = [""] * len(batch)
        elif self.opened is not None:
            rows = ("(no key)" if None in row else JOINT.join(map(str, row)) for row in rows)
        elif len(self.roles.keys) == 1:
            rows = (cell for (cell,) in rows)
        return np.fromiter((numbers.setdefault(key, len(numbers)) for key in rows), np.int64, len(batch))


def rows_by_code(codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The rows of each code from 0 on, in order."""
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])


def open_table(source: str | bytes, asked: Hints = NOTHING, sizes: Sizes = SIZES) -> Table:
    """Open a table of any kind (bytes: a text table); what was not given is found by its content, and noted."""
    opened, stray = open_bytes(source), Stray(asked)
    with explained(opened.path):
        layout = contents(opened, asked, stray, sizes)
        roles = resolve(layout)
        return _table(layout, roles, stray, Kind(time=roles.time, key=roles.keys), opened=opened, sizes=sizes)


def contents(opened: Opened, asked: Hints, stray: Stray, sizes: Sizes = SIZES) -> Layout:
    """The columns of a file as found, and its rows as they stand in it."""
    return READERS[opened.kind](opened, asked, stray, sizes.piece)


def rows_of(path: str, asked: Hints) -> tuple[Any, list[str]]:
    """All rows of a file as they stand in it, as a frame, and what was noted."""
    import narwhals.stable.v2 as nw

    opened, stray = open_bytes(path), Stray(asked)
    with explained(opened.path):
        layout = contents(opened, asked, stray)
        return nw.concat(list(layout.pieces)).to_native(), [*layout.notes, *stray.notes]


def _table(layout: Layout, roles: Roles, stray: Stray, kind: Kind, **more: Any) -> Table:
    zone, local = layout.asked.time_zone, None
    if zone is not None:
        local = Local(zone_of(zone), roles.time or "time", roles.clock is not None and roles.clock.unit is not None)
        if roles.clock is None:
            there = f"name their column with {layout.ways('time')}, {layout.path} has {', '.join(layout.names)}"
            raise ValueError(f"{layout.ways('time_zone')} needs times; {there}")
    stray.styles = layout.styles
    codes = filter(None, map(layout.code, roles.values))
    batches = _batches(layout.path, layout.pieces, roles, stray)
    return Table(roles, layout, batches, stray, [*layout.notes, *roles.notes, *codes], kind, local=local, **more)


def _batches(path: str, pieces: Iterable[Any], roles: Roles, stray: Stray) -> Iterator[Any]:
    """Pieces with their value columns as float64."""
    import narwhals.stable.v2 as nw

    with explained(path):
        for piece in pieces:
            kind: Any = piece.implementation
            made = [nw.new_series(n, stray.read(n, piece[n]), nw.Float64, backend=kind) for n in roles.values]
            stray.done(len(piece))
            yield piece.with_columns(*made)
        stray.finish()


def open_frame(data: Any, asked: Hints, time: Any = None) -> Table:
    """The same for a frame or series of any library. time: times beside it, in place of a column or an index."""
    import narwhals.stable.v2 as nw

    data, levels = unstacked(data)
    asked = replace(asked, key=asked.key or levels)
    frame = in_narwhals(data)
    if isinstance(frame, nw.Series):
        frame = (frame if frame.name else frame.alias("value")).to_frame()
    if not len(frame):
        raise ValueError("the frame has no rows; a forecast needs some")
    odd = next((name for name in frame.columns if not isinstance(name, str)), None)
    if odd is not None:
        spread_over_columns([str(name) for name in frame.columns], asked)
        raise TypeError(f"column names must be text, got {odd!r}; rename them")
    index = nw.maybe_get_index(frame)
    given, as_index = None if time is None else as_times(time), False
    if given is not None and len(given) != len(frame):
        raise ValueError(f"time has {len(given)} moments for {len(frame)} rows; give one for each")
    if given is None and asked.time is None and index is not None and is_clock(index):
        given, as_index = as_times(index), True
    layout = replace(objects.of_frames("data", iter([frame.to_native()]), asked), strict=True)
    roles = resolve(layout, None if given is None else given.values[: len(layout.cells[0])].tolist())
    if given is None and roles.clock is None and not roles.keys and type(index).__name__ == "RangeIndex":
        given, as_index = (Times(np.asarray(index, dtype=np.float64)), True) if len(frame) > 1 else (None, False)
    kind = Kind(frame.implementation, "time" if given is not None else None, key=roles.keys)
    if as_index and index is not None:
        period = index.freq if type(index).__name__ == "PeriodIndex" else None
        kind = replace(kind, time=index.name, as_index=True, period=period)
    elif roles.clock is not None:
        kind = replace(kind, time=roles.time, dtype=frame[roles.clock.columns[0]].dtype, clock=roles.clock)
    return _table(layout, roles, Stray(asked), kind, given=given)


def unstacked(data: Any) -> tuple[Any, tuple[str, ...]]:
    """A pandas frame whose index has several levels as one with columns in their place, and the levels that are keys:
    all but that of the times. Other frames as they are."""
    index = getattr(data, "index", None)
    if type(index).__name__ != "MultiIndex" or index is None:
        return data, ()
    names = [str(name) if name is not None else f"level_{i}" for i, name in enumerate(index.names)]
    frame = data.to_frame(data.name if data.name is not None else "value") if data.ndim == 1 else data
    dated = [i for i, level in enumerate(index.levels) if is_clock(level) and level.dtype.kind not in "iufb"]
    time = dated[0] if dated else len(names) - 1
    return frame.reset_index(names=names), tuple(name for i, name in enumerate(names) if i != time)


def floats(batch: Any, name: str) -> Array:
    """A value column as float64, missing values as NaN."""
    return np.asarray(batch[name].to_numpy(), dtype=np.float64)
