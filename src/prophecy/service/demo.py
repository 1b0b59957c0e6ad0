"""`prophecy serve --demo`: a few living streams, so that a newcomer sees the page at work at once.

Five processes of different kinds, four values a second each, with a spike, a shift or a burst of noise now and then.
They come in by the same door as everybody's values.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from prophecy.service.bodies import Batch
from prophecy.service.core import Core
from prophecy.service.errors import Problem

STEP = 0.25
"""Seconds between values: fast enough to watch."""

PAST = 1_200
"""Values each stream has when the page first opens: five minutes, 25 of its days."""

DAY = 48
"""Values in a day of the demonstration: 12 seconds, so that one sees several."""

FIRST, BETWEEN = 24, (32, 80)
"""Values before the first disturbance (6 seconds) and between two (8 to 20 seconds)."""


@dataclass
class Demo:
    """All streams and the dice behind them. disturbed: for how long which stream is, and by how much."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(20260301))
    k: int = 0
    wander: float = 0.0
    lorenz: tuple[float, float, float] = (1.0, 1.0, 20.0)
    until: int = 0
    kind: str = ""
    due: int = PAST + FIRST

    def values(self) -> dict[str, float]:
        """The next value of every stream."""
        self.k += 1
        self._disturb()
        return {name: make(self) for name, make in STREAMS.items()}

    def _disturb(self) -> None:
        """Choose the next disturbance when it is due: a spike lasts one value, a shift or a burst several."""
        if self.k < self.due:
            return
        self.kind = KINDS[int(self.rng.integers(len(KINDS)))] if self.k > PAST + FIRST else "spike"
        self.until = self.k + (1 if self.kind == "spike" else 40)
        self.due = self.until + int(self.rng.integers(*BETWEEN))

    def on(self, kind: str) -> bool:
        """Whether a disturbance of this kind lasts."""
        return self.kind == kind and self.k < self.until


KINDS = ("spike", "shift", "burst", "rush")


def _load(demo: Demo) -> float:
    """Megawatts of a city: a morning and an evening peak."""
    day = 2 * math.pi * demo.k / DAY
    calm = 42.0 - 9.0 * math.cos(day) - 4.0 * math.cos(2 * day + 0.6) + 0.5 * demo.rng.standard_normal()
    return calm + (17.0 if demo.on("spike") else 0.0)


def _drift(demo: Demo) -> float:
    """Degrees of a sensor that wanders; a shift moves it for ten seconds."""
    demo.wander = 0.9995 * demo.wander + 0.02 * float(demo.rng.standard_normal())
    return 21.0 + demo.wander + 0.04 * float(demo.rng.standard_normal()) + (1.6 if demo.on("shift") else 0.0)


def _lorenz(demo: Demo) -> float:
    """The first coordinate of Lorenz's system, 50 values in its unit of time: nothing disturbs it but its own chaos."""
    x, y, z = demo.lorenz
    for _ in range(5):
        x, y, z = _midpoint(x, y, z, 0.004)
    demo.lorenz = (x, y, z)
    return x


def _midpoint(x: float, y: float, z: float, h: float) -> tuple[float, float, float]:
    """One midpoint step of Lorenz's equations."""

    def slope(x: float, y: float, z: float) -> tuple[float, float, float]:
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z

    a, b, c = slope(x, y, z)
    a, b, c = slope(x + 0.5 * h * a, y + 0.5 * h * b, z + 0.5 * h * c)
    return x + h * a, y + h * b, z + h * c


def _orders(demo: Demo) -> float:
    """Orders of a shop in a quarter of an hour: whole numbers, more by day, and a rush now and then."""
    rate = 14.0 - 11.0 * math.cos(2 * math.pi * demo.k / DAY)
    return float(demo.rng.poisson(rate * (3.0 if demo.on("rush") else 1.0)))


def _pump(demo: Demo) -> float:
    """Vibration of a pump, in millimetres a second; a burst is a bearing that runs dry."""
    turn = 0.45 * demo.k
    noise = 0.35 if demo.on("burst") else 0.03
    return 2.0 + math.sin(turn) + 0.3 * math.sin(2 * turn + 1.0) + noise * float(demo.rng.standard_normal())


STREAMS: dict[str, Callable[[Demo], float]] = {
    "demo/city load, MW": _load,
    "demo/drifting sensor, °C": _drift,
    "demo/orders": _orders,
    "demo/pump vibration, mm per s": _pump,
    "demo/x of Lorenz, chaotic": _lorenz,
}


async def run(core: Core) -> None:
    """Fill in the past of streams that are new, then go on for as long as the service runs."""
    demo = Demo()
    past = [demo.values() for _ in range(PAST)]
    now = math.floor(time.time() / STEP) * STEP
    new = [key for key in STREAMS if key not in core.fleet]
    if new:
        times = np.repeat(now - STEP * np.arange(PAST, 0, -1), len(new))
        await core.observe(Batch(new * PAST, times, np.array([row[key] for row in past for key in new]), True))
    while True:
        values = demo.values()
        with_time = np.full(len(values), now)
        with contextlib.suppress(Problem):  # the disk is behind: this moment is a gap
            await core.observe(Batch(list(values), with_time, np.array(list(values.values())), True))
        now += STEP
        await asyncio.sleep(max(0.0, now - time.time()))
