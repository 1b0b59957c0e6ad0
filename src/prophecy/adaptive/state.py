"""Reading and setting the arrays of a bank and of the parts that learn in it, by name."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

NOT_NEGATIVE = ("scale", "scales", "quantiles", "peak", "last_peak", "power", "usual", "square")

Rows: TypeAlias = "slice | NDArray[np.bool_]"


class Part(Protocol):
    """What learns in a bank: arrays named in STATE, the series axis first."""

    @property
    def STATE(self) -> tuple[str, ...]: ...

    def wake(self) -> None: ...


def collect(bank: Any) -> dict[str, NDArray[Any]]:
    """All arrays of a bank and its parts."""
    return {key: getattr(owner, name) for owner, name, key in _slots(bank)}


def restore(bank: Any, arrays: dict[str, NDArray[Any]]) -> None:
    """Set what `collect` gave, refusing arrays of another shape."""
    for owner, name, key in _slots(bank):
        current = getattr(owner, name)
        array = np.asarray(arrays[key])
        if array.shape != current.shape or array.dtype != current.dtype:
            raise ValueError(f"{key} must be {current.dtype} of shape {current.shape}, got {array.dtype} {array.shape}")
        least = 0.0 if array.dtype.kind in "iu" or name in NOT_NEGATIVE else -np.inf
        if array.dtype.kind != "b" and not (np.isfinite(array) & (array >= least)).all():
            raise ValueError(f"{key} holds numbers that cannot be")
        current[...] = array
    for part in bank.learners:
        part.wake()


class Kept:
    """The state of some series, to be put back after a step that was not for them."""

    def __init__(self, parts: tuple[Part, ...], rows: NDArray[np.bool_]) -> None:
        self._parts, self._rows = parts, rows
        self._kept = [(part, name, getattr(part, name)[rows].copy()) for part in parts for name in part.STATE]

    def put_back(self) -> None:
        for part, name, values in self._kept:
            getattr(part, name)[self._rows] = values
        for part in self._parts:
            part.wake()


class Rhythm:
    """Something done every so many steps, counted for each series on its own."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._together = True

    def due(self, count: NDArray[np.int64]) -> Rows | None:
        """The series whose turn it is, None if there are none."""
        if self._together:
            return slice(None) if count[0] % self._every == 0 else None
        rows = count % self._every == 0
        return rows if rows.any() else None

    def look(self, count: NDArray[np.int64]) -> None:
        """See whether all series are in step."""
        self._together = bool((count == count[0]).all())


def _slots(bank: Any) -> list[tuple[Any, str, str]]:
    slots: list[tuple[Any, str, str]] = [(bank, name, name) for name in bank.STATE]
    return slots + [(part, name, f"{type(part).__name__}.{name}") for part in bank.learners for name in part.STATE]
