"""Progress for people: a line when an experiment is done and now and then while it runs, with the time left."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from reproduction import runner
from reproduction.framework import Ask, Experiment

EVERY = {True: 5.0, False: 30.0}
"""Seconds of silence, on a terminal and elsewhere, after which a line says how far a long page has come."""
UNKNOWN = 10.0  # seconds of work expected of a page nobody has timed


def expected() -> dict[str, float]:
    """Seconds of work of every page at full scale, summed over processes, as measured by benchmarks."""
    return dict(json.loads((Path(__file__).parent / "data" / "seconds.json").read_text())["seconds"])


class Estimate:
    """Seconds left; a page's pieces count alike. known: seconds of work of pages at full scale, as measured if None."""

    def __init__(
        self,
        chosen: Sequence[Experiment],
        ask: Ask,
        jobs: int,
        known: Mapping[str, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        full = expected() if known is None else known
        share = {e.name: e.size(ask) / e.functions if e.functions else 1.0 for e in chosen}
        self._left = {name: full.get(name, UNKNOWN) * part for name, part in share.items()}
        self._jobs, self._units, self._now = max(jobs, 1), 1, ""
        self._clock, self._began, self._done = clock, clock(), 0.0

    def begin(self, name: str, total: int, cached: int) -> None:
        self._now, self._units = name, max(total, 1)
        self._left[name] *= (total - cached) / self._units

    def step(self) -> None:
        self._spend(self._left[self._now] / self._units)
        self._units = max(self._units - 1, 1)

    def end(self, name: str) -> None:
        self._spend(self._left[name])

    def _spend(self, seconds: float) -> None:
        self._left[self._now] -= seconds
        self._done += seconds

    def seconds(self) -> float:
        """What is left on this machine: the expectation, times how much slower than expected it has been so far."""
        slower = 1 / self._jobs if self._done < 5.0 else (self._clock() - self._began) / self._done
        return sum(self._left.values()) * slower

    def words(self) -> str:
        """ "about 3 min left", in steps a reader can use."""
        left = self.seconds()
        if left < 1.0:
            return "nearly done"
        return f"about {left:.0f} s left" if left < 90 else f"about {left / 60:.0f} min left"


class Lines(runner.Progress):
    def __init__(self, console: Console, experiments: int, estimate: Estimate) -> None:
        self.console, self.estimate, self._total = console, estimate, experiments
        self._finished, self._units, self._done = 0, 0, 0
        self.say(f"{experiments} pages, {estimate.words()}")

    def begin(self, experiment: Experiment, total: int, cached: int) -> None:
        self.estimate.begin(experiment.name, total, cached)
        self._units, self._done = total, cached

    def step(self, experiment: Experiment) -> None:
        self.estimate.step()
        self._done += 1
        if time.monotonic() - self._spoke > EVERY[self.console.is_terminal]:
            self.say(f"      {experiment.name}: {self._done} of {self._units} pieces, {self.estimate.words()}")

    def end(self, experiment: Experiment, seconds: float, fresh: bool) -> None:
        self.estimate.end(experiment.name)
        self._finished += 1
        done = f"done, {seconds:.1f} s of work" if fresh else "unchanged"
        self.say(f"[{self._finished}/{self._total}] {experiment.name}: {done}; {self.estimate.words()}")

    def say(self, text: str) -> None:
        self._spoke = time.monotonic()
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)
