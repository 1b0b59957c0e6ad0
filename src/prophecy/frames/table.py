"""A table opened for reading in pieces: narwhals frames whose value columns are float64, all others as they were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.frames import objects
from prophecy.frames.clock import DATES, as_times, in_narwhals, is_clock
from prophecy.frames.columns import Content, Hints, Layout
from prophecy.frames.opening import Opened, explained, open_bytes
from prophecy.frames.roles import JOINT, Roles, resolve, spread_over_columns
from prophecy.frames.source import Kind
from prophecy.frames.stray import Stray
from prophecy.frames.text import read_csv
from prophecy.frames.times import Local, Times, zone_of

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """How much of a table is in memory at once."""

    piece: int = 8 << 20
    """Bytes of CSV per piece: some 300 000 short rows, large enough for Arrow's parser to work in parallel."""

    sorted_rows: int = 1_000_000
    """Rows up to which `predict` and `anomalies` hold a table and sort it; longer ones are read in pieces and must be
    in order."""

    cells: int = 20_000_000
    """Cells `forecast` holds (160 MB); beyond, only the newest rows of each series are kept."""


SIZES = Sizes()
NOTHING = Hints()
READERS = {
    "jsonl": objects.read_json_lines, "json": objects.read_json, "excel": objects.read_excel,
    "parquet": objects.read_parquet, "npy": objects.read_npy,
}  # fmt: skip
"""By the kind that `opening` tells from a file's first bytes; all else is text."""


@dataclass
class Table:
    """A file or frame opened for reading in pieces; `batches` can be gone through once."""

    path: str
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
    def names(self) -> tuple[str, ...]:
        return self.layout.names

    @property
    def notes(self) -> list[str]:
        """What was assumed and, once it is read, passed over."""
        return [*self.found, *self.stray.notes]

    def note(self, fact: str) -> None:
        self.found.append(fact)

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
        content = contents(opened, asked, stray, sizes)
        roles = resolve(content.layout)
        table = _table(content, roles, stray, Kind(time=roles.time, key=roles.keys))
        return replace(table, opened=opened, local=_local(asked.time_zone, roles, content.layout), sizes=sizes)


def contents(opened: Opened, asked: Hints, stray: Stray, sizes: Sizes = SIZES) -> Content:
    """The columns of a file as found, and its rows as they stand in it."""
    if opened.kind in READERS:
        return READERS[opened.kind](opened, asked)
    return read_csv(opened, asked, stray, sizes.piece)


def _table(content: Content, roles: Roles, stray: Stray, kind: Kind) -> Table:
    layout, pieces, notes = content
    stray.styles = layout.styles
    return Table(
        layout.path, roles, layout, _batches(layout.path, pieces, roles, stray), stray, [*notes, *roles.notes], kind
    )


def _batches(path: str, pieces: Iterator[Any], roles: Roles, stray: Stray) -> Iterator[Any]:
    """Pieces with their value columns as float64."""
    import narwhals.stable.v2 as nw

    with explained(path):
        for piece in pieces:
            if isinstance(piece, dict):
                piece = _arrow({name: list(cells) for name, cells in piece.items()}, roles, stray)
            else:
                kind: Any = piece.implementation
                made = (nw.new_series(n, stray.read(n, piece[n]), nw.Float64, backend=kind) for n in roles.values)
                piece = piece.with_columns(*made)
            stray.done(len(piece))
            yield piece
        stray.finish()


def _arrow(columns: dict[str, list[Any]], roles: Roles, stray: Stray) -> Any:
    """Columns of cells of any type as a frame; a cell of a column of dates that is none is stray."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    made: dict[str, Any] = {}
    for name, cells in columns.items():
        if name in roles.values:
            made[name] = stray.read(name, cells)
            continue
        if roles.clock is not None and roles.clock.typed and name in roles.clock.columns:
            odd = [k for k, cell in enumerate(cells) if cell is not None and not isinstance(cell, DATES)]
            stray.missing_times(name, [(stray.rows + k + 1, str(cells[k])[:40]) for k in odd], len(odd), len(cells))
            cells = [cell if isinstance(cell, DATES) else None for cell in cells]
        try:
            made[name] = pa.array(cells)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # kinds mixed: as text
            made[name] = pa.array([None if cell is None else str(cell) for cell in cells])
        if pa.types.is_null(made[name].type):
            made[name] = made[name].cast(pa.string())
    return nw.from_native(pa.table(made), eager_only=True)


def _local(zone: str | None, roles: Roles, layout: Layout) -> Local | None:
    if zone is None:
        return None
    found = zone_of(zone)
    if roles.time is None:
        raise ValueError(
            f"{layout.ways('time_zone')} needs times; name their column with {layout.ways('time')}, {layout.path} has "
            + ", ".join(layout.names)
        )
    return Local(found, roles.time, roles.clock is not None and roles.clock.unit is not None)


def open_frame(data: Any, asked: Hints, time: Any = None) -> Table:
    """The same for a frame or series of any library. time: times beside it, in place of a column or an index."""
    import narwhals.stable.v2 as nw

    data, levels = unstacked(data)
    asked = replace(asked, key=asked.keys or levels or None)
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
    content = objects.of_frames("data", iter([frame]), asked)
    content = content._replace(layout=replace(content.layout, strict=True))
    roles = resolve(content.layout, None if given is None else given.values[: len(content.layout.cells[0])].tolist())
    if given is None and roles.clock is None and not roles.keys and type(index).__name__ == "RangeIndex":
        given, as_index = (Times(np.asarray(index, dtype=np.float64)), True) if len(frame) > 1 else (None, False)
    kind = Kind(frame.implementation, "time" if given is not None else None, key=roles.keys)
    if as_index and index is not None:
        period = index.freq if type(index).__name__ == "PeriodIndex" else None
        kind = replace(kind, time=index.name, as_index=True, period=period)
    elif roles.clock is not None:
        kind = replace(kind, time=roles.time, dtype=frame[roles.clock.columns[0]].dtype, clock=roles.clock)
    return replace(_table(content, roles, Stray(asked), kind), given=given)


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
