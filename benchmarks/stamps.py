"""Result files and the code that made them."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import prophecy
from benchmarks.catalogue import BENCHMARKS
from prophecy import _files
from reproduction import keys

ROOT = Path(__file__).parent.parent
FOLDER = Path(__file__).parent / "results"
SOURCES = (*(ROOT / name for name in ("benchmarks", "examples", "reproduction")), Path(prophecy.__file__).parent)


def path(name: str) -> Path:
    """The result file of a benchmark."""
    return FOLDER / f"{name}.json"


def code(name: str) -> str:
    """Digest of the code that a benchmark's numbers depend on."""
    module = BENCHMARKS[name].module
    inside = f"{module}.__main__" if (ROOT / module.replace(".", "/")).is_dir() else module
    return keys.digest(SOURCES, inside, keys.WHOLE)[:16]


def made(file: Path) -> dict[str, Any]:
    """What a file says about its making: commit, date, code and seconds; nothing where it has no stamp."""
    try:
        content = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return dict(content.get("stamp", {})) if isinstance(content, dict) else {}


def stamp(name: str, file: Path, seconds: float) -> None:
    """Write into a fresh result file by which code it was made."""
    content = json.loads(file.read_text())
    if not isinstance(content, dict):
        content = {"rows": content}
    day = datetime.now(UTC).date().isoformat()
    stamped = {"commit": commit(), "date": day, "code": code(name), "seconds": round(seconds)}
    _files.write_json(file, {"stamp": stamped, **{key: value for key, value in content.items() if key != "stamp"}})


def commit() -> str:
    """The commit of this checkout, with a + where its files have changed since."""
    short = _git("rev-parse", "--short", "HEAD")
    return short + ("+" if _git("status", "--porcelain", "--untracked-files=no", "src", "benchmarks/*.py") else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def stale() -> dict[str, str]:
    """Why results no longer say what the present code does, by name, those to be made again first at the front."""
    found = {}
    for name in BENCHMARKS:
        known = made(path(name))
        if not path(name).exists():
            found[name] = ("", "never made")
        elif not known:
            found[name] = ("", "made before results knew their code")
        elif known["code"] != code(name):
            found[name] = (known["date"], f"of {known['date']}, commit {known['commit']}: its code has changed since")
    return {name: why for name, (_, why) in sorted(found.items(), key=lambda item: item[1][0])}
