"""Mutation run: change the source in one place at a time and see whether a test notices.

    python tools/mutate.py src/prophecy/system.py --tests tests/test_system.py --out benchmarks/results/mutants.json

cosmic-ray makes the mutants (its session and worker are not used: they start a new interpreter for each, whose imports
take longer than the tests). Here NumPy, SciPy, pytest and hypothesis are imported once; every mutant runs in a fork of
that process with the one module changed, tests stopped at the first failure. Kernels, which are
compiled when the package is built, are not mutated. A fork that takes longer than `--seconds` counts as killed (the
mutant loops).

Left out are mutants that say nothing: bit operations on floats (a TypeError), identity for equality, annotations
(`X | None`) and overloads. `--every N` takes each N-th mutant; `--write` and `--read` separate making mutants from
running them, for a machine without cosmic-ray. The result lists the survivors with their diffs, and the reasons ("why")
that the file it replaces gives for the same changes. Before a release:

    python tools/mutate.py --release 25 --jobs 2 --until 540 --out benchmarks/results/mutants.json
"""

from __future__ import annotations

import argparse
import ast
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
SENSELESS = ("BitOr", "BitAnd", "BitXor", "LShift", "RShift")  # on floats: a TypeError
EQUAL = ("_Eq_Is", "_NotEq_IsNot", "_Is_Eq", "_IsNot_NotEq")  # identity for equality: our strings and functions are one

# The modules of a release, and the quick tests that should notice a change in them.
RELEASE = {
    "constructions.py": ["tests/test_constructions.py"],
    "exact_readout.py": ["tests/test_exact.py"],
    "system.py": ["tests/test_system.py", "tests/test_constructions.py"],
    "discretize.py": ["tests/test_discretize.py"],
    "fading.py": ["tests/test_fading.py", "tests/test_bases.py"],
    "evaluation.py": ["tests/test_evaluation.py"],
    "_periods.py": ["tests/test_periods.py"],
    "frames/grid.py": ["tests/test_tables_calendar.py", "tests/test_frames_even.py", "tests/test_tables_frames.py"],
    "anomalies/events.py": ["tests/test_anomalies.py", "tests/test_streams_hostile.py", "tests/test_streams_wild.py"],
    "forecasting/scorer.py": ["tests/test_forecasting_parts.py", "tests/test_forecasting_ordinary.py"],
    "laws/equations.py": ["tests/test_laws_equations.py"],
}

NOT_LOADED = 40  # exit status of a fork whose tests passed without the changed module


class Mutant(NamedTuple):
    module: str
    operator: str
    line: int
    source: str


def mutants(module: Path, sample: int | None = None) -> tuple[list[Mutant], int]:
    """Mutants of a file that are worth a run, all or so many evenly spaced ones, and how many places they come from."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    text = module.read_text()
    meaning = _meaning(text)
    annotated, annotations = _annotated(text), _annotations(text)
    nodes = [*ast_nodes(get_ast(text))]
    places = []
    for name in sorted(operator_names()):
        if name.endswith(EQUAL) or any(word in name for word in SENSELESS) or get_operator(name).arguments():
            continue
        operator = get_operator(name)()
        starts = [tuple(place[0]) for node in nodes for place in operator.mutation_positions(node)]
        places += [
            (name, operator, occurrence, start)
            for occurrence, start in enumerate(starts)
            if start[0] not in annotated and not any(first <= start < last for first, last in annotations)
        ]
    made = []
    for name, operator, occurrence, start in places[:: max(1, -(-len(places) // (sample or len(places))))]:
        changed = mutate_code(text, operator, occurrence)
        if changed is not None and _meaning(changed) not in (None, meaning):  # 1e+30 for 1e30 is no change
            file = str(module.resolve().relative_to(ROOT))
            made.append(Mutant(file, name.removeprefix("core/"), start[0], changed))
    return made, len(places)


def _meaning(text: str) -> str | None:
    """What text says to Python; None for what it cannot read."""
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return None


def _annotated(text: str) -> set[int]:
    """Lines of overloads and type aliases, whose mutants say nothing about behaviour."""
    lines = {k for k, line in enumerate(text.split("\n"), 1) if "TypeAlias" in line}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and any(getattr(d, "id", "") == "overload" for d in node.decorator_list):
            lines |= {*range(node.decorator_list[0].lineno, (node.end_lineno or node.lineno) + 1)}
    return lines


def _annotations(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where annotations begin and end."""
    places = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            places.append(node.annotation)
        if isinstance(node, ast.FunctionDef) and node.returns:
            places.append(node.returns)
    return [((p.lineno, p.col_offset), (p.end_lineno or 0, p.end_col_offset or 0)) for p in places]


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
        status = _status(child, seconds)
        if os.waitstatus_to_exitcode(status) == NOT_LOADED:
            raise SystemExit(f"the tests do not load the changed {', '.join(changed)}: choose others with --tests")
        return status != 0
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

        code = int(
            pytest.main(
                ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore", "-m", "not slow", *tests]
            )
        )
        loaded = {name: getattr(sys.modules.get(name), "__file__", None) for name in changed}
        if code == 0 and any(loaded[name] != str(file) for name, file in changed.items()):
            code = NOT_LOADED
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


