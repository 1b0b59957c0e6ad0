"""Lines of Python by package, at some commits and now: python tools/lines.py --out FILE COMMIT …

Counts every line of every .py file, comments and blank ones too. The commits of benchmarks/results/lines.json are the
first version and the beginnings of later rounds of work.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


PLACES = ("src/prophecy", "reproduction", "benchmarks")


def counted(files: dict[str, int]) -> dict[str, int]:
    """Lines by package, of all of src, and of each folder beside it."""
    packages, beside = Counter[str](), Counter[str]()
    for name, lines in files.items():
        parts = Path(name).parts
        if parts[0] == "src":
            packages[parts[2] if len(parts) > 3 else "top level"] += lines
        else:
            beside[f"{parts[0]}/"] += lines
    return {**dict(sorted(packages.items())), "all": sum(packages.values()), **dict(sorted(beside.items()))}


def at(commit: str) -> dict[str, int]:
    names = [name for name in git("ls-tree", "-r", "--name-only", commit, *PLACES).split() if name.endswith(".py")]
    return counted({name: git("show", f"{commit}:{name}").count("\n") for name in names})


def now() -> dict[str, int]:
    paths = [path for place in PLACES for path in (ROOT / place).rglob("*.py")]
    return counted({str(path.relative_to(ROOT)): path.read_text().count("\n") for path in paths})


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("commits", nargs="*")
    options.add_argument("--out", type=Path, required=True)
    asked = options.parse_args()
    lines = {git("rev-parse", "--short", commit).strip(): at(commit) for commit in asked.commits} | {"now": now()}
    asked.out.write_text(json.dumps({"made_by": "tools/lines.py", "lines": lines}, indent=1) + "\n")
    for package in lines["now"]:
        print(f"{package:12}", *(f"{found.get(package, 0):7,}" for found in lines.values()))


if __name__ == "__main__":
    main()
