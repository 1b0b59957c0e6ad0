"""Keyed streams, measured: `python -m benchmarks.fleet` writes benchmarks/results/fleet.json.

Values a second over `--keys` keys that take turns, after some rounds to warm up: `Fleet` in memory, `Fleet` with its
file (every batch forced to the disk), one `Prophecy` per key in a dict, and river's models per key. All predict the
next value of every key at every row and run one after the other in this process, which is held to `--cores` cores;
those that handle one row at a time run fewer rounds. Also: the same on Spark where that is installed; what a state
takes to save and to restore, young and grown,
which is what the limit `bank.YOUNG` was chosen by, and how long opening takes after a crash.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import Prophecy
from prophecy.fleet import Fleet
from prophecy.fleet.answers import ROW
from prophecy.fleet.slots import BYTES, Slots

Array = NDArray[np.float64]
RESULTS = Path(__file__).parent / "results" / "fleet.json"
WARM = 3


def signals(keys: int, rounds: int) -> Array:
    """(rounds, keys): random walks, seasons with noise, and steps, a third each."""
    rng = np.random.default_rng(17)
    noise = rng.standard_normal((rounds, keys))
    k = np.arange(rounds)[:, None]
    phase = np.arange(keys)
    kinds = (np.cumsum(noise, axis=0), np.sin(2 * np.pi * (k + phase) / 24) + 0.2 * noise, np.round(20 + noise, 1))
    return np.choose(np.broadcast_to(phase % 3, noise.shape), kinds)


def timed(step: Callable[[int], Any], rounds: int, keys: int) -> dict[str, float]:
    """Seconds of rounds WARM … rounds - 1, in the world's time and the processor's."""
    for k in range(WARM):
        step(k)
    wall, cpu = time.perf_counter(), time.process_time()
    for k in range(WARM, rounds):
        step(k)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    values = (rounds - WARM) * keys
    return {"rounds": rounds, "values_per_second": values / wall, "values_per_cpu_second": values / cpu}


def fleet(names: list[str], u: Array, path: Path | None) -> dict[str, Any]:
    with Fleet(path, memory=2**33) as one:
        row = timed(lambda k: one.observe(names, u[k], time=np.full(len(names), float(k))), len(u), len(names))
        if path is None:
            return row | {"bytes_per_key_in_memory": BYTES}
        copies = path.with_name("crashed")
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{copies}{end}")
        start = time.perf_counter()
    row["close_seconds"] = time.perf_counter() - start
    row["bytes_per_key_on_disk"] = path.stat().st_size / len(names)
    start = time.perf_counter()
    Fleet(copies, memory=2**33).close()
    row["open_after_a_crash_and_close_seconds"] = time.perf_counter() - start
    return row


def per_key(
    make: Callable[[], Any], one: Callable[[Any, int, float], Any], names: list[str], u: Array
) -> dict[str, Any]:
    """A model per key in a dict; `one(model, k, value)` takes a value in and says what comes next."""
    models: dict[str, Any] = {}

    def step(k: int) -> None:
        for name, value in zip(names, u[k].tolist(), strict=True):
            model = models.get(name)
            if model is None:
                model = models[name] = make()
            one(model, k, value)

    return timed(step, len(u), len(names))


def whole(model: Prophecy, k: int, value: float) -> None:
    """All that a fleet answers: what was said before, score, alarm, and what is said next."""
    model.follow(np.array([value]), time=np.array([float(k)]))
    model.predict()


def bare(model: Prophecy, k: int, value: float) -> None:
    """As cheap as a dict of models gets: no times, no scores, no alarms."""
    model.observe(value)
    model.predict()


def river(model: Any, k: int, value: float) -> None:
    model.learn_one(value)
    if k > 1:  # Holt-Winters says nothing before it has seen a level and a slope
        model.forecast(horizon=1)


def rivals() -> dict[str, Callable[[], Any]]:
    try:
        from river import time_series
    except ModuleNotFoundError:
        return {}
    return {
        "river HoltWinters": lambda: time_series.HoltWinters(alpha=0.3, beta=0.1),
        "river SNARIMAX(8)": lambda: time_series.SNARIMAX(p=8, d=0, q=0),
    }


def spark(names: list[str], u: Array, cores: int, folder: Path) -> dict[str, Any] | None:
    """`predict` on Spark in local mode: a micro-batch for every tenth of the rounds, with a checkpoint and answers on
    the disk; the first is not counted. None where pyspark or Java is missing."""
    try:
        import pandas as pd
        from pyspark.sql import SparkSession

        from prophecy.adapters.spark import PROVIDER, ROCKSDB, predict
    except ModuleNotFoundError:
        return None
    if shutil.which("java") is None:
        return None
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    session = SparkSession.builder.master(f"local[{cores}]").config(PROVIDER, ROCKSDB)
    session = session.config("spark.sql.shuffle.partitions", str(cores)).config("spark.ui.enabled", "false")
    started = session.config("spark.driver.host", "127.0.0.1").getOrCreate()
    started.sparkContext.setLogLevel("ERROR")

    def taken(rounds: NDArray[np.int64]) -> float:
        times = np.repeat(rounds.astype(float), len(names))
        frame = pd.DataFrame({"key": names * len(rounds), "time": times, "value": u[rounds].ravel()})
        frame.to_parquet(folder / f"in-{rounds[0]}.parquet")
        rows = started.readStream.schema("key string, time double, value double").option("maxFilesPerTrigger", 1)
        answers = predict(rows.parquet(str(folder / "in-*.parquet")), key="key", time="time", value="value")
        sink = answers.writeStream.format("parquet").option("path", str(folder / "out"))
        start = time.perf_counter()
        query = sink.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
        return time.perf_counter() - start

    parts = np.array_split(np.arange(len(u)), 10)
    taken(parts[0])
    seconds = sum(taken(part) for part in parts[1:])
    started.stop()
    values = (len(u) - len(parts[0])) * len(names)
    return {"rows_of_a_micro_batch": len(parts[0]) * len(names), "values_per_second": values / seconds}


def states() -> dict[str, Any]:
    """Microseconds to save and to restore one stream by its age, and bytes of the state."""
    out = {}
    for age in (1, 8, 32, 64, 65, 1000, 5000):
        bank = Slots(64, None, 0.9, threads=1)
        slots = np.arange(64)
        rows = np.zeros(64 * age, ROW)
        rows["time"], rows["value"] = np.repeat(np.arange(age), 64), signals(64, age).ravel()
        bank.open(slots.tolist())
        bank.run(np.tile(slots, age), True, rows)
        start = time.perf_counter()
        made = [bank.state(slot) for slot in slots.tolist()]
        save = time.perf_counter() - start
        start = time.perf_counter()
        bank.restore_many(slots.tolist(), made)
        restore = time.perf_counter() - start
        size = float(np.mean([len(state) for state in made]))
        out[str(age)] = {"save_us": save / 64e-6, "restore_us": restore / 64e-6, "bytes": size}
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--slow-rounds", type=int, default=6)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: asked.cores]))
    names = [f"sensor-{k:06d}" for k in range(asked.keys)]
    u = signals(asked.keys, asked.rounds)
    rows: dict[str, Any] = {"Fleet in memory": fleet(names, u, None)}
    with tempfile.TemporaryDirectory() as folder:
        rows["Fleet with its file"] = fleet(names, u, Path(folder) / "state")
    slow = u[: asked.slow_rounds]
    rows["a Prophecy per key in a dict"] = per_key(Prophecy, whole, names, slow)
    rows["a Prophecy per key in a dict, observe and predict alone"] = per_key(Prophecy, bare, names, slow)
    for name, make in rivals().items():
        rows[name + " per key in a dict"] = per_key(make, river, names, slow)
    ours = rows["Fleet in memory"]["values_per_second"]
    for row in rows.values():
        row["fleet_in_memory_is_faster_by"] = ours / row["values_per_second"]
    load = os.getloadavg() if hasattr(os, "getloadavg") else ()
    found = {
        "keys": asked.keys,
        "cores": asked.cores,
        "machine": platform.processor() or platform.machine(),
        "load_average_at_the_end": list(load),
        "rows": rows,
        "states": states(),
    }
    with tempfile.TemporaryDirectory() as folder:
        found["spark"] = spark(names, u, asked.cores, Path(folder))
    asked.out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
