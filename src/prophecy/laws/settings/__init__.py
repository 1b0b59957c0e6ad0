"""The numbers that steer the search for laws, each with its unit and the reason for it.

`Settings` (`forecasts.py`) holds groups: `laws` (`laws.py`) with its own `shapes` and `exact` (`functions.py`),
`hidden` (`hidden.py`). `prophecy.forecasting.settings.Settings` has these too, and is what `forecast(settings=...)`
takes: `replace(DEFAULT, laws=replace(DEFAULT.laws, draws=32))`, with `dataclasses.replace`, makes an ablation.
"""

from prophecy.laws.settings.forecasts import DEFAULT, LAWS, Settings
from prophecy.laws.settings.functions import ExactSettings, FunctionSettings
from prophecy.laws.settings.hidden import HiddenSettings
from prophecy.laws.settings.laws import BEYOND, LawSettings

__all__ = [
    "BEYOND",
    "DEFAULT",
    "LAWS",
    "ExactSettings",
    "FunctionSettings",
    "HiddenSettings",
    "LawSettings",
    "Settings",
]
