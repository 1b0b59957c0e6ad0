"""The numbers that steer the search for laws, each with its unit and the reason for it.

`Settings` holds two groups: `laws`, with its own `shapes` and `exact`, and `hidden`.
`prophecy.forecasting.settings.Settings` has these too, and is what `forecast(settings=...)` takes:
`replace(DEFAULT, laws=replace(DEFAULT.laws, draws=32))`, with `dataclasses.replace`, makes an ablation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prophecy.laws.families import Library

BEYOND = 30.0  # standard deviations: a path of whatever model that far out does not come back


@dataclass(frozen=True)
class FunctionSettings:
    """Which functions are looked for, and how (`families.py`).

    Chosen on the development systems and on 84 other flows of dysts.
    """

    # The dictionary: functions of a variable, of a sum or of a product, by the range that this has along the path
    waves: tuple[float, float, int] = (1.5, 60.0, 48)  #: least and most radians over the range, and how many
    places: tuple[float, float, int] = (0.1, 0.9, 17)  #: of kinks and of the middle of tanh, in ranges; how many
    #: Decades between one size and the next of slopes, exponents, half-saturations and distances of poles.
    apart: float = 0.5

    # One function after the other
    tried: int = 24  #: functions whose products with the variables are tried too
    alike: int = 3  #: of these, how many of one kind along one direction
    moved: int = 8  #: and how many are moved to where they explain most
    pair: float = 3.0  #: a function of two variables must leave this much less (in squares) than one of a single one
    movable: float = 1.15  #: for every parameter beyond the first that it can be moved by it must leave this much less
    bent: float = 1.5  #: and one of a square or product this much less than one of a variable
    #: Times the square sum of integration errors: a single function that leaves less makes broken lines needless.
    explains: float = 10.0

    # Forward and backward
    rounds: int = 2  #: in which all functions are moved when some have joined
    needed: float = 2.0  #: a function without which this much more is left stays; the others were stand-ins
    close: float = 3.0  #: nats a step by which a function of another kind may be behind to be tried too

    # Quotients
    numerators: int = 3  #: their degree: saturations of two variables, times a third
    dampings: tuple[float, ...] = (1e-12, 1e-6)  #: of the largest singular value, tried in turn
    pole_free: float = 1e-3  #: of its largest value: a denominator that comes closer to zero on the path has a pole


@dataclass(frozen=True)
class ExactSettings:
    """Fields that take every sample to the next up to rounding (`noise_free.py`, `problem.py`)."""

    rounding: float = 1e-6  #: standard deviations: only the true equations leave less
    most_steps: float = (
        0.99  #: share of the steps that must be as exact as that; spikes are too fast to integrate blindly
    )
    around: int = 11  #: steps around one that say how far off it may be
    share: float = 0.03  #: of what steps miss by: errors of integration that do not matter beside it
    negligible: float = 6e-9  #: standard deviations: the accuracy at which chaotic systems are usually integrated
    sure: float = (
        4.0  #: times log(n): integration errors are not white, and terms go more easily than by Bayes' criterion
    )
    most_substeps: int = 64  #: of one step
    integrated: float = 1e-12  #: standard deviations: what a step may miss by at the end
    least: float = 1e-13  #: standard deviations: rounding of samples whose mean is some standard deviations away

    moved: float = 100.0  #: times as far off may be fewer terms with functions, before these are moved

    # Least squares on single steps
    close: float = 1e-4  #: standard deviations: unless half of the steps are this close already


@dataclass(frozen=True)
class LawSettings:
    """What steers the search for one field whose trajectory passes through the whole context (`trajectory.py`).

    Chosen on the development systems of benchmarks/forecast_dev.py; what other systems make of them is in
    benchmarks/results/forecast_other.json.
    """

    # A glance, before anything is solved
    shortest: int = 64  #: samples below which a field cannot be distinguished from chance
    most_variables: int = 6  #: a quadratic field of more has more coefficients than 512 noisy samples determine
    widest: int = 12  #: the same for exact samples, which determine a coefficient each
    explained: float = 0.1  #: share of the rises that powers explain; random walks stay below 0.06
    resolved: float = 1.0  #: standard deviations: rougher series are noise, or sampled too coarsely to be distinguished

    # Samples that may be exact
    clean: float = 1e-3  #: standard deviations: noise below which single steps may be solved for exactly
    hopeful: float = 0.005  #: share of the rises: functions that leave more of a smooth path are not tried as exact
    spare: float = 30.0  #: nats that a term beside functions must be worth: these can imitate many others
    growing: float = 0.01  #: standard deviations: the same while a field learned from the slowest steps meets others

    # Work, in derivatives per sample; 5e3 take about half a second with 512 samples. Laws that were found took less.
    work: float = 3e3  #: for each family with noise, and for a part of the series; twice that for all of them
    work_more: float = 2e3  #: added after every stage whose evidence rose by `rising`: a law shows itself on the way
    rising: float = 100.0  #: nats
    work_exact: float = 1e4  #: for all families together while samples are taken to be exact

    # Assimilation
    centred: float = 5.0  #: standard deviations: means up to this stay in, so that sparse equations stay sparse
    first_state: float = 1e-3  #: 1 / standard deviations: how little is known about the first state
    #: Nats that a term costs for every natural logarithm of how many an equation could have, in laws of few terms: the
    #: best of many is three standard errors from zero by chance
    choice: float = 1.0
    one_trajectory: float = 0.03  #: model error as a share of the noise: one trajectory passes through everything
    noiseless: float = 1e-7  #: standard deviations: variables that leave less are functions of time, or exact
    latest: int = 1024  #: samples that are assimilated
    most_parameters: int = 200  #: before any is removed
    most_quadratic: int = 400  #: the same for quadratic fields: 360 of eight variables
    most_exact: int = 1100  #: the same for exact samples: a quadratic field of twelve variables
    stages: tuple[float, ...] = (3.0, 0.6, 0.12, 0.03, 0.01)  #: model error per step as a share of the noise
    substeps: int = 16  #: of one step, half as many at looser stages: a spike between two samples has no more
    converged: float = 0.02  #: of the noise: integration errors below this do not matter
    #: Of the model error: errors of integration differ from sample to sample and must not pass for it
    below: float = 0.1
    quiet: float = 1e-3  #: of the noisiest variable's noise: the least that a variable is taken to have
    held: float = 1e-7  #: of the largest singular value: what is below belongs to directions that nothing determines
    hopeless: float = 30.0  #: nats: two stages in a row that far below the best end the tightening, or one twice as far
    kept: int = 20  #: terms of an equation that are kept then, at most
    thin: float = 5.0  #: nats along the smooth path that a term must be worth to be there from the start
    unbridged: int = 24  #: rows without any value: through noise a path across more is seldom found
    after_gap: float = 0.2  #: share of the rows: where so many come after such a gap, those before it are left out
    coarser: float = 1.3  #: how far the noise may rise above its first estimate, which is an upper bound
    alike: float = 5.0  #: standard errors of an autocorrelation above which a remainder is not noise

    # Functions beside powers
    #: Parameters for each variable: with more, a law of powers may imitate functions, and is none through noise
    short: float = 5.0
    functions: int = 6  #: in one field; 0 leaves them out
    quotients: tuple[int, ...] = (1, 2)  #: degrees of denominators; () leaves quotients out
    kinks: int = 10  #: in one field that has no other functions: a piecewise linear one with eleven pieces
    nats: float = 15.0  #: what a function must add to the log likelihood beyond its penalty
    further: float = 3.0  #: products with monomials one degree higher must leave this much less of some equation
    further_noisy: float = 1.12  #: the same where most of what is left is noise

    libraries: tuple[Library, ...] = ()  #: of the user's own, tried after powers through exact samples
    shapes: FunctionSettings = field(default_factory=FunctionSettings)  #: which functions, and how they are found
    exact: ExactSettings = field(default_factory=ExactSettings)  #: fields through exact samples

    announced: float = 10.0  #: parameters for each variable: a field with more is not called a law of exact samples
    #: Share of its rates that a law leaves open: with more it is not called one. A law is false that is 0.05 off, which
    #: is two and a half standard errors then.
    doubt: float = 0.02
    significant: float = 3.0  #: standard errors that a term from expanding a power must differ from zero by

    # The forecast
    integrated_exact: float = 0.1  #: of what exact steps miss by: what integrating them may add
    integrated_noisy: float = 1e-3  #: of the noise: the same for noisy ones
    noise: float = 0.25  #: standard deviations: more than this left unexplained is not a measurement of a system
    noise_second: float = 0.05  #: the same of one variable whose rate is not seen; ordinary seasons have more
    growth: float = 1e6  #: standard deviations that the path of an exact law may go; beyond it is lost
    #: Shares of the context: a law solved again without the last so much of it has to forecast that (`trajectory.py`)
    held_back: tuple[float, ...] = (0.15, 0.3, 0.5)
    foretold_close: float = 0.3  #: standard deviations between draws from which on they say nothing about errors
    #: Of its own spread: a law through noise that is further off in two of these forecasts is none. True ones of 14
    #: textbook systems and half of the development file at 1 to 10 % noise are up to 1.8 off in two, false ones 2 to 17
    astray: float = 2.0
    #: The same from which on its path is not followed either, and other candidates are tried; of exact samples, from
    #: which on it is none. A law is made that much wider than it says at most where only one forecast is off
    follows: float = 10.0
    draws: int = 64  #: trajectories that say how uncertain the forecast is
    staying: float = 0.25  #: share of the draws that must not leave for good; poles and exponentials throw many out


@dataclass(frozen=True)
class HiddenSettings:
    """What steers the search for a field of which only some variables are seen.

    Chosen on the chaotic systems of benchmarks/forecast_dev.py seen one variable at a time, and for sampling rates on
    eight others. Times are in time scales of the series (`hidden_starts.time_scale`): a signal sampled twice as
    often has the same law.
    """

    # Which series are searched
    least: int = 128  #: samples: four for every unknown that is not a state
    pace: float = 6.0  #: samples of the fastest period: series with twice as many are thinned
    kept: int = 160  #: samples that thinning must leave
    #: Standard deviations: what is rougher may be noise; the smoothest of 207 hourly series of the M4 competition has
    #: 7e-3.
    smooth: float = 3e-3
    rough: float = 0.1  #: the same up to which samples may be far apart instead

    # Where searches start
    stretches: tuple[int, ...] = (256, 384)  #: early samples: which searches arrive is luck in part
    starts: int = 24  #: guesses that are solved
    hopeless: float = 0.15  #: share of the rises of a hidden variable left open from which no search arrives
    ridge: float = 0.01  #: of the coefficients a search starts with, in units of the errors of single steps
    alike: float = 0.15  #: share of its variance that an earlier guess may leave of a new one that is the same

    steps: int = 3  #: of each start in the first of four rounds; then the better half goes on with twice as many
    #: Standard deviations: the misfit of order 4 that the best of three variables must come below, a quarter of it with
    #: four. All searches that arrived did, of the others half end there.
    coarse: float = 6e-3

    # The rest of the series
    stretch: int = 64  #: samples forecast at a time: two Lyapunov times of the systems above
    least_gain: float = 0.02  #: share of the misfit below which a step is the last
    #: Standard deviations: a field whose forecasts of all stretches are this good is followed, a law's of the last
    trusted: float = 0.01
    wider: float = 5.0  #: draws are this much farther from the path: each sample has an integration error too

    # Noisy samples
    #: Logarithm: how far sizes of differences of order 7, 10 and 12 may be apart; noise has 0.1, coarse samples 0.24.
    noise_even: float = 0.15


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
