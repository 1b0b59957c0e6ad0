"""Numbers that say how timestamps are read (`clock`), and how values off the grid are (`stamps`, `irregular`).

Steps are those of the stream's grid. Where no other reason is given a value was chosen on signals with and without
noise whose stamps jitter, are rounded or come at random (benchmarks/streams.py, parts `jitter` and `irregular`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prophecy.streams.settings.checked import Group


@dataclass(frozen=True)
class ClockSettings(Group):
    """The grid of a stream: its step, its phase, and what clocks do besides (`kernels/clock.py`)."""

    LIMITS: ClassVar = {
        "off": (0.0, 0.5),
        "late": (1, 64),
        "longest_hole": (16, 2**20),
        "check_every": (2, 4096),
        "first_checks": (4, 2**20),
        "fitted_over": (3, 128),
        "parts": (1, 32),
        "steady": (2.0, 1e6),
    }

    off: float = 0.3
    """A stamp farther than this from every place on the grid, in steps, is off it: jitter of ± 25 % and the error of
    the phase stay inside, random times are off in two cases of five."""
    irregular: float = 0.2
    regular: float = 0.1
    """Share of stamps off the grid above which times are irregular, and below which a grid found anew is used."""
    close: float = 0.15
    """Largest mean distance from a grid found anew, in steps: any times are within half a step of one, 0.25 on
    average."""
    rounding: float = 1e-6
    """Offsets below this share of a step are rounding: the value is taken as lying on the grid."""
    late: int = 4
    """Stamps in a row that must lie before the newest one for the clock to have been set back."""
    most_walked: int = 2**15
    earned: int = 32
    """Steps of holes that are taken one by one, at most, and how many of them every value gives back: a value costs 32
    steps on average (some 40 µs) and 40 ms at worst, whatever its stamp is. What is left of a hole is passed over."""
    longest_hole: int = 2**17
    """Steps of a hole beyond which the clock was set forward: 36 hours at one value a second."""
    check_every: int = 32
    first_checks: int = 256
    """The grid is looked for after 3, 4, 6, 8, 12, 16, 24, … values up to 256, then every 32, if there was anything
    odd."""
    fitted_over: int = 64
    """Stamps a grid is looked for in: more would hide a rate that has just changed."""
    steady: float = 400.0
    """Stamps over which phase and step of the grid are fitted, at least: by least squares over all since the last time
    the clock drifted. Jitter of 10 % moves a phase fitted over 400 stamps by 0.6 % and from one stamp to the next by
    0.06 %, which where a signal moves by a thousand times its noise a step is noise as large as that."""
    drifted: float = 16.0
    """Square of the standard errors that the mean offset of the last 400 stamps lies from 0 where the clock has
    drifted."""
    rounded: float = 0.65
    most_rounded: float = 0.8
    """Units that a rounded stamp may be from its place: half a unit, and what the phase of the grid is not known by;
    more where a place more or less would differ by more (steps of 1.3 units): then a fit of 400 stamps of steps of
    nearly 4/3 units has taken their errors, which drift with them, for part of the step, and is off by a third of a
    unit when they wrap."""
    each: int = 8
    """Intervals of either length from which on stamps are rounded: eight random holes in a grid are as evenly spaced as
    rounding would have them about once in a thousand streams."""
    skipped: float = 0.2
    """Share of intervals of two units, or none, below which they are holes in a grid of one, or rows sent twice: a
    value that is missing every ten steps is more likely than a step of 1.111 units, and their stamps are the same."""
    changed: float = 0.02
    """Share by which a step must differ to be another one: what was learned per step is void then."""
    fewest: int = 16
    """Stamps before times may be called irregular."""
    regular_again: float = 1e-3
    """Mean distance from the grid, in steps, below which stamps no longer jitter. Without this a stream whose grid has
    jumped by a third of a step stays irregular, and errs by ten times its range after its next long hole."""
    off_over: float = 32.0
    """Stamps over which the share of those off the grid is averaged."""
    parts: int = 6
    """Parts in which the typical interval is tried as a step: a sensor that reports every 2 to 6 steps of its clock."""


@dataclass(frozen=True)
class StampSettings(Group):
    """Whether a stamp off its grid is noise itself, or when the value was really taken (`kernels/irregular.py`)."""

    better: float = 0.95
    """A reading of the stamps with more corrections is used where it has this share of the other's squared error or
    less."""
    over: int = 256
    """Values over which the readings' squared errors are averaged."""
    smooth: int = 3
    """Degree of the polynomial that predicts samples best from their neighbours beyond which the wobble of a grid that
    follows the stamps matters; where there is noise, moving values one by one to such a grid is better."""
    exactly: float = 1e-6
    """Share of the squared error of taking stamps for noise below which polynomials bring samples to the grid exactly:
    smooth signals without noise, of which a grid that follows the stamps keeps four digits. Without this the squared
    error of a straight line at stamps that jitter by a tenth is 700 times as large (`line, true jitter` in
    bank_ideas.json)."""
    sure: int = 32
    """Values off the grid before stamps may be taken for true times; until then values are moved one by one."""


@dataclass(frozen=True)
class IrregularSettings(Group):
    """Values at irregular times, brought to a grid (`kernels/irregular.py`, `kernels/paths.py`)."""

    LIMITS: ClassVar = {"path_degree": (1, 13), "hole": (1.0, 1e4), "hole_in_grid": (1.0, 1e4)}

    hole: float = 3.0
    hole_in_grid: float = 1.6
    """Typical intervals beyond which nothing is interpolated; where times have a grid about which they jitter, one
    missing value is a hole already."""
    apart: float = 0.1
    """Steps two samples must be apart for both to carry a polynomial: closer ones magnify their noise tenfold."""
    smoother: float = 0.25
    """A higher degree is used where its squared errors are below this share of a lower one's: half the error."""
    preferred: float = 0.98
    """Squared errors of carrying something count for this share: where nothing persists all are alike."""
    over: int = 64
    """Samples over which errors are averaged."""
    settled: int = 16
    """Samples judged before a higher degree than 1 is used."""
    path_degree: int = 3
    """Least degree of the path between steps, where samples are joined by straight lines: forecasts are smoother."""
    longest_replayed: int = 1024
    """Steps of the longest hole among the values a new grid is started from; what lies before it is left out."""
