"""What a forecast is put beside: simple rules with intervals, or any model of the user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy._forecast import Forecast

Array = NDArray[np.float64]
Model = Callable[[Array, int, float, int], Forecast]  # (context, horizon, level, season) -> forecast, (time,) alone


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
        if isinstance(model, str):
            if model not in SIMPLE:
                raise ValueError(f"against names {model!r}; the simple ones are {', '.join(map(repr, SIMPLE))}")
            made[name or model] = SIMPLE[model]
            continue
        title = str(name or getattr(model, "alias", None) or getattr(model, "__name__", None) or type(model).__name__)
        if title in made or title == "prophecy":
            raise ValueError(f"two models are called {title!r}; name them: against={{'one': …, 'other': …}}")
        made[title] = _wrapped(model)
    return made


def _wrapped(model: Any) -> Model:
    if hasattr(model, "clone") and hasattr(model, "fit") and hasattr(model, "predict"):
        return lambda context, horizon, level, season: _sktime(model, context, horizon, level)
    if hasattr(model, "forecast") and hasattr(model, "fit"):
        return lambda context, horizon, level, season: _statsforecast(model, context, horizon, level)
    if callable(model):
        return lambda context, horizon, level, season: _called(model, context, horizon, level)
    raise TypeError(
        f"against takes names, callables f(context, horizon), sktime and statsforecast models, got {model!r}"
    )


def _called(model: Any, context: Array, horizon: int, level: float) -> Forecast:
    """A mean, (mean, lower, upper), or a Forecast."""
    found = model(context, horizon)
    if isinstance(found, Forecast):
        return found
    parts = found if isinstance(found, tuple) else (found,)
    arrays = [np.asarray(part, dtype=np.float64) for part in parts]
    if len(arrays) not in (1, 3) or any(array.shape != (horizon,) for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"a model must return ({horizon},) numbers, or mean, lower and upper, got {shapes}")
    centre, lower, upper = arrays if len(arrays) == 3 else arrays * 3
    return Forecast(centre, lower, upper, level, "given")


def _sktime(model: Any, context: Array, horizon: int, level: float) -> Forecast:
    import pandas as pd

    steps = list(range(1, horizon + 1))
    fresh = model.clone().fit(pd.Series(_filled(context)), fh=steps)
    mean = np.asarray(fresh.predict(fh=steps), dtype=np.float64).reshape(-1)
    if not fresh.get_tag("capability:pred_int", raise_error=False):
        return Forecast(mean, mean, mean, level, type(model).__name__)
    interval = np.asarray(fresh.predict_interval(fh=steps, coverage=level), dtype=np.float64)
    return Forecast(mean, interval[:, 0], interval[:, 1], level, type(model).__name__)


def _statsforecast(model: Any, context: Array, horizon: int, level: float) -> Forecast:
    percent = round(100 * level, 6)
    percent = int(percent) if float(percent).is_integer() else percent
    found = model.forecast(y=_filled(context), h=horizon, level=[percent])
    mean = np.asarray(found["mean"], dtype=np.float64)
    lower, upper = (np.asarray(found.get(f"{side}-{percent}", mean), dtype=np.float64) for side in ("lo", "hi"))
    return Forecast(mean, lower, upper, level, type(model).__name__)


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
