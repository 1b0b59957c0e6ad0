"""Arrays as one run of bytes with a checksum: how the state of a stream is stored."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"PRO2"
LARGEST = 2**20
"""Bytes of a state at most; a real one has up to 92 kB."""


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The arrays one after the other: magic, lengths in bytes, their bytes, and the checksum of all before it."""
    parts = [array.tobytes() if len(array) else b"" for array in arrays.values()]
    data = b"".join([MAGIC, struct.pack(f"<{len(parts)}I", *map(len, parts)), *parts])
    return data + struct.pack("<I", zlib.crc32(data))


def unpack(data: bytes, dtypes: Mapping[str, np.dtype[Any]]) -> dict[str, NDArray[Any]]:
    """What `pack` packed, as flat arrays of these types; ValueError for anything else."""
    head = len(MAGIC) + 4 * len(dtypes)
    if not head + 4 <= len(data) <= LARGEST or data[:4] != MAGIC:
        raise ValueError(f"{len(data)} bytes are not the state of a stream")
    if struct.unpack("<I", data[-4:])[0] != zlib.crc32(data[:-4]):
        raise ValueError("the state of a stream does not have its checksum")
    lengths = struct.unpack(f"<{len(dtypes)}I", data[4:head])
    if head + sum(lengths) + 4 != len(data):
        raise ValueError("the state of a stream is not as long as its header states")
    found, start = {}, head
    for (name, dtype), length in zip(dtypes.items(), lengths, strict=True):
        if not length:  # most parts of a young stream, and an array of records is slow to make
            found[name] = _NOTHING[name] if name in _NOTHING else _NOTHING.setdefault(name, np.zeros(0, dtype))
            continue
        if length % dtype.itemsize:
            raise ValueError(f"{name} of a stream's state has {length} bytes, no whole number of {dtype}")
        found[name] = np.frombuffer(data, dtype, length // dtype.itemsize, start).copy()
        start += length
    return found


_NOTHING: dict[str, NDArray[Any]] = {}  # parts without entries
