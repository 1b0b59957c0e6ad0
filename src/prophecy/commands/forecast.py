"""`prophecy forecast`: what a file's series will do next."""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice, repeat
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from prophecy import _interrupts, _machine
from prophecy._arrays import Array
from prophecy._forecast import Failure, Forecast
from prophecy.commands import _options
from prophecy.commands._common import INTERRUPTED, Progress, digits_between, say, show
from prophecy.commands._write import Journal, as_table, free_names, plan_of, sink
from prophecy.frames.collect import Collected, collect
from prophecy.frames.columns import Hints
from prophecy.frames.names import count, series_title
from prophecy.frames.roles import Roles
from prophecy.frames.source import Kind, Source, time_series
from prophecy.frames.table import open_table
from prophecy.tables.forecasting import Asked
from prophecy.tables.pictures import MOST, Panel, Picture, of_forecast, save
from prophecy.tables.regressors import Regressors

if TYPE_CHECKING:
    from prophecy.adapters.dask import PartitionTask

AT_ONCE = 64  # series solved between two writes: some seconds of work
NAMED = 5  # series of partitions that failed named on stderr; all are in the column `error`
SAID = 6  # facts about series in one line
PRINTED = 20  # series in the table on stdout: a screen


@_options.command
def forecast(
    file: str,
    asked: Hints,
    horizon: int,
    level: float = 0.9,
    quantiles: str | None = None,
    season: str | None = None,
    least: float | None = None,
    most: float | None = None,
    known: Path | None = None,
    joint: bool = False,
    context: int = 100_000,
    jobs: int | None = None,
    out: Path | None = None,
    resume: bool = False,
    plot: Path | None = None,
    dask: str | None = None,
) -> None:
    """Forecast the rows after the last one, with intervals, from the file alone.

    Examples:
      prophecy forecast power.csv --horizon 48 --plot power.html
      prophecy forecast sales.parquet --key shop --horizon 12 --min 0 --quantiles 0.1,0.9 --out next.csv
      prophecy forecast sales/ --key item --horizon 12 --dask local --out next/
      prophecy forecast lorenz.npy --joint --horizon 300 --plot lorenz.png

    Rows are sorted by time, missing times become gaps, and a line on stderr says what was assumed. Finished series are
    kept in OUT.part; after Ctrl-C, --resume continues with the rest.
    """
    _options.check(file, out if dask is None else None, plot, resume and dask is None)
    seasons = _options.numbers("--season", season, 1, 1e7) or None
    extra = _options.numbers("--quantiles", quantiles, 0, 1)
    bounds = _options.bounds(least, most)
    if dask is not None:
        if not asked.key or joint or plot is not None or known is not None or asked.time_zone is not None:
            raise typer.BadParameter("--dask needs --key, and does without --joint, --plot, --known, --time-zone")
        from prophecy.adapters.dask import PartitionTask

        solved, columns = Asked(horizon, level, seasons, bounds), asked.columns or None
        task = PartitionTask(solved, asked.key, asked.time, columns, extra, asked.duplicates)
        _on_workers(dask, file, out, task, jobs, resume)
        return
    found, regressors = read(file, asked, context, known)
    units = units_of(found, joint)
    each = Asked(horizon, level, seasons, bounds, regressors)
    bounded = {"horizon": horizon, "level": level, "bounds": bounds, "season": seasons}
    plan = plan_of(file, asked, **bounded, quantiles=extra, joint=joint, context=context)
    journal = None if out is None else Journal(out, plan, resume)
    shown = _Shown()
    try:
        with (
            _interrupts.last_words(lambda: f"prophecy forecast: {shown.stopped(journal, len(units))}"),
            contextlib.nullcontext() if journal is None else journal,
        ):
            _solve(units, each, jobs, journal, shown, extra)
            if journal is not None and out is not None:
                _written(journal, out, found.table.roles, units, horizon, [*_parts(extra)])
    except KeyboardInterrupt:
        say(shown.stopped(journal, len(units)))
        if journal is None and shown.done:
            shown.print(len(units), None)
        raise typer.Exit(INTERRUPTED) from None
    if plot is not None and shown.panels:
        save(Picture(f"Forecast of {Path(file).name}", shown.panels, shown.remarks), plot)
    shown.print(len(units), out)


