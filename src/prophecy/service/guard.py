"""Who may ask, and how often: token, Host, Origin, rates and headers, before anything else sees a request.

Without a token the service answers loopback alone. A page on the web can still make a visitor's browser talk to
loopback, so there two more things are checked: the Host must be a name of loopback (a foreign name that resolves to
127.0.0.1, "DNS rebinding", is refused), and a request that a browser marks as coming from another origin is refused.
With a token neither trick helps: browsers do not send it on their own, and other origins cannot read it.
"""

import hmac
import ipaddress
import re
import time
from collections.abc import Awaitable, Callable, Hashable, MutableMapping
from typing import Any

from prophecy.service.errors import Problem
from prophecy.service.settings import Settings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = re.compile(r"/|/docs|/openapi\.json|/v1/health|/page/[a-z.\-]+|/favicon\.ico")
"""Paths without data of their own: the page, which asks for the token itself, and what it is made of."""

# The hash of nothing: Plotly adds an empty <style> and fills it through CSSOM, which no policy forbids.
EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {EMPTY_STYLE}; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
]
PIECE = 2**16  # bytes of an answer handed over at once

FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


class Rates:
    """What each address may still ask for: amounts that refill at a rate a second, up to some seconds' worth. The
    addresses idle longest are forgotten (theirs are full by then, or nearly)."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._most = clock, 3 * settings.addresses
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}  # what was left, and when
        self._kinds = {
            "values": ("values", settings.values, max(settings.values * settings.burst, settings.batch)),
            "wrong": ("wrong tokens", 1.0, settings.wrong_tokens),
            "requests": ("requests", settings.requests, max(settings.requests * settings.burst, 1.0)),
        }

    def take(self, address: str, kind: str, amount: float = 1.0) -> None:
        """Count `amount` requests, values or wrong tokens of an address; 429 where they are too many."""
        (what, rate, most), now = self._kinds[kind], self._clock()
        left, then = self._buckets.pop((address, kind), (most, now))
        left = min(most, left + rate * max(0.0, now - then)) - min(amount, most)
        self._buckets[address, kind] = left if left >= 0.0 else left + min(amount, most), now
        while len(self._buckets) > self._most:
            del self._buckets[next(iter(self._buckets))]
        if left < 0.0:
            error = f"more than {rate:g} {what} a second from this address"
            raise Problem(429, error, "wait, then send more slowly", retry_after=-left / rate)


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


class Guard:
    """The rules for one service. token: None on loopback alone."""

    def __init__(self, token: str | None, hosts: tuple[str, ...], rates: Rates) -> None:
        self._token = None if token is None else token.encode()
        self._hosts = frozenset(host.lower() for host in hosts)
        self.rates, self.needs_token = rates, token is not None

    def check(self, scope: Scope, headers: dict[str, str]) -> bool:
        """Everything but the token of a live reader, which may come in its first message; whether it was shown, or none
        is needed."""
        self.rates.take(address(scope), "requests")
        if "transfer-encoding" in headers and "content-length" in headers:
            # Where a proxy goes by the other of them, the rest of the body is a request that it never saw.
            raise Problem(400, "the body has a length and comes in pieces", "send one of the two headers")
        self._host(headers)
        self._origin(scope, headers)
        if self._token is None:
            return True
        if OPEN.fullmatch(scope["path"]) or ("authorization" not in headers and scope["type"] != "http"):
            return False
        self.check_token(scope, bearer(headers))
        return True

    def check_token(self, scope: Scope, shown: str | None) -> None:
        """401 without a token, or with a wrong one; compared in a time that does not depend on where they differ."""
        if self._token is None:
            return
        if shown is not None and hmac.compare_digest(shown.encode(errors="backslashreplace"), self._token):
            return
        if shown is not None:
            self.rates.take(address(scope), "wrong")
        what = "a token is needed" if shown is None else "the token is wrong"
        raise Problem(401, what, "send the header Authorization: Bearer TOKEN")

    def _host(self, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        name, local = host_name(host), self._token is None
        if not name:
            raise Problem(421, f"the Host {host[:80]!r} is no name or address", "send the name the service is asked by")
        if name in self._hosts:
            return
        if not is_loopback(name) if local else self._hosts:
            way_out = "use 127.0.0.1 or localhost" if local else "name it with --allow-host"
            raise Problem(421, f"this service does not answer to the Host {host[:80]!r}", way_out)
        if local and any(name in headers for name in FORWARDED):
            raise Problem(403, "this came through a proxy, and the service has no token", "start it with --token-file")

    def _origin(self, scope: Scope, headers: dict[str, str]) -> None:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        foreign = origin is not None and not same_host(origin, headers.get("host", ""))
        if site in ("cross-site", "same-site"):
            # A link on another page may lead to ours; nothing else of ours is for other pages.
            foreign |= not (headers.get("sec-fetch-mode") == "navigate" and scope["path"] in ("/", "/docs"))
        if foreign:
            raise Problem(403, "pages of another origin may not use this service", "open the service's own page")


class GuardMiddleware:
    """Asks the guard, adds the headers, and passes the answer's status to `note`."""

    def __init__(
        self, app: App, guard: Guard, note: Callable[[str, str, int, float], None], strangers: Strangers
    ) -> None:
        self._app, self._guard, self._note, self.strangers = app, guard, note, strangers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 500

        async def answer(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"].endswith("http.response.start"):
                status, own = message["status"], {name.lower() for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in HEADERS if pair[0] not in own)]
            elif message["type"] == "websocket.accept":
                status = 101
            body = message.get("body", b"")
            for begin in range(0, len(body) - PIECE, PIECE):  # the next when it is read, so that few bytes are held
                await send({**message, "body": body[begin : begin + PIECE], "more_body": True})
            await send({**message, "body": body[(len(body) - 1) // PIECE * PIECE :]} if len(body) > PIECE else message)

        try:
            try:
                if self._guard.check(scope, headers_of(scope)):
                    self.strangers.leave(scope.get("client"))
            except Problem as refused:
                # A body that was not read must not be taken for the next request.
                headers = {"connection": "close"} if scope["type"] == "http" else None
                await refused.response(headers)(scope, receive, answer)
                return
            await self._app(scope, receive, answer)
        finally:
            self._note(scope.get("method", "WS"), scope["path"], status, time.monotonic() - began)


def headers_of(scope: Scope) -> dict[str, str]:
    """Headers by lower-case name. One that came twice is joined by a comma, so that it matches nothing by half."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("utf-8", "surrogateescape")
        found[key] = f"{found[key]},{text}" if key in found else text
    return found


def bearer(headers: dict[str, str]) -> str | None:
    """The token of `Authorization: Bearer …`; None without one."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


def address(scope: Scope) -> str:
    """Whom rates are counted for: the peer's address; of IPv6 the network, of which one host has a whole one."""
    host, _ = scope.get("client") or ("-", 0)
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return str(host)
    if isinstance(found, ipaddress.IPv6Address) and not found.is_loopback:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def is_loopback(name: str) -> bool:
    """Whether a host name or address means this machine alone, without asking anybody.

    >>> [is_loopback(name) for name in ("localhost", "127.0.0.2", "::1", "0.0.0.0", "localhost.example.org", "")]
    [True, True, True, False, False, False]
    """
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def same_host(origin: str, host: str) -> bool:
    """Whether an Origin header names the host (and port) that was asked; the scheme may differ behind a proxy.

    >>> same_host("http://localhost:8765", "localhost:8765"), same_host("https://a.org", "a.org:443")
    (True, True)
    >>> same_host("http://localhost:3000", "localhost:8765"), same_host("null", "localhost")
    (False, False)
    """
    scheme, _, named = origin.partition("://")
    one, other = HOST.fullmatch(named), HOST.fullmatch(host)
    usual = {"http": "80", "https": "443"}.get(scheme)
    if one is None or other is None or usual is None:
        return False
    return (one["name"].lower(), one["port"] or usual) == (other["name"].lower(), other["port"] or usual)


HOST = re.compile(r"(?P<name>[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,252}|\[[0-9a-fA-F:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?")


def host_name(host: str) -> str:
    """The name in a Host header, in small letters; "" where it is anything but a name or address with a port or none.

    >>> [host_name(host) for host in ("LocalHost:80", "[::1]:8765", "evil@127.0.0.1", "127.0.0.1#evil", "a b", "")]
    ['localhost', '::1', '', '', '', '']
    """
    found = HOST.fullmatch(host)
    return found["name"].lower().strip("[]") if found else ""
