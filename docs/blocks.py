"""Tables of pages, each between two marks that name the script they are made by:

<!-- speed: python docs/readme.py -->
…
<!-- /speed -->
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
sys.path.append(str(ROOT))  # for what lies beside the package


_read: dict[str, str] = {}
"""Files read for the table at hand, and what they say about their making."""


def results(name: str) -> Any:
    """A file of benchmarks/results."""
    found = json.loads((RESULTS / name).read_text())
    stamp = found.get("stamp") if isinstance(found, dict) else None
    _read[name] = f"{stamp['date']}, commit {stamp['commit']}" if stamp else "before 0.3, commit not recorded"
    return found


def made(make: Callable[[], str]) -> str:
    """A table, and below it when and from which commit its numbers were made."""
    _read.clear()
    table = make()
    alike: dict[str, list[str]] = {}
    for name, origin in sorted(_read.items()):
        alike.setdefault(origin, []).append(f"`{name}`")
    origins = ";\n".join(",\n".join(names) + f": {origin}" for origin, names in alike.items())
    return f"{table}\n\n<small>{origins}</small>" if origins else table


def lines(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join(["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]])


def power(value: float) -> str:
    """1.2e-5 rather than 1.2e-05."""
    short = f"{value:.2g}" if value >= 1e-2 else f"{value:.1e}"
    return re.sub(r"e([+-])0?", lambda m: "e" + m[1].replace("+", ""), short)


def filled(text: str, script: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """The text with every block between its marks made anew; each must be there once."""
    for name, make in tables.items():
        marks = f"<!-- {name}: python docs/{script} -->", f"<!-- /{name} -->"
        pattern = re.compile(re.escape(marks[0]) + ".*?" + re.escape(marks[1]), re.S)
        block = f"{marks[0]}\n{made(make)}\n{marks[1]}"
        text, count = pattern.subn(block.replace("\\", r"\\"), text)
        if count != 1:
            raise SystemExit(f"the page must have the marks of {name} once, found {count}")
    return text


def write(page: Path, script: str, tables: Mapping[str, Callable[[], str]], arguments: list[str]) -> str | int:
    """Write the tables into the page; with --check, say whether they are there as they would be written."""
    old = page.read_text()
    new = filled(old, script, tables)
    if "--check" in arguments:
        return 0 if new == old else f"{page.name} is not what the result files say; run python docs/{script}"
    page.write_text(new)
    return 0
