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
FIRST, EVERY, LASTING = 24, 96, 40  # values before the first disturbance, from one to the next, and while one lasts
STREAMS = (
    "demo/city load, MW",
    "demo/drifting sensor, °C",
    "demo/orders",
    "demo/pump vibration, mm per s",
    "demo/x of Lorenz, chaotic",
)
DISTURBED = (17.0, 1.6, 2.0, 0.32)
"""By how much the disturbances move the first four streams, in turn: load, level, share of orders, noise."""


def living() -> Iterator[dict[str, float]]:
    """The values of every stream, one after the other."""
    rng = np.random.default_rng(20260301)
    wander, x, y, z = 0.0, 1.0, 1.0, 20.0
    for k in itertools.count(1):
        number, since = divmod(k - PAST - FIRST, EVERY)
        now = number % len(DISTURBED) if number >= 0 and since < LASTING else None
        spike, shift, rush, burst = (size if place == now else 0.0 for place, size in enumerate(DISTURBED))
        spike *= since == 0  # one value; the others last
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
