"""Mutation run: change the source in one place at a time and see whether a test notices.

    python tools/mutate.py src/prophecy/system.py --tests tests/test_system.py --out benchmarks/results/mutants.json

cosmic-ray makes the mutants (its session and worker are not used: they start a new interpreter for each, whose imports
take longer than the tests). Here NumPy, SciPy, pytest and hypothesis are imported once; every mutant runs in a fork of
that process with the one module changed, tests stopped at the first failure. Kernels, which are
compiled when the package is built, are not mutated. A fork that takes longer than `--seconds` counts as killed (the
mutant loops).

Left out are mutants that say nothing: bit operations on floats (a TypeError), identity for equality, annotations
(`X | None`) and overloads. `--every N` takes each N-th mutant; `--write` and `--read` separate making mutants from
running them, for a machine without cosmic-ray. The result lists the survivors with their diffs.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.abc
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
SENSELESS = ("BitOr", "BitAnd", "BitXor", "LShift", "RShift")  # on floats: a TypeError
EQUAL = ("_Eq_Is", "_NotEq_IsNot", "_Is_Eq", "_IsNot_NotEq")  # identity for equality: our strings and functions are one


class Mutant(NamedTuple):
    module: str
    operator: str
    line: int
    source: str


def mutants(module: Path) -> Iterator[Mutant]:
    """Every mutant of a file that is worth a run."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    text = module.read_text()
    annotations = _annotated(text)
    tree = get_ast(text)
    for name in sorted(operator_names()):
        if name.endswith(EQUAL) or any(word in name for word in SENSELESS) or get_operator(name).arguments():
            continue
        operator = get_operator(name)()
        places = [place for node in ast_nodes(tree) for place in operator.mutation_positions(node)]
        for occurrence, place in enumerate(places):
            start = tuple(place[0])
            changed = mutate_code(text, operator, occurrence)
            if changed is None or changed == text or start[0] in annotations or _in_annotation(text, start):
                continue
            yield Mutant(str(module.resolve().relative_to(ROOT)), name.removeprefix("core/"), start[0], changed)


def _annotated(text: str) -> set[int]:
    """Lines of overloads and type aliases, whose mutants say nothing about behaviour."""
    import ast

    lines = {k for k, line in enumerate(text.split("\n"), 1) if "TypeAlias" in line}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and any(getattr(d, "id", "") == "overload" for d in node.decorator_list):
            lines |= {*range(node.decorator_list[0].lineno, (node.end_lineno or node.lineno) + 1)}
    return lines


def _in_annotation(text: str, position: tuple[int, int]) -> bool:
    import ast

    for node in ast.walk(ast.parse(text)):
        places = []
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            places.append(node.annotation)
        if isinstance(node, ast.FunctionDef) and node.returns:
            places.append(node.returns)
        for place in places:
            if (place.lineno, place.col_offset) <= position < (place.end_lineno or 0, place.end_col_offset or 0):
                return True
    return False


def preload() -> None:
    """What every fork would otherwise import again."""
    import hypothesis
    import numpy
    import pytest
    import scipy.integrate
    import scipy.linalg
    import scipy.signal
    import scipy.special

    assert all((hypothesis, numpy, pytest, scipy))
    assert "prophecy" not in sys.modules, "prophecy must come from the mutant's own folder"


def killed(mutant: Mutant | None, tests: list[str], seconds: float) -> bool:
    """Whether the tests fail, or do not end, for a mutant (None: the source as it is)."""
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    try:
        changed = {}
        if mutant is not None:
            name = ".".join(Path(mutant.module).relative_to("src").with_suffix("").parts)
            changed = {name: folder / "changed.py"}
            changed[name].write_text(mutant.source)
        child = os.fork()
        if child == 0:
            _in_fork(changed, tests, folder)
        return _status(child, seconds) != 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Changed(importlib.abc.MetaPathFinder):
    """Finds the changed module before an editable install, whose finder looks in no folder of ours, finds its own."""

    def __init__(self, files: dict[str, Path]) -> None:
        self.files = files

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        file = self.files.get(fullname)
        return importlib.util.spec_from_file_location(fullname, file) if file else None


def _in_fork(changed: dict[str, Path], tests: list[str], folder: Path) -> None:
    code = 3
    try:
        os.setsid()
        with open(folder / "output", "w") as sink:
            os.dup2(sink.fileno(), 1)
            os.dup2(sink.fileno(), 2)
        os.chdir(ROOT)
        sys.meta_path.insert(0, Changed(changed))
        import pytest

        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore", *tests]))
    finally:
        os._exit(code)


def _status(child: int, seconds: float) -> int:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


def survivor(mutant: Mutant) -> dict[str, Any]:
    before, after = (ROOT / mutant.module).read_text(), mutant.source
    diff = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    changed = [line for line in diff if line[:1] in "+-" and not line.startswith(("+++", "---"))]
    return {"module": mutant.module, "line": mutant.line, "operator": mutant.operator, "change": changed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", type=Path)
    parser.add_argument("--tests", nargs="+", default=[])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--offset", type=int, default=0, help="which of the N is taken first")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0, help="a fork that takes longer counts as killed")
    parser.add_argument("--until", type=float, default=float("inf"), help="start no mutant after this many seconds")
    parser.add_argument("--write", type=Path, help="write the mutants here and run nothing")
    parser.add_argument("--read", type=Path, help="mutants that --write has made")
    parser.add_argument("--out", type=Path, help="where the result is written")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if options.read:
        work = [Mutant(*entry) for entry in json.loads(options.read.read_text())]
    else:
        work = [mutant for module in options.modules for mutant in mutants(module)]
    if options.write:
        options.write.write_text(json.dumps(work))
        print(f"{len(work)} mutants")
        return 0
    work = work[options.offset :: options.every]
    preload()
    if killed(None, options.tests, options.seconds):
        print("the tests fail without any mutant; mend them first")
        return 1
    began, alive, ran = time.monotonic(), [], 0
    with ThreadPoolExecutor(options.jobs) as pool:

        def one(mutant: Mutant) -> bool | None:
            return killed(mutant, options.tests, options.seconds) if time.monotonic() - began < options.until else None

        for mutant, dead in zip(work, pool.map(one, work), strict=True):
            if dead is None:
                continue
            ran += 1
            if not dead:
                alive.append(survivor(mutant))
                print(f"{mutant.module}:{mutant.line} {mutant.operator}: {' '.join(alive[-1]['change'])}", flush=True)
    result = {
        "made_by": "tools/mutate.py",
        "tests": options.tests,
        "mutants": len(work),
        "ran": ran,
        "killed": ran - len(alive),
        "survivors": alive,
    }
    print(f"{ran} of {len(work)} mutants run, {ran - len(alive)} killed, {time.monotonic() - began:.0f} s")
    if options.out:
        options.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
