"""The next values of a series from its own past: candidates that are predictive distributions, one scorer, and the
mixture (docs/forecasting.md)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prophecy.forecasting.entry import forecast, forecast_many

__all__ = ["forecast", "forecast_many"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from prophecy.forecasting import entry

        return getattr(entry, name)
    raise AttributeError(f"module 'prophecy.forecasting' has no attribute {name!r}")
