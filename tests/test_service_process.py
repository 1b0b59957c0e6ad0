"""`prophecy serve` as people run it: its start, its end, slow readers, and the examples of its documentation."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("httpx")
pytest.importorskip("websockets")

import httpx
import uvicorn
from websockets.exceptions import ConnectionClosed
from websockets.sync import client

from prophecy import __version__
from prophecy.fleet import Fleet
from prophecy.service import DEFAULT, create_app, server

TOKEN = "0123456789abcdef-0123456789"
DOCS = Path(__file__).parents[1] / "docs" / "service.md"


def rows(first, count, key="a"):
    return [{"key": key, "time": k, "value": float(np.sin(k / 7))} for k in range(first, first + count)]


def live(url, path="/v1/live", **options):
    return client.connect(url.replace("http", "ws") + path, proxy=None, **options)


def read_on(reader):
    while True:
        reader.recv(timeout=120)


def run(*arguments):
    command = [sys.executable, "-m", "prophecy.cli", "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--host", "0.0.0.0"),
        ("--host", "::"),
        ("--host", "0.0.0.0", "--token-file", "short"),
        ("--allow-host", "plant.example.org"),
        ("--level", "1"),
    ],
)
def test_what_would_be_unsafe_or_senseless_does_not_start(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short").write_text("short\n")
    done = run("--port", "0", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_port_in_use_is_said_in_one_line(serving):
    port = serving().url.rpartition(":")[2]
    done = run("--port", port)
    assert done.returncode == 1
    assert done.stderr.startswith(f"prophecy serve: cannot listen on 127.0.0.1 port {port}")
    assert len(done.stderr.splitlines()) == 1


def test_connections_send_at_once():
    """Nagle's algorithm would hold every answer back for 40 ms; asyncio turns it off for sockets of this protocol."""
    with server.listening("127.0.0.1", 0) as bound, socket.create_connection(bound.getsockname()):
        taken, _ = bound.accept()
        with taken:
            assert taken.proto == socket.IPPROTO_TCP


