"""The numbers that steer the step: mixture, solved readouts, calibration, derivative, gaps, sensors.

Where a reason names a page, it is a page of the report; the signals are those of benchmarks/results/accuracy.json.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prophecy.streams.settings.ahead import AheadSettings
from prophecy.streams.settings.alarms import AlarmSettings
from prophecy.streams.settings.checked import Group
from prophecy.streams.settings.seasons import PeriodSettings, SeasonalSettings
from prophecy.streams.settings.times import ClockSettings


@dataclass(frozen=True)
class Settings(Group):
    """Constants of the step, and groups of those of its parts. Squared errors are in squared units of the signal;
    counts are in samples."""

    LIMITS: ClassVar = {
        "discount": (0.0, 1.0),
        "alternating": (0.0, 1.0),
        "solved_memory": (0.9, 1.0),
        "patience": (1.0, 1e9),
        "surest": (0.0, 300.0),
        "lowest": (0.0, 1.0),
        "highest": (1.0, 1e6),
        "stuck": (2, 2**20),
    }

    # The mixture.
    discount: float = 0.985
    """Factor per sample of past squared errors in a member's scale: 67 samples of memory, between the 30 that noise
    needs (scale known to 25 %) and the 100 after which a change of regime is noticed late (page regimes)."""
    share: float = 0.01
    """Probability per sample with which another member takes over, in the fixed-share update; costs 0.01 nats a
    sample at most, and lets a member that was wrong for ever come back within about 10 samples. With 0.02 the squared
    error of short series is 0.5 % less, that of exactly repeated steps four times as large."""
    settle: int = 8
    """Samples that the first error counts for in a scale, since one error alone is a poor estimate. Chosen without
    study: with 4 or 16 the squared error of made streams moves by 0.03 and 0.14 %, the one that moves most (nine values
    in ten missing) left out (bank_ideas.json)."""
    block: int = 8
    """Samples between two updates of the ceiling of scales (`ceiling`): of made streams, the one that moves most left
    out, 4 have 0.8 % and 16 have 3.2 % more squared error (bank_ideas.json)."""
    ceiling: float = 3.0
    """A scale above this many times the largest squared error of the last one to two blocks comes down to that: a jump
    is forgotten in 16 samples, where discounting takes 2000 from 1 to 1e-30. Under normal noise three binds once in
    1000 blocks; nine leaves an electrocardiogram with the scales of its last beat (6 % of the error), two costs short
    series."""
    shrink_discount: float = 0.99
    """Factor per sample of the sums that the share of forecast changes that come is estimated from (`shrinkage.py`):
    100 samples of memory; with 50 or 200 short series gain 0.1 to 0.3 % less."""
    prior_solved: float = 4.0
    """Prior of each member solved in context; constructed ones have 1/(degree + 1). They are few."""
    alternating: tuple[float, ...] = (0.9, 0.98)
    """Poles -ρ of the two filters that hold what alternates from sample to sample. The zero that sampling gives a
    smooth stochastic process lies near -1, so its best predictor remembers alternations for long: 16 lags leave 5 %."""
    rounding: float = 1e-17
    """Smallest scale, relative to the newest value (its square is used): a tenth of a float64's last digit."""
    smallest: float = 1e-200
    """Squares below this count as zero: their own squares would leave the range of float64."""

    # Readouts solved in context.
    solved_memory: tuple[float, ...] = (0.999, 0.9995, 0.999, 0.998)
    """Forgetting per sample of each, in the order of `members.SOLVED`: memories of 1000, 2000, 1000 and 500 samples."""
    equations: float = 1.5
    """Samples for each weight before a member predicts by its own readout: with fewer that is hardly determined."""
    prior_power: float = 1e12
    """Prior variance of the weights times the mean square of the first features: next to no prior knowledge."""
    bound: float = 1e16
    """Largest squared norm of a factor times the mean square of the features: beyond it, in a direction the signal
    never excites, the next rounding error would be learned as signal (float64 has 16 digits)."""
    farthest: float = 4.0
    """Largest predicted change in units of the length of the features; a straight line needs 1, an alternation 2."""
    doubtful: float = 1e-4
    """Probability, by the power law through q₇₅ and q₉₅ of errors and of changes, below which a value is wild (`past`):
    15 standard deviations of normal noise, 40 of Laplace's, 6 000 of Cauchy's."""
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
    excess_allowed: float = 0.25
    """Errors to be expected beyond a level for its quantile to be known: the ones farther out are then at least as far
    as the distances of the known ones let expect, less this many standard errors (of a logarithm over a count). In
    5 000 values of Student's t(2) scores above 3 come with 1.6e-3 (2.4e-3 without), of Laplace's law with 0.6e-3
    (1.3e-3), of a normal law with 0.8e-3 (0.9e-3); errors of 5 to 10 deviations in normal noise score what they did."""
    tail: float = 0.16
    """Mean logarithm of how far normal errors beyond the quantile of level 0.98 pass it; the reciprocal is the exponent
    of a power law with such a tail. What the stream's own errors differ from it by is the field `tail`."""
    tail_over: int = 64
    """Errors beyond that quantile the field is averaged over: some 3200 values."""
    steepest: float = 0.1
    """Least such mean, an exponent of 10: beyond the largest quantile an error of 10 times the size scores 10 more. The
    same bounds the laws beyond the farthest values that alarms rank by."""
    few: float = 2.0
    """Intervals are wider by 1 + few/n² after n errors: 3 times after the first, 1.5 times after the second."""
    lowest: float = 0.01
    highest: float = 100.0
    """Bounds of the quantiles in root mean squares, so that a sensor that sticks does not move them without end."""
    surest: float = 15.0
    """Largest score: after 10^9 values a probability of 10^-15 is extrapolated by six decades."""
    decade: float = 15.0
    """Errors known for each unit of a score, where that allows more than log10(1 + errors known): 3.3 takes 50 of them.
    The first errors of a stream are far from normal; without this 2 to 4 % of the scores of rows 2 to 9 passed 3.3."""
    error_rounding: float = 1e-15
    """Root mean squares of errors below this share of the newest value are rounding (some five last digits). Then no
    tail is known, and a score is at most log10(1 + errors seen): the largest of n + 1 comes with 1/(n + 1)."""

    # The derivative.
    plain: float = 1.5
    """A one-step error beyond this multiple of what noise explains is bias, even one that turns too fast to be
    averaged."""
    unsure: float = 0.15
    """Share of the averaged noise that an unseen bias may hide in: the standard error of its estimate over a window."""
    fastest_bias: float = 0.015
    """Rate per sample at which squared averaged errors are averaged, at most: that of the scales (1 - discount).
    Members with windows above 67 samples take 1/window, which is slower."""

    # Gaps.
    patience: float = 1.5
    """A value is learned from if it comes no later than this many usual spacings after the one before it."""
    spacings: int = 64
    """Values over which the usual spacing is averaged."""
    gap_fades: float = 0.97
    """Factor of the largest error after gaps of one length with every further such gap."""
    gap_few: float = 6.0
    """Intervals across gaps are 1 + gap_few/n^1.5 times that error after n of them: the next one is larger than the
    largest of n with probability 1/(n + 1), and of normal ones six times the first holds nine in ten."""

    gap_settled: int = 16
    """Errors one step ahead before errors across gaps are noted."""
    gap_sparse: float = 1.5
    """Usual distance of known values, in steps, from which on most of what the members see stood in for values."""
    gap_reach: float = 2.0
    """Changes a step by which a stand-in may pass all values known: a line needs 1, growth that doubles in the gap
    1.5."""
    gap_at_once: float = 4.0
    """The same one step ahead of a known value, where nothing adds up: growth by more than five times a step is
    limited."""
    gap_speed: float = 3.0
    """The same in terms of the mean speed at which all that was seen was passed through: a parabola ends at twice
    that."""
    gap_near: float = 3.0
    """Steps' worth of `gap_reach` that a stand-in may always go, whatever came before the gap."""
    gap_few_known: float = 16.0
    """Values from which on no stand-in goes farther beyond all values known than they differ."""

    # Sensors.
    stuck: int = 16
    """Differences of 0 in a row after which the sensor is taken to be stuck or at rest."""
    ticks_certain: int = 32
    """Differences in a row that must be multiples of a tick before it is used; of continuous values one in 5 000 is."""
    tick_tolerance: float = 1e-4
    """How far from a whole multiple of the tick a difference may be, in ticks; decimal fractions are off by
    rounding."""

    # Parts with settings of their own.
    periods: PeriodSettings = PeriodSettings()
    seasonal: SeasonalSettings = SeasonalSettings()
    alarms: AlarmSettings = AlarmSettings()
    clock: ClockSettings = ClockSettings()
    ahead: AheadSettings = AheadSettings()
    """Which periods a stream has, by autocorrelations and by lines of its spectrum; members that use them; alarms; the
    grid of timestamps, stamps off it, irregular times; predictions several values ahead."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in _BELOW_ONE:
            if not getattr(self, name) < 1.0:
                raise ValueError(f"{name} must be below 1, got {getattr(self, name)}")
        if self.lowest == self.highest:
            raise ValueError(f"lowest must be below highest, got {self.lowest} and {self.highest}")


_BELOW_ONE = ("discount", "share", "shrink_discount", "slowest_mean", "fastest_bias", "unsure", "rate", "first_rate")

DEFAULT = Settings()
