"""The pages of the site: code runs and prints what stands below it, links lead somewhere, tables say what files say."""

from __future__ import annotations

import re
import subprocess
import sys

import links
import pytest

from benchmarks.catalogue import BENCHMARKS
from tests.pages import ROOT, blocks, check

DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.glob("*.md") if not page.name.startswith("tutorial-"))  # those have their own test
MARK = re.compile(r"<!-- [\w-]+: python docs/(\w+)\.py -->")
SCRIPTS = sorted({name for page in (ROOT / "README.md", *DOCS.glob("*.md")) for name in MARK.findall(page.read_text())})
"""Those that make the tables of some page, by the marks around them."""


@pytest.mark.parametrize("page", [p for p in PAGES if [*blocks(p, ("python",))]], ids=lambda page: page.stem)
def test_python_on_a_page_runs_and_prints_what_stands_below_it(page, tmp_path, monkeypatch):
    for extra in ("matplotlib", "pandas"):
        pytest.importorskip(extra)
    monkeypatch.chdir(tmp_path)
    check(page, tmp_path, ("python",))


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", *(f"docs/{p.name}" for p in DOCS.glob("*.md"))]
)
def test_links_between_source_pages_lead_to_files_and_headings(page):
    assert links.broken_in_source(ROOT / page) == []


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES, *DOCS.glob("tutorial-*.md")], ids=lambda p: p.stem
)
def test_pages_are_at_most_300_lines_of_200_characters(page):
    lines = page.read_text().splitlines()
    assert len(lines) <= 300
    assert [line[:60] for line in lines if len(line) > 200 and not line.startswith("|")] == []


def test_the_link_checker_finds_missing_files_and_headings(tmp_path):
    (tmp_path / "there.md").write_text(
        "# A heading, with `code`\n\n[gone](gone.md)\n[no such](#nowhere)\n[good](#a-heading-with-code)\n"
    )
    assert [target for target, _ in links.broken_in_source(tmp_path / "there.md")] == ["gone.md", "#nowhere"]
    (tmp_path / "a.html").write_text(
        '<a href="b.html#x">1</a><a href="b.html#y">2</a><img src="none.png"><script src="https://host/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="x">')
    assert sorted(target for _, target, _ in links.broken_in_site(tmp_path)) == [
        "b.html#y",
        "https://host/x.js",
        "none.png",
    ]


@pytest.mark.parametrize("name", SCRIPTS)
def test_tables_are_those_of_the_result_files(name):
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / f"{name}.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_picture_of_the_readme_can_be_drawn_again(tmp_path):
    for extra in ("matplotlib", "pandas"):
        pytest.importorskip(extra)
    command = [sys.executable, ROOT / "docs" / "picture.py", tmp_path / "picture.png"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "picture.png").stat().st_size > 50_000


def test_the_page_of_benchmarks_names_every_result_file():
    page = (DOCS / "benchmarks.md").read_text()
    named = {name for name in BENCHMARKS if f"`{name}`" in page or name.startswith("forecast_dev_")}
    assert named == {*BENCHMARKS}


def test_the_source_files_that_pages_name_are_there():
    there = [path for folder in ("src", "tests", "benchmarks", "reproduction", "examples", "tools", "docs")
             for path in (ROOT / folder).rglob("*.py*")]  # fmt: skip
    named = {(page.name, name) for page in (*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md")
             for name in re.findall(r"`((?!commands/NAME)[\w/]+\.pyx?)`", page.read_text())}  # fmt: skip
    assert len(named) > 80
    assert [
        each for each in sorted(named) if not any(f"/{path}".endswith(f"/{each[1]}") for path in map(str, there))
    ] == []
