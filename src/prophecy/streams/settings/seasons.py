"""Numbers that say which periods a stream has (`seasons`, `lines`) and steer the members that use them (`seasonal`).

Where no other reason is given a value was chosen on made streams with known seasons and on resonances and walks without
(benchmarks/streams.py, part `seasons`), so that none is found where there is none. What half and twice each of them
does: benchmarks/results/bank_ideas.json.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prophecy.streams.settings.checked import Group


@dataclass(frozen=True)
class SeasonSettings(Group):
    """When periods are looked for, and when an autocorrelation r is a season (`kernels/seasons.py`)."""

    LIMITS: ClassVar = {
        "first_check": (16, 4096),
        "check_growth": (1.1, 10),
        "check_every": (64, 2**20),
        "most_parts": (1, 64),
        "multiples": (2, 4096),
        "stretches": (2, 32),
    }

    first_check: int = 32
    check_growth: float = 1.5
    check_every: int = 2048
    """Seasons are checked after 32 values, then 48, 72, …, and from 4096 on every 2048; from 16 384 on, where the last
    check found the periods of the one before, every 4096: nearly all that is kept is new then."""
    first_long: int = 512
    """Shortest season, in samples, searched among means of 32 values: 16 of them to a season show its shape."""
    cut: float = 5.0
    """Root mean squares at which values are cut before the search, so that no outlier decides."""
    least: float = 0.1
    least_of_values: float = 0.2
    """Smallest autocorrelation of a season, among differences and values: below 0.1 its members gain less than 1 %."""
    white_deviations: float = 5.0
    bartlett_deviations: float = 3.5
    """Standard deviations a peak must reach, those of white noise and those of a process with the autocorrelations up
    to half the lag (Bartlett). In 100 random walks and 100 series of white noise none was found."""
    alone: float = 5.0
    """Bartlett's deviations a lag needs of which no multiple can be seen, so that nothing shows whether it lasts."""
    certain: float = 0.9
    """An autocorrelation this high over four periods or more needs no further test: no noise is that regular."""
    lasting: float = 0.5
    """r on average at the farther multiples of a lag, relative to r at the lag: resonances lose their phase."""
    multiples: int = 64
    """Most multiples of a lag at which r must have lasted, and that the length of a period is fitted to: the error of
    the peaks' places falls with the power 1.5."""
    nearly: float = 0.85
    """r of a lag 'as strong as the strongest', relative to that: the shortest of them is the season."""
    inside: float = 0.5
    """r of a season inside a longer one (a day in a week), relative to that of the longer."""
    partly: float = 0.25
    """Share of what a season explains, and of the power of its lines, that one inside of it must have."""
    decayed: float = 1.5
    """A lag with a shorter one so many times as strong is an echo of it that has decayed: a resonance, no season."""
    by_values: float = 0.2
    """By how much r among the values must exceed r among the differences for the season to be taken from there."""
    unsure: float = 1.0
    """Error of one peak's place, in the lags that its centre is taken over on each side."""
    full: float = 0.9
    """Share of values that must be known for the period to be found by folding: missing ones have patterns too."""
    enough: float = 0.85
    """Share of what repeats that one or two tones must explain to be the seasons."""
    remains: float = 0.01
    """Share of the power that must remain without the first season for a second to be searched."""
    most_days: int = 10
    """A second season within 1 % of up to so many of the first is taken for as many: a year is not 52 weeks."""
    least_pairs: int = 24
    """Pairs of known values a lag needs for an autocorrelation: with fewer, 5 deviations of white noise exceed 1."""
    most_parts: int = 16
    """Parts of a lag that are tried as the period: 17.3 repeats in whole samples at 173, 30.4375 at 487."""
    same: float = 0.8
    """Share of what a period explains that a part of it must explain to be the season itself."""
    stretches: int = 16
    """Parts of a series whose powers are compared: half of them may have all of it before it counts as uneven. Without
    this comparison noise that grows e-fold in 300 values has seasons; 2 to 32 parts do as well as 16."""


