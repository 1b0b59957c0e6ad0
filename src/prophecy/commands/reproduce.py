"""`prophecy reproduce` and `prophecy bench`: where the reproduction of the paper and the benchmarks live."""

from __future__ import annotations

import typer

from prophecy.commands._common import USAGE

WHERE = """{} not part of the installed package, but of its repository:

{}
"""
REPRODUCTION = """  make reproduce                      everything, then the report
  python -m reproduction --list       what there is
  python -m reproduction NAME ...     some of it"""
BENCHMARKS = """  python -m benchmarks                what there is, what it needs and how long it takes
  python -m benchmarks NAME           one of them
  python -m benchmarks.speed          how fast this is here, beside peers and ceilings"""


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(name="reproduce", context_settings=settings)(reproduce)
    app.command(name="bench", context_settings=settings)(bench)


def reproduce() -> None:
    """Say where the reproduction of the paper lives: in the repository, not in the installed package."""
    _say("The reproduction of the paper is", REPRODUCTION)


def bench() -> None:
    """Say where the benchmarks live: in the repository, not in the installed package."""
    _say("Benchmarks are", BENCHMARKS)


def _say(what: str, commands: str) -> None:
    typer.echo(WHERE.format(what, commands), err=True, nl=False)
    raise typer.Exit(USAGE)
