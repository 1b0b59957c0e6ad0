"""Numbers that say which periods a stream has (`periods`) and steer the experts that use them (`seasonal`).

Where no other reason is given a value was chosen on made streams with known seasons and on resonances and walks without
(benchmarks/streams.py, part `seasons`), so that none is found where there is none. What half and twice each of them
does: benchmarks/results/bank_ideas.json.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prophecy.streams.settings.checked import Group


@dataclass(frozen=True)
class PeriodSettings(Group):
    """When periods are looked for, and what is a season (`kernels/periods.py`). Shares are of the power of a series."""

    LIMITS: ClassVar = {"first_check": (16, 4096), "check_growth": (1.1, 10), "check_every": (64, 2**20)}

    first_check: int = 32
    check_growth: float = 1.5
    check_every: int = 2048
    """Seasons are checked after 32 values, then 48, 72, …, and from 4096 on every 2048; from 16 384 on, where the last
    check found the periods of the one before, every 4096: nearly all that is kept is new then."""
    least: float = 0.05
    """Share that a season explains, at least; of values less their line twice that. With 0.1 the seventh column of
    ETTh1 has no day."""
    deviations: float = 5.0
    """Standard deviations of an autocorrelation of white noise that the share must reach."""
    wander: float = 0.15
    """Share of a season's strongest tone that may change from stretch to stretch. With 0.2 twice as many resonances
    with memories of 1 000 and 2 000 samples pass for seasons (12 of 160), with 0.1 half, and real days are lost."""
    same: float = 0.05
    between: float = 0.15
    """Loss of a season that explains as much as another one, and of one that is no whole number of samples, since the
    autocorrelation is known at whole lags only."""
    more: float = 0.1
    """Share by which two seasons, or a multiple of one, must explain more than one does."""


@dataclass(frozen=True)
class SeasonalSettings(Group):
    """The experts that use the seasons, and the mixture of them with the bank (`kernels/seasonal.py`)."""

    LIMITS: ClassVar = {"averaged": (1, 256), "memory": (0.9, 1.0), "bank": (0.0, 1.0), "joined": (0.0, 1.0)}

    averaged: int = 16
    """Seasons in the mean profile: from 7 to 14 days ETTh1's error falls by 0.3 %, from 14 to 21 by 0.2 %."""
    memory: tuple[float, ...] = (0.999, 0.998, 0.995)
    """Forgetting per value of the three readouts: memories of 1000, 500 and 200 values; small ones can afford to forget
    sooner."""
    bank: float = 0.3
    joined: float = 0.8
    """Share of the bank in the prior of the mixture, and its weight when experts of a season join: they were solved
    from the past, the bank's errors are known. They may overtake it within some ten values. From the prior instead,
    yearly sunspots lose 1.7 % and short series 0.2 %. The experts share the rest."""
    needless: float = 0.1
    """Where the forecast errs by less than this share of the differences (root mean squares) seasons cannot add
    much."""
    useless: float = 0.998
    """Seasonal experts go to sleep unless the mean absolute error with them is below this share of the bank's own."""
    useful: float = 0.98
    """Seasons that are no longer found stay while the mean absolute error with them is below this share of the bank's
    own: what improves forecasts is kept though its amplitude varies."""
