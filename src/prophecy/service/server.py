"""Running the service: who may reach it, the socket, and a stop that loses nothing."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from prophecy.service.app import Background, create_app
from prophecy.service.guard import GuardMiddleware, Strangers, is_loopback
from prophecy.service.settings import DEFAULT, TOKEN_LENGTH, Settings

if TYPE_CHECKING:
    from prophecy.fleet import Fleet


def check_access(host: str, token: str | None, hosts: tuple[str, ...]) -> None:
    """Refuse to start without a token where others could reach the service, or with one that is easily guessed."""
    make = "`openssl rand -hex 24` makes one"
    if token is not None:
        if len(token) < TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
            must = f"a token has at least {TOKEN_LENGTH} letters, digits and marks of ASCII and no spaces"
            raise ValueError(f"{must}; {make}")
        return
    if not is_loopback(host):
        way_out = f"put one into PROPHECY_TOKEN or --token-file ({make})"
        raise ValueError(f"--host {host} can be reached by others and needs a token: {way_out}")
    foreign = next((name for name in hosts if not is_loopback(name)), None)
    if foreign is not None:
        raise ValueError(f"--allow-host {foreign} lets others in through a proxy and needs a token, as --host would")


def listening(host: str, port: int) -> socket.socket:
    """A socket bound to the address, before anything else is done, so that a port in use is found out at once."""
    name = host.strip("[]")
    family, _, _, _, place = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    # asyncio switches Nagle's algorithm off only where the protocol is named; with it every answer waits 40 ms.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Inherited by connections. The kernel would hold megabytes for each that does not read.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, DEFAULT.send_buffer)
        found.bind(place)
        found.listen(128)
    except OSError as error:
        found.close()
        raise ValueError(f"cannot listen on {host} port {port}: {error.strerror}; choose another --port") from None
    return found


def _without_traceback(record: logging.LogRecord) -> bool:
    """Text of a client that is no UTF-8 is its mistake: uvicorn's sentence says all."""
    if record.exc_info and isinstance(record.exc_info[1], UnicodeDecodeError):
        record.exc_info = None
    return True


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


def configured(app: GuardMiddleware, settings: Settings) -> uvicorn.Config:
    """How uvicorn runs the application: who may wait for how long, and nothing said about itself."""
    logging.getLogger("uvicorn.error").addFilter(_without_traceback)
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # anybody could write them; rates are counted by the peer's own address
        ws_max_size=settings.message,
        ws_per_message_deflate=False,  # costs more than it saves on the machines this runs on
        http=connection(app.strangers, settings.quiet_seconds),
        limit_concurrency=settings.connections,
        timeout_graceful_shutdown=settings.stop_seconds,  # type: ignore[arg-type]
        timeout_keep_alive=int(settings.quiet_seconds),
        h11_max_incomplete_event_size=32 * 1024,
        lifespan="on",
    )


def serve(
    fleet: Fleet,
    bound: socket.socket,
    *,
    token: str | None = None,
    hosts: tuple[str, ...] = (),
    settings: Settings = DEFAULT,
    background: Background | None = None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGINT or SIGTERM; then answer requests in flight, close live readers (1012) and the database."""
    app = create_app(fleet, settings=settings, token=token, hosts=hosts, background=background)
    server = _Server(configured(app, settings))
    server.ready = ready
    # Before uvicorn listens to signals, and when it repeats the one that stopped it, SIGTERM is an end like any other.
    earlier = signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
    try:
        server.run(sockets=[bound])
    finally:
        signal.signal(signal.SIGTERM, earlier)


class _Server(uvicorn.Server):
    ready: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            gc.freeze()  # what is loaded by now stays: full collections would walk some 80 000 objects of libraries
            self.ready()
