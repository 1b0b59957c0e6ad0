"""The channels of a `Prophecy`: the four arrays that hold all they have learned, and the calls of compiled code on
them."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import _checks, _machine
from prophecy._arrays import Array
from prophecy.streams.kernels import entry
from prophecy.streams.limits import FLAGS, LARGEST, MOST, RING
from prophecy.streams.rows import Records, check, check_times, fresh, fresh_times, rings
from prophecy.streams.settings import Settings
from prophecy.streams.table import between, table

WORTH_THREADS = 20_000
"""Values from which on several series are run in threads: some 40 ms of work, against 0.1 ms to start them."""

MANY_LATE = 16
"""Late moments, more than half of all, from which on a warning is due: no clock is set as often as that."""


class Channels:
    """Series whose values come together, each predicted on its own; arguments are checked before they come here.

    records, rings, clocks, samples: a row for each series. All clocks see the same stamps and stay alike.
    """

    def __init__(
        self, series: int, dt: float | None, hold: bool, context: int, settings: Settings, workers: int | None = None
    ) -> None:
        """workers: threads that share the series; None for one a core where there is enough to do."""
        self.series, self.hold, self.context, self.settings = series, hold, context, settings
        self.table = table(settings)
        self._workers, self._late, self._warned = workers, 0, False
        self.put(fresh(series, self.table, hold), rings(series), *fresh_times(series, dt), 0)

    def put(self, records: Records, rings: Array, clocks: Records, samples: Records, count: int) -> None:
        """Everything the series know, and how many moments they have seen."""
        self.records, self.rings, self.clocks, self.samples = records, rings, clocks, samples
        self.streams = entry.Streams(records, rings, clocks, samples, self.table, count)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a file holds: of the rings what is in use."""
        used = int(min(self.records["count"].max(), RING))
        return {"records": self.records, "rings": self.rings[:, :used], "clocks": self.clocks, "samples": self.samples}

    def restore(self, count: Any, arrays: dict[str, NDArray[Any]]) -> None:
        """Set fresh series to what a file holds; ValueError, TypeError or KeyError for anything none could have
        reached. count: moments seen."""
        records, kept = arrays["records"], arrays["rings"]
        if _checks.whole("count", count, least=0) > MOST:
            raise ValueError(f"count must be at most {MOST}, got {count}")
        check(records, self.table)
        if not (records["hold"] == self.hold).all():
            raise ValueError(f"hold must be {int(self.hold)} in every record, as gaps says, got {records['hold']}")
        check_times(arrays["clocks"], arrays["samples"], self.series, self.settings)
        used = int(min(records["count"].max(), RING))
        if kept.dtype != np.float64 or kept.shape != (self.series, used):
            raise ValueError(f"rings must be float64 of shape {(self.series, used)}, got {kept.dtype} {kept.shape}")
        if not (np.abs(kept) <= LARGEST).all():
            raise ValueError(f"rings must hold values of at most {LARGEST:g} in size")
        self.rings[:, :used] = kept
        self.put(records.copy(), self.rings, arrays["clocks"].copy(), arrays["samples"].copy(), count)

    @property
    def count(self) -> int:
        """Moments seen."""
        return int(self.streams.moments)

    @property
    def stamped(self) -> bool:
        """Whether values come with timestamps."""
        return bool(self.clocks["count"][0])

    @property
    def dt(self) -> float:
        """The step of the grid in seconds; 1 where none was given."""
        return float(self.clocks["dt"][0]) or 1.0

    def run(self, moments: Array, times: Array | None, level: float | None = None) -> Array:
        """Take in moments (time, series); mean, half width, score and alarm, (4, time, series), if a level is asked
        for."""
        n, where = len(moments), between(0.9 if level is None else level)
        values, passed = np.ascontiguousarray(moments.T), np.empty(moments.shape[::-1])
        noted = np.empty((self.series, n if level is not None else 0, 4))
        if times is None:
            times = np.full(n if self.stamped else 0, np.nan)

        def several(first: int, last: int) -> None:
            """Series one after the other: each record stays in the processor's cache meanwhile."""
            which, when = np.repeat(np.arange(first, last), n), np.tile(times, last - first)
            new, out, gone = values[first:last].ravel(), noted[first:last].reshape(-1, 4), passed[first:last].ravel()
            self.streams.take(which, when, new, where, out, gone, drop=self.series == 1)

        workers = self._workers or (_machine.cores() if moments.size >= WORTH_THREADS else 1)
        edges = np.linspace(0, self.series, min(workers, self.series) + 1).astype(int).tolist()
        if len(edges) == 2:
            several(*edges)
        else:
            with ThreadPoolExecutor(len(edges) - 1) as pool:  # made anew each time: threads do not survive a fork
                for job in [pool.submit(several, *pair) for pair in pairwise(edges)]:
                    job.result()
        # A late moment is late for every series; one of several may repeat a value where others do not.
        late = int(np.count_nonzero(passed[0] <= 0.0))
        self.streams.moments += len(moments) - late
        self._late += late
        if self._late > max(self.count, MANY_LATE) and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self._late} of {self.count + self._late} moments came with a time that is not after the newest one, "
                "and were left out; sort them by time (newest last), or leave `time` out if values are evenly "
                "spaced and their times carry no information",
                UserWarning,
                stacklevel=3,
            )
        return noted.transpose(2, 1, 0)

    def forecast(self, level: float, times: Array | None = None, moment: Array | None = None) -> Array:
        """Mean, half width and the score that `moment` would have, (3, series), for this time, (1,): one step ahead by
        default; NaN before the first value, whatever the time, and where a value would be late."""
        when = np.repeat(np.nan if times is None else times, self.series)
        values = np.full(self.series, np.nan) if moment is None else np.ascontiguousarray(moment)
        out = np.empty((self.series, 3))
        self.streams.ahead(np.arange(self.series), when, values, between(level), out)
        return out.T

    def shares(self) -> Array:
        """How much each member of the bank counts in its forecast: (series, members), rows add up to 1."""
        shares = self.records["weight"] / np.where(self.records["scale"] > 0.0, self.records["scale"], 1.0)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)

    def regular_context(self) -> Array:
        """The last `context` values, (series, time), one for each step of the grid, oldest first: NaN in holes and
        before a series' first. Those whose stamps missed the grid, or came at irregular times, are as brought to it."""
        out = np.full((self.series, RING), np.nan)
        for row, record, ring in zip(out, self.records, self.rings, strict=True):
            places = np.arange(max(int(record["count"]) - RING, 0), int(record["count"])) % RING
            missing = record["season_filled"][places // FLAGS] >> (places % FLAGS) & 1
            known = np.flatnonzero(missing == 0)[-self.context :]
            row[RING - len(places) + known] = ring[places[known]]
        begun = np.isfinite(out).any(axis=0)
        return out[:, int(begun.argmax()) :]
