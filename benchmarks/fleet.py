"""Keyed streams, measured on `--cores` cores.

`fleet`. rows: values a second over `--keys` keys that take turns, each predicted at every row; those that take one row
at a time run fewer rounds. states: what a state takes to save and to restore, young and grown, by which the limit
`bank.YOUNG` was chosen.

`million`. streams: as many keys take turns for `--seconds`, in batches of `--batch` rows. Memory holds a small part of
them (`--memory`), so every round brings every stream back from the file and puts it aside again. series: short series
(12 to 36 values) are forecast 6 ahead by `forecast_many`, for as long.
"""

import platform
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Array, Options, Parts, Result, defaults, hold_to, in_folder, load
from prophecy import Failure, Prophecy, forecast_many
from prophecy.fleet import Fleet
from prophecy.fleet.answers import ROW
from prophecy.fleet.slots import BYTES, Slots

WARM = 3
ASSUMPTIONS = (
    "Keys (or partitions) are shared out by a hash, so that no core waits for another; every process has its own file "
    "on a disk of its own that takes the bytes a second reported here; input and output are not counted; memory for "
    "the streams a core holds is there. Nothing else is shared, so n cores do n times what one does."
)
CORES = (2, 16, 128, 1024)


def signals(keys: int, rounds: int) -> Array:
    """(rounds, keys): random walks, seasons with noise, and steps, a third each."""
    rng = np.random.default_rng(17)
    noise = rng.standard_normal((rounds, keys))
    k, phase = np.arange(rounds)[:, None], np.arange(keys)
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


def fleet(names: list[str], u: Array, path: Path | None) -> Result:
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


def per_key(make: Callable[[], Any], one: Callable[[Any, int, float], Any], names: list[str], u: Array) -> Result:
    """A model per key in a dict; `one(model, k, value)` takes a value in and says what comes next."""
    models: Result = {}

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


def states() -> Result:
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


def rates(names: list[str], u: Array, slow: Array, folder: Path) -> Result:
    rows: Result = {"Fleet in memory": fleet(names, u, None), "Fleet with its file": fleet(names, u, folder / "state")}
    rows["a Prophecy per key in a dict"] = per_key(Prophecy, whole, names, slow)
    rows["a Prophecy per key in a dict, observe and predict alone"] = per_key(Prophecy, bare, names, slow)
    for name, make in rivals().items():
        rows[name + " per key in a dict"] = per_key(make, river, names, slow)
    ours = rows["Fleet in memory"]["values_per_second"]
    return {name: row | {"fleet_in_memory_is_faster_by": ours / row["values_per_second"]} for name, row in rows.items()}


def streams(asked: Options, names: list[str], folder: Path) -> Result:
    rng, path = np.random.default_rng(5), folder / "million.state"
    level = 20 * rng.random(len(names))
    rounds: list[dict[str, float]] = []
    start, cpu, checked = time.perf_counter(), time.process_time(), 0
    with Fleet(path, memory=asked.memory) as many:
        while time.perf_counter() - start < asked.seconds:
            number, began, done = len(rounds), time.perf_counter(), 0
            for first in range(0, len(names), asked.batch):
                some = slice(first, first + asked.batch)
                u = level[some] + 3 * np.sin(2 * np.pi * number / 12) + rng.standard_normal(len(names[some]))
                answers = many.observe(names[some], u, time=np.full(len(u), float(number)))
                checked += int(np.isfinite(answers.point).sum())
                done += len(u)
                if time.perf_counter() - start > asked.seconds:
                    break
            rounds.append({"values": done, "seconds": time.perf_counter() - began})
            print(f"round {number}: {done / rounds[-1]['seconds']:.0f} values a second", flush=True)
        known = many.facts()
        seen = int(known["streams"])
        counts = [row.count for row in many.summary(names[: seen : max(1, seen // 5)]).rows]
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    values, size = sum(row["values"] for row in rounds), path.stat().st_size
    done = {"keys": seen, "rounds": rounds, "values": values, "predicted_before_they_came": checked}
    speed = {"seconds": wall, "values_per_second": values / wall, "values_per_cpu_second": values / cpu}
    return {
        **done,
        "rows_of_five_keys": counts,
        **speed,
        "streams_in_memory_at_most": known["room for"],
        "bytes_in_memory_per_stream_held": known["bytes per stream in memory"],
        "largest_memory_of_the_process_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "bytes_on_disk": size,
        "bytes_on_disk_per_key": size / max(seen, 1),
        **on_more_cores("values", values / wall / asked.cores),
    }


def short(number: int, rng: np.random.Generator) -> Array:
    k = np.arange(int(rng.integers(12, 37)))
    trend, season = rng.normal(0, 0.3) * k, rng.uniform(0, 4) * np.sin(2 * np.pi * (k + number) / 12)
    return np.asarray(20 + trend + season + rng.standard_normal(len(k)))


def series(asked: Options) -> Result:
    rng, jobs = np.random.default_rng(6), asked.cores
    start, done, failed = time.perf_counter(), 0, 0
    while done < asked.keys and time.perf_counter() - start < asked.seconds:
        batch = [short(done + k, rng) for k in range(min(512 * jobs, asked.keys - done))]
        made = forecast_many(batch, 6, jobs=jobs)
        failed += sum(isinstance(one, Failure) for one in made.values())
        done += len(made)
        print(f"{done} series: {done / (time.perf_counter() - start):.0f} a second", flush=True)
    wall = time.perf_counter() - start
    found = {"series": done, "failed": failed, "seconds": wall, "series_per_second": done / wall}
    found |= {"series_per_second_and_core": done / wall / jobs, "hours_for_a_million": 1e6 * wall / done / 3600}
    return found | on_more_cores("series", done / wall / jobs)


def on_more_cores(unit: str, rate: float) -> Result:
    return {f"{unit}_per_second_on_n_cores": {str(n): n * rate for n in CORES}, "load_average": load()}


def parts(asked: Options) -> dict[str, Callable[[], Any]]:
    hold_to(asked.cores)
    names = [f"sensor-{k:07d}" for k in range(asked.keys)]

    def rows(folder: Path) -> Result:
        u = signals(asked.keys, asked.rounds)
        return rates(names, u, u[: asked.slow_rounds], folder)

    if asked.million:
        return {"streams": in_folder(lambda folder: streams(asked, names, folder)), "series": lambda: series(asked)}
    return {"rows": in_folder(rows), "states": states}


def facts(asked: Options) -> Result:
    machine = platform.processor() or platform.machine()
    about = {"keys": asked.keys, "cores": asked.cores, "machine": machine, "load": load()}
    return about | ({"assumptions": ASSUMPTIONS} if asked.million else {})


SIZES = {"keys": 10_000, "rounds": 60, "slow_rounds": 6, "cores": 2, "batch": 10_000, "seconds": 300.0, "memory": 2**30}
BENCHMARK = Parts(__doc__, parts, defaults(million=False, **SIZES), facts)
