"""Build the series that benchmarks/ordinary.py runs on, from the official files.

    python -m benchmarks.ordinary_data OUT.npz --m1 M1.rda --m3 M3.rda --m4 Hourly-train.csv Hourly-test.csv
        --m4-weekly Weekly-train.csv Weekly-test.csv --etth1 ETTh1.csv --etth2 ETTh2.csv

M1 and M3: the data of the R package Mcomp (data/M1.rda, data/M3.rda). M4: the competition's CSV files. ETT: the CSV
files of the Electricity Transformer Dataset. Any of them may be left out.

OUT holds, per group, `context` and `future` (all series one after the other), `context_lengths`, `horizons` and
`seasons`; and `etth1`, `etth2` as (time, 7).
"""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import lzma
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Series = tuple[Any, Any, int]  # context, future, samples in a season


@dataclass
class RData:
    """Reads R's serialisation (XDR, versions 2 and 3) of lists, vectors, strings and their attributes.

    A pairlist or a list with names becomes a dict, other lists Python lists, vectors NumPy arrays, strings lists of
    str. Attributes other than names are read and left out.
    """

    data: bytes
    at: int = 0
    references: list[Any] = field(default_factory=list)

    def file(self) -> dict[str, Any]:
        """All objects of a file written by R's `save`, by name."""
        magic = self._take(5)
        if magic not in (b"RDX2\n", b"RDX3\n"):
            raise ValueError(f"not an R data file: it begins with {magic!r} where RDX2 or RDX3 should be")
        if self._take(2) != b"X\n":
            raise ValueError("only R's binary (XDR) serialisation is read; save the file with ascii = FALSE")
        version, _, _ = (self._integer() for _ in range(3))
        if version not in (2, 3):
            raise ValueError(f"serialisation version {version} is not known; R writes 2 or 3")
        if version == 3:
            self._take(self._integer())  # the native encoding's name
        found = self._item()
        if not isinstance(found, dict):
            raise ValueError("the file holds no named objects")
        return found

    def _take(self, count: int) -> bytes:
        if count < 0 or self.at + count > len(self.data):
            raise ValueError(f"the file ends at byte {len(self.data)}, {count} more were expected at {self.at}")
        self.at += count
        return self.data[self.at - count : self.at]

    def _integer(self) -> int:
        return int(struct.unpack(">i", self._take(4))[0])

    def _length(self) -> int:
        length = self._integer()
        if length == -1:
            length = (self._integer() << 32) + self._integer()
        return length

    def _item(self) -> Any:
        flags = self._integer()
        kind, has_attributes, has_tag = flags & 0xFF, bool(flags & 0x200), bool(flags & 0x400)
        if kind in (254, 242, 241, 253, 251, 252):  # nil, environments, missing and unbound values
            return None
        if kind == 255:
            index = flags >> 8 or self._integer()
            return self.references[index - 1]
        if kind == 1:
            self.references.append(self._item())
            return self.references[-1]
        if kind == 2:
            return self._pairs(has_attributes, has_tag)
        if kind == 9:
            length = self._integer()
            return None if length == -1 else self._take(length).decode("latin-1" if flags & (1 << 14) else "utf-8")
        if kind == 238:
            return self._compact()
        found = self._vector(kind)
        attributes = self._item() if has_attributes else None
        return _named(found, attributes or {})

    def _pairs(self, has_attributes: bool, has_tag: bool) -> dict[str, Any]:
        """A pairlist; its tail follows as a further item, which is walked rather than recursed into."""
        found: dict[str, Any] = {}
        while True:
            if has_attributes:
                self._item()
            tag = self._item() if has_tag else str(len(found))
            found[str(tag)] = self._item()
            flags = self._integer()
            if flags & 0xFF != 2:
                self.at -= 4
                self._item()
                return found
            has_attributes, has_tag = bool(flags & 0x200), bool(flags & 0x400)

    def _vector(self, kind: int) -> Any:
        if kind in (10, 13):
            return np.frombuffer(self._take(4 * (length := self._length())), ">i4", length).astype(np.int64)
        if kind == 14:
            return np.frombuffer(self._take(8 * (length := self._length())), ">f8", length).astype(np.float64)
        if kind in (16, 19):
            return [self._item() for _ in range(self._length())]
        raise ValueError(f"objects of R's type {kind} are not read, at byte {self.at}")

    def _compact(self) -> Any:
        """Sequences that R keeps as (length, first, step), and wrappers around vectors."""
        info, state, _ = self._item(), self._item(), self._item()
        name = str(next(iter(info.values())) if isinstance(info, dict) else info[0])
        if name in ("compact_intseq", "compact_realseq"):
            length, first, step = np.asarray(state, dtype=np.float64)
            return first + step * np.arange(int(length))
        if name.startswith("wrap_"):
            return state[0] if isinstance(state, list) else next(iter(state.values()))
        raise ValueError(f"compact objects of kind {name!r} are not read")


