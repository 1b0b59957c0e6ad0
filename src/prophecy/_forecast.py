"""What a forecast is: a mean, an interval, and where both came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = float | NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Forecast:
    """A prediction with the interval that holds the truth with probability `level`.

    mean, lower, upper: floats (one value), (horizon,) or (horizon, variables); lower <= mean <= upper.
    method: what made the mean. notes: what a reader should know, one sentence each.

    >>> print(Forecast(mean=0.5, lower=0.4, upper=0.7, level=0.9, method="straight line").explain())
    straight line: 0.5, with probability 0.9 between 0.4 and 0.7
    """

    mean: Values
    lower: Values
    upper: Values
    level: float
    method: str
    notes: tuple[str, ...] = ()

    def explain(self) -> str:
        """Say in words what was predicted, by what, and how sure it is."""
        lines = [f"{self.method}: {self._interval()}"]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)

    def _interval(self) -> str:
        if np.ndim(self.mean) == 0:
            return f"{self.mean:.6g}, with probability {self.level:g} between {self.lower:.6g} and {self.upper:.6g}"
        width = np.asarray(self.upper) - np.asarray(self.lower)
        shape = " x ".join(str(size) for size in width.shape)
        first, last = float(np.mean(width[0])), float(np.mean(width[-1]))
        return f"{shape} values, intervals of level {self.level:g} are {first:.3g} wide at first and {last:.3g} at last"
