"""Forecasts of a table in many Parquet files, shared among the workers of a Dask cluster (extra `dask`).

A task reads one partition, forecasts its series and writes one file, which gets its final name once it is complete.
So a worker may die at any moment: its tasks run again elsewhere, and a task that ran twice wrote the same file.
Workers need to reach the files by the same paths as the caller. The series of a key must lie in one partition.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
from pyarrow import parquet

from prophecy import _files
from prophecy.frames.collect import split
from prophecy.frames.source import Key
from prophecy.tables.forecasting import Asked

RETRIES = 5  # of a task after an error that is not a series' own: a file system that was away, for one


class PartitionTask(NamedTuple):
    """What is asked of every partition, as in `forecast_many`."""

    each: Asked
    key: str | Sequence[str]
    time: str | None = None
    columns: str | Sequence[str] | None = None
    quantiles: Sequence[float] = ()
    duplicates: str = "refuse"

    @property
    def keys(self) -> list[str]:
        return [self.key] if isinstance(self.key, str) else list(self.key)


class Done(NamedTuple):
    """A partition that has been written. keys: its series; errors: those that failed, and why."""

    target: str
    keys: list[Key]
    errors: dict[Key, str]


def partitions(path: str | os.PathLike[str]) -> list[Path]:
    """The Parquet files of a folder, in order, or the one file."""
    found = Path(path)
    if found.is_file():
        return [found]
    if not found.is_dir():
        raise FileNotFoundError(f"no such file: {found}")
    if files := sorted(file for file in found.rglob("*.parquet") if file.is_file()):
        return files
    raise FileNotFoundError(f"folder {str(found)!r} holds no .parquet files; name the folder of a table, or one file")


def forecast_partitions(
    sources: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    client: Any,
    asked: PartitionTask,
    progress: Callable[[int, int], None] | None = None,
    resume: bool = False,
) -> list[Done]:
    """Forecast every partition, in order; the files of `out` are called as their number: part-00000.parquet …

    Existing files of `out` are kept with `resume`, and are an error without it.
    """
    folder = Path(out).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if not resume and any(folder.iterdir()):
        raise ValueError(f"{str(out)!r} is not empty; name another folder, or resume the run that filled it")
    paths = [str(Path(source).resolve()) for source in sources]
    # Keys that lie in several partitions are refused before any work: each of their forecasts would see a part of the
    # series. Workers read the columns of the key alone.
    seen: dict[tuple[Any, ...], str] = {}
    for source, keys in by_workers(client, partial(_keys_of, key=asked.keys), paths):
        for one in keys:
            if one in seen:
                names = " and ".join(sorted((Path(seen[one]).name, Path(source).name)))
                wrong = f"series {one if len(one) > 1 else one[0]!r} lies in two partitions ({names})"
                raise ValueError(f"{wrong}; partition the table by its key")
            seen[one] = source
    targets = [folder / f"part-{number:05d}.parquet" for number in range(len(paths))]
    left = [(path, str(target)) for path, target in zip(paths, targets, strict=True) if not target.exists()]
    done: list[Done] = []
    for found in by_workers(client, partial(_forecast_partition, asked=asked), left):
        done.append(found)
        if progress is not None:
            progress(len(targets) - len(left) + len(done), len(targets))
    return sorted(done)


def by_workers(client: Any, one: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    """Results of one(item) on the workers of a Dask client, in the order in which they finish."""
    from distributed import as_completed

    futures = client.map(one, items, retries=RETRIES, pure=False, batch_size=1000)
    try:
        for _, found in as_completed(futures, with_results=True):
            yield found
    finally:
        client.cancel(futures)


def _keys_of(source: str, key: Sequence[str]) -> tuple[str, list[tuple[Any, ...]]]:
    """The keys of one partition; none where it lacks a column: its task then fails with the better message."""
    if not set(key) <= set(parquet.read_schema(source).names):
        return source, []
    table = parquet.read_table(source, columns=list(key)).group_by(list(key)).aggregate([])
    return source, list(zip(*(table[name].to_pylist() for name in key), strict=True))


def _forecast_partition(paths: tuple[str, str], asked: PartitionTask) -> Done:
    """One file into another, on a worker."""
    source, target = paths
    table = parquet.read_table(source)
    index = [name for name in table.column_names if name.startswith("__index_level_")]
    table = table.drop_columns(index)  # row numbers that pandas stored without being asked
    made = asked.each.many(split(table, asked.keys, asked.time, asked.columns, asked.duplicates, keep=True), 1)
    errors = {key: str(one.error) for key, one in made.failures.items()}
    with _files.replacing(target) as temporary:
        parquet.write_table(_table(made, errors, asked, table.schema), temporary)
    return Done(target, [*made], errors)


def _table(made: Any, errors: dict[Key, str], asked: PartitionTask, schema: Any) -> Any:
    """Forecasts below each other with a column `error`; a series that failed has one row, which says why."""
    frames = []
    if len(made) > len(made.failures):
        frame = made.to_frame(asked.quantiles)
        frames.append(frame.append_column("error", pyarrow.nulls(len(frame), pyarrow.string())))
    if errors:
        cells = zip(*(key if len(asked.keys) > 1 else (key,) for key in errors), strict=True)
        named = zip(asked.keys, cells, strict=True)
        columns = {name: pyarrow.array(column, schema.field(name).type) for name, column in named}
        frames.append(pyarrow.table(columns | {"error": pyarrow.array(list(errors.values()), pyarrow.string())}))
    return pyarrow.concat_tables(frames, promote_options="permissive") if frames else pyarrow.table({})