def test_the_token_comes_from_the_environment_or_a_file_and_is_asked_for(serving, tmp_path):
    (tmp_path / "token").write_text(TOKEN + "\n")
    for started in (serving(PROPHECY_TOKEN=TOKEN), serving("--token-file", tmp_path / "token")):
        assert httpx.get(started.url + "/v1/series").status_code == 401
        assert httpx.get(started.url + "/v1/series", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
        assert TOKEN not in "".join(started.said)


def test_limits_given_on_the_command_line_are_kept(serving):
    started = serving("--max-keys", 1, "--max-per-second", 1)
    with httpx.Client(base_url=started.url, timeout=300) as http:  # the first answer may wait for the compiler
        assert http.post("/v1/observe?answers=none", json=rows(0, 2)).status_code == 200
        refused = http.post("/v1/observe?answers=none", json=rows(0, 1, "b"))
        assert refused.status_code == 413
        assert "--max-keys" in refused.text
        body = "key,time,value\n" + "".join(f"a,{k},1\n" for k in range(10, 49_000))
        sent = [http.post("/v1/observe?answers=none", content=body, headers={"content-type": "text/csv"})]
        sent.append(http.post("/v1/observe?answers=none", json=rows(60_000, 2_000)))
        assert [answer.status_code for answer in sent] == [200, 429]
        assert int(sent[1].headers["retry-after"]) > 100


def test_a_stop_finishes_what_is_in_flight_tells_readers_and_keeps_everything(serving, tmp_path):
    path = tmp_path / "plant.db"
    started = serving("--db", path)
    codes, acknowledged, stop = [], [], threading.Event()

    def write(name):
        k = 0
        with httpx.Client(base_url=started.url) as http:
            while not stop.is_set():
                try:
                    answer = http.post("/v1/observe?answers=none", json=rows(k, 20, name))
                except httpx.HTTPError:
                    return
                codes.append(answer.status_code)
                if answer.status_code != 200:
                    return
                acknowledged.append((name, k))
                k += 20

    threads = [threading.Thread(target=write, args=(f"w{n}",)) for n in range(3)]
    with live(started.url) as reader:
        reader.recv()
        for thread in threads:
            thread.start()
        while len(acknowledged) < 30:
            time.sleep(0.01)
        assert started.stop() == 0
        stop.set()
        with pytest.raises(ConnectionClosed) as closed:
            read_on(reader)
        assert closed.value.rcvd.code == 1012
    for thread in threads:
        thread.join()
    assert set(codes) <= {200, 503}
    with Fleet(path, create=False) as fleet:
        for name in ("w0", "w1", "w2"):
            sent = 20 + max(k for other, k in acknowledged if other == name)
            assert fleet.summary(keys=[name]).rows[0].count >= sent
            last = fleet.recent(name, 100).value[: -20 if fleet.summary(keys=[name]).rows[0].count > sent else None]
            assert np.array_equal(last, np.sin(np.arange(sent - len(last), sent) / 7))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_ends_with_a_sentence_whatever_is_in_flight(serving, tmp_path, how):
    service = serving("--db", tmp_path / "db")
    httpx.post(service.url + "/v1/observe", json=rows(0, 10))
    host, port = service.url.removeprefix("http://").split(":")
    with contextlib.closing(socket.create_connection((host, int(port)))) as half, live(service.url):
        half.sendall(b"POST /v1/observe HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n[")
        code = service.stop(how)
    assert code == (130 if how == signal.SIGINT else 0)
    assert service.process.stderr.read().endswith("prophecy serve: stopped\n")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_while_a_state_is_caught_up_with_ends_with_a_sentence(tmp_path, how):
    with Fleet(tmp_path / "s") as fleet:
        for k in range(40):
            fleet.observe([f"k{n}" for n in range(2000)], np.arange(2000.0), time=np.full(2000, float(k)))
        for end in ("", "-wal"):
            shutil.copy(tmp_path / f"s{end}", tmp_path / f"copy{end}")
    command = [sys.executable, "-c", TELLING, "serve", "--port", "0", "--db", str(tmp_path / "copy")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline() == "catching up\n"
        process.send_signal(how)
        _, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    assert err.endswith("prophecy serve: stopped\n")


TELLING = """
import sys
from prophecy import cli
from prophecy.fleet.streams import Streams
plain = Streams._recover
def recover(self):
    print("catching up", file=sys.stderr, flush=True)
    plain(self)
Streams._recover = recover
cli.main()
"""


def test_ctrl_c_is_a_stop_too(serving, tmp_path):
    started = serving("--db", tmp_path / "a.db")
    httpx.post(started.url + "/v1/observe", json=rows(0, 10))
    assert started.stop(signal.SIGINT) == 130
    with Fleet(tmp_path / "a.db", create=False) as fleet:
        assert len(fleet.recent("a", 100).value) == 10


def test_killed_at_once_after_an_answer_nothing_acknowledged_is_lost(serving, tmp_path):
    path = tmp_path / "plant.db"
    for turn in range(3):
        started = serving("--db", path)
        found = httpx.get(started.url + "/v1/series/a")
        assert (found.json()["count"] if found.status_code == 200 else 0) == 30 * turn
        assert httpx.post(started.url + "/v1/observe", json=rows(30 * turn, 30)).status_code == 200
        started.stop(signal.SIGKILL)


@contextlib.contextmanager
def running(settings, servers=None):
    """The application in a thread, with limits of its own; it is put into `servers`."""
    bound = server.listening("127.0.0.1", 0)
    running = uvicorn.Server(server.configured(create_app(Fleet(), settings=settings), settings))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]})
    thread.start()
    if servers is not None:
        servers.append(running)
    try:
        while not running.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join()


def test_a_reader_that_does_not_read_holds_up_nobody_and_is_told_what_it_missed():
    """40 000 values go past a reader that sleeps; a second one, never more than two batches behind, gets all of them;
    the first learns what it lacks."""
    count, size = 40_000, 1_000
    with running(replace(DEFAULT, backlog=5_000)) as url, httpx.Client(base_url=url, timeout=60) as http:
        small = socket.socket()
        small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        small.connect(("127.0.0.1", int(url.rpartition(":")[2])))
        with live(url, max_queue=1, ping_interval=None, sock=small) as asleep, live(url, ping_interval=None) as awake:
            asleep.recv(), awake.recv()
            got, lacking = [], []
            reading = threading.Thread(target=collect, args=(awake, count, got, lacking))
            reading.start()
            for first in range(0, count, size):
                body = {"key": [f"k{n % 50}" for n in range(size)], "value": [float(first + n) for n in range(size)]}
                assert http.post("/v1/observe?answers=none", json=body).status_code == 200
                while len(got) < first - size and reading.is_alive():
                    time.sleep(0.001)
            reading.join(60)
            assert not lacking
            assert got == list(range(1, count + 1))
            late, told = [], []
            collect(asleep, count, late, told)
            assert sorted(late + told) == list(range(1, count + 1))
            assert len(told) > count / 4
            assert f"prophecy_live_missed_total {len(told)}" in http.get("/metrics").text


