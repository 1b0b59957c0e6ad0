"""Systems: matrices with a meaning, checked once, then frozen.

Continuous systems give a derivative, discrete ones the next value. LegS changes with time, so it has types of its own
(`ScaledContinuous`, `ScaledSystem`) rather than a flag on the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from prophecy import _checks, discretize

Array: TypeAlias = NDArray[Any]


class Readout(NamedTuple):
    """What is read from a state x and the newest input u: C @ x + D * u. C (N,), D a number."""

    C: Array
    D: float


class Matrices(NamedTuple):
    """The discrete A (N, N), B (N,), C (N,), D of one step."""

    A: Array
    B: Array
    C: Array
    D: float


@dataclass(frozen=True, eq=False)
class Continuous:
    """x'(t) = A x(t) + B u(t), y(t) = C x(t) + D u(t) (Eq. 1): A (N, N), B and C (N,), D a number."""

    A: Array
    B: Array
    C: Array
    D: float

    def __post_init__(self) -> None:
        _freeze(self, np.dtype(np.float64), "A", "B", "C", "D")

    @property
    def order(self) -> int:
        return len(self.B)


@dataclass(frozen=True, eq=False)
class ScaledContinuous:
    """x'(t) = (-A x(t) + B u(t))/t, y(t) = (C x(t) + D u(t))/t (App. B.2): the same shapes, over the time elapsed."""

    A: Array
    B: Array
    C: Array
    D: float

    def __post_init__(self) -> None:
        _freeze(self, np.dtype(np.float64), "A", "B", "C", "D")

    @property
    def order(self) -> int:
        return len(self.B)


@dataclass(frozen=True, eq=False)
class System:
    """A discrete system at a step of `dt` seconds (Eq. 5): A (N, N), B and C (N,), D a number.

        x = A @ x + B * u[k]
        y[k] = C @ x + D * u[k]        # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].

    `derivative`, where it is known, reads u'(t) from the same state. `dtype` is float64 unless `astype` narrowed it.
    """

    A: Array
    B: Array
    C: Array
    D: float
    dt: float = 1.0
    derivative: Readout | None = None
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", _dtype(self.dtype))
        object.__setattr__(self, "dt", _checks.positive("dt", self.dt))
        _freeze(self, self.dtype, "A", "B", "C", "D")
        if self.derivative is not None:
            C = _readonly(_checks.shaped("derivative.C", self.derivative.C, (self.order,)), self.dtype)
            D = _number("derivative.D", self.derivative.D, self.dtype)
            object.__setattr__(self, "derivative", Readout(C, D))

    @property
    def order(self) -> int:
        return len(self.B)

    @property
    def readout(self) -> Readout:
        return Readout(self.C, self.D)

    def astype(self, dtype: DTypeLike) -> System:
        """The same system in float32 or float64; engines compute in the dtype of the system they are given."""
        return replace(self, dtype=_dtype(dtype))


@dataclass(frozen=True, eq=False)
class ScaledSystem:
    """LegS in discrete time (App. B.2): one set of matrices per step, which `at(count)` gives.

    A, B, C, D are those of `ScaledContinuous`; `rule` discretises the memory; the readout follows Eq. (5) with D dt/t =
    D/count, except for the first `switch` samples, where that rule sits near or beyond its pole count = D/2 and forward
    Euler takes its place. dt cancels out of the prediction (LegS does not know the time scale) and only sets the
    derivative's unit.
    """

    A: Array
    B: Array
    C: Array
    D: float
    dt: float = 1.0
    rule: discretize.Rule = discretize.bilinear
    switch: int = 0
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", _dtype(self.dtype))
        object.__setattr__(self, "dt", _checks.positive("dt", self.dt))
        _freeze(self, self.dtype, "A", "B", "C", "D")

    @property
    def order(self) -> int:
        return len(self.B)

    def readout(self, count: int) -> Readout:
        """The prediction's readout once `count` samples have been seen."""
        gain = self.D / count
        if count <= self.switch:
            return Readout(self.C / self.dtype.type(count), 1.0 + gain)
        return Readout(self.C / self.dtype.type(count * (1 - gain / 2)), (1 + gain / 2) / (1 - gain / 2))

    def derivative(self, count: int) -> Readout:
        """The derivative's readout once `count` samples have been seen: the slope (y - u)/dt of the prediction."""
        C, D = self.readout(count)
        return Readout(C / self.dtype.type(self.dt), (D - 1) / self.dt)

    def at(self, count: int) -> Matrices:
        """The matrices of the step that takes in sample number `count` = 1, 2, …"""
        count = _checks.order("count", count)
        pair = discretize.scaled(self.rule, self.A.astype(np.float64), self.B.astype(np.float64), count)
        C, D = self.readout(count)
        D = D + float(C @ pair.shift)
        return Matrices(pair.A.astype(self.dtype), pair.B.astype(self.dtype), C, D)

    def steps(self, count: int) -> Iterator[Matrices]:
        """The matrices of all steps after the first `count` samples."""
        while True:
            count += 1
            yield self.at(count)

    def astype(self, dtype: DTypeLike) -> ScaledSystem:
        """The same system in float32 or float64."""
        return replace(self, dtype=_dtype(dtype))


class ScaledState(NamedTuple):
    """Where a run of a `ScaledSystem` stands: x (N,) or (series, N), and how many samples it has seen."""

    x: Array
    seen: int


def _dtype(dtype: DTypeLike) -> np.dtype[Any]:
    found = np.dtype(dtype)
    if found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"dtype must be float32 or float64, got {found}")
    return found


def _freeze(system: Any, dtype: np.dtype[Any], *names: str) -> None:
    order = _checks.order("order of B", len(np.atleast_1d(system.B)))
    shapes = {"A": (order, order), "B": (order,), "C": (order,)}
    for name in names:
        value = getattr(system, name)
        if name == "D":
            object.__setattr__(system, name, _number(name, value, dtype))
        else:
            object.__setattr__(system, name, _readonly(_checks.shaped(name, value, shapes[name]), dtype))


def _readonly(array: ArrayLike, dtype: np.dtype[Any]) -> Array:
    made = np.array(array, dtype=dtype)
    made.setflags(write=False)
    return made


def _number(name: str, value: object, dtype: np.dtype[Any]) -> float:
    number = float(_checks.shaped(name, value, ()))  # type: ignore[arg-type]
    return float(dtype.type(number))
