"""Numbers of the search for fields with hidden variables (`hidden.py`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HiddenSettings:
    """What steers the search for a field of which only some variables are seen (`hidden_law.py`).

    Chosen on the chaotic systems of benchmarks/forecast_dev.py seen one variable at a time, and for sampling rates on
    eight others. Times are in time scales of the series (`hidden_guesses.time_scale`): a signal sampled twice as
    often has the same law.
    """

    # Which series are searched
    least: int = 128  #: samples: four for every unknown that is not a state
    most: int = 1024  #: latest samples looked at
    pace: float = 6.0  #: samples of the fastest period: series with twice as many are thinned
    kept: int = 160  #: samples that thinning must leave
    #: Standard deviations: what is rougher may be noise. No law was found in noise; the smoothest of 207 hourly series
    #: of the M4 competition has 7e-3.
    smooth: float = 3e-3
    rough: float = 0.1  #: the same up to which samples may be far apart instead; `noisy` says which it is
    noisy: float = (
        0.35  #: of the roughness: noise leaves a misfit of 0.45 to 0.9 of it after two rounds, coarse samples 0.2
    )

    # Where searches start
    #: Variables (seen and hidden), degree, guesses that are solved, early samples they are solved from, and misfits,
    #: in standard deviations, that a search must be below after each of the `rounds`; one family after the other
    #: (`Family`). Of 52 searches of 112 series that arrived, 50 were below these; of 275 that did not, half end after
    #: the second round. Which searches arrive is luck in part, and more samples are another chance: of 180 series of
    #: 26 systems 65 were found from one stretch, 71 from two. Four variables of degree 3 are x, its rate and a
    #: sinusoidal forcing.
    families: tuple[tuple[int, int, int, int, tuple[float, ...]], ...] = (
        (4, 3, 1, 256, (0.03, 0.01, 4e-3, 3e-4, 1e-4)),
        (3, 2, 12, 192, (0.03, 8.5e-3, 6e-3, 3e-4, 1e-4)),
        (4, 2, 16, 256, (0.02, 2e-3, 8e-4, 2e-4, 1e-4)),
        (3, 3, 12, 192, (0.02, 3e-3, 9e-4, 3e-4, 1e-4)),
        (3, 2, 8, 384, (0.03, 8.5e-3, 6e-3, 3e-4, 1e-4)),
        (4, 2, 10, 384, (0.02, 2e-3, 8e-4, 2e-4, 1e-4)),
    )
    again: int = 3  #: rounds that a family must have passed on fewer samples to be tried on more
    forcing_periods: float = 4.0  #: that a forcing has at least in the early stretch; slower ones are drifts
    forcing_worth: float = 0.8  #: share of what a field without it leaves, above which its frequency is not refined
    forcing_left: float = 0.3  #: the same after that, above which there is no forcing
    hopeless: float = 0.15  #: share of the rises of a hidden variable left open from which no search arrives
    plain: int = 4  #: derivatives, their quotients, two random quadratic functions of them
    angles: int = 8  #: directions of B in the plane of two variables at hand (`kernels/hidden_starts.py`)
    offsets: int = 7  #: and where it vanishes along each: quantiles, and beyond either end
    refined: int = 16  #: trials that improve direction and offset of a choice
    looked_at: int = 40  #: choices so improved, at most
    #: Time scales of the leaky integrals of a visible variable that may be a hidden one, of the future where negative
    leaks: tuple[float, ...] = (0.25, 0.5, 1, 2, 4, float("inf"), -0.25, -0.5, -1, -2, -4)
    square_leaks: tuple[float, ...] = (0.5, 2, -0.5, -2)  #: the same of its square
    double_leaks: tuple[float, ...] = (0.5, 1.5, 4, float("inf"), -0.5, -1.5, -4)  #: two of these together
    shortest: float = 0.7  #: samples: a shorter leak says nothing that the variable itself does not
    farthest: float = 8.0  #: standard deviations or medians: derivatives are cut there, mostly at the ends
    pole: float = 0.1  #: square standard deviations around zero in which a quotient by x is bent down
    soft_pole: float = 0.03  #: standard deviations, the same of guesses that are ranked before they are solved
    ridge: float = 0.01  #: of the coefficients a search starts with, in units of the errors of single steps
    alike: float = 0.15  #: share of its variance that an earlier guess may leave of a new one that is the same
    centred: float = 5.0  #: standard deviations: data farther from zero do not determine their zero

    # The early stretch
    early_share: float = 0.75  #: of all samples that are searched first, at most: the rest is there to be forecast
    #: Order of the steps, how many from each start, how many starts go on, and as which multiple of the least misfit.
    #: What arrives is among the best four after three steps, with few exceptions.
    rounds: tuple[tuple[int, int, int, float], ...] = (
        (4, 3, 6, 20.0),
        (4, 4, 5, 6.0),
        (4, 4, 4, 4.0),
        (8, 6, 2, 3.0),
        (8, 14, 2, 3.0),
    )
    crawling: float = 0.01  #: share of the misfit below which a step of the last round is the last
    coarse: float = 0.1  #: of the roughness: limits of the rounds are no less than this
    near: float = 1e-6  #: standard deviations: the misfit of a search that has arrived
    same: float = 1e-3  #: share of the variance that may differ between two searches that came to the same place

    # The rest of the series
    stretch: int = 64  #: samples forecast at a time: two Lyapunov times of the systems above
    lost: float = 0.3  #: standard deviations: the error of a stretch that ends a search
    extended: int = 10  #: steps after each stretch
    polished: int = 24  #: steps of order 8 at the end
    least_gain: float = 0.02  #: share of the misfit below which a step of these is the last
    exact: float = 1e-7  #: standard deviations: the misfit of a law; stand-ins come to 1e-6, laws to 1e-8
    certain: float = 1e-3  #: standard deviations: the error of the last stretch that a law forecast
    rounding: float = 1e-9  #: standard deviations: misfits below it are those of the integrator
    trusted: float = 0.01  #: standard deviations: a field whose forecasts of all stretches are this good is followed

    # Noisy samples (`hidden_noise.py`)
    noise_most: int = 512  #: latest samples looked at
    noise_least: float = 2e-4  #: standard deviations: noise below it is left to the search for exact samples
    noise_orders: tuple[int, int] = (7, 10)  #: of the differences that are compared
    noise_even: float = 0.15  #: logarithm: how far their sizes may be apart; those of coarse samples are 0.3 and more
    noise_starts: int = 12  #: guesses solved along the smoothed path
    noise_rounds: int = 3  #: of the search along the smoothed path; after two fewer starts are near a law
    noise_tracks: int = 6  #: searches that are assimilated
    #: Model errors, as shares of the noise, and how many tracks go on after each
    noise_stages: tuple[tuple[float, int], ...] = ((1.0, 5), (0.3, 3), (0.1, 2), (0.03, 2), (0.01, 1))
    noise_again: int = 2  #: the stage from which all samples are assimilated
    noise_steps: int = 8  #: Gauss-Newton steps at each stage
    noise_gain: float = 0.01  #: share of the cost below which one is the last
    #: Of the noise seen in differences: laws need 0.8 to 1.1 at the last stage, other fields mostly more
    noise_more: float = 1.15
    #: Correlation of neighbouring residuals: -0.16 to 0.03 with laws, 0.08 and more with fields that imitate one
    noise_white: float = 0.07
    noise_held: float = 0.1  #: standard deviations: what draws take to be known of each hidden variable at each sample
    noise_polished: int = 4  #: times the last stage is repeated where not all is noise
    noise_nearly: float = 1.4  #: of the noise seen in differences, up to which it is
    noise_kept: int = 48  #: samples that are not used at first, or an eighth of all
    noise_known: float = 0.5  #: standard deviations: the spread of draws up to which they must have foretold these
    noise_foretold: int = 6  #: samples at least that they did
    noise_missed: float = 2.0  #: of the spread, root mean square: how far samples may be off

    # The forecast
    draws: int = 64  #: paths that say how uncertain the forecast is
    staying: float = 0.5  #: share of them that must not leave for good
    wider: float = 5.0  #: draws are this much farther from the path: each sample has an integration error too

    # Steps of least squares
    restandardised: int = 4  #: steps after which hidden variables get unit variance again
    damping: float = 0.3  #: of hidden variables at first: as large as the equations' own errors
    stiffness: float = 0.4  #: damping of scaled parameters relative to that of hidden variables
    relaxed: float = 3.0  #: factor by which the damping falls after a success
    tightened: float = 2.0  #: and rises after a failure
    least_damping: float = 1e-6  #: below it squared equations lose their digits
    accelerated: float = 1.5  #: largest second-order correction, as a share of the step, that is trusted
    ahead: float = 0.1  #: share of the step at which its curvature is measured
    rejections: int = 8  #: steps in a row that may fail to improve before a search ends
