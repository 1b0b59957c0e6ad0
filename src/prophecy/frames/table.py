"""A table opened for reading in pieces: value columns are float64, whatever the source; all others as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.clock import as_times, column_of, in_narwhals, is_clock
from prophecy.frames.columns import Hints, Layout
from prophecy.frames.objects import described_frame, read_excel, read_json, read_json_lines, read_npy, read_parquet
from prophecy.frames.opening import Opened, explained, open_bytes
from prophecy.frames.roles import Content, Roles, keys_of, resolve, spread_over_columns
from prophecy.frames.source import Kind
from prophecy.frames.stray import Stray
from prophecy.frames.text import read_csv
from prophecy.frames.times import Times, zone_of
from prophecy.frames.zones import Local

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


@dataclass
class Table:
    """A file or frame opened for reading in pieces; `batches` can be gone through once."""

    path: str
    roles: Roles
    layout: Layout
    batches: Iterator[Any]  # Arrow batches of a file; of a frame, its columns by name
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
    def texts(self) -> tuple[str, ...]:
        """Columns of text, any of which may tell series apart."""
        return tuple(name for name in self.names if self.layout.kind(name) == "text")

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
        return times if self.local is None else self.local.read(times, keys_of(batch, self.roles.keys))


READERS: dict[str, Callable[[Opened, Hints, Sizes], Content]] = {
    "csv": lambda opened, asked, sizes: read_csv(opened, asked, sizes.piece),
    "jsonl": lambda opened, asked, sizes: read_json_lines(opened, asked),
    "json": lambda opened, asked, sizes: read_json(opened, asked),
    "excel": lambda opened, asked, sizes: read_excel(opened, asked),
    "parquet": lambda opened, asked, sizes: read_parquet(opened, asked),
    "npy": lambda opened, asked, sizes: read_npy(opened, asked),
}
"""By the kind that `opening` tells from a file's first bytes."""


def open_table(source: str | bytes, asked: Hints = NOTHING, sizes: Sizes = SIZES) -> Table:
    """Open a table of any kind (bytes: a text table); what was not given is found by its content, and noted."""
    opened = open_bytes(source)
    with explained(opened.path):
        layout, batches, notes, stray = READERS[opened.kind](opened, asked, sizes)
        roles = resolve(layout)
        local = _local(asked.time_zone, roles, layout)
        kind = Kind(time=roles.time, key=roles.keys)
        found = [*notes, *roles.notes]
        return Table(opened.path, roles, layout, batches(roles), stray, found, kind, opened, local, sizes=sizes)


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
    layout, notes = described_frame("data", frame, asked)
    layout = replace(layout, strict=True)
    roles = resolve(layout, None if given is None else given.values[: len(layout.cells[0])].tolist())
    if given is None and roles.clock is None and not roles.keys and type(index).__name__ == "RangeIndex":
        given, as_index = (Times(np.asarray(index, dtype=np.float64)), True) if len(frame) > 1 else (None, False)
    kind = Kind(frame.implementation, "time" if given is not None else None, key=roles.keys)
    if as_index and index is not None:
        period = index.freq if type(index).__name__ == "PeriodIndex" else None
        kind = replace(kind, time=index.name, as_index=True, period=period)
    elif roles.clock is not None:
        kind = replace(kind, time=roles.time, dtype=frame[roles.clock.columns[0]].dtype, clock=roles.clock)
    stray = Stray(asked, layout.styles)
    return Table("data", roles, layout, _whole(frame, roles, stray), stray, [*notes, *roles.notes], kind, given=given)


def _whole(frame: Any, roles: Roles, stray: Stray) -> Iterator[dict[str, Any]]:
    """The columns of a frame in one piece, by name."""
    import narwhals.stable.v2 as nw

    numbers = {name: stray.read(name, frame[name]) for name in roles.values}
    values = {name: nw.new_series(name, part, backend=frame.implementation) for name, part in numbers.items()}
    yield {name: values.get(name, frame[name]) for name in frame.columns}
    stray.finish()


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
    return np.asarray(column_of(batch, name).to_numpy(), dtype=np.float64)
