"""The state of one stream as bytes: a head, the parts that follow from it, and the checksum of all before it.

A stream that has seen few values is saved as these values: 16 bytes each instead of 40 kB and more, and 3 µs each to
take in again instead of 250 µs to write, read and check its whole state.
"""

import hashlib
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.fleet.answers import ROW, are_rows, is_value
from prophecy.streams.limits import LARGEST, LARGEST_TIME, MOST, RING
from prophecy.streams.rows import CLOCK, RECORD, SAMPLES

RECENT = 256  # rows of each stream kept to be shown, with their answers: as many as a page's chart has room for

YOUNG = 64  # rows up to which a stream is saved as its values: 195 µs to take in again (results/fleet.json, "states")
MAGIC = b"PRO3"
LARGEST_STATE = 2**20  # bytes of a state at most; a real one has up to 90 kB

HEAD = np.dtype([("magic", "S4"), ("rows", "<i8"), *((name, "u1") for name in ("late", "timed", "dated", "grown"))])
"""rows: taken in; late: whether any came late; timed, dated: whether rows have times, and these are dates."""

REAL = np.dtype("<f8")
PARTS: dict[bool, dict[str, np.dtype[Any]]] = {
    False: {"value": REAL, "time": REAL},
    True: {"record": RECORD, "clock": CLOCK, "samples": SAMPLES, "ring": REAL, "recent": ROW},
}
"""What follows a head, of a young stream and of a grown one."""

LAYOUT = hashlib.sha256(repr([HEAD.descr, [part.descr for part in PARTS[True].values()]]).encode()).hexdigest()[:16]
"""A fingerprint of how states are laid out, so that those of other versions are recognised."""

State = dict[str, NDArray[Any]]


def pack(state: State) -> bytes:
    data = b"".join(part.tobytes() for part in state.values())
    return data + struct.pack("<I", zlib.crc32(data))


def unpack(data: bytes) -> State:
    """What `pack` packed, each part within its limits; ValueError for anything else. Record, clock and samples are left
    to those who know them."""
    end = len(data) - 4
    if not HEAD.itemsize <= end <= LARGEST_STATE or data[:4] != MAGIC:
        raise ValueError(f"{len(data)} bytes are not the state of a stream")
    if struct.unpack("<I", data[end:])[0] != zlib.crc32(data[:end]):
        raise ValueError("the state of a stream does not have its checksum")
    found: State = {"head": np.frombuffer(data, HEAD, 1)}
    _, rows, *flags = found["head"][0].tolist()
    late, timed, dated, grown = flags
    if not 0 <= rows <= MOST or max(flags) > 1 or (not grown and (late or dated > timed or not 0 < rows <= YOUNG)):
        raise ValueError("the state of a stream contradicts itself about its rows")
    counts, at = {"value": rows, "time": rows * timed, "recent": min(rows, RECENT)}, HEAD.itemsize
    for name, dtype in PARTS[bool(grown)].items():
        count = counts.get(name, 1)
        if count * dtype.itemsize > end - at:
            raise ValueError(f"the state of a stream ends before its {name}")
        found[name] = np.frombuffer(data, dtype, count, at).copy() if count else np.zeros(0, dtype)
        at += count * dtype.itemsize
        if name == "record":
            counts["ring"] = int(np.clip(found["record"]["count"][0], 0, RING))
    if at != end:
        raise ValueError("the state of a stream is not as long as its head states")
    if grown:
        if not are_rows(found["recent"], least=0):
            raise ValueError("the state of a stream has rows that a fleet would refuse")
        if not (np.abs(found["ring"]) <= LARGEST).all():
            raise ValueError(f"ring must hold values of at most {LARGEST:g} in size")
    elif not (is_value(found["value"]).all() and (np.abs(found["time"]) <= LARGEST_TIME).all()):
        raise ValueError(f"values of a stream must be at most {LARGEST:g} in size, and times finite")
    return found
