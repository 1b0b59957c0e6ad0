"""The numbers that steer the search for laws, each with its unit and the reason for it.

`Settings` holds groups: `laws` (`laws.py`) with its own `shapes` and `exact` (`functions.py`),
`hidden` (`hidden.py`). `prophecy.forecasting.settings.Settings` has these too, and is what `forecast(settings=...)`
takes: `replace(DEFAULT, laws=replace(DEFAULT.laws, draws=32))`, with `dataclasses.replace`, makes an ablation.
"""

from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class Settings:
    """What a search for laws needs; `prophecy.forecasting.settings.Settings` adds what forecasts need."""

    least: int = 24  #: samples below which nothing can be solved and checked

    # Inputs that are not seen: a drive or a drift (`inputs.py`)
    input_variables: int = 3  #: seen at most: the field of degree 3 they are fitted with has 20 terms
    forcing_periods: float = 4.0  #: that a forcing has at least in the samples; slower ones are drifts
    #: Share of what a field leaves that it leaves beside a sinusoid, or with its terms times a clock. Driven systems
    #: leave 0 to 0.22 with 1 % noise, 120 others 0.32 and more; a parameter that drifts by a fifth leaves 0.02 with 1 %
    #: noise and 0.14 with 3 %, systems without a drift 0.3 to 1. Of the clock itself the state must leave more: where a
    #: path goes one way, as to rest, time is a function of the state
    input_left: float = 0.25

    hidden: HiddenSettings = field(default_factory=HiddenSettings)  #: fields of which some variables are seen
    laws: LawSettings = field(default_factory=LawSettings)  #: fields through noise

    #: Ablations: what is not tried; ASSIMILATION, FORCING, DRIFT_FIELDS, HIDDEN, and families of candidates
    without: frozenset[str] = frozenset()


DEFAULT = Settings()
LAWS = DEFAULT.laws
