"""Rows of a table in the order of their times, for commands that answer every row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.commands._progress import Progress
from prophecy.commands._write import free_names, sink, with_columns
from prophecy.frames.align import SHELL, average, ordered, said
from prophecy.frames.table import Table, floats
from prophecy.frames.times import Times, joined

Array: TypeAlias = NDArray[np.float64]
Advance: TypeAlias = Callable[[str, str, Array, Times | None], dict[str, Array]]


def answer(
    command: str, table: Table, advance: Advance, parts: tuple[str, ...], out: Path | None, mean: bool = False
) -> None:
    """Every row of a table, in the order of time, through `advance`; the table with its answers is written to `out`.

    mean: rows of one series and time are averaged and go through once; each of them gets the answer, and a residual of
    its own.
    """
    names = free_names(parts, table.roles.values, table.names)
    met: Counter[str] = Counter()
    with sink(out) as write, Progress(command, table.size, "bytes", table.size > 1 << 22) as progress:
        for batch, times in _segments(table):
            rows, columns = _answered(table, batch, times, advance, names, mean, met)
            if write is not None:
                write(with_columns(batch[rows], {name: column[rows] for name, column in columns.items()}))
            progress.update(table.position())
    for fact in said(met):
        table.note(fact)


def _segments(table: Table) -> Iterator[tuple[Any, Times | None]]:
    """Rows and their times, as many together as are sorted at once; a cut lies between two times."""
    import narwhals.stable.v2 as nw

    held: list[Any] = []
    moments: list[Times] = []
    first = 1
    for batch in table.batches:
        times = table.times(batch, first)
        first += len(batch)
        held.append(batch)
        moments += [] if times is None else [times]
        if sum(map(len, held)) > table.sizes.sorted_rows:
            whole, times = nw.concat(held), joined(moments) if moments else None
            other = np.flatnonzero(times.values != times.values[-1]) if times is not None else [len(whole) - 1]
            cut = int(other[-1]) + 1 if len(other) else 0
            if cut:
                yield whole[:cut], None if times is None else times[:cut]
            held, moments = [whole[cut:]], [] if times is None else [times[cut:]]
    if sum(map(len, held)):
        yield nw.concat(held), joined(moments) if moments else None


def _answered(
    table: Table,
    batch: Any,
    times: Times | None,
    advance: Advance,
    names: dict[tuple[str, str], str],
    mean: bool,
    met: Counter[str],
) -> tuple[NDArray[np.intp], dict[str, Array]]:
    """Rows to write, in their order, and what `advance(key, column, values, times)` gives for each series' rows."""
    block = np.stack([floats(batch, name) for name in table.roles.values], axis=1)
    made = {name: np.full(len(batch), np.nan) for name in names.values()}
    kept = np.zeros(len(batch), dtype=bool)
    before = met["sorted"] + met["reversed"]
    for key, some in table.split(batch):
        rows = np.arange(len(batch))[some]
        starts, moments = np.arange(len(rows)), None
        if times is not None:
            try:
                found = ordered(block[rows], times[rows], mean, SHELL)
            except ValueError as error:
                raise ValueError(f"series {key}: {error}" if key else str(error)) from None
            rows, starts = rows[found.rows], found.starts
            moments = times[rows[starts]]
            met.update(found.met)
        if not len(rows):
            continue
        kept[rows] = True
        single, sizes = average(block[rows], starts), np.diff(np.append(starts, len(rows)))
        for place, column in enumerate(table.roles.values):
            answers = advance(key, column, single[:, place], moments)
            for (name, part), called in names.items():
                if name == column:
                    made[called][rows] = np.repeat(answers[part], sizes)
            if (column, "residual") in names:
                made[names[column, "residual"]][rows] = block[rows, place] - made[names[column, "mean"]][rows]
    found_rows = np.flatnonzero(kept)
    if times is not None and met["sorted"] + met["reversed"] > before:
        found_rows = found_rows[np.argsort(times.values[found_rows], kind="stable")]
    return found_rows, made
