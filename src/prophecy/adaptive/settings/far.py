"""Numbers of predictions h values ahead (`far.py`).

Values are round ones: half or twice of any moves the squared error 12 values ahead by 5 % at most, on the mean of four
made series (benchmarks/results/bank_ideas.json).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from prophecy.adaptive.settings.checked import Group


@dataclass(frozen=True)
class FarSettings(Group):
    """Readouts solved for one distance, and how they are mixed."""

    LIMITS: ClassVar = {
        "allowed": (0.0, 1.0),
        "discount": (0.5, 1.0),
        "forgetting": (0.5, 1.0),
        "rolled": (1, 4096),
        "nearly": (0.0, 1.0),
    }

    allowed: float = 0.018
    """Of copying's error, by which ours may exceed it: just below the 2 % that are promised, for rows a user counts
    differently."""
    share: float = 3.0
    """Of the room left, spread over h predictions: after h of them 95 % of it is in use."""
    slow: tuple[float, ...] = (1 / 32, 1 / 512)
    """Rates per value of the slow means among the features."""
    profile: int = 4
    """Seasons averaged."""
    first: int = 128
    """Values after which seasons are looked for, and again whenever their number has doubled."""
    solved_every: int = 16
    """Values between two solutions."""
    forgetting: tuple[float, ...] = (1.0, 1 - 1 / 2000)
    """Per value, of the two sets of normal equations."""
    ridges: tuple[float, ...] = (1e-3, 1e-3, 0.3, 0.3)
    """Of each feature's power; the last two hardly leave the copy."""
    discount: float = 0.999
    """Per value, of the errors members are weighed by."""
    sharpness: float = 0.03
    """A member whose errors are this share above the best has e^-1 of its weight."""
    handicap: float = 8.0
    """Usual steps a member must be ahead before it counts as much as the copy."""
    rolled: int = 48
    """Distance up to which the bank is rolled forward beside them: it costs h steps a value."""
    alike: float = 0.2
    stands_out: float = 0.1
    """Autocorrelation of a season, and by how much it must exceed the lowest one before it."""
    nearly: float = 0.7
    """Share of the strongest autocorrelation that the shorter season has."""
    longer: float = 1.5
    better: float = 0.02
    """A second season is so many times longer, and has an autocorrelation larger by so much."""
