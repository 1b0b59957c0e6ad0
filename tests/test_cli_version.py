"""The command says which version it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

import prophecy

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
