"""`python -m benchmarks.interrupts [--tries 50]`: Ctrl-C at random moments, on loaded cores.

Batches of the library, and commands in process groups of their own as a terminal has them. Of every try: how long the
processes lived on, whether a traceback was printed, whether a sentence says how to go on; and after all of them,
whether what was kept and gone on with is what an undisturbed run gives.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Options, option, single

COMMAND = [sys.executable, "-c", "from prophecy.cli import main; main()"]
BEGUN = re.compile(r'(cli|__main__)\.py", line \d+, in main')
LIBRARY = """
import numpy as np, prophecy, sys
waves = [np.sin(np.arange(400) / (5 + k)) + 0.1 * np.random.default_rng(k).standard_normal(400) for k in range(200)]
prophecy.forecast_many(waves[:2], 5)
print("ready", flush=True)
try:
    {}
except KeyboardInterrupt as stop:
    print("stopped", stop, file=sys.stderr)
    sys.exit(130)
"""


class Target(NamedTuple):
    """What is interrupted: its command, the seconds within which, and the words it must end with."""

    command: list[str]
    within: float
    words: str
    ready: bool = False
    """Whether the moments are counted from its first line of output, not from its start."""
    resumed: tuple[str, ...] | None = None
    """The command's options for going on."""


def targets(folder: Path) -> dict[str, Target]:
    rng = np.random.default_rng(1)
    table, long = folder / "many.csv", folder / "long.csv"
    waves = [np.sin(np.arange(120) / (5 + k)) + 0.1 * rng.standard_normal(120) for k in range(300)]
    rows = (f"s{k:03},{value:.6f}\n" for k, wave in enumerate(waves) for value in wave)
    table.write_text("key,value\n" + "".join(rows))
    note = "a note as long as those that operators leave beside their numbers, with every word"
    walk = np.cumsum(rng.standard_normal(80_000))
    long.write_text("value,note\n" + "".join(f"{value:.4f},{note}\n" for value in walk))

    def called(*arguments: object) -> list[str]:
        return [*COMMAND, *map(str, arguments)]

    def library(call: str) -> list[str]:
        return [sys.executable, "-c", LIBRARY.format(call)]

    many = called("forecast", table, "--key", "key", "-H", 5, "--out", folder / "many.out.csv")
    row = called("predict", long, "--out", folder / "long.out.csv")
    pages = [sys.executable, "-m", "reproduction", "table-signals", "fig-order-white", "--jobs", "2"]
    return {
        "reproduction": Target([*pages, "--out", str(folder / "pages")], 8, "run the same command again", resumed=()),
        "forecast": Target(many, 8, "stopped", resumed=("--resume",)),
        "predict": Target(row, 8, "stopped", resumed=("--resume",)),
        "stream": Target(called("stream"), 4, "stopped"),
        "serve": Target(called("serve", "--port", 0, "--db", folder / "plant.db", "--demo"), 6, "stopped"),
        "forecast_many": Target(library("prophecy.forecast_many(waves * 9, 60)"), 4, "stopped", True),
        "backtest": Target(library("prophecy.backtest(np.tile(waves[0], 9), 5, folds=400)"), 4, "stopped", True),
    }


def as_installed(folder: Path) -> None:
    """Let commands run the package as a wheel has it. An editable install asks ninja at every import whether anything
    changed: a child in the command's process group that Ctrl-C stops, with a traceback of the loader's own."""
    for finder in sys.meta_path:
        build = getattr(finder, "_build_path", None)
        if build is not None:
            meson = Path(sys.executable).with_name("meson")
            subprocess.run([meson, "install", "-C", build, "--destdir", folder], check=True, capture_output=True)
            (package,) = folder.rglob("prophecy/__init__.py")
            places = [str(package.parent.parent), os.getcwd()]
            os.environ |= {"MESONPY_EDITABLE_SKIP": build, "PYTHONPATH": os.pathsep.join(places)}


