"""The numbers of other models in the tutorial are those of the committed run; the page on commands has every option."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_rivals_in_the_tutorial_are_those_of_the_result_file():
    page = (ROOT / "docs" / "tutorial-forecasting.md").read_text()
    made = json.loads((ROOT / "benchmarks" / "results" / "backtest_rivals.json").read_text())
    rows = re.findall(r"^\| (\S[^|]*) \| (.*) \|$", page[page.index("<!-- rivals -->") :], re.MULTILINE)
    assert [name.strip() for name, _ in rows] == ["model", "prophecy", "seasonal naive", "AutoETS", "AutoTheta"]
    for name, cells in rows[1:]:
        for cell, series in zip(cells.split(" | "), made["series"].values(), strict=True):
            score = series["overall"][name.strip()]
            assert cell.strip() == f"{score['mae']:.4g} / {score['mase']:.3f} / {score['coverage']:.0%}"


def test_every_option_of_the_commands_is_in_the_page_about_them(monkeypatch):
    typer = pytest.importorskip("typer")
    from prophecy.cli import _register

    page = (ROOT / "docs" / "command-line.md").read_text()
    app = typer.Typer()
    for name in ("forecast", "backtest", "predict", "anomalies"):
        _register(app, name)
    command = typer.main.get_command(app)
    for sub in command.commands.values():
        for parameter in sub.params:
            for option in parameter.opts:
                if option.startswith("--") and option not in ("--help",):
                    assert f"`{option}" in page, f"{sub.name} {option}"
