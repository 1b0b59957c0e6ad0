"""The way into the database: batches that wait go into one transaction together, large ones by parts.

A transaction is bounded in rows and in steps (`Settings.slice_rows`). Batches take turns: each at most half of one, and
a batch that had a part goes behind all that wait. It is checked whole before its first part is taken, and answered
after its last is on disk. Where a merged transaction is refused, its batches are tried one by one: a wrong row refuses
its own batch alone.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from prophecy.service.bodies import Batch
from prophecy.service.errors import Problem, again, stopping
from prophecy.service.live import Backlog
from prophecy.service.settings import Settings
from prophecy.service.shapes import event_of, lists_of

if TYPE_CHECKING:
    from prophecy.fleet import Fleet

T = TypeVar("T")


@dataclass(eq=False)
class Waiting:
    """A batch and the place of its answer. done: rows taken; end: of those whose turn it is; columns: the answers to
    those taken."""

    batch: Batch
    answer: asyncio.Future[Taken]
    done: int = 0
    end: int = 0
    columns: dict[str, list[Any]] = field(default_factory=dict)

    @cached_property
    def keys(self) -> frozenset[str]:
        return frozenset(self.batch.keys)


class Taken(NamedTuple):
    """The columns of a batch's answers, as lists, and the live number of its last value."""

    columns: dict[str, list[Any]]
    cursor: int


