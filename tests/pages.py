"""Code on pages: blocks of `python` and `sh`, and below each in a block of `text` what it prints.

A block after `<!-- not run: why -->` is left alone. With PROPHECY_WRITE=1 pages are given what their blocks
really print; `...` stays where it still fits. With PROPHECY_IMAGES=1 pictures that the blocks draw are copied to
docs/images.
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
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(
    r"^(?P<not_run><!-- not run: .+ -->\n)?```(?P<language>python|sh)\n(?P<code>.*?)^```\n"
    r"(?:```text\n(?P<printed>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path, languages: tuple[str, ...] = ("python", "sh")) -> Iterator[re.Match[str]]:
    """The blocks of a page that are to be run."""
    return (m for m in BLOCK.finditer(page.read_text()) if not m["not_run"] and m["language"] in languages)


def check(page: Path, folder: Path, languages: tuple[str, ...] = ("python", "sh")) -> None:
    """Run the blocks of a page, one after the other in `folder`, and compare what they print."""
    names: dict[str, object] = {"__name__": "page"}
    old = page.read_text()
    wrong: dict[str, str] = {}
    for block in blocks(page, languages):
        line = old[: block.start()].count("\n") + 1
        printed = _python(block["code"], page, line, names) if block["language"] == "python" else _shell(block["code"])
        expected = block["printed"]
        if expected is not None and not doctest.OutputChecker().check_output(expected, printed, FLAGS):
            assert "PROPHECY_WRITE" in os.environ, f"{page.name}:{line} printed:\n{printed}"
            wrong[block[0]] = block[0].replace(f"```text\n{expected}", f"```text\n{printed}")
    for before, after in wrong.items():
        page.write_text(page.read_text().replace(before, after))
    if os.environ.get("PROPHECY_IMAGES"):
        for picture in folder.glob("*.png"):
            shutil.copy(picture, ROOT / "docs" / "images" / picture.name)


def _python(code: str, page: Path, line: int, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * line + code, str(page), "exec"), names)
    return printed.getvalue()


def _shell(code: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "COLUMNS": "120"}
    command = ["bash", "-euo", "pipefail", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, f"{code}{done.stderr}"
    return done.stdout
