"""Computes experiments piece by piece, so that a run can be stopped at any moment and taken up again.

Every finished piece is written atomically to `cache/<experiment>/<key>.json` before it counts; the results file is made
from the cached pieces alone. A run after a kill therefore ends with exactly the numbers of an undisturbed one.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import json
import multiprocessing
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import prophecy
from prophecy import _files, _machine
from prophecy.reproduce import keys, registry
from prophecy.reproduce.framework import Ask, Experiment, Unit

SEEDS = 2**31
"""Seeds below this leave room for one of their own for every function within NumPy's 32 bits."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerDied(RuntimeError):
    """A process of the pool ended without an answer."""


class Progress(Protocol):
    """Who is told how far the work has come."""

    def begin(self, experiment: Experiment, total: int, cached: int) -> None: ...
    def step(self, experiment: Experiment) -> None: ...
    def end(self, experiment: Experiment, seconds: float, fresh: bool) -> None: ...


Finished = Callable[[Experiment], None]
"""Called when a page's results file is there."""


class Silent:
    """Tells nobody."""

    def begin(self, experiment: Experiment, total: int, cached: int) -> None: ...
    def step(self, experiment: Experiment) -> None: ...
    def end(self, experiment: Experiment, seconds: float, fresh: bool) -> None: ...


@dataclass(frozen=True)
class Folder:
    """Where results live."""

    root: Path

    def result(self, name: str) -> Path:
        return self.root / f"{name}.json"

    def piece(self, name: str, key: str) -> Path:
        return self.root / "cache" / name / f"{key}.json"

    def prepare(self) -> None:
        """Make the folders and write to one of them, so that a bad place is known before hours of work."""
        try:
            (self.root / "cache").mkdir(parents=True, exist_ok=True)
            probe = self.root / ".writable"
            _files.write_atomic(probe, b"")
            probe.unlink()
        except OSError as error:
            raise OSError(
                f"cannot write to {str(self.root)!r} ({error.strerror}); choose another with --out"
            ) from error


def reproduce(
    names: Sequence[str],
    ask: Ask,
    out: str | os.PathLike[str],
    jobs: int = 1,
    progress: Progress | None = None,
    finished: Finished = lambda experiment: None,
) -> list[Path]:
    """Compute the named experiments (all if none), the early ones first, and return their results files."""
    return compute(registry.choose(names), ask, out, jobs, progress, finished)


def compute(
    chosen: Sequence[Experiment],
    ask: Ask,
    out: str | os.PathLike[str],
    jobs: int = 1,
    progress: Progress | None = None,
    finished: Finished = lambda experiment: None,
    version: str = prophecy.__version__,
) -> list[Path]:
    """Compute these experiments; what the same code, settings and version computed before is taken from `out`."""
    if ask.functions is not None and ask.functions < 1:
        raise ValueError(f"functions must be at least 1, got {ask.functions}; leave it out for the full scale")
    if not 0 <= ask.seed < SEEDS:
        raise ValueError(f"seed must lie between 0 and {SEEDS - 1}, got {ask.seed}")
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    for experiment in chosen:
        # What an experiment cannot do without, torch say, is asked for before any work and not after hours of it.
        experiment.settings(ask)
    folder = Folder(Path(out))
    folder.prepare()
    told = progress or Silent()
    with _pool(jobs) as pool:
        for experiment in order(chosen):
            _run(experiment, ask, folder, pool, told, version)
            finished(experiment)
    return [folder.result(experiment.name) for experiment in chosen]


def order(chosen: Sequence[Experiment]) -> list[Experiment]:
    """As they are computed: the two tables first, then by place."""
    return sorted(chosen, key=lambda experiment: not experiment.early)


