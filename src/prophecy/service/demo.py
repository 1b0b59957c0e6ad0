"""`prophecy serve --demo`: five living streams, disturbed now and then, so that a newcomer sees the page at work."""

import asyncio
import contextlib
import itertools
import math
import time
from collections.abc import Iterator

import numpy as np

from prophecy.service.bodies import Batch
from prophecy.service.core import Core
from prophecy.service.errors import Problem

STEP = 0.25  # seconds between values: fast enough to watch
PAST = 1_200  # values each stream has when the page first opens: five minutes, 25 of its days
DAY = 48  # values: 12 seconds, so that one sees several
FIRST, BETWEEN = 24, (32, 80)  # values before the first disturbance, and between two
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
    """The values of every stream, one after the other."""
    rng = np.random.default_rng(20260301)
    due, kind, until, wander, x, y, z = PAST + FIRST, "spike", 0, 0.0, 1.0, 1.0, 20.0
    for k in itertools.count(1):
        if k >= due:  # the first is a spike, which is one value; others last
            kind = list(DISTURBED)[int(rng.integers(len(DISTURBED)))] if k > PAST + FIRST else "spike"
            until = k + (1 if kind == "spike" else 40)
            due = until + int(rng.integers(*BETWEEN))
        spike, shift, rush, burst = (size if name == kind and k < until else 0.0 for name, size in DISTURBED.items())
        day, turn = 2 * math.pi * k / DAY, 0.45 * k
        load, walk, noise, vibration = rng.standard_normal(4)
        wander = 0.9995 * wander + 0.02 * walk
        for _ in range(20):  # 50 values in a unit of Lorenz's time
            x, y, z = x + 0.01 * (y - x), y + 0.001 * (x * (28.0 - z) - y), z + 0.001 * (x * y - 8.0 / 3.0 * z)
        made = (
            42.0 - 9.0 * math.cos(day) - 4.0 * math.cos(2 * day + 0.6) + 0.5 * load + spike,
            21.0 + wander + 0.04 * noise + shift,
            float(rng.poisson((14.0 - 11.0 * math.cos(day)) * (1.0 + rush))),
            2.0 + math.sin(turn) + 0.3 * math.sin(2 * turn + 1.0) + (0.03 + burst) * vibration,
            x,
        )
        yield dict(zip(STREAMS, made, strict=True))


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
        with contextlib.suppress(Problem):  # the disk is behind: this moment is a gap
            await core.observe(Batch([*values], np.full(len(values), now), np.array([*values.values()]), True))
        now += STEP
        await asyncio.sleep(min(max(0.0, now - time.time()), STEP))  # whatever becomes of the clock
