"""`forecast` and `forecast_many` for whatever people hold their series in."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy import _checks
from prophecy._checks import SHORTEST
from prophecy._forecast import Failure, Forecast
from prophecy.frames.collect import is_table, read, split
from prophecy.frames.source import Key, Source
from prophecy.tables.regressors import Regressors

if TYPE_CHECKING:  # models are loaded when the data have been read: a file that cannot be is refused at once
    from prophecy.forecasting.known import Known
    from prophecy.forecasting.own import Fit
    from prophecy.forecasting.settings import Settings as ForecastSettings

Array = NDArray[np.float64]
Season = float | Sequence[float] | None
Bounds = tuple[float | None, float | None] | None
Progress = Callable[[int, int], None]


SENT = 256  # series sent to a Dask worker at a time, at most: seconds of work
RETRIES = 5  # of a task after an error that is not a series' own: a file system that was away, for one
_NUMBERED = re.compile(r"\b[Vv]ariable (\d+)\b")


class Forecasts(dict[Key, Forecast | Failure]):
    """Forecasts by key (or by column), in the order the series began; a series that failed has its `Failure`."""

    def __missing__(self, key: Key) -> Forecast | Failure:
        raise KeyError(f"no series {key!r}; there are {len(self)}, the first is {next(iter(self), None)!r}")

    def __repr__(self) -> str:
        failed = len(self.failures)
        return f"<Forecasts of {len(self)} series" + (f", {failed} failed" if failed else "") + ">"

    def _repr_html_(self) -> str:
        from prophecy.tables.notebook import of_many

        return of_many(self)

    def explain(self) -> str:
        """What `explain` says of each series."""
        return "\n".join(f"{key}: {made.explain()}" for key, made in self.items())

    @property
    def failures(self) -> dict[Key, Failure]:
        """The series that could not be forecast, and why."""
        return {key: found for key, found in self.items() if isinstance(found, Failure)}

    def to_frame(self, quantiles: Sequence[float] = ()) -> Any:
        """One long frame: key, variable (where there are several), time, point, lower, upper, and quantiles (q0.1
        …)."""
        from prophecy.tables.framing import long_frame

        return long_frame(self, quantiles)

    def plot(self, path: str | os.PathLike[str] | None = None, *, interactive: bool = False, **options: Any) -> Any:
        """The first few series below each other; see `Forecast.plot`."""
        from prophecy.tables.pictures import plot_forecasts

        made = {str(key): made for key, made in self.items() if isinstance(made, Forecast)}
        return plot_forecasts(made, path, interactive, **options)


class Task(NamedTuple):
    """What one forecast needs, small enough to send to another process."""

    values: Array
    season: Season
    known: Known | None


def forecast(
    data: Any,
    horizon: int,
    level: float = 0.9,
    *,
    columns: str | Sequence[str] | None = None,
    time: Any = None,
    season: Season = None,
    bounds: Bounds = None,
    known: Any = None,
    duplicates: str = "refuse",
    candidates: Mapping[str, Fit] | None = None,
    settings: ForecastSettings | None = None,
) -> Forecast:
    """The next `horizon` rows of a series, with intervals, from the series alone.

    data: (time,) or (time, variables) numbers, a list, the name of a file, or a pandas, Polars or Arrow series or
        frame. Variables of one table are forecast together, as one system; `forecast_many` takes tables of many series.
    level: the interval holds each value with this probability.
    columns: the variables; all columns of numbers by default.
    time: the column of times, or times beside an array; by default a frame's index or column of dates. Rows are sorted
        by time, missing ones become NaN, and the answer's `index` has the times to come.
    season: rows in a season, or several; None takes those the dates suggest and looks for others.
    bounds: (low, high) that no value leaves; either may be None.
    known: what is known in advance, over past and future: a table with the same times, or (time + horizon, regressors).
    duplicates: "refuse" rows of one time, or take their "mean".
    candidates: models of yours that join the mixture of each variable, by name: fit(values) returns
        predict(values so far, steps), whose answer is (steps,), or that and the deviations it expects of its errors.
    settings: other constants of the search (`prophecy.forecasting.settings.Settings`), for experiments.

    >>> import pandas as pd
    >>> sales = pd.Series([10.0, 12, 14] * 8, index=pd.date_range("2024-01-31", periods=24, freq="ME"), name="sales")
    >>> ahead = forecast(sales, 3)
    >>> print(ahead.to_frame()["point"].round(3).to_string())
    2026-01-31    10.0
    2026-02-28    12.0
    2026-03-31    14.0
    """
    source = read(data, time, columns, duplicates)
    options: dict[str, Any] = {"level": level, "bounds": bounds, "settings": _joined(settings, candidates)}
    task = _task(source, horizon, season, Regressors(known))
    return _dressed(solve_task(task, horizon=horizon, **options), source)


def forecast_many(
    data: Any,
    horizon: int,
    level: float = 0.9,
    *,
    key: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    time: Any = None,
    season: Season = None,
    bounds: Bounds = None,
    known: Any = None,
    duplicates: str = "refuse",
    candidates: Mapping[str, Fit] | None = None,
    settings: ForecastSettings | None = None,
    jobs: int | None = None,
    progress: Progress | bool | None = None,
    client: Any = None,
) -> Forecasts:
    """`forecast` for many series, shared among processes; a series that fails has a `Failure` in its place.

    data: a frame or the name of a file: one series for each `key`, or without a key for each column. Or a list of
        series, or (series, time[, variables]) numbers, whose keys are 0, 1, …
    key: the column, or columns, that tell the series of a long table apart; the outer levels of a MultiIndex are found.
    jobs: processes that share the work; None is one for each core this process may use.
    progress: progress(done, total) is called after each series; True shows a bar (needs tqdm).
    client: a Dask client, whose workers then share the work; series of workers that die are solved by others.
    Ctrl-C raises a KeyboardInterrupt whose `finished` has the forecasts that were there.
    All other arguments (level, season, bounds, known, settings …) are those of `forecast`, the same for every series.
    """
    options: dict[str, Any] = {"level": level, "bounds": bounds, "settings": _joined(settings, candidates)}
    failed: dict[Key, Exception] = {}
    sources: dict[Key, Source] = {}
    if is_table(data):
        sources = split(data, key, time, columns, duplicates, failed)
        if failed and not sources:
            raise next(iter(failed.values()))
    elif key is not None:
        raise TypeError(f"key={key!r} names a column, so data must be a frame, got {type(data).__name__}")
    elif not isinstance(data, Sequence | np.ndarray) or isinstance(data, bytes):
        raise TypeError(f"data must be a list of series, an array or a frame, got {type(data).__name__}")
    else:
        for place, item in enumerate(data):
            try:
                sources[place] = read(item, time, columns, duplicates)
            except (TypeError, ValueError, OSError) as error:
                failed[place] = error
    made = forecast_sources(sources, horizon, season, known, options, jobs, progress, client)
    made |= {one: Failure(0, error) for one, error in failed.items()}
    order = enumerate(made if is_table(data) else sorted(made))
    return Forecasts(
        {k: Failure(place, one.error) if isinstance(one := made[k], Failure) else one for place, k in order}
    )


def _joined(settings: ForecastSettings | None, candidates: Mapping[str, Fit] | None) -> ForecastSettings | None:
    if candidates is None:
        return settings
    from prophecy.forecasting.own import own_candidates
    from prophecy.forecasting.settings import DEFAULT

    settings = settings or DEFAULT
    return replace(settings, own=own_candidates(candidates))


def forecast_sources(
    sources: Mapping[Key, Source],
    horizon: int,
    season: Season,
    known: Any,
    options: dict[str, Any],
    jobs: int | None,
    progress: Progress | bool | None,
    client: Any = None,
) -> Forecasts:
    """Forecasts of series that were read already; `options` are level, bounds and settings of `forecast`."""
    horizon, keys = _checks.whole("horizon", horizon), list(sources)
    regressors = Regressors(known)
    tasks = [_task(source, horizon, season, regressors) for source in sources.values()]

    def dressed(found: Iterable[tuple[int, Forecast | Failure]]) -> Forecasts:
        named = ((keys[place], answer) for place, answer in found)
        return Forecasts({k: one if isinstance(one, Failure) else _dressed(one, sources[k]) for k, one in named})

    if not tasks:
        return Forecasts()
    from prophecy.forecasting.batch import Stopped, in_order  # loads the models, before processes share them

    one: Callable[[Any], Forecast] = partial(solve_task, horizon=horizon, **options)
    with shown(progress, len(tasks)) as tell:
        try:
            if client is not None:
                return dressed(_solved_on(client, one, tasks, tell))
            return dressed(enumerate(in_order(one, tasks, jobs, tell)))  # type: ignore[arg-type]
        except Stopped as stop:
            raise Stopped(dressed(stop.finished.items()), stop.total) from None


def _solved_on(
    client: Any, one: Callable[[Any], Forecast], tasks: Sequence[Any], progress: Progress | None
) -> list[tuple[int, Forecast | Failure]]:
    """one(task) for every task on the workers of a Dask client, in order."""
    size = max(1, min(SENT, len(tasks) // (4 * max(1, sum(client.nthreads().values())))))
    pieces = [(first, tasks[first : first + size]) for first in range(0, len(tasks), size)]
    made: dict[int, Forecast | Failure] = {}
    for first, answers in by_workers(client, partial(_piece, one), pieces):
        made |= dict(enumerate(answers, first))
        if progress is not None:
            progress(len(made), len(tasks))
    return sorted(made.items())


def _piece(one: Callable[[Any], Forecast], piece: tuple[int, Sequence[Any]]) -> tuple[int, list[Forecast | Failure]]:
    from prophecy.forecasting.batch import in_order

    return piece[0], in_order(one, piece[1], 1, None)


def by_workers(client: Any, one: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    """one(item) of every item by the workers of a Dask client, as they come."""
    from distributed import as_completed

    futures = client.map(one, items, retries=RETRIES, pure=False, batch_size=1000)
    try:
        for _, found in as_completed(futures, with_results=True):
            yield found
    finally:
        client.cancel(futures)


def _task(source: Source, horizon: int, season: Season, known: Regressors) -> Task:
    seasons = source.series.seasons() or None if season is None else season
    return Task(source.values, seasons, known(source, _checks.whole("horizon", horizon)))


def solve_task(task: Task, horizon: int, level: float, **options: Any) -> Forecast:
    """One series, however short."""
    from prophecy.forecasting import forecast as solve
    from prophecy.forecasting.context import check_variables

    check_variables(1 if task.values.ndim == 1 else task.values.shape[1])
    known = int((~np.isnan(task.values.reshape(len(task.values), -1))).any(axis=1).sum())
    if known < SHORTEST:
        raise ValueError(f"{known} value{'s' if known != 1 else ''} cannot be forecast from; give at least {SHORTEST}")
    return solve(task.values, horizon, level, season=task.season, known=task.known, **options)


def _dressed(made: Forecast, source: Source) -> Forecast:
    """With times, names and what was assumed when the rows were read."""
    horizon = len(np.asarray(made.point))
    names = {str(place): repr(name) for place, name in enumerate(source.names)}
    notes = (_NUMBERED.sub(lambda found: names.get(found[1], found[0]), note) for note in made.notes)
    index = source.future(horizon)
    return replace(made, index=index, names=source.names, source=source, notes=(*notes, *source.notes()))


@contextmanager
def shown(progress: Progress | bool | None, total: int, unit: str = "series") -> Iterator[Progress | None]:
    """progress as a callback: given, a bar of tqdm's on a terminal or in a notebook, or nothing."""
    if progress is not True:
        yield progress or None
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, unit=unit, leave=False) as bar:
        yield lambda done, total: bar.update(done - bar.n)
