"""The state file of a fleet: whatever moment it is cut off at, nothing acknowledged is lost and nothing doubled."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import stat
import struct
import tempfile
import zlib
from collections import Counter

import numpy as np
import pytest

from prophecy.fleet import Fleet, Single
from prophecy.fleet.answers import ROW
from prophecy.fleet.slots import BYTES
from prophecy.fleet.states import pack, unpack
from prophecy.fleet.store import FORMAT
from prophecy.fleet.streams import Log

KEYS = ["a", "b", "c"]
ROUNDS = 40


def batch(k):
    rng = np.random.default_rng(k)
    keys = rng.choice(KEYS, size=int(rng.integers(1, 12))).tolist()
    values = rng.standard_normal(len(keys))
    return {"keys": keys, "values": values, "time": 10.0 * k + np.arange(len(keys))}


@pytest.fixture(scope="module")
def told():
    """The answers of a fleet that nothing happens to."""
    fleet = Fleet()
    return [fleet.observe(**batch(k)).rows for k in range(ROUNDS)]


def same(rows, expected):
    left, right = (np.concatenate(part) if isinstance(part, list) else part for part in (rows, expected))
    for name in left.dtype.names:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)


def copied(path, target):
    """The files as they are on the disk now, while their fleet goes on: what a crash would leave."""
    for end in ("", "-wal"):
        if os.path.exists(f"{path}{end}"):
            shutil.copy(f"{path}{end}", f"{target}{end}")
        elif os.path.exists(f"{target}{end}"):
            os.unlink(f"{target}{end}")
    return target


@pytest.mark.parametrize("per_save", [3, 512])
@pytest.mark.parametrize("memory", [2 * BYTES, 2**30])
def test_reopened_after_any_batch_it_goes_on_to_the_last_bit(tmp_path, told, memory, per_save):
    with Fleet(tmp_path / "s", memory=memory, log=Log(per_save)) as fleet:
        for k in range(ROUNDS):
            same(fleet.observe(**batch(k)).rows, told[k])
            if k % 7 == 0 or k > ROUNDS - 4:
                with Fleet(copied(tmp_path / "s", tmp_path / "copy"), memory=memory) as twin:
                    for j in range(k + 1, ROUNDS):
                        same(twin.observe(**batch(j)).rows, told[j])


def test_a_checkpoint_leaves_nothing_to_catch_up_with(tmp_path, told):
    """The file then holds the state of every stream after its last row; before, rows of the log are ahead of it."""

    def in_the_file():
        with contextlib.closing(sqlite3.connect(copied(tmp_path / "s", tmp_path / "copy"))) as file:
            return dict(file.execute("SELECT key, count FROM streams WHERE state IS NOT NULL"))

    rows = Counter(key for k in range(5) for key in batch(k)["keys"])
    with Fleet(tmp_path / "s") as fleet:
        for k in range(5):
            fleet.observe(**batch(k))
        assert in_the_file() == {}
        fleet.checkpoint()
        assert in_the_file() == rows
        with Fleet(copied(tmp_path / "s", tmp_path / "copy")) as twin:
            same(twin.observe(**batch(5)).rows, told[5])
    with Fleet() as held:
        held.checkpoint()  # nothing to write, and no error


def test_closed_and_opened_it_goes_on_to_the_last_bit(tmp_path, told):
    for k in range(ROUNDS):
        with Fleet(tmp_path / "s") as fleet:
            same(fleet.observe(**batch(k)).rows, told[k])


@pytest.mark.parametrize("seed", range(4))
def test_power_failing_at_any_byte_of_the_log_leaves_whole_batches(tmp_path, told, seed):
    """Bytes that were written after the last acknowledged batch may be there, missing or rubbish."""
    rng, path = random.Random(seed), tmp_path / "s"
    with Fleet(path) as fleet:
        for k in range(12):
            before = os.path.getsize(f"{path}-wal")
            fleet.observe(**batch(k))
            after = os.path.getsize(f"{path}-wal")
            assert after > before
            copied(path, tmp_path / "copy")
            cut = rng.randrange(before, after)
            with open(tmp_path / "copy-wal", "r+b") as file:
                if seed % 2:
                    file.truncate(cut)
                else:
                    file.seek(cut)
                    file.write(rng.randbytes(rng.randrange(1, after - cut + 1)))
            with Fleet(tmp_path / "copy") as twin:
                done = max((number for number, *_ in twin.batches()), default=0)
                assert done in (k, k + 1)
                for j in range(done, 14):
                    same(twin.observe(**batch(j)).rows, told[j])


def test_power_failing_while_pages_are_copied_back_loses_nothing(tmp_path, told):
    """SQLite moves pages from its log into the file: cut off in between, some pages are old, some new, some torn."""
    path, rng = tmp_path / "s", random.Random(5)
    with Fleet(path) as fleet:
        for k in range(20):
            fleet.observe(**batch(k))
        old, log = path.read_bytes(), (tmp_path / "s-wal").read_bytes()
        fleet._streams.store._db.execute("PRAGMA wal_checkpoint(FULL)")
        new = path.read_bytes()
    assert old != new
    for _ in range(10):
        pages = []
        for start in range(0, len(new), 8192):
            page, was = new[start : start + 8192], old[start : start + 8192].ljust(8192, b"\0")
            torn = rng.randrange(8192)
            pages.append(rng.choice([page, was, page[:torn] + was[torn:]]))
        (tmp_path / "copy").write_bytes(b"".join(pages))
        (tmp_path / "copy-wal").write_bytes(log)
        with Fleet(tmp_path / "copy") as twin:
            for j in range(20, 24):
                same(twin.observe(**batch(j)).rows, told[j])


def test_a_batch_that_cannot_be_written_is_not_taken(tmp_path, told):
    with Fleet(tmp_path / "s") as fleet:
        fleet.observe(**batch(0))
        run = fleet._streams.store._db.execute
        (pages,), (most,) = (run(f"PRAGMA {name}").fetchone() for name in ("page_count", "max_page_count"))
        run(f"PRAGMA max_page_count = {pages}")
        note = bytes(10**6)  # more than the pages that are there can hold
        with pytest.raises(sqlite3.OperationalError, match=r"'s' cannot be written \(.*full\): nothing was changed"):
            fleet.observe(**batch(1), note=note)
        run(f"PRAGMA max_page_count = {most}")
        for k in range(1, ROUNDS):
            same(fleet.observe(**batch(k)).rows, told[k])


@contextlib.contextmanager
def without_commits(fleet):
    """Every transaction is written, and cannot be committed."""
    db = fleet._streams.store._db
    commit = (sqlite3.SQLITE_TRANSACTION, "COMMIT")
    db.set_authorizer(lambda *did: sqlite3.SQLITE_DENY if did[:2] == commit else sqlite3.SQLITE_OK)
    try:
        yield
    finally:
        db.set_authorizer(None)


@pytest.mark.parametrize(
    "ask",
    [
        Fleet.checkpoint,
        Fleet.problems,
        lambda fleet: fleet.predict(["d", "e", "f"]),
        lambda fleet: fleet.remove("a"),
        lambda fleet: fleet.observe(list("fed"), np.zeros(3)),
    ],
)
@pytest.mark.parametrize("room", [3, 20])
def test_a_transaction_that_fails_at_its_end_leaves_memory_and_file_alike(tmp_path, ask, room):
    """A checkpoint that failed counted as made, so that the log was cut before what no state had."""
    keys, rng, whole = list("abcdef"), np.random.default_rng(0), Fleet()
    with Fleet(tmp_path / "s", memory=room * BYTES, log=Log(kept_rows=6)) as fleet:

        def observe(some):
            values = rng.standard_normal(len(some))
            same(fleet.observe(some, values).rows, whole.observe(some, values).rows)

        for k in range(72):
            observe(keys if k < 70 else keys[:3])
        with without_commits(fleet), contextlib.suppress(sqlite3.DatabaseError):
            ask(fleet)
        for _ in range(250):
            observe(keys[3:])
        observe(keys)
        copied(tmp_path / "s", tmp_path / "copy")
    with Fleet(tmp_path / "copy") as twin:
        assert np.array_equal(twin.predict(keys).point, whole.predict(keys).point)


def interrupted(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("tries", [1, 2, 3])
def test_catching_up_that_was_interrupted_is_begun_again(tmp_path, told, monkeypatch, tries):
    with Fleet(tmp_path / "s") as fleet:
        fleet.observe(**batch(0))
        fleet.observe(**batch(1))
        store = fleet._streams.store
        logged = store.batches

        def first_then_interrupted():
            yield next(iter(logged()))
            raise KeyboardInterrupt

        for _ in range(tries):
            with monkeypatch.context() as patched:
                patched.setattr(fleet._streams._residents, "run", interrupted)
                patched.setattr(store, "batches", first_then_interrupted)
                with pytest.raises(KeyboardInterrupt):
                    fleet.observe(**batch(2))
        for k in range(2, 5):
            same(fleet.observe(**batch(k)).rows, told[k])


def test_removing_that_was_interrupted_removes_nothing(tmp_path, monkeypatch):
    """A stream gone from the file and still in memory took in rows that no file had later."""
    with Fleet(tmp_path / "s") as fleet:
        fleet.observe("a", [1.0, 2.0])
        with monkeypatch.context() as patched:
            patched.setattr(fleet._streams._residents, "drop", interrupted)
            with pytest.raises(KeyboardInterrupt):
                fleet.remove("a")
        fleet.observe("a", [3.0])
        with Fleet(copied(tmp_path / "s", tmp_path / "copy")) as twin:
            assert twin.recent("a").value.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["restore_many", "open"])
def test_without_a_file_an_interrupt_leaves_no_stream_out_of_reach(monkeypatch, name):
    """Slots that were about to be filled belonged to nobody, and could not be made room of: KeyError for ever."""
    fleet = Fleet(memory=2 * BYTES)
    for k in range(5):
        fleet.observe(list("abcd"), np.full(4, k))
    with monkeypatch.context() as patched:
        patched.setattr(fleet._streams._residents.slots, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            fleet.observe(list("abcdefgh"), np.ones(8))
    fleet.observe(list("abcd"), np.ones(4))
    assert [row.count for row in fleet.summary(list("abcd")).rows] == [6, 6, 6, 6]


def test_an_acknowledged_batch_is_forced_to_the_disk(tmp_path):
    with Fleet(tmp_path / "s") as fleet:
        run = fleet._streams.store._db.execute
        assert run("PRAGMA synchronous").fetchone() == (2,)
        assert run("PRAGMA journal_mode").fetchone() == ("wal",)


def test_one_process_at_a_time_through_whatever_name(tmp_path):
    (tmp_path / "folder").mkdir()
    with Fleet(tmp_path / "s") as fleet:
        fleet.observe("a", [1.0])
        for name in ("one", "two"):
            os.symlink(tmp_path / "s", tmp_path / "folder" / name)
            with pytest.raises(ValueError, match="in use by another process"):
                Fleet(tmp_path / "folder" / name)
        code = f"from prophecy.fleet import Fleet; Fleet({str(tmp_path / 'folder' / 'two')!r})"
        assert "in use by another process" in _python(code)
    with Fleet(tmp_path / "folder" / "one") as fleet:
        assert list(fleet) == ["a"]
    assert sorted(os.listdir(tmp_path / "folder")) == ["one", "two"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_is_refused_and_its_parent_goes_on(tmp_path):
    with Fleet(tmp_path / "s") as fleet:
        fleet.observe("a", [1.0])
        pid = os.fork()
        if pid == 0:
            try:
                fleet.observe("a", [2.0])
            except ValueError as error:
                os._exit(0 if "before a fork" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        fleet.observe("a", [3.0])
    with Fleet(tmp_path / "s") as fleet:
        assert fleet.recent("a").value.tolist() == [1.0, 3.0]


def _python(code):
    import subprocess
    import sys

    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr


def test_permissions_of_the_file_stay_and_nothing_is_left_beside_it(tmp_path):
    (tmp_path / "s").touch()
    os.chmod(tmp_path / "s", 0o600)
    with Fleet(tmp_path / "s") as fleet:
        fleet.observe("a", [1.0])
        assert {stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in os.listdir(tmp_path)} == {0o600}
    assert os.listdir(tmp_path) == ["s"]
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600


def changed(path, statement, *values):
    db = sqlite3.connect(path)
    db.execute("PRAGMA writable_schema = ON")
    db.execute(statement, values)
    db.commit()
    db.close()


def filled(path):
    with Fleet(path) as fleet:
        fleet.observe("a", np.sin(np.arange(200.0)))
    return path


def test_a_digit_edited_in_the_log_is_noticed_even_with_its_checksum_mended(tmp_path):
    with Fleet(tmp_path / "s") as fleet:
        fleet.observe("a", np.sin(np.arange(200.0)))
        copied(tmp_path / "s", tmp_path / "copy")
    db = sqlite3.connect(tmp_path / "copy")
    ((data, note),) = db.execute("SELECT rows, note FROM log")
    rows = np.frombuffer(data, ROW).copy()
    rows["value"][150] += 1e-3
    db.execute("UPDATE log SET rows = ?", (rows.tobytes(),))
    db.commit()
    with pytest.raises(ValueError, match="checksum"):
        _reopened(db, tmp_path / "copy")
    db = sqlite3.connect(tmp_path / "copy")
    db.execute("UPDATE log SET crc = ?", (zlib.crc32(note, zlib.crc32(rows.tobytes())),))
    db.commit()
    with pytest.raises(ValueError, match=r"of 'a' was .* the file was changed"):
        _reopened(db, tmp_path / "copy")


def _reopened(db, path):
    db.close()
    Fleet(path)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM streams; END", "\\(schema: t\\)"),
        ("CREATE VIEW v AS SELECT 1", "\\(schema: v\\)"),
        ("DROP TABLE events", "events"),
        ("PRAGMA user_version = 99", "format 99"),
        ("PRAGMA application_id = 7", "another program"),
        ("UPDATE facts SET value = '[\"elsewhere\"]' WHERE name = 'layout'", "laid out otherwise"),
        ("DELETE FROM facts", "it lacks its"),
        ("DELETE FROM log", "batches 1 to 3 were acknowledged, and its log is empty"),
        ("DELETE FROM log WHERE batch = 3", "its log has 2, from 1 to 2"),
        ("DELETE FROM log WHERE batch = 2", "its log has 2, from 1 to 3"),
        ("DELETE FROM streams WHERE key = 'b'", "had 2 streams and has 1"),
        ("UPDATE log SET note = 'text'", "checksum"),
        ("UPDATE log SET rows = zeroblob(length(rows)), crc = 0", "checksum"),
        ("UPDATE facts SET value = '[NaN]' WHERE name = 'dt'", "'dt' is malformed"),
        ("UPDATE facts SET value = '[-1.0]' WHERE name = 'dt'", "'dt' is malformed"),
        ("UPDATE facts SET value = '[null]' WHERE name = 'level'", "'level' is malformed"),
        ("UPDATE facts SET value = x'5b302e395d' WHERE name = 'level'", "'level' is malformed"),
        ("UPDATE facts SET value = 5 WHERE name = 'last'", "'last' is malformed"),
        (
            "UPDATE facts SET value = replace(hex(zeroblob(50000)), '00', '[') WHERE name = 'level'",
            "'level' is malformed",
        ),
        ("INSERT INTO facts VALUES ('more', '[1]')", "'more' is malformed"),
        ("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'streams'", "numbered from 1 on, but 2 is already used"),
        ("UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'streams'", "numbered from"),
        ("INSERT INTO events VALUES (9, 1, 0, NULL, 'x', 1.0, 1.0, 'error', 0, NULL)", "event 9 is malformed"),
        ("INSERT INTO events VALUES (9, 1, 0, NULL, 1.0, 9e999, 1.0, 'error', 0, NULL)", "event 9 is malformed"),
        ("INSERT INTO events VALUES (9, 1, 0, -9e999, 1.0, 1.0, 1.0, 'error', 0, NULL)", "event 9 is malformed"),
        ("INSERT INTO events VALUES (9, 1, 0, NULL, 1e99, 1.0, 1.0, 'error', 0, NULL)", "event 9 is malformed"),
        (
            "INSERT INTO events VALUES (9, 1, 0, NULL, 1.0, 1.0, 1.0, CAST(x'ff' AS TEXT), 0, NULL)",
            "event 9 is malformed",
        ),
        ("INSERT INTO aside VALUES (9, NULL, 0, 0, NULL, NULL, x'00', 'why')", "9 was not set aside by a fleet"),
        ("INSERT INTO aside SELECT *, x'', 'why' FROM streams", "1 was not set aside by a fleet"),
        ("INSERT INTO aside VALUES (3, 'b', 0, 0, NULL, NULL, x'', 'why')", "3 was not set aside by a fleet"),
        ("INSERT INTO facts VALUES (CAST(x'ff' AS TEXT), '[1]')", "is damaged or no state"),
    ],
)
def test_damaged_and_foreign_files_are_refused_with_the_reason(tmp_path, statement, says):
    changed(crashed(tmp_path), statement)
    with pytest.raises(ValueError, match=says):
        Fleet(tmp_path / "copy")


SMUGGLED = "CREATE TRIGGER {} AFTER INSERT ON log BEGIN DELETE FROM streams WHERE key = 'b'; END"


@pytest.mark.parametrize("name", ["sqlite_sequence", "sqlite_autoindex_streams_1", "sqlite_stat1", "log"])
def test_nothing_hides_behind_a_name_of_sqlite_itself(tmp_path, name):
    """A trigger in a row of the schema that bears such a name ran with the next batch."""
    row = ("trigger", name, "log", 0, SMUGGLED.format(name))
    changed(crashed(tmp_path), "INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", *row)
    with pytest.raises(ValueError, match=r"not as made|damaged"):
        Fleet(tmp_path / "copy")


def test_a_forged_journal_deletes_nothing(tmp_path):
    """SQLite rolls back what lies beside a file as its journal, and deletes the file that the journal names."""
    path, victim = filled(tmp_path / "s"), tmp_path / "precious"
    victim.write_bytes(b"precious")
    name, magic = str(victim).encode(), bytes.fromhex("d9d505f920a163d7")
    head = magic + struct.pack(">5I", 0, 7, os.path.getsize(path) // 8192, 512, 8192)
    end = struct.pack(">I", 2**30 // 8192 + 1) + name + struct.pack(">2I", len(name), sum(name)) + magic
    (tmp_path / "s-journal").write_bytes(head.ljust(512, b"\0") + end)
    with pytest.raises(ValueError, match="has a -journal beside it"):
        Fleet(path)
    assert victim.read_bytes() == b"precious"
    os.unlink(tmp_path / "s-journal")
    with Fleet(path) as fleet:
        assert list(fleet) == ["a"]


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE streams SET state = x'00' WHERE key = 'b'", "1 bytes are not the state"),
        ("UPDATE streams SET state = zeroblob(2000000) WHERE key = 'b'", "not the state"),
        ("UPDATE streams SET state = 5 WHERE key = 'b'", "its state or its last row has the wrong type"),
        ("UPDATE streams SET state = NULL WHERE key = 'b'", "some of its parts are missing"),
        ("UPDATE streams SET last = x'00' WHERE key = 'b'", "its state or its last row has the wrong type"),
        ("UPDATE streams SET last = zeroblob(74) WHERE key = 'b'", "differ about its newest row"),
        ("UPDATE streams SET id = -1 WHERE key = 'b'", "its number is below 1"),
        ("UPDATE streams SET seen = 1 << 62 WHERE key = 'b'", "batches that the log never had"),
        ("UPDATE streams SET seen = 'x' WHERE key = 'b'", "seen is not the number"),
        ("UPDATE streams SET seen = seen - 1 WHERE key = 'b'", "differ about its newest row"),
        ("UPDATE streams SET seen = seen + 1 WHERE key = 'b'", "differ about its newest row"),
        ("UPDATE streams SET count = 'x' WHERE key = 'b'", "count is not a number"),
        ("UPDATE streams SET count = 7 WHERE key = 'b'", "of its row"),
        ("UPDATE streams SET key = x'ff' WHERE key = 'b'", "its key is not text"),
    ],
)
def test_a_stream_that_cannot_be_read_is_set_aside_and_the_others_go_on(tmp_path, statement, says):
    """Its state and all rows that the state lacks are kept, its key begins anew, and the file opens again as it is."""
    path = crashed(tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        (seen,) = db.execute("SELECT seen FROM streams WHERE key = 'b'").fetchone()
    changed(path, statement)
    with Fleet(path) as fleet:
        assert np.isfinite(fleet.predict(["a"]).point).all()
        assert fleet.predict().key == ["a"]
        (one,) = fleet.aside()
        assert says in one.reason
        lacking = np.concatenate([part[1] for part in BATCHES[seen:]])
        if "seen" not in statement and "SET id" not in statement:  # by which rows are told apart
            assert one.rows["value"].tolist() == lacking.tolist()
        if "SET key" not in statement:
            assert one.key == "b"
            with pytest.raises(KeyError, match="set aside"):
                fleet.model("b")
        (problem,) = fleet.problems()
        assert says in problem
        same(fleet.observe("b", BATCHES[0][1]).rows[["value", "next"]], fresh_b()[["value", "next"]])
    with Fleet(path) as fleet:
        assert len(fleet.problems()) == len(fleet.aside()) == 1
        assert list(fleet) == ["a", "b"]
        fleet.discard(one.key)
        assert fleet.problems() == []


def test_what_was_set_aside_without_a_key_is_shown_all_the_same(tmp_path):
    changed(crashed(tmp_path), "UPDATE sqlite_sequence SET seq = 9 WHERE name = 'streams'")
    changed(tmp_path / "copy", "INSERT INTO aside VALUES (9, NULL, 0, 0, NULL, NULL, x'', 'why')")
    with Fleet(tmp_path / "copy") as fleet:
        assert [(one.key, one.reason, len(one.rows)) for one in fleet.aside()] == [("", "why", 0)]


def test_events_of_a_stream_whose_key_is_not_text_are_listed_all_the_same(tmp_path):
    changed(crashed(tmp_path), "INSERT INTO events VALUES (999, 1, 0, NULL, 1.0, 5.0, 1.0, 'error', 0, NULL)")
    changed(tmp_path / "copy", "UPDATE streams SET key = CAST(x'62ff' AS TEXT) WHERE id = 1")
    with Fleet(tmp_path / "copy") as fleet:
        assert [one.key for one in fleet.aside()] == [r"b\xff"]
        assert {one.key for one in fleet.events()} == {r"b\xff"}


def fresh_b():
    return Fleet().observe("b", BATCHES[0][1]).rows


BATCHES = [(["b"] * 100, np.sin(0.3 * np.arange(100.0)) + k) for k in range(3)]


def crashed(tmp_path):
    """A file as a crash leaves it: stream b has seen the first two of three batches, stream a all of them."""
    with Fleet(tmp_path / "s") as fleet:
        for k, (keys, values) in enumerate(BATCHES):
            fleet.observe([*keys, "a"], [*values, k])
            if k == 1:
                fleet.checkpoint()
        return copied(tmp_path / "s", tmp_path / "copy")


@pytest.mark.parametrize("field", ["weight", "quantile", "last", "scale", "season_check"])
def test_a_record_no_stream_could_have_reached_is_set_aside(tmp_path, field):
    db = sqlite3.connect(filled(tmp_path / "s"))
    ((state,),) = db.execute("SELECT state FROM streams")
    found = unpack(state)
    found["record"][field] = np.nan if field != "season_check" else -1
    db.execute("UPDATE streams SET state = ?", (pack(found),))
    db.commit()
    db.close()
    with Fleet(tmp_path / "s") as fleet, pytest.raises(KeyError, match=f"set aside: {field}"):
        fleet.predict(["a"])


@pytest.mark.parametrize("seed", range(30))
def test_bytes_changed_anywhere_are_refused_or_harmless_and_never_nan(tmp_path, seed):
    data = bytearray(filled(tmp_path / "s").read_bytes())
    rng = random.Random(seed)
    for _ in range(rng.randrange(1, 20)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    (tmp_path / "s").write_bytes(data)
    with contextlib.suppress(ValueError, sqlite3.DatabaseError), Fleet(tmp_path / "s") as fleet:
        for key in fleet:
            said = fleet.observe(key, np.sin(np.arange(200.0, 220.0)))
            assert np.isfinite(said.next).all()


@pytest.mark.parametrize("dt", [1e31, 1e20, 1.0, 1e-9])
@pytest.mark.parametrize("steps", [-1e5, -3.0, 0.0, 3.0, 1e5])
def test_every_state_that_a_forged_clock_leads_to_loads_again(dt, steps):
    """One in 2 000 forged states led to a grid that the loader refused."""
    stream = Single()
    stream.follow(np.sin(0.1 * np.arange(300.0)), np.cumsum(np.random.default_rng(1).exponential(1.0, 300)))
    parts = unpack(stream.state())
    for irregular in (0, 1):
        clock = parts["clock"]
        clock["dt"], clock["irregular"], clock["grid"] = dt, irregular, clock["last"] + steps * dt
        stream = Single(pack(parts))
        for k in range(20):
            assert np.isfinite(stream.observe(np.sin(0.1 * k), 400.0 + k).next)
            stream = Single(stream.state())


@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE sqlite_sequence SET seq = 9007199254740992 WHERE name = 'streams'"],
        [
            "DELETE FROM log",
            "UPDATE facts SET value = '[9007199254740992]' WHERE name = 'first'",
            "UPDATE facts SET value = '[9007199254740991]' WHERE name = 'last'",
        ],
    ],
)
def test_a_file_whose_numbers_are_used_up_takes_nothing_more_and_opens_again(tmp_path, statements):
    filled(tmp_path / "s")
    for statement in statements:
        changed(tmp_path / "s", statement)
    with Fleet(tmp_path / "s") as fleet:
        keys = sorted(fleet)
        for key, fine in (("new", len(statements) > 1), ("newer", False)):  # one batch is left, or no stream
            with contextlib.nullcontext() if fine else pytest.raises(ValueError, match="no numbers left"):
                fleet.observe(key, [1.0])
    with Fleet(tmp_path / "s") as fleet:
        assert set(keys) <= set(fleet)
        assert "newer" not in fleet
        assert fleet.problems() == []


def test_files_of_other_kinds_are_refused_and_left_alone(tmp_path):
    for data in (b"something else", b"PK\3\4" + bytes(50), bytes(5000), b"SQLite format 3\0" + bytes(4000)):
        (tmp_path / "s").write_bytes(data)
        with pytest.raises(ValueError, match="state of prophecy's streams"):
            Fleet(tmp_path / "s")
        assert (tmp_path / "s").read_bytes() == data
    db = sqlite3.connect(tmp_path / "other")
    db.execute("CREATE TABLE mine (x)")
    db.commit()
    db.close()
    before = (tmp_path / "other").read_bytes()
    with pytest.raises(ValueError, match="another program"):
        Fleet(tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == before
    with pytest.raises(FileNotFoundError, match="no state"):
        Fleet(tmp_path / "new", create=False)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        Fleet(tmp_path / "no" / "s")
    with pytest.raises(ValueError, match="folder"):
        Fleet(tmp_path)
    assert FORMAT == 7


@pytest.mark.skipif(not hasattr(os, "fork") or os.geteuid() != 0, reason="needs another user to be")
@pytest.mark.parametrize("name", ["new", "s"])
def test_a_folder_that_cannot_be_written_to_is_said(name):
    """It was "disk I/O error" for a state that is there."""
    with tempfile.TemporaryDirectory() as folder:
        filled(f"{folder}/s")
        for path, mode in ((folder, 0o555), (f"{folder}/s", 0o444)):
            os.chmod(path, mode)
        text = said_by_another_user(folder, name)
    assert text.startswith(f"ValueError: '{name}' cannot be written in folder")
    assert "choose a folder that you may write to" in text


def said_by_another_user(folder, name):
    inside, outside = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        os.seteuid(65534)
        try:
            Fleet(name)
        except BaseException as error:
            os.write(outside, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(outside)
    with open(inside) as said:
        return said.read()


def test_a_batch_that_was_interrupted_is_not_taken_and_the_fleet_goes_on(tmp_path, told, monkeypatch):
    with Fleet(tmp_path / "s") as fleet:
        fleet.observe(**batch(0))
        with monkeypatch.context() as patched:
            patched.setattr(type(fleet._streams.store), "append", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                fleet.observe(**batch(1))
        same(fleet.observe(**batch(1)).rows, told[1])
        assert fleet.summary(["a"]).rows[0].count == sum(key == "a" for k in (0, 1) for key in batch(k)["keys"])


def test_a_file_keeps_what_it_was_made_with(tmp_path):
    with Fleet(tmp_path / "s", level=0.5, dt=2.0) as fleet:
        fleet.observe("a", [1.0, 2.0])
    with Fleet(tmp_path / "s") as fleet:
        assert fleet.predict().level == 0.5
    with pytest.raises(ValueError, match=r"made with level=0.5, and is opened with level=0.9"):
        Fleet(tmp_path / "s", level=0.9)


def test_the_log_keeps_the_last_rows_and_their_notes_and_forgets_older_ones(tmp_path):
    with Fleet(tmp_path / "s", log=Log(10, 25)) as fleet:
        made = [fleet.observe(["a", "b"], [k, -k], note=str(k).encode()).rows for k in range(100)]
        kept = list(fleet.batches())
        assert 13 <= len(kept) < 40
        assert [note for *_, note in kept] == [str(k).encode() for k in range(100 - len(kept), 100)]
        same([answers.rows for _, answers, _ in kept], made[100 - len(kept) :])
        assert [number for number, *_ in fleet.batches(kept[-3][0])] == [99, 100]
