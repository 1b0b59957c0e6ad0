"""A million of them: `python -m benchmarks.million [streams] [series]` writes benchmarks/results/million.json.

streams: `--keys` keyed streams take turns, a batch of `--batch` rows at a time, for as many rounds as `--seconds`
allow. Memory holds a small part of them (`--memory`), so every round brings every stream back from the file and puts it
aside again. series: short series (12 to 36 values, monthly by their look) are forecast 6 ahead by `forecast_many`, for
as long. What a cluster of n cores does is that times n, under assumptions that the file states.
"""

from __future__ import annotations

import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Options, Parts, hold_to, option
from prophecy import forecast_many
from prophecy.fleet import Fleet

Array = NDArray[np.float64]
ASSUMPTIONS = (
    "Keys (or partitions) are shared out by a hash, so that no core waits for another; every process has its own file "
    "on a disk of its own that takes the bytes a second reported here; input and output are not counted; memory for "
    "the streams a core holds is there. Nothing else is shared, so n cores do n times what one does."
)
CORES = (2, 16, 128, 1024)


def streams(asked: Options, folder: Path) -> dict[str, Any]:
    keys, batch, seconds, durable = asked.keys, asked.batch, asked.seconds, not asked.no_file
    names = [f"item-{k:07d}" for k in range(keys)]
    rng = np.random.default_rng(5)
    level = 20 * rng.random(keys)
    path = folder / "million.state" if durable else None
    rounds: list[dict[str, float]] = []
    start, cpu = time.perf_counter(), time.process_time()
    values, checked = 0, 0
    with Fleet(path, memory=asked.memory) as fleet:
        while time.perf_counter() - start < seconds:
            number, began, done = len(rounds), time.perf_counter(), 0
            for first in range(0, keys, batch):
                some = slice(first, min(first + batch, keys))
                noise = rng.standard_normal(some.stop - first)
                u = level[some] + 3 * np.sin(2 * np.pi * number / 12) + noise
                answers = fleet.observe(names[some], u, time=np.full(len(u), float(number)))
                checked += int(np.isfinite(answers.mean).sum())
                done += len(u)
                if time.perf_counter() - start > seconds:
                    break
            values += done
            rounds.append({"values": done, "seconds": time.perf_counter() - began})
            print(f"round {number}: {done / rounds[-1]['seconds']:.0f} values a second", flush=True)
        facts = fleet.facts()
        taken = names[: facts["streams"]]
        sample = taken[:: max(1, len(taken) // 5)]
        counts = [row.count for row in fleet.summary(sample).rows]
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    size = path.stat().st_size if path is not None else facts["bytes"]
    seen = int(facts["streams"])
    return {
        "keys": seen,
        "rounds": rounds,
        "values": values,
        "predicted_before_they_came": checked,
        "rows_of_five_keys": counts,
        "seconds": wall,
        "values_per_second": values / wall,
        "values_per_cpu_second": values / cpu,
        "streams_in_memory_at_most": facts["room for"],
        "bytes_in_memory_per_stream_held": facts["bytes per stream in memory"],
        "largest_memory_of_the_process_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "bytes_on_disk": size,
        "bytes_on_disk_per_key": size / max(seen, 1),
        "forced_to_disk": durable,
    }


def short(number: int, rng: np.random.Generator) -> Array:
    length = int(rng.integers(12, 37))
    k = np.arange(length)
    trend = rng.normal(0, 0.3) * k
    season = rng.uniform(0, 4) * np.sin(2 * np.pi * (k + number) / 12)
    return np.asarray(20 + trend + season + rng.standard_normal(length))


def series(wanted: int, seconds: float, jobs: int) -> dict[str, Any]:
    rng = np.random.default_rng(6)
    forecast_many([short(k, rng) for k in range(4)], 6, jobs=1)  # compiled before processes are started
    start, done, failed = time.perf_counter(), 0, 0
    while done < wanted and time.perf_counter() - start < seconds:
        batch = [short(done + k, rng) for k in range(min(512 * jobs, wanted - done))]
        made = forecast_many(batch, 6, jobs=jobs)
        failed += sum(not hasattr(one, "mean") for one in made)
        done += len(made)
        print(f"{done} series: {done / (time.perf_counter() - start):.0f} a second", flush=True)
    wall = time.perf_counter() - start
    return {
        "series": done,
        "failed": failed,
        "seconds": wall,
        "series_per_second": done / wall,
        "series_per_second_and_core": done / wall / jobs,
        "hours_for_a_million": 1e6 * wall / done / 3600,
    }


def parts(asked: Options) -> dict[str, Callable[[], Any]]:
    hold_to(asked.cores)

    def in_folder() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            return streams(asked, Path(folder))

    def spread(row: dict[str, Any], unit: str, per_core: float) -> dict[str, Any]:
        rates = {str(n): n * per_core for n in CORES}
        return row | {f"{unit}_per_second_on_n_cores": rates, "load_average": list(os.getloadavg())}

    def of_streams() -> dict[str, Any]:
        row = in_folder()
        return spread(row, "values", row["values_per_second"] / asked.cores)

    def of_series() -> dict[str, Any]:
        row = series(asked.keys, asked.seconds, asked.cores)
        return spread(row, "series", row["series_per_second_and_core"])

    return {"streams": of_streams, "series": of_series}


def facts(asked: Options) -> dict[str, Any]:
    machine = platform.processor() or platform.machine()
    return {"cores": asked.cores, "machine": machine, "assumptions": ASSUMPTIONS}


BENCHMARK = Parts(
    __doc__, parts,
    (
        option("--keys", type=int, default=1_000_000),
        option("--batch", type=int, default=10_000),
        option("--seconds", type=float, default=300.0),
        option("--memory", type=int, default=2**30),
        option("--cores", type=int, default=2),
        option("--no-file", action="store_true", help="nothing is forced to the disk"),
    ),
    facts,
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
