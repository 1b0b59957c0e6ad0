"""What steers the search for functions beside powers, and for fields that exact samples determine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FunctionSettings:
    """Which functions are looked for, and how (`families.py`, `quotients.py`).

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
    at_floor: float = 0.05  #: of the square sum of integration errors, an upper bound: nothing is left to explain
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
