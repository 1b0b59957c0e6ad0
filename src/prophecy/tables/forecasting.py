"""`forecast` and `forecast_many` for whatever people hold their series in."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prophecy import _checks
from prophecy._arrays import Array
from prophecy._checks import SHORTEST
from prophecy._forecast import Failure, Forecast
from prophecy.frames.align import Aligned
from prophecy.frames.collect import is_table, read, split
from prophecy.frames.source import Key, Kind, Source, build, time_series
from prophecy.frames.times import Times, joined
from prophecy.tables.regressors import Regressors

if TYPE_CHECKING:  # models are loaded when the data have been read: a file that cannot be is refused at once
    from prophecy.forecasting.known import Known
    from prophecy.forecasting.own import Fit
    from prophecy.forecasting.settings import Settings as ForecastSettings

Season = float | Sequence[float] | None
Bounds = tuple[float | None, float | None] | None
Progress = Callable[[int, int], None]


_NUMBERED = re.compile(r"\b[Vv]ariable (\d+)\b")


class Forecasts(dict[Key, Forecast | Failure]):
    """Forecasts by key (or by column), in the order the series began; a series that failed has its `Failure`."""

    def __missing__(self, key: Key) -> Forecast | Failure:
        raise KeyError(f"no series {key!r}; there are {len(self)}, the first is {next(iter(self), None)!r}")

    def __repr__(self) -> str:
        failed = len(self.failures)
        return f"<Forecasts of {len(self)} series" + (f", {failed} failed" if failed else "") + ">"

    def _repr_html_(self) -> str:
        from prophecy.tables.pictures import of_forecasts

        return of_forecasts(repr(self), {str(key): made for key, made in self.items()})

    def explain(self) -> str:
        """What `explain` says of each series."""
        return "\n".join(f"{key}: {made.explain()}" for key, made in self.items())

    @property
    def failures(self) -> dict[Key, Failure]:
        """The series that could not be forecast, and why."""
        return {key: found for key, found in self.items() if isinstance(found, Failure)}

    def to_frame(self, quantiles: Sequence[float] = ()) -> Any:
        """One long frame: key, time, variable (where there are several), point, lower, upper, quantiles (q0.1 …);
        failures are left out."""
        good = {key: made for key, made in self.items() if isinstance(made, Forecast)}
        if not good:
            reasons = "; ".join(str(found) for found in list(self.failures.values())[:3])
            raise ValueError(f"no series could be forecast: {reasons}")
        kind = source_of(next(iter(good.values()))).kind
        kind = replace(kind, time=kind.time or ("time" if kind.as_index else None), as_index=False)
        keys = kind.key or ("series",)
        blocks = [_block(key if len(keys) > 1 else (key,), made, quantiles) for key, made in good.items()]
        return framed(blocks, kind, keys)

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


@dataclass(frozen=True)
class Asked:
    """What is asked of every series, as in `forecast`. known: anything `Regressors` takes."""

    horizon: int
    level: float = 0.9
    season: Season = None
    bounds: Bounds = None
    known: Any = None
    settings: ForecastSettings | None = None
    candidates: Mapping[str, Fit] | None = None

    def __post_init__(self) -> None:
        _checks.whole("horizon", self.horizon)
        _checks.seasons(self.season)
        if not isinstance(self.known, Regressors):
            object.__setattr__(self, "known", Regressors(self.known))

    def task(self, source: Source, rows: int | None = None) -> Task:
        """For a series, or its first `rows`."""
        known = self.known(source, self.horizon if rows is None else 0)
        if known is not None and rows is not None:
            known = replace(known, values=known.values[: rows + self.horizon])
        seasons = source.series.seasons(rows) or None if self.season is None else self.season
        return Task(source.values[:rows], seasons, known)

    def solver(self) -> Callable[[Any], Forecast]:
        """The forecast of a task. Loads the models, before processes share them."""
        from prophecy.forecasting.own import own_candidates
        from prophecy.forecasting.settings import DEFAULT

        settings = self.settings
        if self.candidates is not None:
            settings = replace(settings or DEFAULT, own=own_candidates(self.candidates))
        return partial(_solved, horizon=self.horizon, level=self.level, bounds=self.bounds, settings=settings)

    def one(self, source: Source) -> Forecast:
        made: Forecast = _dressed(self.solver()(self.task(source)), source)
        return made

    def many(
        self, sources: Mapping[Key, Source | Exception], jobs: int | None = None,
        progress: Progress | bool | None = None,
    ) -> Forecasts:  # fmt: skip
        """Forecasts by key, as in `forecast_many`; an error in place of a series is its failure."""
        from prophecy.forecasting.batch import Stopped, in_order

        if not sources:
            return Forecasts()
        keys, each = list(sources), list(sources.values())
        tasks = [one if isinstance(one, Exception) else self.task(one) for one in each]

        def dressed(found: Iterable[tuple[int, Forecast | Failure]]) -> Forecasts:
            return Forecasts({keys[place]: _dressed(made, each[place]) for place, made in found})

        with shown(progress, len(tasks)) as tell:
            try:
                return dressed(enumerate(in_order(self.solver(), tasks, jobs, tell)))
            except Stopped as stop:
                raise Stopped(dressed(stop.finished.items()), stop.total) from None


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
    return Asked(horizon, level, season, bounds, known, settings, candidates).one(source)


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
) -> Forecasts:
    """`forecast` for many series, shared among processes; a series that fails has a `Failure` in its place.

    data: a frame or the name of a file: one series for each `key`, or without a key for each column. Or a list of
        series, or (series, time[, variables]) numbers, whose keys are 0, 1, …; or a dict of series.
    key: the column, or columns, that tell the series of a long table apart; the outer levels of a MultiIndex are found.
    jobs: processes that share the work; None is one for each core this process may use.
    progress: progress(done, total) is called after each series; True shows a bar (needs tqdm).
    Ctrl-C raises a KeyboardInterrupt whose `finished` has the forecasts that were there.
    All other arguments (level, season, bounds, known, settings …) are those of `forecast`, the same for every series.
    """
    sources: dict[Key, Source | Exception] = {}
    if is_table(data) or key is not None:
        sources = split(data, key, time, columns, duplicates, keep=True)
        errors = [source for source in sources.values() if isinstance(source, Exception)]
        if len(errors) == len(sources):
            raise errors[0]
    elif not isinstance(data, Sequence | np.ndarray | Mapping) or isinstance(data, bytes):
        raise TypeError(f"data must be a list of series, an array or a frame, got {type(data).__name__}")
    elif len(data) and all(isinstance(item, Real) for item in data):
        raise TypeError("data is one series; use forecast(data, horizon), or forecast_many([data], horizon)")
    else:
        for place, item in data.items() if isinstance(data, Mapping) else enumerate(data):
            try:
                sources[place] = read(item, time, columns, duplicates)
            except (TypeError, ValueError, OSError) as error:
                sources[place] = error
    return Asked(horizon, level, season, bounds, known, settings, candidates).many(sources, jobs, progress)


def _solved(task: Task | Exception, horizon: int, level: float, **options: Any) -> Forecast:
    """One series, however short; what was wrong when it was read is raised."""
    from prophecy.forecasting import forecast as solve
    from prophecy.forecasting.context import check_variables

    if not isinstance(task, Task):
        raise task
    check_variables(1 if task.values.ndim == 1 else task.values.shape[1])
    known = int((~np.isnan(task.values.reshape(len(task.values), -1))).any(axis=1).sum())
    if known < SHORTEST:
        raise ValueError(f"{known} value{'s' if known != 1 else ''} cannot be forecast from; give at least {SHORTEST}")
    return solve(task.values, horizon, level, season=task.season, known=task.known, **options)


def _dressed(made: Any, source: Any) -> Any:
    """With times, names and what was assumed when the rows were read; a failure as it is."""
    if isinstance(made, Failure):
        return made
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


class Block(NamedTuple):
    """Rows of one series for a frame. cells: of its key; parts: (rows, variables) each."""

    cells: tuple[Any, ...]
    source: Source
    times: Times | None
    parts: Mapping[str, Any]


def framed(blocks: Sequence[Block], kind: Kind, keys: Sequence[str] = (), label: str = "variable") -> Any:
    """A long frame: keys, time (or step), the variable where there are several, and the parts."""
    columns: dict[str, list[Any]] = {name: [] for name in keys}
    several, moments = any(len(block.source.names) > 1 for block in blocks), []
    for cells, source, times, parts in blocks:
        width = len(source.names)
        made = {name: np.asarray(part, dtype=np.float64).reshape(-1) for name, part in parts.items()}
        rows = len(next(iter(made.values())))
        steps = np.repeat(np.arange(rows // width), width)
        whose: dict[str, Any] = {name: [cell] * rows for name, cell in zip(keys, cells, strict=True)}
        if times is None:
            whose["step"] = (steps + 1).tolist()
        else:
            moments.append(times[steps])
        if several:
            whose[label] = list(source.names) * (rows // width)
        for name, part in {**whose, **made}.items():
            columns.setdefault(name, []).extend(part)
    index = joined(moments) if moments else None
    if index is not None and not kind.as_index:
        whose = {name: columns.pop(name) for name in keys}
        columns, index = {**whose, kind.time or "time": time_series(index, kind), **columns}, None
    return build(columns, kind, index)


def to_frame(made: Forecast, quantiles: Sequence[float] = ()) -> Any:
    """point, lower, upper and quantiles (columns q0.1 …), a row for each time; several variables make a long frame."""
    return framed([_block((), made, quantiles)], source_of(made).kind)


def track_frame(track: Any) -> Any:
    """value, point, lower, upper, score and alarm of every row; several channels make a long frame."""
    source, parts = track.source, {"value": track.source.series.values, **track._asdict()}
    return framed([Block((), source, source.series.times, parts)], source.kind, label="channel")


def _block(cells: tuple[Any, ...], made: Forecast, quantiles: Sequence[float]) -> Block:
    source, parts = source_of(made), {"point": made.point, "lower": made.lower, "upper": made.upper}
    parts |= {f"q{q:g}": made.quantile(float(q)) for q in quantiles}
    return Block(cells, source, source.series.after(len(np.atleast_1d(made.point))), parts)


def source_of(made: Forecast) -> Source:
    """Where a forecast came from; of one made from an array, its names alone."""
    if isinstance(made.source, Source):
        return made.source
    single = np.ndim(made.point) < 2
    width = 1 if single else np.shape(made.point)[1]
    names = tuple(made.names or ()) or ("value",)
    names = names if len(names) == width else tuple(f"value{i}" for i in range(width))
    return Source(Aligned(np.empty((0, width))), names, single)
