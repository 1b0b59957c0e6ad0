"""Connections: how long one may say nothing or read nothing, and how many there may be that have shown no token."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class Strangers:
    """Connections that nobody has vouched for yet, at most `most` of them: one more closes the one waiting longest, so
    that there is always room for somebody who shows a token."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[Hashable, Callable[[], None]] = {}

    def enter(self, who: Hashable, close: Callable[[], None]) -> None:
        """who: the peer's address and port; close: ends the connection."""
        self._waiting[who] = close
        while len(self._waiting) > self._most:
            self._waiting.pop(next(iter(self._waiting)))()

    def leave(self, who: Hashable) -> None:
        self._waiting.pop(who, None)


def connection(strangers: Strangers, seconds: float) -> type[H11Protocol]:
    """uvicorn's protocol, whose connections begin as strangers. One is cut off where for so many seconds no whole head
    of a request has come, after it was made or after the last answer, or nothing of an answer was read. What it has not
    read is dropped: a close would wait for that."""

    class Connection(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            strangers.enter(self.client, transport.abort)
            self._wait()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._wait()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._leave()
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._wait()

        def handle_websocket_upgrade(self, event: Any) -> None:
            self._leave()
            super().handle_websocket_upgrade(event)

        def _leave(self) -> None:
            strangers.leave(self.client)
            if self._timer is not None:
                self._timer.cancel()

        def _wait(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self.loop.call_later(seconds, self._is_quiet)

        def _is_quiet(self) -> None:
            if self.cycle is None or self.cycle.response_complete or self.flow.write_paused:
                self.transport.abort()

    return Connection
