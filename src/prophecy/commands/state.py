"""`prophecy state`: what a state file holds, whether it is well, and what is in it as a table."""

from __future__ import annotations

import csv
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from prophecy import _files
from prophecy.commands._common import DATA, guarded, say, show
from prophecy.fleet import Fleet

EXAMPLES = """
Examples:
  prophecy state plant.state
  prophecy state plant.state --search pump --limit 50
  prophecy state plant.state --check
  prophecy state plant.state --events events.csv

Opening a state replays rows that were acknowledged but not yet saved, and compares the answers with those given then. A
stream that cannot be read is set aside with all that is left of it; its key starts afresh.
"""

EVENTS = ("number", "key", "time", "value", "score", "alarm", "kind", "fault")


def state(
    file: Annotated[Path, typer.Argument(help="A state of `prophecy stream`, `prophecy serve` or `Fleet`.")],
    search: Annotated[str | None, typer.Option(help="Only keys that contain this.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Streams listed at most.")] = 20,
    check: Annotated[bool, typer.Option("--check", help="Read every page, checksum and number.")] = False,
    events: Annotated[Path | None, typer.Option(help="Write all events, as CSV.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="Forget the stream with this key, and its events.")] = None,
    discard: Annotated[list[str] | None, typer.Option(help="Forget what was set aside under this key.")] = None,
    vacuum: Annotated[bool, typer.Option("--vacuum", help="Give unused room of the file back.")] = False,
) -> None:
    """List the streams of a state file; check it, write its events, thin out or vacuum it."""
    with guarded("state"), Fleet(file, create=False) as fleet:
        for key in discard or ():
            if key not in {one.key for one in fleet.aside()}:
                raise ValueError(f"{file} has set nothing aside under {key!r}")
            fleet.discard(key)
            say("state", f"{key}: what was set aside is forgotten")
        if check:
            problems = fleet.problems()
            for problem in problems:
                say("state", problem)
            if problems:
                raise typer.Exit(DATA)
            say("state", f"{file}: {len(fleet):,} streams; schema, facts, log, pages, checksums and numbers are fine")
        if events is not None:
            say("state", f"{_events(fleet, search, events):,} events are in {events}")
        for key in remove or ():
            if key not in fleet:
                raise ValueError(f"{file} has no stream {key!r}")
            fleet.remove(key)
            say("state", f"{key}: removed")
        if vacuum:
            before = file.stat().st_size
            fleet.vacuum()
            say("state", f"{file}: {before:,} bytes before, {file.stat().st_size:,} now")
        _list(fleet, search, limit)


def _list(fleet: Fleet, search: str | None, limit: int) -> None:
    page = fleet.summary(search=search, limit=limit)
    rows = [["key", "rows", "newest", "value", "next", "last event"]]
    for row in page.rows:
        event = f"no. {row.event} at {_time(row.event_time, row.dated)}" if row.event else ""
        interval = f"{row.point:.6g} [{row.lower:.6g}, {row.upper:.6g}]"
        rows.append([row.key, f"{row.count:,}", _time(row.time, row.dated), f"{row.value:.6g}", interval, event])
    facts = fleet.facts()
    counts = f"{facts['streams']:,} streams, {facts['events']:,} events, {facts['bytes']:,} bytes"
    if facts["set aside"]:
        counts += f"; {facts['set aside']:,} could not be read and were set aside: --check says why"
    more = f"{page.total:,} match; --limit shows more. " if page.total > len(page.rows) else ""
    show(rows, left=(0, 2, 4, 5), after=more + counts)


def _events(fleet: Fleet, search: str | None, path: Path) -> int:
    """All events as a CSV, whole or not at all; how many there are."""
    since = count = 0
    with _files.replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(EVENTS)
        while found := fleet.events(since):
            since = found[-1].number
            for event in found:
                if search is None or search.casefold() in event.key.casefold():
                    numbers = (repr(number) for number in (event.value, event.score, event.alarm))
                    when = _time(event.time, event.dated)
                    out.writerow([event.number, event.key, when, *numbers, event.kind, event.fault])
                    count += 1
    return count


def _time(time: float, dated: bool) -> str:
    """A time as it came: a date in ISO's form (UTC), or a number; "" where there is none."""
    if math.isnan(time):
        return ""
    try:
        return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z") if dated else repr(time)
    except (OverflowError, ValueError, OSError):  # beyond the year 9999
        return repr(time)
