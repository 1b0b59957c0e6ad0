"""Series out of a table: the newest rows of every key, on their calendar."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.align import align
from prophecy.frames.build import Kind, any_library, build, time_series
from prophecy.frames.names import series_title
from prophecy.frames.roles import Hints, keys_of
from prophecy.frames.source import Source
from prophecy.frames.source import by_column as columns_of
from prophecy.frames.table import Table, floats, open_table
from prophecy.frames.times import Times, joined

Array: TypeAlias = NDArray[np.float64]


@dataclass
class _Rows:
    values: list[Array] = field(default_factory=list)
    times: list[Times] = field(default_factory=list)

    def joined(self) -> tuple[Array, Times | None]:
        values = np.concatenate(self.values)
        if not self.times:
            return values, None
        return values, joined(self.times)

    def newest(self, most: int) -> None:
        """Forget all but the newest rows."""
        values, times = self.joined()
        if len(values) > most:
            kept = np.sort(np.argsort(times.values, kind="stable")[-most:]) if times is not None else slice(-most, None)
            values, times = values[kept], None if times is None else times[kept]
        self.values, self.times = [values], [] if times is None else [times]


@dataclass(frozen=True)
class Collected:
    """Every series of a table by key, variables side by side, and how many rows were read."""

    table: Table
    sources: dict[str, Source]
    rows: int

    def units(self, joint: bool) -> dict[str, Source]:
        """What is forecast on its own, by title: every key's columns one by one, or together where they are `joint`."""
        if joint and len(self.table.roles.values) > 1:
            return {series_title(key, ", ".join(source.names)): source for key, source in self.sources.items()}
        return {title: one for source in self.sources.values() for title, one in by_column(source).items()}

    def words(self) -> str:
        """One line about what was read and assumed: "3,000 rows, every 30 min, 20 missing times filled as gaps"."""
        facts = [f"{self.rows:,} row{'s' if self.rows != 1 else ''}"]
        series = [source.series for source in self.sources.values()]
        if len(series) > 1:
            facts.append(f"{len(series):,} series")
        counted: dict[str, int] = {}
        for one in series:
            for fact in one.facts:
                counted[fact] = counted.get(fact, 0) + 1
        shown = sorted(counted, key=lambda fact: -counted[fact])
        most = shown[:6]
        facts += [
            fact if len(series) == 1 or counted[fact] == len(series) else f"{fact} ({counted[fact]:,} series)"
            for fact in most
        ]
        if len(shown) > len(most):
            facts.append("and more of the kind")
        return ", ".join([*facts, *self.table.notes])


def collect(table: Table, context: int) -> Collected:
    """Read a whole table, keeping the newest `context` rows of every series."""
    held: dict[str, _Rows] = {}
    roles, cells, count = table.roles, 0, 0
    for batch in table.batches:
        block = np.stack([floats(batch, name) for name in roles.values], axis=1)
        times = table.times(batch, count + 1)
        for key, rows in keys_of(batch, roles.key):
            mine = held.setdefault(key, _Rows())
            mine.values.append(block[rows])
            if times is not None:
                mine.times.append(times[rows])
        count += len(block)
        cells += block.size
        if cells > table.sizes.cells:
            for mine in held.values():
                mine.newest(context)
            cells = sum(mine.values[0].size for mine in held.values())
    if not count:
        raise ValueError(f"{table.path} has a header but no rows")
    sources = {key: _source(table, key, mine, context) for key, mine in held.items()}
    return Collected(table, sources, count)


def _source(table: Table, key: str, rows: _Rows, context: int) -> Source:
    values, times = rows.joined()
    try:
        series = align(values, times, table.layout.asked.duplicates == "mean", table.layout.ways)
    except ValueError as error:
        which = f"series {key}: " if key else ""
        keys = [name for name in table.texts if name != table.roles.key]
        advice = f" (for example {table.layout.ways('key', keys[0])})" if keys and "key" in str(error) else ""
        raise ValueError(f"{table.path}: {which}{error}{advice}") from None
    if len(series.values) > context:
        cut = None if series.times is None else series.times[-context:]
        series = replace(series, values=series.values[-context:], times=cut)
    roles = table.roles
    kind = Kind(time=roles.time, key=() if roles.key is None else (roles.key,))
    return Source(series, roles.values, False, kind, key if roles.key is not None else None)


def by_column(source: Source) -> dict[str, Source]:
    """Every variable of a source as a series of its own, under its title."""
    return {series_title(source.key, name): replace(one, key=source.key) for name, one in columns_of(source).items()}


def read_table(path: str | os.PathLike[str], **said: Any) -> Collected:
    """A file as a table of series, to be given to `forecast` and the like in place of its name.

    said: what is not to be found by content (`prophecy.frames.roles.Hints`): key, columns, time, time_format,
    time_zone, decimal, header, missing, skip, sheet, sep, duplicates.
    """
    given = {name: value for name, value in said.items() if value is not None}
    for name in ("columns", "missing"):
        if name in given:
            given[name] = (given[name],) if isinstance(given[name], str) else tuple(given[name])
    asked = Hints(**given)
    return collect(open_table(os.fspath(path), asked), 10**9)


def as_frame(table: Table) -> Any:
    """All columns of a table as a frame of a library that is there: times as moments, predicted columns as numbers, the
    rest as it is."""
    parts: dict[str, list[Any]] = {}
    moments: list[Times] = []
    done = 0
    for batch in table.batches:
        times = table.times(batch, done + 1)
        done += batch.num_rows
        if times is not None:
            moments.append(times)
        for name in batch.schema.names:
            if table.roles.clock is not None and name in table.roles.clock.columns:
                continue
            column = batch.column(batch.schema.get_field_index(name))
            parts.setdefault(name, []).extend(
                floats(batch, name).tolist() if name in table.roles.values else column.to_pylist()
            )
    kind = Kind(any_library(), table.roles.time)
    columns: dict[str, Any] = {} if not moments else {table.roles.time or "time": time_series(joined(moments), kind)}
    return build({**columns, **parts}, kind)
