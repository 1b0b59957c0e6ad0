"""All numbers of forecasts, each with its unit and reason. `forecast(settings=...)` takes others."""

from dataclasses import dataclass

from prophecy.forecasting.series import Candidate
from prophecy.laws.settings import Settings as LawSettings


@dataclass(frozen=True)
class Settings(LawSettings):
    """Those of laws, and those below: `dataclasses.replace(DEFAULT, ...)` is how ablations are made.

    Values were chosen on M1, a part of M4's hourly series and ETTh1 (benchmarks/ordinary.py), on the plain series of
    benchmarks/plain.py and on the chaotic systems of benchmarks/forecast_dev.py, unless another reason is given.
    """

    # Reading a context
    longest: int = 6144  #: latest samples that candidates look at: bounds their cost
    longest_seasons: float = 3.0  #: of the longest season given, or told by the dates, that they look at at least
    per_period: int = 16  #: samples of the fastest period that are plenty: more are thinned
    kept: int = 512  #: samples that thinning must leave
    sinusoid: float = 0.25  #: standard deviations: how far a variable that drives the others may be off a sinusoid
    #: Of the noise seen in high differences: what a sinusoid that drives a system leaves is 1.1 at most (30 systems of
    #: dysts, noise 0 to 20 %); oscillations of a system itself leave 1.2 or more, hundreds without noise.
    sinusoid_noise: float = 1.5
    sinusoid_clean: float = 1e-4  #: standard deviations: and this much whatever the noise; integrated drives wander
    overdue: float = 0.125  #: share of the samples: incomplete ones at the end, up to so many, are forecast as well

    # Outliers
    outlier_deviations: float = 8.0  #: of what an autoregression leaves of the others
    outlier_gap: float = 2.0  #: times the largest believed: spikes of all sizes are how a series is
    outlier_share: float = 0.05  #: of all values at most: what comes more often is how the series is

    # Rolling forecasts inside the context
    origins: float = 4.0  #: times the root of the samples rolled over: forecasts; more cost time and overlap more
    leads: int = 48  #: steps that are rolled at least, so that tomorrow's forecast does not depend on how far one asks
    rolled: tuple[float, float] = (8.0, 0.125)  #: samples rolled over: times the context's root, or share; the larger

    # The scorer
    #: Weights of families before anything is known of their errors; 1 where nothing is said
    priors: tuple[tuple[str, float], ...] = (("rare", 10.0), ("waves", 4.0), ("autoregression", 3.0))
    power_prior: float = 0.15  #: weight that a curve costs: a line, growth that saturates; a parabola twice
    flatness: float = 0.5  #: power of the likelihood that weights follow: rolled errors overlap and models are wrong
    tails: float = 5.0  #: degrees of freedom of the likelihood: a shift or a wild value does not decide alone
    octave: float = 16.0  #: forecasts that any number of them are worth, at most, at a lead twice as long
    least_weight: float = 1e-2  #: of the largest weight; what has less is left out
    rounding: float = 1e-9  #: standard deviations; errors below this are rounding and count as equal
    scouted: float = 5.0  #: times the best weight of one variable's candidates: a scout with more lets the costly in

    # Calibration of the mixture by its own rolling errors
    expected_count: float = 20.0  #: forecasts that what the candidates expect of their errors is worth
    dependence: float = 0.7  #: correlation of one step's error with the next where nothing was rolled to estimate it
    dependence_law: float = 0.99  #: the same of paths that follow a law: they leave the truth slowly
    dependence_pairs: float = 16.0  #: pairs of errors at which their own correlation counts half
    bound_share: float = 0.1  #: of the distance from the median, kept by quantiles that would all lie at a bound
    interval_rounding: float = 1e-8  #: of a value: what integrating an exact law leaves, three times its tolerance

    # Seasons
    season_cycles: float = 2.0  #: seasons a context must hold: phase means of fewer have no noise to compare to
    season_peaks: int = 3  #: maxima of the autocorrelation tried beside the periods of the calendar
    season_handicap: float = 6.0  #: nats a period outside the calendar must explain more

    # Smoothers: grids of gains, finer where they are small, because errors change faster there
    level_gains: int = 10  #: from 0 to 1
    slope_gains: tuple[int, float] = (5, 0.7)  #: how many, and the largest, as a share of the level's
    slope_dampings: tuple[int, float] = (4, 0.8)  #: how many, and the strongest per step; slopes below are soon gone
    season_gains: tuple[int, float] = (4, 0.6)  #: how many, and the largest, of what the level leaves
    smoothed: int = 1024  #: samples before the first origin that they run over: what is older has faded
    season_states: int = 400  #: samples of the longest season that systems keep states for: memory, 24 kB each

    # Other candidates of one variable
    autoregression_most: int = 8  #: lags: a week and a day
    waves_most: int = 4  #: sinusoids
    readout_most: int = 336  #: lags: two weeks of hours; eigenvalues of a matrix of this size take 25 ms
    readout_seen: float = 0.9  #: share of values that must be there: bridges teach a readout to draw bridges
    seasons_back: int = 14  #: seasons that readouts see and mean profiles average: two weeks of days
    readout_lags: tuple[int, ...] = (8, 24)  #: lags where there is no season
    readout_ridges: tuple[float, float] = (1e-5, 10.0)  #: of the mean eigenvalue: smallest and largest tried
    memory_order: int = 64  #: LegT coefficients of a window of seven seasons: nine for each
    rare_ties: float = 0.3  #: share of values that equal the least or the largest, from which others are rare events
    rare_rates: tuple[float, ...] = (0.0, 0.05, 0.2)  #: at which estimates follow; Croston's range, and not at all
    rare_least: float = 0.25  #: weight from which rare events shape the distribution

    # Candidates of all variables together; ridges are shares of the largest singular value, 1e-12 being rounding
    repeated: tuple[int, ...] = (4, 12, 30, 80)  #: samples that must be alike
    wave_pairs: tuple[int, ...] = (2, 8, 32)  #: of waves that neither grow nor fade
    ridges: tuple[float, float] = (1e-12, 1e-6)  #: exact samples, and noisy ones
    map_features: int = 130  #: most a polynomial map may have: a quarter of 512 samples
    kernel_delays: tuple[tuple[int, int], ...] = ((4, 1), (8, 1), (6, 8))  #: samples, and how far apart
    kernel_widths: tuple[float, ...] = (0.7, 2.5, 8.0)  #: of the states' standard deviation
    kernel_tuned: int = 240  #: states that width and nugget are chosen from: bounds the cost
    determined: float = 0.8  #: of the equations: models with more unknowns are not solved
    #: Share of its size that the rise after a sample may have when the others are known (`maps.left_open`): with less,
    #: all variables are seen. The least of 138 pairs and triples from systems with one variable more has 0.041; of the
    #: 43 development systems with all variables seen three quarters have less than 0.028.
    complete: float = 0.03

    # Regressors known in advance
    known_cost: float = 1.0  #: nats that an effect of each must explain

    own: tuple[Candidate, ...] = ()  #: candidates of the user's
    negative: bool = False  #: whether bounds of the user's let values be negative that never were

    def prior(self, candidate: Candidate) -> float:
        """The weight of a candidate before anything is known of its errors."""
        return dict(self.priors).get(candidate.family, 1.0) * candidate.share


DEFAULT = Settings()
