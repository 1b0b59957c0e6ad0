"""Which engine "auto" takes: the one that was fastest on data like this, measured once per machine and remembered.

Costs depend on the order, the dtype and how many series and samples there are, each rounded up to a power of two. For a
new combination the candidates run a few times on a piece of random data of that shape (at most 64 × 4 096 samples),
which takes milliseconds for short data and up to a second at order 128. The times go to a small JSON file in the user's
cache folder (`PROPHECY_CACHE` overrides the place).
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import _files, _machine
from prophecy.system import System

Array = NDArray[Any]

SERIES, TIME = 64, 4096  # the largest piece measured; beyond it all engines grow in proportion
RUNS = 4  # timed runs of each engine; the best counts, so that a busy moment must meet all four to mislead


@dataclass(frozen=True)
class Choice:
    """The engine taken, the measured seconds per million samples of each candidate, and a sentence about it."""

    engine: str
    seconds: dict[str, float]
    reason: str

    def __str__(self) -> str:
        times = ", ".join(f"{name} {value:.3g}" for name, value in sorted(self.seconds.items(), key=lambda kv: kv[1]))
        return f"{self.engine}: {self.reason}" + (f" (seconds per million samples: {times})" if times else "")


def pick(engines: Mapping[str, Callable[..., None]], system: System, shape: tuple[int, ...]) -> Choice:
    """The fastest of these engines for this system and data of this shape."""
    series = shape[0] if len(shape) == 2 else 1
    key = _key(system, series, shape[-1])
    seconds = remembered(key, set(engines), lambda: _measure(engines, system, *_piece(series, shape[-1])))
    best = min(seconds, key=lambda name: seconds[name])
    return Choice(best, dict(seconds), f"fastest of {len(seconds)} measured here for {key}")


def remembered(key: str, names: set[str], measure: Callable[[], dict[str, float]]) -> dict[str, float]:
    """The times stored under `key` if they are those of just these names, else measured now and stored."""
    table = _remembered(str(_place()))
    if key not in table or set(table[key]) != names:
        table[key] = measure()
        _remember(table)
    return table[key]


def _piece(series: int, samples: int) -> tuple[int, int]:
    return min(_up(series), SERIES), min(_up(samples), TIME)


def _key(system: System, series: int, samples: int) -> str:
    rows, columns = _piece(series, samples)
    machine = f"{platform.node()}, {_machine.cores()} cores"
    return f"order {_up(system.order)}, {rows} series × {columns} samples, {system.dtype} on {machine}"


def _up(number: int) -> int:
    return 1 << (number - 1).bit_length()


def _measure(engines: Mapping[str, Callable[..., None]], system: System, series: int, samples: int) -> dict[str, float]:
    """Seconds per million samples: the best of a few runs in turns, after one that builds what each engine caches.

    An engine more than three times slower than the best in its first timed run is not run again.
    """
    u = np.random.default_rng(0).standard_normal((series, samples)).astype(system.dtype)
    y = np.empty_like(u)

    def seconds(engine: Callable[..., None]) -> float:
        start = time.perf_counter()
        engine(system, u, np.zeros((series, system.order), system.dtype), y)
        return time.perf_counter() - start

    for engine in engines.values():
        engine(system, u[:, :64], np.zeros((series, system.order), system.dtype), y[:, :64])
        if engine is not engines.get("step"):
            seconds(engine)
    found = {name: seconds(engine) for name, engine in engines.items()}
    for _ in range(RUNS - 1):
        near = 3 * min(found.values())
        found |= {name: min(found[name], seconds(engine)) for name, engine in engines.items() if found[name] <= near}
    return {name: best * 1e6 / u.size for name, best in found.items()}


def _place() -> Path:
    return _machine.cache_folder() / "engines.json"


@lru_cache(maxsize=4)
def _remembered(place: str) -> dict[str, dict[str, float]]:
    try:
        table = json.loads(Path(place).read_text())
    except (OSError, ValueError, RecursionError):
        return {}  # no cache yet, or a damaged one: measuring again is all it costs
    return {key: times for key, times in table.items() if _sound(times)} if isinstance(table, dict) else {}


def _sound(times: object) -> bool:
    """Whether an entry of the file is what this module writes."""
    return isinstance(times, dict) and all(isinstance(t, float) and 0 < t < float("inf") for t in times.values())


def _remember(table: dict[str, dict[str, float]]) -> None:
    place = _place()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _files.write_json(place, table)
    except OSError:
        return  # a read-only home is fine: the table lives on in this process
