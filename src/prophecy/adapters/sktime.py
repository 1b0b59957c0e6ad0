"""A forecaster for sktime (extra `sktime`)."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sktime.forecasting.base import BaseForecaster

from prophecy._arrays import Indices
from prophecy._checks import SHORTEST
from prophecy._forecast import Forecast
from prophecy.adapters import ahead
from prophecy.forecasting import forecast as solve
from prophecy.forecasting.known import Known
from prophecy.streams import Prophecy


class ProphecyForecaster(BaseForecaster):  # type: ignore[misc]
    """Forecasts with `prophecy.Prophecy`: nothing is trained, `fit` only reads the series.

    `update` observes the new values alone, at a cost that depends on their number and not on what was seen before.
    `X`, where given to `fit`, `update` and `predict`, is what is known in advance (`known` of `prophecy.forecast`).
    context: how many past values are kept for forecasts of many steps.

    >>> from sktime.datasets import load_airline
    >>> from prophecy.adapters.sktime import ProphecyForecaster
    >>> forecaster = ProphecyForecaster().fit(load_airline(), fh=[1, 2, 3])
    >>> forecaster.predict().index.astype(str).tolist()
    ['1961-01', '1961-02', '1961-03']
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": ["The prophecy authors"],
        "maintainers": ["The prophecy authors"],
        "python_dependencies": ["hippo-prophecy"],
        "capability:multivariate": False,
        "capability:exogenous": True,
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:missing_values": True,
        "capability:update": True,
        "requires-fh-in-fit": False,
        "y_inner_mtype": "pd.Series",
        "X_inner_mtype": "pd.DataFrame",
    }

    def __init__(self, context: int = 2048) -> None:
        self.context = context
        with warnings.catch_warnings():
            # sktime announces a new default for forecasters that refit at every update; this one never does.
            warnings.filterwarnings("ignore", message=".*remember_data.*", category=FutureWarning)
            super().__init__()

    def _fit(self, y: pd.Series, X: Any = None, fh: Any = None) -> Self:
        self.model_ = Prophecy(context=self.context)
        self.model_.observe(_values(y))
        self._seen, self._name = y.index[-1], y.name
        self._beside, self._recent = None if X is None else X.tail(self.context), _values(y)[-self.context :]
        return self

    def _update(self, y: pd.Series, X: Any = None, update_params: bool = True) -> Self:
        """Observe what is new; the state must follow the data whether or not parameters may change."""
        new = y[y.index > self._seen]
        if len(new):
            self.model_.observe(_values(new))
            self._seen, self._recent = new.index[-1], np.concatenate([self._recent, _values(new)])[-self.context :]
            known = self._beside is not None and X is not None  # after rows without regressors they are unknown
            self._beside = pd.concat([self._beside, X.loc[new.index]]).tail(self.context) if known else None
        return self

    def _predict(self, fh: Any, X: Any = None) -> pd.Series:
        steps = self._steps(fh)
        mean = np.asarray(self._forecast(steps, 0.9, fh, X).point)
        return pd.Series(mean[steps - 1], index=fh.to_absolute_index(self.cutoff), name=self._name)

    def _predict_interval(self, fh: Any, X: Any, coverage: list[float]) -> pd.DataFrame:
        steps = self._steps(fh)
        name = self._get_varnames()[0]
        columns = pd.MultiIndex.from_product([[name], coverage, ["lower", "upper"]])
        made = pd.DataFrame(index=fh.to_absolute_index(self.cutoff), columns=columns, dtype=float)
        for level in coverage:
            # sktime asks for level 0 to get a median, and may ask for 1.
            ahead = self._forecast(steps, float(min(max(level, 1e-9), 1 - 1e-9)), fh, X)
            made[(name, level, "lower")] = np.asarray(ahead.lower)[steps - 1]
            made[(name, level, "upper")] = np.asarray(ahead.upper)[steps - 1]
        return made

    def _forecast(self, steps: Indices, level: float, fh: Any, X: Any) -> Forecast:
        if X is not None and self._beside is not None and len(self._recent) >= SHORTEST:
            return solve(self._recent, int(steps.max()), level, known=self._known(self._beside, steps, fh, X))
        return ahead(self.model_, int(steps.max()), level)

    def _known(self, past: pd.DataFrame, steps: Indices, fh: Any, X: pd.DataFrame) -> Known:
        """Regressors of the past and of every step ahead; steps nobody asked for are bridged from those before."""
        ahead = pd.DataFrame(index=np.arange(1, int(steps.max()) + 1), columns=X.columns, dtype=float)
        rows = X.reindex(fh.to_absolute_index(self.cutoff)).to_numpy(dtype=np.float64)
        ahead.loc[steps] = rows
        both = np.concatenate([past.to_numpy(dtype=np.float64), ahead.ffill().bfill().to_numpy()])
        return Known(both, tuple(map(str, X.columns)))

    def _steps(self, fh: Any) -> Indices:
        return np.asarray(fh.to_relative(self.cutoff), dtype=np.intp)

    def _get_fitted_params(self) -> dict[str, Any]:
        return {"count": self.model_.count}

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Settings sktime's own tests use."""
        return [{"context": 8}, {"context": 10}]


def _values(y: pd.Series) -> Any:
    return y.to_numpy(dtype=np.float64, na_value=np.nan)
