"""`prophecy reproduce`: where the reproduction of the paper lives."""

import typer

from prophecy.commands._common import USAGE

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True}


def reproduce() -> None:
    """Say where the reproduction of the paper lives: in the repository, not in the installed package."""
    commands = "`make reproduce`, or some of it by `python -m reproduction NAME`; --list has names"
    typer.echo(f"The reproduction is not part of the installed package, but of its repository: {commands}.", err=True)
    raise typer.Exit(USAGE)
