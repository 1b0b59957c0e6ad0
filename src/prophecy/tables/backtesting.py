"""`backtest`: how wrong forecasts would have been, beside simple rules and other people's models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from prophecy import _checks, evaluation
from prophecy._arrays import Array
from prophecy._forecast import Failure, Forecast
from prophecy.frames.collect import collected, is_table, read
from prophecy.frames.columns import Hints
from prophecy.frames.names import printable
from prophecy.frames.source import Key, Source, build
from prophecy.tables.forecasting import Asked, Bounds, Progress, Season, shown

if TYPE_CHECKING:
    from prophecy.forecasting.settings import Settings as ForecastSettings

Model = Callable[
    [Array, int, float, int], Any
]  # (context, horizon, level, season), (time,) alone -> what `_made` takes

OURS = "prophecy"
PROBABILITIES: Array = np.arange(0.05, 1.0, 0.05)  # 19 quantiles for the CRPS, spread evenly
SHORTEST = 4  # rows before the first fold: fewer leave nothing to measure a scale by


@dataclass(frozen=True)
class Score:
    """One model on one fold of one series; errors in the series' own unit, but smape in percent and mase a ratio."""

    model: str
    series: str
    fold: int
    cutoff: str
    rows: int
    mae: float
    rmse: float
    smape: float
    mase: float
    crps: float
    coverage: float
    width: float
    error: str = ""


MEASURES = ("mae", "rmse", "smape", "mase", "crps", "coverage", "width")


@dataclass(frozen=True, eq=False)
class Backtest:
    """Scores of every model on every fold, and the forecasts behind them.

    scores: one for each model, series and fold. level: of the intervals coverage and width are about.
    """

    scores: tuple[Score, ...]
    level: float
    horizon: int
    notes: tuple[str, ...]
    source: Source = field(repr=False)
    paths: dict[tuple[str, int], Forecast] = field(repr=False, default_factory=dict)  # of the first series
    cuts: tuple[int, ...] = ()

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(score.model for score in self.scores))

    def first(self, model: str) -> list[Score]:
        """The scores of a model in every fold of the first series."""
        return [score for score in self.scores if (score.model, score.series) == (model, self.scores[0].series)]

    def overall(self) -> dict[str, dict[str, float]]:
        """Each model's means over folds and series (the RMSE: root of the mean square)."""
        made = {}
        for model in self.models:
            mine = [score for score in self.scores if score.model == model and not score.error]
            made[model] = {name: _mean((getattr(score, name) for score in mine), name == "rmse") for name in MEASURES}
        return made

    def cells(self) -> list[list[str]]:
        """The overall scores as cells of text, header first; the best of each column has a star."""
        rows = self.overall()
        best = {name: np.nanmin([np.inf, *(row[name] for row in rows.values())]) for name in MEASURES[:5]}
        made = [["model", "MAE", "RMSE", "sMAPE", "MASE", "CRPS", f"inside {100 * self.level:g} %", "width"]]
        for model, row in rows.items():
            errors = [_cell(row[name]) + ("*" if row[name] == best[name] else " ") for name in MEASURES[:5]]
            inside = "–" if np.isnan(row["coverage"]) else f"{row['coverage']:.0%}"
            made.append([printable(model), *errors, inside, _cell(row["width"])])
        return made

    def table(self) -> str:
        """The overall scores as text, a line for each model."""
        lines = self.cells()
        first, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
        made = ([name.ljust(first), *map(str.rjust, cells, widths)] for name, *cells in lines)
        return "\n".join("  ".join(cells).rstrip() for cells in made)

    def to_frame(self) -> Any:
        """One row for each model, series and fold, as a frame of the kind that came in."""
        names = [part.name for part in fields(Score)]
        return build({name: [getattr(score, name) for score in self.scores] for name in names}, self.source.kind)

    def plot(self, path: str | os.PathLike[str] | None = None, *, interactive: bool = False, **options: Any) -> Any:
        """The first series with what was forecast in every fold, and every model's error; see `Forecast.plot`."""
        from prophecy.tables.pictures import Picture, drawn, of_backtest

        return drawn(Picture("", of_backtest(self)), path, interactive, **options)

    def __repr__(self) -> str:
        return self.table()


