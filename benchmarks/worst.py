"""The most that a value of any legal time and size can cost.

Streams are drawn at random (up to four lengths of intervals from a microsecond to months, mixed at random, in blocks or
in turns; values from 1e-300 to 1e75, alternating, at rest, with spikes) and the costliest are changed a little, again
and again. Measured is the processor's time a value over the costliest 32 rows in a row of each stream; whether its
state loads again; and how long the longest transaction of a fleet is that takes the worst stream in by parts, as the
service does.
"""

import time

import numpy as np

from benchmarks.harness import Array, Measurement, Options, Result, defaults
from prophecy.fleet import Fleet, Single
from prophecy.service.settings import DEFAULT

ROWS, PIECE = 512, 32
PATIENCE = 4.0
"""Seconds of the processor after which a stream is costly enough and is not followed to its end."""
ORDERS = ("mixed", "blocks", "turns")
VALUES = ("walk", "alternating", "rest", "spikes", "any size")


def drawn(rng: np.random.Generator) -> Result:
    count = int(rng.integers(1, 5))
    return {
        "intervals": (10.0 ** rng.uniform(-6, 7, count)).tolist(),
        "shares": rng.dirichlet(np.ones(count)).tolist(),
        "order": str(rng.choice(ORDERS)),
        "values": str(rng.choice(VALUES)),
        "size": float(rng.uniform(-300, 75)),
        "seed": int(rng.integers(2**31)),
    }


def changed(recipe: Result, rng: np.random.Generator) -> Result:
    lengths, what = recipe["intervals"], str(rng.choice(["intervals", "shares", "order", "values", "size", "seed"]))
    if what == "intervals":
        place, factor = rng.integers(len(lengths)), float(10.0 ** rng.normal(0.0, 1.0))
        return {**recipe, what: [length * factor if k == place else length for k, length in enumerate(lengths)]}
    return {**recipe, what: rng.dirichlet(np.ones(len(lengths))).tolist() if what == "shares" else drawn(rng)[what]}


def rows(recipe: Result) -> tuple[Array, Array]:
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


def cost(recipe: Result) -> tuple[float, bool]:
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


def longest_part(recipe: Result) -> tuple[float, int]:
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


def measured(asked: Options) -> Result:
    rng = np.random.default_rng(asked.seed)
    end = time.monotonic() + asked.seconds
    found: list[tuple[float, Result]] = []
    tried, unread = [], []
    while time.monotonic() < end:
        explore = len(found) < 50 or rng.random() < 0.3
        recipe = drawn(rng) if explore else changed(found[int(rng.integers(min(len(found), 8)))][1], rng)
        micros, loads = cost(recipe)
        tried.append(micros)
        found = sorted([*found, (micros, recipe)], key=lambda one: -one[0])[:64]
        if not loads:
            unread.append(recipe)
    seconds, parts = longest_part(found[0][1])
    ordinary, _ = cost({**found[0][1], "intervals": [1.0], "shares": [1.0], "values": "walk", "size": 0.0})
    costs = {"ordinary": ordinary, "median": float(np.median(tried)), "worst": found[0][0]}
    return {
        "streams": len(tried),
        **{f"micros_a_value_{name}": value for name, value in costs.items()},
        "worst": found[0][1],
        "longest_transaction_of_its_parts_seconds": seconds,
        "parts_of_512_rows": parts,
        "states_that_did_not_load": len(unread),
        "first_of_these": unread[:3],
    }


BENCHMARK = Measurement(__doc__, measured, defaults(seconds=300.0, seed=1))
