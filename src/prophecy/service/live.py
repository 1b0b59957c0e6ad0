"""The live channel: one numbered backlog that all readers read at their own pace.

Values are numbered as they are acknowledged. A reader is nothing but the number it has read up to: a slow one costs no
memory, and where the backlog has gone past it, it is sent which numbers it missed.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Set
from typing import Any, Generic, NamedTuple, TypeVar

from prophecy.service.shapes import COLUMNS

T = TypeVar("T")


class Read(NamedTuple):
    """What a reader gets. after: its new number; missed: (first, last) numbers that are no longer kept, or None."""

    columns: dict[str, list[Any]]
    after: int
    missed: tuple[int, int] | None


class Tail(Generic[T]):
    """The newest of things that are numbered 1, 2, …: the last `kept` of them at least, and some more."""

    def __init__(self, kept: int) -> None:
        self._kept, self._items, self.last = kept, list[T](), 0

    @property
    def oldest(self) -> int:
        """The number of the oldest one kept; one past the last where there is none."""
        return self.last - len(self._items) + 1

    def add(self, items: Iterable[T]) -> None:
        before = len(self._items)
        self._items.extend(items)
        self.last += len(self._items) - before
        if len(self._items) > 1.25 * self._kept:  # not every time: the others move up
            del self._items[: len(self._items) - self._kept]

    def after(self, number: int) -> Iterable[tuple[int, T]]:
        """Those kept that come after this one, with their numbers."""
        oldest = self.oldest
        return ((n, self._items[n - oldest]) for n in range(max(number + 1, oldest), self.last + 1))


class Backlog:
    """The last `capacity` values, each a tuple of COLUMNS, and `events` events, and a signal when there are more.

    boot: a name of this run of the process; numbers of another run mean nothing here. more: set when something is
    published after it was looked up; look it up before reading, then wait for it.
    """

    def __init__(self, capacity: int, events: int = 1_000) -> None:
        self.boot, self.more = secrets.token_hex(8), asyncio.Event()
        self.values, self.events = Tail[tuple[Any, ...]](capacity), Tail[dict[str, Any]](events)

    def publish(self, columns: dict[str, list[Any]], events: Iterable[dict[str, Any]]) -> int:
        """Number values, add events and wake the readers; the number of the last value."""
        self.values.add(zip(*(columns[name] for name in COLUMNS), strict=True))
        self.events.add(events)
        self.more.set()
        self.more = asyncio.Event()
        return self.values.last

    def read(self, after: int, most: int, keys: Set[str] | None = None) -> Read:
        """Values numbered after `after`, of the keys named (None: all), at most so many of them."""
        oldest = self.values.oldest
        missed, found = (after + 1, oldest - 1) if after + 1 < oldest else None, list[tuple[Any, ...]]()
        after = max(after, oldest - 1)
        for after, row in self.values.after(after):  # noqa: B020 (the last number read is what is returned)
            if keys is None or row[0] in keys:
                found.append((after, *row))
                if len(found) == most:
                    break
        columns = map(list, zip(*found, strict=True)) if found else ([] for _ in ("number", *COLUMNS))
        return Read(dict(zip(("number", *COLUMNS), columns, strict=True)), after, missed)
