"""Ordinary series: candidates that are predictive distributions, one scorer, and the mixture (docs/forecasting.md)."""
