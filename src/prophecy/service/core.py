"""What the routes share: the fleet, its writer, the backlog, rates, counters and the threads that do the work."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from prophecy.service.bodies import Batch
from prophecy.service.errors import Problem, again
from prophecy.service.guard import Guard, Rates, Strangers
from prophecy.service.live import Backlog
from prophecy.service.metrics import Metrics
from prophecy.service.settings import Settings
from prophecy.service.shapes import event_of, forecast_of, lists_of, number, series_of
from prophecy.service.writer import Taken, Writer

if TYPE_CHECKING:
    from prophecy.fleet import Fleet

T = TypeVar("T")


class Core:
    """Everything behind the routes. Made before the server starts; `open` and `close` run inside its event loop."""

    def __init__(self, fleet: Fleet, settings: Settings, token: str | None, hosts: tuple[str, ...]) -> None:
        self.fleet, self.settings = fleet, settings
        self.guard = Guard(token, hosts, Rates(settings))
        self.strangers = Strangers(settings.strangers)
        self.metrics = Metrics()
        self.stopping = asyncio.Event()
        self.backlog = Backlog(settings.backlog, 2 * settings.page)
        self._forecasting, self.held = 0, 0  # forecasts waiting, and bytes of bodies that are arriving
        # The newest message to readers of everything, who share it, by the numbers of its first and last value.
        self.written: dict[tuple[int, int], str] = {}

    async def open(self) -> None:
        self.writer = Writer(self.fleet, self.settings, self.backlog)
        self._readers = ThreadPoolExecutor(self.settings.threads, thread_name_prefix="prophecy-reader")
        self._forecaster = ThreadPoolExecutor(1, thread_name_prefix="prophecy-forecast")

    async def close(self) -> None:
        """Write what is waiting, end the threads, close the database."""
        self.stopping.set()
        await self.writer.close()
        self._readers.shutdown()
        await asyncio.to_thread(self._forecaster.shutdown, cancel_futures=True)
        await asyncio.to_thread(self.fleet.close, self.settings.stop_seconds)

    async def read(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run something that waits for the fleet's lock, or takes long, off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work, *arguments)

    async def observe(self, batch: Batch) -> Taken:
        taken = await self.writer.take(batch)
        self.metrics.values.update(taken.columns["status"])
        return taken

    def series(self, search: str | None, offset: int, limit: int, spark: int) -> dict[str, Any]:
        """A page of the list of series; `spark` values of each for its small picture."""
        found = self.fleet.summary(search=search, offset=offset, limit=limit)
        rows = [series_of(row) for row in found.rows]
        for row in rows if spark else ():
            with contextlib.suppress(KeyError):  # removed or set aside since
                recent = lists_of("Recent", self.fleet.recent(row["key"], spark))
                row["recent"] = {name: recent[name] for name in ("time", "value", "event")}
        return {"total": found.total, "offset": offset, "series": rows}

    async def one(self, key: str, count: int) -> dict[str, Any]:
        """Everything about a series. `cursor` is exact: live values after it, and none before, are not in `recent`."""
        with _known(key):
            recent, cursor = await self.writer.between(lambda: lists_of("Recent", self.fleet.recent(key, count)))
            about = await self.read(self._about, key)
        return {**about, "recent": recent, "cursor": cursor, "boot": self.backlog.boot}

    def _about(self, key: str) -> dict[str, Any]:
        row, model = series_of(self.fleet.summary(keys=[key]).rows[0]), self.fleet.model(key)
        rates = {"derivative": number(model.derivative()), "dt": number(model.dt)}
        return {**row, **rates, "seasons": list(model.seasons()), "words": model.explain()}

    async def remove(self, key: str) -> None:
        with _known(key):
            await self.writer.between(lambda: self.fleet.remove(key))

    async def forecast(self, key: str, horizon: int, level: float) -> dict[str, Any]:
        """A forecast from the context kept; one is computed at a time, and a few may wait."""
        if self._forecasting >= self.settings.forecasts:
            raise again(f"{self._forecasting} forecasts are waiting", "ask again in a moment", 2.0)
        self._forecasting += 1
        try:
            with _known(key):
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._forecaster, self._forecast, key, horizon, level)
        except ValueError as error:
            raise Problem(409, str(error), "observe more values of the series first") from None
        finally:
            self._forecasting -= 1

    def _forecast(self, key: str, horizon: int, level: float) -> dict[str, Any]:
        row, model = self.fleet.summary(keys=[key]).rows[0], self.fleet.model(key)
        made = model.forecast(horizon, level)
        due = np.asarray(row.time + model.dt * np.arange(1, horizon + 1), dtype=np.float64)
        return forecast_of(made, key, due, bool(row.dated))

    def events(self, since: int, limit: int, key: str | None, first: bool) -> dict[str, Any]:
        """Events after a number, oldest first; `cursor` is the number to ask with next time."""
        with _known(key or ""):
            found, last = self.fleet.events(since, limit, key, first=first), self.fleet.last_event
        cursor = found[-1].number if found else since
        return {"events": [event_of(event) for event in found], "cursor": cursor, "last": last}


@contextlib.contextmanager
def _known(key: str) -> Iterator[None]:
    """404 where the fleet does not know the series."""
    try:
        yield
    except KeyError:
        raise Problem(404, f"there is no series {key[:200]!r}", "GET /v1/series lists them", field="key") from None