def run(work: list[Mutant], tests: list[str], jobs: int, seconds: float, until: float) -> dict[str, Any]:
    """What became of these mutants; `until`: no mutant is started after this moment."""
    began, alive, ran = time.monotonic(), [], 0
    if killed(None, tests, seconds):
        raise SystemExit(f"{' '.join(tests)} fail without any mutant; mend them first")
    with ThreadPoolExecutor(jobs) as pool:

        def one(mutant: Mutant) -> bool | None:
            return killed(mutant, tests, seconds) if time.monotonic() < until else None

        for mutant, dead in zip(work, pool.map(one, work), strict=True):
            ran += dead is not None
            if dead is False:
                alive.append(survivor(mutant))
                print(f"{mutant.module}:{mutant.line} {mutant.operator}: {' '.join(alive[-1]['change'])}", flush=True)
    print(f"{ran} of {len(work)} mutants run, {ran - len(alive)} killed, {time.monotonic() - began:.0f} s", flush=True)
    return {"tests": tests, "mutants": len(work), "ran": ran, "killed": ran - len(alive), "survivors": alive}


def released(sample: int, jobs: int, seconds: float, until: float) -> dict[str, Any]:
    """So many mutants of every module of RELEASE, evenly spaced."""
    made: dict[str, Any] = {}
    for name, tests in RELEASE.items():
        chosen, places = mutants(ROOT / "src" / "prophecy" / name, sample)
        print(f"{name}: {len(chosen)} mutants of {places} places", flush=True)
        made[name] = {"places": places} | run(chosen, tests, jobs, seconds, until)
    return {"made_by": f"tools/mutate.py --release {sample}", "modules": made}


def reasons(file: Path) -> dict[str, str]:
    """Why mutants of an earlier result survive, by their change."""
    found = json.loads(file.read_text()) if file.exists() else {}
    left = [one for module in found.get("modules", {"": found}).values() for one in module.get("survivors", ())]
    return {" ".join(one["change"]): one["why"] for one in left}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", type=Path)
    parser.add_argument("--tests", nargs="+", default=[])
    parser.add_argument("--release", type=int, metavar="N", help="N mutants of each module of a release, no other")
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
        work = [mutant for module in options.modules for mutant in mutants(module)[0]]
    if options.write:
        options.write.write_text(json.dumps(work))
        print(f"{len(work)} mutants")
        return 0
    preload()
    until = time.monotonic() + options.until
    if options.release:
        result = released(options.release, options.jobs, options.seconds, until)
    else:
        work = work[options.offset :: options.every]
        result = {"made_by": "tools/mutate.py"} | run(work, options.tests, options.jobs, options.seconds, until)
    if options.out:
        why = reasons(options.out)
        for module in result.get("modules", {"": result}).values():
            for one in module["survivors"]:
                one["why"] = why.get(" ".join(one["change"]), "not explained yet")
        options.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
