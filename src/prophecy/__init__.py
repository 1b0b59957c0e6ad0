"""Predict any dynamical system from its context alone, with no training.

HiPPO-Prophecy's explicit state-space models and what goes beyond them. A newcomer reads `bases`, `constructions`,
`engines.step` and `predictor`, in this order, and has understood the paper.
"""

import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prophecy._forecast import Failure, Forecast
    from prophecy.bases import Basis, fout, legs, legt
    from prophecy.constructions import derivative, next_value
    from prophecy.engines import run
    from prophecy.fleet import Fleet
    from prophecy.predictor import Predictor
    from prophecy.streams import Prophecy
    from prophecy.system import System
    from prophecy.tables import Forecasts, backtest, forecast, forecast_many

__version__ = "0.3.0"

__all__ = [
    "Basis", "Failure", "Fleet", "Forecast", "Forecasts", "Predictor", "Prophecy", "System", "backtest", "derivative",
    "forecast", "forecast_many", "fout", "legs", "legt", "next_value", "run",
]  # fmt: skip

_MODULES = {
    "_forecast": ("Failure", "Forecast"),
    "bases": ("Basis", "fout", "legs", "legt"),
    "constructions": ("derivative", "next_value"),
    "engines": ("run",),
    "fleet": ("Fleet",),
    "predictor": ("Predictor",),
    "streams": ("Prophecy",),
    "system": ("System",),
    "tables": ("Forecasts", "backtest", "forecast", "forecast_many"),
}
_MOVED_TO = {
    "bases": ("ScaledBasis", "fout_as_printed"),
    "constructions": ("exact", "series_derivative"),
    "fading": ("foud", "fourier_decay", "lagt", "legs_invariant"),
    "fleet": ("step_bytes",),
    "system": ("ScaledSystem",),
}
"""Names of version 0.2 and the modules that have them now; they go in the next version."""

_HOMES, _MOVED = (
    {name: module for module, names in table.items() for name in names} for table in (_MODULES, _MOVED_TO)
)


def __getattr__(name: str) -> Any:
    """A name's module is loaded when the name is first asked for, so that the command line starts at once."""
    if name in _HOMES:
        found = globals()[name] = getattr(importlib.import_module(f"prophecy.{_HOMES[name]}"), name)
        return found
    if name in _MOVED:
        import warnings

        home = f"prophecy.{_MOVED[name]}"
        warnings.warn(f"prophecy.{name} is now {home}.{name}", DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(home), name)
    if not name.startswith("_") and importlib.util.find_spec(f"prophecy.{name}"):
        return importlib.import_module(f"prophecy.{name}")
    raise AttributeError(f"module 'prophecy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"Any", "TYPE_CHECKING", "importlib"})
