"""State files with changed bytes, and states forged within every checksum.

Damaged: bytes of a fleet's file (one that was closed, and one that was killed) are changed at random. Opened, it must
be refused, or set streams aside and say so, or answer as the undamaged one does; where the write-ahead log of a killed
one is damaged, SQLite goes back to the last whole transaction before that. Forged: numbers of a stream's state are
changed, to others near them or to limits of their field, and its checksum is made right. It must be refused, or give
finite answers, and every state it reaches must load again.
"""

import random
import shutil
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.harness import Measurement, Options, Result, defaults
from prophecy.fleet import Fleet, Single
from prophecy.fleet.states import pack, unpack
from prophecy.streams.record import CLOCK_FIELDS as CLOCK
from prophecy.streams.record import FIELDS as RECORD
from prophecy.streams.record import SAMPLE_FIELDS as SAMPLES

KEYS = ("a", "b", "c")


def made(folder: Path) -> tuple[list[Path], list[list[float]]]:
    """A file that was closed, and one as a kill leaves it; what the streams say next after each batch."""
    path, killed, said = folder / "closed", folder / "killed", []
    with Fleet(path) as fleet:
        for k in range(6):
            u = np.sin(0.2 * np.arange(90.0)) + k
            fleet.observe([KEYS[n % 3] for n in range(90)], u, time=90.0 * k + np.arange(90.0))
            said.append(fleet.predict(list(KEYS)).point.tolist())
            if k == 3:
                fleet.checkpoint()
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{killed}{end}")
    return [path, killed], [[], *said]


def answers(path: Path) -> tuple[str, list[float]]:
    try:
        with Fleet(path) as fleet:
            said = fleet.predict(list(KEYS)).point.tolist() if set(fleet) >= set(KEYS) else []
            return "set aside or reported" if fleet.problems() else "opened", said
    except KeyError:
        return "set aside or reported", []
    except (ValueError, OSError, sqlite3.Error):
        return "refused", []


def damaged(count: int, rng: random.Random, folder: Path) -> Counter[str]:
    (files, told), found = made(folder), Counter[str]()
    ends = ("", "-wal", "-shm")
    contents = {
        path: {end: Path(f"{path}{end}").read_bytes() for end in ends if Path(f"{path}{end}").exists()}
        for path in files
    }
    for number in range(count):
        source, target = files[number % 2], folder / "damaged"
        for end in ends:
            Path(f"{target}{end}").unlink(missing_ok=True)
        parts = {end: bytearray(data) for end, data in contents[source].items()}
        for _ in range(rng.randrange(1, 30)):
            data = parts[rng.choice(list(parts))]
            data[rng.randrange(len(data))] = rng.randrange(256)
        for end, data in parts.items():
            Path(f"{target}{end}").write_bytes(data)
        what, said = answers(target)
        if what == "opened":
            earlier = number % 2 == 1 and said in told
            other = "as after an earlier batch" if earlier else "opened and different"
            what = "unchanged" if said == told[-1] else other
        found[what] += 1
    return found


def forged(count: int, rng: random.Random) -> Counter[str]:
    found = Counter[str]()
    states = []
    for timed in (False, True):
        stream = Single()
        times = np.cumsum(np.random.default_rng(1).exponential(1.0, 300)) if timed else None
        stream.follow(np.sin(0.1 * np.arange(300.0)), times)
        states.append((stream.state(), timed))
    for number in range(count):
        state, timed = states[number % 2]
        parts = unpack(state)
        for _ in range(rng.randrange(1, 4)):
            name, fields = rng.choice([("record", RECORD), ("clock", CLOCK), ("samples", SAMPLES)])
            field = rng.choice(fields)
            flat = parts[name][field.name].reshape(-1)
            place = rng.randrange(len(flat))
            old = float(flat[place])
            new = rng.choice([field.low, field.high, old * (1.0 + rng.gauss(0.0, 1.0)), old + rng.gauss(0.0, 1.0), 0.0])
            with np.errstate(all="ignore"):
                flat[place] = np.float64(new).astype(flat.dtype)
            parts[name][field.name] = flat.reshape(parts[name][field.name].shape)
        found[tried(pack(parts), timed)] += 1
    return found


def tried(state: bytes, timed: bool) -> str:
    try:
        stream = Single(state)
    except ValueError:
        return "refused"
    for k in range(20):
        said = stream.observe(float(np.sin(0.1 * (300 + k))), 400.0 + k if timed else None)
        if said.status != "late" and not np.isfinite([said.point, said.score, said.next]).all():
            return "gave an answer that is not finite"
        try:
            stream = Single(stream.state())
        except ValueError:
            return "refused a state of its own later"
    return "ran"


def measured(asked: Options) -> Result:
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        found = {"damaged": dict(damaged(asked.damaged, rng, Path(folder)))}
    return found | {"forged": dict(forged(asked.forged, rng))}


BENCHMARK = Measurement(__doc__, measured, defaults(damaged=2000, forged=4000))
