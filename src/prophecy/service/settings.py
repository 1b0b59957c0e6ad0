"""Every limit of the service, with its unit and its reason."""

from dataclasses import dataclass

KB, MB = 2**10, 2**20  # bytes
TOKEN_LENGTH = 16  # characters of a token at least: 96 random bits in base 64


@dataclass(frozen=True)
class Settings:
    """What one client can make the process hold or do; beyond it a request is answered with 413, 429 or 503 and a way
    out, and nothing has changed. Changed as a whole with `dataclasses.replace`."""

    # A request.
    body: int = 8 * MB  # bytes: 50 000 rows of JSON lines with dates are 4 MB; eight such may arrive at once
    body_seconds: float = 30.0  # that it may take to arrive, so that a trickle does not hold a connection
    inline: int = 16 * KB  # bytes of JSON read on the event loop, in a millisecond; a thread would take longer
    batch: int = 50_000  # rows, half a second of the compiled step on one core; others are served in between
    key_length: int = 200  # characters: room for a path of names, small enough to be shown and to be an address
    horizon: int = 2_000  # steps of a forecast: as many as its context has values (2 048), rounded
    count: int = 5_000  # recent values asked for; a fleet keeps the last 256 of a stream
    page: int = 500  # series or events in an answer, 250 bytes each; two pages of events are kept for live readers

    # The database.
    slice_rows: int = 4_096  # rows of a transaction, in which all requests that wait have a share
    slice_steps: int = 8_192  # steps of their streams, likewise; the longest transaction took 41 ms
    keys: int = 100_000  # series in all: each is a record on disk for ever, and a typing error in a key makes a new one
    pending: int = 200_000  # values waiting; more are answered with 503 rather than held in memory
    threads: int = 2  # that read: one waits for the fleet's lock while the other parses a body
    forecasts: int = 8  # waiting at once; each may take seconds of one core

    # An address. Values: what a `Fleet` without HTTP takes in on two cores (benchmarks/results/fleet.json).
    requests: float = 2_000.0  # a second on average: more than one process answers, so only a runaway loop hits it
    values: float = 400_000.0  # a second on average: only a sender that cannot be kept up with is refused
    burst: float = 2.0  # seconds of these rates that may come at once, so that a sender may catch up after a pause
    wrong_tokens: float = 10.0  # at once, one more each second: as many as a page with an old token sends
    addresses: int = 4_096  # whose rates are kept apart; the one idle longest is forgotten first

    # Live readers.
    backlog: int = 200_000  # values kept for those that fall behind or come back, some 400 bytes each
    frame_rows: int = 2_000  # values in one message: 200 kB of JSON, a tenth of a second of a browser's time
    frame_seconds: float = 0.03  # between two messages at least: a screen shows no more than 30 pictures a second
    readers: int = 64  # at once: with a `send_buffer` each, 16 MB in all
    watched: int = 500  # keys one may name; it can ask for all instead
    message: int = 256 * KB  # bytes one may send: 500 keys of 200 characters, some of them four bytes long

    # Connections.
    connections: int = 512  # at once, open files being what a process has least of (1 024 on many systems)
    strangers: int = 128  # of these, without a token; one more closes the oldest of them
    send_buffer: int = 256 * KB  # bytes the system holds for one that does not read; by itself it holds megabytes
    quiet_seconds: float = 15.0  # open or idle after an answer, before a whole request head or a reader's token comes
    stop_seconds: float = 0.5  # for requests in flight, for what waits for the disk, and for saving states, each


DEFAULT = Settings()
