"""The state of a fleet in one SQLite file: rows as they came with the answers given, streams as checkpoints, events.

A batch is one transaction with its raw rows, and is acknowledged when that is on the disk (write-ahead log,
`synchronous=FULL`). A stream's state includes every batch up to `seen`; after a crash the rows of later batches are
taken in again. The file is held exclusively, through whatever name it was opened. Nothing in a file is trusted: it is
checked whole when it is opened (`check`), blobs carry checksums, and states are checked number by number before they
are used. A stream that cannot be read is moved to the table `aside` with the rows its state lacks, and its key is free.
"""

import contextlib
import json
import os
import sqlite3
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy import _files
from prophecy.fleet import check
from prophecy.fleet.answers import ROW, are_rows
from prophecy.fleet.check import SCHEMA
from prophecy.fleet.events import Events, readable
from prophecy.streams.limits import MOST

FORMAT = 7  # of the file: raised when older versions could not read it
APPLICATION = 0x50524F50  # SQLite's application_id of our files: "PROP"
PAGE = 8192  # bytes of a page: states of more than 64 rows are 40 to 90 kB, six pages and more


class Saved(NamedTuple):
    """A stream as the file has it. taken: the rows in its state; last: the newest of them."""

    id: int
    taken: int
    last: bytes | None
    state: bytes | None


class Aside(NamedTuple):
    """A stream that was set aside: its number, its key, why, and the rows that its state lacks."""

    id: int
    key: str
    reason: str
    rows: NDArray[np.void]


