"""Progress for people: bars on a terminal, one line per experiment elsewhere, both with the time left."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from reproduction import runner
from reproduction.estimate import Estimate
from reproduction.framework import Experiment


class Lines(runner.Progress):
    """A line when an experiment is done, and now and then while it runs: for logs and pipes."""

    EVERY = 30.0  # seconds of silence before a line says how far a long page has come

    def __init__(self, console: Console, experiments: int, estimate: Estimate) -> None:
        self.console, self.estimate = console, estimate
        self._total, self._finished, self._units, self._done = experiments, 0, 0, 0
        self._spoke = time.monotonic()

    def __enter__(self) -> Self:
        self.say(f"{self._total} pages, {self.estimate.words()}")
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def begin(self, experiment: Experiment, total: int, cached: int) -> None:
        self.estimate.begin(experiment.name, total, cached)
        self._units, self._done = total, cached

    def step(self, experiment: Experiment) -> None:
        self._done += 1
        self.estimate.step()
        if time.monotonic() - self._spoke > self.EVERY:
            self.say(f"      {experiment.name}: {self._done} of {self._units} pieces, {self.estimate.words()}")

    def end(self, experiment: Experiment, seconds: float, fresh: bool) -> None:
        self._finished += 1
        self.estimate.end(experiment.name)
        done = f"done, {seconds:.1f} s of work" if fresh else "unchanged"
        self.say(f"[{self._finished}/{self._total}] {experiment.name}: {done}; {self.estimate.words()}")

    def say(self, text: str) -> None:
        self._spoke = time.monotonic()
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


class Bars(Lines):
    """A bar for each experiment and one over all of them; what is said stands between them."""

    def __init__(self, console: Console, experiments: int, estimate: Estimate) -> None:
        super().__init__(console, experiments, estimate)
        kinds = (BarColumn(bar_width=32), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
        self._bars = Progress(TextColumn("{task.description:<22}"), *kinds, console=console)
        self._all = self._bars.add_task("all experiments", total=experiments, left=estimate.words())
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def begin(self, experiment: Experiment, total: int, cached: int) -> None:
        self.estimate.begin(experiment.name, total, cached)
        self._tasks[experiment.name] = self._bars.add_task(experiment.name, total=total, completed=cached, left="")
        self._bars.update(self._all, left=self.estimate.words())

    def step(self, experiment: Experiment) -> None:
        self.estimate.step()
        self._bars.advance(self._tasks[experiment.name])
        self._bars.update(self._all, left=self.estimate.words())

    def end(self, experiment: Experiment, seconds: float, fresh: bool) -> None:
        self.estimate.end(experiment.name)
        task = self._tasks[experiment.name]
        self._bars.update(task, completed=self._bars.tasks[task].total or 0)
        self._bars.update(self._all, advance=1, left=self.estimate.words())


def progress(console: Console, experiments: int, estimate: Estimate) -> Lines:
    """Bars if somebody is watching, lines otherwise."""
    return (Bars if console.is_terminal else Lines)(console, experiments, estimate)
