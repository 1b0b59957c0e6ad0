"""Reading and setting the arrays of a bank and of the parts that learn in it, by name."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Part(Protocol):
    """What learns in a bank: arrays named in STATE, the series axis first, and a count of its steps."""

    @property
    def STATE(self) -> tuple[str, ...]: ...

    steps: int

    def wake(self) -> None: ...


def collect(bank: Any) -> dict[str, NDArray[Any]]:
    """All arrays of a bank and its parts."""
    return {key: getattr(owner, name) for owner, name, key in _slots(bank)}


def clocks(bank: Any) -> dict[str, int]:
    """How many steps each part has made; it decides when it tidies up."""
    return {type(part).__name__: part.steps for part in bank.learners}


def restore(bank: Any, arrays: dict[str, NDArray[Any]], steps: dict[str, int]) -> None:
    """Set what `collect` and `clocks` gave, refusing arrays of another shape."""
    for owner, name, key in _slots(bank):
        current = getattr(owner, name)
        array = np.asarray(arrays[key])
        if array.shape != current.shape or array.dtype != current.dtype:
            raise ValueError(f"{key} must be {current.dtype} of shape {current.shape}, got {array.dtype} {array.shape}")
        setattr(owner, name, np.array(array))
    for part in bank.learners:
        part.steps = int(steps[type(part).__name__])
        part.wake()


class Kept:
    """The state of some series, to be put back after a step that was not for them."""

    def __init__(self, parts: tuple[Part, ...], rows: NDArray[np.bool_]) -> None:
        self._rows = rows
        self._kept = [(part, name, getattr(part, name)[rows].copy()) for part in parts for name in part.STATE]

    def put_back(self) -> None:
        for part, name, values in self._kept:
            getattr(part, name)[self._rows] = values


def _slots(bank: Any) -> list[tuple[Any, str, str]]:
    slots: list[tuple[Any, str, str]] = [(bank, name, name) for name in bank.STATE]
    return slots + [(part, name, f"{type(part).__name__}.{name}") for part in bank.learners for name in part.STATE]
