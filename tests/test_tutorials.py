"""Every code block of the README and the tutorials runs, and prints what the page says it prints."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.pages import ROOT, blocks, check

for extra in ("torch", "typer", "pandas", "pyarrow", "matplotlib", "plotly", "statsmodels"):
    pytest.importorskip(extra)

README = ROOT / "README.md"
FENCE = re.compile(r"^```(?P<language>.*)\n(?P<inside>(?:(?!```).*\n)*)```$", re.MULTILINE)
PAGES = [README, *sorted((ROOT / "docs").glob("tutorial-*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs_and_prints_what_the_page_says(page: Path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    check(page, tmp_path)


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.stem)
def test_no_block_of_a_tutorial_is_without_a_language(page: Path):
    assert set(re.findall(r"^```(.*)\n(?:(?!^```).*\n)*```$", page.read_text(), re.MULTILINE)) <= {
        "python",
        "sh",
        "text",
    }


def test_commands_of_the_readme_that_are_not_run_exist():
    """Set-up and what takes minutes: targets of the Makefile, extras of the package."""
    plain = "".join(m["inside"] for m in FENCE.finditer(README.read_text()) if not m["language"]).splitlines()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for line in plain:
        command = line.split("#")[0].split()
        if command[0] == "make":
            assert re.search(rf"^{command[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        else:
            assert command[:2] == ["pip", "install"]
            assert {*re.findall(r"\w+", command[2])} <= {*extras}
    assert {"make reproduce", "make test"} <= {line.split("#")[0].strip() for line in plain}


def test_the_readme_is_at_most_900_words():
    assert len(README.read_text().split()) <= 900


def test_pictures_and_links_of_the_tutorials_exist():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_there_is_a_tutorial_for_each_audience():
    assert {"tutorial-forecasting", "tutorial-sensors", "tutorial-ssm"} <= {page.stem for page in PAGES}
    assert all([*blocks(page)] for page in PAGES)
