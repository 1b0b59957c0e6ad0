"""The command line: `prophecy …`. Nothing but parsing and printing; the work is done elsewhere.

To add a command, write a function of its name in `prophecy.commands`, and add it to `COMMANDS`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import sys
from pathlib import Path

from prophecy import __version__, _interrupts

COMMANDS = ("forecast", "anomalies", "backtest", "equations", "predict", "stream", "serve", "state", "reproduce")
"""In the order of the help page: what newcomers look for comes first. Each is a function in the module of its name."""


def main() -> None:
    """Entry point of the `prophecy` command."""
    _interrupts.command(_main)


def _main() -> None:
    try:
        import rich  # noqa: F401
        import typer
    except ModuleNotFoundError as error:
        sys.exit(f"prophecy: the command line needs {error.name!r}; install it with: pip install 'hippo-prophecy[cli]'")
    if sys.stdout is None or sys.stderr is None:  # closed by the parent process: discard what is written
        nowhere = open(os.devnull, "w")  # noqa: SIM115 (for as long as the process lives)
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    app = typer.Typer(
        name="prophecy",
        help="Predict any dynamical system from its context alone, with no training.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    option = typer.Option(False, "--version", help="Print the version and exit.")

    def root(version: bool = option) -> None:
        """With a callback, Typer expects the name of a command even where only one is registered."""
        if version:
            print(f"prophecy {__version__}")
            raise typer.Exit

    app.callback(invoke_without_command=True)(root)
    asked = [name for name in COMMANDS if name in sys.argv[1:2]]
    for name in asked or COMMANDS:
        if asked or "_PROPHECY_COMPLETE" in os.environ:
            module = importlib.import_module(f"prophecy.commands.{name}")
            command, context = getattr(module, name), getattr(module, "CONTEXT", None)
            summary, _, below = (inspect.getdoc(command) or "").partition("\n\n")
            app.command(name, help=summary, epilog=epilog(below), context_settings=context)(command)
        else:  # the page that lists them needs their first sentences alone
            app.command(name, help=_summary(name))(lambda: None)
    app()


def epilog(text: str) -> str:
    """What stands below a command's options: paragraphs flow to the width of the terminal, examples keep their lines.

    text: paragraphs with empty lines between; the one that begins with "Examples:" has a command on each line.
    """
    paragraphs = (paragraph.strip("\n") for paragraph in text.split("\n\n"))
    return "\n\n".join(
        f"\b\n{paragraph}" if paragraph.startswith("Examples:") else paragraph.replace("\n", " ")
        for paragraph in paragraphs
    )


def _summary(name: str) -> str:
    """The first sentence of a command, read without loading it."""
    tree = ast.parse((Path(__file__).parent / "commands" / f"{name}.py").read_text(encoding="utf-8"))
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    return (ast.get_docstring(function) or "").partition("\n\n")[0]


if __name__ == "__main__":
    main()
