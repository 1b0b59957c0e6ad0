"""Forecasts of a table in many Parquet files, shared among the workers of a Dask cluster: a file in, a file out.

A task reads one partition, forecasts its series and writes one file under a name of its own, which it gets when it is
whole. So a worker may die at any moment: its tasks run again elsewhere, and a task that ran twice wrote the same file.
Workers need to reach the files by the same paths as the one who asks. The series of a key must lie in one partition.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from prophecy import _checks, _files
from prophecy._forecast import Failure, Forecast
from prophecy.frames.collect import split
from prophecy.frames.source import Key, Source
from prophecy.tables.forecasting import Forecasts, Season, forecast_sources

SENT = 256
"""Series sent to a worker at a time, at most: seconds of work."""

RETRIES = 5
"""How often a task is tried again after an error that is not a series' own: a file system that was away, for one."""


class PartitionTask(NamedTuple):
    """What is asked of every partition. options: level, bounds and settings of `forecast`."""

    horizon: int
    key: tuple[str, ...]
    time: str | None
    columns: tuple[str, ...] | None
    season: Season
    quantiles: tuple[float, ...]
    duplicates: str
    options: dict[str, Any]


class Done(NamedTuple):
    """A partition that is written. keys: its series; errors: those that failed, and why."""

    target: str
    keys: list[Key]
    errors: dict[Key, str]


def partitions(path: str | os.PathLike[str]) -> list[Path]:
    """The Parquet files of a folder, in order, or the one file."""
    found = Path(path)
    if found.is_dir():
        files = sorted(file for file in found.rglob("*.parquet") if file.is_file())
        if not files:
            raise FileNotFoundError(
                f"folder {str(found)!r} holds no .parquet files; name the folder of a table, or one file"
            )
        return files
    if not found.is_file():
        raise FileNotFoundError(f"no such file: {found}")
    return [found]


def forecast_partitions(
    sources: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    client: Any,
    asked: PartitionTask,
    progress: Callable[[int, int], None] | None = None,
    resume: bool = False,
) -> list[Done]:
    """Forecast every partition, in order; the files of `out` are called as their number: part-00000.parquet …

    Files of `out` that are there already are kept with `resume`, and refused without.
    """
    from distributed import as_completed

    folder = Path(out).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if not resume and any(folder.iterdir()):
        raise ValueError(f"{str(out)!r} is not empty; name another folder, or resume the run that filled it")
    _check_apart([str(Path(source).resolve()) for source in sources], client, asked.key)
    targets = [folder / f"part-{number:05d}.parquet" for number in range(len(sources))]
    left = [number for number, target in enumerate(targets) if not target.exists()]
    paths = [(str(Path(sources[number]).resolve()), str(targets[number])) for number in left]
    task = partial(_forecast_partition, asked=asked)
    futures = client.map(task, paths, retries=RETRIES, pure=False, batch_size=1000)
    done: list[Done] = []
    try:
        for _, found in as_completed(futures, with_results=True):
            done.append(found)
            if progress is not None:
                progress(len(targets) - len(left) + len(done), len(targets))
    finally:
        client.cancel(futures)
    return sorted(done)


def _check_apart(sources: Sequence[str], client: Any, key: tuple[str, ...]) -> None:
    """Refuse keys that lie in several partitions, before any work: each of their forecasts would see a part of the
    series. Workers read the columns of the key alone."""
    from distributed import as_completed

    futures = client.map(partial(_keys_of, key=key), sources, retries=RETRIES, pure=False, batch_size=1000)
    seen: dict[tuple[Any, ...], str] = {}
    try:
        for _, (source, keys) in as_completed(futures, with_results=True):
            for one in keys:
                if one in seen:
                    names = " and ".join(sorted((Path(seen[one]).name, Path(source).name)))
                    shown = one if len(one) > 1 else one[0]
                    wrong = f"series {shown!r} lies in two partitions ({names})"
                    raise ValueError(f"{wrong}; partition the table by its key")
                seen[one] = source
    finally:
        client.cancel(futures)


def _keys_of(source: str, key: tuple[str, ...]) -> tuple[str, list[tuple[Any, ...]]]:
    """The keys of one partition; none where it lacks a column: its task then fails with the better message."""
    import pyarrow.parquet as parquet

    if not set(key) <= set(parquet.read_schema(source).names):
        return source, []
    table = parquet.read_table(source, columns=list(key)).group_by(list(key)).aggregate([])
    return source, list(zip(*(table[name].to_pylist() for name in key), strict=True))


