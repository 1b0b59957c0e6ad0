"""Computes experiments piece by piece, so that a run can be stopped at any moment and taken up again.

Every finished piece is written atomically to `cache/<experiment>/<key>.json` before it counts; the results file is made
from the cached pieces alone. A run after a kill therefore ends with exactly the numbers of an undisturbed one.
"""

import contextlib
import functools
import hashlib
import inspect
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import prophecy
from prophecy import _files, _machine, _workers
from reproduction import keys, registry
from reproduction.framework import Ask, Experiment, Unit

SEEDS = 2**31
"""Seeds below this leave room for one of their own for every function within NumPy's 32 bits."""
HERE = Path(__file__).parent
SOURCES = (HERE, Path(prophecy.__file__).parent)
"""The packages whose code is followed."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Progress:
    """Who is told how far the work has come: nobody."""

    def begin(self, experiment: Experiment, total: int, cached: int) -> None: ...
    def step(self, experiment: Experiment) -> None: ...
    def end(self, experiment: Experiment, seconds: float, fresh: bool) -> None: ...


Finished = Callable[[Experiment], None]  # called when a page's results file is there


@dataclass(frozen=True)
class Folder:
    root: Path

    def result(self, name: str) -> Path:
        return self.root / f"{name}.json"

    def prepare(self) -> None:
        """Make the folders and write to one of them, so that a bad place is known before hours of work."""
        try:
            (self.root / "cache").mkdir(parents=True, exist_ok=True)
            _files.write_atomic(self.root / ".writable", b"")
            (self.root / ".writable").unlink()
        except OSError as error:
            where = str(self.root)
            raise OSError(f"cannot write to {where!r} ({error.strerror}); choose another with --out") from error


def reproduce(names: Sequence[str], ask: Ask, out: str | os.PathLike[str], jobs: int = 1) -> list[Path]:
    """Compute the named experiments (all if none), the early ones first, and return their results files."""
    return compute(registry.choose(names), ask, out, jobs)


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
        experiment.settings(ask)  # what it cannot do without, torch say, is asked for before any work
    folder = Folder(Path(out))
    folder.prepare()
    told = progress or Progress()
    pages = [_Page(experiment, ask, folder, version) for experiment in order(chosen)]
    todo = [(page, unit) for page in pages for unit in page.missing]
    with _computed(ask, [(page.experiment, unit) for page, unit in todo], jobs) as answers:
        for page in pages:
            told.begin(page.experiment, len(page.units), len(page.units) - len(page.missing))
            while page.missing:
                place, part = next(answers)
                owner, unit = todo[place]
                owner.take(unit, part)
                if owner is page:
                    told.step(page.experiment)
            seconds, fresh = page.write()
            told.end(page.experiment, seconds, fresh)
            finished(page.experiment)
    return [folder.result(experiment.name) for experiment in chosen]


def order(chosen: Sequence[Experiment]) -> list[Experiment]:
    """As they are computed: the two tables first, then by place."""
    return sorted(chosen, key=lambda experiment: not experiment.early)


class _Page:
    def __init__(self, experiment: Experiment, ask: Ask, folder: Folder, version: str) -> None:
        self.experiment, self._ask, self._folder, self._version = experiment, ask, folder, version
        self.units, base = experiment.units(ask), _base(experiment, ask, version)
        self._keys = {
            unit.name: _digest({**base, "unit": unit.name, "arguments": unit.arguments}) for unit in self.units
        }
        self._key = _digest({**base, "units": sorted(self._keys.values())})
        stored = read_json(folder.result(experiment.name))
        self._stored = stored if stored is not None and stored.get("key") == self._key else None
        self._parts: dict[str, Any] = {}
        self.missing: list[Unit] = []
        if self._stored is None:
            (folder.root / "cache" / experiment.name).mkdir(parents=True, exist_ok=True)
            self._parts = {unit.name: read_json(self._piece(unit)) for unit in self.units}
            self.missing = [unit for unit in self.units if self._parts[unit.name] is None]

    def _piece(self, unit: Unit) -> Path:
        return self._folder.root / "cache" / self.experiment.name / f"{self._keys[unit.name]}.json"

    def take(self, unit: Unit, part: Any) -> None:
        _files.write_json(self._piece(unit), part)
        self._parts[unit.name] = json.loads(json.dumps(part))
        self.missing.remove(unit)

    def write(self) -> tuple[float, bool]:
        """Write the results file when no piece is missing; seconds of work, and whether there was anything to do."""
        if self._stored is not None:
            return float(self._stored["seconds"]), False
        experiment, ask = self.experiment, self._ask
        # In the units' own order: sums of floats must not depend on which piece happened to finish first.
        ordered = {unit.name: self._parts[unit.name] for unit in self.units}
        seconds = sum(part["seconds"] for part in ordered.values())
        outcome = experiment.gather(ask, {name: part["value"] for name, part in ordered.items()})
        made = {"functions": experiment.size(ask), "asked": ask.functions, "seconds": seconds, "machine": machine()}
        found = {"rows": outcome.rows, "details": outcome.details, "key": self._key}
        content = _base(experiment, ask, self._version) | made | found
        _files.write_json(self._folder.result(experiment.name), content)
        return seconds, True


def machine() -> str:
    system, kind = platform.system(), platform.machine()
    return f"{system} {kind}, {_machine.cores()} cores, Python {platform.python_version()}, NumPy {np.__version__}"


@contextlib.contextmanager
def _computed(
    ask: Ask, todo: list[tuple[Experiment, Unit]], jobs: int
) -> Iterator[Iterator[tuple[int, dict[str, Any]]]]:
    """(place, piece) for everything that is to be done, as it is finished."""
    if jobs == 1:
        yield ((place, _timed(experiment, ask, unit)) for place, (experiment, unit) in enumerate(todo))
        return
    named = [(experiment.name, ask, unit) for experiment, unit in todo]
    before = dict(os.environ)
    # One thread each, or the workers' matrix products would fight for the cores. Workers read this as they start.
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        with _workers.shared(_worker, named, jobs, "spawn") as answers:
            yield answers
    finally:
        for name in THREADS:
            os.environ.pop(name)
        os.environ.update(before)


def _timed(experiment: Experiment, ask: Ask, unit: Unit) -> dict[str, Any]:
    began = time.perf_counter()
    value = experiment.compute(ask, unit)
    return {"unit": unit.name, "value": value, "seconds": time.perf_counter() - began}


@functools.cache
def _experiments() -> dict[str, Experiment]:
    return registry.experiments()


def _worker(asked: tuple[str, Ask, Unit]) -> dict[str, Any]:
    name, ask, unit = asked
    return _timed(_experiments()[name], ask, unit)


def _base(experiment: Experiment, ask: Ask, version: str) -> dict[str, Any]:
    asked = {"experiment": experiment.name, "settings": experiment.settings(ask), "seed": ask.seed}
    return asked | {"device": ask.device, "version": version, "code": code(experiment)}


def code(experiment: Experiment) -> str:
    kind = type(experiment)
    data = [HERE / place for place in experiment.data]
    if kind.__module__.split(".")[0] == HERE.name:
        return keys.digest(SOURCES, kind.__module__, kind.__name__, data)
    # Written elsewhere: what it reaches in its own folder.
    file = Path(inspect.getfile(kind)).resolve()
    return keys.digest((file.parent,), f"{file.parent.name}.{file.stem}", kind.__name__, data)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()[:32]


def read_json(path: Path) -> Any:
    """The file's content, or None if it is missing or not JSON (then it is simply computed again)."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError, UnicodeDecodeError):
        return None
