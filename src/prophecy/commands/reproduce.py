"""`prophecy reproduce`: where the reproduction of the paper lives."""

from __future__ import annotations

from typing import NoReturn

import typer

from prophecy.commands._common import USAGE

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True}


def reproduce() -> None:
    """Say where the reproduction of the paper lives: in the repository, not in the installed package."""
    elsewhere(
        "The reproduction of the paper is",
        """  make reproduce                      everything, then the report
  python -m reproduction --list       what there is
  python -m reproduction NAME ...     some of it""",
    )


def elsewhere(what: str, commands: str) -> NoReturn:
    """Name the commands of the repository, and end."""
    typer.echo(f"{what} not part of the installed package, but of its repository:\n\n{commands}", err=True)
    raise typer.Exit(USAGE)
