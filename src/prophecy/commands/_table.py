"""A table opened for reading in pieces: Arrow batches whose predicted columns are float64, whatever the file's format.

All other columns of text files are carried along as the very text they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.commands._csv import read_csv
from prophecy.commands._objects import read_excel, read_json, read_json_lines
from prophecy.commands._open import Opened, explained, open_bytes
from prophecy.commands._roles import Content, Layout, Roles, keys_of, resolve
from prophecy.commands._typed import read_npy, read_parquet
from prophecy.frames.times import Times
from prophecy.frames.zones import Local, zone_of

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


@dataclass
class Table:
    """A file opened for reading in pieces; `batches` can be gone through once."""

    path: str
    roles: Roles
    names: tuple[str, ...]
    opened: Opened
    batches: Iterator[Any]
    notes: list[str] = field(default_factory=list)
    texts: tuple[str, ...] = ()  # columns of text, any of which may tell series apart
    local: Local | None = None  # the zone whose clocks the times are of, where one was named
    sizes: Sizes = SIZES

    @property
    def size(self) -> int:
        return self.opened.size

    def position(self) -> int:
        return self.opened.position()

    def times(self, batch: Any, first: int = 1) -> Times | None:
        """When the rows of a batch were."""
        if self.roles.clock is None:
            return None
        times = self.roles.clock.read(batch, first)
        return times if self.local is None else self.local.read(times, keys_of(batch, self.roles.key))


@dataclass(frozen=True)
class Hints:
    """What a user said about a file's columns and its way of writing."""

    columns: Sequence[str] = ()
    time: str | None = None
    key: str | None = None
    time_format: str | None = None
    decimal: str | None = None
    header: bool | None = None
    time_zone: str | None = None


NOTHING = Hints()


READERS: dict[str, Callable[[Opened, Hints, Sizes], Content]] = {
    "csv": lambda opened, asked, sizes: read_csv(opened, asked.header, asked.decimal, sizes.piece),
    "jsonl": lambda opened, asked, sizes: read_json_lines(opened),
    "json": lambda opened, asked, sizes: read_json(opened),
    "excel": lambda opened, asked, sizes: read_excel(opened, asked.header),
    "parquet": lambda opened, asked, sizes: read_parquet(opened),
    "npy": lambda opened, asked, sizes: read_npy(opened),
}
"""By the kind that `_open` tells from a file's first bytes."""


def open_table(path: str, asked: Hints = NOTHING, sizes: Sizes = SIZES) -> Table:
    """Open a table of any kind; what was not given is found by its content, and noted."""
    opened = open_bytes(path)
    with explained(path):
        layout, batches, notes = READERS[opened.kind](opened, asked, sizes)
        roles = resolve(layout, asked.columns, asked.time, asked.key, asked.time_format)
        local = _local(asked.time_zone, roles, layout)
        texts = tuple(name for name, kind in zip(layout.names, layout.kinds, strict=True) if kind == "text")
        notes = [*notes, *roles.notes]
        return Table(opened.path, roles, layout.names, opened, batches(roles), notes, texts, local, sizes)


def _local(zone: str | None, roles: Roles, layout: Layout) -> Local | None:
    if zone is None:
        return None
    found = zone_of(zone)
    if roles.time is None:
        raise ValueError(
            f"--time-zone needs times; name their column with --time, {layout.path} has {', '.join(layout.names)}"
        )
    return Local(found, roles.time, roles.clock is not None and roles.clock.unit is not None)


def floats(batch: Any, name: str) -> Array:
    """A value column as float64, missing values as NaN."""
    column = batch.column(batch.schema.get_field_index(name))
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
