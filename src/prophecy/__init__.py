"""Predict any dynamical system from its context alone, with no training.

HiPPO-Prophecy's explicit state-space models and what goes beyond them. A newcomer reads `bases`, `constructions`,
`engines.step` and `predictor`, in this order, and has understood the paper.
"""

from typing import TYPE_CHECKING, Any

from prophecy._forecast import Failure, Forecast
from prophecy.adaptive import Prophecy
from prophecy.bases import Basis, fout, legs, legt
from prophecy.constructions import derivative, next_value
from prophecy.engines import run
from prophecy.predictor import Predictor
from prophecy.system import System
from prophecy.tables import Forecasts, backtest, forecast, forecast_many

if TYPE_CHECKING:
    from prophecy.fleet import Fleet

__version__ = "0.2.0"

__all__ = [
    "Basis",
    "Failure",
    "Fleet",
    "Forecast",
    "Forecasts",
    "Predictor",
    "Prophecy",
    "System",
    "backtest",
    "derivative",
    "forecast",
    "forecast_many",
    "fout",
    "legs",
    "legt",
    "next_value",
    "run",
]

_MOVED = {
    "ScaledBasis": "bases",
    "ScaledSystem": "system",
    "exact": "constructions",
    "foud": "fading",
    "fourier_decay": "fading",
    "fout_as_printed": "bases",
    "lagt": "fading",
    "legs_invariant": "fading",
    "series_derivative": "constructions",
    "step_bytes": "fleet",
}
"""Names of version 0.2 and the modules that have them now; they go in the next version."""


def __getattr__(name: str) -> Any:
    """`Fleet` when it is first asked for: it brings SQLite, which `import prophecy` does not."""
    import importlib

    if name == "Fleet":
        return importlib.import_module("prophecy.fleet").Fleet
    if name in _MOVED:
        import warnings

        home = f"prophecy.{_MOVED[name]}"
        warnings.warn(f"prophecy.{name} is now {home}.{name}", DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'prophecy' has no attribute {name!r}")
