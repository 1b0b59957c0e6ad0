"""The numbers that steer `forecast`, each with its unit and the reason for it. `forecast(settings=...)` takes others.

`Settings` (`forecasts.py`) holds those of ordinary series, and groups of others: `context` and `known` (`context.py`),
`laboratory` (`laboratory.py`), `laws` (`laws.py`) with its own `shapes` and `exact` (`functions.py`), `hidden`
(`hidden.py`). `replace(DEFAULT, laws=replace(DEFAULT.laws, draws=32))`, with `dataclasses.replace`, is how ablations
are made (benchmarks/forecast_ideas.py).
"""

from prophecy.dynamics.settings.context import ContextSettings, KnownSettings
from prophecy.dynamics.settings.forecasts import DEFAULT, LABORATORY, LAWS, Settings
from prophecy.dynamics.settings.functions import ExactSettings, FunctionSettings
from prophecy.dynamics.settings.hidden import HiddenSettings
from prophecy.dynamics.settings.laboratory import LaboratorySettings
from prophecy.dynamics.settings.laws import BEYOND, LawSettings

__all__ = [
    "BEYOND",
    "DEFAULT",
    "LABORATORY",
    "LAWS",
    "ContextSettings",
    "ExactSettings",
    "FunctionSettings",
    "HiddenSettings",
    "KnownSettings",
    "LaboratorySettings",
    "LawSettings",
    "Settings",
]
