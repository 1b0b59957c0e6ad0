"""The live channel: every value once, in order, to readers of any speed; the writer's line; the end."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from time import sleep

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastapi")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from prophecy.fleet import Fleet
from prophecy.service import DEFAULT, create_app
from prophecy.service.bodies import Batch
from prophecy.service.errors import Problem
from prophecy.service.live import Backlog
from prophecy.service.shapes import COLUMNS
from prophecy.service.writer import Writer

ADDRESS = "ws://127.0.0.1"


def client(fleet=None, **options):
    return TestClient(create_app(Fleet() if fleet is None else fleet, **options), base_url="http://127.0.0.1")


def columns(keys):
    return {name: list(keys) for name in COLUMNS}


SIZES = st.lists(st.integers(1, 7), max_size=30)


@given(SIZES, st.integers(1, 40), st.lists(st.integers(1, 9), min_size=1, max_size=60), st.booleans())
def test_what_a_reader_gets_and_what_it_is_told_it_missed_is_everything_once(sizes, capacity, reads, some):
    """Whatever the pace: numbers read and numbers missed together are 1, 2, 3 … without a hole."""
    backlog, after, seen = Backlog(capacity), 0, []
    wanted = {"k0", "k2"} if some else None
    said = {}
    steps = [("publish", size) for size in sizes] + [("read", most) for most in reads]
    np.random.default_rng(len(sizes) + capacity).shuffle(steps)
    for what, amount in [(w, int(a)) for w, a in steps] + [("read", 1000)]:
        if what == "publish":
            keys = [f"k{(backlog.values.last + n) % 3}" for n in range(1, amount + 1)]
            said.update({backlog.values.last + n: key for n, key in enumerate(keys, start=1)})
            backlog.publish(columns(keys), [])
            continue
        read = backlog.read(after, amount, wanted)
        if read.missed:
            seen += [("missed", n) for n in range(read.missed[0], read.missed[1] + 1)]
        seen += [("got", n) for n in read.columns["number"]]
        assert [said[n] for n in read.columns["number"]] == read.columns["key"]
        after = read.after
    assert after == backlog.values.last
    numbers = [n for _, n in seen]
    assert numbers == sorted(set(numbers))
    left = set(range(1, backlog.values.last + 1)) - set(numbers)
    assert left == set() if wanted is None else all(said[n] not in wanted for n in left)
    assert backlog.values.last - backlog.values.oldest < capacity + capacity // 64 + 8  # no more are dropped at once
    assert backlog.values.last - backlog.values.oldest + 1 >= min(capacity, backlog.values.last)


def test_a_reader_gets_every_value_in_order_with_its_prediction():
    with client() as service, service.websocket_connect(ADDRESS + "/v1/live") as socket:
        hello = socket.receive_json()
        sent = []
        for k in range(300):
            value = float(np.sin(k / 5))
            sent.append(
                service.post("/v1/observe", json={"key": f"k{k % 4}", "time": k, "value": value}).json()["rows"][0]
            )
        got = gathered(socket, 300)
        assert got["number"] == list(range(hello["cursor"] + 1, hello["cursor"] + 301))
        for name in COLUMNS:
            assert got[name] == [row[name] for row in sent], name


def gathered(socket, count):
    found = {name: [] for name in ("number", *COLUMNS)}
    while len(found["number"]) < count:
        message = socket.receive_json()
        if message["type"] == "values":
            for name, column in message["columns"].items():
                found[name] += column
    return found


def test_a_reader_that_names_series_gets_those_and_can_change_its_mind():
    with client() as service, service.websocket_connect(ADDRESS + "/v1/live?key=a&key=b") as socket:
        socket.receive_json()
        service.post("/v1/observe", json=[{"key": key, "value": 1.0} for key in "abcabc"])
        assert gathered(socket, 4)["key"] == ["a", "b", "a", "b"]
        socket.send_json({"keys": ["c"], "request": 5})
        told = socket.receive_json()
        assert (told["type"], told["request"], told["cursor"]) == ("watching", 5, 6)
        service.post("/v1/observe", json=[{"key": key, "value": 1.0} for key in "abc"])
        assert gathered(socket, 1)["key"] == ["c"]
        socket.send_json({"keys": None, "request": 6})
        assert socket.receive_json()["request"] == 6
        service.post("/v1/observe", json=[{"key": key, "value": 1.0} for key in "xy"])
        assert gathered(socket, 2)["key"] == ["x", "y"]


def test_a_reader_that_comes_back_goes_on_where_it_was():
    with client() as service:
        service.post("/v1/observe", json=[{"key": "a", "value": float(v)} for v in range(5)])
        boot = service.get("/v1/values").json()["boot"]
        with service.websocket_connect(ADDRESS + f"/v1/live?since=2&boot={boot}") as socket:
            assert socket.receive_json()["cursor"] == 2
            assert gathered(socket, 3)["value"] == [2.0, 3.0, 4.0]
        with service.websocket_connect(ADDRESS + "/v1/live?since=2&boot=another") as socket:
            hello = socket.receive_json()
            assert (hello["cursor"], hello["boot"]) == (5, boot)


def test_values_after_a_cursor_are_the_same_by_http():
    with client(settings=replace(DEFAULT, backlog=10)) as service:
        for v in range(30):
            service.post("/v1/observe", json={"key": "a", "value": float(v)})
        cursor, values = 0, []
        first = service.get("/v1/values", params={"since": 0, "limit": 4}).json()
        assert first["missed"][0] == 1
        while True:
            found = service.get("/v1/values", params={"since": cursor, "limit": 4}).json()
            if not found["columns"]["number"]:
                break
            values += found["columns"]["value"]
            cursor = found["cursor"]
        assert values == [float(v) for v in range(first["missed"][1], 30)]
        assert len(values) >= 10


def test_alarms_come_live():
    rng = np.random.default_rng(1)
    with client() as service, service.websocket_connect(ADDRESS + "/v1/live?key=other") as socket:
        socket.receive_json()
        rows = [{"key": "a", "time": k, "value": v} for k, v in enumerate(rng.standard_normal(300).tolist())]
        last = service.post("/v1/observe", json=rows).json() and service.get("/v1/events").json()["last"]
        service.post("/v1/observe", json={"key": "a", "time": 300, "value": 80.0})
        while True:
            message = socket.receive_json()
            assert message["type"] == "events"  # values of `a` were not asked for
            if message["events"][-1]["number"] > last:
                break
        assert (message["events"][-1]["key"], message["events"][-1]["value"]) == ("a", 80.0)


@pytest.mark.parametrize(
    "text",
    ["x", "[]", "3", '{"keys": "a"}', '{"keys": [1]}', '{"keys": {"a": 1}}', "[" * 5000, '{"keys": ["a", null]}'],
)
def test_a_reader_that_talks_nonsense_is_told_and_let_go(text):
    with client() as service, service.websocket_connect(ADDRESS + "/v1/live") as socket:
        socket.receive_json()
        socket.send_text(text)
        assert socket.receive_json()["type"] == "error"
        with pytest.raises(WebSocketDisconnect):
            socket.receive_json()


def test_bytes_and_long_messages_end_one_connection_and_no_other():
    with (
        client(settings=replace(DEFAULT, message=1000)) as service,
        service.websocket_connect(ADDRESS + "/v1/live") as other,
    ):
        other.receive_json()
        for send in (lambda s: s.send_bytes(b"\x00"), lambda s: s.send_text('{"keys": null}' + " " * 1000)):
            with service.websocket_connect(ADDRESS + "/v1/live") as socket:
                socket.receive_json()
                send(socket)
                assert socket.receive_json()["type"] == "error"
        service.post("/v1/observe", json={"key": "a", "value": 1.0})
        assert gathered(other, 1)["key"] == ["a"]


def test_readers_beyond_the_limit_are_turned_away_and_places_come_free():
    with client(settings=replace(DEFAULT, readers=2)) as service:
        with (
            service.websocket_connect(ADDRESS + "/v1/live") as one,
            service.websocket_connect(ADDRESS + "/v1/live") as two,
        ):
            one.receive_json(), two.receive_json()
            with service.websocket_connect(ADDRESS + "/v1/live") as three, pytest.raises(WebSocketDisconnect) as closed:
                three.receive_json()
            assert closed.value.code == 1013
        with service.websocket_connect(ADDRESS + "/v1/live") as three:
            assert three.receive_json()["type"] == "hello"


class Slow:
    """A fleet whose disk takes its time."""

    def __init__(self, seconds=0.0):
        self.fleet, self.seconds, self.batches = Fleet(), seconds, []
        self.gate = threading.Event()

    def observe_some(self, keys, values, times, steps):
        self.gate.wait(10)
        sleep(self.seconds)
        answers = self.fleet.observe_some(keys, values, times, steps)
        self.batches.append(len(answers))
        return answers

    def __getattr__(self, name):
        return getattr(self.fleet, name)

    def __len__(self):
        return len(self.fleet)

    def __contains__(self, key):
        return key in self.fleet


def batch(*values, key="a", first=0.0):
    times = np.arange(first, first + len(values))
    return Batch([key] * len(values), times, np.array(values, float), lines=range(1, len(values) + 1))


async def started(slow, settings=DEFAULT):
    backlog = Backlog(1000)
    return Writer(slow, settings, backlog), backlog


def test_batches_that_wait_are_written_in_one_transaction_and_answered_each():
    async def run():
        slow = Slow()
        writer, _ = await started(slow)
        tasks = [asyncio.create_task(writer.take(batch(1.0 * k, first=k))) for k in range(50)]
        await asyncio.sleep(0.05)
        slow.gate.set()
        taken = await asyncio.gather(*tasks)
        await writer.close()
        assert [one.columns["value"] for one in taken] == [[1.0 * k] for k in range(50)]
        assert [one.cursor for one in taken] == list(range(1, 51))
        assert sum(slow.batches) == 50
        assert len(slow.batches) <= 3

    asyncio.run(run())


def test_a_wrong_row_refuses_its_own_batch_and_no_other_of_the_transaction():
    async def run():
        slow = Slow()
        writer, _ = await started(slow)
        first = asyncio.create_task(writer.take(batch(0.0)))
        await asyncio.sleep(0.05)
        wrong = batch(1.0, 1e99, first=5.0)
        tasks = [asyncio.create_task(writer.take(one)) for one in (batch(1.0, key="b"), wrong, batch(2.0, key="c"))]
        await asyncio.sleep(0.05)
        slow.gate.set()
        await first
        found = await asyncio.gather(*tasks, return_exceptions=True)
        await writer.close()
        assert isinstance(found[1], Problem)
        assert (found[1].row, found[1].field) == (2, "value")
        assert [found[0].columns["key"], found[2].columns["key"]] == [["b"], ["c"]]
        assert slow.fleet.recent("a", 10).value.tolist() == [0.0]

    asyncio.run(run())


def test_more_than_may_wait_is_503_and_what_waits_is_written_when_the_service_stops():
    async def run():
        slow = Slow()
        writer, _ = await started(slow, replace(DEFAULT, pending=6, slice_rows=2))
        tasks = []
        for k in range(6):  # two are being written, four wait
            tasks.append(asyncio.create_task(writer.take(batch(float(k), first=k))))
            await asyncio.sleep(0.02)
        with pytest.raises(Problem, match="waiting") as refused:
            await writer.take(batch(9.0, first=9))
        assert (refused.value.status, refused.value.retry_after) == (503, 1.0)
        closing = asyncio.create_task(writer.close())
        await asyncio.sleep(0.05)
        with pytest.raises(Problem, match="stopping"):
            await writer.take(batch(9.0, first=9))
        slow.gate.set()
        await closing
        assert [one.columns["value"][0] for one in await asyncio.gather(*tasks)] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]

    asyncio.run(run())


def test_a_large_batch_is_taken_by_parts_and_small_ones_do_not_wait_for_its_end():
    async def run():
        slow = Slow(0.01)
        slow.gate.set()
        writer, backlog = await started(slow, replace(DEFAULT, slice_rows=20))
        order = []

        async def send(name, one):
            taken = await writer.take(one)
            order.append(name)
            return taken

        large = asyncio.create_task(send("large", batch(*np.arange(400.0))))
        await asyncio.sleep(0.03)
        same_key = asyncio.create_task(send("same key", batch(1.0, first=400.0)))
        others = [asyncio.create_task(send("other", batch(1.0, key=f"b{k}"))) for k in range(5)]
        found = await asyncio.gather(large, same_key, *others)
        await writer.close()
        assert order == ["other"] * 5 + ["large", "same key"]
        assert found[0].columns["value"] == list(range(400))
        assert found[0].columns["status"] == ["taken"] * 400
        assert found[0].cursor == 405
        assert max(slow.batches) <= 20
        assert backlog.values.last == 406

    asyncio.run(run())


def test_a_batch_is_not_overtaken_for_ever_by_smaller_ones_where_a_transaction_takes_one_row():
    async def run():
        slow = Slow()
        slow.gate.set()
        writer, _ = await started(slow, replace(DEFAULT, slice_steps=1))
        patient = asyncio.create_task(writer.take(batch(1.0, 2.0, 3.0)))

        async def hurry(name):
            for k in range(100):
                if not patient.done():
                    await writer.take(batch(1.0, key=name, first=k))

        await asyncio.gather(*(hurry(f"b{n}") for n in range(4)))
        assert patient.done()
        await writer.close()
        assert len(slow.batches) < 40

    asyncio.run(run())


def test_a_large_batch_with_a_wrong_row_at_its_end_is_refused_whole():
    async def run():
        slow = Slow()
        slow.gate.set()
        writer, _ = await started(slow, replace(DEFAULT, slice_rows=20))
        with pytest.raises(Problem, match="row 100: value must be at most") as refused:
            await writer.take(batch(*np.arange(99.0), 1e99))
        assert "none of the batch was taken" in refused.value.way_out
        assert len(slow.fleet) == 0
        await writer.close()

    asyncio.run(run())


def test_a_client_that_leaves_does_not_take_its_acknowledged_neighbours_with_it():
    async def run():
        slow = Slow()
        writer, backlog = await started(slow)
        tasks = [asyncio.create_task(writer.take(batch(float(k), first=k))) for k in range(4)]
        await asyncio.sleep(0.05)
        tasks[1].cancel()
        slow.gate.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        await writer.close()
        assert isinstance(found[1], asyncio.CancelledError)
        assert [found[n].columns["value"] for n in (0, 2, 3)] == [[0.0], [2.0], [3.0]]
        assert backlog.values.last == 4

    asyncio.run(run())


def test_the_past_of_a_series_and_the_live_values_after_its_cursor_are_all_of_it_once():
    """However reading and writing interleave, `recent` ends at `cursor`: no hole, no double."""
    with client() as service:
        stop = threading.Event()

        def write():
            k = 0
            while not stop.is_set():
                service.post(
                    "/v1/observe?answers=none", json=[{"key": "a", "time": k + n, "value": k + n} for n in range(3)]
                )
                k += 3

        thread = threading.Thread(target=write)
        thread.start()
        try:
            for _ in range(25):
                found = service.get("/v1/series/a?count=50")
                if found.status_code == 404:
                    continue
                past = found.json()
                assert past["recent"]["value"][-1] + 1 == past["cursor"]
        finally:
            stop.set()
            thread.join()
