"""The numbers that steer the bank, each with its unit and the reason for it. `Prophecy(settings=...)` takes others.

Sizes (how many lags, windows, members) are not here but in `members`: they fix the layout of the record.
Where a reason names a page, it is a page of the report; the signals are those of benchmarks/results/accuracy.json.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Settings:
    """Constants of the step. Squared errors are in squared units of the signal; counts are in samples."""

    # The mixture.
    discount: float = 0.985
    """Factor per sample of past squared errors in a member's scale: 67 samples of memory, between the 30 that noise
    needs (scale known to 25 %) and the 100 after which a change of regime is noticed late (page regimes)."""
    share: float = 0.01
    """Probability per sample with which another member takes over, in the fixed-share update; costs 0.01 nats a
    sample at most, and lets a member that was wrong for ever come back within about 10 samples. With 0.02 the squared
    error of short series is 0.5 % less, that of exactly repeated steps four times as large."""
    settle: int = 8
    """Samples the first error counts for as a scale: one error alone says little."""
    block: int = 8
    """Samples between looks at the largest recent errors."""
    ceiling: float = 3.0
    """A scale above this many times the largest squared error of the last one to two blocks comes down to that: a jump
    is forgotten in 16 samples, where discounting takes 2000 from 1 to 1e-30. Under normal noise three binds once in
    1000 blocks; nine leaves an electrocardiogram with the scales of its last beat (6 % of the error), two costs short
    series."""
    season_ceiling: float = 9.0
    """The same for the second mixture, of the bank with the seasonal members: ETTh1's mean error is 0.7973 of copying's
    with nine and 0.7976 with three, so little depends on it."""
    believed_over: float = 0.99
    """Factor per sample of the sums that say which part of the changes foretold has come: 100 samples of memory; with
    50 or 200 short series gain 0.1 to 0.3 % less."""
    rounding: float = 1e-17
    """Smallest scale, relative to the newest value (its square is used): a tenth of a float64's last digit."""
    smallest: float = 1e-200
    """Squares below this count as zero: their own squares would leave the range of float64."""

    # Readouts solved in context.
    prior_power: float = 1e12
    """Prior variance of the weights times the mean square of the first features: next to no opinion."""
    bound: float = 1e16
    """Largest squared norm of a factor times the mean square of the features: beyond it, in a direction the signal
    never excites, the next digit that arrives would be taken for knowledge (float64 has 16)."""
    farthest: float = 4.0
    """Largest predicted change in units of the length of the features; a straight line needs 1, an alternation 2."""
    surprising: float = 30.0
    """Errors beyond this many times the usual one may be outliers, whose traces in the features would outweigh all
    that was learned: nothing is learned until they have left. Heavy-tailed noise stays below (Cauchy: 2 % above)."""
    usual_over: int = 1024
    """Samples over which the usual error is averaged, beside the shorter memory of the mixture."""
    tidy: int = 64
    """Samples between applications of the factors' growth and bound."""
    slowest_mean: float = 1e-3
    """Slowest rate per sample of the running mean, one of the features."""

    # Calibration and scores.
    rate: float = 0.03
    """Step of the tracked quantiles, in their logarithm: a level is reached from a factor e away in 33 errors."""
    first_rate: float = 0.15
    first_errors: float = 2.0
    """The step while fewer than 2 errors were to be expected beyond a quantile, falling in proportion to their number
    until it is `rate`. With 0.03 throughout, 0.4 % of 10 000 values of Student's t(2) lie outside intervals of level
    0.999, with this 0.16 %; with 0.3 it is 0.12 %, but five gross errors hide the sixth."""
    seen_beyond: float = 5.0
    spread_allowed: float = 0.25
    """Errors to be expected beyond a level for its quantile to be known: the ones farther out are then at least as far
    as the spread of the known ones lets expect, less this many standard errors (of a logarithm over a count). In 5 000
    values of Student's t(2) scores above 3 come with 1.6e-3 (2.4e-3 without), of Laplace's law with 0.6e-3 (1.3e-3), of
    a normal law with 0.8e-3 (0.9e-3); errors of 5 to 10 deviations in normal noise score what they did."""
    tail: float = 0.16
    """Mean logarithm of how far normal errors beyond the quantile of level 0.98 pass it; the reciprocal is the exponent
    of a power law with such a tail. What the stream's own errors differ from it by is the field `tail`."""
    tail_over: int = 64
    """Errors beyond that quantile the field is averaged over: some 3200 values."""
    steepest: float = 0.1
    """Least such mean, an exponent of 10: beyond the largest quantile an error of 10 times the size scores 10 more."""
    few: float = 2.0
    """Intervals are wider by 1 + few/n² after n errors: 3 times after the first, 1.5 times after the second."""
    lowest: float = 0.01
    highest: float = 100.0
    """Bounds of the quantiles in root mean squares: a sensor that sticks must not take them along."""
    surest: float = 15.0
    """Largest score: with 10^9 values a probability of 10^-15 is already extrapolated by six decades."""
    decade: float = 15.0
    """Errors known for each unit of a score, where that allows more than log10(1 + errors known): 3.3 takes 50 of them.
    The first errors of a stream are far from normal; without this 2 to 4 % of the scores of rows 2 to 9 passed 3.3."""
    exact: float = 1e-15
    """Root mean squares of errors below this share of the newest value are rounding (some five last digits). Then no
    tail is known, and a score is at most log10(1 + errors seen): the largest of n + 1 comes with 1/(n + 1)."""

    # The derivative.
    plain: float = 1.5
    """A one-step error beyond this multiple of what noise explains is bias, even one that turns too fast to be
    averaged."""
    unsure: float = 0.15
    """Share of the averaged noise that an unseen bias may hide in: the standard error of its estimate over a window."""
    slowest_bias: float = 0.015
    """Rate per sample at which squared averaged errors are averaged, at most: that of the scales (1 - discount).
    Members with windows above 67 samples take 1/window, which is slower."""

    # Gaps.
    patience: float = 1.5
    """A value teaches if it comes no later than this many usual spacings after the one before it."""
    spacings: int = 64
    """Values over which the usual spacing is averaged."""
    gap_fades: float = 0.97
    """Factor of the largest error after gaps of one length with every further such gap."""
    gap_few: float = 6.0
    """Intervals across gaps are 1 + gap_few/n^1.5 times that error after n of them: the next one is larger than the
    largest of n with probability 1/(n + 1), and of normal ones six times the first holds nine in ten."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            whole = field.type == "int"
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                raise TypeError(f"{field.name} must be a {'whole ' * whole}number, got {value!r}")
            if not (0 < value < math.inf):
                raise ValueError(f"{field.name} must be positive and finite, got {value}")
        for name in (
            "discount",
            "share",
            "believed_over",
            "slowest_mean",
            "slowest_bias",
            "unsure",
            "rate",
            "first_rate",
        ):
            if not getattr(self, name) < 1.0:
                raise ValueError(f"{name} must be below 1, got {getattr(self, name)}")
        if not self.lowest < 1.0 < self.highest or self.patience < 1.0 or self.surest > 300.0:
            raise ValueError(
                "lowest < 1 < highest, patience >= 1 and surest <= 300 must hold, got "
                f"lowest={self.lowest}, highest={self.highest}, patience={self.patience}, surest={self.surest}"
            )

    def check_read(self) -> None:
        """Refuse settings from a file that are no numbers, or a thousand times off what the step was made for."""
        for each in fields(self):
            value, usual = float(getattr(self, each.name)), float(getattr(DEFAULT, each.name))
            if not (value == 0 or usual / 1e3 <= value <= usual * 1e3):
                raise ValueError(f"settings.{each.name} must be 0 or within a factor of 1000 of {usual}, got {value!r}")


DEFAULT = Settings()
