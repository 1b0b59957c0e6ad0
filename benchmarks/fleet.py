"""Keyed streams, measured: `python -m benchmarks.fleet` writes benchmarks/results/fleet.json.

Values a second over `--keys` keys that take turns, after some rounds to warm up: `Fleet` in memory, `Fleet` with its
file (every batch forced to the disk), one `Prophecy` per key in a dict, and river's models per key. All predict the
next value of every key at every row and run one after the other in this process, which is held to `--cores` cores;
those that handle one row at a time run fewer rounds. Also: what a state takes to save and to restore, young and grown,
which is what the limit `bank.YOUNG` was chosen by, and how long opening takes after a crash.
"""

from __future__ import annotations

import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Options, Parts, hold_to, load, option
from prophecy import Prophecy
from prophecy.fleet import Fleet
from prophecy.fleet.answers import ROW
from prophecy.fleet.slots import BYTES, Slots

Array = NDArray[np.float64]
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


def rates(names: list[str], u: Array, slow: Array) -> dict[str, Any]:
    """Fleets over all rounds; what handles one row at a time over the first."""
    rows: dict[str, Any] = {"Fleet in memory": fleet(names, u, None)}
    with tempfile.TemporaryDirectory() as folder:
        rows["Fleet with its file"] = fleet(names, u, Path(folder) / "state")
    rows["a Prophecy per key in a dict"] = per_key(Prophecy, whole, names, slow)
    rows["a Prophecy per key in a dict, observe and predict alone"] = per_key(Prophecy, bare, names, slow)
    for name, make in rivals().items():
        rows[name + " per key in a dict"] = per_key(make, river, names, slow)
    ours = rows["Fleet in memory"]["values_per_second"]
    return {name: row | {"fleet_in_memory_is_faster_by": ours / row["values_per_second"]} for name, row in rows.items()}


def parts(asked: Options) -> dict[str, Callable[[], Any]]:
    hold_to(asked.cores)
    names = [f"sensor-{k:06d}" for k in range(asked.keys)]
    u = signals(asked.keys, asked.rounds)
    return {
        "rows": lambda: rates(names, u, u[: asked.slow_rounds]),
        "states": states,
    }


def facts(asked: Options) -> dict[str, Any]:
    machine = platform.processor() or platform.machine()
    return {"keys": asked.keys, "cores": asked.cores, "machine": machine, "load": load()}


BENCHMARK = Parts(
    __doc__, parts,
    (
        option("--keys", type=int, default=10_000),
        option("--rounds", type=int, default=60),
        option("--slow-rounds", type=int, default=6),
        option("--cores", type=int, default=2),
    ),
    facts,
)  # fmt: skip

if __name__ == "__main__":
    BENCHMARK.run()
