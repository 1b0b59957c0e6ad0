"""`prophecy serve`: the live service and its page."""

import dataclasses
import os
from pathlib import Path

import typer

from prophecy import _interrupts
from prophecy.commands._common import say
from prophecy.commands._options import command


@command
def serve(
    db: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8765,
    token_file: Path | None = None,
    allow_host: list[str] | None = None,
    demo: bool = False,
    level: float = 0.9,
    max_keys: int | None = None,
    max_per_second: float | None = None,
) -> None:
    """Receive live values over HTTP; serve predictions, alarms, forecasts and a page that shows them.

    Examples:
      prophecy serve --demo
      prophecy serve --db plant.db
      PROPHECY_TOKEN=$(openssl rand -hex 24) prophecy serve --db plant.db --host 0.0.0.0

    Then open http://127.0.0.1:8765. Values come in by POST /v1/observe (JSON, JSON lines or CSV); /docs describes the
    rest.
    """
    from prophecy.fleet import Fleet
    from prophecy.service import demo as living
    from prophecy.service import server
    from prophecy.service.settings import DEFAULT

    hosts = tuple(allow_host or ())
    secret = os.environ.get("PROPHECY_TOKEN")
    if token_file is not None:
        secret = token_file.read_text().split("\n", 1)[0].strip()
    try:
        server.check_access(host, secret, hosts)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    settings = dataclasses.replace(DEFAULT, keys=max_keys or DEFAULT.keys, values=max_per_second or DEFAULT.values)
    bound = server.listening(host, port)
    with bound:
        fleet = Fleet(db, level=level)  # closed by the application
        _interrupts.check()
        server.serve(
            fleet,
            bound,
            token=secret,
            hosts=hosts,
            settings=settings,
            background=living.run if demo else None,
            ready=lambda: _ready(bound.getsockname(), db, secret),
        )
        _interrupts.check()  # the server hands on the Ctrl-C that stopped it
    say("stopped")


def _ready(place: tuple[str, int], db: Path | None, token: str | None) -> None:
    host = f"[{place[0]}]" if ":" in place[0] else place[0]
    say(f"http://{host}:{place[1]} has the page, /docs the API" + ("; it asks for the token" if token else ""))
    if db is None:
        say("everything is kept in memory alone; --db FILE keeps it")
    say("Ctrl-C stops it; what was acknowledged is kept" if db is not None else "Ctrl-C stops it")