class _Shown:
    """The little that is kept of every forecast for the table and the picture."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = [["series", "rows", "method", "first", "last"]]
        self.panels: list[Panel] = []
        self.remarks: list[str] = []
        self.done = self.failed = 0

    def add(self, title: str, source: Source, made: Forecast) -> None:
        self.done += 1
        if len(self.panels) < MOST:
            self.panels += of_forecast(made, source, title)[: MOST - len(self.panels)]
            self.remarks.append(f"{title}: " + " ".join(line.strip() for line in made.explain().splitlines()))
        for i, name in enumerate(source.names):
            if len(self.rows) <= PRINTED:
                parts = [
                    np.asarray(part, dtype=np.float64).reshape(-1, len(source.names))[:, i]
                    for part in (made.point, made.lower, made.upper)
                ]
                first, last = (_text(*(float(part[end]) for part in parts)) for end in (0, -1))
                label = title if len(source.names) == 1 else series_title(source.key, name)
                self.rows.append(
                    [label, f"{len(source.series.values) - source.series.filled:,}", made.method, first, last]
                )

    def print(self, total: int, out: Path | None) -> None:
        more = self.done - (len(self.rows) - 1)
        after = f"… and {more:,} more series" + ("" if out else "; write them with --out") if more > 0 else ""
        show(self.rows, left=(0, 2), after=after)

    def stopped(self, journal: Journal | None, total: int) -> str:
        if journal is None:
            return f"stopped after {self.done:,} of {total:,} series; with --out they are kept"
        return f"stopped; {journal.kept:,} of {total:,} series are in {journal.path}: go on with --resume"


def _solve(
    units: dict[str, Source], each: Asked, jobs: int | None, journal: Journal | None, shown: _Shown,
    extra: tuple[float, ...],
) -> None:  # fmt: skip
    """All series, some at a time, each noted as soon as it is there."""
    done = set() if journal is None else journal.done()
    left = {title: source for title, source in units.items() if title not in done}
    if len(left) < len(units):
        say(f"{len(units) - len(left):,} of {len(units):,} series were done already")
    first: Failure | None = None

    def note(made: Mapping[Any, Forecast | Failure]) -> None:
        nonlocal first
        for title, answer in made.items():
            if isinstance(answer, Failure):
                first = first or answer
                shown.failed += 1
                say(f"series {title}: {answer.error}")
                continue
            if journal is not None:
                parts = (np.asarray(part(answer), np.float64) for part in _parts(extra).values())
                journal.add(title, np.stack([*parts]))
            shown.add(title, units[title], answer)

    progress, before = Progress(len(units), "series"), len(units) - len(left)
    for some in _chunks(left, AT_ONCE if (jobs or _machine.cores()) > 1 else 1):
        try:
            note(each.many(some, jobs, progress.after(before)))
        except KeyboardInterrupt as stop:
            note(getattr(stop, "finished", {}))
            raise
        before += len(some)
    if first is not None and shown.failed == len(units):
        raise ValueError("no series could be forecast")


def _chunks(units: dict[str, Source], size: int) -> Iterator[dict[str, Source]]:
    """Some series at a time. The first comes alone and is solved here: what that loads, the processes then share."""
    items = iter(units.items())
    for many in chain([1], repeat(size)):
        if not (some := dict(islice(items, many))):
            return
        yield some


def read(file: str, asked: Hints, context: int, known: Path | None = None) -> tuple[Collected, Any]:
    """The series of a file, and regressors of another where there is one; what was assumed is said."""
    found = collect(open_table(file, asked), context)
    say(f"{Path(file).name}: {words(found)}")
    return found, None if known is None else _read_known(known, asked, found)


def words(found: Collected) -> str:
    """One line about what was read and assumed: "3,000 rows, every 30 min, 20 missing times filled as gaps"."""
    facts, many = [count(found.rows, "row")], len(found.sources)
    facts += [f"{many:,} series"] if many > 1 else []
    counted = Counter(fact for source in found.sources.values() for fact in source.series.facts)
    shown = [fact if often == many else f"{fact} ({often:,} series)" for fact, often in counted.most_common(SAID)]
    return ", ".join([*facts, *shown, *["and more of the kind"] * (len(counted) > SAID), *found.table.notes])


def units_of(found: Collected, joint: bool) -> dict[str, Source]:
    """What is forecast on its own, by title: every key's columns one by one, or together where they are `joint`."""
    if joint and len(found.table.roles.values) > 1:
        return {series_title(key, ", ".join(source.names)): source for key, source in found.sources.items()}
    return {
        series_title(source.key, name): replace(one, key=source.key)
        for source in found.sources.values()
        for name, one in source.by_column().items()
    }


