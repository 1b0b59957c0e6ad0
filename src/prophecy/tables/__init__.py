"""Forecasts of tables: frames and dates in, frames, backtests and pictures out. The models are elsewhere."""

from prophecy.tables.backtesting import Backtest, backtest
from prophecy.tables.forecasting import Forecasts, forecast, forecast_many

__all__ = ["Backtest", "Forecasts", "backtest", "forecast", "forecast_many"]
