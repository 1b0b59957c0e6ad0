"""How long a run will still take, from what each page took before and how fast this machine has been so far."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reproduction.framework import Ask, Experiment

UNKNOWN = 10.0  # seconds of work expected of a page nobody has timed


def expected() -> dict[str, float]:
    """Seconds of work of every page at full scale, summed over processes, as measured by benchmarks."""
    file = Path(__file__).parent / "data" / "seconds.json"
    return dict(json.loads(file.read_text())["seconds"]) if file.is_file() else {}


class Estimate:
    """Seconds left. `begin`, `step` and `end` are told what happens; a page's pieces count alike.

    known: seconds of work of pages at full scale, those measured if not given; clock: seconds that only grow.
    """

    def __init__(
        self,
        chosen: Sequence[Experiment],
        ask: Ask,
        jobs: int,
        known: Mapping[str, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        known = expected() if known is None else known
        self._left = {
            e.name: known.get(e.name, UNKNOWN) * (e.size(ask) / e.functions if e.functions else 1.0) for e in chosen
        }
        self._jobs, self._units, self._now = max(jobs, 1), 1, ""
        self._clock = clock
        self._began, self._expected_done = clock(), 0.0

    def begin(self, name: str, total: int, cached: int) -> None:
        self._now, self._units = name, max(total, 1)
        self._left[name] = self._left.get(name, UNKNOWN) * (total - cached) / self._units

    def step(self) -> None:
        self._spend(min(self._left[self._now], self._left[self._now] / max(self._units, 1)))
        self._units = max(self._units - 1, 1)

    def end(self, name: str) -> None:
        self._spend(self._left[name])

    def _spend(self, seconds: float) -> None:
        self._left[self._now] -= seconds
        self._expected_done += seconds

    def seconds(self) -> float:
        """What is left on this machine: the expectation, times how much slower than expected it has been so far."""
        left = sum(self._left.values())
        plain = left / self._jobs
        if self._expected_done < 5.0:
            return plain
        return left * (self._clock() - self._began) / self._expected_done

    def words(self) -> str:
        """ "about 3 min left", in steps a reader can use."""
        left = self.seconds()
        if left < 1.0:
            return "nearly done"
        return f"about {left:.0f} s left" if left < 90 else f"about {left / 60:.0f} min left"