def collect(reader, last, found, missed):
    """Append the numbers of values up to the last one to `found`, and those told as missed to `missed`."""
    while not found or found[-1] < last:
        message = json.loads(reader.recv(timeout=60))
        if message["type"] == "values":
            found += message["columns"]["number"]
        elif message["type"] == "missed":
            missed.extend(range(message["first"], message["last"] + 1))


POST = b"POST /v1/observe HTTP/1.1\r\nHost: 127.0.0.1\r\n"
PAGE = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def test_a_body_that_has_not_arrived_when_the_service_stops_is_answered_with_503():
    with running(replace(DEFAULT, stop_seconds=1)) as url:
        sending = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
        sending.sendall(POST + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n" + b'{"key": "a", ')
        httpx.get(url + "/v1/health")
    with sending:
        sending.settimeout(10)
        head, _, body = sending.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: " in head.lower()
    assert "stopping" in json.loads(body)["error"]


def test_trickles_of_bytes_and_broken_requests_leave_the_service_answering_and_its_log_short(serving):
    started = serving()
    host, port = started.url.removeprefix("http://").split(":")

    async def attack():
        for text in (
            b"GARBAGE\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.org\r\n\r\n",
            b"GET /v1/series HTTP/1.1\r\n\r\n",
            POST + b"Content-Type: application/json\r\nContent-Length: -5\r\n\r\n",
            POST + b"Content-Type: application/json\r\nContent-Length: 99999999999999999999\r\n\r\n",
            POST + b"Content-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFF\r\n",
            POST + b"Content-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            POST + b"Content-Type: text/csv\r\nContent-Length: 100\r\n\r\nkey,value",
            POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + PAGE,
            b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            PAGE[:-2] + b"X: " + b"a" * 100_000,
        ):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(text)
            await writer.drain()
            try:
                answer = await asyncio.wait_for(reader.read(2000), 2)
            except (TimeoutError, ConnectionError):
                answer = b""
            assert b" 200 " not in answer, text[:60]
            writer.close()

    asyncio.run(attack())
    found = httpx.get(started.url + "/v1/health").json()
    assert (found["version"], found["series"]) == (__version__, 0)
    started.stop()
    assert "Traceback" not in started.process.stderr.read()


def test_text_that_is_no_utf_8_ends_its_reader_and_is_logged_without_a_traceback(serving):
    service = serving()
    with live(service.url) as reader:
        reader.send(b"\xff\xfe", text=True)
        with pytest.raises(ConnectionClosed) as ended:
            read_on(reader)
    assert ended.value.rcvd.code == 1007
    service.stop()
    said = service.process.stderr.read()
    assert "Invalid UTF-8" in said
    assert "Traceback" not in said


def test_sockets_without_a_token_keep_out_nobody_who_has_one(serving):
    """64 bare sockets took all places of live readers; 520 half-sent heads gave 503 to the right token."""
    service = serving(PROPHECY_TOKEN=TOKEN)
    host, port = service.url.removeprefix("http://").split(":")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with contextlib.ExitStack() as stack:
        for _ in range(80):
            stack.enter_context(live(service.url))
        for _ in range(300):
            idle = stack.enter_context(contextlib.closing(socket.create_connection((host, int(port)))))
            idle.sendall(b"GET /v1/series HTTP/1.1\r\nHost: ")
        for _ in range(5):
            reader = stack.enter_context(live(service.url, additional_headers=headers))
            assert json.loads(reader.recv(timeout=120))["type"] == "hello"
            browser = stack.enter_context(live(service.url))
            browser.send(json.dumps({"token": TOKEN}))
            assert json.loads(browser.recv(timeout=120))["type"] == "hello"
            assert httpx.get(service.url + "/v1/series", headers=headers).status_code == 200


def test_heads_that_never_end_and_idle_connections_are_closed():
    with running(replace(DEFAULT, quiet_seconds=1.0)) as url:
        host, port = url.removeprefix("http://").split(":")
        for sent in (b"", b"GET /v1/series HTT", b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"):
            with contextlib.closing(socket.create_connection((host, int(port)))) as idle:
                idle.settimeout(120)
                idle.sendall(sent)
                while idle.recv(4096):
                    pass


def test_answers_that_nobody_reads_are_not_held_for_long_nor_whole():
    """300 connections that asked for a file of 4 MB and never read held 1.4 GB, and outlived their time."""
    asked = b"GET /page/plotly.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    servers = []
    with running(replace(DEFAULT, quiet_seconds=2.0), servers) as url, contextlib.ExitStack() as stack:
        whole = len(httpx.get(url + "/page/plotly.min.js", headers={"Accept-Encoding": "identity"}).content)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        held = []
        for _ in range(60):
            held.append(stack.enter_context(contextlib.closing(socket.socket())))
            held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            held[-1].connect(("127.0.0.1", int(url.rpartition(":")[2])))
            held[-1].sendall(asked)
        for one in held:
            select.select([one], [], [], 60)
        assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 60 * whole / 4
        while servers[0].server_state.connections:
            time.sleep(0.1)
        for one in held:
            got = 0
            with contextlib.suppress(ConnectionError):
                while data := one.recv(2**16):
                    got += len(data)
            assert got < whole
        assert httpx.get(url + "/v1/health").status_code == 200


def test_what_is_loaded_at_the_start_is_no_work_for_the_collector():
    """Where 80 000 objects of libraries were looked through again, everybody waited for 50 ms, some times a minute."""
    code = (
        "import gc, os, signal, socket; from prophecy.fleet import Fleet; from prophecy.service import server\n"
        "def ready():\n"
        "    print(gc.get_freeze_count() / (1 + len(gc.get_objects())), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "server.serve(Fleet(), socket.create_server(('127.0.0.1', 0)), ready=ready)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout
    assert float(said) > 10.0


def test_a_level_no_interval_can_have_is_said_to_be_wrong():
    with running(DEFAULT) as url:
        httpx.post(url + "/v1/observe", json=rows(0, 100))
        for level in ("1e-300", "0", "1", "nan", "0.99999999"):
            answer = httpx.get(url + "/v1/forecast", params={"key": "a", "horizon": 3, "level": level})
            assert answer.status_code == 400, level
            assert answer.json()["field"] == "level"
            assert "observe more" not in answer.text


def test_the_demonstration_lives_and_alarms_within_seconds(serving):
    started = serving("--demo")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = httpx.get(started.url + "/v1/series?recent=5").json()
        if found["total"] == 5 and all(row["count"] > 1_200 for row in found["series"]):
            break
        time.sleep(0.2)
    assert found["total"] == 5
    before = {row["key"]: row["count"] for row in found["series"]}
    last = httpx.get(started.url + "/v1/events?limit=1").json()["last"]
    while time.monotonic() < deadline and httpx.get(started.url + "/v1/events?limit=1").json()["last"] == last:
        time.sleep(0.2)
    assert httpx.get(started.url + "/v1/events?limit=1").json()["last"] > last
    after = {row["key"]: row["count"] for row in httpx.get(started.url + "/v1/series").json()["series"]}
    assert all(after[key] > before[key] for key in before)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_documents_examples_work_as_printed(serving, tmp_path):
    """Every command of docs/service.md that calls the service is run; what it prints under it is what comes out."""
    started = serving("--db", tmp_path / "plant.db")
    blocks = re.findall(r"```sh\n(.*?)```", DOCS.read_text(), re.S)
    calls = [block for block in blocks if "curl" in block]
    assert len(calls) >= 8
    (tmp_path / "readings.csv").write_text(
        "key,time,value\n" + "".join(f"kiln,{1000 + k},{20 + k % 5}\n" for k in range(40))
    )
    for block in calls:
        script = block.replace("http://127.0.0.1:8765", started.url)
        done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, cwd=tmp_path, timeout=60)
        assert done.returncode == 0, (block, done.stderr)
        shown = [line[2:] for line in block.splitlines() if line.startswith("# {")]
        for line in shown:
            assert like(json.loads(line), json.loads(done.stdout.splitlines()[-1])), (line, done.stdout)


def like(shown, found):
    """Whether an answer is the one shown: what is shown is there, numbers to the digits shown, "…" is anything."""
    if shown == "…":
        return True
    if isinstance(shown, dict):
        return isinstance(found, dict) and all(key in found and like(part, found[key]) for key, part in shown.items())
    if isinstance(shown, list):
        return isinstance(found, list) and len(shown) == len(found) and all(map(like, shown, found))
    if isinstance(shown, float):
        return isinstance(found, float | int) and abs(shown - found) <= 1e-2 * max(1.0, abs(shown))
    return shown == found
