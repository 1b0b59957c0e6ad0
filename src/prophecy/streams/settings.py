"""The numbers that steer a stream, each with its unit and the reason for it. `Prophecy(settings=...)` takes others.

`replace(DEFAULT, alarms=replace(DEFAULT.alarms, far=6.0))`, with `dataclasses.replace`, is how ablations are made.
Sizes, codes and limits of float64 are beside the record (`limits`): they fix its layout, and with it the format of
files. "Half, twice" is what these do to the mean squared error
of 48 streams (geometric mean of all but the one that moves most; benchmarks/bank_ideas.py of commit 966f295). Numbers
without it move no error by 0.1 %: what they are for is intervals, scores, alarms, slopes or time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

Share = float
"""The type of numbers strictly between 0 and 1: shares, probabilities, and what is kept of a sum with every value."""


@dataclass(frozen=True)
class Group:
    """Numbers that belong together: fields of type int, float or Share, tuples of them as long as the default's, and
    further groups. All numbers are positive and finite."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, usual = getattr(self, field.name), field.default
            if isinstance(usual, Group):
                if type(value) is not type(usual):
                    raise TypeError(f"{field.name} must be a {type(usual).__name__}, got {value!r}")
                continue
            if isinstance(usual, tuple) and not (isinstance(value, tuple) and len(value) == len(usual)):
                raise TypeError(f"{field.name} must be {len(usual)} numbers, got {value!r}")
            for number in value if isinstance(usual, tuple) else (value,):
                _check_number(field.name, number, str(field.type))

    @classmethod
    def of(cls, written: dict[str, Any]) -> Any:
        """The numbers that a file holds, checked; ValueError for names of another version."""
        usual: dict[str, Any] = {field.name: field.default for field in fields(cls)}
        if set(written) != set(usual):
            raise ValueError(f"settings must be {', '.join(usual)}, got {', '.join(written)}")
        made: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in written.items()}
        groups = {name: type(group).of(made[name]) for name, group in usual.items() if isinstance(group, Group)}
        return cls(**made | groups)


def _check_number(name: str, value: Any, kind: str) -> None:
    whole = kind == "int"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise TypeError(f"{name} must be a {'whole ' * whole}number, got {value!r}")
    if not (0 < value < math.inf):
        raise ValueError(f"{name} must be positive and finite, got {value}")
    if "Share" in kind and not value < 1.0:
        raise ValueError(f"{name} must be below 1, got {value}")


@dataclass(frozen=True)
class SeasonSettings(Group):
    """What is a season (`kernels/periods.pyx`), and the members that use it (`kernels/seasonal.pyx`). Shares are of the
    power of a series; half and twice is what they do to the mean absolute error on the columns of ETTh1."""

    least: Share = 0.05
    """Share that a season explains, at least; of values less their line twice that. Half, twice: 0.0, +0.2 %."""
    deviations: float = 5.0
    """Standard deviations, of white noise and of slower noise, that the share must reach. Half, twice: 0.0, 0.0 %;
    noise of 4 000 values reaches four now and then."""
    wander: Share = 0.15
    """Share of a season's strongest tone that may fade with the lag (`periods.tone`). Half, twice: +0.3, -0.1 %; with
    1 every resonance is a season."""
    more: float = 0.1
    """What a second season explains, at least, over what the first one does. Half, twice: 0.0, 0.0 %; it keeps what a
    first one of no whole number of samples leaves behind from being a season."""
    averaged: int = 16
    """Seasons in the mean profile: from 7 to 14 days ETTh1's error falls by 0.3 %, from 14 to 21 by 0.2 %. Half,
    twice: +0.4, -0.4 %."""
    bank: Share = 0.6
    joined: Share = 0.8
    """Share of all others in the prior while seasonal members are awake, and their weight when these wake; the seasonal
    members share the rest. With 0.6 for both the report's pattern of 1000 samples has 10 % more error."""


