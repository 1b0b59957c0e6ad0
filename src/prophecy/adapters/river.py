"""A forecaster for river (extra `river`)."""

from typing import Any

import numpy as np
from river.time_series.base import Forecaster

from prophecy.adapters import ahead
from prophecy.streams import Prophecy


class ProphecyForecaster(Forecaster):  # type: ignore[misc]
    """Forecasts with `prophecy.Prophecy`, one value at a time; there is nothing to tune.

    One step ahead comes from the whole bank. More steps come from `prophecy.forecast` over the last `context` values,
    which takes tens of milliseconds for each call.

    >>> import math
    >>> model = ProphecyForecaster()
    >>> for k in range(200):
    ...     model.learn_one(math.sin(k / 10))
    >>> round(model.forecast(horizon=1)[0] - math.sin(20), 9)
    0.0
    """

    def __init__(self, context: int = 512) -> None:
        self.context = context
        self._model = Prophecy(context=context)

    def learn_one(self, y: float, x: dict[Any, Any] | None = None) -> None:
        """Observe the next value; `None` and NaN are gaps. Exogenous features are not used."""
        self._model.observe(np.nan if y is None else float(y))

    def forecast(self, horizon: int, xs: list[dict[Any, Any]] | None = None) -> list[float]:
        """The next `horizon` values; 0 before the first, as river's metrics take numbers alone."""
        if self._model.count == 0:
            return [0.0] * horizon
        return [float(value) for value in np.asarray(ahead(self._model, horizon).point)]
