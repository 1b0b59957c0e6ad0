r"""The members: exact systems over a geometric range of windows, readouts solved in context, some with seasons.

Everything is read relative to the newest value u. For a memory with (A, B) whose steady response to a constant 1 is
x₁ = (I - A)⁻¹ B, the relative state z = x - x₁ u obeys

    z = A @ (z - x₁ * (u[k] - u[k - 1]))

so the bank is driven by differences alone: an offset of 1e9 changes nothing, and rounding is relative to how much the
signal moves within the window instead of where it stands. A readout exact for constants needs no D beside it.
"""

from math import log
from statistics import NormalDist
from typing import NamedTuple

LAGS = 32
"""Samples kept as they are. Short windows are read from them; LegT memories hold the longer ones."""

ORDER = 8
"""States of each LegT memory; the highest degree below, 7, needs as many as it (`exact`)."""

WINDOWS = (48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
LONG_DEGREES = (0, 1, 2, 3, 4, 5, 7)
"""Windows of the LegT memories in samples, two to an octave, and the degrees their readouts are exact for."""

SHORT_WINDOWS = (4, 6, 8, 12, 16, 24, 32)
SHORT_DEGREES = (0, 1, 2, 3, 5, 7)
"""The same for members that read the last samples themselves; no window is longer than `LAGS`."""

INTERPOLATING = range(9)
"""Degrees d of the shortest exact predictors, the polynomial through the last d + 1 samples."""

LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995)
"""Levels of the tracked quantiles of the forecast's errors."""

NORMAL = tuple(NormalDist().inv_cdf((1.0 + level) / 2.0) for level in LEVELS)
OUTER = LEVELS.index(0.98)
LIGHTEST = log(NORMAL[-1] / NORMAL[OUTER + 1]) / log((1.0 - LEVELS[OUTER + 1]) / (1.0 - LEVELS[-1]))
"""The same quantiles of a normal law; the one beyond which errors are the tail; and the reciprocal exponent of the
power law through those of levels 0.99 and 0.9995: no tail is taken to be lighter."""


class Solved(NamedTuple):
    """A member whose readout is solved in context: its features, and what it starts as (`COPY`, `LINE`, or what the
    season did on the mean). `Settings.solved_memory` has how fast each forgets."""

    name: str
    features: tuple[int, ...]
    start: int


COPY, LINE, SEASON = range(3)

# Features: LAGS values relative to the newest, the LegT memories, two alternations, the running mean; and for each of
# two seasons the values one before the next, two before, and on the mean, each with its two neighbours.
MEMORY = LAGS + ORDER * len(WINDOWS)
_ALTERNATIONS, _MEAN = (MEMORY, MEMORY + 1), MEMORY + 2
AROUND = _MEAN + 1
FEATURES = AROUND + 2 * 9


def _lags(count: int) -> tuple[int, ...]:
    return tuple(range(1, count + 1))


def _state(window: int, count: int) -> tuple[int, ...]:
    first = LAGS + ORDER * WINDOWS.index(window)
    return tuple(range(first, first + count))


def _around(seasons: int, kinds: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(AROUND + 9 * season + 3 * kind + j for season in range(seasons) for kind in kinds for j in range(3))


SOLVED = (
    Solved(
        "the last 4 values, how they alternate, memories of 48 and 256 values",
        (*_lags(4), *_ALTERNATIONS, *_state(48, 4), *_state(256, 6)),
        LINE,
    ),
    Solved("the last 15 values, mean", (*_lags(15), _MEAN), COPY),
    Solved("the last 8 values, mean", (*_lags(8), _MEAN), COPY),
    Solved("the last 2 values, mean", (*_lags(2), _MEAN), COPY),
    Solved("the last 6 values, one and two seasons back and their mean", (*_lags(6), *_around(2, (0, 1, 2))), SEASON),
    Solved("the last 3 values, one season back and the mean", (*_lags(3), *_around(2, (0, 2))), SEASON),
    Solved("the last 2 values and the shorter season", (*_lags(2), *_around(1, (0, 2))), SEASON),
)
"""The first reaches the innovation floor on Filtered Noise and is the best member on most signals in noise; then
autoregressions, for seasons up to 15 samples and for series of a few hundred and a few dozen values; last those that
sleep until there is a season. A further member is one more line here and its forgetting in `Settings.solved_memory`;
the record's layout and the rest follow."""

AWAKE = sum(member.start != SEASON for member in SOLVED)
"""Solved members that never sleep."""

# What follows from the lists above. Short members are ordered by window, those that smooth (degree 0) come last: old
# lags concern the last of them only.
_FITTED = [(w, d) for w in SHORT_WINDOWS for d in SHORT_DEGREES if 0 < d < w - 1]
SHORT = sorted([(d + 1, d) for d in INTERPOLATING] + _FITTED) + [(w, 0) for w in SHORT_WINDOWS]
SHORTS, LONGS = len(SHORT), len(LONG_DEGREES)
FIXED = SHORTS + LONGS * len(WINDOWS)
BANK = FIXED + AWAKE
MEMBERS = FIXED + len(SOLVED)
AHEAD_MEMBERS = MEMBERS - FIXED + 2
"""Constructed members, those that never sleep (the bank), and all of them, the sleeping ones last. Farther ahead:
those that are not constructed, the copy and the bank rolled on."""

ROW = 8
"""Rows of tables and factors are padded with zeros to a multiple of this many numbers, which vectorises."""


def padded(count: int) -> int:
    return -(-count // ROW) * ROW


WIDTH = padded(max(len(member.features) for member in SOLVED))
STRIDES = [padded(len(member.features)) for member in SOLVED]
PLACES = [sum(len(m.features) * padded(len(m.features)) for m in SOLVED[:r]) for r in range(len(SOLVED))]
FACTORS = sum(len(m.features) * padded(len(m.features)) for m in SOLVED)
"""Numbers in all factors of the solved members: row by row, one member after the other."""
