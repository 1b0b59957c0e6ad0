"""Numbers of predictions h values ahead (`far.py`).

Where no other reason is given a value is a round one, chosen without study; beside it stands what half and twice do to
the squared error 12 values ahead, as the geometric mean over four made series (benchmarks/results/bank_ideas.json): 5 %
at most, and nowhere are both better. Several are better at one side; they stay until that is seen on other data.
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
    """Rates per value of the slow means among the features. Half: 0.8 % more; twice: 3.1 % more."""
    profile: int = 16
    """Seasons averaged. Two: 0.6 % more; eight: 3.4 % less, mostly where a day and a week do not change (13 %)."""
    first: int = 128
    """Values after which seasons are looked for, and again whenever their number has doubled. 64: the same; 256: 1.2 %
    more."""
    solved_every: int = 16
    """Values between two solutions, of four systems of 31 unknowns each. 8: 3.2 % less, for twice as many of them;
    32: 0.8 % more."""
    forgetting: tuple[float, ...] = (1.0, 1 - 1 / 500)
    """Per value, of the two sets of normal equations: one forgets nothing, the other has a memory of 2 000 values. With
    one of 4 000, and almost none in place of the first: 1.3 % more; with one of 1 000: 4.8 % less."""
    ridges: tuple[float, ...] = (1e-3, 1e-3, 0.3, 0.3)
    """Of each feature's power; the last two hardly leave the copy. Half: 0.1 % less; twice: 0.7 % more."""
    discount: float = 0.999
    """Per value, of the errors members are weighed by. 0.9995: 0.6 % more; 0.998: 1.2 % less."""
    sharpness: float = 0.03
    """A member whose errors are this share above the best has e^-1 of its weight. Half: 0.5 % more;
    twice: 1.6 % less."""
    handicap: float = 8.0
    """Usual steps a member must be ahead before it counts as much as the copy. 4: 0.7 % more; 16: the
    same to 0.03 %."""
    rolled: int = 48
    """Distance up to which the bank is rolled forward beside them: it costs h steps a value."""
    alike: float = 0.2
    stands_out: float = 0.1
    """Autocorrelation of a season, and by how much it must exceed the lowest one before it. Half of either, or twice
    the second: the same; 0.4 for the first: 1.2 % more."""
    nearly: float = 0.7
    """Share of the strongest autocorrelation that the shorter season has. 0.35: 0.7 % more; 1: 2.3 % more."""
    longer: float = 1.5
    better: float = 0.02
    """A second season is so many times longer, and has an autocorrelation larger by so much. Half or twice of either
    moves 0.6 % at most."""
