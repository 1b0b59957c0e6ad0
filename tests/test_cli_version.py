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