@dataclass(frozen=True)
class AlarmSettings(Group):
    """When a stretch is unusual (`kernels/alarms.pyx`). Sums and confidences are in decades: -log10 of probabilities.

    Chosen on NAB's 38 development files (benchmarks/nab.py) and on eighteen kinds of streams in which nothing happens,
    so that an alarm of 1 - rate comes on at most that share of the rows (benchmarks/streams.py, part `alarms`).
    """

    sure: float = 50.0
    """Values seen for each decade of confidence: ranks among a few dozen values that depend on each other are rough. An
    alarm of 0.99 takes 100 values, one of 0.999 takes 150; with 25 a decade 2 % of rows 50 to 99 alarm at 0.99."""
    quiet: float = 200.0
    quiet_share: Share = 0.1
    """A sum must pass all sums of the last 200 values, or the last tenth of the stream."""
    rise: float = 0.81
    """Confidence over the square root of the sum: a bound over eighteen kinds of streams of 3 000 and 60 000 values,
    those that are rounded, clipped, switch or rest among them. Short streams are the worse ones."""
    alone: float = 3.4
    """-log10 of an error's own tail probability, by its score and by its rank, from which it is reported whatever the
    other ranks are; also the confidence that a flat line or noise of another size is reported with, once."""
    improbable: float = 8.0
    """-log10 of the probability below which differences of 0 in a row are a flat line, if each were 0 as often as until
    then. It is twice as long as any before, or such rests are rarer than `alone` says."""
    slow: int = 64
    far: float = 5.0
    familiar: float = 5.0
    """Values over which level, spread and noise are averaged slowly; how many of its own usual deviations such a mean
    must lie away from where it was to be reported; and how many times as many values it takes to know both. The drift
    is averaged over as many blocks of 20 values."""
    piled: Share = 0.02
    """Share of all values at the largest or smallest of them from which on it is a bound."""


@dataclass(frozen=True)
class ClockSettings(Group):
    """How timestamps are read and values brought to the grid (`kernels/clock.pyx`). Steps are the grid's.

    Chosen on signals with and without noise whose stamps jitter, are rounded or come at random (benchmarks/streams.py,
    parts `jitter` and `irregular`). How many stamps anything is averaged over follows from how many are kept
    (`limits.RECENT`).
    """

    off: Share = 0.3
    """A stamp farther than this from every place on the grid, in steps, is off it: jitter of ± 25 % and the error
    of the phase stay inside, random times are off in two cases of five. Half, twice: +0.5, 0.0 %."""
    irregular: Share = 0.2
    """Share of stamps off the grid above which times are irregular. Half, twice: 0.0, +0.1 %."""
    close: Share = 0.15
    """Largest mean distance from a grid found anew, in steps: any times are within half a step of one, 0.25 on
    average. Half, twice: -0.3, +6.8 %."""
    late: int = 4
    """Stamps in a row that must lie before the newest one, or far ahead, for the clock to have been set."""
    longest_hole: int = 131_072
    """Steps ahead beyond which a stamp is wild, or the clock was set: 36 hours at one value a second."""
    steady: float = 400.0
    """Stamps over which phase and step of the grid are fitted, at least: by least squares over all since the last time
    the clock drifted. Jitter of 10 % moves a phase fitted over 400 stamps by 0.6 %."""
    changed: Share = 0.02
    """Share by which a step must differ to be another one: what was learned per step is void then. A typical interval
    of irregular times is another one if it is half or twice as long (a quarter longer, while few stamps came)."""
    hole: float = 7.0
    """Typical intervals that must be missing for nothing to be interpolated: of exponential intervals one in 256 is
    longer, with 2 one in eight."""
    apart: Share = 0.5
    """Steps two samples must be apart for both to carry a polynomial, which magnifies the noise of closer ones: with
    0.1 the error is 6 % larger at intervals of ± 90 %."""


@dataclass(frozen=True)
class AheadSettings(Group):
    """Predictions h values ahead (`ahead.py`)."""

    allowed: Share = 0.018
    """Of copying's error, by which ours may exceed it: just below the 2 % that are promised, for rows a user counts
    differently."""
    share: float = 3.0
    """Of the room left, spread over h predictions: after h of them 95 % of it is in use."""
    rolled: int = 48
    """Distance up to which the bank is rolled forward beside them: it costs h steps a value."""


