"""Every code block of the tutorials runs, and prints what the page says it prints.

With PROPHECY_IMAGES=1 the pictures the tutorials draw are copied to docs/images.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

for extra in ("torch", "typer", "pandas", "pyarrow", "matplotlib", "statsmodels"):
    pytest.importorskip(extra)

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("tutorial-*.md"))
FENCE = re.compile(r"^```(\w+)\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    language: str
    code: str
    printed: str | None
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(match[1], match[2], match[3], text[: match.start()].count("\n") + 1) for match in FENCE.finditer(text)
    ]


def run(block: Block, page: Path, names: dict[str, object]) -> str:
    if block.language == "python":
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
        return printed.getvalue()
    assert block.language == "sh", f"{page.name}:{block.line}: a block of {block.language} is not run by anything"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "COLUMNS": "120"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code], capture_output=True, text=True, timeout=120, env=environment
    )
    assert done.returncode == 0, f"{page.name}:{block.line}: {done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "tutorial"}
    found, checker = blocks(page), doctest.OutputChecker()
    assert len(found) == page.read_text().count("\n```") // 2 - sum(b.printed is not None for b in found)
    for block in found:
        if block.code.startswith("# needs statsforecast"):
            continue  # run by test_adapters_statsforecast.py, in the environment that has it
        printed = run(block, page, names)
        if block.printed is not None:
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert checker.check_output(block.printed, printed, flags), f"{page.name}:{block.line} printed:\n{printed}"
    if os.environ.get("PROPHECY_IMAGES"):
        for picture in tmp_path.glob("*.png"):
            shutil.copy(picture, ROOT / "docs" / "images" / picture.name)


def test_pictures_and_links_of_the_tutorials_exist():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_there_is_a_tutorial_for_each_audience():
    assert {"tutorial-forecasting", "tutorial-sensors", "tutorial-ssm"} <= {page.stem for page in PAGES}
