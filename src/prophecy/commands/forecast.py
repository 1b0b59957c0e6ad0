"""`prophecy forecast`: what a file's series will do next."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from prophecy import _interrupts, _machine
from prophecy._forecast import Failure, Forecast
from prophecy.commands import _options, _results
from prophecy.commands._common import INTERRUPTED, digits_between, guarded, say
from prophecy.commands._journal import Journal, plan_of
from prophecy.commands._progress import Progress
from prophecy.commands._show import show
from prophecy.frames.collect import Collected, as_frame, collect
from prophecy.frames.columns import Hints
from prophecy.frames.names import series_title
from prophecy.frames.source import Source
from prophecy.frames.table import open_table
from prophecy.tables.forecasting import forecast_sources
from prophecy.tables.pictures import MOST, Panel, Picture, of_forecast, save
from prophecy.tables.regressors import Regressors

AT_ONCE = 64  # series solved between two writes: some seconds of work
PRINTED = 20  # series in the table on stdout: a screen
EVERY = 1.0  # seconds of finished series that a kill may cost

EXAMPLES = """
Examples:
  prophecy forecast power.csv --horizon 48 --plot power.html
  prophecy forecast sales.parquet --key shop --horizon 12 --min 0 --quantiles 0.1,0.9 --out next.csv
  prophecy forecast sales/ --key item --horizon 12 --dask local --out next/
  prophecy forecast lorenz.npy --joint --horizon 300 --plot lorenz.png

Rows are sorted by time, missing times become gaps, and what was assumed is said on stderr. Series are written to
OUT.part as they are finished; after Ctrl-C, --resume goes on with the rest.
"""


@_options.reading
def forecast(
    file: _options.File,
    asked: Hints,
    horizon: Annotated[int, typer.Option("--horizon", "-H", min=1, help="How many rows ahead.")],
    level: _options.Level = 0.9,
    quantiles: Annotated[str | None, typer.Option(help="Further quantiles to write, such as 0.1,0.5,0.9.")] = None,
    season: _options.Season = None,
    least: _options.Least = None,
    most: _options.Most = None,
    known: _options.Known = None,
    joint: Annotated[bool, typer.Option("--joint", help="All columns are variables of one system.")] = False,
    context: Annotated[int, typer.Option(min=8, help="Use at most this many of the last rows.")] = 100_000,
    jobs: _options.Jobs = None,
    out: _options.Out = None,
    resume: _options.Resume = False,
    plot: _options.Plot = None,
    dask: Annotated[
        str | None,
        typer.Option(help="Workers that share the partitions of a Parquet folder: local, or tcp://host:port."),
    ] = None,
) -> None:
    """Forecast the rows after the last one, with intervals, from the file alone."""
    with guarded("forecast"):
        _options.check(level, out if dask is None else None, plot, file, resume and dask is None)
        seasons = _options.numbers("--season", season, 1, 1e7) or None
        extra = _options.numbers("--quantiles", quantiles, 0, 1)
        options = {"level": level, "bounds": _options.bounds(least, most), "settings": None}
        if dask is not None:
            if asked.key is None or joint or plot is not None or known is not None or asked.time_zone is not None:
                raise typer.BadParameter("--dask needs --key, and does without --joint, --plot, --known, --time-zone")
            from prophecy.adapters.dask import PartitionTask
            from prophecy.commands._dask import forecast_on

            columns = asked.columns or None
            each = PartitionTask(horizon, asked.key, asked.time, columns, seasons, extra, asked.duplicates, options)
            forecast_on(dask, file, out, each, jobs, resume)
            return
        found, regressors = read("forecast", file, asked, context, known)
        units = found.units(joint)
        bounded = {"horizon": horizon, "level": level, "bounds": options["bounds"], "season": seasons}
        plan = plan_of(file, asked, **bounded, quantiles=extra, joint=joint, context=context)
        journal = None if out is None else Journal(out, plan, resume, EVERY)
        shown = _Shown()
        try:
            with (
                _interrupts.last_words(lambda: f"prophecy forecast: {shown.stopped(journal, len(units))}"),
                contextlib.nullcontext() if journal is None else journal,
            ):
                _solve(units, horizon, seasons, regressors, options, jobs, journal, shown, extra)
                if journal is not None and out is not None:
                    _results.write(journal, out, found.table.roles, units, horizon)
        except KeyboardInterrupt:
            say("forecast", shown.stopped(journal, len(units)))
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
    units: dict[str, Source],
    horizon: int,
    seasons: Any,
    known: Any,
    options: dict[str, Any],
    jobs: int | None,
    journal: Journal | None,
    shown: _Shown,
    extra: tuple[float, ...],
) -> None:
    """All series, some at a time, each noted as soon as it is there."""
    done = set() if journal is None else journal.done()
    left = {title: source for title, source in units.items() if title not in done}
    if len(left) < len(units):
        say("forecast", f"{len(units) - len(left):,} of {len(units):,} series were done already")
    first: Failure | None = None

    def note(made: Mapping[Any, Forecast | Failure]) -> None:
        nonlocal first
        for title, answer in made.items():
            if isinstance(answer, Failure):
                first = first or answer
                shown.failed += 1
                say("forecast", f"series {title}: {answer.error}")
                continue
            if journal is not None:
                _results.note(journal, title, answer, units[title].names, extra)
            shown.add(title, units[title], answer)

    with Progress("forecast", len(units), "series", len(units) > 1) as progress:
        before = len(units) - len(left)
        for some in _chunks(left, AT_ONCE if (jobs or _machine.cores()) > 1 else 1):
            try:
                note(forecast_sources(some, horizon, seasons, known, options, jobs, progress.after(before)))
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


def read(command: str, file: str, asked: Hints, context: int, known: Path | None = None) -> tuple[Collected, Any]:
    """The series of a file, and regressors of another where there is one; what was assumed is said."""
    found = collect(open_table(file, asked), context)
    say(command, f"{Path(file).name}: {found.words()}")
    return found, None if known is None else _read_known(command, known, asked, found)


def _read_known(command: str, path: Path, asked: Hints, found: Collected) -> Any:
    """Regressors of another file, by time (and key, where it has that column) beside every series."""
    roles = found.table.roles
    way = replace(asked, columns=(), time=None, key=None, header=None, sheet=None, duplicates="mean")
    table = open_table(str(path), way)
    if roles.keys and set(roles.keys) <= set(table.names):
        table = open_table(str(path), replace(way, key=roles.key))
    frame = as_frame(table)
    beside = [name for name in table.names if name not in (*roles.keys, *(roles.clock.columns if roles.clock else ()))]
    facts = ", ".join([f"{len(frame):,} rows", *table.notes])
    say(command, f"{path.name}: {facts}; regressors {', '.join(beside)}")
    return Regressors(frame)


def _text(mean: float, lower: float, upper: float) -> str:
    digits = digits_between(lower, upper)
    return f"{mean:.{digits}g} [{lower:.{digits}g}, {upper:.{digits}g}]"
