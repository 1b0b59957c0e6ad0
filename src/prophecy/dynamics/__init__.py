"""Dynamics solved in context: many steps, many variables, no training."""

from prophecy.dynamics.forecasting import forecast, forecast_many

__all__ = ["forecast", "forecast_many"]
