"""The next values of a series from its own past: candidates that are predictive distributions, one scorer, and the
mixture (docs/forecasting.md)."""

from prophecy.forecasting.entry import forecast

__all__ = ["forecast"]
