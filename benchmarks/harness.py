"""One way to run a benchmark: options, processes, unfinished runs, lines of progress, the result file.

A benchmark is an object `BENCHMARK` of its module: `Benchmark` for many cases of one kind, `Parts` for a few different
things, `Measurement` for one measurement. `catalogue.py` names it.
"""

import argparse
import contextlib
import importlib
import json
import os
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Self

import numpy as np
import threadpoolctl
from numpy.typing import NDArray

Array = NDArray[np.float64]
Options = argparse.Namespace
Result = dict[str, Any]
UNFINISHED = "PROPHECY_UNFINISHED"
"""Variable that says which code runs: rows of an unfinished run of the same code and options are kept."""


def option(*names: str, **settings: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    return names, settings


def defaults(**values: Any) -> tuple[Any, ...]:
    """Options by their defaults, which say the type: False is a flag, a tuple several, and a type has no default."""

    def settings(value: Any) -> Result:
        if value is False:
            return {"action": "store_true"}
        if isinstance(value, tuple):
            return {"nargs": "*", "type": type(value[0]), "default": list(value)}
        return {"type": value} if isinstance(value, type) else {"type": type(value), "default": value}

    return tuple(option("--" + name.replace("_", "-"), **settings(value)) for name, value in values.items())


DATA = option("data", type=Path, help="file of series")


@dataclass(frozen=True)
class Command:
    text: str

    def parsed(self, options: Iterable[Any]) -> Options:
        parser = argparse.ArgumentParser(
            description=self.text, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        for names, settings in options:
            parser.add_argument(*names, **settings)
        parser.add_argument("--out", type=Path, help="the result file; none is written without it")
        found = parser.parse_args()
        found.refuse = parser.error
        return found


@dataclass(frozen=True)
class Benchmark(Command):
    """Many cases of one kind, shared out among processes of one thread each.

    measure: the row of one case. summary: the result file. spawn: processes begin anew, as torch needs it.
    """

    cases: Callable[[Options], Iterable[Any]]
    measure: Callable[[Any], Any]
    summary: Callable[[list[Any], Options], Result]
    options: tuple[Any, ...] = ()
    spawn: bool = False

    def run(self) -> None:
        mine = (
            option("--jobs", type=int, default=1, help="processes"),
            option("--subset", type=int, default=1, metavar="N", help="every N-th case only, for a quick look"),
        )
        options = self.parsed((*self.options, *mine))
        rows = self.rows(list(self.cases(options))[:: options.subset], options)
        written(self.summary(rows, options), options.out)

    def rows(self, cases: list[Any], options: Options) -> list[Any]:
        """Of all cases, in their order; those that an unfinished run left beside the result file are not run again."""
        journal = Journal.of(options)
        rows = journal.rows() if journal else []
        context = get_context("spawn" if self.spawn else None)
        with ProcessPoolExecutor(options.jobs, context, threadpoolctl.threadpool_limits, (1,)) as pool:
            for row in pool.map(self.measure, cases[len(rows) :]):
                rows.append(row)
                print(json.dumps(row, default=float)[:160], flush=True)
                if journal:
                    journal.add(row)
        if journal:
            journal.file.unlink(missing_ok=True)
        return rows


@dataclass(frozen=True)
class Journal:
    """Rows of a run so far, one a line, below a line that says which code and which options they are of."""

    file: Path
    head: str

    @classmethod
    def of(cls, options: Options) -> Self | None:
        """None where there is nothing to go on with: no result file, or code that nobody vouches for."""
        if options.out is None or UNFINISHED not in os.environ:
            return None
        asked = {name: str(value) for name, value in vars(options).items() if name not in ("out", "jobs", "refuse")}
        return cls(options.out.with_suffix(".rows"), json.dumps([os.environ[UNFINISHED], asked]))

    def rows(self) -> list[Any]:
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        kept: list[Any] = []
        with contextlib.suppress(ValueError):  # a line that was cut
            kept += (json.loads(line) for line in lines[1:] if lines[0] == self.head)
        self.file.write_text("".join(f"{line}\n" for line in [self.head, *map(json.dumps, kept)]))
        return kept

    def add(self, row: Any) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps(row) + "\n")


@dataclass(frozen=True)
class Parts(Command):
    """Functions by name, run one after another; `facts` describes the run. A file that exists keeps its other parts.

    put: writes what a part found into the result. show: how it is printed. failed: whether a result must not pass for
    a good one.
    """

    parts: Callable[[Options], dict[str, Callable[[], Any]]]
    options: tuple[Any, ...] = ()
    facts: Callable[[Options], Result] = lambda options: {}
    put: Callable[[Result, str, Any, Options], Any] = lambda result, name, found, options: result.update({name: found})
    show: Callable[[str, Any], str] = lambda name, found: f"{name} {json.dumps(found, indent=1, default=float)}"
    failed: Callable[[Result], bool] = lambda result: False

    def run(self) -> None:
        names = option("parts", nargs="*", metavar="PART", help="all if none")
        options = self.parsed((names, *self.options))
        parts = self.parts(options)
        unknown = [name for name in options.parts if name not in parts]
        if unknown:
            options.refuse(f"unknown part {unknown[0]!r}; there are: {', '.join(parts)}")
        result = json.loads(options.out.read_text()) if options.out is not None and options.out.exists() else {}
        for name in options.parts or parts:
            found = parts[name]()
            print(self.show(name, found), flush=True)
            result |= self.facts(options)
            self.put(result, name, found, options)
            _write(options.out, result)
        if self.failed(result):
            sys.exit(1)


@dataclass(frozen=True)
class Measurement(Command):
    """One measurement: its result is the file. failed: whether it must not pass for a good one."""

    measure: Callable[[Options], Result]
    options: tuple[Any, ...] = ()
    failed: Callable[[Result], bool] = lambda result: False

    def run(self) -> None:
        options = self.parsed(self.options)
        result = self.measure(options)
        written(result, options.out)
        if self.failed(result):
            sys.exit(1)


def written(result: Result, out: Path | None) -> None:
    """Print a result without its rows, and write it whole."""
    print(json.dumps({name: value for name, value in result.items() if name != "rows"}, indent=1, default=float))
    _write(out, result)


def _write(out: Path | None, result: Result) -> None:
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(result, indent=1, default=float) + "\n")


def grouped(rows: Iterable[Result], *names: str) -> dict[Any, list[Result]]:
    """Rows by the value of a column, or by those of several, in the order in which they first come."""
    found: dict[Any, list[Result]] = {}
    for row in rows:
        key = tuple(row[name] for name in names)
        found.setdefault(key if len(names) > 1 else key[0], []).append(row)
    return found


def in_folder(work: Callable[[Path], Result]) -> Callable[[], Result]:
    """A part that is given a folder of its own for the time it runs."""

    def run() -> Result:
        with tempfile.TemporaryDirectory() as folder:
            return work(Path(folder))

    return run


def load() -> float:
    """Processes that wanted a core in the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def hold_to(cores: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:cores]))


if __name__ == "__main__":
    module = sys.argv.pop(1)
    benchmark = getattr(importlib.import_module(module), "BENCHMARK", None)
    if benchmark is None:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        benchmark.run()
