"""Progress for people: bars on a terminal, one line per experiment elsewhere, both with the time left."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from reproduction.estimate import Estimate
from reproduction.framework import Experiment


class Bars:
    """A bar for each experiment and one over all of them."""

    def __init__(self, console: Console, experiments: int, estimate: Estimate) -> None:
        self._bars = Progress(
            TextColumn("{task.description:<22}"),
            BarColumn(bar_width=32),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self._estimate = estimate
        self._all = self._bars.add_task("all experiments", total=experiments, left=estimate.words())
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, experiment: Experiment, total: int, cached: int) -> None:
        self._estimate.begin(experiment.name, total, cached)
        self._tasks[experiment.name] = self._bars.add_task(experiment.name, total=total, completed=cached, left="")
        self._bars.update(self._all, left=self._estimate.words())

    def step(self, experiment: Experiment) -> None:
        self._estimate.step()
        self._bars.advance(self._tasks[experiment.name])
        self._bars.update(self._all, left=self._estimate.words())

    def end(self, experiment: Experiment, seconds: float, fresh: bool) -> None:
        self._estimate.end(experiment.name)
        task = self._tasks[experiment.name]
        self._bars.update(task, completed=self._bars.tasks[task].total or 0)
        self._bars.update(self._all, advance=1, left=self._estimate.words())

    def say(self, text: str) -> None:
        """A line of text between the bars."""
        self._bars.console.print(text, markup=False, highlight=False, soft_wrap=True)


class Lines:
    """A line when an experiment is done, and now and then while it runs: for logs and pipes."""

    EVERY = 30.0
    """Seconds of silence before a line says how far a long page has come."""

    def __init__(self, console: Console, experiments: int, estimate: Estimate) -> None:
        self._console, self._total, self._finished, self._estimate = console, experiments, 0, estimate
        self._units = self._done = 0
        self._spoke = time.monotonic()

    def __enter__(self) -> Lines:
        self.say(f"{self._total} pages, {self._estimate.words()}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def begin(self, experiment: Experiment, total: int, cached: int) -> None:
        self._estimate.begin(experiment.name, total, cached)
        self._units, self._done = total, cached

    def step(self, experiment: Experiment) -> None:
        self._done += 1
        self._estimate.step()
        if time.monotonic() - self._spoke > self.EVERY:
            self.say(f"      {experiment.name}: {self._done} of {self._units} pieces, {self._estimate.words()}")

    def end(self, experiment: Experiment, seconds: float, fresh: bool) -> None:
        self._finished += 1
        self._estimate.end(experiment.name)
        done = f"done, {seconds:.1f} s of work" if fresh else "unchanged"
        self.say(f"[{self._finished}/{self._total}] {experiment.name}: {done}; {self._estimate.words()}")

    def say(self, text: str) -> None:
        self._spoke = time.monotonic()
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def progress(console: Console, experiments: int, estimate: Estimate) -> Bars | Lines:
    """Bars if somebody is watching, lines otherwise."""
    kind = Bars if console.is_terminal else Lines
    return kind(console, experiments, estimate)
