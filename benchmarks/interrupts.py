"""Ctrl-C at random moments, on loaded cores.

Batches of the library, and commands in process groups of their own as a terminal has them. Of every try: how long the
processes lived on, tracebacks, the sentence on how to go on; after all, whether what was kept is as undisturbed.
"""

import contextlib
import json
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness import Measurement, Options, Result, defaults, option
from benchmarks.installed import environment

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
    """What is interrupted: its command, the seconds within which, and the words it must end with.

    ready: the moments are counted from its first line of output. resumed: the command's options for going on.
    """

    command: list[str]
    within: float
    words: str
    ready: bool = False
    resumed: tuple[str, ...] | None = None


def targets(folder: Path, python: str) -> dict[str, Target]:
    rng = np.random.default_rng(1)
    table, long = folder / "many.csv", folder / "long.csv"
    waves = [np.sin(np.arange(120) / (5 + k)) + 0.1 * rng.standard_normal(120) for k in range(300)]
    rows = (f"s{k:03},{value:.6f}\n" for k, wave in enumerate(waves) for value in wave)
    table.write_text("key,value\n" + "".join(rows))
    note = "a note as long as those that operators leave beside their numbers with every word"
    walk = np.cumsum(rng.standard_normal(80_000))
    long.write_text("value,note\n" + "".join(f"{value:.4f},{note}\n" for value in walk))

    def called(*arguments: object) -> list[str]:
        return [python, "-c", "from prophecy.cli import main; main()", *map(str, arguments)]

    def library(call: str) -> list[str]:
        return [python, "-c", LIBRARY.format(call)]

    many = called("forecast", table, "--key", "key", "-H", 5, "--out", folder / "many.out.csv")
    row = called("predict", long, "--out", folder / "long.out.csv")
    pages = [python, "-m", "reproduction", "table-signals", "fig-order-white", "--jobs", "2"]
    return {
        "reproduction": Target([*pages, "--out", str(folder / "pages")], 8, "run the same command again", resumed=()),
        "forecast": Target(many, 8, "stopped", resumed=("--resume",)),
        "predict": Target(row, 8, "stopped", resumed=()),
        "stream": Target(called("stream"), 4, "stopped"),
        "serve": Target(called("serve", "--port", 0, "--db", folder / "plant.db", "--demo"), 6, "stopped"),
        "forecast_many": Target(library("prophecy.forecast_many(waves * 9, 60)"), 4, "stopped", True),
        "backtest": Target(library("prophecy.backtest(np.tile(waves[0], 9), 5, folds=400)"), 4, "stopped", True),
    }


class Try(NamedTuple):
    seconds: float
    code: int
    errors: str


def attempt(target: Target, wait: float) -> Try | None:
    """None where the work was done before Ctrl-C came."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(target.command, **pipes, text=True, start_new_session=True)  # type: ignore[call-overload]
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
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, errors = process.communicate()
    while running(process.pid) and time.monotonic() - began < 60.0:  # processes it may have left behind
        time.sleep(0.01)
    return Try(time.monotonic() - began, process.returncode, errors)


def running(group: int) -> bool:
    """Whether a process of the session still runs: one that has ended, and that nobody has collected yet, does not."""
    states = subprocess.run(["ps", "-o", "state=", "-s", str(group)], capture_output=True, text=True).stdout
    return not set(states.split()) <= {"Z"}


def summary(target: Target, tries: list[Try | None]) -> Result:
    found = [one for one in tries if one is not None]
    traced = [one for one in found if "Traceback" in one.errors]
    # Before a command has begun it is Python that imports (its `site` too has a `main`), or not even that, and its own
    # answer to Ctrl-C is a traceback or none.
    early = [one for one in found if (one in traced or one.code == -signal.SIGINT) and not BEGUN.search(one.errors)]
    spoken = [one for one in found if one not in early]
    took = [one.seconds for one in found]
    times = {"median_seconds": round(statistics.median(took), 2), "longest_seconds": round(max(took), 2)}
    return {"tries": len(found), **times} | {
        "over_two_seconds": sum(seconds > 2 for seconds in took),
        "before_the_command_began": len(early),
        "tracebacks": sum(one not in early for one in traced),
        "first_of_them": next((one.errors[-800:] for one in traced if one not in early), ""),
        "without_the_sentence": sum(target.words not in one.errors for one in spoken),
        "other_exit_codes": sorted({one.code for one in spoken} - {130}),
    }


def content(folder: Path) -> Result:
    found: Result = {path.name: path.read_text() for path in sorted(folder.glob("*.out.csv"))}
    for path in sorted((folder / "pages").glob("*.json")):
        page = json.loads(path.read_text())
        found[path.name] = [page["rows"], page["details"]]
    return found


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def tried(target: Target, tries: int, seed: str) -> list[Try | None]:
    rng = random.Random(seed)
    return [attempt(target, rng.uniform(0, target.within)) for _ in range(tries)]


def measured(asked: Options) -> Result:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job, and all it starts, ignore it
    found = {}
    with tempfile.TemporaryDirectory() as root:
        package, one, other = (Path(root, name) for name in ("package", "one", "other"))
        for folder in (package, one, other):
            folder.mkdir()
        python = environment(package)  # an editable install asks ninja at every import, a child that Ctrl-C stops too
        chosen = {name: t for name, t in targets(one, python).items() if not asked.only or name in asked.only}
        with load(asked.load), ThreadPoolExecutor(len(chosen)) as pool:  # all at once, as load for each other
            tries = {name: pool.submit(tried, t, asked.tries, f"{asked.seed} {name}") for name, t in chosen.items()}
            for name, made in tries.items():
                found[name] = summary(chosen[name], made.result())
                print(name, found[name], flush=True)
        for name, target in chosen.items():
            if target.resumed is not None:
                subprocess.run([*target.command, *target.resumed], check=True, capture_output=True)
                subprocess.run(targets(other, python)[name].command, check=True, capture_output=True)
        same = content(one) == content(other)
    return {"busy_processes": asked.load, "load_average": os.getloadavg()[1], "targets": found, "kept": same}


def failed(found: Result) -> bool:
    return not found["kept"] or any(one["tracebacks"] or one["over_two_seconds"] for one in found["targets"].values())


ONLY = option("--only", nargs="*", help="some targets")
BENCHMARK = Measurement(__doc__, measured, (*defaults(tries=50, seed=1, load=2), ONLY), failed)
