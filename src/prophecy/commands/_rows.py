"""Rows of a table in the order of their times, a piece at a time, for commands that answer every row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.commands._collect import keys_of
from prophecy.commands._progress import Progress
from prophecy.commands._table import Table, floats
from prophecy.commands._write import free_names
from prophecy.frames.times import Times

Array: TypeAlias = NDArray[np.float64]
Piece: TypeAlias = tuple[Any, Times | None]
Advance: TypeAlias = Callable[[str, str, Array, Times | None], dict[str, Array]]

SORTED = 1_000_000  # rows up to which a table is held and sorted; longer ones are read in pieces and must be in order


def in_order(command: str, table: Table) -> Iterator[Piece]:
    """Batches and the times of their rows, every series in the order of time; says how far it is."""
    with Progress(command, table.size, "bytes", table.size > 1 << 22) as progress:
        for batch, times in _ordered(table):
            yield batch, times
            progress.update(table.position())


def _ordered(table: Table) -> Iterator[Piece]:
    pieces = _pieces(table)
    held: list[Piece] = []
    count = 0
    for piece in pieces:
        held.append(piece)
        count += piece[0].num_rows
        if count > SORTED:
            break
    else:
        yield from _sorted(table, held)
        return
    yield from chain(held, pieces)


def _pieces(table: Table) -> Iterator[Piece]:
    """Batches with their times; rows without a time are left out and counted."""
    count = lost = 0
    for batch in table.batches:
        times = table.times(batch, count + 1)
        count += batch.num_rows
        if times is not None and times.missing.any():
            lost += int(times.missing.sum())
            there = np.flatnonzero(~times.missing)
            batch, times = batch.take(there), times[there]
        if batch.num_rows:
            yield batch, times
    if lost:
        table.notes.append(f"{lost:,} row{'' if lost == 1 else 's'} without a time left out")


def _sorted(table: Table, held: list[Piece]) -> Iterator[Piece]:
    import pyarrow as pa

    if table.roles.clock is None or (all(_increasing(*piece, table.roles.key) for piece in held) and len(held) < 2):
        yield from held
        return
    if not held:
        return
    whole = pa.Table.from_batches([batch for batch, _ in held]).combine_chunks()
    finest = [times.values for _, times in held if times is not None]
    times = Times(np.concatenate(finest), held[-1][1].zone if held[-1][1] is not None else None)
    (batch,) = whole.to_batches()
    if _increasing(batch, times, table.roles.key):
        yield from held
        return
    order = np.argsort(times.values, kind="stable")
    table.notes.append("turned round (newest first)" if bool((np.diff(order) < 0).all()) else "sorted")
    yield batch.take(pa.array(order)), times[order]


def _increasing(batch: Any, times: Times | None, key: str | None) -> bool:
    """Whether no row of any series comes before the one above it."""
    if times is None or bool((times.values[1:] >= times.values[:-1]).all()):
        return True
    return (
        all(bool((times.values[rows][1:] >= times.values[rows][:-1]).all()) for _, rows in keys_of(batch, key))
        if key is not None
        else False
    )


def added(table: Table, piece: Piece, advance: Advance, parts: tuple[str, ...]) -> dict[str, Array]:
    """What `advance(key, column, values, times)` says about each series' rows, as columns to stand beside the batch."""
    batch, times = piece
    roles = table.roles
    names = free_names(parts, roles.values, table.names)
    found = list(keys_of(batch, roles.key))
    made = {name: np.empty(batch.num_rows) for name in names.values()}
    for column in roles.values:
        values = floats(batch, column)
        for key, rows in found:
            said = advance(key, column, values[rows], None if times is None else times[rows])
            for part in parts:
                made[names[column, part]][rows] = said[part]
    return made
