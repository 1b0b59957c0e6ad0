"""The page on commands has every option."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_every_option_of_the_commands_is_in_the_page_about_them(monkeypatch):
    typer = pytest.importorskip("typer")
    page = (ROOT / "docs" / "command-line.md").read_text()
    app = typer.Typer()
    for name in ("forecast", "backtest", "predict", "anomalies"):
        app.command(name)(getattr(importlib.import_module(f"prophecy.commands.{name}"), name))
    command = typer.main.get_command(app)
    for sub in command.commands.values():
        for parameter in sub.params:
            for option in parameter.opts:
                if option.startswith("--") and option not in ("--help",):
                    assert f"`{option}" in page, f"{sub.name} {option}"


def test_every_extra_that_is_named_can_be_installed():
    made = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for file in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]:
        for named in re.findall(r"hippo-prophecy\[([a-z,]+)\]", file.read_text()):
            assert {*named.split(",")} <= {*made}, file
