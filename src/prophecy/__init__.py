"""Predict any dynamical system from its context alone, with no training.

HiPPO-Prophecy's explicit state-space models and what goes beyond them. A newcomer reads `bases`, `constructions`,
`engines.step` and `predictor`, in this order, and has understood the paper.
"""

from typing import TYPE_CHECKING, Any

from prophecy._forecast import Failure, Forecast
from prophecy.adaptive import Prophecy
from prophecy.bases import Basis, ScaledBasis, fout, fout_as_printed, legs, legt
from prophecy.constructions import derivative, exact, next_value, series_derivative
from prophecy.engines import run
from prophecy.fading import foud, fourier_decay, lagt, legs_invariant
from prophecy.predictor import Predictor
from prophecy.system import ScaledSystem, System
from prophecy.tables import backtest, forecast, forecast_many

if TYPE_CHECKING:
    from prophecy.fleet import Fleet, step_bytes

__version__ = "0.2.0"

__all__ = [
    "Basis",
    "Failure",
    "Fleet",
    "Forecast",
    "Predictor",
    "Prophecy",
    "ScaledBasis",
    "ScaledSystem",
    "System",
    "backtest",
    "derivative",
    "exact",
    "forecast",
    "forecast_many",
    "foud",
    "fourier_decay",
    "fout",
    "fout_as_printed",
    "lagt",
    "legs",
    "legs_invariant",
    "legt",
    "next_value",
    "run",
    "series_derivative",
    "step_bytes",
]


def __getattr__(name: str) -> Any:
    """Keyed streams when they are first asked for: they bring SQLite, which `import prophecy` does not."""
    if name in ("Fleet", "step_bytes"):
        from prophecy import fleet

        return getattr(fleet, name)
    raise AttributeError(f"module 'prophecy' has no attribute {name!r}")
