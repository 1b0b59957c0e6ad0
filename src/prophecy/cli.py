"""The command line: `prophecy …`. Nothing but parsing and printing; the work is done elsewhere.

To add a command, write `commands/<name>.py` with a function `register(app)` and add the module to `COMMANDS`.
"""

from __future__ import annotations

import importlib
import os
import sys

from prophecy import __version__, _interrupts

COMMANDS = (
    "predict",
    "forecast",
    "backtest",
    "equations",
    "stream",
    "serve",
    "state",
    "anomalies",
    "matrices",
    "reproduce",
)
"""Modules of `prophecy.commands`, in the order of the help page."""


def main() -> None:
    """Entry point of the `prophecy` command."""
    _interrupts.command(_main)


def _main() -> None:
    try:
        import rich  # noqa: F401
        import typer
    except ModuleNotFoundError as error:
        sys.exit(f"prophecy: the command line needs {error.name!r}; install it with: pip install 'hippo-prophecy[cli]'")
    if sys.stdout is None or sys.stderr is None:  # closed by whoever started us: what is written there goes nowhere
        nowhere = open(os.devnull, "w")  # noqa: SIM115 (for as long as the process lives)
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    if sys.argv[1:] == ["--version"]:
        _print_version()  # without loading the commands
        return
    app = typer.Typer(
        name="prophecy",
        help="Predict any dynamical system from its context alone, with no training.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    option = typer.Option(False, "--version", help="Print the version and exit.")

    def root(version: bool = option) -> None:
        """Keeps `prophecy <command>` the way to call it, however many commands there are."""
        if version:
            _print_version()
            raise typer.Exit

    app.callback(invoke_without_command=True)(root)
    for name in [name for name in COMMANDS if name in sys.argv[1:2]] or COMMANDS:  # the one that is asked for, or all
        importlib.import_module(f"prophecy.commands.{name}").register(app)
    app()


def _print_version() -> None:
    print(f"prophecy {__version__}")


if __name__ == "__main__":
    main()
