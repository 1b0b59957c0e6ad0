"""Numbers that say how timestamps are read and how values off the grid are brought to it (`kernels/clock.py`,
`kernels/irregular.py`, `kernels/paths.py`).

Steps are those of the stream's grid. Where no other reason is given a value was chosen on signals with and without
noise whose stamps jitter, are rounded or come at random (benchmarks/streams.py, parts `jitter` and `irregular`). How
many stamps anything is averaged over follows from how many are kept (`limits.RECENT`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prophecy.streams.settings.checked import Group


@dataclass(frozen=True)
class ClockSettings(Group):
    """The grid of a stream, and values that are not on it."""

    LIMITS: ClassVar = {
        "off": (0.0, 0.5),
        "late": (1, 64),
        "longest_hole": (16, 2**20),
        "steady": (2.0, 1e6),
        "hole": (1.0, 1e4),
    }

    off: float = 0.3
    """A stamp farther than this from every place on the grid, in steps, is off it: jitter of ± 25 % and the error of
    the phase stay inside, random times are off in two cases of five."""
    irregular: float = 0.2
    """Share of stamps off the grid above which times are irregular."""
    close: float = 0.15
    """Largest mean distance from a grid found anew, in steps: any times are within half a step of one, 0.25 on
    average."""
    rounding: float = 1e-6
    """Offsets below this share of a step are rounding: the value is taken as lying on the grid. So are squared errors
    below this share of those that jitter makes."""
    late: int = 4
    """Stamps in a row that must lie before the newest one for the clock to have been set back."""
    earned: int = 32
    """Steps of holes that every value pays for: it costs 32 steps on average (some 40 µs) and 40 ms at worst,
    whatever its stamp is. What is left of a hole is passed over."""
    longest_hole: int = 2**17
    """Steps of a hole beyond which the clock was set forward: 36 hours at one value a second."""
    steady: float = 400.0
    """Stamps over which phase and step of the grid are fitted, at least: by least squares over all since the last time
    the clock drifted. Jitter of 10 % moves a phase fitted over 400 stamps by 0.6 % and from one stamp to the next by
    0.06 %, which where a signal moves by a thousand times its noise a step is noise as large as that."""
    rounded: float = 0.75
    """Units that a rounded stamp may be from its place: half a unit, and what the phase of the grid is not known by. A
    fit of 400 stamps of steps of nearly 4/3 units has taken their errors, which drift with them, for part of the step,
    and is off by a third of a unit when they wrap."""
    skipped: float = 0.2
    """Share of intervals of either length above which stamps are rounded. Below, long ones are holes in a grid, or
    short ones rows sent twice: a value that is missing every ten steps is more likely than a step of 1.111 units, and
    their stamps are the same."""
    changed: float = 0.02
    """Share by which a step must differ to be another one: what was learned per step is void then. A typical interval
    of irregular times is another one if it is half or twice as long (a quarter longer, while few stamps came)."""
    better: float = 0.95
    """Stamps off the grid are taken for true times where forecasts for these have this share of the squared error of
    forecasts for the grid or less."""
    hole: float = 3.0
    """Typical intervals beyond which nothing is interpolated."""
    apart: float = 0.1
    """Steps two samples must be apart for both to carry a polynomial: closer ones magnify their noise tenfold."""
    smoother: float = 0.25
    """A higher degree is used where its squared errors are below this share of a lower one's: half the error."""
