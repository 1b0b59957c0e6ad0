"""`prophecy reproduce` and `prophecy bench`: where the reproduction of the paper and the benchmarks live."""

from __future__ import annotations

import typer

from prophecy.commands._common import USAGE

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True}


def reproduce() -> None:
    """Say where the reproduction of the paper lives: in the repository, not in the installed package."""
    _elsewhere(
        "The reproduction is", "`make reproduce`, or some of it by `python -m reproduction NAME`; --list has names"
    )


def bench() -> None:
    """Say where the benchmarks live: in the repository, not in the installed package."""
    _elsewhere("Benchmarks are", "`python -m benchmarks` lists them, `python -m benchmarks NAME` runs one")


def _elsewhere(what: str, commands: str) -> None:
    typer.echo(f"{what} not part of the installed package, but of its repository: {commands}.", err=True)
    raise typer.Exit(USAGE)