class Writer:
    """One thread that writes, and a bounded line in front of it."""

    def __init__(self, fleet: Fleet, settings: Settings, backlog: Backlog) -> None:
        self._fleet, self._settings, self._backlog = fleet, settings, backlog
        self._line: list[Waiting] = []
        self.waiting = 0  # values waiting for the disk
        self._more = asyncio.Event()
        self._closing = False
        self._numbered, self._event = 0, fleet.last_event  # values and events so far; belong to the writer's thread
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="prophecy-writer")
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def take(self, batch: Batch) -> Taken:
        """Wait until a batch is on disk; 503 where too much is waiting already or the service is stopping."""
        if self._closing:
            raise stopping()
        if self.waiting + len(batch) > max(self._settings.pending, len(batch)):
            raise again(f"{self.waiting} values are waiting for the disk")
        self._line.append(Waiting(batch, asyncio.get_running_loop().create_future()))
        self.waiting += len(batch)
        self._more.set()
        return await asyncio.shield(self._line[-1].answer)

    async def between(self, work: Callable[[], T]) -> tuple[T, int]:
        """Run something between two transactions: its result, and the live number of the last value before it."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: (work(), self._numbered))

    async def close(self) -> None:
        """Write what is waiting, for as long as a stop may take, then stop."""
        self._closing = True
        self._more.set()
        try:
            await asyncio.wait_for(asyncio.shield(self._task), self._settings.stop_seconds)
        except TimeoutError:
            for waiting in self._line:
                _fail(waiting, stopping())
            self._line.clear()
            await self._task
        self._thread.shutdown()

    async def _run(self) -> None:
        while self._line or not self._closing:
            if not self._line:
                self._more.clear()
                await self._more.wait()
                continue
            turn = self._next()
            try:
                await self._write(turn)
            except Exception as error:  # whatever it is, nobody may wait for ever
                self._refuse(turn, error)

    def _next(self) -> list[Waiting]:
        """Batches for one transaction, all stamped or none, in the order of the line: each whole, or half as many rows
        as a transaction takes. One waits where keys of its own are in an earlier one that is not taken whole."""
        left, turn = self._settings.slice_rows, list[Waiting]()
        most = left // 2 if len(self._line) > 1 else left
        claimed = set[str]().union(*(one.keys for one in self._line if one.done))
        for one in self._line:
            size = min(len(one.batch) - one.done, most)
            alike = not turn or one.batch.kind == turn[0].batch.kind
            may = alike and size <= left and (one.done or claimed.isdisjoint(one.keys))
            if may:
                one.end, left = one.done + size, left - size
                turn.append(one)
            if not may or one.end < len(one.batch):
                claimed |= one.keys
        return turn

    def _refuse(self, turn: Sequence[Waiting], error: Exception) -> None:
        for waiting in turn:
            if waiting in self._line:
                self._line.remove(waiting)
                self.waiting -= len(waiting.batch) - waiting.done
            _fail(waiting, error)

    async def _write(self, turn: Sequence[Waiting]) -> None:
        loop = asyncio.get_running_loop()
        try:
            columns, events = await loop.run_in_executor(self._thread, self._observe, turn)
        except Exception as error:
            if len(turn) > 1 and isinstance(error, ValueError | Problem):
                for one in turn:
                    await self._write([one])
            else:
                self._refuse(turn, error)
            return
        count = len(columns["key"])
        begin, number = 0, self._backlog.publish(columns, events) - count
        for waiting in turn:
            taken = min(waiting.end - waiting.done, count - begin)
            if not taken:
                break
            for name, column in columns.items():
                waiting.columns.setdefault(name, []).extend(column[begin : begin + taken])
            begin += taken
            waiting.done += taken
            self.waiting -= taken
            self._line.remove(waiting)
            if waiting.done < len(waiting.batch):
                self._line.append(waiting)  # behind all that wait
            elif not waiting.answer.done():
                waiting.answer.set_result(Taken(waiting.columns, number + begin))

    def _observe(self, turn: Sequence[Waiting]) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
        """On the writer's thread: one transaction, then its answers as plain lists, of all rows or the first ones."""
        for waiting in turn:
            if not waiting.done:
                self._check_keys(waiting.batch.keys)
                if waiting.end < len(waiting.batch):
                    self._fleet.check(waiting.batch.keys, waiting.batch.values, waiting.batch.moments())
        parts = [(waiting.batch, slice(waiting.done, waiting.end)) for waiting in turn]  # all with times, or none
        keys = [key for batch, some in parts for key in batch.keys[some]]
        values = np.concatenate([batch.values[some] for batch, some in parts])
        times = None if parts[0][0].times is None else np.concatenate([one.moments()[some] for one, some in parts])
        answers = self._fleet.observe_some(keys, values, times, self._settings.slice_steps)
        self._numbered += len(answers)
        raised = self._fleet.events(self._event, len(answers)) if np.any(answers.event) else []
        self._event = max(self._event, *answers.event.tolist())
        return lists_of("Answer", answers), [event_of(event) for event in raised]

    def _check_keys(self, keys: Sequence[str]) -> None:
        """Refuse a batch whose new series are too many, before any of it is taken."""
        most, named, known = self._settings.keys, set(keys), len(self._fleet)
        new = len(self._fleet.unknown(named)) if known + len(named) > most else 0
        if known + new > most:
            error = f"the batch begins {new} new series; there are {known} and {most} are allowed"
            way_out = "remove some with DELETE /v1/series/{key}, or start the service with a larger --max-keys"
            raise Problem(413, error, way_out)


def _fail(waiting: Waiting, error: Exception) -> None:
    if not waiting.answer.done():
        waiting.answer.set_exception(translated(error, waiting))


def translated(error: Exception, waiting: Waiting) -> Exception:
    """An error of the fleet as an answer: the row as the body counts them; trouble with the disk without its path."""
    batch, done = waiting.batch, waiting.done
    kept = f"the first {done} rows were taken: send the others again" if done else "nothing was changed: try again"
    if isinstance(error, sqlite3.Error | OSError):
        return again("the database cannot take values at present", kept)
    row, field = getattr(error, "row", None), getattr(error, "field", None)
    if isinstance(error, ValueError) and row is not None:
        line = batch.lines[done + row] if batch.lines else done + row + 1
        way_out = kept if done else "none of the batch was taken: correct the row and send it again"
        return Problem(400, f"row {line}: {str(error).partition(': ')[2]}", way_out, line, field)
    if isinstance(error, Problem) and done:
        return dataclasses.replace(error, way_out=kept)
    return error