@dataclass(frozen=True)
class Settings(Group):
    """Constants of the step, and groups of those of its parts. Counts are in samples."""

    # The mixture.
    discount: Share = 0.985
    """Factor per sample of past squared errors in a member's scale: 67 samples of memory, between the 30 that noise
    needs and the 100 after which a change of regime is noticed late. Half, twice: +0.4, +0.5 %."""
    share: Share = 0.01
    """Probability per sample with which another member takes over, in the fixed-share update; costs 0.01 nats a
    sample at most, and lets a member that was wrong come back within about 10 samples. Half, twice: +0.9, +0.3 %."""
    block: int = 8
    """Samples that the first error counts for in a scale, and samples between two updates of the ceiling of scales:
    a jump is forgotten after two of them. Half, twice: 0.0, +0.4 %."""
    ceiling: float = 3.0
    """A scale above this many times the largest squared error of the last one to two blocks comes down to that: a
    jump is forgotten in 16 samples, where discounting takes 2000 from 1 to 1e-30. Half, twice: +0.8, +0.5 %."""
    shrink_discount: Share = 0.99
    """Factor per sample of the sums that the share of forecast changes that come is estimated from (`mixture.pyx`):
    100 samples of memory; with 50 or 200 short series gain 0.1 to 0.3 % less. Half, twice: -0.1, +0.1 %."""
    prior_solved: float = 4.0
    """Prior of each member solved in context; constructed ones have 1/(degree + 1). They are few. Half, twice:
    +1.0, -0.7 %."""
    alternating: tuple[Share, ...] = (0.9, 0.98)
    """Poles -ρ of the two filters that follow what alternates from sample to sample: 16 lags leave 5 %."""

    # Readouts solved in context.
    solved_memory: tuple[Share, ...] = (0.999, 0.9995, 0.999, 0.998, 0.999, 0.998, 0.995)
    """Forgetting per sample of each, in the order of `members.SOLVED`: memories of 1000, 2000, 1000 and 500 samples;
    of those with seasons 1000, 500 and 200: small ones can afford to forget sooner. Half, twice: +0.4,
    -0.5 %."""
    equations: float = 1.5
    """Samples for each weight before a member predicts by its own readout: with fewer that is hardly determined.
    Half, twice: +0.2, +0.6 %."""

    # What is believed.
    doubtful: Share = 1e-4
    """Probability, by the power law through q₇₅ and q₉₅ of errors and of changes, below which a value is wild
    (`past`): 15 standard deviations of normal noise, 40 of Laplace's, 6 000 of Cauchy's. Half, twice: -0.1,
    0.0 %."""

    # Calibration and scores.
    rate: float = 0.03
    first_rate: float = 0.15
    """Step of the tracked quantiles, in their logarithm: a level is reached from a factor e away in 33 errors. The
    second while fewer than 2 errors were to be expected beyond a quantile, falling in proportion to their number: of
    10 000 values of Student's t(2) 0.16 % lie outside intervals of level 0.999, without it 0.4 %."""
    tail_over: int = 64
    """Errors beyond the quantile of level 0.98 that the heaviness of their tail is averaged over: some 3200 values."""
    few: float = 2.0
    """Intervals are wider by 1 + few/n² after n errors: 3 times after the first, 1.5 times after the second."""
    decade: float = 15.0
    """Errors known for each unit of a score, where that allows more than log10(1 + errors known): without this 2 to 4 %
    of the scores of rows 2 to 9 passed 3.3."""

    # The derivative.
    plain: float = 1.5
    """A one-step error beyond this multiple of what noise explains is bias, even one that turns too fast to be
    averaged."""

    # Gaps.
    gap_reach: float = 2.0
    """How far beyond all values known a forecast may go, in largest recent changes for each step; and half as much
    again in terms of the mean speed at which all that was seen was passed through. Half, twice: +0.1, -0.3 %."""
    gap_fades: Share = 0.97
    """Factor of the largest error after gaps of one length with every further such gap."""
    gap_few: float = 6.0
    """Intervals across gaps are 1 + gap_few/n^1.5 times that error after n of them: nine in ten of normal ones."""

    # Sensors.
    stuck: int = 16
    """Differences of 0 in a row after which the sensor is taken to be stuck or at rest. Values repeat where one
    difference in as many was 0, which continuous values never do."""

    # Parts with settings of their own.
    seasons: SeasonSettings = SeasonSettings()
    alarms: AlarmSettings = AlarmSettings()
    clock: ClockSettings = ClockSettings()
    ahead: AheadSettings = AheadSettings()
    """Which periods a stream has; experts that use them; alarms; the grid of timestamps and irregular times;
    predictions several values ahead."""


DEFAULT = Settings()