def _run(
    experiment: Experiment, ask: Ask, folder: Folder, pool: ProcessPoolExecutor | None, told: Progress, version: str
) -> Path:
    path, base = folder.result(experiment.name), _base(experiment, ask, version)
    units = experiment.units(ask)
    keys = {unit.name: _digest({**base, "unit": unit.name, "arguments": unit.arguments}) for unit in units}
    whole = _digest({**base, "units": sorted(keys.values())})
    stored = read_json(path)
    if stored is not None and stored.get("key") == whole:
        told.begin(experiment, len(units), len(units))
        told.end(experiment, float(stored["seconds"]), False)
        return path
    (folder.root / "cache" / experiment.name).mkdir(parents=True, exist_ok=True)
    parts = {unit.name: read_json(folder.piece(experiment.name, keys[unit.name])) for unit in units}
    missing = [unit for unit in units if parts[unit.name] is None]
    told.begin(experiment, len(units), len(units) - len(missing))
    for unit, part in _computed(experiment, ask, missing, pool):
        _files.write_json(folder.piece(experiment.name, keys[unit.name]), part)
        parts[unit.name] = json.loads(json.dumps(part))
        told.step(experiment)
    # In the units' own order: sums of floats must not depend on which piece happened to finish first.
    ordered = {unit.name: parts[unit.name] for unit in units}
    seconds = sum(part["seconds"] for part in ordered.values() if part is not None)
    outcome = experiment.gather(ask, {name: part["value"] for name, part in ordered.items() if part is not None})
    _files.write_json(
        path,
        {
            "experiment": experiment.name,
            "settings": experiment.settings(ask),
            "rows": outcome.rows,
            "functions": experiment.size(ask),
            "asked": ask.functions,
            "seed": ask.seed,
            "device": ask.device,
            "seconds": seconds,
            "version": version,
            "machine": machine(),
            "details": outcome.details,
            "code": code(experiment),
            "key": whole,
        },
    )
    told.end(experiment, seconds, True)
    return path


def machine() -> str:
    """What the numbers were made on, in words."""
    system, kind = platform.system(), platform.machine()
    return f"{system} {kind}, {_machine.cores()} cores, Python {platform.python_version()}, NumPy {np.__version__}"


def _computed(
    experiment: Experiment, ask: Ask, units: Sequence[Unit], pool: ProcessPoolExecutor | None
) -> Iterator[tuple[Unit, Any]]:
    if pool is None:
        for unit in units:
            yield unit, _timed(experiment, ask, unit)
        return
    running: dict[Future[Any], Unit] = {pool.submit(_worker, experiment.name, ask, unit): unit for unit in units}
    try:
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()
    except BrokenProcessPool as error:
        raise WorkerDied(
            "a worker process died, perhaps for want of memory; run the same command again with fewer --jobs: "
            "what was finished is kept"
        ) from error
    finally:
        for future in running:
            future.cancel()


def _timed(experiment: Experiment, ask: Ask, unit: Unit) -> dict[str, Any]:
    began = time.perf_counter()
    value = experiment.compute(ask, unit)
    return {"unit": unit.name, "value": value, "seconds": time.perf_counter() - began}


@functools.cache
def _experiments() -> dict[str, Experiment]:
    return registry.experiments()


def _worker(name: str, ask: Ask, unit: Unit) -> dict[str, Any]:
    return _timed(_experiments()[name], ask, unit)


@contextlib.contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor | None]:
    if jobs == 1:
        yield None
        return
    # One thread each, or the workers' matrix products would fight for the cores. Workers read this as they start.
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_follow_parent)
    try:
        yield pool
    except BaseException:
        # Whoever stops the run should not have to wait for the pieces under way; they are computed again.
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        # One that ends in the middle of a result leaves its reader waiting for the rest, and `shutdown` with it; with
        # no writer left the reader sees the end.
        if pool._result_queue is not None:
            pool._result_queue._writer.close()  # type: ignore[attr-defined]
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _follow_parent() -> None:
    """A worker leaves Ctrl-C to its parent, and ends when that is killed instead of waiting for work for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _base(experiment: Experiment, ask: Ask, version: str) -> dict[str, Any]:
    return {
        "experiment": experiment.name,
        "settings": experiment.settings(ask),
        "seed": ask.seed,
        "device": ask.device,
        "version": version,
        "code": code(experiment),
    }


def code(experiment: Experiment) -> str:
    """Digest of the source code and data an experiment's numbers depend on."""
    kind = type(experiment)
    root = Path(prophecy.__file__).parent
    if kind.__module__.split(".")[0] == root.name:
        return keys.digest(root, kind.__module__, kind.__name__, experiment.data)
    # Written outside the package: what it reaches in its own folder.
    file = Path(inspect.getfile(kind)).resolve()
    return keys.digest(file.parent, f"{file.parent.name}.{file.stem}", kind.__name__, experiment.data)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()[:32]


def read_json(path: Path) -> Any:
    """The file's content, or None if it is missing or not JSON (then it is simply computed again)."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError, UnicodeDecodeError):
        return None
