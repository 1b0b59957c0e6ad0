"""Every limit of the service, with its unit and its reason."""

from __future__ import annotations

from dataclasses import dataclass

KB, MB = 2**10, 2**20  # bytes


@dataclass(frozen=True)
class Settings:
    """Limits, changed as a whole with `dataclasses.replace`.

    They bound what one client can make the process hold or do; beyond them a request is answered with 413, 429 or 503
    and a way out, and nothing has changed.
    """

    body: int = 8 * MB
    """Bytes of a request's body. 50 000 rows of JSON lines with dates are 4 MB. Eight such bodies may arrive at once;
    more are answered with 503."""

    batch: int = 50_000
    """Rows of a request, about half a second of the compiled step on one core; others are served in between."""

    slice_rows: int = 4_096
    slice_steps: int = 16_384
    """Rows, and steps of their streams, of one transaction: some 50 ms. All requests that wait have a share in each, so
    that none waits for another's batch."""

    keys: int = 100_000
    """Series in all. Every one costs a record on disk for ever, and a typing error in a key makes a new one."""

    key_length: int = 200
    """Characters of a key: room for a path of names, small enough to be shown and to be an address."""

    requests: float = 2_000.0
    """Requests a second of one address, on average: more than one process answers, so only a runaway loop hits it."""

    values: float = 400_000.0
    """Values a second of one address, on average: more than a `Fleet` without HTTP takes in (262 000 on two cores,
    benchmarks/results/fleet.json), so that only a sender that cannot be kept up with is refused."""

    burst: float = 2.0
    """Seconds of the rates above that may come at once, so that a sender may catch up after a pause."""

    wrong_tokens: float = 10.0
    """Wrong tokens one address may send at once, one more each second: a page with an old token asks for this many
    things as it opens, and a token of 16 characters is never found that way."""

    addresses: int = 4_096
    """Addresses whose rates are kept apart; the one idle longest is forgotten first."""

    pending: int = 200_000
    """Values waiting for the database, in all; more are answered with 503 rather than held in memory."""

    body_seconds: float = 30.0
    """Time a body may take to arrive, in seconds, so that a trickle of bytes does not hold a connection."""

    backlog: int = 200_000
    """Values kept for live readers that fall behind or come back, about 100 bytes each."""

    frame_rows: int = 2_000
    """Values in one message of the live channel: about 200 kB of JSON, a tenth of a second of a browser's time."""

    frame_seconds: float = 0.03
    """Least time between two messages to one reader: a screen shows no more than 30 pictures a second."""

    send_buffer: int = 256 * KB
    """Bytes the system holds for a connection that does not read: a few messages of the live channel. The kernel's own
    choice is megabytes."""

    readers: int = 64
    """Live connections at once: with a `send_buffer` each, 16 MB in all."""

    watched: int = 500
    """Keys one live reader may name; it can ask for all instead."""

    message: int = 256 * KB
    """Bytes of a message a live reader may send: 500 keys of 200 characters, some of them four bytes long."""

    quiet_seconds: float = 15.0
    """Time a connection may be open, or be idle after an answer, before the whole head of a request has come, and a
    live reader may be silent before it shows its token."""

    inline: int = 16 * KB
    """Bytes of a body read on the event loop, a millisecond or less; handing them to a thread would take longer."""

    threads: int = 2
    """Threads that read from the fleet: one waits for its lock while the other parses a body."""

    forecasts: int = 8
    """Forecasts waiting at once; each may take seconds of one core."""

    horizon: int = 2_000
    """Steps a forecast may ask for: as many values as its context has (2 048), rounded."""

    count: int = 5_000
    """Recent values one request may ask for; a fleet keeps the last 256 of a stream."""

    page: int = 500
    """Series or events in one answer, some 250 bytes of JSON each; two pages of events are kept for live readers."""

    connections: int = 512
    """Connections at once, open files being what a process has least of (1 024 on many systems)."""

    strangers: int = 128
    """Of these, connections that have shown no token; one more closes the oldest of them. The others are for clients
    that have."""

    stop_seconds: float = 0.5
    """Time that requests in flight, then what waits for the disk, then the saving of states have when the service is
    stopped, in seconds each."""


DEFAULT = Settings()
TOKEN_LENGTH = 16
"""Least characters of a token: 96 random bits in base 64."""
