"""Rows of a table in the order of their times, a piece at a time, for commands that answer every row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.commands._progress import Progress
from prophecy.commands._write import free_names, sink, with_columns
from prophecy.frames.align import average
from prophecy.frames.table import Table, floats
from prophecy.frames.times import Times, joined

Array: TypeAlias = NDArray[np.float64]
Piece: TypeAlias = tuple[Any, Times | None]
Advance: TypeAlias = Callable[[str, str, Array, Times | None], dict[str, Array]]


def answer(
    command: str, table: Table, advance: Advance, parts: tuple[str, ...], out: Path | None, mean: bool = False
) -> None:
    """Every row of a table, in the order of time, through `advance`; the table with its answers is written to `out`.

    mean: rows of one series and time are averaged and go through once; each of them gets the answer, and a residual of
    its own.
    """
    counted = _Doubled() if mean else None
    with sink(out) as write, Progress(command, table.size, "bytes", table.size > 1 << 22) as progress:
        for batch, times in _without_repetitions(table, _ordered(table, mean)):
            columns = _added(table, batch, times, advance, parts, counted)
            if write is not None:
                write(with_columns(batch, columns))
            progress.update(table.position())
    if counted is not None and counted.times:
        table.note(f"{counted.times:,} time{'' if counted.times == 1 else 's'} with several rows averaged")


@dataclass
class _Doubled:
    """How many times had several rows."""

    times: int = 0


def _ordered(table: Table, mean: bool) -> Iterator[Piece]:
    """Batches and the times of their rows, every series in the order of time."""
    pieces = _together(_pieces(table)) if mean else _pieces(table)
    held: list[Piece] = []
    count = 0
    for piece in pieces:
        held.append(piece)
        count += len(piece[0])
        if count > table.sizes.sorted_rows:
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
        count += len(batch)
        if times is not None and times.missing.any():
            lost += int(times.missing.sum())
            there = np.flatnonzero(~times.missing)
            batch, times = batch[there], times[there]
        if len(batch):
            yield batch, times
    if lost:
        table.note(f"{lost:,} row{'' if lost == 1 else 's'} without a time left out")


def _without_repetitions(table: Table, pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The same rows without those that say again what the row before them in their series has said."""
    last: dict[str, tuple[Any, Array]] = {}
    dropped = 0
    for batch, times in pieces:
        if times is None:
            yield batch, times
            continue
        values = np.stack([floats(batch, name) for name in table.roles.values], axis=1)
        again = np.zeros(len(batch), dtype=bool)
        for key, some in table.split(batch):
            rows = np.arange(len(batch))[some]
            moments, mine = times.values[rows], values[rows]
            before = last.get(key, (moments[:1], np.full_like(mine[:1], np.inf)))
            earlier = np.concatenate([before[0], moments[:-1]]), np.concatenate([before[1], mine[:-1]])
            same = (earlier[1] == mine) | (np.isnan(earlier[1]) & np.isnan(mine))
            again[rows] = (earlier[0] == moments) & same.all(axis=1)
            last[key] = moments[-1:], mine[-1:]
        if again.any():
            dropped += int(again.sum())
            kept = np.flatnonzero(~again)
            batch, times = batch[kept], times[kept]
        if len(batch):
            yield batch, times
    if dropped:
        table.note(f"{dropped:,} exact duplicate{'' if dropped == 1 else 's'} dropped")


def _together(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The same rows in pieces that end between two times, so that all rows of a time are in one of them."""
    import narwhals.stable.v2 as nw

    kept: Piece | None = None
    for batch, times in pieces:
        if times is None:
            yield batch, times
            continue
        if kept is not None and kept[1] is not None:
            batch = nw.concat([kept[0], batch])
            times = joined([kept[1], times])
        other = np.flatnonzero(times.values != times.values[-1])
        cut = int(other[-1]) + 1 if len(other) else 0
        kept = batch[cut:], times[cut:]
        if cut:
            yield batch[:cut], times[:cut]
    if kept is not None:
        yield kept


def _sorted(table: Table, held: list[Piece]) -> Iterator[Piece]:
    import narwhals.stable.v2 as nw

    if table.roles.clock is None or (all(_increasing(table, *piece) for piece in held) and len(held) < 2):
        yield from held
        return
    if not held:
        return
    batch = nw.concat([batch for batch, _ in held])
    times = joined([times for _, times in held if times is not None])
    if _increasing(table, batch, times):
        yield from held
        return
    order = np.argsort(times.values, kind="stable")
    table.note("reversed (newest first)" if bool((np.diff(order) < 0).all()) else "sorted")
    yield batch[order], times[order]


def _increasing(table: Table, batch: Any, times: Times | None) -> bool:
    """Whether no row of any series comes before the one above it."""
    if times is None or bool((times.values[1:] >= times.values[:-1]).all()):
        return True
    moments = (times.values[rows] for _, rows in table.split(batch))
    return bool(table.roles.keys) and all(bool((mine[1:] >= mine[:-1]).all()) for mine in moments)


def _added(
    table: Table, batch: Any, times: Times | None, advance: Advance, parts: tuple[str, ...], doubled: _Doubled | None
) -> dict[str, Array]:
    """What `advance(key, column, values, times)` gives for each series' rows, as columns to stand beside the batch."""
    roles = table.roles
    names = free_names(parts, roles.values, table.names)
    found = list(table.split(batch))
    made = {name: np.empty(len(batch)) for name in names.values()}
    for place, column in enumerate(roles.values):
        values = floats(batch, column)
        for key, rows in found:
            mine = None if times is None else times[rows]
            if doubled is None or mine is None:
                said = advance(key, column, values[rows], mine)
            else:
                said = _averaged(
                    partial(advance, key, column), values[rows], mine, doubled if not place else _Doubled()
                )
            for part in parts:
                made[names[column, part]][rows] = said[part]
    return made


def _averaged(
    advance: Callable[[Array, Times], dict[str, Array]], values: Array, times: Times, doubled: _Doubled
) -> dict[str, Array]:
    """The rows of each time go through as their average (of those that have a value)."""
    starts = np.flatnonzero(np.concatenate([[True], times.values[1:] != times.values[:-1]]))
    sizes = np.diff(np.append(starts, len(values)))
    if len(starts) == len(values):
        return advance(values, times)
    doubled.times += int((sizes > 1).sum())
    single = average(values[:, None], starts)[:, 0]
    said = {part: np.repeat(answers, sizes) for part, answers in advance(single, times[starts]).items()}
    if "residual" in said:
        said["residual"] = values - said["mean"]
    return said
