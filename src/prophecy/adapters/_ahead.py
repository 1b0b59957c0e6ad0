"""Forecasts of a `Prophecy` however little it has seen."""

from __future__ import annotations

import numpy as np

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
