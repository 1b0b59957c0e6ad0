"""The live channel: one numbered backlog that all readers read at their own pace.

Values are numbered as they are acknowledged. A reader is nothing but the number it has read up to, so a slow one costs
no memory and holds up nobody: it falls behind in the backlog, and where the backlog has gone past it, it is sent which
numbers it missed. Whoever comes back with its number goes on from there.
"""

from __future__ import annotations

import asyncio
import secrets
from bisect import bisect_right
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

from prophecy.service.shapes import COLUMNS


@dataclass(frozen=True, eq=False)
class Chunk:
    """Values acknowledged together. first: the number of its first value; columns: a list for each of COLUMNS."""

    first: int
    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(self.columns["key"])


@dataclass(frozen=True, eq=False)
class Read:
    """What a reader gets. after: its new number; missed: (first, last) numbers that are no longer kept, or None."""

    columns: dict[str, list[Any]]
    after: int
    missed: tuple[int, int] | None


class Backlog:
    """The last `capacity` values and `events` events, and a signal when there are more.

    boot: a name of this run of the process; numbers of another run mean nothing here.
    """

    def __init__(self, capacity: int, events: int = 1_000) -> None:
        self.boot = secrets.token_hex(8)
        self.capacity, self._kept = capacity, events
        self.last = 0
        self.events: list[dict[str, Any]] = []
        self.event_offset = 0
        self._chunks: list[Chunk] = []
        self._firsts: list[int] = []
        self.more = asyncio.Event()
        """Set when something is published after it was looked up. Look it up before reading, then wait for it."""

    @property
    def oldest(self) -> int:
        """The number of the oldest value kept; one past the last where there is none."""
        return self._firsts[0] if self._firsts else self.last + 1

    def publish(self, columns: dict[str, list[Any]], events: Sequence[dict[str, Any]]) -> int:
        """Number values, add events and wake the readers; the number of the last value."""
        if columns["key"]:
            self._chunks.append(Chunk(self.last + 1, columns))
            self._firsts.append(self.last + 1)
            self.last += len(columns["key"])
            self._trim()
        self.events.extend(events)
        if len(self.events) > 2 * self._kept:
            self.event_offset += len(self.events) - self._kept
            del self.events[: -self._kept]
        self.more.set()
        self.more = asyncio.Event()
        return self.last

    def read(self, after: int, most: int, keys: Set[str] | None = None) -> Read:
        """Values numbered after `after`, of the keys named (None: all), searching at most `most` of them."""
        missed = None
        if after + 1 < self.oldest:
            missed = (after + 1, self.oldest - 1)
            after = self.oldest - 1
        columns: dict[str, list[Any]] = {name: [] for name in ("number", *COLUMNS)}
        place = bisect_right(self._firsts, after + 1) - 1
        while 0 <= place < len(self._chunks) and len(columns["number"]) < most:
            chunk = self._chunks[place]
            begin = after + 1 - chunk.first
            end = min(len(chunk), begin + most - len(columns["number"]))
            _append(columns, chunk, begin, end, keys)
            after = chunk.first + end - 1
            place += end == len(chunk)
        return Read(columns, after, missed)

    def _trim(self) -> None:
        """Whole chunks go when the rest is capacity enough; the list is cut when half of it is gone, not every time."""
        gone = bisect_right(self._firsts, self.last - self.capacity)
        gone = max(0, gone - 1)
        if gone and (self.last - self._firsts[0] > 2 * self.capacity or 2 * gone > len(self._chunks)):
            del self._chunks[:gone], self._firsts[:gone]


def _append(columns: dict[str, list[Any]], chunk: Chunk, begin: int, end: int, keys: Set[str] | None) -> None:
    if keys is None:
        columns["number"].extend(range(chunk.first + begin, chunk.first + end))
        for name in COLUMNS:
            columns[name].extend(chunk.columns[name][begin:end])
        return
    named = chunk.columns["key"]
    rows = [row for row in range(begin, end) if named[row] in keys]
    columns["number"].extend(chunk.first + row for row in rows)
    for name in COLUMNS:
        column = chunk.columns[name]
        columns[name].extend(column[row] for row in rows)
