"""`prophecy serve --demo`: a few living streams, so that a newcomer sees the page at work at once.

Five processes of different kinds, four values a second each, with a spike, a shift or a burst of noise now and then.
They come in by the same door as everybody's values.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from prophecy.service.bodies import Batch
from prophecy.service.core import Core
from prophecy.service.errors import Problem

Array = NDArray[np.float64]

STEP = 0.25
"""Seconds between values: fast enough to watch."""

PAST = 1_200
"""Values each stream has when the page first opens: five minutes, 25 of its days."""

DAY = 48
"""Values in a day of the demonstration: 12 seconds, so that one sees several."""

FIRST, BETWEEN = 24, (32, 80)
"""Values before the first disturbance (6 seconds) and between two (8 to 20 seconds)."""


STREAMS = (
    "demo/city load, MW",
    "demo/drifting sensor, °C",
    "demo/orders",
    "demo/pump vibration, mm per s",
    "demo/x of Lorenz, chaotic",
)
DISTURBED = {"spike": 17.0, "shift": 1.6, "rush": 2.0, "burst": 0.32}
"""By how much each disturbance moves the first four streams: load, level, share of orders, noise."""


def living() -> Iterator[dict[str, float]]:
    """The values of every stream, one after the other: a city with a morning and an evening peak, a sensor that
    wanders, whole numbers of orders, a pump whose bearing may run dry, and Lorenz's x, which only its own chaos
    disturbs."""
    rng = np.random.default_rng(20260301)
    due, kind, until, wander, state = PAST + FIRST, "spike", 0, 0.0, np.array([1.0, 1.0, 20.0])
    for k in itertools.count(1):
        if k >= due:  # the first is a spike, which is one value; others last
            kind = list(DISTURBED)[int(rng.integers(len(DISTURBED)))] if k > PAST + FIRST else "spike"
            until = k + (1 if kind == "spike" else 40)
            due = until + int(rng.integers(*BETWEEN))
        spike, shift, rush, burst = (size if name == kind and k < until else 0.0 for name, size in DISTURBED.items())
        day, turn = 2 * math.pi * k / DAY, 0.45 * k
        load, walk, noise, vibration = rng.standard_normal(4)
        wander = 0.9995 * wander + 0.02 * walk
        for _ in range(5):  # midpoint steps: 50 values in a unit of Lorenz's time
            state = state + 0.004 * _lorenz(state + 0.002 * _lorenz(state))
        made = (
            42.0 - 9.0 * math.cos(day) - 4.0 * math.cos(2 * day + 0.6) + 0.5 * load + spike,
            21.0 + wander + 0.04 * noise + shift,
            float(rng.poisson((14.0 - 11.0 * math.cos(day)) * (1.0 + rush))),
            2.0 + math.sin(turn) + 0.3 * math.sin(2 * turn + 1.0) + (0.03 + burst) * vibration,
            float(state[0]),
        )
        yield dict(zip(STREAMS, made, strict=True))


def _lorenz(state: Array) -> Array:
    x, y, z = state
    return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


async def run(core: Core) -> None:
    """Fill in the past of streams that are new, then go on for as long as the service runs."""
    demo = living()
    past = list(itertools.islice(demo, PAST))
    now = math.floor(time.time() / STEP) * STEP
    new = [key for key in STREAMS if key not in core.fleet]
    if new:
        times = np.repeat(now - STEP * np.arange(PAST, 0, -1), len(new))
        await core.observe(Batch(new * PAST, times, np.array([row[key] for row in past for key in new]), True))
    for values in demo:
        with_time = np.full(len(values), now)
        with contextlib.suppress(Problem):  # the disk is behind: this moment is a gap
            await core.observe(Batch(list(values), with_time, np.array(list(values.values())), True))
        now += STEP
        await asyncio.sleep(max(0.0, now - time.time()))
