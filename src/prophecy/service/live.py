"""The live channel: one numbered backlog that all readers read at their own pace, and what one is sent.

Values are numbered as they are acknowledged. A reader is nothing but the number it has read up to: a slow one costs no
memory, and where the backlog has gone past it, it is sent which numbers it missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from prophecy.service.errors import Problem, dumped
from prophecy.service.guard import address, headers_of
from prophecy.service.shapes import COLUMNS

if TYPE_CHECKING:
    from prophecy.service.core import Core

T = TypeVar("T")

NO_TOKEN, TOO_MANY, STOPPING, UNREADABLE = 4401, 1013, 1012, 1003  # codes of closing: ours, and those of RFC 6455
GONE = (WebSocketDisconnect, RuntimeError, OSError)  # raised where the reader has left: nobody is there to be answered


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
        if len(self._items) > self._kept + self._kept // 64:  # not every time: the others move up; but few at once
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


async def follow(socket: WebSocket, core: Core) -> None:
    await socket.accept()  # a refused handshake carries no reason
    if not await _shown(socket, core):
        return
    if core.metrics.readers >= core.settings.readers:
        await socket.close(TOO_MANY, "too many live readers")
        return
    core.metrics.readers += 1
    try:
        await Reader(socket, core).serve()
    except Problem as refused:
        with contextlib.suppress(*GONE):
            await socket.send_text(dumped({"type": "error", **refused.answer()}).decode())
            await socket.close(UNREADABLE, refused.error[:100])
    except GONE:
        pass
    finally:
        core.metrics.readers -= 1


async def _shown(socket: WebSocket, core: Core) -> bool:
    """Whether the reader may read. Browsers cannot send headers here, so the token may be the first message."""
    if not core.guard.needs_token or "authorization" in headers_of(socket.scope):
        return True  # the guard has seen the header
    who, loop = socket.scope.get("client"), asyncio.get_running_loop()
    try:
        async with asyncio.timeout(core.settings.quiet_seconds) as limit:
            core.strangers.enter(who, lambda: limit.reschedule(loop.time()))
            token = (await _message(socket, core)).get("token")
        core.guard.check_token(socket.scope, token if isinstance(token, str) else None)
        return True
    except (Problem, TimeoutError):
        with contextlib.suppress(*GONE):
            await socket.close(NO_TOKEN, 'send {"token": "..."} first')
    except GONE:
        pass
    finally:
        core.strangers.leave(who)
    return False


class Reader:
    """Where one reader stands: the values and events it has, and the keys it wants, None for all. Asked for others, it
    says so with the number of the request before it sends theirs."""

    def __init__(self, socket: WebSocket, core: Core) -> None:
        self._socket, self._core, self._backlog, self._written = socket, core, core.backlog, core.written
        asked, values = socket.query_params, core.backlog.values
        self._after, self._event = values.last, core.backlog.events.last
        if "since" in asked and asked.get("boot", self._backlog.boot) == self._backlog.boot:
            text = asked["since"]
            if not (text.isascii() and text.isdigit() and len(text) < 16):
                raise Problem(400, "since is no number", "send the cursor of the last message", field="since")
            self._after = min(int(text), values.last)
        keys = asked.getlist("key")
        self._keys = self._named(keys) if keys else None
        self._asked: list[int] = []
        self._changed = asyncio.Event()

    async def serve(self) -> None:
        """Send and listen at once, until one of them ends or the service stops."""
        backlog = self._backlog
        await self._send("hello", boot=backlog.boot, cursor=self._after, oldest=backlog.values.oldest)
        stopping = self._core.stopping
        tasks = [asyncio.create_task(work) for work in (self._sending(), self._listening(), stopping.wait())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            if stopping.is_set() and self._socket.client_state is WebSocketState.CONNECTED:
                with contextlib.suppress(*GONE):
                    await self._socket.close(STOPPING, "the service is stopping")

    async def _sending(self) -> None:
        backlog, settings = self._backlog, self._core.settings
        while True:
            more = backlog.more
            while self._asked:
                await self._send("watching", request=self._asked.pop(0), cursor=self._after)
            read = backlog.read(self._after, settings.frame_rows, self._keys)
            events, self._event = [event for _, event in backlog.events.after(self._event)], backlog.events.last
            self._after = read.after
            if read.missed is not None:
                first, last = read.missed
                self._core.metrics.missed += last - first + 1
                way_out = "GET /v1/series/{key} has the recent values of a series"
                await self._send("missed", first=first, last=last, way_out=way_out)
            if read.columns["number"]:
                await self._socket.send_text(self._values(read))
            if events:
                await self._send("events", events=events)
            if backlog.values.last == self._after and not self._asked:
                waits = [asyncio.ensure_future(one.wait()) for one in (more, self._changed)]
                try:
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for one in waits:
                        one.cancel()
                self._changed.clear()
            await asyncio.sleep(settings.frame_seconds)

    def _values(self, read: Read) -> str:
        """A message of values. Readers of everything get the same ones: it is written once and kept for the others."""
        place = (read.columns["number"][0], read.after)
        if self._keys is None and place in self._written:
            return self._written[place]
        found = dumped({"type": "values", "cursor": read.after, "columns": read.columns}).decode()
        if self._keys is None:
            self._written.clear()
            self._written[place] = found
        return found

    async def _listening(self) -> None:
        """{"keys": ["a", "b"] or null, "request": 7}: which series to send from now on."""
        while True:
            message = await _message(self._socket, self._core)
            self._core.guard.rates.take(address(self._socket.scope), "requests")
            if "keys" in message:
                self._keys = None if message["keys"] is None else self._named(message["keys"])
                request = message.get("request", 0)
                self._asked = [request if isinstance(request, int) else 0]
                self._changed.set()

    def _named(self, keys: Any) -> frozenset[str]:
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise Problem(400, "keys is no list of texts", 'send {"keys": ["boiler"]}', field="keys")
        if len(keys) > self._core.settings.watched:
            way_out = f"name at most {self._core.settings.watched}, or null for all"
            raise Problem(413, f"{len(keys)} keys are too many", way_out, field="keys")
        return frozenset(keys)

    async def _send(self, kind: str, **fields: Any) -> None:
        await self._socket.send_text(dumped({"type": kind, **fields}).decode())


async def _message(socket: WebSocket, core: Core) -> dict[str, Any]:
    try:
        text = await socket.receive_text()
    except KeyError:
        raise Problem(400, "a message of bytes", "send text") from None
    if len(text) > core.settings.message:
        raise Problem(413, "the message is too long", f"send at most {core.settings.message} bytes")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Problem(400, "a message that is no JSON object", 'send {"keys": ["boiler"]}')
    return found
