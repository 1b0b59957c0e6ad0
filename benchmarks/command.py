"""`python -m benchmarks`: what can be measured, what it needs, how long it takes, and which results are out of date.

python -m benchmarks                           list
python -m benchmarks NAME [OPTION …]           run one; further options are handed on to it
python -m benchmarks --stale                   results whose code has changed since, those that README quotes first
python -m benchmarks --all                     make these again, the oldest first, as far as this machine can
"""

import argparse
import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import stamps
from benchmarks.catalogue import BENCHMARKS, GPU, MADE_BY
from benchmarks.harness import UNFINISHED
from prophecy import _interrupts, _machine


def main() -> None:
    sys.exit(_main())


def _main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", choices=BENCHMARKS, metavar="NAME", help="a benchmark of the list")
    parser.add_argument("--stale", action="store_true", help="name results whose code has changed since")
    parser.add_argument("--all", action="store_true", help="make all of these that this machine can")
    folder = Path(os.environ.get("PROPHECY_DATA", "data"))
    parser.add_argument("--data", type=Path, default=folder, help="files of series")
    parser.add_argument("--jobs", type=int, default=_machine.cores())
    asked, options = parser.parse_known_args()
    if options and asked.name is None:
        parser.error(f"unknown option {options[0]!r}; options of a benchmark come after its name")
    try:
        if asked.name is not None:
            if missing := lacking(asked.name, asked.data):
                parser.error(f"{asked.name} needs {', '.join(missing)}")
            return run(asked.name, asked.data, asked.jobs, options)
        if asked.stale:
            return stale()
        return everything(asked.data, asked.jobs) if asked.all else listed(asked.data)
    except KeyboardInterrupt:
        print("stopped; finished results are kept, run the same command again to go on", file=sys.stderr)
        return _interrupts.INTERRUPTED


def listed(folder: Path) -> int:
    for name, benchmark in BENCHMARKS.items():
        known, missing = stamps.made(stamps.path(name)), lacking(name, folder)
        took = f"{max(1, known['seconds'] / 60):.0f} min" if known else f"about {benchmark.minutes:g} min"
        when = f"{known['date']} {known['commit']}" if known else "not recorded"
        print(f"{name:<28} {took:<15} {when:<22} {'needs ' + '; '.join(missing) if missing else ''}".rstrip())
    return 0


def lacking(name: str, folder: Path) -> list[str]:
    missing = [need for need in BENCHMARKS[name].needs if not _here(need, folder)]
    return [f"{folder / need} ({MADE_BY[need]})" if need in MADE_BY else need for need in missing]


def _here(need: str, folder: Path) -> bool:
    if need == GPU:
        return importlib.util.find_spec("torch") is not None and shutil.which("nvidia-smi") is not None
    return (folder / need).exists()


def run(name: str, folder: Path, jobs: int, options: list[str]) -> int:
    """Run one, and replace its result when it has ended well; further options are for trying, and replace nothing."""
    benchmark, target = BENCHMARKS[name], stamps.path(name)
    fresh = target.with_name(f".{target.name}")
    if target.exists():
        shutil.copyfile(target, fresh)  # some keep the parts that are not measured again
    arguments = benchmark.arguments.format(out=fresh, data=folder, jobs=jobs).split()
    quiet = ("-W", "ignore::RuntimeWarning:runpy")  # modules are loaded to see whether they have a BENCHMARK
    command = [sys.executable, *quiet, "-m", "benchmarks.harness", benchmark.module, *arguments, *options]
    began, code = time.monotonic(), {UNFINISHED: stamps.code(name)} if not options else {}
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # builders of a wheel among them
    child = subprocess.Popen(command, cwd=stamps.ROOT, env=os.environ | {"PATH": tools} | code, start_new_session=True)
    try:
        while (status := child.poll()) is None:
            _interrupts.check()
            time.sleep(0.1)
        if status == 0 and not options:
            stamps.stamp(name, fresh, time.monotonic() - began)
            fresh.replace(target)
            print(f"{name}: {target}")
        return status
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        fresh.unlink(missing_ok=True)


def stale() -> int:
    """Names what is out of date; an error where README quotes some of it."""
    found, quoted = stamps.stale(), stamps.quoted()
    for name in sorted(found, key=lambda name: name not in quoted):
        print(f"{name:<28} {found[name]}{'; README quotes it' if name in quoted else ''}")
    old = sum(name in found for name in quoted)
    print(f"README quotes {', '.join(quoted)}: {old} of {len(quoted)} are out of date")
    return 1 if found else 0


def everything(folder: Path, jobs: int) -> int:
    failed = []
    for name in stamps.stale():
        if missing := lacking(name, folder):
            print(f"{name}: left out, needs {'; '.join(missing)}")
        elif run(name, folder, jobs, []):
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0