def _read_known(path: Path, asked: Hints, found: Collected) -> Regressors:
    """Regressors of another file, by time (and key, where it has that column) beside every series."""
    made = Regressors(path, replace(asked, columns=(), time=None, key=(), header=None, sheet=None))
    known = made.table(next(iter(found.sources.values())))
    facts = ", ".join([f"{len(known.values):,} rows", *known.notes])
    say(f"{path.name}: {facts}; regressors {', '.join(known.roles.values)}")
    return made


def _text(mean: float, lower: float, upper: float) -> str:
    digits = digits_between(lower, upper)
    return f"{mean:.{digits}g} [{lower:.{digits}g}, {upper:.{digits}g}]"


def _parts(quantiles: Sequence[float]) -> dict[str, Callable[[Forecast], Any]]:
    """What is written of a forecast, by name, and how it is asked for."""
    parts: dict[str, Callable[[Forecast], Any]] = {name: attrgetter(name) for name in ("point", "lower", "upper")}
    return parts | {f"q{q:g}": methodcaller("quantile", float(q)) for q in quantiles}


def _written(
    journal: Journal, out: Path, roles: Roles, units: dict[str, Source], horizon: int, parts: list[str]
) -> None:
    """The file that was asked for; series of one key stand beside each other."""
    with sink(out) as batch:
        for _, some in groupby(units.items(), key=lambda unit: unit[1].key):
            columns: dict[str, dict[str, Array]] = {}  # none of series that failed
            for title, source in some:
                rows = journal.rows(title, (len(parts), horizon, len(source.names)))
                if rows is not None:
                    by_name = zip(source.names, np.moveaxis(rows, 2, 0), strict=True)
                    columns |= {name: dict(zip(parts, cells, strict=True)) for name, cells in by_name}
            if columns and batch is not None:
                batch(as_table(_table(columns, roles, source, horizon)))


def _table(columns: dict[str, Any], roles: Roles, source: Source, horizon: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if roles.key is not None:
        made[roles.key] = [str(source.key)] * horizon
    ahead = source.series.after(horizon)
    if roles.clock is None:
        made["step"] = list(range(1, horizon + 1))
    elif ahead is None:
        made[roles.time or ""] = [None] * horizon
    else:
        kind = Kind("pyarrow", roles.time, clock=roles.clock)
        made[roles.time or ""] = time_series(ahead, kind).to_native()
    names = free_names(list(next(iter(columns.values()))), roles.values, list(made))
    nothing = np.full(horizon, np.nan)
    for (column, part), name in names.items():
        values = columns[column][part] if column in columns else nothing
        made[name] = np.where(np.isfinite(values), values, np.nan)
    return made


@contextlib.contextmanager
def _cluster(address: str, jobs: int | None) -> Iterator[Any]:
    """A client of the cluster at this address; "local" makes one of this machine's cores, for as long as it is used."""
    from distributed import Client, LocalCluster

    if address != "local":
        if "://" not in address:
            raise typer.BadParameter(f"--dask takes local or an address such as tcp://host:8786, got {address!r}")
        with Client(address, timeout="10s") as client:
            yield client
        return
    workers = jobs or _machine.cores()
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.ERROR}
    with LocalCluster(n_workers=workers, **options) as local, Client(local) as client:
        yield client


def _on_workers(
    address: str, file: str, out: Path | None, asked: PartitionTask, jobs: int | None, resume: bool
) -> None:
    """Forecast the partitions under `file` into the folder `out`, and say how it went."""
    if out is None:
        raise typer.BadParameter("--dask writes partitions; name their folder with --out")
    from prophecy.adapters.dask import forecast_partitions, partitions

    sources = partitions(file)
    with _cluster(address, jobs) as client:
        progress = Progress(len(sources), "partitions")
        done = forecast_partitions(sources, out, client, asked, progress.after(0), resume)
    series = sum(len(part.keys) for part in done)
    errors = [found for part in done for found in part.errors.items()]
    for key, error in errors[:NAMED]:
        say(f"series {key}: {error}")
    kept = f" ({len(sources) - len(done):,} were there already)" if len(done) < len(sources) else ""
    say(f"{series:,} series in {len(done):,} partitions{kept}, {len(errors):,} failed; written to {out}")
    if series and len(errors) == series:
        raise ValueError("no series could be forecast")
