"""Progress for people: bars on a terminal, one line per experiment elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from prophecy.reproduce.framework import Experiment


class Bars:
    """A bar for each experiment and one over all of them."""

    def __init__(self, console: Console, experiments: int) -> None:
        self._bars = Progress(
            TextColumn("{task.description:<22}"),
            BarColumn(bar_width=32),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._all = self._bars.add_task("all experiments", total=experiments)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, experiment: Experiment, total: int, cached: int) -> None:
        self._tasks[experiment.name] = self._bars.add_task(experiment.name, total=total, completed=cached)

    def step(self, experiment: Experiment) -> None:
        self._bars.advance(self._tasks[experiment.name])

    def end(self, experiment: Experiment, seconds: float, fresh: bool) -> None:
        task = self._tasks[experiment.name]
        self._bars.update(task, completed=self._bars.tasks[task].total or 0)
        self._bars.advance(self._all)


class Lines:
    """A line when an experiment begins, now and then while it runs, and when it is done: for logs and pipes."""

    EVERY = 15.0

    def __init__(self, console: Console, experiments: int) -> None:
        self._console, self._total, self._finished = console, experiments, 0
        self._units = self._done = 0
        self._spoke = 0.0

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def begin(self, experiment: Experiment, total: int, cached: int) -> None:
        self._units, self._done, self._spoke = total, cached, time.monotonic()
        known = f", {cached} already known" if cached else ""
        self._say(f"[{self._finished + 1}/{self._total}] {experiment.name}: {total} pieces{known}")

    def step(self, experiment: Experiment) -> None:
        self._done += 1
        if time.monotonic() - self._spoke > self.EVERY:
            self._spoke = time.monotonic()
            self._say(f"      {experiment.name}: {self._done} of {self._units}")

    def end(self, experiment: Experiment, seconds: float, fresh: bool) -> None:
        self._finished += 1
        self._say(f"      {experiment.name}: " + (f"done, {seconds:.1f} s of work" if fresh else "unchanged"))

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def progress(console: Console, experiments: int) -> Bars | Lines:
    """Bars if somebody is watching, lines otherwise."""
    return Bars(console, experiments) if console.is_terminal else Lines(console, experiments)
