"""Numbers that say when a stretch of a stream is unusual (`kernels/alarms.py`).

Chosen on NAB's 38 development files (benchmarks/nab.py) and on eighteen kinds of streams in which nothing happens, so
that an alarm of 1 - rate comes on at most that share of the rows (benchmarks/streams.py, part `alarms`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prophecy.streams.settings.checked import Group


@dataclass(frozen=True)
class AlarmSettings(Group):
    """When a stretch is unusual. Sums and confidences are in decades: -log10 of probabilities."""

    LIMITS: ClassVar = {"window": (2, 31), "needed": (4, 2**20), "certain": (0.0, 1e6), "outermost": (3, 12)}

    window: int = 20
    """Samples over which level and noise are averaged: with 10 or 40 NAB's development files score 4 to 5 points less.
    At most 31, the lags a record keeps less the newest value."""
    needed: int = 20
    """Values seen before anything is called unusual. Chosen without study; little depends on it, since `sure` asks for
    more: with 10 or 40, 0.464 and 0.466 % of the rows of made streams have an alarm of 0.99 instead of 0.468 %
    (bank_ideas.json)."""
    sure: float = 50.0
    """Values seen for each decade of confidence: ranks among a few dozen values that depend on each other are rough. An
    alarm of 0.99 takes 100 values, one of 0.999 takes 150; with 25 a decade 2 % of rows 50 to 99 alarm at 0.99."""

    # What was predicted exactly.
    millionth: float = 1e-6
    """An error below this share of the change is none: the value was predicted exactly. By chance that comes once in a
    million values."""
    floor: float = 1e-2
    """Smallest error in units of the mean absolute error, before its logarithm is taken."""

    # When a sum is reported, and how sure that is.
    quiet: float = 200.0
    quiet_share: float = 0.1
    """A sum must pass all sums of the last 200 values, or the last tenth of the stream."""
    rise: float = 0.38
    rise_middle: float = 0.11
    rise_far: float = 0.15
    """Confidence per unit of the sum up to 5, from 5 to 10, and beyond: a bound over eighteen kinds of streams of 3 000
    and 60 000 values, those that are rounded, clipped, switch or rest among them. Short streams are the worse ones."""
    alone: float = 3.4
    """-log10 of an error's own tail probability, by its score and by its rank, from which it is reported whatever the
    other ranks are. Of six jumps by five steps of a growing sum of random steps all are found, one without this."""
    noticed: float = 16.0
    """The sum that a flat line or noise of another size is reported with, once, when it is noticed."""

    # Streams that grow.
    drifting: int = 64
    certain: float = 9.0
    """Blocks of `window` values over which the drift is averaged (1280 values), and the square of the standard errors
    from 0 it must lie at to count: a random walk without drift passes 3 of them in one block of 400."""
    fewest: float = 2.0
    walking: float = 1.0
    """Records that are not yet usual, in units of 1 + log n for errors and differences (n values in no order have log n
    on average), and of the square root of n for what may wander (a random walk has 0.8). With 2 roots, growth of a
    thirtieth of a percent a value alarms more often than stated."""

    # Flat lines and other noise.
    improbable: float = 8.0
    often: float = 1e-3
    """A flat line is `stuck` or more differences of 0 in a row that would come with a probability below 10^-8 if each
    were 0 as often as until then; it is twice as long as any before, or such rests are rarer than one in a thousand
    moves."""
    slow: int = 64
    far: float = 5.0
    familiar: float = 5.0
    """Values over which level, spread and noise are averaged slowly; how many of its own usual deviations such a mean
    must lie away from where it was to be reported; and how many times as many values it takes to know both."""

    # Values that repeat, rest or pile up.
    repeating: float = 16.0
    unpredictable: float = 0.25
    """Values repeat where one difference in 16 or more was exactly 0, which continuous values never do. Changes count
    as unpredictable where the forecast's squared error is a quarter of copying's or more."""
    piled: float = 0.02
    """Share of all values at the largest or smallest of them from which on it is a bound."""

    # Beyond the farthest.
    outermost: int = 10
    """Outermost values of a sketch that a power law is fitted to; `Settings.steepest` bounds its exponent."""
