"""Load test of `prophecy serve` on loopback: values a second, latency, memory, slow readers, broken input, the page.

    python -m benchmarks.service [PART …] [--seconds 8] [--out benchmarks/results/service.json]
    python -m benchmarks.service load "load, hostile client" --load-seconds 60 --old OLD/bin/python --out …

Client and server share the machine. Each rate stands beside the ceiling measured in the same run: the same batches
handed to a `Fleet` in a process, without HTTP. Latencies are from sending a request to having its whole answer. "db"
waits for the disk (SQLite, synchronous=FULL) before it answers. The page is opened in the system's Chromium where there
is one. Load: four clients send batches of 1 250 values, 5 000 series in all, to the file; --old names the interpreter
of an environment with an earlier version, which gets the same in turns of a quarter of the time. A hostile client sends
by turns the costliest legal batches, broken ones, large ones, forecasts, and sockets that say nothing; only the four
are timed. Needs the extra `service`.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from websockets.sync import client as ws

from benchmarks.harness import Options, Parts, load, option
from benchmarks.speed import measure
from prophecy import __version__
from prophecy.fleet import Fleet

KEYS, BATCH, SETTLE, LOAD = 1_000, 1_000, 30, 1_250


class Service:
    """A running `prophecy serve`, its memory, and one connection to it."""

    def __init__(self, *arguments: object, python: str = sys.executable) -> None:
        command = [python, "-m", "prophecy.cli", "serve", "--port", "0", "--max-per-second", "1e9"]
        self.process = subprocess.Popen([*command, *map(str, arguments)], stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        for line in self.process.stderr:
            found = re.search(r"http://([\d.]+):(\d+)", line)
            if found:
                self.host, self.port = found[1], int(found[2])
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def memory(self) -> float:
        """Resident memory, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return round(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024, 1)  # type: ignore[index]

    def seconds(self) -> float:
        """Of the processor, so far: what is left to compare where cores are shared."""
        user, system = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=120)

    def stop(self) -> float:
        """Seconds an orderly stop takes."""
        began = time.perf_counter()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        return time.perf_counter() - began


@contextlib.contextmanager
def service(*arguments: object, python: str = sys.executable) -> Iterator[Service]:
    found = Service(*arguments, python=python)
    try:
        yield found
    finally:
        found.stop()


def post(
    link: http.client.HTTPConnection, body: bytes, kind: str = "application/json", query: str = "?answers=none"
) -> int:
    link.request("POST", "/v1/observe" + query, body, {"Content-Type": kind})
    answer = link.getresponse()
    answer.read()
    return answer.status


def get(link: http.client.HTTPConnection, path: str) -> Any:
    link.request("GET", path)
    return json.loads(link.getresponse().read())


def batches(count: int, seed: int = 0) -> list[tuple[list[str], np.ndarray, np.ndarray]]:
    """The same for service and ceiling: `count` batches over KEYS series, each a value of every series."""
    rng = np.random.default_rng(seed)
    keys = [f"sensor {n:04d}" for n in range(KEYS)]
    phase = rng.uniform(0, 6, KEYS)
    return [
        (keys, np.full(KEYS, float(k)), np.sin(0.1 * k + phase) + 0.1 * rng.standard_normal(KEYS)) for k in range(count)
    ]


def bodies(count: int) -> list[bytes]:
    return [
        json.dumps({"key": keys, "time": times.tolist(), "value": values.tolist()}).encode()
        for keys, times, values in batches(count)
    ]


def ceiling(path: Path | None, count: int) -> float:
    """Values a second of a fleet in this process."""
    with Fleet(path) as fleet:
        made = batches(count + 2)
        for keys, times, values in made[:2]:
            fleet.observe(keys, values, time=times)
        began = time.perf_counter()
        for keys, times, values in made[2:]:
            fleet.observe(keys, values, time=times)
        return count * KEYS / (time.perf_counter() - began)


