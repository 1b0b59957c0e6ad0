"""Differential equations from samples: several variables, noise, hidden variables, known inputs (docs/laws.md)."""
