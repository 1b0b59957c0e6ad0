"""The same predictor inside other libraries: one file and one extra each, imported by its own name.

`sktime` and `river` (forecasters), `sklearn` (transformer), `statsforecast` (model), `pynumdiff` (derivatives, for
PyNumDiff and PySINDy), `spark` (functions of frames), `dask` (tables in many files). They hold no model.
"""

import numpy as np

from prophecy._arrays import Array
from prophecy._checks import SHORTEST
from prophecy._forecast import Forecast
from prophecy.streams import Prophecy


def ahead(model: Prophecy, horizon: int, level: float = 0.9) -> Forecast:
    """(horizon,) values: one from the bank, more from `forecasting`; the bank's repeated in short contexts."""
    if horizon > 1 and model.count >= SHORTEST:
        return model.forecast(horizon, level)
    now = model.predict(level)
    mean, lower, upper = (np.full(horizon, part) for part in (now.point, now.lower, now.upper))
    return Forecast(mean, lower, upper, level=level, method=now.method, notes=now.notes)


def causal(rows: Array, dt: float) -> tuple[Array, Array]:
    """After every row of (time, variables): the next value predicted, and the derivative."""
    model = Prophecy(rows.shape[1], dt=dt, context=1)
    following, slope = np.empty(rows.shape), np.empty(rows.shape)
    for k, row in enumerate(rows):
        model.observe(row)
        following[k], slope[k] = model.predict().point, model.derivative()
    return following, slope
