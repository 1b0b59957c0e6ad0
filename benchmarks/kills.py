"""A fleet under load, killed with -9 again and again.

A child observes batches of keyed rows into a state file and prints the number of each batch when it was acknowledged;
the parent kills it at a random moment and starts it again. In the end every answer the file and the children gave must
be that of a fleet nothing happened to: nothing acknowledged lost, nothing taken in twice.
"""

import itertools
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.harness import Measurement, Options, Result, defaults
from prophecy.fleet import Fleet
from prophecy.fleet.slots import BYTES

KEYS = [f"sensor-{k}" for k in range(40)]
WILD = 0.05
"""Share of rows at a wild time, up to months away, and of those with a value from 1e-300 to 1e75 in size."""
ROOM = 16
"""Streams in memory, so that many are put aside and come back in every batch."""


def batch(number: int) -> Result:
    rng = np.random.default_rng(number)
    keys = rng.choice(KEYS, size=int(rng.integers(1, len(KEYS))), replace=False).tolist()
    times, values = np.full(len(keys), 60.0 * number), rng.standard_normal(len(keys))
    wild, extreme = rng.random(len(keys)) < WILD, rng.random(len(keys)) < WILD
    times += wild * rng.choice([-1.0, 1.0], len(keys)) * 10.0 ** rng.uniform(-3, 7, len(keys))
    values *= np.where(extreme, 10.0 ** rng.uniform(-300, 74, len(keys)), 1.0)
    return {"keys": keys, "values": values, "time": times}


def digest(rows: np.ndarray) -> float:
    """A number that differs where any answer does."""
    return float(np.nansum(rows["point"] * 1.1 + rows["half"] * 1.3 + rows["score"] + rows["next"] * 1.7))


def child(path: Path, out: int) -> None:
    with Fleet(path, memory=ROOM * BYTES) as fleet:
        number = max((int(note) for *_, note in fleet.batches()), default=-1) + 1
        while True:
            answers = fleet.observe(**batch(number), note=str(number).encode())
            os.write(out, f"{number} {digest(answers.rows)!r}\n".encode())
            number += 1


def killed_once(path: Path, rng: random.Random) -> list[str]:
    """The lines a child acknowledged before it was killed: soon after it began, or some way into its work."""
    inside, outside = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(inside)
            child(path, outside)
        finally:
            os._exit(70)
    os.close(outside)
    with open(inside) as file:
        if rng.random() < 0.3:
            time.sleep(rng.uniform(0.0, 0.05))
            lines = []
        else:
            lines = list(itertools.islice(file, rng.randrange(1, 12)))
            time.sleep(rng.uniform(0.0, 0.01))
        os.kill(pid, signal.SIGKILL)
        lines += file
    os.waitpid(pid, 0)
    return [line for line in lines if line.endswith("\n")]


def measured(asked: Options) -> Result:
    rng, told = random.Random(asked.seed), {}
    with Fleet() as warm:
        warm.observe(**batch(0))  # compiled before the first child is forked
    start, empty = time.perf_counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state")
        for kill in range(asked.kills):
            lines = killed_once(path, rng)
            empty += not lines
            for line in lines:
                number, told_now = int(line.split()[0]), float(line.split()[1])
                if number in told:
                    sys.exit(f"batch {number} was acknowledged twice, the second time after kill {kill}")
                told[number] = told_now
        left = sorted(os.listdir(folder))
        with Fleet(path, memory=ROOM * BYTES) as fleet:
            last = max(int(note) for *_, note in fleet.batches())
            counts = {row.key: row.count for row in fleet.summary(limit=100).rows}
            problems = fleet.problems()
    twin, wrong, rows = Fleet(), [], 0
    for number in range(last + 1):
        said = twin.observe(**batch(number))
        rows += len(said)
        if number in told and told[number] != digest(said.rows):
            wrong.append(number)
    lost = [number for number in told if number > last]
    same = counts == {row.key: row.count for row in twin.summary(limit=100).rows}
    done = {"kills": asked.kills, "kills_before_a_first_batch": empty, "batches": last + 1, "rows": rows}
    return done | {
        "acknowledged_and_lost": len(lost),
        "answered_otherwise_than_undisturbed": len(wrong),
        "rows_of_every_stream_as_undisturbed": same,
        "problems_of_the_file": problems,
        "files_left": left,
        "seconds": time.perf_counter() - start,
    }


def failed(found: Result) -> bool:
    lost = found["acknowledged_and_lost"] or found["answered_otherwise_than_undisturbed"]
    return bool(lost or found["problems_of_the_file"] or not found["rows_of_every_stream_as_undisturbed"])


BENCHMARK = Measurement(__doc__, measured, defaults(kills=1000, seed=1), failed)
