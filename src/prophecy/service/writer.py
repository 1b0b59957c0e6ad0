"""The way into the database: batches of all clients in the order they came, merged where several wait.

A transaction with its wait for the disk costs the same for one value as for thousands, so batches that arrive while one
is being written go into the next transaction together. Each is answered after its own values are on disk. Where a
merged transaction is refused, its batches are tried one by one, so that a wrong row refuses its own batch alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from prophecy.service.bodies import Batch
from prophecy.service.errors import Problem
from prophecy.service.settings import Settings
from prophecy.service.shapes import columns_of

if TYPE_CHECKING:
    from prophecy.fleet import Fleet

T = TypeVar("T")
Published = Callable[[dict[str, list[Any]], list[dict[str, Any]]], int]


@dataclass(eq=False)
class Waiting:
    """A batch and the place of its answer."""

    batch: Batch
    answer: asyncio.Future[Taken]


@dataclass(frozen=True, eq=False)
class Taken:
    """The columns of a batch's answers, as lists, and the live number of its last value."""

    columns: dict[str, list[Any]]
    cursor: int


class Writer:
    """One thread that writes, and a bounded line in front of it."""

    def __init__(
        self, fleet: Fleet, settings: Settings, publish: Published, events: Callable[[], list[dict[str, Any]]]
    ):
        self._fleet, self._settings, self._publish, self._events = fleet, settings, publish, events
        self._line: list[Waiting] = []
        self._rows = 0
        self._more = asyncio.Event()
        self._closing = False
        self._numbered = 0  # values written so far; belongs to the writer's thread
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="prophecy-writer")
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def take(self, batch: Batch) -> Taken:
        """Wait until a batch is on disk; 503 where too much is waiting already or the service is stopping."""
        if self._closing:
            raise Problem(503, "the service is stopping", "send the batch again to the next one", retry_after=1.0)
        if self._rows + len(batch) > max(self._settings.pending, len(batch)):
            raise Problem(503, f"{self._rows} values are waiting for the disk", "send the batch again", retry_after=1.0)
        waiting = Waiting(batch, asyncio.get_running_loop().create_future())
        self._line.append(waiting)
        self._rows += len(batch)
        self._more.set()
        return await asyncio.shield(waiting.answer)

    @property
    def waiting(self) -> int:
        """Values waiting for the disk."""
        return self._rows

    async def between(self, work: Callable[[], T]) -> tuple[T, int]:
        """Run something between two transactions: its result, and the live number of the last value before it."""

        def run() -> tuple[T, int]:
            return work(), self._numbered

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    async def close(self) -> None:
        """Write what is waiting, then stop."""
        self._closing = True
        self._more.set()
        await self._task
        self._thread.shutdown()

    async def _run(self) -> None:
        while True:
            if not self._line:
                if self._closing:
                    return
                self._more.clear()
                await self._more.wait()
                continue
            group = self._next()
            try:
                await self._write(group)
            except Exception as error:  # whatever it is, nobody may wait for ever
                for waiting in group:
                    _fail(waiting, error)

    def _next(self) -> list[Waiting]:
        """From the front of the line, as many as fit one batch, stamped alike: a transaction is stamped or is not."""
        group: list[Waiting] = []
        rows, first = 0, self._line[0].batch
        for waiting in self._line:
            batch = waiting.batch
            alike = (batch.times is None, batch.dated) == (first.times is None, first.dated)
            if group and (not alike or rows + len(batch) > self._settings.batch):
                break
            group.append(waiting)
            rows += len(batch)
        del self._line[: len(group)]
        self._rows -= rows
        return group

    async def _write(self, group: Sequence[Waiting]) -> None:
        loop = asyncio.get_running_loop()
        try:
            columns, events = await loop.run_in_executor(self._thread, self._observe, _merged(group))
        except Exception as error:
            if len(group) > 1 and isinstance(error, ValueError | Problem):
                for waiting in group:
                    await self._write([waiting])
                return
            for waiting in group:
                _fail(waiting, error)
            return
        last = self._publish(columns, events)
        begin, number = 0, last - len(columns["key"])
        for waiting in group:
            end = begin + len(waiting.batch)
            if not waiting.answer.done():
                waiting.answer.set_result(
                    Taken({name: column[begin:end] for name, column in columns.items()}, number + end)
                )
            begin = end

    def _observe(self, batch: Batch) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
        """On the writer's thread: one transaction, then its answers as plain lists."""
        self._check_keys(batch.keys)
        answers = self._fleet.observe(batch.keys, batch.values, time=moments(batch))
        self._numbered += len(batch)
        return columns_of(answers), self._events() if np.any(answers.event) else []

    def _check_keys(self, keys: Sequence[str]) -> None:
        """Refuse a batch whose new series are too many, before any of it is taken."""
        most, named = self._settings.keys, set(keys)
        if len(self._fleet) + len(named) > most:
            new = sum(key not in self._fleet for key in named)
            if len(self._fleet) + new > most:
                raise Problem(
                    413,
                    f"the batch begins {new} new series; there are {len(self._fleet)} and {most} are allowed",
                    "remove some with DELETE /v1/series/{key}, or start the service with a larger --max-keys",
                )


def moments(batch: Batch) -> Any:
    """Times as the fleet takes them: datetime64 for dates, so that it remembers that they were."""
    if batch.times is None or not batch.dated:
        return batch.times
    return np.round(batch.times * 1e6).astype(np.int64).astype("datetime64[us]")


def _merged(group: Sequence[Waiting]) -> Batch:
    if len(group) == 1:
        return group[0].batch
    batches = [waiting.batch for waiting in group]
    stamped = batches[0].times is not None
    times = np.concatenate([batch.times for batch in batches if batch.times is not None]) if stamped else None
    keys = [key for batch in batches for key in batch.keys]
    return Batch(keys, times, np.concatenate([batch.values for batch in batches]), batches[0].dated)


def _fail(waiting: Waiting, error: Exception) -> None:
    if waiting.answer.done():
        return
    with contextlib.suppress(asyncio.InvalidStateError):
        waiting.answer.set_exception(translated(error, waiting.batch))


def translated(error: Exception, batch: Batch) -> Exception:
    """An error of the fleet as an answer: the row as the body counts them; trouble with the disk without its path."""
    if isinstance(error, sqlite3.Error | OSError):
        way_out = "nothing was changed: try again"
        return Problem(503, "the database cannot take values at present", way_out, retry_after=1.0)
    row, field = getattr(error, "row", None), getattr(error, "field", None)
    if isinstance(error, ValueError) and row is not None:
        way_out = "none of the batch was taken: mend the row and send it again"
        line = batch.lines[row] if batch.lines else row + 1
        return Problem(400, f"row {line}: {str(error).partition(': ')[2]}", way_out, line, field)
    return error
