"""All numbers of `forecast`: ordinary series, intervals, hidden forcing; groups of others."""

from __future__ import annotations

from dataclasses import dataclass, field

from prophecy.forecasting.settings import Settings as OrdinarySettings
from prophecy.laws.settings.context import ContextSettings, KnownSettings
from prophecy.laws.settings.hidden import HiddenSettings
from prophecy.laws.settings.laboratory import LaboratorySettings
from prophecy.laws.settings.laws import LawSettings


@dataclass(frozen=True)
class Settings:
    """Passed down from `forecast(settings=...)`; `dataclasses.replace(DEFAULT, ...)` is how ablations are made."""

    #: Candidates of ordinary series, their scorer and their mixture
    ordinary: OrdinarySettings = field(default_factory=OrdinarySettings)

    dependence: float = 0.7  #: correlation of one step's error with the next where nothing was rolled to estimate it
    dependence_law: float = 0.99  #: the same of paths that follow a law: they leave the truth slowly
    between_pairs: float = 8.0  #: errors at which correlations between two variables count about half
    dependence_pairs: float = 16.0  #: pairs of errors at which a step's own correlation counts half, the mean the rest
    unrelated_latest: int = 4096  #: latest samples whose differences far apart bound the widths of a law's intervals
    twins_agree: float = 0.8  #: quantile of rolling errors over twins' distances by which these are scaled: most fit in
    bound_share: float = 0.1  #: of the distance from the median, kept by quantiles that would all lie at a bound
    interval_rounding: float = 1e-8  #: of a value: what integrating an exact law leaves, three times its tolerance
    rolling_span: float = 1.5  #: lengths of the stretch rolled over that errors are taken to come from: origins overlap

    # Hidden periodic forcing (`inputs.py`)
    forcing_variables: int = 3  #: seen at most: the field of degree 3 they are fitted with has 20 terms
    forcing_least: int = 128  #: samples: six for each of those terms
    forcing_periods: float = 4.0  #: that a forcing has at least in them; slower ones are drifts
    #: Share of the unexplained variance that one sinusoid must leave less of: forced systems leave 0 to 0.22 with 1 %
    #: noise, 120 others 0.32 and more
    forcing_left: float = 0.25

    #: Share of what a quadratic field leaves that its terms times a clock leave of that: a parameter that drifts by a
    #: fifth leaves 0.02 with 1 % noise and 0.14 with 3 %, systems without a drift 0.3 to 1.
    drift_left: float = 0.25

    context: ContextSettings = field(default_factory=ContextSettings)  #: how a context is read
    known: KnownSettings = field(default_factory=KnownSettings)  #: regressors known in advance

    hidden: HiddenSettings = field(default_factory=HiddenSettings)  #: fields of which some variables are seen
    laboratory: LaboratorySettings = field(default_factory=LaboratorySettings)  #: models of all variables together
    laws: LawSettings = field(default_factory=LawSettings)  #: fields through noise

    #: Ablations: kinds of candidates that are not tried (names of `columns.Kind`, or REPETITION, LINEAR, WAVES,
    #: ASSIMILATION, FORCING, DRIFT_FIELDS, HIDDEN, POLYNOMIAL_MAPS, KERNEL_MAPS, LABORATORY)
    without: frozenset[str] = frozenset()
    hidden_phases: bool = True  #: give each sinusoid among the variables a partner a quarter period later


DEFAULT = Settings()
LAWS, LABORATORY = DEFAULT.laws, DEFAULT.laboratory
