"""`prophecy serve`: the live service and its page."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Annotated

import typer

from prophecy import _interrupts
from prophecy.commands._common import guarded, say

EXAMPLES = """
Examples:
  prophecy serve --demo
  prophecy serve --db plant.db
  PROPHECY_TOKEN=$(openssl rand -hex 24) prophecy serve --db plant.db --host 0.0.0.0

Then open http://127.0.0.1:8765. Values come in by POST /v1/observe (JSON, JSON lines or CSV); /docs describes the rest.
"""


def serve(
    db: Annotated[
        Path | None, typer.Option("--db", "--state", help="SQLite file that keeps everything; in memory if not given.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; any but loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses one.")] = 8765,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File whose first line is the token that clients must send; or put it into PROPHECY_TOKEN."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Host name that requests may carry (a proxy's); repeatable. Others are refused."),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Start with a few example streams that go on by themselves.")
    ] = False,
    level: Annotated[float, typer.Option(help="Probability that an interval contains the next value.")] = 0.9,
    max_keys: Annotated[
        int | None, typer.Option(min=1, help="Refuse more streams than this; 100 000 if not given.")
    ] = None,
    max_per_second: Annotated[
        float | None,
        typer.Option(min=1.0, help="Refuse more values a second from one address than this; 400 000 if not given."),
    ] = None,
) -> None:
    """Receive live values over HTTP; serve predictions, alarms, forecasts and a page that shows them."""
    if not 0 < level < 1:
        raise typer.BadParameter(f"--level must lie between 0 and 1, got {level:g}")
    with guarded("serve", "service"):
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
        say("serve", "stopped")


def _ready(place: tuple[str, int], db: Path | None, token: str | None) -> None:
    host = f"[{place[0]}]" if ":" in place[0] else place[0]
    say("serve", f"http://{host}:{place[1]} has the page, /docs the API" + ("; it asks for the token" if token else ""))
    if db is None:
        say("serve", "everything is kept in memory alone; --db FILE keeps it")
    say("serve", "Ctrl-C stops it; what was acknowledged is kept" if db is not None else "Ctrl-C stops it")
