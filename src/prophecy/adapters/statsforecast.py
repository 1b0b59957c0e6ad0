"""A model for statsforecast (extra `statsforecast`), and through it for Spark, Dask and Ray."""

from typing import Any, Self

import numpy as np
from statsforecast.models import _TS

from prophecy._arrays import Array
from prophecy.forecasting import forecast
from prophecy.streams import Prophecy


class ProphecyModel(_TS):  # type: ignore[misc]
    """`prophecy.forecast` of each series by itself; nothing is trained, and no season has to be named.

    Intervals are the forecast's own unless `prediction_intervals` asks for conformal ones.

    Use it as `StatsForecast(models=[ProphecyModel()], freq="D").forecast(df=df, h=7, level=[90])`.
    """

    uses_exog = False

    def __init__(self, alias: str = "Prophecy", prediction_intervals: Any = None) -> None:
        self.alias = alias
        self.prediction_intervals = prediction_intervals

    def fit(self, y: Array, X: Any = None) -> Self:
        """Keep the series y (time,), and how each value would have been predicted from those before it."""
        values = np.asarray(y, dtype=np.float64)
        self.model_ = {"y": values, **_in_sample(values, None)}
        self._store_cs(y=values, X=X)
        return self

    def predict(self, h: int, X: Any = None, level: list[float] | None = None) -> dict[str, Array]:
        """The `h` values after the series given to `fit`: mean and bounds, (h,) each."""
        return self._ahead(self.model_["y"], h, level, stored=True)

    def predict_in_sample(self, level: list[float] | None = None) -> dict[str, Array]:
        """One-step predictions (time,) of the series given to `fit`; the first value stands for itself."""
        return _in_sample(self.model_["y"], level)

    def forecast(
        self,
        y: Array,
        h: int,
        X: Any = None,
        X_future: Any = None,
        level: list[float] | None = None,
        fitted: bool = False,
    ) -> dict[str, Array]:
        """The `h` values after y (time,), (h,) each, without keeping anything."""
        values = np.asarray(y, dtype=np.float64)
        made = self._ahead(values, h, level, stored=False)
        return {**made, **_in_sample(values, level)} if fitted else made

    def _ahead(self, y: Array, h: int, level: list[float] | None, stored: bool) -> dict[str, Array]:
        ahead = forecast(y, h)
        made = {"mean": np.asarray(ahead.point)}
        if level is None:
            return made
        if self.prediction_intervals is not None:
            levels = sorted(level)
            if stored:
                return dict(self._add_predict_conformal_intervals(made, levels))
            return dict(self._add_conformal_intervals(fcst=made, y=y, X=None, level=levels))
        for percent in sorted(level):
            lower, upper = ahead.quantile([0.5 - percent / 200, 0.5 + percent / 200])
            made |= {f"lo-{percent}": lower, f"hi-{percent}": upper}
        return made


def _in_sample(y: Array, level: list[float] | None) -> dict[str, Array]:
    made: dict[str, Array] = {}
    for percent in [None, *sorted(level or [])]:
        track = Prophecy(context=1).follow(y, 0.9 if percent is None else percent / 100)
        mean, lower, upper = (np.concatenate([y[:1], part[1:]]) for part in track[:3])
        made["fitted"] = mean
        if percent is not None:
            made |= {f"fitted-lo-{percent}": lower, f"fitted-hi-{percent}": upper}
    return made
