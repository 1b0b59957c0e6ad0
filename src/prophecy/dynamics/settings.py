"""The numbers that steer `forecast`, each with its unit and the reason for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Passed down from `forecast(settings=...)`; `dataclasses.replace(DEFAULT, ...)` is how ablations are made."""


DEFAULT = Settings()
