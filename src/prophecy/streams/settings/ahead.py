"""Numbers of predictions h values ahead (`ahead.py`).

Beside each stands what others do to the mean absolute error 4 and 24 values ahead: geometric means over ETTh1's columns
and the measured series of the report, the even ones of 24 series first, then the odd ones (version
0.2.0). `profile` and `forgetting` were chosen on even series of NAB, ETTh1 and the report, and
seen on the odd ones; the others are round numbers. Nothing moves all four means by a per cent for the better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prophecy.streams.settings.checked import Group


@dataclass(frozen=True)
class AheadSettings(Group):
    """Readouts solved for one distance, and how they are mixed."""

    LIMITS: ClassVar = {
        "allowed": (0.0, 1.0),
        "discount": (0.5, 1.0),
        "forgetting": (0.5, 1.0),
        "rolled": (1, 4096),
    }

    allowed: float = 0.018
    """Of copying's error, by which ours may exceed it: just below the 2 % that are promised, for rows a user counts
    differently."""
    share: float = 3.0
    """Of the room left, spread over h predictions: after h of them 95 % of it is in use."""
    slow: tuple[float, ...] = (1 / 32, 1 / 512)
    """Rates per value of the slow means among the features. Half: +0.1, +0.2; -0.1, +0.0 %. Twice: -0.4, -0.2; -0.3,
    -0.1 %."""
    profile: int = 16
    """Seasons averaged. 4: +0.7, +0.6; +0.6, +1.5 %. 8: +0.4, +0.4; +0.1, +0.1 %."""
    solved_every: int = 16
    """Values between two solutions, of four systems of 31 unknowns each. 8, for twice as many of them: -0.1, +0.1;
    -0.7,
    -0.4 %. 32: -0.0, +0.0; -0.7, +0.2 %."""
    forgetting: tuple[float, ...] = (1.0, 1 - 1 / 500)
    """Per value, of the two sets of normal equations: one forgets nothing, the other has a memory of 500 values. 250:
    -0.6, -0.8; -0.0, +0.2 %. 1000: +0.9, +0.8; +0.2, +0.3 %. 2000: +1.3, +1.1; +0.4, +0.7 %."""
    ridges: tuple[float, ...] = (1e-3, 1e-3, 0.3, 0.3)
    """Of each feature's power; the last two hardly leave the copy. Half: -0.1, -0.2; -0.5, +0.2 %. Twice: +0.2, +0.1;
    +0.5, +0.1 %."""
    discount: float = 0.999
    """Per value, of the errors members are weighed by. 0.998: -0.3, -0.2; -0.3, +0.1 %. 0.9995: +0.2, +0.1; +0.2,
    -0.0 %."""
    sharpness: float = 0.03
    """A member whose errors are this share above the best has e^-1 of its weight. Half: +0.2, +0.2; +0.1, +0.6 %.
    Twice:
    -0.3, -0.2; -0.4, -0.5 %."""
    handicap: float = 8.0
    """Usual steps a member must be ahead before it counts as much as the copy. 4: -0.0, -0.0; +0.0, -0.2 %. 16: +0.0,
    +0.0; -0.0, +0.2 %."""
    rolled: int = 48
    """Distance up to which the bank is rolled forward beside them: it costs h steps a value."""
