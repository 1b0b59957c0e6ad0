"""Coverage of the tests by package, and the functions no test enters.

    coverage run -m pytest tests
    python tools/coverage_summary.py --out benchmarks/results/coverage.json

With `--include` a run of some tests is reported for the files they are about alone.

Functions that Triton compiles run outside of Python's trace and are counted apart, by their decorators: the
tests that compare them with plain Python are what covers them.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
COMPILED = {"jit"}


def compiled_lines(path: Path) -> set[int]:
    """Lines of functions that Python does not run itself."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and any(_name(one) in COMPILED for one in node.decorator_list):
            lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def _name(decorator: ast.expr) -> str:
    if isinstance(decorator, ast.Call):
        return _name(decorator.func)
    return decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")


def summary(report: dict[str, Any]) -> dict[str, Any]:
    """Statements by package, and the functions of which no statement was run."""
    packages: dict[str, dict[str, int]] = {}
    unentered: list[str] = []
    for name, file in sorted(report["files"].items()):
        path = Path(name)
        place = path.relative_to("src/prophecy").parts
        package = place[0] if len(place) > 1 else "top level"
        apart = compiled_lines(ROOT / path)
        ran, missed = (set(file[f"{which}_lines"]) for which in ("executed", "missing"))
        count = packages.setdefault(package, {"statements": 0, "run": 0, "compiled": 0})
        count["statements"] += len((ran | missed) - apart)
        count["run"] += len(ran - apart)
        count["compiled"] += len((ran | missed) & apart)
        for function, part in file["functions"].items():
            body = set(part["executed_lines"]) | set(part["missing_lines"])
            if function and body and not part["executed_lines"] and not body <= apart:
                unentered.append(f"{'.'.join(path.relative_to('src').with_suffix('').parts)}.{function}")
    for count in packages.values():
        count["percent"] = round(100 * count["run"] / max(1, count["statements"]), 1)  # type: ignore[assignment]
    whole = {key: sum(count[key] for count in packages.values()) for key in ("statements", "run", "compiled")}
    whole["percent"] = round(100 * whole["run"] / whole["statements"], 1)
    return {
        "made_by": "tools/coverage_summary.py",
        "all": whole,
        "packages": packages,
        "functions not entered": unentered,
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--include", default="src/prophecy/*", help="patterns of files, with commas between")
    options.add_argument("--tests", nargs="*", default=["tests"], help="what was run, to be written down")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        subprocess.run(
            [sys.executable, "-m", "coverage", "json", "-q", "--include", asked.include, "-o", report],
            check=True,
            cwd=ROOT,
        )
        made = {"tests": asked.tests, **summary(json.loads(report.read_text()))}
    asked.out.write_text(json.dumps(made, indent=1) + "\n")
    print(json.dumps(made["all"]))


if __name__ == "__main__":
    main()
