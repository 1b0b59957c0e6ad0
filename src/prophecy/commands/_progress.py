"""How far long work is, on stderr: a bar with an estimate on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from prophecy.commands._common import say

FIRST, EVERY = 5.0, 20.0  # seconds until the first line, and between two, in logs, where there is no bar


class Progress:
    """update(done) as work goes on; nothing is shown of work that is over at once. clock: seconds that only grow."""

    def __init__(
        self, command: str, total: int, unit: str, show: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._command, self._total, self._unit = command, total, unit
        self._start = self._last = clock()
        self._bar: Any = None
        self._task: Any = None
        self._shown = show and total > 0

    def __enter__(self) -> Progress:
        if self._shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(
                f"{self._total:,} {self._unit}" if self._unit != "bytes" else "reading", total=self._total
            )
        return self

    def after(self, before: int) -> Callable[[int, int], None]:
        """A callback for work that begins when `before` items are done."""
        return lambda done, total: self.update(before + done)

    def update(self, done: int) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
            return
        now = self._clock()
        waited = now - self._start
        if (
            not self._shown
            or not 0 < done < self._total
            or waited < FIRST
            or now - self._last < (EVERY if self._last > self._start else 0)
        ):
            return
        self._last = now
        left = waited * (self._total - done) / done
        what = f"{done / self._total:.0%}" if self._unit == "bytes" else f"{done:,} of {self._total:,} {self._unit}"
        say(self._command, f"{what}, about {_span(left)} left")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
