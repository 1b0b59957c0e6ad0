"""A table opened for reading in pieces: Arrow batches whose predicted columns are float64, whatever the file's format.

All other columns of text files are carried along as the very text they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.objects import read_excel, read_json, read_json_lines, read_npy, read_parquet
from prophecy.frames.opening import Opened, explained, open_bytes
from prophecy.frames.roles import Content, Hints, Layout, Roles, keys_of, resolve
from prophecy.frames.stray import Stray
from prophecy.frames.text import read_csv
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
NOTHING = Hints()


@dataclass
class Table:
    """A file opened for reading in pieces; `batches` can be gone through once."""

    path: str
    roles: Roles
    layout: Layout
    opened: Opened
    batches: Iterator[Any]
    found: list[str]  # what was noted so far
    texts: tuple[str, ...]  # columns of text, any of which may tell series apart
    local: Local | None  # the zone whose clocks the times are of, where one was named
    stray: Stray
    sizes: Sizes = SIZES

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
        return self.opened.size

    def position(self) -> int:
        return self.opened.position()

    def times(self, batch: Any, first: int = 1) -> Times | None:
        """When the rows of a batch were."""
        if self.roles.clock is None:
            return None
        times = self.roles.clock.read(batch, first, self.stray)
        return times if self.local is None else self.local.read(times, keys_of(batch, self.roles.key))


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
        texts = tuple(name for name, kind in zip(layout.names, layout.kinds, strict=True) if kind == "text")
        found = [*notes, *roles.notes]
        return Table(opened.path, roles, layout, opened, batches(roles), found, texts, local, stray, sizes)


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


def floats(batch: Any, name: str) -> Array:
    """A value column as float64, missing values as NaN."""
    column = batch.column(batch.schema.get_field_index(name))
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
