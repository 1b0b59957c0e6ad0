"""`prophecy reproduce`: where the paper's reproduction lives."""

from __future__ import annotations

import typer

from prophecy.commands._common import USAGE

WHERE = """The reproduction of the paper lives beside the package, in the folder `reproduction` of its repository:

  make reproduce                      everything, then the report; stop it at any time, run it again to go on
  python -m reproduction --list       what there is
  python -m reproduction NAME ...     some of it
"""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(name="reproduce", context_settings=settings)(reproduce)


def reproduce() -> None:
    """Say where the reproduction of the paper lives: in the repository, not in the installed package."""
    typer.echo(WHERE, err=True, nl=False)
    raise typer.Exit(USAGE)