def sustained(seconds: float, path: Path | None) -> dict[str, Any]:
    """Batches of a thousand values, one after another."""
    made = bodies(int(seconds * 100) + 2)
    with service(*([] if path is None else ["--db", path])) as running, contextlib.closing(running.connect()) as link:
        before, times = running.memory(), []
        for body in made[:2]:
            assert post(link, body) == 200
        began = time.perf_counter()
        for body in made[2:]:
            start = time.perf_counter()
            assert post(link, body) == 200
            times.append(time.perf_counter() - start)
            if time.perf_counter() - began > seconds:
                break
        rate = len(times) * BATCH / sum(times)
        memory = running.memory()
        stopped = running.stop()
    top = ceiling(None if path is None else path.with_name("ceiling.db"), len(times))
    return {
        "values_a_second": rate,
        "ceiling_values_a_second": top,
        "share_of_ceiling": rate / top,
        "batch": BATCH,
        "series": KEYS,
        "values": len(times) * BATCH,
        "milliseconds_of_a_batch": quantiles(times),
        "memory_mb": {"at start": before, "after": memory},
        "seconds_to_stop": stopped,
    }


def quantiles(times: list[float]) -> dict[str, float]:
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1e3
    return {"p50": float(p50), "p99": float(p99), "largest": 1e3 * max(times), "requests": len(times)}


def single(seconds: float, path: Path, clients: int) -> dict[str, Any]:
    """Values sent one by one by several clients at once, each waiting for its answer with prediction and alarm."""
    times: list[list[float]] = [[] for _ in range(clients)]
    with service("--db", path) as running:

        def send(n: int) -> None:
            rng = random.Random(n)
            with contextlib.closing(running.connect()) as link:
                for k in range(10**9):
                    body = json.dumps({"key": f"client {n}", "time": k, "value": rng.gauss(0, 1)}).encode()
                    start = time.perf_counter()
                    assert post(link, body, query="") == 200
                    times[n].append(time.perf_counter() - start)
                    if time.perf_counter() > end:
                        return

        end = time.perf_counter() + seconds
        together([lambda n=n: send(n) for n in range(clients)])
    every = [one for some in times for one in some]
    return {"clients": clients, "values_a_second": len(every) / seconds, "milliseconds": quantiles(every)}


