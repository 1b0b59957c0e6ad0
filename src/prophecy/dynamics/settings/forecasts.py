"""All numbers of `forecast`: rolling, seasons, smoothers, mixing, intervals, hidden variables; groups of others."""

from __future__ import annotations

from dataclasses import dataclass, field

from prophecy.dynamics.settings.context import ContextSettings, KnownSettings
from prophecy.dynamics.settings.hidden import HiddenSettings
from prophecy.dynamics.settings.laboratory import LaboratorySettings
from prophecy.dynamics.settings.laws import LawSettings


@dataclass(frozen=True)
class Settings:
    """Passed down from `forecast(settings=...)`; `dataclasses.replace(DEFAULT, ...)` is how ablations are made.

    Unless another reason is given, values were chosen on every other series of M1, a third of M4's hourly series and
    ETTh1 (benchmarks/ordinary.py), and checked once on the rest.
    """

    # Rolling forecasts inside the context
    rolling_forecasts: int = 16  #: origins; more cost time and overlap more
    rolling_long: int = 200  #: samples from which a context is rolled over its last 30 % rather than 45 %
    rolling_early_long: float = 0.7  #: share of a long context that candidates are fitted to, before the first origin
    rolling_early_short: float = 0.55  #: the same of a short one

    # Seasons
    season_cycles: float = 2.0  #: seasons a context must hold: phase means of fewer have no noise to compare to
    season_least_strength: float = 1.0  #: F statistic; below 1 the phases differ less than noise alone would make them
    season_said: float = 2.0  #: F statistic from which notes call a season found: half of its profile is kept
    season_shrinkage: float = 1.0  #: of James and Stein, in units of the noise; 1 is their own
    season_searched: int = 8192  #: samples in which an unknown season is looked for: bounds its cost
    season_peaks: int = 3  #: maxima of the autocorrelation tried beside the periods of the calendar
    season_handicap: float = 6.0  #: nats a period outside the calendar must explain more
    season_least_merit: float = 0.0  #: nats by which Akaike's criterion must gain
    season_strong: float = 0.5  #: share of the variance a season leaves at most to count as what the series is about
    week_least_strength: float = 1.5  #: F statistic of the profile over seven seasons of what one leaves
    multiple_least: int = 2  #: seasons in the longer one that is looked for beside a given one
    multiple_most: int = 16  #: a fortnight of days, a year of months twice over
    multiple_least_likeness: float = 0.2  #: autocorrelation of what one season leaves, at its multiple

    # Outliers
    outlier_least: int = 16  #: samples below which nothing is set aside: the range around is hardly known
    outlier_around: int = 24  #: samples on either side that define what is usual: a day of hours, two years of months
    outlier_ranges: float = 2.0  #: times their range: 11 deviations of white noise, five amplitudes of a season
    outlier_most: int = 2  #: runs; more are how the series is
    #: Of the larger's height, from which two runs on one side are taken for a spike that recurs
    outlier_alike: float = 0.5

    outliers_compared: int = 16  #: samples that stand out most, looked at more closely: bounds the cost

    longest: int = 6144  #: latest samples that ordinary candidates look at: bounds their cost

    # Smoothers
    log_damping: float = 4.0  #: contexts' lengths of growth that logarithms may go on for, spread over all time
    slope_fade: float = 0.125  #: a slope learned from the last n values goes on for about eight times as many
    smoothed: int = 1024  #: samples before the first origin that they run over: what is older has faded
    #: Gains of a smoother's level: a grid over 0 ... 1, finer where errors change faster with it
    level_gains: tuple[float, ...] = (0.0, 0.05, *(k / 10 for k in range(1, 11)))
    level_gains_seasonal: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0)  #: beside season states
    slope_gains: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7)  #: of the slope, as shares of the level's
    slope_gains_seasonal: tuple[float, ...] = (0.0, 0.05, 0.15, 0.4)  #: beside season states
    slope_dampings: tuple[float, ...] = (0.8, 0.9, 0.95, 0.98, 1.0)  #: per step; slopes below 0.8 are gone in ten steps
    slope_dampings_seasonal: tuple[float, ...] = (0.8, 0.9, 0.97, 1.0)  #: beside season states
    season_gains: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.35, 0.6)  #: of season states, of what the level leaves
    season_states: int = 400  #: samples of the longest season that systems keep states for: memory, 24 kB each

    # Direct readouts
    readout_windows: int = 4096  #: values they are solved from: more cost time and are older
    readout_most: int = 336  #: lags: two weeks of hours; eigenvalues of a matrix of this size take 25 ms
    readout_seen: float = 0.9  #: share of values that must be there: bridges teach a readout to draw bridges
    readout_seasons: tuple[int, ...] = (1, 2, 7, 14)  #: lags in seasons: a day, two, a week, two weeks
    readout_lags: tuple[int, ...] = (8, 24)  #: lags where there is no season
    readout_ridges: tuple[float, ...] = tuple(10.0 ** (k / 2) for k in range(-10, 3))  #: of the mean eigenvalue
    hippo_order: int = 64  #: LegT coefficients of a window of seven seasons: nine for each

    # Mean profiles
    profile_cycles: tuple[int, ...] = (1, 3, 7, 14, 28)  #: seasons averaged: last day ... last four weeks
    long_profile_cycles: tuple[int, ...] = (1, 2, 4)  #: the same for the longer of two seasons
    rare_zeros: float = 0.3  #: share of zeros from which events count as rare

    # Mixing
    #: Weights of kinds of candidates (`columns.Kind`) before anything is known of their errors
    priors: tuple[tuple[str, float], ...] = (
        ("SMOOTHERS", 3.0),  # on short series nothing else comes close; the exact figures matter little (0.3 %)
        ("LOG_SMOOTHERS", 3.0),
        ("THETA", 0.25),  # good with seasons, 30 % behind on yearly series that grow
        ("READOUT", 0.5),
        ("SEASONAL_READOUT", 0.25),
        ("HIPPO_READOUT", 0.25),
        ("PROFILE", 0.75),
        ("LONG_PROFILE", 0.5),
        ("COPY", 0.05),
        ("DRIFT", 0.1),
        ("GROWTH", 0.05),
        ("RARE", 3.0),
        ("LABORATORY", 1.0),
    )
    mixing_power: float = 10.0  #: weights fall with this power of the relative error once there are many forecasts
    mixing_folds: float = 16.0  #: rolling forecasts at which half of that power is reached
    mixing_unrolled: float = 0.75  #: quantile of the rolled candidates' errors that one too long to be rolled is given
    rare_least: float = 0.25  #: weight from which rare events shape the distribution
    mixing_least: float = 1e-3  #: of the largest weight; what has less is left out
    mixing_rounding: float = 1e-9  #: standard deviations; errors below this are rounding and count as equal

    # Intervals: what errors outside a context were, relative to what smoothers expected, on every other series of M1
    scale_floor: float = 0.9  #: factor on the standard deviation that smoothers expect
    #: Samples: the factor grows by this over the length, for what the grid was free to choose
    scale_samples: float = 6.0
    scale_short: float = 12.0  #: samples: and by this times step / length², because short trends end soon
    scale_refit: float = 0.7  #: what solving again from everything, not 70 % of it, does to errors of readouts
    scale_skill_folds: float = 2.0  #: independent rolling forecasts at which half of the mixture's lead is trusted
    scale_folds: float = 10.0  #: the same for how much worse than expected smoothers rolled: a noisier ratio
    disagreement: float = 1.0  #: share of the candidates' standard deviation around their mean that is added
    scale_spans: float = 4.0  #: steps a context must be long before past differences bound the scale
    tail_least: float = 2.3  #: degrees of freedom of Student's distribution for the shortest contexts
    tail_most: float = 5.0  #: degrees of freedom for long contexts
    tail_samples: float = 40.0  #: samples that add a degree of freedom, beyond the first twenty
    rare_rates: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.3)  #: at which estimates follow; Croston's range
    rare_latest: int = 400  #: latest values whose quantiles are those of rare events: a year of days and some
    rare_beyond: float = 1.5  #: times the largest value: what lies beyond it where quantiles ask for more values
    dependence: float = 0.7  #: correlation of one step's error with the next where nothing was rolled to estimate it
    dependence_law: float = 0.99  #: the same of paths that follow a law: they leave the truth slowly
    between_pairs: float = 8.0  #: errors at which correlations between two variables count about half
    dependence_pairs: float = 16.0  #: pairs of errors at which a step's own correlation counts half, the mean the rest
    unrelated_latest: int = 4096  #: latest samples whose differences far apart bound the widths of a law's intervals
    twins_agree: float = 0.8  #: quantile of rolling errors over twins' distances by which these are scaled: most fit in
    bound_share: float = 0.1  #: of the distance from the median, kept by quantiles that would all lie at a bound
    interval_rounding: float = 1e-8  #: of a value: what integrating an exact law leaves, three times its tolerance
    rolling_span: float = 1.5  #: lengths of the stretch rolled over that errors are taken to come from: origins overlap

    # Hidden periodic forcing (`forcing.py`)
    forcing_variables: int = 3  #: seen at most: the field of degree 3 they are fitted with has 20 terms
    forcing_least: int = 128  #: samples: six for each of those terms
    forcing_most: int = 1024  #: latest samples looked at
    forcing_periods: float = 4.0  #: that a forcing has at least in them; slower ones are drifts
    forcing_worth: float = 0.8  #: as `forcing_left`, before the frequency is refined: half a period off leaves 0.8
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
    law_behind: float = 1.1  #: of the rolling error of repetition or autoregression: a law that has more is none
    laws: LawSettings = field(default_factory=LawSettings)  #: fields through noise

    #: Ablations: kinds of candidates that are not tried (names of `columns.Kind`, or REPETITION, LINEAR, WAVES,
    #: ASSIMILATION, FORCING, DRIFT_FIELDS, HIDDEN, POLYNOMIAL_MAPS, KERNEL_MAPS, LABORATORY)
    without: frozenset[str] = frozenset()
    hidden_phases: bool = True  #: give each sinusoid among the variables a partner a quarter period later

    def tail_freedom(self, samples: int) -> float:
        """Degrees of freedom of Student's distribution for a context of so many samples."""
        return min(max(self.tail_least + (samples - 20) / self.tail_samples, self.tail_least), self.tail_most)

    def prior(self, kind: str) -> float:
        """The weight of a kind of candidate before anything is known of its errors."""
        return dict(self.priors)[kind]


DEFAULT = Settings()
LAWS, LABORATORY = DEFAULT.laws, DEFAULT.laboratory
