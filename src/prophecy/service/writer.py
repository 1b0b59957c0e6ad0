"""The way into the database: batches of all clients, merged where several wait, and taken in by parts where they are
large.

A transaction with its wait for the disk costs the same for one value as for thousands, so batches that arrive while one
is being written go into the next transaction together. It is bounded in rows and in steps (`Settings.slice_rows`), and
all that wait have an equal share in it, so that no batch keeps others waiting for longer than a transaction takes. A
batch is checked whole before its first part is taken, and answered after its last is on disk. Where a merged
transaction is refused, its batches are tried one by one, so that a wrong row refuses its own batch alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from prophecy.service.bodies import Batch, merged
from prophecy.service.errors import Problem
from prophecy.service.settings import Settings
from prophecy.service.shapes import columns_of

if TYPE_CHECKING:
    from prophecy.fleet import Fleet

T = TypeVar("T")
Published = Callable[[dict[str, list[Any]], list[dict[str, Any]]], int]


@dataclass(eq=False)
class Waiting:
    """A batch and the place of its answer. number: in the order they came; done: rows taken; columns: their answers."""

    batch: Batch
    answer: asyncio.Future[Taken]
    number: int
    done: int = 0
    columns: dict[str, list[Any]] = field(default_factory=dict)

    @cached_property
    def keys(self) -> frozenset[str]:
        return frozenset(self.batch.keys)


class Part(NamedTuple):
    """Rows of a batch, from `done` to before `end`."""

    waiting: Waiting
    end: int


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
        self._rows = self._came = 0
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
        self._came += 1
        waiting = Waiting(batch, asyncio.get_running_loop().create_future(), self._came)
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
        """Write what is waiting, for as long as a stop may take, then stop."""
        self._closing = True
        self._more.set()
        try:
            await asyncio.wait_for(asyncio.shield(self._task), self._settings.stop_seconds)
        except TimeoutError:
            stopped = Problem(503, "the service is stopping", "send the batch again to the next one", retry_after=1.0)
            for waiting in self._line:
                _fail(waiting, stopped)
            self._line.clear()
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
            parts = self._next()
            try:
                await self._write(parts)
            except Exception as error:  # whatever it is, nobody may wait for ever
                self._refuse(parts, error)

    def _next(self) -> list[Part]:
        """A share of every batch that waits, as much as one transaction takes, all stamped or none. A batch waits for
        an earlier one that has keys of its own and is taken by parts."""
        left = self._settings.slice_rows
        share, free, claimed = left // len(self._line), set[Waiting](), set[str]()
        for one in sorted(self._line, key=lambda one: one.number):
            if not claimed or claimed.isdisjoint(one.keys):
                free.add(one)
            if one.done or len(one.batch) > share:
                claimed |= one.keys
        first = next(one for one in self._line if one in free).batch
        alike = [one for one in self._line if one in free and one.batch.kind == first.kind]
        ends = {}
        for place, one in enumerate(sorted(alike, key=lambda one: len(one.batch) - one.done)):
            ends[one] = min(len(one.batch), one.done + left // (len(alike) - place))
            left -= ends[one] - one.done
        return [Part(one, ends[one]) for one in alike if ends[one] > one.done]

    def _refuse(self, parts: Sequence[Part], error: Exception) -> None:
        for waiting, _ in parts:
            if waiting in self._line:
                self._line.remove(waiting)
                self._rows -= len(waiting.batch) - waiting.done
            _fail(waiting, error)

    async def _write(self, parts: Sequence[Part]) -> None:
        loop = asyncio.get_running_loop()
        try:
            columns, events = await loop.run_in_executor(self._thread, self._observe, parts)
        except Exception as error:
            if len(parts) > 1 and isinstance(error, ValueError | Problem):
                for part in parts:
                    await self._write([part])
            else:
                self._refuse(parts, error)
            return
        count = len(columns["key"])
        begin, number = 0, self._publish(columns, events) - count
        for waiting, end in parts:
            taken = min(end - waiting.done, count - begin)
            if not taken:
                break
            for name, column in columns.items():
                waiting.columns.setdefault(name, []).extend(column[begin : begin + taken])
            begin += taken
            waiting.done += taken
            self._rows -= taken
            self._line.remove(waiting)
            if waiting.done < len(waiting.batch):
                self._line.append(waiting)  # behind all that wait
            elif not waiting.answer.done():
                waiting.answer.set_result(Taken(waiting.columns, number + begin))

    def _observe(self, parts: Sequence[Part]) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
        """On the writer's thread: one transaction, then its answers as plain lists, of all rows or the first ones."""
        for waiting, end in parts:
            if not waiting.done:
                self._check_keys(waiting.batch.keys)
                if end < len(waiting.batch):
                    self._fleet.check(waiting.batch.keys, waiting.batch.values, waiting.batch.moments())
        batch = merged([waiting.batch.part(waiting.done, end) for waiting, end in parts])
        answers = self._fleet.observe_some(batch.keys, batch.values, batch.moments(), self._settings.slice_steps)
        self._numbered += len(answers)
        return columns_of(answers), self._events() if np.any(answers.event) else []

    def _check_keys(self, keys: Sequence[str]) -> None:
        """Refuse a batch whose new series are too many, before any of it is taken."""
        most, named = self._settings.keys, set(keys)
        if len(self._fleet) + len(named) > most:
            new = len(self._fleet.unknown(named))
            if len(self._fleet) + new > most:
                raise Problem(
                    413,
                    f"the batch begins {new} new series; there are {len(self._fleet)} and {most} are allowed",
                    "remove some with DELETE /v1/series/{key}, or start the service with a larger --max-keys",
                )


def _fail(waiting: Waiting, error: Exception) -> None:
    if waiting.answer.done():
        return
    with contextlib.suppress(asyncio.InvalidStateError):
        waiting.answer.set_exception(translated(error, waiting))


def translated(error: Exception, waiting: Waiting) -> Exception:
    """An error of the fleet as an answer: the row as the body counts them; trouble with the disk without its path."""
    batch, done = waiting.batch, waiting.done
    kept = f"the first {done} rows were taken: send the others again" if done else "nothing was changed: try again"
    if isinstance(error, sqlite3.Error | OSError):
        return Problem(503, "the database cannot take values at present", kept, retry_after=1.0)
    row, field = getattr(error, "row", None), getattr(error, "field", None)
    if isinstance(error, ValueError) and row is not None:
        line = batch.lines[done + row] if batch.lines else done + row + 1
        way_out = kept if done else "none of the batch was taken: mend the row and send it again"
        return Problem(400, f"row {line}: {str(error).partition(': ')[2]}", way_out, line, field)
    if isinstance(error, Problem) and done:
        return dataclasses.replace(error, way_out=kept)
    return error