class Try(NamedTuple):
    """One try: None in all places where the work was done before Ctrl-C came."""

    seconds: float
    code: int
    errors: str


def attempt(target: Target, wait: float) -> Try | None:
    process = subprocess.Popen(
        target.command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    if target.ready:
        process.stdout.readline()
    time.sleep(wait)
    if process.poll() is not None:
        process.communicate()
        return None
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=60)
        seconds = time.monotonic() - began
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, errors = process.communicate()
        seconds = 60.0
    while seconds < 60.0 and _alive(process.pid):  # processes it may have left behind
        time.sleep(0.01)
        seconds = time.monotonic() - began
    return Try(seconds, process.returncode, errors)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def summary(target: Target, tries: list[Try | None]) -> dict[str, Any]:
    found = [one for one in tries if one is not None]
    traced = [one for one in found if "Traceback" in one.errors]
    # Before a command has begun it is Python that imports (its `site` too has a `main`), or not even that, and its own
    # answer to Ctrl-C is a traceback or none.
    early = [one for one in found if (one in traced or one.code == -signal.SIGINT) and not BEGUN.search(one.errors)]
    spoken = [one for one in found if one not in early]
    return {
        "tries": len(found),
        "median_seconds": round(statistics.median(one.seconds for one in found), 2),
        "longest_seconds": round(max(one.seconds for one in found), 2),
        "over_two_seconds": sum(one.seconds > 2 for one in found),
        "before_the_command_began": len(early),
        "tracebacks": sum(one not in early for one in traced),
        "first_of_them": next((one.errors[-800:] for one in traced if one not in early), ""),
        "without_the_sentence": sum(target.words not in one.errors for one in spoken),
        "other_exit_codes": sorted({one.code for one in spoken} - {130}),
    }


def content(folder: Path) -> dict[str, Any]:
    """What the commands that go on have written."""
    found: dict[str, Any] = {path.name: path.read_text() for path in sorted(folder.glob("*.out.csv"))}
    for path in sorted((folder / "pages").glob("*.json")):
        page = json.loads(path.read_text())
        found[path.name] = [page["rows"], page["details"]]
    return found


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    busy = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(processes)]
    for process in busy:
        process.start()
    try:
        yield
    finally:
        for process in busy:
            process.kill()


def _spin() -> None:
    while True:
        pass


def measured(asked: Options) -> dict[str, Any]:
    rng, found = random.Random(asked.seed), {}
    with (
        tempfile.TemporaryDirectory() as package,
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as other,
    ):
        as_installed(Path(package))
        chosen = {name: t for name, t in targets(Path(one)).items() if not asked.only or name in asked.only}
        with load(asked.load):
            for name, target in chosen.items():
                tries = [attempt(target, rng.uniform(0, target.within)) for _ in range(asked.tries)]
                found[name] = summary(target, tries)
                print(name, found[name], flush=True)
        for name, target in chosen.items():
            if target.resumed is not None:
                subprocess.run([*target.command, *target.resumed], check=True, capture_output=True)
                subprocess.run(targets(Path(other))[name].command, check=True, capture_output=True)
        same = content(Path(one)) == content(Path(other))
    about = {"busy_processes": asked.load, "load_average": os.getloadavg()[1]}
    return {**about, "targets": found, "what_was_kept_and_gone_on_with_is_as_undisturbed": same}


def failed(found: dict[str, Any]) -> bool:
    same = found["what_was_kept_and_gone_on_with_is_as_undisturbed"]
    return not same or any(one["tracebacks"] or one["over_two_seconds"] for one in found["targets"].values())


if __name__ == "__main__":
    single(
        __doc__,
        measured,
        option("--tries", type=int, default=50),
        option("--seed", type=int, default=1),
        option("--load", type=int, default=2, help="processes that keep the cores busy meanwhile"),
        option("--only", nargs="*", help="some of the targets"),
        failed=failed,
    )
