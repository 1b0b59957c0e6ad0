"""What steers the laboratory: models of all variables together, ranked by rolling forecasts inside the context."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LaboratorySettings:
    """Maps, waves, autoregressions and repetition (`candidates.py`), and how they compete (`tournament.py`).

    Which memories, degrees and ridges are tried was chosen on the development systems of benchmarks/forecast_dev.py:
    few of each, a factor of two to four apart.
    """

    # The glance that lets a series in
    least: int = 24  #: samples below which nothing of it can be solved and checked
    glance: float = 0.6  #: share of the steps' size that a quick look may leave unexplained
    glance_several: float = 0.8  #: the same for several variables, which together say more than a glance
    glance_seasonal: float = 0.2  #: the same where a strong season explains the series already
    #: Standard deviations that a kernel of delays may be off three paces ahead for a series with a strong season to be
    #: let in all the same: three turns of a chaotic oscillator are a season too (0.02 with 1 % noise, 0.1 with 5 %);
    #: two thirds of M4's hourly series have more, and three times the cost inside.
    seasonal_ahead: float = 0.125
    seasonal_delays: int = 6  #: samples of that kernel's memory, a pace apart
    glanced: int = 512  #: latest samples of that look: bounds its cost
    glance_lags: int = 4  #: lags of that look

    # The competition
    rolled: int = 16  #: rolling forecasts; more cost time and overlap more
    rolled_early: float = 0.7  #: share of the context that models are fitted to, before the first of them
    good_enough: float = 0.0003  #: standard deviations; rolling forecasts this close end the search
    exact: float = 1e-6  #: standard deviations; a residual that only the true equations leave
    glance_origins: int = 256  #: moments of the rest that a candidate's one-step error is taken at
    first_stretch: int = 16  #: steps after which a candidate twice as bad as the best is given up
    slight: float = 0.02  #: standard deviations; scores closer than this count as equal
    lead: float = 0.8  #: of the mixture's error: below it the laboratory's best is followed alone
    joins: int = 2  #: of its candidates that join the mixture otherwise
    twins: int = 6  #: paths from a nudged end, whose distance says how errors grow
    twin_past: int = 1024  #: samples of a twin's past: more than any model but repetition looks back
    determined: float = 0.8  #: of the equations: models with more unknowns are not solved

    #: Share of its size that the rise after a sample may have when the others are known (`maps.left_open`): with less,
    #: all variables are seen. The least of 138 pairs and triples from systems with one variable more has 0.041; of the
    #: 43 development systems with all variables seen three quarters have less than 0.028.
    complete: float = 0.03
    complete_width: float = 2.5  #: as `kernel_widths`, of that look

    # A plausible path where nothing is known (`plausible.py`)
    #: `maps.left_open` above which a series is not taken to be deterministic: white noise has 0.71, noisy oscillators
    #: more than 0.8, systems with 3 % noise mostly less than 0.3
    deterministic: float = 0.5
    skilled: float = 0.7  #: standard deviations: rolling errors up to which a forecast is followed as it is
    lost: float = 0.95  #: standard deviations: rolling errors from which it is not; the mean of the series has 1
    lively: float = 0.7  #: standard deviation of a path from which it is not a flat line
    beyond: float = 0.05  #: of the range of the series: a path that is lost later went astray from there
    repeats: float = 1.6  #: standard deviations: unrelated moments are 1.41 apart; more where the past does not recur

    # Repetition
    repetition_windows: tuple[int, ...] = (4, 12, 30, 80)  #: samples that must be alike
    repetition_searched: int = 8192  #: samples back from each origin in which a match is looked for: bounds the cost

    # Linear autoregressions and waves; ridges are shares of the largest singular value, 1e-12 being rounding
    linear_lags: tuple[int, ...] = (2, 4, 8, 24)  #: of neighbouring samples
    linear_ridges: tuple[float, ...] = (1e-12, 1e-5)  #: exact samples, and noisy ones
    spaced_lags: tuple[int, ...] = (12, 24, 48)  #: of samples as far apart as the fastest period allows
    spaced_ridge: float = 1e-10  #: for these
    growth: float = 1e-4  #: per step; what grows no faster is not clipped: a trend is a double root at 1
    wave_pairs: tuple[int, ...] = (1, 2, 4, 8, 16, 32)  #: of one or two variables
    wave_ridges: tuple[float, ...] = (1e-15, 1e-12, 1e-6)  #: for these
    wave_pairs_several: tuple[int, ...] = (4, 12)  #: of more variables, which share their frequencies
    wave_ridge_several: float = 1e-12  #: for these

    # Polynomial maps
    map_features: int = 130  #: most a polynomial map may have: a quarter of 512 samples
    map_delays: tuple[int, ...] = (1, 2, 4)  #: neighbouring samples of each variable
    map_legendre: tuple[int, int] = (3, 8)  #: coefficients of a Legendre memory, and its samples
    map_degrees: tuple[int, ...] = (2, 3, 4, 5)  #: of which the highest with few enough features is tried
    map_ridges: tuple[float, ...] = (1e-10, 1e-5)  #: of the largest singular value

    # Kernel maps
    kernel_delays: tuple[tuple[int, int], ...] = ((2, 1), (4, 1), (8, 1), (6, 3), (6, 8))  #: samples, and how far apart
    kernel_delays_several: tuple[tuple[int, int], ...] = (
        (1, 1),
        (2, 1),
        (4, 1),
    )  #: the same of three variables or more
    kernel_legendre: tuple[int, int] = (6, 32)  #: as `map_legendre`, of one or two variables
    kernel_widths: tuple[float, ...] = (0.7, 2.5, 8.0)  #: of the states' standard deviation
    kernel_tuned: int = 240  #: states that width and nugget are chosen from: bounds the cost
    #: Of the kernel matrix's unit diagonal: rounding at one end, pure noise at the other.
    nuggets: tuple[float, ...] = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1e-1, 1.0)
