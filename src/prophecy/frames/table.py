"""Tables: files and frames of any kind as numbers, times and keys, row by row."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prophecy._arrays import Array, Counts
from prophecy.frames import objects
from prophecy.frames.columns import NOTHING, Hints, Layout
from prophecy.frames.names import as_text
from prophecy.frames.opening import explained, open_bytes
from prophecy.frames.roles import Roles, resolve
from prophecy.frames.rows import read_text
from prophecy.frames.source import Key, Kind, as_times, in_narwhals, is_dated, is_numbered
from prophecy.frames.times import Times, in_zone, zone_of

READERS = {
    "csv": read_text, "jsonl": objects.read_json, "json": objects.read_json, "excel": objects.read_excel,
    "parquet": objects.read_parquet, "npy": objects.read_npy,
}  # fmt: skip
"""By the kind that `opening` tells from a file's first bytes."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read. values: (rows, variables), NaN where they are missing. times: of the rows, None without.

    keys: of the series, in the order they begin; "" alone without a key column. codes: of each row, the place of its
    key among them. notes: what was assumed and passed over.
    """

    layout: Layout
    roles: Roles
    kind: Kind
    values: Array
    times: Times | None
    keys: list[Key]
    codes: Counts
    notes: list[str]

    def rows(self) -> Any:
        """All columns, those of values as numbers and the others as they are, as a narwhals frame."""
        import narwhals.stable.v2 as nw

        frame = self.layout.frame
        made = zip(self.roles.values, self.values.T, strict=True)
        return frame.with_columns(*(nw.new_series(*one, nw.Float64, backend=frame.implementation) for one in made))

    def split(self) -> dict[Key, Counts]:
        """The rows of each key, in their order."""
        return dict(zip(self.keys, _rows_by_code(self.codes), strict=True))


def _rows_by_code(codes: Counts) -> list[Counts]:
    """The rows of each code from 0 on, in order."""
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])


def open_table(source: str | bytes, asked: Hints = NOTHING) -> Table:
    """A table of any kind (bytes: a text table); what was not given is found by its content, and noted."""
    opened = open_bytes(source)
    with explained(opened.path):
        layout = READERS[opened.kind](opened, asked)
        roles = resolve(layout)
        return _table(layout, roles, Kind(time=roles.time, key=roles.keys))


def _table(layout: Layout, roles: Roles, kind: Kind, times: Times | None = None) -> Table:
    """The columns that have roles, read. times: those that are no column."""
    zone, clock = layout.asked.time_zone, roles.clock
    if zone is not None and clock is None:
        there = f"name their column with {layout.ways('time')}, {layout.path} has {', '.join(layout.names)}"
        raise ValueError(f"{layout.ways('time_zone')} needs times; {there}")
    words = [name for name in roles.values if layout[name].kind == "text"]
    numbers = [layout[name] for name in roles.values if name not in words]
    codes = filter(None, (column.code() for column in numbers))
    notes = [*layout.notes, *roles.notes, *codes, *(note for column in numbers for note in column.said())]
    made = {column.name: column.numbers for column in numbers}
    for name in words:
        made |= layout[name].flags()
    roles, values = roles._replace(values=tuple(made)), np.stack(list(made.values()), axis=1)
    keys, places = _keys(layout, roles)
    if clock is not None:
        times, said = clock.read(layout)
        notes += said
        if zone is not None:
            named, utc = roles.time or "time", clock.unit is not None
            times = in_zone(times, zone_of(zone), _rows_by_code(places), named, utc)
    return Table(layout, roles, kind, values, times, keys, places, notes)


def _keys(layout: Layout, roles: Roles) -> tuple[list[Key], Counts]:
    """The keys in the order they begin, and the place of each row's key among them. Keys of files are text, joined
    where there are several columns; those of frames are the cells, or tuples."""
    if not roles.keys:
        return [""], np.zeros(len(layout.frame), np.int64)
    rows: Any = zip(*(layout[name].cells.to_list() for name in roles.keys), strict=True)
    if not layout.strict:
        rows = ("(no key)" if None in row else as_text(row) for row in rows)
    elif len(roles.keys) == 1:
        rows = (cell for (cell,) in rows)
    numbers: dict[Key, int] = {}
    codes = np.fromiter((numbers.setdefault(key, len(numbers)) for key in rows), np.int64, len(layout.frame))
    return list(numbers), codes


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
    if not all(isinstance(name, str) for name in frame.columns):  # numbers or tuples, as pandas has them
        frame = nw.from_native(frame.to_native().set_axis([*map(as_text, frame.columns)], axis=1), eager_only=True)
    index = nw.maybe_get_index(frame)
    given, as_index = None if time is None else as_times(time), False
    if given is not None and len(given) != len(frame):
        raise ValueError(f"time has {len(given)} moments for {len(frame)} rows; give one for each")
    if given is None and asked.time is None and index is not None and is_dated(index):
        given, as_index = as_times(index), True
    layout = replace(objects.of_frame("data", frame.to_native(), asked), strict=True)
    roles = resolve(layout, None if given is None else given.values[: len(layout[layout.names[0]].first)].tolist())
    if given is None and roles.clock is None and not roles.keys and len(frame) > 1 and is_numbered(index):
        given, as_index = Times(np.asarray(index, dtype=np.float64)), True
    kind = Kind(frame.implementation, "time" if given is not None else None, key=roles.keys)
    if as_index and index is not None:
        period = index.freq if type(index).__name__ == "PeriodIndex" else None
        kind = replace(kind, time=index.name, as_index=True, period=period)
    elif roles.clock is not None:
        kind = replace(kind, time=roles.time, dtype=frame[roles.clock.columns[0]].dtype, clock=roles.clock)
    return _table(layout, roles, kind, given)


def unstacked(data: Any) -> tuple[Any, tuple[str, ...]]:
    """A pandas frame whose index has several levels as one with columns in their place, and the levels that are keys:
    all but that of the times. Other frames as they are."""
    index = getattr(data, "index", None)
    if type(index).__name__ != "MultiIndex" or index is None:
        return data, ()
    names = [str(name) if name is not None else f"level_{i}" for i, name in enumerate(index.names)]
    frame = data.to_frame(data.name if data.name is not None else "value") if data.ndim == 1 else data
    dated = [i for i, level in enumerate(index.levels) if is_dated(level)]
    time = dated[0] if dated else len(names) - 1
    return frame.reset_index(names=names), tuple(name for i, name in enumerate(names) if i != time)
