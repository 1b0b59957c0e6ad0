"""What steers the search for fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prophecy.laws.settings.functions import ExactSettings, FunctionSettings

if TYPE_CHECKING:
    from prophecy.laws.families import Library

BEYOND = 30.0  # standard deviations: a path of whatever model that far out does not come back


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
    complete: float = 0.75  #: share of the steps between samples that were both observed
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
    #: Standard deviations: the least noise to begin with where values are missing. What gaps are filled with is off by
    #: this and more, and samples that are taken for exact would hold the states to it.
    bridged: float = 0.02
    unbridged: int = 24  #: rows without any value: through noise a path across more is seldom found
    after_gap: float = 0.2  #: share of the rows: where so many come after such a gap, those before it are left out
    coarser: float = 1.3  #: how far the noise may rise above its first estimate, which is an upper bound
    alike: float = 5.0  #: standard errors of an autocorrelation above which a remainder is not noise

    # Functions beside powers
    short: float = 5.0  #: terms for each variable: a law of powers with more may be an imitation of functions
    functions: int = 6  #: in one field; 0 leaves them out
    quotients: tuple[int, ...] = (1, 2)  #: degrees of denominators; () leaves quotients out
    kinks: int = 10  #: in one field that has no other functions: a piecewise linear one with eleven pieces
    nats: float = 15.0  #: what a function must add to the log likelihood beyond its penalty
    further: float = 3.0  #: products with monomials one degree higher must leave this much less of some equation
    further_noisy: float = 1.12  #: the same where most of what is left is noise

    libraries: tuple[Library, ...] = ()  #: of the user's own, tried after powers through exact samples
    shapes: FunctionSettings = field(default_factory=FunctionSettings)  #: which functions, and how they are found
    exact: ExactSettings = field(default_factory=ExactSettings)  #: fields through exact samples

    announced: float = 10.0  #: parameters for each variable: a field of exact samples with more is not called a law
    #: Share of its rates that a law leaves open: with more it is not called one. Right ones of the census have up to
    #: 0.04 at 3 % noise, false ones with terms that cancel 0.08 and more.
    doubt: float = 0.05
    steepest: float = 100.0  #: by which an exponent may change along the path: e^100 is nothing that samples show
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
    #: Of its own spread: a law that is further off in two of these forecasts is none. True ones of 14 textbook systems
    #: and half of the development file at 1 to 10 % noise are up to 1.8 off in two, false ones 2 to 17.
    astray: float = 2.0
    #: The same from which on its path is not followed either, and other candidates are tried; a law is made that much
    #: wider than it says at most
    follows: float = 10.0
    draws: int = 64  #: trajectories that say how uncertain the forecast is
    staying: float = 0.25  #: share of the draws that must not leave for good; poles and exponentials throw many out