def backtest(
    data: Any,
    horizon: int,
    folds: int = 5,
    step: int | None = None,
    against: Any = ("seasonal naive", "drift", "mean"),
    *,
    level: float = 0.9,
    key: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    time: Any = None,
    season: Season = None,
    bounds: Bounds = None,
    known: Any = None,
    duplicates: str = "refuse",
    settings: ForecastSettings | None = None,
    jobs: int | None = None,
    progress: Progress | bool | None = None,
) -> Backtest:
    """Forecast the last rows of a series from those before them, `folds` times, and score every model.

    Fold k is forecast from the rows before it alone; the last ends where the data end, and each begins `step` rows
    after the one before (the horizon by default, so that none overlap).
    against: names of simple rules, callables f(context, horizon) that give values or (values, lower, upper), sktime
        forecasters, statsforecast models; or a mapping from name to any of these.
    key: the column, or columns, that tell the series of a long table apart. The rest is as in `forecast`.

    >>> wave = np.sin(np.arange(300) / 5)
    >>> result = backtest(wave, horizon=20, folds=3)
    >>> bool(result.overall()["prophecy"]["mae"] < 1e-6 < result.overall()["drift"]["mae"])
    True
    """
    if is_table(data):
        sources = collected(data, Hints(columns or (), key=key or (), duplicates=duplicates), time).sources
    else:
        sources = {"": read(data, time, columns, duplicates)}
    asked = Asked(horizon, level, season, bounds, known, settings)
    return backtest_sources(sources, asked, folds, step, against, jobs, progress)


def backtest_sources(
    sources: dict[Key, Source], asked: Asked, folds: int, step: int | None, against: Any, jobs: int | None = None,
    progress: Progress | bool | None = None,
) -> Backtest:  # fmt: skip
    """`backtest` of series that were read already."""
    horizon, folds, others = asked.horizon, _checks.whole("folds", folds), rivals(against)
    step = horizon if step is None else _checks.whole("step", step)
    plan, short = {}, {}
    for name, source in sources.items():
        try:
            plan[name] = _cuts(len(source.series.values), horizon, folds, step)
        except ValueError as error:
            short[name] = str(error)
    if not plan:
        name, wrong = next(iter(short.items()))
        raise ValueError(wrong if name == "" else f"series {name!r}: {wrong}")
    tasks = [asked.task(sources[name], cut) for name, cuts in plan.items() for cut in cuts]
    from prophecy.forecasting.batch import in_order

    with shown(progress, len(tasks), "fold") as tell:
        ours = iter(in_order(asked.solver(), tasks, jobs, tell))
    scores, paths = [], {}
    first, seasons = next(iter(plan)), _checks.seasons(asked.season)
    for name, cuts in plan.items():
        source = sources[name]
        periods = source.series.seasons() if seasons is None else seasons
        period = max(1, round(float(periods[0]))) if len(periods) else 1  # of simple rules and the MASE
        for fold, cut in enumerate(cuts):
            made: dict[str, Forecast | Failure] = {OURS: next(ours)}
            for title, model in others.items():
                made[title] = _rival(title, model, source, cut, asked, period)
            for title, found in made.items():
                scores.append(_scored(title, name, fold, source, cut, horizon, found, period))
                if name == first and isinstance(found, Forecast):
                    paths[title, fold] = found
    nothing = dict.fromkeys(MEASURES, float("nan"))
    scores += [Score(OURS, str(name), 0, "", 0, **nothing, error=error) for name, error in short.items()]
    scores.sort(key=lambda score: [OURS, *others].index(score.model))
    start = sources[first]
    return Backtest(tuple(scores), asked.level, horizon, start.notes(), start, paths, tuple(plan[first]))


