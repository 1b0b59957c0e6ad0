"""Whether a file is one that a fleet could have written: its schema row by row, facts, log, streams and events.

Read once, when the file is opened. What contradicts the file as a whole refuses it; a stream of which only its own row
is wrong is set aside. The states themselves are checked when they are read (`slots`).
"""

import json
import sqlite3
from collections.abc import Callable, Container, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.fleet.answers import LATE, REPEATED, ROW, same_input
from prophecy.fleet.events import KINDS
from prophecy.streams.limits import LARGEST, LARGEST_TIME, MOST

LONGEST_KEY = 512  # characters of a key at most
LONGEST_FACT = 200  # characters of a fact at most, so that none is nested deeply; the longest has 20

WAY_OUT = "put back a copy (of the file and its -wal together), or observe the values again into a new file"

_TABLES = {
    "facts": "(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "streams": "(id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, seen INTEGER NOT NULL, "
    "count INTEGER NOT NULL, last BLOB, state BLOB)",
    "log": "(batch INTEGER PRIMARY KEY, crc INTEGER NOT NULL, rows BLOB NOT NULL, note BLOB NOT NULL)",
    "events": "(number INTEGER PRIMARY KEY AUTOINCREMENT, stream INTEGER NOT NULL, place INTEGER NOT NULL, time REAL, "
    "value REAL NOT NULL, score REAL NOT NULL, alarm REAL NOT NULL, kind TEXT NOT NULL, dated INTEGER NOT NULL, "
    "fault INTEGER)",
    "aside": "(id INTEGER PRIMARY KEY, key, seen, count, last, state, rows BLOB NOT NULL, reason TEXT NOT NULL)",
}
SCHEMA = (
    *(("table", name, name, f"CREATE TABLE {name} {columns}") for name, columns in _TABLES.items()),
    ("index", "events_stream", "events", "CREATE INDEX events_stream ON events (stream, number)"),
)
"""Type, name, table and text of everything we make; aside: streams that could not be read, as they were found."""

_OWN = (
    ("table", "sqlite_sequence", "sqlite_sequence", "CREATE TABLE sqlite_sequence(name,seq)"),
    ("index", "sqlite_autoindex_streams_1", "streams", None),
)

_FACTS: dict[str, Callable[[Any], bool]] = {
    "layout": lambda value: type(value) is str,
    "dt": lambda value: value is None or (type(value) is float and 0.0 < value <= LARGEST_TIME),
    "level": lambda value: type(value) is float and 0.0 < value < 1.0,
    "first": lambda value: type(value) is int and 1 <= value <= MOST,
    "last": lambda value: type(value) is int and 0 <= value <= MOST,
    "streams": lambda value: type(value) is int and 0 <= value <= MOST,
}
"""What each fact may be. first, last: batches that the log has; streams: how many there are."""


def odd_schema(found: Iterable[tuple[Any, ...]]) -> list[str]:
    """Names in the schema that are not as we make them, or are missing. found: rows of sqlite_master."""
    rows = list(found)
    odd = {row[1] for row in {row[:4] for row in rows} ^ {*SCHEMA, *_OWN}}
    names, pages = [row[1] for row in rows], [row[4] for row in rows]
    odd |= {row[1] for row in rows if names.count(row[1]) > 1 or pages.count(row[4]) > 1}
    return sorted(map(str, odd))


def are_keys(names: list[Any]) -> bool:
    """Whether all of these are keys: of type str itself, 1 to 512 characters, no NUL and no lone surrogate."""
    if not names or {*map(type, names)} != {str}:
        return not names
    text, lengths = "".join(names), {*map(len, names)}
    try:
        return min(lengths) > 0 and max(lengths) <= LONGEST_KEY and b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def faults(db: sqlite3.Connection) -> list[str]:
    """What contradicts the file as a whole."""
    found, known = [], {}
    for name, kind, text in db.execute(f"SELECT name, typeof(value), substr(value, 1, {LONGEST_FACT + 1}) FROM facts"):
        try:
            value = json.loads(text)[0] if kind == "text" and len(text) <= LONGEST_FACT else ...
        except (ValueError, TypeError, LookupError):
            value = ...
        if name in _FACTS and _FACTS[name](value) and json.dumps([value]) == text:
            known[name] = value
        else:
            found.append(f"its fact {str(name)[:40]!r} is malformed")
    found += [f"it lacks its {name}" for name in _FACTS if name not in known]
    return found or list(_contradictions(db, known))


def _contradictions(db: sqlite3.Connection, known: dict[str, Any]) -> Iterable[str]:
    first, last = known["first"], known["last"]
    count, least, most = db.execute("SELECT count(*), min(batch), max(batch) FROM log").fetchone()
    if count != last - first + 1 or (count and (least, most) != (first, last)):
        has = f"has {count}, from {least} to {most}" if count else "is empty"
        yield f"batches {first} to {last} were acknowledged, and its log {has}"
    (streams,) = db.execute("SELECT count(*) FROM streams").fetchone()
    if streams != known["streams"]:
        yield f"it had {known['streams']} streams and has {streams}"
    used = dict(db.execute("SELECT name, seq FROM sqlite_sequence"))
    for table, number in (("streams", "id"), ("events", "number")):
        (most,) = db.execute(f"SELECT coalesce(max({number}), 0) FROM {table}").fetchone()
        next_one = used.pop(table, 0)
        if type(next_one) is not int or not most <= next_one <= MOST:
            yield f"its {table} are numbered from {next_one!r} on, but {most} is already used"
    if used:
        yield "it has counters for tables of others"
    bad = db.execute(
        "SELECT number FROM events WHERE NOT (number > 0 AND typeof(stream) = 'integer' AND typeof(place) = 'integer' "
        f"AND place >= 0 AND (time IS NULL OR typeof(time) = 'real' AND abs(time) <= {LARGEST_TIME}) "
        f"AND typeof(value) = 'real' AND abs(value) <= {LARGEST} AND typeof(score) = 'real' AND abs(score) <= {MOST} "
        f"AND typeof(alarm) = 'real' AND alarm BETWEEN 0 AND 1 AND kind IN {KINDS} "
        "AND dated IN (0, 1) AND typeof(fault) IN ('integer', 'null')) LIMIT 3"
    )
    for (number,) in bad:
        yield f"event {number} is malformed (DELETE FROM events WHERE number = {number} drops it)"
    # A number that a stream has, or will be given, is nobody else's: to discard the one would be to forget the other.
    bad = db.execute(
        f"SELECT id FROM aside WHERE NOT (typeof(rows) = 'blob' AND length(rows) % {ROW.itemsize} = 0 "
        "AND typeof(reason) = 'text' AND length(CAST(reason AS BLOB)) = length(reason)) OR id IN (SELECT id FROM "
        "streams) OR id > coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'streams'), 0) LIMIT 3"
    )
    for (stream,) in bad:
        yield f"stream {stream} was not set aside by a fleet (DELETE FROM aside WHERE id = {stream} drops it)"


def odd_in_log(
    db: sqlite3.Connection, batches: Iterable[tuple[int, NDArray[np.void]]], known: Container[int]
) -> dict[int, str]:
    """Streams whose states end with another row than the log has at the batch they have seen, those known left out."""
    ends: dict[int, tuple[int, bytes | None]] = {}
    newest: dict[int, bytes] = {}
    for batch, rows in batches:
        taken = rows[~np.isin(rows["status"], (LATE, REPEATED))][::-1]
        streams, places = np.unique(taken["stream"], return_index=True)
        for stream, place in zip(streams.tolist(), places.tolist(), strict=True):
            if stream not in ends:
                found = db.execute("SELECT seen, last FROM streams WHERE id = ?", (stream,)).fetchone()
                ends[stream] = (-1, None) if found is None or stream in known else found
            if batch <= ends[stream][0]:
                newest[stream] = taken[place].tobytes()
    reason = "its state and the log differ about its newest row"
    return {stream: reason for stream, row in newest.items() if not same_input(row, ends[stream][1] or b"")}


def odd_streams(db: sqlite3.Connection, last: int) -> dict[int, str]:
    """Streams of which a column is not what a fleet writes, and why."""
    cases = (
        ("id < 1", "its number is below 1"),
        ("typeof(seen) != 'integer' OR seen < 0", "seen is not the number of a batch"),
        ("seen > ?1", "it has seen batches that the log never had"),
        (f"typeof(count) != 'integer' OR count NOT BETWEEN 0 AND {MOST}", "count is not a number of rows"),
        (
            "(state IS NULL) != (last IS NULL) OR (state IS NULL) != (count = 0) OR (state IS NULL) != (seen = 0)",
            "some of its parts are missing",
        ),
        (
            f"state IS NOT NULL AND (typeof(state), typeof(last), length(last)) != ('blob', 'blob', {ROW.itemsize})",
            "its state or its last row has the wrong type",
        ),
    )
    case = " ".join(f"WHEN {when} THEN {place}" for place, (when, _) in enumerate(cases))
    found = db.execute(f"SELECT id, CASE {case} END AS fault FROM streams WHERE fault IS NOT NULL", (last,))
    bad = {stream: cases[fault][1] for stream, fault in found}
    # Not by a function that SQLite calls: an interrupt there would be an error of the file.
    for stream, kind, key in db.execute("SELECT id, typeof(key), CAST(key AS BLOB) FROM streams"):
        if kind != "text" or not are_keys([key.decode(errors="surrogateescape")]):
            bad[stream] = "its key is not text"
    return bad