@dataclass(frozen=True)
class LineSettings(Group):
    """Lines of the spectrum and the combs they make (`lines.py`). Distances are in reciprocals of the record's length,
    which is what a spectrum resolves."""

    LIMITS: ClassVar = {"strongest": (1, 24), "folded": (1, 512)}

    faint: float = 0.003
    noisy: float = 50.0
    """A line has at least this share of the power, and so many times what a value has of the power that is no line:
    the largest of 2 000 lines of white noise has 24 times."""
    tolerance: float = 0.06
    loosest: float = 0.3
    """How far from a multiple a strong line may lie, and the faintest one: other lines move it by a few hundredths,
    noise by half the root of the ratio of their powers."""
    clean: float = 0.02
    """How far a strong line of its own is misplaced."""
    base: float = 0.04
    """Share of a comb's power in its first line, at least: without it the lines of two seasons are those of a third."""
    agreeing: int = 4
    """Lines that make a comb without its first one: that so many are multiples of one frequency is no chance."""
    many: int = 6
    """Lines of a comb that are not taken for two seasons which meet again after some of both."""
    folded: int = 64
    """Highest multiple tried beyond half a cycle a sample, where it appears folded back."""
    strongest: int = 6
    """Lines, the strongest first, of which each may be any harmonic of the season."""
    denser: float = 3.0
    """A season lies inside another one (a day in a week) where its harmonics have, one by one, three times the power of
    the others and `SeasonSettings.partly` of all, its first one more than any of those near and above it."""
    most_times: int = 4
    """Two lines that meet again after so many of the shorter period or fewer are parts of one season, as 4 and 6
    months."""
    near: float = 2.0
    ring: float = 2.5
    ring_ends: float = 8.0
    far: float = 12.0
    farthest: float = 24.0
    """Distances from a line: up to `near` it is the line itself under Hann's window, from `ring` to `ring_ends` a hump
    shows, from `far` to `farthest` is neither."""
    beside: float = 6.0
    comparable: float = 0.25
    """Another line, and no part of a hump, lies so far away at least and has this share of the power."""
    slow: float = 0.05
    """Share of a line's power that a slow one has which may modulate it: the line of a day whose amplitude changes with
    the year has neighbours a year's frequency away, and is no season without this (`year modulates day` in
    bank_ideas.json)."""
    pedestal: float = 0.02
    above: float = 4.0
    """Share of a line's power around it, and that in units of what lies farther away, beyond which it is a hump:
    amplitudes that vary by a tenth leave 0.01, a resonance with a memory of half the record 0.06 on average."""


@dataclass(frozen=True)
class SeasonalSettings(Group):
    """The members that use the seasons, and the mixture of them with the bank (`seasonal.py`)."""

    LIMITS: ClassVar = {
        "averaged": (1, 256),
        "tidy": (1, 128),
        "replayed": (1, 4352),
        "replayed_mixture": (1, 4352),
        "memory": (0.9, 1.0),
        "sloped": (0.0, 0.25),
        "prior": (0.0, 1.0),
        "first": (0.0, 1.0),
    }

    averaged: int = 16
    """Seasons in the mean profile: from 7 to 14 days ETTh1's error falls by 0.3 %, from 14 to 21 by 0.2 %."""
    memory: tuple[float, ...] = (0.999, 0.998, 0.995)
    """Forgetting per value of the three readouts: memories of 1000, 500 and 200 values; small ones can afford to forget
    sooner."""
    prior: tuple[float, ...] = (0.3, 0.2, 0.15, 0.15, 0.1, 0.1)
    """Prior of the mixture: the bank first, then three readouts and the mean differences of both periods."""
    first: tuple[float, ...] = (0.8, 0.06, 0.04, 0.04, 0.03, 0.03)
    """Its weights when members of a season join: they were solved from the past, the bank's errors are known. They may
    overtake it within some ten values. From the prior instead, yearly sunspots lose 1.7 % and short series 0.2 %."""
    prior_power: float = 1e6
    """Prior variance of the weights times the mean square of the features: next to no prior knowledge."""
    bound: float = 1e12
    """Nothing is forgotten while the weights' variance times the features' power is beyond this: directions that are
    never excited would grow without end."""
    tidy: int = 16
    """Values between two applications of a factor's growth: by 1.04 at most, and a sixteenth of the work."""
    power_over: float = 64.0
    """Values over which the mean square of the features is averaged."""
    robust: float = 1.0
    """Errors beyond this many mean absolute errors count in proportion to their size, not its square (Huber): 0.2 % of
    ETTh1's error, and no outlier is remembered."""
    usual_rate: float = 0.005
    """Rate per value at which that mean absolute error is averaged: 200 values, the shortest memory of a readout."""
    replayed: int = 2048
    """Past values a newly found season is learned from at once."""
    replayed_mixture: int = 256
    """The last of them, from which the scales of the mixture are learned too."""
    sloped: float = 1.0 / 24.0
    """Part of a period to either side over which a seasonal slope is taken: a sine loses 1 % of its slope, one of 12
    samples 4 % (a sample is the least)."""
    needless: float = 0.1
    """Where the forecast errs by less than this share of the differences (root mean squares) seasons cannot add
    much."""
    useless: float = 0.998
    """Seasonal members go to rest unless the mean absolute error with them is below this share of the bank's own."""
    useful: float = 0.98
    """Seasons that are no longer found stay while the mean absolute error with them is below this share of the bank's
    own: what improves forecasts is kept though its amplitude varies too much for a line of the spectrum."""
    changed: float = 0.001
    """Share by which a period must have changed for the members to learn anew: over the 16 seasons averaged, a sixtieth
    of one."""
    other: float = 0.05
    """Share by which it must have changed to be another season, whose members begin with the weights `first`."""
