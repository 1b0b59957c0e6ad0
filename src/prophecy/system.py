"""Systems: matrices with a meaning, checked once, then frozen.

Continuous systems give a derivative, discrete ones the next value. LegS changes with time, so it has types of its own
(`ScaledContinuous`, `ScaledSystem`) rather than a flag on the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike

from prophecy import _checks, discretize
from prophecy._arrays import Reals

# The memories of LegS that a file can name. Any rule does that is stable from the first sample on and has no shift.
NAMED: tuple[discretize.Rule, ...] = (discretize.bilinear, discretize.backward, discretize.zoh)

# How near to zero the gain of LegS's slope may come. Measured on White Signals (`python -m reproduction legs`): the
# trapezoid rule is good on both sides of its pole and errs by 1e-2 within one per cent of it.
SMALLEST_SCALED_GAIN = 0.02


class Readout(NamedTuple):
    """What is read from a state x and the newest input u: C @ x + D * u. C (N,), D a number."""

    C: Reals
    D: float


class Matrices(NamedTuple):
    """The discrete A (N, N), B (N,), C (N,), D of one step."""

    A: Reals
    B: Reals
    C: Reals
    D: float


@dataclass(frozen=True, eq=False)
class _Four(_checks.Frozen):
    A: Reals
    B: Reals
    C: Reals
    D: float

    def __post_init__(self) -> None:
        order = _checks.whole("order of B", len(np.atleast_1d(self.B)))
        self._freeze(getattr(self, "dtype", np.float64), A=(order, order), B=(order,), C=(order,), D=())


class Continuous(_Four):
    """x'(t) = A x(t) + B u(t), y(t) = C x(t) + D u(t) (Eq. 1): A (N, N), B and C (N,), D a number."""


class ScaledContinuous(_Four):
    """x'(t) = (-A x(t) + B u(t))/t, y(t) = (C x(t) + D u(t))/t (App. B.2): the same shapes, over the time elapsed."""


@dataclass(frozen=True, eq=False, repr=False)
class _Discrete(_Four):
    dt: float = 1.0
    dtype: np.dtype[Any] = field(default=np.dtype(np.float64), kw_only=True)

    def __post_init__(self) -> None:
        kind = np.dtype(self.dtype)
        if kind not in (np.float32, np.float64):
            raise TypeError(f"dtype must be float32 or float64, got {kind}")
        object.__setattr__(self, "dtype", kind)
        object.__setattr__(self, "dt", _checks.positive("dt", self.dt))
        super().__post_init__()

    def __repr__(self) -> str:
        return f"System(order={self.order}, dt={self.dt:g}, dtype={self.dtype})"

    def astype(self, dtype: DTypeLike) -> Self:
        """The same system in float32 or float64; engines compute in the dtype of the system they are given."""
        return replace(self, dtype=np.dtype(dtype))


@dataclass(frozen=True, eq=False, repr=False)
class System(_Discrete):
    """A discrete system at a step of `dt` seconds (Eq. 5): A (N, N), B and C (N,), D a number.

        x = A @ x + B * u[k]
        y[k] = C @ x + D * u[k]        # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].

    `derivative`, where it is known, reads u'(t) from the same state. `dtype` is float64 unless `astype` narrowed it.
    """

    derivative: Readout | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.derivative is not None:
            if not isinstance(self.derivative, Readout):
                raise TypeError(f"derivative must be a Readout(C, D) or None, got {type(self.derivative).__name__}")
            C = _checks.frozen("derivative.C", self.derivative.C, (self.order,), self.dtype)
            D = _checks.frozen("derivative.D", self.derivative.D, (), self.dtype)
            object.__setattr__(self, "derivative", Readout(C, D))

    @property
    def readout(self) -> Readout:
        """C and D, which read the next value."""
        return Readout(self.C, self.D)

    def at(self, count: int) -> Matrices:
        """The matrices of the step that takes in sample number `count`: the same for all."""
        return Matrices(self.A, self.B, self.C, self.D)


@dataclass(frozen=True, eq=False, repr=False)
class ScaledSystem(_Discrete):
    """LegS in discrete time (App. B.2): one set of matrices per step, which `at(count)` gives.

    A (N, N), B (N,), C (N,), D are those of `ScaledContinuous`; `memory` is a rule that is stable from the first sample
    on, such as those of NAMED. Its state runs ahead of the newest sample by `discretize.lag` steps, so the bare slope
    C x + D u answers a ramp with the gain 1 - lag D/count. `corrected` divides by it (the trapezoid rule of Eq. 5),
    which has a pole at count = lag D = N²/2: where the gain is nearer to 0 than SMALLEST_SCALED_GAIN, and where an
    uncorrected (forward Euler) slope would point the wrong way, the last value is repeated instead.

    dt cancels out of the prediction (LegS does not know the time scale) and only sets the derivative's unit.
    """

    memory: discretize.Rule = discretize.bilinear
    corrected: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.function("memory", self.memory, "prophecy.discretize.zoh")
        pair = discretize.scaled(self.memory, self.A.astype(np.float64), self.B.astype(np.float64), 2)
        alike = pair.A.shape == self.A.shape and not pair.shift.any()
        if not alike or not np.abs(np.linalg.eigvals(pair.A)).max() <= 1 + 1e-9:
            names = ", ".join(rule.__name__ for rule in NAMED)
            raise ValueError(
                f"memory of a ScaledSystem must be one of {names} of prophecy.discretize, or another rule that is "
                f"stable from the first sample on, as large as A and has no shift, got {self.memory!r}"
            )

    def __repr__(self) -> str:
        return f"ScaledSystem(order={self.order}, dt={self.dt:g}, memory={self.memory.__name__}, dtype={self.dtype})"

    def slope(self, count: int) -> Readout:
        """The slope per step once `count` samples have been seen; zero near the pole."""
        count = _checks.whole("count", count)
        gain = 1 - discretize.lag(self.memory) * self.D / count
        if abs(gain) < SMALLEST_SCALED_GAIN or (gain < 0 and not self.corrected):
            return Readout(np.zeros_like(self.C), 0.0)
        size = count * (gain if self.corrected else 1.0)
        return Readout(self.C / self.dtype.type(size), self.D / size)

    def readout(self, count: int) -> Readout:
        """The prediction's readout once `count` samples have been seen: the newest value and one step of slope."""
        C, D = self.slope(count)
        return Readout(C, 1 + D)

    def derivative(self, count: int) -> Readout:
        """The derivative's readout once `count` samples have been seen, in units per second."""
        C, D = self.slope(count)
        return Readout(C / self.dtype.type(self.dt), D / self.dt)

    def at(self, count: int) -> Matrices:
        """The matrices of the step that takes in sample number `count` = 1, 2, …"""
        count = _checks.whole("count", count)
        pair = discretize.scaled(self.memory, self.A.astype(np.float64), self.B.astype(np.float64), count)
        return Matrices(pair.A.astype(self.dtype), pair.B.astype(self.dtype), *self.readout(count))


class ScaledState(NamedTuple):
    """Where a run of a `ScaledSystem` stands: x (N,) or (series, N), and how many samples it has seen."""

    x: Reals
    seen: int
