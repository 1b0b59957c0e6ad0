"""Series out of a table: one per group and column, in the order of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.commands import _io, _times
from prophecy.commands._common import say

Array: TypeAlias = NDArray[np.float64]
Advance: TypeAlias = Callable[[str, str, Array, Any], dict[str, Array]]

HEAD = 10_000  # rows whose times are looked at


def groups(batch: Any, group: str | None) -> Iterator[tuple[str, NDArray[np.int64] | slice]]:
    """Each group in a batch and its rows; without a group column, one group called "" with all rows."""
    if group is None:
        yield "", slice(None)
        return
    encoded = batch.column(batch.schema.get_field_index(group)).dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    names = ["" if name is None else str(name) for name in encoded.dictionary.to_pylist()]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=np.iinfo(np.int64).min))
    for start, rows in zip(starts, np.split(order, starts[1:]), strict=True):
        code = codes[order[start]]
        yield (names[code] if code >= 0 else "(no group)"), rows


def remarking(table: _io.Table, command: str, irregular: bool = False, way_out: str = "") -> _io.Table:
    """The same table, which says on stderr what is odd about the times of its first series, if anything is."""
    roles = table.roles
    if roles.time is None:
        return table

    def batches() -> Iterator[Any]:
        for i, batch in enumerate(table.batches):
            if i == 0 and batch.num_rows:
                _, rows = next(groups(batch, roles.group))
                clock = batch.column(batch.schema.get_field_index(roles.time))
                remark = _times.remark(
                    clock.take(_indices(rows, batch.num_rows, batch.num_rows)[:HEAD]).to_pylist(), irregular
                )
                if remark is not None:
                    say(command, remark + (way_out if "evenly" in remark else ""))
            yield batch

    return replace(table, batches=batches())


def through(batch: Any, roles: _io.Roles, advance: Advance) -> dict[str, Array]:
    """What `advance(group, column, values, times)` says about each series' rows, as columns beside the batch.

    Its parts are named by the value column where there are several.
    """
    added: dict[str, Array] = {}
    clock = None if roles.time is None else batch.column(batch.schema.get_field_index(roles.time))
    found = list(groups(batch, roles.group))
    for name in roles.values:
        values, start = _io.floats(batch, name), "" if len(roles.values) == 1 else f"{name}_"
        for key, rows in found:
            times = clock if clock is None or isinstance(rows, slice) else clock.take(rows)
            for part, column in advance(key, name, values[rows], times).items():
                added.setdefault(f"{start}{part}", np.empty(len(values)))[rows] = column
    return added


def title(group: str, column: str) -> str:
    """What a series is called."""
    return " · ".join(part for part in (group, column) if part)


@dataclass
class _Tail:
    values: list[Array] = field(default_factory=list)
    times: list[list[Any]] = field(default_factory=list)
    held: int = 0

    def add(self, values: Array, times: list[Any], most: int) -> None:
        self.values.append(values[-most:])
        self.times.append(times[-most:])
        self.held += len(self.values[-1])
        while self.held - len(self.values[0]) >= most:
            self.held -= len(self.values.pop(0))
            self.times.pop(0)


class Tails:
    """The last rows of every group, at most `most` each."""

    def __init__(self, table: _io.Table, most: int) -> None:
        self.table, self._most = table, most
        self._tails: dict[str, _Tail] = {}

    @property
    def groups(self) -> list[str]:
        return list(self._tails)

    def add(self, batch: Any) -> None:
        roles = self.table.roles
        block = np.stack([_io.floats(batch, name) for name in roles.values], axis=1)
        clock = None if roles.time is None else batch.column(batch.schema.get_field_index(roles.time))
        for key, rows in groups(batch, roles.group):
            values = block[rows]
            cells = [] if clock is None else clock.take(_indices(rows, len(block), self._most)).to_pylist()
            self._tails.setdefault(key, _Tail()).add(values, cells, self._most)

    def values(self, key: str) -> Array:
        """(rows, columns)."""
        return np.concatenate(self._tails[key].values)[-self._most :]

    def times(self, key: str) -> list[Any] | None:
        """The time column's cells, as they were read; None without one."""
        if self.table.roles.time is None:
            return None
        return [cell for part in self._tails[key].times for cell in part][-self._most :]

    def length(self, key: str) -> int:
        return min(self._tails[key].held, self._most)


def _indices(rows: NDArray[np.int64] | slice, count: int, most: int) -> NDArray[np.int64]:
    return (np.arange(count) if isinstance(rows, slice) else rows)[-most:]


def read_tails(table: _io.Table, most: int) -> Tails:
    """Read a whole table, keeping only the last rows of each group."""
    tails = Tails(table, most)
    for batch in table.batches:
        tails.add(batch)
    if not tails.groups:
        raise ValueError(f"{table.path} has a header but no rows")
    return tails