def _cuts(rows: int, horizon: int, folds: int, step: int) -> list[int]:
    """Rows before each fold."""
    cuts = [rows - horizon - step * back for back in range(folds - 1, -1, -1)]
    if cuts[0] < SHORTEST:
        fit = max(0, (rows - horizon - SHORTEST) // step + 1)
        one = f"one fold needs {SHORTEST + horizon}: {SHORTEST} to forecast from and {horizon} to score"
        short = "1 row is" if rows == 1 else f"{rows} rows are"
        raise ValueError(f"{short} too few for {folds} folds of {horizon} rows; {f'use folds={fit}' if fit else one}")
    return cuts


def _rival(title: str, model: Model, source: Source, cut: int, asked: Asked, season: int) -> Forecast | Failure:
    """A model on one fold, variable by variable; what it raises is kept, so that one model cannot stop the rest."""
    horizon, level = asked.horizon, asked.level
    try:
        given = (model(column, horizon, level, season) for column in source.series.values[:cut].T)
        found = [_made(one, horizon, level, title) for one in given]
    except Exception as error:  # whatever a model of another library raises is kept as its score's `error`
        return Failure(cut, error)
    if source.single:
        return found[0]
    point, lower, upper = np.array([[one.point, one.lower, one.upper] for one in found]).transpose(1, 2, 0)
    return Forecast(point, lower, upper, level, title)


def _made(found: Any, horizon: int, level: float, title: str) -> Forecast:
    """The forecast that a model gives as one, as values, or as (values, lower, upper)."""
    if isinstance(found, Forecast):
        return found
    arrays = [np.asarray(part, dtype=np.float64) for part in (found if isinstance(found, tuple) else (found,))]
    if len(arrays) not in (1, 3) or any(array.shape != (horizon,) for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"a model must return ({horizon},) numbers, or mean, lower and upper, got {shapes}")
    point, lower, upper = (arrays * 3)[:3]
    return Forecast(point, lower, upper, level, title)


def _scored(
    title: str, name: Key, fold: int, source: Source, cut: int, horizon: int, found: Forecast | Failure, season: int
) -> Score:
    times, truth = source.series.times, source.values[cut : cut + horizon]
    there = np.isfinite(truth)
    score = partial(Score, title, str(name), fold, times.text(cut - 1) if times is not None else str(cut))
    if isinstance(found, Failure) or not there.any():
        wrong = f"{type(found.error).__name__}: {found.error}" if isinstance(found, Failure) else "no values to compare"
        return score(0, **dict.fromkeys(MEASURES, float("nan")), error=wrong)
    point, lower, upper = (np.asarray(part, dtype=np.float64) for part in (found.point, found.lower, found.upper))
    off = np.abs(truth - point)[there]
    certain = bool((upper == lower).all() and (lower == point).all())
    quantiles = np.stack([point] * len(PROBABILITIES)) if certain else np.asarray(found.quantile(PROBABILITIES))
    return score(
        int(there.sum()),
        mae=float(off.mean()),
        rmse=float(np.sqrt(np.mean(off**2))),
        smape=float(np.mean(evaluation.smape(truth[there], point[there]))),
        mase=evaluation.mase(truth, point, source.values[:cut], season),
        crps=float(np.mean(evaluation.crps(truth, quantiles, PROBABILITIES)[there])),
        coverage=float("nan") if certain else evaluation.coverage(truth[there], lower[there], upper[there]),
        width=float("nan") if certain else float(np.mean((upper - lower)[there])),
    )


def _mean(values: Iterable[float], squares: bool) -> float:
    found = np.array([value for value in values if np.isfinite(value)])
    return float("nan") if not found.size else float(np.sqrt(np.mean(found**2)) if squares else found.mean())


def _cell(value: float) -> str:
    return "–" if not np.isfinite(value) else f"{value:.4g}"


def seasonal_naive(context: Array, horizon: int, level: float, season: int) -> Forecast:
    """The last season again and again (the last value where there is none); widths grow with the seasons ahead."""
    known = _filled(context)
    season = season if len(known) > season else 1
    ahead = np.arange(horizon)
    mean = known[len(known) - season + ahead % season]
    deviation = _rms(known[season:] - known[:-season])
    return _normal(mean, deviation * np.sqrt(ahead // season + 1), level, "seasonal naive")


def drift(context: Array, horizon: int, level: float, season: int) -> Forecast:
    """The straight line through the first and the last value."""
    known = _filled(context)
    ahead, count = np.arange(1, horizon + 1), max(len(known) - 1, 1)
    slope = (known[-1] - known[0]) / count
    deviation = _rms(np.diff(known) - slope)
    return _normal(known[-1] + ahead * slope, deviation * np.sqrt(ahead * (1 + ahead / count)), level, "drift")


def mean(context: Array, horizon: int, level: float, season: int) -> Forecast:
    """The mean of the context."""
    known = context[np.isfinite(context)]
    deviation = _rms(known - known.mean()) * np.sqrt(1 + 1 / len(known))
    return _normal(np.full(horizon, known.mean()), np.full(horizon, deviation), level, "mean")


SIMPLE: dict[str, Model] = {"seasonal naive": seasonal_naive, "drift": drift, "mean": mean}


def rivals(against: Any) -> dict[str, Model]:
    """Named models out of names of simple ones, callables, sktime forecasters and statsforecast models."""
    if isinstance(against, str) or not isinstance(against, Mapping | Sequence):
        against = [against]
    named = against.items() if isinstance(against, Mapping) else ((None, model) for model in against)
    made: dict[str, Model] = {}
    for name, model in named:
        own = model if isinstance(model, str) else getattr(model, "alias", None) or getattr(model, "__name__", None)
        title = str(name or own or type(model).__name__)
        if title in made or title == OURS:
            raise ValueError(f"two models are called {title!r}; name them: against={{'one': …, 'other': …}}")
        made[title] = _wrapped(model)
    return made


def _wrapped(model: Any) -> Model:
    if isinstance(model, str):
        if model not in SIMPLE:
            raise ValueError(f"against names {model!r}; the simple ones are {', '.join(map(repr, SIMPLE))}")
        return SIMPLE[model]
    if hasattr(model, "clone") and hasattr(model, "fit") and hasattr(model, "predict"):
        return partial(_sktime, model)
    if hasattr(model, "forecast") and hasattr(model, "fit"):
        return partial(_statsforecast, model)
    if callable(model):
        return lambda context, horizon, level, season: model(context, horizon)
    raise TypeError(
        f"against takes names, callables f(context, horizon), sktime and statsforecast models, got {model!r}"
    )


def _sktime(model: Any, context: Array, horizon: int, level: float, season: int) -> Any:
    import pandas as pd

    steps = list(range(1, horizon + 1))
    fresh = model.clone().fit(pd.Series(_filled(context)), fh=steps)
    mean = np.ravel(fresh.predict(fh=steps))
    if not fresh.get_tag("capability:pred_int", raise_error=False):
        return mean
    return mean, *np.asarray(fresh.predict_interval(fh=steps, coverage=level)).T


def _statsforecast(model: Any, context: Array, horizon: int, level: float, season: int) -> Any:
    percent = round(100 * level, 6)
    percent = int(percent) if float(percent).is_integer() else percent
    found = model.forecast(y=_filled(context), h=horizon, level=[percent])
    return found["mean"], *(found.get(f"{side}-{percent}", found["mean"]) for side in ("lo", "hi"))


def _filled(context: Array) -> Array:
    """Gaps filled by straight lines between their neighbours: these rules cannot take NaN."""
    there = np.isfinite(context)
    if not there.any():
        raise ValueError(f"the context has no values, {len(context)} missing ones alone; leave the series out")
    rows = np.arange(len(context))
    return np.asarray(np.interp(rows, rows[there], context[there]), dtype=np.float64)


def _normal(centre: Array, deviation: Array, level: float, method: str) -> Forecast:
    half = NormalDist().inv_cdf(0.5 + level / 2) * deviation
    return Forecast(centre, centre - half, centre + half, level, method)


def _rms(errors: Array) -> float:
    return float(np.sqrt(np.mean(errors**2))) if errors.size else 0.0
