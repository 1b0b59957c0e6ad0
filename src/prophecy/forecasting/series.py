"""One variable as candidates see it, and the scales it can be described on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from prophecy._arrays import Array, Indices, Mask


@dataclass(frozen=True)
class Scale:
    """What a candidate describes: the values y themselves or a function of them.

    log_slope: log |dx/dy|, which turns a density of x into one of y, so that candidates on different scales are scored
    alike.
    """

    name: str
    of: Callable[[Array], Array]
    back: Callable[[Array], Array]
    log_slope: Callable[[Array], Array]


def logarithms(sign: int) -> Scale:
    """Of the sizes of values that all have this sign."""
    return Scale(
        " of logarithms",
        lambda y: np.log(sign * y),
        lambda x: sign * np.exp(np.minimum(x, 700.0)),
        lambda y: -np.log(sign * y),
    )


VALUES = Scale("", lambda y: y, lambda x: x, np.zeros_like)


@dataclass(frozen=True)
class Series:
    """y (time,), gaps filled by straight lines; which values were seen; seasons worth looking at; steps wanted."""

    y: Array
    seen: Mask
    seasons: tuple[int, ...]
    horizon: int

    @property
    def sign(self) -> int:
        """1 or -1 where all values have it, else 0."""
        return int((self.y > 0).all()) - int((self.y < 0).all())


Ahead = tuple[Array, Array | None]


class Fitted(Protocol):
    """A candidate solved from the values up to some moment."""

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> Ahead:
        """Locations of the next `steps` values after each origin, (origins, steps), on the candidate's scale, and the
        standard deviations it expects of its own errors, or None where only rolling them can tell. Where x is (time,
        variables), locations are (origins, steps, variables), NaN from where a path is lost."""


Fit = Callable[[Array, Mask, int], Fitted | None]


@dataclass(frozen=True)
class Candidate:
    """fit(x, seen, steps) solves it from the values x on its scale; None where these are too few or unfit.

    family: has a prior; share: of it, that this candidate has. label: what `explain` calls it.
    """

    family: str
    label: str
    scale: Scale
    fit: Fit
    share: float = 1.0
