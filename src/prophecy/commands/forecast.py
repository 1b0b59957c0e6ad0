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
    each: Asked,
    quantiles: str | None = None,
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
    extra = _options.numbers("--quantiles", quantiles, 0, 1)
    if dask is not None:
        if not asked.key or joint or plot is not None or known is not None or asked.time_zone is not None:
            raise typer.BadParameter("--dask needs --key, and does without --joint, --plot, --known, --time-zone")
        from prophecy.adapters.dask import PartitionTask

        task = PartitionTask(each, asked.key, asked.time, asked.columns or None, extra, asked.duplicates)
        _on_workers(dask, file, out, task, jobs, resume)
        return
    found, regressors = read(file, asked, context, known)
    units = units_of(found, joint)
    numbers = {name: getattr(each, name) for name in ("horizon", "level", "bounds", "season")}
    journal = Journal(out, plan_of(file, asked, **numbers, quantiles=extra, joint=joint, context=context), resume)
    shown = _Shown()
    try:
        with _interrupts.last_words(lambda: f"prophecy forecast: {shown.stopped(journal, len(units))}"), journal:
            _solve(units, replace(each, known=regressors), jobs, journal, shown, extra)
            if out is not None:
                _write(journal, out, found.table.roles, units, each.horizon, [*_parts(extra)])
    except KeyboardInterrupt:
        say(shown.stopped(journal, len(units)))
        if out is None and shown.done:
            shown.print(None)
        raise typer.Exit(INTERRUPTED) from None
    if plot is not None and shown.panels:
        save(Picture(f"Forecast of {Path(file).name}", shown.panels, shown.remarks), plot)
    shown.print(out)


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
            first, *notes = map(str.strip, made.explain().splitlines())
            self.remarks.append(" ".join([f"{title}: {first}.", *notes]))
        values = np.stack([np.asarray(part, np.float64) for part in (made.point, made.lower, made.upper)])
        rows = f"{len(source.series.values) - source.series.filled:,}"
        for name, part in zip(source.names, values.reshape(3, len(values[0]), -1).T, strict=True):
            if len(self.rows) <= PRINTED:
                label = title if len(source.names) == 1 else series_title(source.key, name)
                self.rows.append([label, rows, made.method, _text(*part[0].tolist()), _text(*part[-1].tolist())])

    def print(self, out: Path | None) -> None:
        more = self.done - (len(self.rows) - 1)
        after = f"… and {more:,} more series" + ("" if out else "; write them with --out") if more > 0 else ""
        show(self.rows, left=(0, 2), after=after)

    def stopped(self, journal: Journal, total: int) -> str:
        if journal.path is None:
            return f"stopped after {self.done:,} of {total:,} series; with --out they are kept"
        return f"stopped; {len(journal.answers):,} of {total:,} series are in {journal.path}: continue with --resume"


def _solve(
    units: dict[str, Source], each: Asked, jobs: int | None, journal: Journal, shown: _Shown, extra: Sequence[float]
) -> None:
    """All series, some at a time, each noted as soon as it is there."""
    left = {title: source for title, source in units.items() if title not in journal.answers}
    before = len(units) - len(left)
    if before:
        say(f"{before:,} of {len(units):,} series were done already")

    def note(made: Mapping[Any, Forecast | Failure]) -> None:
        for title, answer in made.items():
            if isinstance(answer, Failure):
                shown.failed += 1
                say(f"series {title}: {answer.error}")
                continue
            journal.add(title, np.stack([np.asarray(part(answer), np.float64) for part in _parts(extra).values()]))
            shown.add(title, units[title], answer)

    progress = Progress(len(units), "series")
    items, size = iter(left.items()), AT_ONCE if (jobs or _machine.cores()) > 1 else 1
    # The first series comes alone and is solved here: what that loads, the processes then share.
    for many in chain([1], repeat(size)):
        if not (some := dict(islice(items, many))):
            break
        try:
            note(each.many(some, jobs, progress.after(before)))
        except KeyboardInterrupt as stop:
            note(getattr(stop, "finished", {}))
            raise
        before += len(some)
    if shown.failed == len(units):
        raise ValueError("no series could be forecast")


def read(file: str, asked: Hints, context: int, known: Path | None = None) -> tuple[Collected, Regressors | None]:
    """The series of a file, and regressors of another where there is one; what was assumed is said."""
    found = collect(open_table(file, asked), context)
    say(f"{Path(file).name}: {words(found)}")
    if known is None:
        return found, None
    # By time (and key, where it has that column) beside every series.
    regressors = Regressors(known, replace(asked, columns=(), time=None, key=(), header=None, sheet=None))
    table, _ = regressors.table(next(iter(found.sources.values())))
    facts = ", ".join([f"{len(table.values):,} rows", *table.notes])
    say(f"{known.name}: {facts}; regressors {', '.join(table.roles.values)}")
    return found, regressors


def words(found: Collected) -> str:
    """One line about what was read and assumed: "3,000 rows, every 30 min, 20 missing times filled as gaps"."""
    facts, many = [count(len(found.table.values), "row")], len(found.sources)
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


def _text(mean: float, lower: float, upper: float) -> str:
    digits = digits_between(lower, upper)
    return f"{mean:.{digits}g} [{lower:.{digits}g}, {upper:.{digits}g}]"


def _parts(quantiles: Sequence[float]) -> dict[str, Callable[[Forecast], Any]]:
    """What is written of a forecast, by name, and how it is asked for."""
    parts: dict[str, Callable[[Forecast], Any]] = {name: attrgetter(name) for name in ("point", "lower", "upper")}
    return parts | {f"q{q:g}": methodcaller("quantile", float(q)) for q in quantiles}


def _write(journal: Journal, out: Path, roles: Roles, units: dict[str, Source], horizon: int, parts: list[str]) -> None:
    """The file that was asked for; series of one key stand beside each other."""
    nothing = np.full((horizon, len(parts)), np.nan)
    with sink(out) as batch:
        for key, some in groupby(units.items(), key=lambda unit: unit[1].key):
            answers: dict[str, Array] = {}  # by column, none of series that failed
            for title, source in some:
                rows = journal.rows(title, (len(parts), horizon, len(source.names)))
                answers |= {} if rows is None else dict(zip(source.names, rows.T, strict=True))
            if answers and batch is not None:
                made = ({} if roles.key is None else {roles.key: [str(key)] * horizon}) | _times(roles, source, horizon)
                for (column, part), name in free_names(parts, roles.values, [*made]).items():
                    values = answers.get(column, nothing)[:, parts.index(part)]
                    made[name] = np.where(np.isfinite(values), values, np.nan)
                batch(as_table(made))


def _times(roles: Roles, source: Source, horizon: int) -> dict[str, Any]:
    """The column of times ahead, as the file writes them; steps where it has none."""
    ahead = source.series.after(horizon)
    if roles.time is None:
        return {"step": list(range(1, horizon + 1))}
    if ahead is None:
        return {roles.time: [None] * horizon}
    return {roles.time: time_series(ahead, Kind("pyarrow", roles.time, clock=roles.clock)).to_native()}


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
