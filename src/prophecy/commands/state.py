"""`prophecy state`: what a state file holds, whether it is well, and what is in it as a table."""

import math
from datetime import UTC, datetime
from pathlib import Path

import typer

from prophecy.commands import _options
from prophecy.commands._common import DATA, say, show
from prophecy.commands._write import as_table, sink
from prophecy.fleet import Event, Fleet

EVENTS = ("number", "key", "time", "value", "score", "alarm", "kind", "fault")


@_options.command
def state(
    path: Path,
    search: str | None = None,
    limit: int = 20,
    check: bool = False,
    events: Path | None = None,
    remove: list[str] | None = None,
    discard: list[str] | None = None,
    vacuum: bool = False,
) -> None:
    """List the streams of a state file; check it, write its events, remove streams from it or vacuum it.

    Examples:
      prophecy state plant.state
      prophecy state plant.state --search pump --limit 50
      prophecy state plant.state --check
      prophecy state plant.state --events events.csv

    Opening a state replays rows that were acknowledged but not yet saved, and compares the answers with those given
    then. A stream that cannot be read is set aside with all that is left of it; its key starts afresh.
    """
    if events is not None:
        _options.check(str(path), events)
    with Fleet(path, create=False) as fleet:
        for key in discard or ():
            if key not in {one.key for one in fleet.aside()}:
                raise ValueError(f"{path} has set nothing aside under {key!r}")
            fleet.discard(key)
            say(f"{key}: what was set aside is forgotten")
        if check:
            problems = fleet.problems()
            for problem in problems:
                say(problem)
            if problems:
                raise typer.Exit(DATA)
            say(f"{path}: {len(fleet):,} streams; schema, facts, log, pages, checksums and numbers are fine")
        if events is not None:
            say(f"{_events(fleet, search, events):,} events are in {events}")
        for key in remove or ():
            if key not in fleet:
                raise ValueError(f"{path} has no stream {key!r}")
            fleet.remove(key)
            say(f"{key}: removed")
        if vacuum:
            before = path.stat().st_size
            fleet.vacuum()
            say(f"{path}: {before:,} bytes before, {path.stat().st_size:,} now")
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
    """All events as a table, whole or not at all; how many there are."""
    found, since = list[Event](), 0
    while some := fleet.events(since):
        since = some[-1].number
        found += [one for one in some if search is None or search.casefold() in one.key.casefold()]
    columns = {name: [getattr(one, name) for one in found] for name in EVENTS}
    with sink(path) as write:
        assert write is not None
        write(as_table({**columns, "time": [_time(one.time, one.dated) for one in found]}))
    return len(found)


def _time(time: float, dated: bool) -> str:
    """A time as it came: a date in ISO's form (UTC), or a number; "" where there is none."""
    if math.isnan(time):
        return ""
    try:
        return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z") if dated else repr(time)
    except (OverflowError, ValueError, OSError):  # beyond the year 9999
        return repr(time)
