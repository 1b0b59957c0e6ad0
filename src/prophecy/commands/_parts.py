"""What a long run has done so far, in `OUT.part` beside OUT: which file it is, and whether a run may go on with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import prophecy


def part_of(out: Path) -> Path:
    """Where the unfinished work for `out` is."""
    return out.with_name(out.name + ".part")


def input_of(file: str) -> dict[str, Any]:
    """What must be the same for a run to go on: the file as it was, read by the same version."""
    path = Path(file)
    there = path.stat() if file != "-" else None
    return {
        "file": str(path.resolve()) if there else "-",
        "size": there.st_size if there else 0,
        "date of the file": there.st_mtime_ns if there else 0,
        "version of prophecy": prophecy.__version__,
    }


def check_plan(path: Path, kept: dict[str, Any], plan: dict[str, Any]) -> None:
    """Refuse to go on with what another question, or another file, left."""
    differs = sorted(name for name in {*kept, *plan} if kept.get(name) != plan.get(name))
    if differs:
        raise ValueError(f"{path} was made with another {', '.join(differs)}; leave out --resume to start afresh")
