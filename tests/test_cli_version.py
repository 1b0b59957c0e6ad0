"""The command says which version it is."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import pytest

import prophecy
from prophecy.cli import COMMANDS

pytest.importorskip("typer")


def test_the_command_tells_its_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "prophecy.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"prophecy {prophecy.__version__}\n"


def test_the_version_is_listed_among_the_options_and_stops_before_a_command() -> None:
    def said(*words: str) -> str:
        run = [sys.executable, "-m", "prophecy.cli", *words]
        return subprocess.run(run, capture_output=True, text=True, check=True).stdout

    assert "--version" in said("--help")
    assert said("--version", "forecast") == f"prophecy {prophecy.__version__}\n"


def test_the_page_of_commands_loads_none_of_them_and_has_their_first_sentences() -> None:
    code = (
        "import sys; from prophecy.cli import main; sys.argv = ['prophecy', '--help']\n"
        "try: main()\nfinally: print(*(m for m in sys.modules if m.startswith(('numpy', 'prophecy.commands'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n\n")  # nothing was loaded
    for name in COMMANDS:
        function = getattr(importlib.import_module(f"prophecy.commands.{name}"), name)
        assert inspect.getdoc(function).split("\n")[0][:30] in done.stdout
