"""Candidates of the user's: `forecast(..., candidates={"my model": fit})`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prophecy._arrays import Array, Indices, Mask
from prophecy.forecasting.series import VALUES, Ahead, Candidate, Fitted

Fit = Callable[[Array], Any]


def own_candidates(given: Mapping[str, Fit] | None) -> tuple[Candidate, ...]:
    """given: by name, fit(values) that returns predict(values so far, steps), or None where the values are too few.

    predict returns the next `steps` values, or a tuple of them and of the standard deviations of their errors. Values
    are (time,), NaN where they are missing.
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping) or not all(callable(fit) for fit in given.values()):
        raise TypeError(f"candidates must map names to functions fit(values), got {given!r}")
    return tuple(Candidate("own", str(name), VALUES, _Own(str(name), fit)) for name, fit in given.items())


@dataclass(frozen=True)
class _Own:
    name: str
    solve: Fit

    def __call__(self, x: Array, seen: Mask, steps: int) -> Fitted | None:
        predict = self.solve(np.where(seen, x, np.nan))
        return None if predict is None else _OwnFitted(self.name, predict)


@dataclass(frozen=True)
class _OwnFitted:
    name: str
    predict: Callable[[Array, int], Any]

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> Ahead:
        known = np.where(seen, x, np.nan)
        answers = [self.predict(known[:origin].copy(), steps) for origin in origins]
        if all(isinstance(answer, tuple) for answer in answers):
            return self._rows([a[0] for a in answers], steps), self._rows([a[1] for a in answers], steps)
        return self._rows(answers, steps), None

    def _rows(self, answers: Sequence[Any], steps: int) -> Array:
        rows = [np.asarray(answer, dtype=np.float64) for answer in answers]
        wrong = next((row.shape for row in rows if row.shape != (steps,)), None)
        if wrong is not None:
            raise ValueError(f"candidate {self.name!r} was asked for {steps} values and answered with shape {wrong}")
        return np.stack(rows)