class Store:
    """The file, or a temporary one that nobody else sees where `path` is None. Not safe between threads by itself.

    made: facts that a new file is made with."""

    def __init__(self, path: str | os.PathLike[str] | None, create: bool, **made: Any) -> None:
        self.path = None if path is None else os.path.realpath(path)
        self.name = "the fleet" if path is None else repr(os.path.basename(os.fspath(path)))
        self._made = {**made, "first": 1, "last": 0, "streams": 0}
        new = self._is_new(create)
        # SQLite's own temporary database: in memory while small, then in a file without a name.
        self._db = sqlite3.connect(self.path or "", timeout=0.0, isolation_level=None, check_same_thread=False)
        self.events = Events(self._db)
        try:
            self._open(new)
        except BaseException as error:
            self._db.close()
            if isinstance(error, sqlite3.Error):
                raise _explained(self.name, error, self.path) from error
            raise

    def _is_new(self, create: bool) -> bool:
        if self.path is None:
            return True
        folder = Path(self.path).parent
        if not folder.is_dir():
            raise FileNotFoundError(f"folder {str(folder)!r} does not exist; create it first")
        # Not looked into by hand: closing a file lets go of every lock this process has on it, SQLite's among them.
        try:
            found = os.stat(self.path) if os.path.lexists(self.path) else None
        except OSError as error:  # a link to itself
            raise _unopened(self.name, error.strerror) from error
        if os.path.lexists(f"{self.path}-journal"):
            # SQLite would follow it, and delete the file that it may name.
            raise ValueError(f"{self.name} has a -journal beside it, which a fleet never leaves; move it away first")
        if found is not None and not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no ordinary file"
            raise ValueError(f"{self.name} is {kind}; name a file")
        if found is not None and found.st_size:
            return False
        if not create:
            raise FileNotFoundError(f"no state {self.name}; check the name")
        if found is None:
            try:
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
            except OSError as error:
                raise _unwritable(self.name, folder, error.strerror) from error
            _files.flush_folder(folder)
        return True

    def _open(self, new: bool) -> None:
        run = self._db.execute
        self._db.create_function("folded", 1, str.casefold, deterministic=True)  # SQLite's lower() folds ASCII alone
        self._db.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)  # we have none: one that was smuggled in is an error
        for setting in ("trusted_schema=OFF", "cell_size_check=ON", "locking_mode=EXCLUSIVE"):
            run(f"PRAGMA {setting}")
        if new:
            run(f"PRAGMA page_size={PAGE}")
        else:
            self._check_foreign()
        for mode in ("MEMORY",) if self.path is None else ("MEMORY", "WAL"):  # on the way to WAL no file beside it
            run(f"PRAGMA journal_mode={mode}")
        run(f"PRAGMA synchronous={'OFF' if self.path is None else 'FULL'}")
        run("BEGIN IMMEDIATE")  # with the locking mode above, the lock stays until the file is closed
        if not list(run("SELECT name FROM sqlite_master")):
            for *_, statement in SCHEMA:
                run(statement)
            for name, value in self._made.items():
                run("INSERT INTO facts VALUES (?, ?)", (name, json.dumps([value])))
            run(f"PRAGMA application_id={APPLICATION}")
            run(f"PRAGMA user_version={FORMAT}")
        run("COMMIT")
        self._check_foreign()
        if not new:
            # Facts, log or events that contradict each other refuse the file; streams that do are set aside.
            faults = check.faults(self._db)
            if faults:
                raise ValueError(f"{self.name} is damaged: {'; '.join(faults[:5])}; {check.WAY_OUT}")
            bad = check.odd_streams(self._db, self.last_batch())
            bad |= check.odd_in_log(self._db, ((batch, rows) for batch, rows, _ in self.batches()), bad)
            if bad:
                with self.transaction():
                    self.set_aside(bad)

    def _check_foreign(self) -> None:
        found = list(self._db.execute("SELECT type, name, tbl_name, sql, rootpage FROM sqlite_master"))
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if not found and application == 0 and version == 0:
            return  # created and cut off before its first transaction
        if application != APPLICATION:
            raise ValueError(f"{self.name} is a database of another program, not a state of prophecy's streams")
        if version != FORMAT:
            way_out = "use the version that wrote it, or start afresh"
            raise ValueError(f"{self.name} was written in format {version}, this version reads {FORMAT}; {way_out}")
        odd = check.odd_schema(found)
        if odd:
            raise ValueError(f"{self.name} is damaged or was changed by somebody else (schema: {', '.join(odd)})")

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
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back by itself: a full disk, for one
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError):
                way_out = "nothing was changed; is the disk full, or gone?"
                raise sqlite3.OperationalError(f"{self.name} cannot be written ({error}): {way_out}") from error
            raise

    def fact(self, name: str) -> Any:
        (text,) = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return json.loads(text)[0]

    def _set_fact(self, name: str, value: int) -> None:
        self._db.execute("UPDATE facts SET value = ? WHERE name = ?", (json.dumps([value]), name))

    def __len__(self) -> int:
        return int(self.fact("streams"))

    def add(self, keys: list[str]) -> list[int]:
        """New streams; their numbers, which are never used again."""
        insert = "INSERT INTO streams (key, seen, count) VALUES (?, 0, 0)"
        self._set_fact("streams", len(self) + len(keys))
        return [int(self._db.execute(insert, (key,)).lastrowid or 0) for key in keys]

    def find(self, key: str) -> Saved | None:
        asked = "SELECT id, count, last, state FROM streams WHERE key = ?"
        return next((Saved(*found) for found in self._db.execute(asked, (key,))), None)

    def last_rows(self, keys: Iterable[str]) -> dict[str, bytes | None]:
        """Those of these keys that have a stream, with the newest row in its state; None where it has none."""
        asked = "SELECT key, last FROM streams WHERE key IN (SELECT value FROM json_each(?))"
        return dict(self._db.execute(asked, (json.dumps(list(keys)),)))

    def key_and_seen(self, stream: int) -> tuple[str, int] | None:
        """The key of a stream and the last batch in its state; None for one that was removed."""
        found = self._db.execute("SELECT key, seen FROM streams WHERE id = ?", (stream,)).fetchone()
        return None if found is None else (str(found[0]), int(found[1]))

    def save(self, saved: Iterable[tuple[int, int, bytes, bytes, int]]) -> None:
        """States: seen, count, last, state, id of each."""
        self._db.executemany("UPDATE streams SET seen = ?, count = ?, last = ?, state = ? WHERE id = ?", saved)

    def remove(self, stream: int) -> None:
        """Forget a stream, be it set aside, and its events."""
        gone = self._db.execute("DELETE FROM streams WHERE id = ?", (stream,)).rowcount
        self._set_fact("streams", len(self) - gone)
        self._db.execute("DELETE FROM aside WHERE id = ?", (stream,))
        self._db.execute("DELETE FROM events WHERE stream = ?", (stream,))

    def set_aside(self, reasons: Mapping[int, str]) -> None:
        """Move streams out of the way, with the rows of the log that their states lack."""
        lacking: dict[int, list[bytes]] = {stream: [] for stream in reasons}
        asked = "SELECT id, seen FROM streams WHERE id IN (SELECT value FROM json_each(?))"
        seen, last = dict(self._db.execute(asked, (json.dumps([*reasons]),))), self.last_batch()
        for batch, rows, _ in self.batches():
            for stream in lacking.keys() & set(rows["stream"].tolist()):
                if type(seen[stream]) is not int or not batch <= seen[stream] <= last:
                    lacking[stream].append(rows[rows["stream"] == stream].tobytes())
        for stream, reason in reasons.items():
            self._db.execute(
                "INSERT INTO aside SELECT id, key, seen, count, last, state, ?, ? FROM streams WHERE id = ?",
                (b"".join(lacking[stream]), ascii(reason)[1:-1], stream),
            )
            self._db.execute("DELETE FROM streams WHERE id = ?", (stream,))
        self._set_fact("streams", len(self) - len(reasons))

    def aside(self) -> list[Aside]:
        found = self._db.execute("SELECT id, CAST(key AS BLOB), reason, rows FROM aside ORDER BY id")
        return [Aside(stream, readable(key), reason, np.frombuffer(rows, ROW)) for stream, key, reason, rows in found]

    def keys(self, search: str | None = None, offset: int = 0, limit: int = -1) -> list[str]:
        """Keys in order, those that contain `search`, from `offset` on; limit -1 is all."""
        asked = "SELECT key FROM streams WHERE ?1 IS NULL OR instr(folded(key), ?1) ORDER BY key LIMIT ?2 OFFSET ?3"
        return [str(key) for (key,) in self._db.execute(asked, (_sought(search), limit, offset))]

    def matching(self, search: str | None) -> int:
        asked = "SELECT count(*) FROM streams WHERE instr(folded(key), ?)"
        return len(self) if search is None else int(self._db.execute(asked, (_sought(search),)).fetchone()[0])

    def last_batch(self) -> int:
        return int(self.fact("last"))

    def append(self, batch: int, rows: NDArray[np.void], note: bytes) -> None:
        (used,) = self._db.execute("SELECT max(seq) FROM sqlite_sequence").fetchone()
        if max(batch, used or 0) > MOST:  # the file would not open again
            raise ValueError(f"{self.name} has no numbers left for what is new; {check.WAY_OUT}")
        data = rows.tobytes()
        crc = zlib.crc32(note, zlib.crc32(data))
        self._db.execute("INSERT INTO log VALUES (?, ?, ?, ?)", (batch, crc, data, note))
        self._set_fact("last", batch)

    def batches(self, after: int = 0) -> Iterator[tuple[int, NDArray[np.void], bytes]]:
        """Number, rows and note of the batches of the log after this one, in order, each checked."""
        asked = "SELECT batch, crc, rows, note FROM log WHERE batch > ? ORDER BY batch"
        for batch, crc, data, note in self._db.execute(asked, (after,)):
            fault = None
            if type(data) is not bytes or type(note) is not bytes or zlib.crc32(note, zlib.crc32(data)) != crc:
                fault = "does not have its checksum"
            elif len(data) % ROW.itemsize or not are_rows(np.frombuffer(data, ROW)):
                fault = "has rows that a fleet would refuse"
            if fault:
                raise ValueError(f"{self.name} is damaged: batch {batch} of its log {fault}; {check.WAY_OUT}")
            yield batch, np.frombuffer(data, ROW), note

    def first_kept(self, rows: int) -> int:
        """The first batch such that this many rows follow its beginning, or all there are."""
        count = 0
        for batch, size in self._db.execute("SELECT batch, length(rows) FROM log ORDER BY batch DESC"):
            count += size // ROW.itemsize
            if count >= rows:
                return int(batch)
        return 0

    def trim(self, before: int) -> None:
        if self._db.execute("DELETE FROM log WHERE batch < ?", (before,)).rowcount:
            self._set_fact("first", before)

    def facts(self) -> dict[str, Any]:
        asked = {
            "set aside": "SELECT count(*) FROM aside",
            "batches": "SELECT count(*) FROM log",
            "rows in the log": f"SELECT coalesce(sum(length(rows)), 0) / {ROW.itemsize} FROM log",
            "events": "SELECT count(*) FROM events",
            "bytes": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        }
        return {name: self._db.execute(statement).fetchone()[0] for name, statement in asked.items()}

    def problems(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        return [str(line) for (line,) in self._db.execute("PRAGMA integrity_check(20)") if line != "ok"]

    def vacuum(self) -> None:
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _sought(search: str | None) -> str | None:
    """Part of a key, in any case; half a character is in none."""
    return None if search is None else search.casefold().encode(errors="replace").decode()


def _unwritable(name: str, folder: Path, reason: str | None) -> ValueError:
    way_out = "a state needs files beside it: choose a folder that you may write to, or copy the state into one"
    return ValueError(f"{name} cannot be written in folder {str(folder)!r} ({reason}); {way_out}")


def _explained(name: str, error: sqlite3.Error, path: str | None) -> Exception:
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return ValueError(f"state {name} is in use by another process; stop it or name another file")
    effective = os.access in os.supports_effective_ids
    places = () if path is None else (path, Path(path).parent)
    if path is not None and not all(os.access(place, os.W_OK, effective_ids=effective) for place in places):
        return _unwritable(name, Path(path).parent, str(error))
    if not isinstance(error, sqlite3.OperationalError) or "decode" in str(error):  # text that is no UTF-8
        return ValueError(f"{name} is damaged or no state of prophecy's streams: {error}")
    return _unopened(name, error)


def _unopened(name: str, reason: object) -> ValueError:
    return ValueError(f"state {name[:80]} cannot be opened ({reason}); choose another name or folder")
