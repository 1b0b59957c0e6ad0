"""Load test of `prophecy serve` on loopback: values a second, latency, memory, slow readers.

Client and server share the machine. Each rate stands beside the ceiling of the same run: the same batches handed to a
`Fleet` without HTTP. Latencies are from sending a request to having its whole answer. "db" waits for the disk (SQLite,
synchronous=FULL) before it answers. Load: four clients, 5 000 series in all; --old names the interpreter of an
environment with an earlier version, which takes turns. A hostile client sends besides, from a process of its own, so
that what it takes to write its bodies is not timed with the four.
"""

import contextlib
import http.client
import json
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from websockets.sync import client as ws

from benchmarks.harness import Array, Options, Parts, Result, defaults, in_folder, load
from benchmarks.speed import measure
from prophecy import __version__
from prophecy.fleet import Fleet

BATCH, SETTLE, LOAD = 1_000, 30, 1_250


class Service:
    def __init__(self, *arguments: object, python: str = sys.executable) -> None:
        command = [python, "-m", "prophecy.cli", "serve", "--port", "0", "--max-per-second", "1e9"]
        self.process = subprocess.Popen([*command, *map(str, arguments)], stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        found = next(filter(None, (re.search(r"http://([\d.]+):(\d+)", line) for line in self.process.stderr)))
        self.host, self.port = found[1], int(found[2])
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def memory(self) -> float:
        """Resident memory, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return round(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024, 1)  # type: ignore[index]

    def seconds(self) -> float:
        """Of the processor, so far: what is left to compare where cores are shared."""
        user, system = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> float:
        """Seconds an orderly stop takes."""
        began = time.perf_counter()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        return time.perf_counter() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


class Client:
    """Sends a value of each of its series at a time, on one connection, and notes how long each answer took.

    answers: what the query asks for, "none" or "" for all.
    """

    def __init__(self, running: Service, number: int = 0, series: int = BATCH, answers: str = "none") -> None:
        self.link = http.client.HTTPConnection(running.host, running.port, timeout=120)
        self.times: list[float] = []
        self._made, self._query = batches(number, series), f"?answers={answers}" if answers else ""

    def post(self, body: bytes) -> int:
        self.link.request("POST", "/v1/observe" + self._query, body, {"Content-Type": "application/json"})
        answer = self.link.getresponse()
        answer.read()
        return answer.status

    def get(self, path: str) -> Any:
        self.link.request("GET", path)
        return json.loads(self.link.getresponse().read())

    def once(self) -> None:
        keys, times, values = next(self._made)
        body = json.dumps({"key": keys, "time": times.tolist(), "value": values.tolist()}).encode()
        start = time.perf_counter()
        assert self.post(body) == 200
        self.times.append(time.perf_counter() - start)

    def send(self, seconds: float, warm: int = 0) -> float:
        """Batches one after another; batches a second of the time spent waiting, after `warm` that are not counted."""
        for _ in range(warm):
            self.once()
        self.times.clear()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.once()
        return len(self.times) / sum(self.times)


def batches(number: int, series: int) -> Iterator[tuple[list[str], Array, Array]]:
    rng = np.random.default_rng(number)
    keys, phase = [f"client {number}, sensor {k:04d}" for k in range(series)], rng.uniform(0, 6, series)
    for k in range(10**9):
        yield keys, np.full(series, 60.0 * k), np.sin(0.1 * k + phase) + 0.1 * rng.standard_normal(series).round(4)


def ceiling(path: Path | None, count: int) -> float:
    with Fleet(path) as fleet:
        took = []
        for _, (keys, times, values) in zip(range(count + 2), batches(0, BATCH), strict=False):
            began = time.perf_counter()
            fleet.observe(keys, values, time=times)
            took.append(time.perf_counter() - began)
        return count * BATCH / sum(took[2:])


def sustained(seconds: float, path: Path | None) -> Result:
    with Service(*([] if path is None else ["--db", path])) as running:
        before, client = running.memory(), Client(running)
        rate = BATCH * client.send(seconds, warm=2)
        memory, stopped = running.memory(), running.stop()
    top = ceiling(None if path is None else path.with_name("ceiling.db"), len(client.times))
    rates = {"values_a_second": rate, "ceiling_values_a_second": top, "share_of_ceiling": rate / top}
    sizes = {"batch": BATCH, "series": BATCH, "values": len(client.times) * BATCH}
    spent = {"memory_mb": {"at start": before, "after": memory}, "seconds_to_stop": stopped}
    return {**rates, **sizes, "milliseconds_of_a_batch": quantiles(client.times), **spent}


def quantiles(times: list[float]) -> dict[str, float]:
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1e3
    return {"p50": float(p50), "p99": float(p99), "largest": 1e3 * max(times), "requests": len(times)}


def together(clients: list[Client], seconds: float) -> None:
    threads = [threading.Thread(target=one.send, args=(seconds,)) for one in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def single(seconds: float, path: Path, count: int) -> Result:
    """Values sent one by one by several clients at once, each waiting for its answer with prediction and alarm."""
    with Service("--db", path) as running:
        clients = [Client(running, n, 1, "") for n in range(count)]
        together(clients, seconds)
    every = [one for client in clients for one in client.times]
    return {"clients": count, "values_a_second": len(every) / seconds, "milliseconds": quantiles(every)}


def hostile(running: Service, over: Any, told: Any) -> None:
    """Everything a client may send that costs much or is wrong, one after another, on series of its own."""
    rng, n, codes = np.random.default_rng(1), 0, Counter[str]()
    bare: list[socket.socket] = []
    while not over.is_set():
        n, client = n + 1, Client(running)
        wild, size = np.cumsum(rng.choice([59.3, 60.0, 0.001], 700)), 10.0 ** rng.uniform(-300, 75, 700)
        holes, ticks = [f"hole {k}" for k in range(700)], n * 1e6 + np.arange(40_000.0)
        legal: dict[str, Result] = {
            "700 rows of wild times": {"key": f"wild {n % 50}", "time": wild.tolist(), "value": size.tolist()},
            "700 series, months apart": {"key": holes, "time": n + 1e7 * (n % 7), "value": size.tolist()},
            "40 000 rows": {"key": "large", "time": ticks.tolist(), "value": [1.0] * 40_000},
        }
        sent = [(name, json.dumps(rows).encode()) for name, rows in legal.items()]
        sent += [("broken", body) for body in (b"[" * 100_000, b'{"key": "a", "value": 1e999}', b"\xff" * 10_000)]
        codes.update([f"{name}: {client.post(body)}" for name, body in sent])
        codes["forecasts"] += client.get("/v1/forecast?key=large&horizon=2000") is not None
        client.link.close()
        for _ in range(20):
            bare.append(socket.create_connection((running.host, running.port)))
            bare[-1].sendall(b"POST /v1/observe HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        for one in bare[:-300]:
            one.close()
        del bare[:-300]
    told.put(codes)


def loaded(seconds: float, folder: Path, old: str | None, with_hostile: bool) -> Result:
    fork = multiprocessing.get_context("fork")
    pythons = {"now": sys.executable} | ({} if old is None else {"before": old})
    with contextlib.ExitStack() as stack:
        services = {
            name: stack.enter_context(Service("--db", folder / f"{name}.db", python=python))
            for name, python in pythons.items()
        }
        clients = {name: [Client(running, n, LOAD) for n in range(4)] for name, running in services.items()}
        before, codes = {name: running.seconds() for name, running in services.items()}, Counter[str]()
        every: dict[str, list[float]] = {name: [] for name in services}
        for name in [*pythons] * 4:
            over, told = fork.Event(), fork.SimpleQueue()
            enemy = fork.Process(target=hostile, args=(services[name], over, told))
            if with_hostile and name == "now":
                enemy.start()
            together(clients[name], seconds / 4)
            every[name] += [took for client in clients[name] for took in client.times]
            over.set()
            if enemy.pid is not None:
                codes.update(told.get())
                enemy.join()
        found: Result = {
            name: {
                "values_a_second": len(every[name]) * LOAD / seconds,
                "milliseconds": quantiles(every[name]),
                "memory_mb": running.memory(),
                "processor_micros_a_value": 1e6 * (running.seconds() - before[name]) / (len(every[name]) * LOAD),
                "version": clients[name][0].get("/v1/health")["version"],
            }
            for name, running in services.items()
        }
    return found | ({"hostile_client": dict(codes)} if with_hostile else {})


def slow_readers(seconds: float, readers: int) -> Result:
    """The rate of a writer with no reader, with readers that never read, and with none again, in one run.

    Each is timed after SETTLE batches: until their sockets are full, readers are sent what they will not read.
    """
    rates, memory = {}, {}
    with Service() as running:
        client, memory["before"] = Client(running), running.memory()
        for name in ("without", "with", "without again"):
            with contextlib.ExitStack() as stack:
                for _ in range(readers if name == "with" else 0):
                    stack.enter_context(asleep(running))
                rates[name] = BATCH * client.send(seconds, SETTLE)
                if name == "with":
                    memory["with"] = running.memory()
    share = rates["with"] / ((rates["without"] + rates["without again"]) / 2)
    return {"readers": readers, "values_a_second": rates, "share": share, "memory_mb": memory}


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


def live_latency(seconds: float) -> Result:
    with Service() as running, live(running) as reader:
        reader.recv()
        client, times = Client(running, series=1), list[float]()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            client.once()
            while json.loads(reader.recv())["type"] != "values":
                pass
            times.append(time.perf_counter() - start)
    return {"milliseconds": quantiles(times)}


def parts(asked: Options) -> dict[str, Callable[[], Any]]:
    s = asked.seconds
    return {
        "sustained, in memory": lambda: sustained(s, None),
        "sustained, db": in_folder(lambda folder: sustained(s, folder / "a.db")),
        "single values, db, 1 client": in_folder(lambda folder: single(s, folder / "a.db", 1)),
        "single values, db, 8 clients": in_folder(lambda folder: single(s, folder / "a.db", 8)),
        "load": in_folder(lambda folder: loaded(asked.load_seconds, folder, asked.old, False)),
        "load, hostile client": in_folder(lambda folder: loaded(asked.load_seconds, folder, asked.old, True)),
        "to a live reader": lambda: live_latency(s / 2),
        "slow readers": lambda: slow_readers(s / 2, 20),
    }


def facts(asked: Options) -> Result:
    return {"version": __version__, "machine": measure.machine(), "load": load(), "seconds": asked.seconds}


BENCHMARK = Parts(__doc__, parts, defaults(seconds=8.0, load_seconds=60.0, old=str), facts)
