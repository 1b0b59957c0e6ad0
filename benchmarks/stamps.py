"""Result files and the code that made them."""

import hashlib
import json
import re
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
    return FOLDER / f"{name}.json"


def code(name: str) -> str:
    own, *started = (keys.digest(SOURCES, m, keys.WHOLE) for m in (BENCHMARKS[name].module, *BENCHMARKS[name].starts))
    return (hashlib.sha256("".join([own, *started]).encode()).hexdigest() if started else own)[:16]


def made(file: Path) -> dict[str, Any]:
    """What a file says about its making: commit, date, code and seconds; nothing where it has no stamp."""
    content = json.loads(file.read_text()) if file.exists() else {}
    return dict(content.get("stamp", {})) if isinstance(content, dict) else {}


def stamp(name: str, file: Path, seconds: float) -> None:
    content = json.loads(file.read_text())
    content = content if isinstance(content, dict) else {"rows": content}
    day = datetime.now(UTC).date().isoformat()
    stamped = {"commit": commit(), "date": day, "code": code(name), "seconds": round(seconds)}
    _files.write_json(file, {"stamp": stamped, **{key: value for key, value in content.items() if key != "stamp"}})


def commit() -> str:
    """The commit of this checkout, with a + where its files have changed since."""
    short, changed = (
        subprocess.run(["git", *asked], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
        for asked in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "-uno", "src", "benchmarks/*.py"])
    )
    return short + ("+" if changed else "")


def quoted() -> list[str]:
    return sorted(set(re.findall(r'results\("([\w-]+)\.json"\)', (ROOT / "docs" / "readme.py").read_text())))


def stale() -> dict[str, str]:
    """Why results no longer say what the present code does, by name, those to be made again first at the front."""
    found = {}
    for name in BENCHMARKS:
        known = made(path(name))
        if not path(name).exists():
            found[name] = ("", "never made")
        elif not known:
            found[name] = ("", "before 0.3, commit not recorded")
        elif known["code"] != code(name):
            found[name] = (known["date"], f"of {known['date']}, commit {known['commit']}: its code has changed since")
    return {name: why for name, (_, why) in sorted(found.items(), key=lambda item: item[1][0])}
