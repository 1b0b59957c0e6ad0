"""The state of a fleet in one SQLite file: rows as they came with the answers given, streams as checkpoints, events.

A batch is one transaction with its raw rows, and is acknowledged when that is on the disk (write-ahead log,
`synchronous=FULL`). A stream's state includes every batch up to `seen`; after a crash the rows of later batches are
taken in again. The file is held exclusively, through whatever name it was opened. Nothing in a file is trusted: its
schema must be ours to the letter (no triggers, no views), blobs carry checksums, and states are checked number by
number before they are used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy import _files
from prophecy.fleet.answers import ROW
from prophecy.fleet.events import Events

FORMAT = 2
APPLICATION = 0x50524F50
"""SQLite's application_id of our files: "PROP"."""

PAGE = 8192
"""Bytes of a page: states of more than 64 rows are 43 to 92 kB, six pages and more."""

SCHEMA = {
    "facts": "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "streams": "CREATE TABLE streams (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, "
    "seen INTEGER NOT NULL, count INTEGER NOT NULL, last BLOB, state BLOB)",
    "log": "CREATE TABLE log (batch INTEGER PRIMARY KEY, crc INTEGER NOT NULL, rows BLOB NOT NULL, note BLOB NOT NULL)",
    "events": "CREATE TABLE events (number INTEGER PRIMARY KEY AUTOINCREMENT, stream INTEGER NOT NULL, "
    "place INTEGER NOT NULL, time REAL, value REAL NOT NULL, score REAL NOT NULL, alarm REAL NOT NULL, "
    "kind TEXT NOT NULL, dated INTEGER NOT NULL, fault INTEGER)",
    "events_stream": "CREATE INDEX events_stream ON events (stream, number)",
}

_OWN = {"sqlite_sequence", "sqlite_autoindex_streams_1"}


class Saved(NamedTuple):
    """A stream as the file has it. seen: the last batch in its state; taken: its rows by then; last: the newest."""

    id: int
    key: str
    seen: int
    taken: int
    last: NDArray[np.void] | None
    state: bytes | None


class Batch(NamedTuple):
    """A batch of the log. note: what the caller wanted kept with it."""

    number: int
    rows: NDArray[np.void]
    note: bytes


class Store:
    """The file, or a temporary one that nobody else sees where `path` is None. Not safe between threads by itself."""

    def __init__(self, path: str | os.PathLike[str] | None, create: bool = True) -> None:
        self.path = None if path is None else os.path.realpath(path)
        self.name = "the fleet" if path is None else repr(os.path.basename(os.fspath(path)))
        new = self._is_new(create)
        # SQLite's own temporary database: in memory while small, then in a file without a name.
        self._db = sqlite3.connect(self.path or "", timeout=0.0, isolation_level=None, check_same_thread=False)
        self.events = Events(self._db)
        try:
            self._open(new)
        except sqlite3.Error as error:
            self._db.close()
            raise _explained(self.name, error, self.path) from error
        except BaseException:
            self._db.close()
            raise

    def _is_new(self, create: bool) -> bool:
        if self.path is None:
            return True
        folder, there = Path(self.path).parent, Path(self.path)
        if not folder.is_dir():
            raise FileNotFoundError(f"folder {str(folder)!r} does not exist; create it first")
        if there.is_dir():
            raise ValueError(f"{self.name} is a folder; name a file")
        if there.exists() and there.stat().st_size:
            # Not looked into by hand: closing a file lets go of every lock this process has on it, SQLite's among them.
            return False
        if not create:
            raise FileNotFoundError(f"no state {self.name}; check the name")
        if not there.exists():
            os.close(os.open(there, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
            _files.flush_folder(folder)
        return True

    def _open(self, new: bool) -> None:
        run = self._db.execute
        self._db.create_function("folded", 1, str.casefold, deterministic=True)  # SQLite's lower() folds ASCII alone
        run("PRAGMA trusted_schema=OFF")
        run("PRAGMA cell_size_check=ON")
        run("PRAGMA locking_mode=EXCLUSIVE")
        if new:
            run(f"PRAGMA page_size={PAGE}")
        if self.path is None:
            run("PRAGMA synchronous=OFF")
            run("PRAGMA journal_mode=MEMORY")
        else:
            if not new:
                self._check_foreign()
            run("PRAGMA journal_mode=WAL")
            run("PRAGMA synchronous=FULL")
        run("BEGIN IMMEDIATE")  # with the locking mode above, the lock stays until the file is closed
        if not list(run("SELECT name FROM sqlite_master")):
            for statement in SCHEMA.values():
                run(statement)
            run(f"PRAGMA application_id={APPLICATION}")
            run(f"PRAGMA user_version={FORMAT}")
        run("COMMIT")
        self._check_foreign()

    def _check_foreign(self) -> None:
        found = {name: sql for name, sql in self._db.execute("SELECT name, sql FROM sqlite_master") if name not in _OWN}
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if not found and application == 0 and version == 0:
            return  # created and cut off before its first transaction
        if application != APPLICATION:
            raise ValueError(f"{self.name} is a database of another program, not a state of prophecy's streams")
        if version != FORMAT:
            raise ValueError(
                f"{self.name} was written in format {version}, this version reads format {FORMAT}; "
                "use the version that wrote it, or start afresh"
            )
        if found != SCHEMA:
            odd = sorted(name for name in {*found, *SCHEMA} if found.get(name) != SCHEMA.get(name))
            raise ValueError(f"{self.name} is damaged or was changed by somebody else: {', '.join(odd)} is not as made")

    def close(self) -> None:
        self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything in the block or nothing, on the disk when it ends. A temporary file keeps what it got: the streams
        that were put aside in it are nowhere else."""
        if self.path is None:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back by itself: a full disk, for one
                self._db.execute("ROLLBACK")
            raise

    # Facts.

    def fact(self, name: str) -> Any:
        """A fact about the whole file, None where it was never set."""
        found = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if found is None else json.loads(found[0])

    def set_fact(self, name: str, value: Any) -> None:
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    # Streams.

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM streams").fetchone()[0])

    def add(self, key: str) -> int:
        """A new stream; its number, which is never used again."""
        return int(self._db.execute("INSERT INTO streams (key, seen, count) VALUES (?, 0, 0)", (key,)).lastrowid or 0)

    def find(self, key: str) -> Saved | None:
        found = self._db.execute(
            "SELECT id, key, seen, count, last, state FROM streams WHERE key = ?", (key,)
        ).fetchone()
        return None if found is None else self._saved(found)

    def last_row(self, key: str) -> NDArray[np.void] | None:
        """The newest row in the state of a stream; None where there is none."""
        found = self._db.execute("SELECT last FROM streams WHERE key = ?", (key,)).fetchone()
        return None if found is None else self._row(key, found[0])

    def key_and_seen(self, stream: int) -> tuple[str, int] | None:
        """The key of a stream and the last batch in its state; None for one that was removed."""
        found = self._db.execute("SELECT key, seen FROM streams WHERE id = ?", (stream,)).fetchone()
        return None if found is None else (str(found[0]), int(found[1]))

    def save(self, saved: Iterable[tuple[int, int, bytes, bytes, int]]) -> None:
        """States: seen, count, last, state, id of each."""
        self._db.executemany("UPDATE streams SET seen = ?, count = ?, last = ?, state = ? WHERE id = ?", saved)

    def remove(self, stream: int) -> None:
        self._db.execute("DELETE FROM streams WHERE id = ?", (stream,))
        self._db.execute("DELETE FROM events WHERE stream = ?", (stream,))

    def keys(self, search: str | None = None, offset: int = 0, limit: int = -1) -> list[str]:
        """Keys in order, those that contain `search`, from `offset` on; limit -1 is all."""
        return [
            str(key)
            for (key,) in self._db.execute(
                "SELECT key FROM streams WHERE ?1 IS NULL OR instr(folded(key), ?1) ORDER BY key LIMIT ?2 OFFSET ?3",
                (None if search is None else search.casefold(), limit, offset),
            )
        ]

    def matching(self, search: str | None) -> int:
        if search is None:
            return len(self)
        found = self._db.execute("SELECT count(*) FROM streams WHERE instr(folded(key), ?)", (search.casefold(),))
        return int(found.fetchone()[0])

    def _saved(self, row: tuple[Any, ...]) -> Saved:
        stream, key, seen, count, last, state = row
        return Saved(stream, key, seen, count, self._row(key, last), state)

    def _row(self, key: str, data: bytes | None) -> NDArray[np.void] | None:
        if not data:
            return None
        if len(data) != ROW.itemsize:
            raise ValueError(f"{self.name} is damaged: the last row of stream {key!r} has {len(data)} bytes")
        return np.asarray(np.frombuffer(data, ROW)[0])

    # The log.

    def last_batch(self) -> int:
        return int(self._db.execute("SELECT coalesce(max(batch), 0) FROM log").fetchone()[0])

    def append(self, batch: int, rows: NDArray[np.void], note: bytes) -> None:
        data = rows.tobytes()
        crc = zlib.crc32(note, zlib.crc32(data))
        self._db.execute("INSERT INTO log VALUES (?, ?, ?, ?)", (batch, crc, data, note))

    def batches(self, after: int = 0) -> Iterator[Batch]:
        """The batches of the log after this one, in order, each checked."""
        expected = None
        for batch, crc, data, note in self._db.execute(
            "SELECT batch, crc, rows, note FROM log WHERE batch > ? ORDER BY batch", (after,)
        ):
            if expected is not None and batch != expected:
                raise ValueError(f"{self.name} is damaged: its log jumps from batch {expected - 1} to {batch}")
            if len(data) % ROW.itemsize or zlib.crc32(note, zlib.crc32(data)) != crc:
                raise ValueError(f"{self.name} is damaged: batch {batch} of its log does not have its checksum")
            expected = batch + 1
            yield Batch(batch, np.frombuffer(data, ROW), bytes(note))

    def first_kept(self, rows: int) -> int:
        """The first batch such that this many rows follow its beginning, or all there are."""
        count = 0
        for batch, size in self._db.execute("SELECT batch, length(rows) FROM log ORDER BY batch DESC"):
            count += size // ROW.itemsize
            if count >= rows:
                return int(batch)
        return 0

    def trim(self, before: int) -> None:
        """Forget the batches before this one."""
        self._db.execute("DELETE FROM log WHERE batch < ?", (before,))

    # Care.

    def facts(self) -> dict[str, Any]:
        """How much there is of everything."""
        batches, rows = self._db.execute("SELECT count(*), coalesce(sum(length(rows)), 0) FROM log").fetchone()
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        (size,) = self._db.execute("PRAGMA page_size").fetchone()
        (events,) = self._db.execute("SELECT count(*) FROM events").fetchone()
        return {"batches": batches, "rows in the log": rows // ROW.itemsize, "events": events, "bytes": pages * size}

    def problems(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        return [str(line) for (line,) in self._db.execute("PRAGMA integrity_check(20)") if line != "ok"]

    def vacuum(self) -> None:
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def layout(dtypes: Iterable[np.dtype[Any]]) -> str:
    """A fingerprint of how states are laid out, so that those of other versions are recognised."""
    return hashlib.sha256(repr([dtype.descr for dtype in dtypes]).encode()).hexdigest()[:16]


def _explained(name: str, error: sqlite3.Error, path: str | None) -> Exception:
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return ValueError(f"state {name} is in use by another process; stop it or name another file")
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        old = path is not None and "not a database" in str(error) and Path(path).read_bytes()[:2] == b"PK"
        advice = "; states of versions before 0.2 were: observe the values again into a new file" if old else ""
        return ValueError(f"{name} is damaged or no state of prophecy's streams: {error}{advice}")
    return error
