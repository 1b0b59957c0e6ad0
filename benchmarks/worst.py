"""`python -m benchmarks worst`: the most that a value of any legal time and size can cost.

Streams are drawn at random (up to four lengths of intervals from a microsecond to months, mixed at random, in blocks or
in turns; values from 1e-300 to 1e75, alternating, at rest, with spikes) and the costliest are changed a little, again
and again. Measured is the processor's time a value over the costliest 32 rows in a row of each stream; whether its
state loads again; and how long the longest transaction of a fleet is that takes the worst stream in by parts, as the
service does.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Options, option, single
from prophecy.fleet import Fleet, Single
from prophecy.service.settings import DEFAULT

Array = NDArray[np.float64]
ROWS, PIECE = 512, 32
PATIENCE = 4.0
"""Seconds of the processor after which a stream is costly enough and is not followed to its end."""

ORDERS = ("mixed", "blocks", "turns")
VALUES = ("walk", "alternating", "rest", "spikes", "any size")


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A recipe: lengths of intervals and their shares, their order, values and their size."""
    count = int(rng.integers(1, 5))
    return {
        "intervals": (10.0 ** rng.uniform(-6, 7, count)).tolist(),
        "shares": rng.dirichlet(np.ones(count)).tolist(),
        "order": str(rng.choice(ORDERS)),
        "values": str(rng.choice(VALUES)),
        "size": float(rng.uniform(-300, 75)),
        "seed": int(rng.integers(2**31)),
    }


def changed(recipe: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """The same with one thing changed."""
    other, made = drawn(rng), json.loads(json.dumps(recipe))
    what = str(rng.choice(["one interval", "shares", "order", "values", "size", "seed"]))
    if what == "one interval":
        place = int(rng.integers(len(made["intervals"])))
        made["intervals"][place] *= float(10.0 ** rng.normal(0.0, 1.0))
    elif what == "shares":
        made["shares"] = rng.dirichlet(np.ones(len(made["intervals"]))).tolist()
    else:
        made[what] = other[what]
    return made


def rows(recipe: dict[str, Any]) -> tuple[Array, Array]:
    """Times and values."""
    rng = np.random.default_rng(recipe["seed"])
    lengths = np.array(recipe["intervals"])
    chosen = rng.choice(len(lengths), ROWS, p=recipe["shares"])
    if recipe["order"] == "blocks":
        chosen = np.repeat(chosen[::PIECE], PIECE)[:ROWS]
    elif recipe["order"] == "turns":
        chosen = np.arange(ROWS) % len(lengths)
    noise = rng.standard_normal(ROWS)
    kind = recipe["values"]
    u = {
        "walk": lambda: np.cumsum(noise),
        "alternating": lambda: np.where(np.arange(ROWS) % 2, 1.0, -1.0),
        "rest": lambda: np.ones(ROWS),
        "spikes": lambda: np.where(rng.random(ROWS) < 0.05, 1e6 * noise, noise),
    }.get(kind, lambda: noise)()
    sizes = rng.uniform(-300, 75, ROWS) if kind == "any size" else recipe["size"]
    with np.errstate(over="ignore", under="ignore"):
        return np.cumsum(lengths[chosen]), np.clip(u * 10.0**sizes, -1e75, 1e75)


def cost(recipe: dict[str, Any]) -> tuple[float, bool]:
    """Microseconds a value over the costliest rows, and whether the state they lead to loads again."""
    times, values = rows(recipe)
    stream, worst, spent = Single(), 0.0, 0.0
    for start in range(0, ROWS, PIECE):
        some = slice(start, start + PIECE)
        begin = time.process_time()
        stream.follow(values[some], times[some])
        used = time.process_time() - begin
        worst, spent = max(worst, used / PIECE), spent + used
        if spent > PATIENCE:
            break
    try:
        Single(stream.state())
    except ValueError:
        return 1e6 * worst, False
    return 1e6 * worst, True


def longest_part(recipe: dict[str, Any]) -> tuple[float, int]:
    """Seconds of the processor that the costliest transaction takes where this stream is taken in by parts, and how
    many there are."""
    times, values = rows(recipe)
    with Fleet() as fleet:
        done, longest, parts = 0, 0.0, 0
        while done < ROWS and parts < 200:
            begin = time.process_time()
            done += len(fleet.observe_some("a", values[done:], times[done:], DEFAULT.slice_steps))
            longest, parts = max(longest, time.process_time() - begin), parts + 1
    return longest, parts


def measured(asked: Options) -> dict[str, Any]:
    rng = np.random.default_rng(asked.seed)
    end = time.monotonic() + asked.seconds
    found: list[tuple[float, dict[str, Any]]] = []
    tried, unread = [], []
    while time.monotonic() < end:
        best = sorted(found, key=lambda one: -one[0])[:8]
        explore = len(found) < 50 or rng.random() < 0.3
        recipe = drawn(rng) if explore else changed(best[int(rng.integers(len(best)))][1], rng)
        micros, loads = cost(recipe)
        tried.append(micros)
        found = sorted([*found, (micros, recipe)], key=lambda one: -one[0])[:64]
        if not loads:
            unread.append(recipe)
    seconds, parts = longest_part(found[0][1])
    ordinary, _ = cost({**found[0][1], "intervals": [1.0], "shares": [1.0], "values": "walk", "size": 0.0})
    return {
        "streams": len(tried),
        "micros_a_value_ordinary": ordinary,
        "micros_a_value_median": float(np.median(tried)),
        "micros_a_value_worst": found[0][0],
        "worst": found[0][1],
        "longest_transaction_of_its_parts_seconds": seconds,
        "parts_of_512_rows": parts,
        "states_that_did_not_load": len(unread),
        "first_of_these": unread[:3],
    }


if __name__ == "__main__":
    seconds = option("--seconds", type=float, default=300.0)
    single(__doc__, measured, seconds, option("--seed", type=int, default=1))
