"""All numbers of ordinary forecasts, each with its unit and reason."""

from __future__ import annotations

from dataclasses import dataclass

from prophecy.forecasting.series import Candidate


@dataclass(frozen=True)
class Settings:
    """Values were chosen on every other series of M1, a third of M4's hourly series and ETTh1 (benchmarks/ordinary.py)
    and on the plain series of benchmarks/plain.py, and checked once on the rest, unless another reason is given."""

    longest: int = 6144  #: latest samples that candidates look at: bounds their cost
    longest_seasons: float = 3.0  #: of the longest season given, or told by the dates, that they look at at least

    # Rolling forecasts inside the context
    origins: int = 64  #: forecasts; more cost time and overlap more
    leads: int = 48  #: steps that are rolled at least, so that tomorrow's forecast does not depend on how far one asks
    early: float = 0.5  #: share of the context that candidates are fitted to, before the first origin

    # The scorer
    #: Weights of families before anything is known of their errors
    priors: tuple[tuple[str, float], ...] = (
        ("smoothers", 3.0),  # on short series nothing else comes close; the exact figures matter little
        ("rare", 10.0),
        ("autoregression", 1.0),
        ("waves", 1.0),
        ("map", 1.0),
        ("own", 1.0),
        ("theta", 1.0),
        ("line", 0.5),
        ("readout", 0.5),
        ("seasonal readout", 0.5),
        ("memory readout", 0.5),
        ("profile", 0.5),
        ("long profile", 0.5),
        ("constant", 0.2),
        ("approach", 0.2),
        ("growth", 0.2),
    )
    flatness: float = 0.4  #: power of the likelihood that weights follow: rolled errors overlap and models are wrong
    octave: float = 0.75  #: what the score of one lead says about a lead twice or half as long
    unrolled: float = 0.25  #: quantile of the others' scores that a candidate too long to be rolled is given
    least: float = 1e-3  #: of the largest weight; what has less is left out
    rounding: float = 1e-9  #: standard deviations; errors below this are rounding and count as equal

    # Calibration of the mixture by its own rolling errors
    expected_count: float = 12.0  #: forecasts that what the candidates expect of their errors is worth
    expected_factor: float = 1.4  #: by which errors outside a context exceed that, in the median of M1
    tail_least: float = 2.5  #: degrees of freedom of Student's distribution without rolling forecasts
    tail_most: float = 8.0  #: with many
    tail_forecasts: float = 8.0  #: independent forecasts that add one degree

    # Seasons
    season_cycles: float = 2.0  #: seasons a context must hold: phase means of fewer have no noise to compare to
    season_least_strength: float = 1.0  #: F statistic; below 1 the phases differ less than noise alone would make them
    season_said: float = 2.0  #: F statistic from which notes call a season found: half of its profile is kept
    season_searched: int = 8192  #: samples in which an unknown season is looked for: bounds its cost
    season_peaks: int = 3  #: maxima of the autocorrelation tried beside the periods of the calendar
    season_handicap: float = 6.0  #: nats a period outside the calendar must explain more
    season_strong: float = 0.5  #: share of the variance a season leaves at most to count as what the series is about
    week_least_strength: float = 1.5  #: F statistic of the profile over seven seasons of what one leaves
    multiple_least: int = 2  #: seasons in the longer one that is looked for beside a given one
    multiple_most: int = 16  #: a fortnight of days, a year of months twice over
    multiple_least_likeness: float = 0.2  #: autocorrelation of what one season leaves, at its multiple

    # Outliers
    outlier_deviations: float = 8.0  #: of what an autoregression leaves of the others
    outlier_spreads: float = 1.0  #: spreads of the series: spikes of a law are within
    outlier_gap: float = 2.0  #: times the largest believed: spikes of all sizes are how a series is
    outlier_lags: int = 8  #: values before it that a value is expected from: a week and a day
    outlier_share: float = 0.05  #: of all values at most: what comes more often is how the series is
    outlier_least: int = 16  #: samples below which nothing is set aside: what is usual is hardly known

    # Smoothers
    log_damping: float = 8.0  #: contexts' lengths of growth that logarithms may go on for, spread over all time
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

    # Autoregressions and functions of time
    autoregression_most: int = 8  #: lags
    autoregression_latest: int = 2048  #: values they are solved from
    waves_most: int = 4  #: sinusoids
    approach_constants: int = 40  #: time constants tried, from two samples to twice the context

    # Direct readouts
    readout_windows: int = 4096  #: values they are solved from: more cost time and are older
    readout_most: int = 336  #: lags: two weeks of hours; eigenvalues of a matrix of this size take 25 ms
    readout_seen: float = 0.9  #: share of values that must be there: bridges teach a readout to draw bridges
    readout_seasons: tuple[int, ...] = (1, 2, 7, 14)  #: lags in seasons: a day, two, a week, two weeks
    readout_lags: tuple[int, ...] = (8, 24)  #: lags where there is no season
    readout_ridges: tuple[float, ...] = tuple(10.0 ** (k / 2) for k in range(-10, 3))  #: of the mean eigenvalue
    memory_order: int = 64  #: LegT coefficients of a window of seven seasons: nine for each

    # Mean profiles and rare events
    profile_cycles: tuple[int, ...] = (1, 3, 7, 14, 28)  #: seasons averaged: last day ... last four weeks
    long_profile_cycles: tuple[int, ...] = (1, 2, 4)  #: the same for the longer of two seasons
    rare_zeros: float = 0.3  #: share of zeros from which events count as rare
    rare_rates: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.3)  #: at which estimates follow; Croston's range
    rare_latest: int = 400  #: latest values whose quantiles are those of rare events: a year of days and some
    rare_least: float = 0.25  #: weight from which rare events shape the distribution
    rare_beyond: float = 1.5  #: times the largest value: what lies beyond it where quantiles ask for more values

    own: tuple[Candidate, ...] = ()  #: candidates of the user's
    without: frozenset[str] = frozenset()  #: ablations: families that are not tried

    def prior(self, family: str) -> float:
        """The weight of a family before anything is known of its errors."""
        return dict(self.priors)[family]


DEFAULT = Settings()
