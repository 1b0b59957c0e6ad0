"""A million of them: `python -m benchmarks.million [streams] [series]` writes benchmarks/results/million.json.

streams: `--keys` keyed streams take turns, a batch of `--batch` rows at a time, for as many rounds as `--seconds`
allow. Memory holds a small part of them (`--memory`), so every round brings every stream back from the file and puts it
aside again. series: short series (12 to 36 values, monthly by their look) are forecast 6 ahead by `forecast_many`, for
as long. What a cluster of n cores does is that times n, under assumptions that the file states.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import forecast_many
from prophecy.fleet import Fleet

Array = NDArray[np.float64]
RESULTS = Path(__file__).parent / "results" / "million.json"
ASSUMPTIONS = (
    "Keys (or partitions) are shared out by a hash, so that no core waits for another; every process has its own file "
    "on a disk of its own that takes the bytes a second reported here; input and output are not counted; memory for "
    "the streams a core holds is there. Nothing else is shared, so n cores do n times what one does."
)
CORES = (2, 16, 128, 1024)


def streams(keys: int, batch: int, seconds: float, memory: int, folder: Path, durable: bool) -> dict[str, Any]:
    names = [f"item-{k:07d}" for k in range(keys)]
    rng = np.random.default_rng(5)
    level = 20 * rng.random(keys)
    path = folder / "million.state" if durable else None
    rounds: list[dict[str, float]] = []
    start, cpu = time.perf_counter(), time.process_time()
    values, checked = 0, 0
    with Fleet(path, memory=memory) as fleet:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["streams", "series"])
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--memory", type=int, default=2**30)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--no-file", action="store_true", help="nothing is forced to the disk")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: asked.cores]))
    found: dict[str, Any] = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    found |= {"cores": asked.cores, "machine": platform.processor() or platform.machine(), "assumptions": ASSUMPTIONS}
    if "streams" in asked.parts:
        with tempfile.TemporaryDirectory() as folder:
            row = streams(asked.keys, asked.batch, asked.seconds, asked.memory, Path(folder), not asked.no_file)
        row["values_per_second_on_n_cores"] = {str(n): n * row["values_per_second"] / asked.cores for n in CORES}
        found["streams"] = row | {"load_average": list(os.getloadavg())}
    if "series" in asked.parts:
        row = series(asked.keys, asked.seconds, asked.cores)
        row["series_per_second_on_n_cores"] = {str(n): n * row["series_per_second_and_core"] for n in CORES}
        found["series"] = row | {"load_average": list(os.getloadavg())}
    asked.out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