def together(works: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Client:
    """One of four that send a value of each of their 1 250 series at a time."""

    def __init__(self, running: Service, number: int) -> None:
        self._link, self._rng, self.times = running.connect(), np.random.default_rng(number), list[float]()
        self._keys, self._sent = [f"client {number}, sensor {k:04d}" for k in range(LOAD)], 0

    def send(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            values = np.sin(0.1 * self._sent) + 0.1 * self._rng.standard_normal(LOAD)
            rows = {"key": self._keys, "time": 60.0 * self._sent, "value": values.round(4).tolist()}
            body, start = json.dumps(rows).encode(), time.perf_counter()
            assert post(self._link, body) == 200
            self.times.append(time.perf_counter() - start)
            self._sent += 1


def hostile(running: Service, over: threading.Event, codes: dict[str, int]) -> None:
    """Everything a client may send that costs much or is wrong, one after another, on series of its own."""
    rng, n = np.random.default_rng(1), 0
    bare: list[socket.socket] = []
    while not over.is_set():
        n += 1
        with contextlib.closing(running.connect()) as link:
            wild, size = np.cumsum(rng.choice([59.3, 60.0, 0.001], 700)), 10.0 ** rng.uniform(-300, 75, 700)
            holes, ticks = [f"hole {k}" for k in range(700)], n * 1e6 + np.arange(40_000.0)
            sent: dict[str, dict[str, Any]] = {
                "700 rows of wild times": {"key": f"wild {n % 50}", "time": wild.tolist(), "value": size.tolist()},
                "700 series, months apart": {"key": holes, "time": n + 1e7 * (n % 7), "value": size.tolist()},
                "40 000 rows": {"key": "large", "time": ticks.tolist(), "value": [1.0] * 40_000},
            }
            for name, rows in sent.items():
                code = post(link, json.dumps(rows).encode())
                codes[f"{name}: {code}"] = codes.get(f"{name}: {code}", 0) + 1
            for body in (b"[" * 100_000, b'{"key": "a", "value": 1e999}', b"\xff" * 10_000):
                code = post(link, body)
                codes[f"broken: {code}"] = codes.get(f"broken: {code}", 0) + 1
            link.request("GET", "/v1/forecast?key=large&horizon=2000")
            codes["forecasts"] = codes.get("forecasts", 0) + (link.getresponse().read() is not None)
        for _ in range(20):
            bare.append(socket.create_connection((running.host, running.port)))
            bare[-1].sendall(b"POST /v1/observe HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        for one in bare[:-300]:
            one.close()
        del bare[:-300]


def loaded(seconds: float, folder: Path, old: str | None, with_hostile: bool) -> dict[str, Any]:
    """Values a second and latencies of the four, of this version and the old one by turns."""
    pythons = {"now": sys.executable} | ({} if old is None else {"before": old})
    with contextlib.ExitStack() as stack:
        services = {
            name: stack.enter_context(service("--db", folder / f"{name}.db", python=python))
            for name, python in pythons.items()
        }
        clients = {name: [Client(running, n) for n in range(4)] for name, running in services.items()}
        before = {name: running.seconds() for name, running in services.items()}
        codes: dict[str, int] = {}
        for name in [*pythons] * 4:
            over = threading.Event()
            enemy = threading.Thread(target=hostile, args=(services[name], over, codes))
            if with_hostile and name == "now":
                enemy.start()
            together([lambda one=one: one.send(seconds / 4) for one in clients[name]])
            over.set()
            if enemy.ident is not None:
                enemy.join()
        found: dict[str, Any] = {}
        for name, running in services.items():
            times = [one for client in clients[name] for one in client.times]
            rate = len(times) * LOAD / seconds
            found[name] = {"values_a_second": rate, "milliseconds": quantiles(times), "memory_mb": running.memory()}
            used = (running.seconds() - before[name]) / (len(times) * LOAD)
            found[name]["processor_micros_a_value"] = 1e6 * used
            with contextlib.closing(running.connect()) as link:
                found[name]["version"] = get(link, "/v1/health")["version"]
    return found | ({"hostile_client": codes} if with_hostile else {})


def slow_readers(seconds: float, readers: int) -> dict[str, Any]:
    """The rate of a writer with no reader, with readers that never read, and with none again, in one run.

    Each is timed after SETTLE batches: until their sockets are full, readers are sent what they will not read.
    """
    made = bodies(int(3 * seconds * 100) + 3 * SETTLE)
    rates = {}
    with service() as running, contextlib.closing(running.connect()) as link:
        before = running.memory()
        for name in ("without", "with", "without again"):
            with contextlib.ExitStack() as stack:
                for _ in range(readers if name == "with" else 0):
                    stack.enter_context(asleep(running))
                for _ in range(SETTLE):
                    assert post(link, made.pop(0)) == 200
                began, sent = time.perf_counter(), 0
                while time.perf_counter() - began < seconds and made:
                    assert post(link, made.pop(0)) == 200
                    sent += BATCH
                rates[name] = sent / (time.perf_counter() - began)
                if name == "with":
                    memory = running.memory()
    usual = (rates["without"] + rates["without again"]) / 2
    return {
        "readers": readers,
        "values_a_second": rates,
        "share": rates["with"] / usual,
        "memory_mb": {"before": before, "with": memory},
    }


def live(running: Service, **options: Any) -> ws.ClientConnection:
    return ws.connect(f"ws://{running.host}:{running.port}/v1/live", ping_interval=None, **options)


@contextlib.contextmanager
def asleep(running: Service) -> Iterator[None]:
    """A live connection that is opened and never read from."""
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    link.connect((running.host, running.port))
    with live(running, sock=link, max_queue=1, close_timeout=0.1):
        yield


def live_latency(seconds: float) -> dict[str, Any]:
    """From sending a value to a live reader having it."""
    with service() as running, contextlib.closing(running.connect()) as link, live(running) as reader:
        reader.recv()
        times: list[float] = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            row = {"key": "a", "time": len(times), "value": float(len(times) % 7)}
            assert post(link, json.dumps(row).encode()) == 200
            while json.loads(reader.recv())["type"] != "values":
                pass
            times.append(time.perf_counter() - start)
    return {"milliseconds": quantiles(times)}


def malformed(count: int) -> dict[str, Any]:
    """Broken bodies of every kind; what the service knows afterwards is what it knew before."""
    rng, codes = random.Random(1), {}
    rows = [{"key": f"k{n % 3}", "time": 1000 + n, "value": n / 7} for n in range(20)]
    good = json.dumps(rows).encode()
    marks = [b"}", b"{", b'"', b"\xff", b"NaN", b"[", b"\x00", b",,"]
    with service() as running, contextlib.closing(running.connect()) as link:
        assert post(link, good) == 200
        before = [get(link, f"/v1/series/k{n}?count=5000") for n in range(3)]
        began = time.perf_counter()
        for _ in range(count):
            at = rng.randrange(1, len(good) - 1)
            body = good[:at] if rng.random() < 0.4 else good[:at] + rng.choice(marks) + good[at:-1]
            code = post(link, body, rng.choice(["application/json", "application/x-ndjson", "text/csv", "text/plain"]))
            codes[code] = codes.get(code, 0) + 1
        rate = count / (time.perf_counter() - began)
        after = [get(link, f"/v1/series/k{n}?count=5000") for n in range(3)]
        series = get(link, "/v1/health")["series"]
    unchanged = before == after and series == 3 and 200 not in codes
    return {"bodies": count, "answers": codes, "bodies_a_second": rate, "unchanged": unchanged}


def page(messages: int) -> dict[str, Any]:
    """Seconds until a browser shows so many messages, sent one after another, none missing; and of sending them."""
    found = os.environ.get("PROPHECY_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        return {"skipped": "no Chromium"}
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play, service() as running, contextlib.closing(running.connect()) as link:
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox", "--headless"])
        assert post(link, b'{"key": "a", "time": 0, "value": 0}') == 200
        tab = browser.new_page()
        tab.goto(f"http://{running.host}:{running.port}/#/series/a")
        tab.select_option("#window", "0")
        tab.wait_for_selector('#chart[data-points="1"]', timeout=60_000)
        began = time.perf_counter()
        for k in range(1, messages + 1):
            assert post(link, json.dumps({"key": "a", "time": k, "value": float(k % 13)}).encode()) == 200
        sent = time.perf_counter() - began
        tab.wait_for_selector(f'#chart[data-points="{messages + 1}"]', timeout=120_000)
        shown = time.perf_counter() - began
        values = tab.evaluate("document.getElementById('chart').data.find((t) => t.name === 'value').y")
        browser.close()
    complete = values == [0, *(float(k % 13) for k in range(1, messages + 1))]
    return {"messages": messages, "complete": complete, "seconds_to_send": sent, "seconds_to_show": shown}


def parts(asked: Options) -> dict[str, Callable[[], Any]]:
    s = asked.seconds

    def in_folder(work: Callable[[Path], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
        def run() -> dict[str, Any]:
            with tempfile.TemporaryDirectory() as folder:
                return work(Path(folder) / "a.db")

        return run

    return {
        "sustained, in memory": lambda: sustained(s, None),
        "sustained, db": in_folder(lambda path: sustained(s, path)),
        "single values, db, 1 client": in_folder(lambda path: single(s, path, 1)),
        "single values, db, 8 clients": in_folder(lambda path: single(s, path, 8)),
        "load": in_folder(lambda path: loaded(asked.load_seconds, path.parent, asked.old, False)),
        "load, hostile client": in_folder(lambda path: loaded(asked.load_seconds, path.parent, asked.old, True)),
        "to a live reader": lambda: live_latency(s / 2),
        "slow readers": lambda: slow_readers(s / 2, 20),
        "malformed": lambda: malformed(5_000),
        "page": lambda: page(1_000),
    }


def facts(asked: Options) -> dict[str, Any]:
    return {"version": __version__, "machine": measure.machine(), "load": load(), "seconds": asked.seconds}


BENCHMARK = Parts(
    __doc__, parts,
    (
        option("--seconds", type=float, default=8.0, help="of each part but load"),
        option("--load-seconds", type=float, default=60.0, help="of each version under load"),
        option("--old", help="interpreter of an environment that has an earlier version"),
    ),
    facts,
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
