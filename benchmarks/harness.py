"""One way to run a benchmark: options, processes, unfinished runs, lines of progress, the result file.

A benchmark is a small object at the end of its module:

    BENCHMARK = Benchmark(
        __doc__,
        cases=lambda options: [(name, options.noise) for name in SYSTEMS],  # what is measured
        measure=one,                                                        # the row of one case, in any process
        summary=lambda rows, options: {"rows": rows},                       # the result file
        options=(option("--noise", type=float, default=0.0),),
    )

    if __name__ == "__main__":
        BENCHMARK.run()

Where what is measured is not many cases of one kind but a few different things, it is `Parts`: functions by name.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import threadpoolctl

Options = argparse.Namespace
Result = dict[str, Any]
UNFINISHED = "PROPHECY_UNFINISHED"
"""Variable that says which code runs: rows of an unfinished run of the same code and options are kept."""


def option(*names: str, **settings: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """An argument as `argparse` takes it."""
    return names, settings


DATA = option("data", type=Path, help="file of series")


@dataclass(frozen=True)
class Command:
    """text: what is measured, the module's docstring. options: beside those that all have."""

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

    start: called once in every process, before the first case. line: how a finished row is printed. spawn: processes
    begin anew, as torch needs it, and are not copies of this one.
    """

    cases: Callable[[Options], Iterable[Any]]
    measure: Callable[[Any], Any]
    summary: Callable[[list[Any], Options], Result]
    line: Callable[[Any], str] = str
    options: tuple[Any, ...] = ()
    start: Callable[[], None] | None = None
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
        with ProcessPoolExecutor(options.jobs, context, _start, (self.start,)) as pool:
            for row in pool.map(self.measure, cases[len(rows) :]):
                rows.append(row)
                print(self.line(row), flush=True)
                if journal:
                    journal.add(row)
        if journal:
            journal.file.unlink(missing_ok=True)
        return rows


def _start(more: Callable[[], None] | None) -> None:
    threadpoolctl.threadpool_limits(1)
    if more is not None:
        more()


@dataclass(frozen=True)
class Journal:
    """Rows of a run so far, one a line, below a line that says which code and which options they are of."""

    file: Path
    head: str

    @classmethod
    def of(cls, options: Options) -> Journal | None:
        """None where there is nothing to go on with: no result file, or code that nobody vouches for."""
        if options.out is None or UNFINISHED not in os.environ:
            return None
        asked = {name: str(value) for name, value in vars(options).items() if name not in ("out", "jobs", "refuse")}
        return cls(options.out.with_suffix(".rows"), json.dumps([os.environ[UNFINISHED], asked]))

    def rows(self) -> list[Any]:
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        kept = _whole(lines[1:]) if lines[:1] == [self.head] else []
        self.file.write_text("".join(f"{line}\n" for line in [self.head, *map(json.dumps, kept)]))
        return kept

    def add(self, row: Any) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps(row) + "\n")


def _whole(lines: list[str]) -> list[Any]:
    """Rows up to the first line that was cut."""
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return rows


@dataclass(frozen=True)
class Parts(Command):
    """Functions by name, run one after another; `facts` describes the run. A file that exists keeps its other parts.

    label: the name of a part in the file.
    """

    parts: Callable[[Options], dict[str, Callable[[], Any]]]
    options: tuple[Any, ...] = ()
    facts: Callable[[Options], Result] = lambda options: {}
    label: Callable[[str, Options], str] = lambda name, options: name

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
            print(name, json.dumps(found, indent=1), flush=True)
            result |= {**self.facts(options), self.label(name, options): found}
            if options.out is not None:
                _write(options.out, result)


def single(
    text: str, measure: Callable[[Options], Result], *options: Any, failed: Callable[[Result], bool] | None = None
) -> None:
    """One measurement: its result is the file. failed: whether it must not pass for a good one."""
    asked = Command(text).parsed(options)
    result = measure(asked)
    written(result, asked.out)
    if failed is not None and failed(result):
        sys.exit(1)


def written(result: Result, out: Path | None) -> None:
    """Print a result without its rows, and write it whole."""
    print(json.dumps({name: value for name, value in result.items() if name != "rows"}, indent=1, default=float))
    if out is not None:
        _write(out, result)


def _write(out: Path, result: Result) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1, default=float) + "\n")


def load() -> float:
    """How many processes wanted a core lately."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def hold_to(cores: int) -> None:
    """Hold this process to so many cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:cores]))