def _forecast_partition(paths: tuple[str, str], asked: PartitionTask) -> Done:
    """One file into another, on a worker."""
    import pyarrow.parquet as parquet

    source, target = paths
    table = parquet.read_table(source)
    index = [name for name in table.column_names if name.startswith("__index_level_")]
    table = table.drop_columns(index)  # row numbers that pandas stored without being asked
    found = dict(_sources(table, asked))
    good = {key: one for key, one in found.items() if isinstance(one, Source)}
    made: dict[Key, Forecast | Failure] = dict(
        forecast_sources(good, asked.horizon, asked.season, None, asked.options, 1, None)
    )
    made |= {key: one for key, one in found.items() if isinstance(one, Failure)}
    errors = {key: str(one.error) for key, one in made.items() if isinstance(one, Failure)}
    _write(_table(made, errors, asked, table.schema), target)
    return Done(target, list(made), errors)


def _sources(table: Any, asked: PartitionTask) -> Iterator[tuple[Key, Source | Failure]]:
    """The series of a partition; where one of them cannot be read, the others still are."""
    columns = None if asked.columns is None else list(asked.columns)
    key = asked.key if len(asked.key) > 1 else asked.key[0]
    try:
        yield from split(table, key, asked.time, columns, asked.duplicates).items()
        return
    except ValueError as error:
        if asked.key[0] not in str(error):
            raise
    import pyarrow.compute as compute

    for cells in table.select(list(asked.key)).group_by(list(asked.key)).aggregate([]).to_pylist():
        chosen = None
        for name, cell in cells.items():
            same = compute.is_null(table[name]) if cell is None else compute.equal(table[name], cell)
            chosen = same if chosen is None else compute.and_(chosen, same)
        one: Key = tuple(cells[name] for name in asked.key) if len(asked.key) > 1 else cells[asked.key[0]]
        try:
            yield from split(table.filter(chosen), key, asked.time, columns, asked.duplicates).items()
        except ValueError as error:
            yield one, Failure(0, error)


def _table(made: dict[Key, Forecast | Failure], errors: dict[Key, str], asked: PartitionTask, schema: Any) -> Any:
    """Forecasts below each other with a column `error`; a series that failed has one row, which says why."""
    import pyarrow

    frames = []
    good = {key: one for key, one in made.items() if isinstance(one, Forecast)}
    if good:
        frame = Forecasts(good).to_frame(asked.quantiles)
        frames.append(frame.append_column("error", pyarrow.nulls(len(frame), pyarrow.string())))
    if errors:
        cells = [key if len(asked.key) > 1 else (key,) for key in errors]
        columns = {
            name: pyarrow.array([cell[i] for cell in cells], schema.field(name).type)
            for i, name in enumerate(asked.key)
        }
        frames.append(pyarrow.table(columns | {"error": pyarrow.array(list(errors.values()), pyarrow.string())}))
    return pyarrow.concat_tables(frames, promote_options="permissive") if frames else pyarrow.table({})


def _write(table: Any, target: str) -> None:
    """The whole file or none."""
    import pyarrow.parquet as parquet

    with _files.replacing(target) as temporary:
        parquet.write_table(table, temporary)


def solve_on(
    client: Any, solve: Callable[[Any], Forecast], tasks: Sequence[Any], progress: Callable[[int, int], None] | None
) -> list[Forecast | Failure]:
    """solve(task) for every task on the workers of a Dask client, in order, with a `Failure` where it raised."""
    from distributed import as_completed

    size = max(1, min(SENT, len(tasks) // (4 * max(1, sum(client.nthreads().values())))))
    pieces = [(first, list(tasks[first : first + size])) for first in range(0, len(tasks), size)]
    futures = client.map(partial(_solve_piece, solve), pieces, retries=RETRIES, pure=False)
    made: list[Forecast | Failure] = [Failure(k, RuntimeError("not solved")) for k in range(len(tasks))]
    done = 0
    try:
        for _, (first, answers) in as_completed(futures, with_results=True):
            made[first : first + len(answers)] = answers
            done += len(answers)
            if progress is not None:
                progress(done, len(tasks))
    finally:
        client.cancel(futures)
    return made


def _solve_piece(
    solve: Callable[[Any], Forecast], piece: tuple[int, list[Any]]
) -> tuple[int, list[Forecast | Failure]]:
    first, tasks = piece
    answers: list[Forecast | Failure] = []
    for k, task in enumerate(tasks):
        try:
            answers.append(solve(task))
        except Exception as error:  # it is this series' alone; it is handed to the caller
            answers.append(Failure(first + k, error))
    return first, answers


def partition_task(
    horizon: int,
    key: str | Sequence[str],
    time: str | None,
    columns: str | Sequence[str] | None,
    season: Season,
    quantiles: Sequence[float],
    duplicates: str,
    options: dict[str, Any],
) -> PartitionTask:
    """The same for every partition, checked once."""
    keys = (key,) if isinstance(key, str) else tuple(key)
    names = None if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
    return PartitionTask(
        _checks.whole("horizon", horizon), keys, time, names, season, tuple(quantiles), duplicates, options
    )


__all__ = ["Done", "PartitionTask", "forecast_partitions", "partition_task", "partitions", "solve_on"]