def _named(found: Any, attributes: dict[str, Any]) -> Any:
    if isinstance(found, list) and attributes.get("names") is not None and len(attributes["names"]) == len(found):
        return dict(zip(attributes["names"], found, strict=True))
    return found


def unpacked(path: Path) -> bytes:
    """The file's bytes; R compresses with gzip, bzip2 or xz."""
    data = path.read_bytes()
    for magic, opener in ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ", lzma)):
        if data.startswith(magic):
            return bytes(opener.decompress(data))
    return data


PERIODS = {"YEARLY": 1, "QUARTERLY": 4, "MONTHLY": 12, "OTHER": 1}


def m_competition(path: Path) -> Iterator[Series]:
    """The series of M1 or M3: each a list with x (the past), xx (what came) and period."""
    for collection in RData(unpacked(path)).file().values():
        for one in collection.values() if isinstance(collection, dict) else collection:
            period = one["period"][0] if isinstance(one["period"], list) else one["period"]
            season = PERIODS[str(period).upper()]
            yield np.asarray(one["x"], dtype=np.float64), np.asarray(one["xx"], dtype=np.float64), season


def m4(train: Path, test: Path, season: int) -> Iterator[Series]:
    """Rows of different lengths: a name, then values; empty cells at the end."""
    futures = dict(_rows(test))
    for name, context in _rows(train):
        if name not in futures:
            raise ValueError(f"series {name} of {train.name} is missing in {test.name}")
        yield context, futures[name], season


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open(newline="") as lines:
        reader = csv.reader(lines)
        next(reader, None)
        for row in reader:
            values = [float(cell) for cell in row[1:] if cell.strip() and cell.strip().upper() != "NA"]
            yield row[0], np.array(values)


def ett(path: Path) -> Any:
    """(time, variables): all columns but the date."""
    with path.open(newline="") as lines:
        reader = csv.reader(lines)
        header = next(reader)
        if header[0].strip().lower() != "date":
            raise ValueError(f"{path.name} should begin with a column date, got {header[0]!r}")
        return np.array([[float(cell) for cell in row[1:]] for row in reader if row])


def packed(series: Iterator[Series]) -> dict[str, Any]:
    """All series one after the other, and where each begins."""
    found = list(series)
    return {
        "context": np.concatenate([context for context, _, _ in found]),
        "context_lengths": np.array([len(context) for context, _, _ in found]),
        "future": np.concatenate([future for _, future, _ in found]),
        "horizons": np.array([len(future) for _, future, _ in found]),
        "seasons": np.array([season for _, _, season in found]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name in ("m1", "m3", "etth1", "etth2"):
        parser.add_argument(f"--{name}", type=Path)
    for name in ("m4", "m4-weekly"):
        parser.add_argument(f"--{name}", type=Path, nargs=2, metavar=("TRAIN", "TEST"))
    options = parser.parse_args()
    groups: dict[str, Any] = {}
    for name in ("m1", "m3"):
        if getattr(options, name):
            groups[name] = packed(m_competition(getattr(options, name)))
    for name, pair, season in (("m4_hourly", options.m4, 24), ("m4_weekly", options.m4_weekly, 1)):
        if pair:
            groups[name] = packed(m4(*pair, season))
    arrays = {f"{group}/{part}": value for group, parts in groups.items() for part, value in parts.items()}
    arrays |= {name: ett(getattr(options, name)) for name in ("etth1", "etth2") if getattr(options, name)}
    np.savez_compressed(options.out, **arrays)
    counts = [f"{group} {len(parts['horizons'])} series" for group, parts in groups.items()]
    print(f"{options.out}: {', '.join(counts)}")


if __name__ == "__main__":
    main()
