"""One live reader: sends its token, names the series it wants, and is sent values and events as fast as it reads."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from prophecy.service.core import Core
from prophecy.service.errors import Problem
from prophecy.service.guard import address, headers_of
from prophecy.service.live import Read
from prophecy.service.shapes import dumped

NO_TOKEN, TOO_MANY, STOPPING, UNREADABLE = 4401, 1013, 1012, 1003
"""Codes of closing: ours for a token, and those of RFC 6455 and its registry."""


class Reader:
    """Where one reader stands. keys: None for all series."""

    def __init__(self, after: int, event: int, keys: frozenset[str] | None) -> None:
        self.after, self.event, self.keys = after, event, keys
        self.answered = 0  # the newest of its requests that was answered
        self.asked = 0
        self.changed = asyncio.Event()


async def follow(socket: WebSocket, core: Core) -> None:
    """Serve one live connection until either side ends it."""
    await socket.accept()  # a refused handshake carries no reason
    if not await _shown(socket, core):
        return
    if core.metrics.readers >= core.settings.readers:
        await socket.close(TOO_MANY, "too many live readers")
        return
    core.metrics.readers += 1
    try:
        reader = _begun(socket, core)
        backlog = core.backlog
        hello = {"type": "hello", "boot": backlog.boot, "cursor": reader.after, "oldest": backlog.oldest}
        await _send(socket, hello)
        await _both(socket, core, reader)
    except (WebSocketDisconnect, RuntimeError, OSError):
        pass  # the reader has left; nobody is there to be answered
    except Problem as refused:
        await _send(socket, {"type": "error", **refused.answer()})
        await socket.close(UNREADABLE, refused.error[:100])
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
            message = _object(await socket.receive_text(), core)
        token = message.get("token")
        core.guard.check_token(socket.scope, token if isinstance(token, str) else None)
    except (Problem, TimeoutError, KeyError):
        with contextlib.suppress(RuntimeError, OSError):
            await socket.close(NO_TOKEN, 'send {"token": "..."} first')
        return False
    except (WebSocketDisconnect, RuntimeError, OSError):
        return False  # it has left
    finally:
        core.strangers.leave(who)
    return True


def _begun(socket: WebSocket, core: Core) -> Reader:
    """Where to begin: after the cursor in the address, if it is of this run; else with what comes next."""
    backlog, asked = core.backlog, socket.query_params
    after = backlog.last
    if "since" in asked and asked.get("boot", backlog.boot) == backlog.boot:
        text = asked["since"]
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise Problem(400, "since is no number", "send the cursor of the last message", field="since")
        after = min(int(text), backlog.last)
    keys = asked.getlist("key")
    return Reader(after, backlog.event_offset + len(backlog.events), _keys(keys, core) if keys else None)


async def _both(socket: WebSocket, core: Core, reader: Reader) -> None:
    """Send and listen at once, until one of them ends or the service stops."""
    tasks = [
        asyncio.create_task(_sending(socket, core, reader)),
        asyncio.create_task(_listening(socket, core, reader)),
        asyncio.create_task(core.stopping.wait()),
    ]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        if core.stopping.is_set() and socket.client_state is WebSocketState.CONNECTED:
            with contextlib.suppress(RuntimeError, OSError):
                await socket.close(STOPPING, "the service is stopping")


async def _sending(socket: WebSocket, core: Core, reader: Reader) -> None:
    backlog, settings = core.backlog, core.settings
    while True:
        more = backlog.more
        if reader.answered != reader.asked:
            reader.answered = reader.asked
            await _send(socket, {"type": "watching", "request": reader.answered, "cursor": reader.after})
        read = backlog.read(reader.after, settings.frame_rows, reader.keys)
        reader.after = read.after
        first = max(0, reader.event - backlog.event_offset)
        events = backlog.events[first:]
        reader.event = backlog.event_offset + len(backlog.events)
        if read.missed is not None:
            await _send(socket, _missed(core, read.missed))
        if read.columns["number"]:
            await socket.send_text(_written(core, read, shared=reader.keys is None))
        if events:
            await _send(socket, {"type": "events", "events": events})
        if backlog.last > reader.after or reader.answered != reader.asked:
            await asyncio.sleep(settings.frame_seconds)
            continue
        waits = [asyncio.ensure_future(one.wait()) for one in (more, reader.changed)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()
        reader.changed.clear()
        await asyncio.sleep(settings.frame_seconds)


def _written(core: Core, read: Read, shared: bool) -> str:
    """A message of values. Readers of everything get the same ones: it is written once and kept for the others."""
    place = (read.columns["number"][0], read.after)
    if shared and core.written[0] == place:
        return core.written[1]
    found = dumped({"type": "values", "cursor": read.after, "columns": read.columns}).decode()
    if shared:
        core.written = place, found
    return found


def _missed(core: Core, numbers: tuple[int, int]) -> dict[str, Any]:
    core.metrics.missed += numbers[1] - numbers[0] + 1
    way_out = "GET /v1/series/{key} has the recent values of a series"
    return {"type": "missed", "first": numbers[0], "last": numbers[1], "way_out": way_out}


async def _listening(socket: WebSocket, core: Core, reader: Reader) -> None:
    """{"keys": ["a", "b"] or null, "request": 7}: which series to send from now on."""
    while True:
        try:
            text = await socket.receive_text()
        except KeyError:
            raise Problem(400, "a message of bytes", "send text") from None
        core.guard.rates.take(address(socket.scope), "requests")
        message = _object(text, core)
        if "keys" in message:
            keys = message["keys"]
            reader.keys = None if keys is None else _keys(keys, core)
            request = message.get("request", 0)
            reader.asked = request if isinstance(request, int) else 0
            reader.changed.set()


def _object(text: str, core: Core) -> dict[str, Any]:
    if len(text) > core.settings.message:
        raise Problem(413, "the message is too long", f"send at most {core.settings.message} bytes")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Problem(400, "a message that is no JSON object", 'send {"keys": ["boiler"]}')
    return found


def _keys(keys: Any, core: Core) -> frozenset[str]:
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise Problem(400, "keys is no list of texts", 'send {"keys": ["boiler"]}', field="keys")
    if len(keys) > core.settings.watched:
        way_out = f"name at most {core.settings.watched}, or null for all"
        raise Problem(413, f"{len(keys)} keys are too many", way_out, field="keys")
    return frozenset(keys)


async def _send(socket: WebSocket, message: dict[str, Any]) -> None:
    await socket.send_text(dumped(message).decode())
