"""The numbers that steer `forecast`, each with its unit and the reason for it. `forecast(settings=...)` takes others.

`Settings` (`forecasts.py`) holds those of ordinary series, and groups of others: `context` and `known` (`context.py`),
`laboratory` (`laboratory.py`), `laws` (`laws.py`) with its own `shapes` and `exact` (`functions.py`), `hidden`
(`hidden.py`). `replace(DEFAULT, laws=replace(DEFAULT.laws, draws=32))`, with `dataclasses.replace`, is how ablations
are made.
"""

from prophecy.laws.settings.context import ContextSettings, KnownSettings
from prophecy.laws.settings.forecasts import DEFAULT, LABORATORY, LAWS, Settings
from prophecy.laws.settings.functions import ExactSettings, FunctionSettings
from prophecy.laws.settings.hidden import HiddenSettings
from prophecy.laws.settings.laboratory import LaboratorySettings
from prophecy.laws.settings.laws import BEYOND, LawSettings

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
