"""Predictor: one system with a state, fed one value or one array at a time (Sec. 3)."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks, _files, discretize
from prophecy.engines import run
from prophecy.system import Readout, ScaledState, ScaledSystem, System

Array: TypeAlias = NDArray[Any]

GAPS = ("raise", "hold", "predict")
FORMAT = 1


class Predictor:
    """A streaming predictor over one system.

    system: from `next_value` (or any `System`, `ScaledSystem`).
    channels: None for a stream of numbers, or how many numbers arrive at each moment; each has a memory of its own.
    gaps: what a NaN does. "raise" refuses it and changes nothing; "hold" repeats the last value; "predict" feeds the
        memory its own prediction. Runs of NaN are gaps of that length. Before the first value both fill with zero.

    The state starts at zero, a past in which nothing happened, so the first prediction is 0.

    >>> from prophecy import legt, next_value
    >>> p = Predictor(next_value(legt(order=5, window=100.0), dt=1.0))
    >>> for k in range(1000):
    ...     p.observe(0.01 * k)
    >>> round(p.predict(), 2), round(p.derivative(), 3)
    (10.0, 0.01)
    """

    def __init__(self, system: System | ScaledSystem, channels: int | None = None, gaps: str = "raise") -> None:
        if not isinstance(system, System | ScaledSystem):
            raise TypeError(f"system must be a System or a ScaledSystem, got {type(system).__name__}")
        self._system = system
        self._channels = None if channels is None else _checks.order("channels", channels)
        self._gaps = _checks.choice("gaps", gaps, GAPS)
        self.reset()

    @property
    def system(self) -> System | ScaledSystem:
        return self._system

    @property
    def channels(self) -> int | None:
        return self._channels

    @property
    def count(self) -> int:
        """How many moments have been observed."""
        return self._count

    @property
    def state(self) -> Array:
        """A copy of the memory: (N,), or (channels, N)."""
        return self._x[0].copy() if self._channels is None else self._x.copy()

    def reset(self) -> None:
        """Forget everything."""
        width = self._channels or 1
        self._x = np.zeros((width, self._system.order), self._system.dtype)
        self._last = np.zeros(width, self._system.dtype)
        self._count = 0

    def observe(self, value: ArrayLike) -> None:
        """Take in one moment, a number or (channels,), or many, (time,) or (time, channels).

        Observing one by one and observing an array end in the same state (to the engines' tolerance). After an error
        the predictor is as it was.
        """
        data = self._moments(value)
        if not len(data):
            return
        missing = np.isnan(data)
        if not missing.any():
            self._feed(data)
        elif self._gaps == "raise":
            moment = int(np.argwhere(missing)[0][0])
            raise ValueError(
                f"value is NaN at moment {moment} of {len(data)}; drop it, or use gaps='hold' or 'predict'"
            )
        else:
            self._feed_with_gaps(data, missing)

    def predict(self) -> Any:
        """The next value, a number or (channels,). Changes nothing."""
        return self._read(self._readout())

    def derivative(self) -> Any:
        """The derivative at the newest value, in units per second. Changes nothing."""
        if isinstance(self._system, ScaledSystem):
            return self._read(self._system.derivative(max(1, self._count)))
        if self._system.derivative is None:
            raise ValueError("this system has no derivative readout; make it with next_value or set System.derivative")
        return self._read(self._system.derivative)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write system and state to one file, atomically; it holds arrays and JSON, no pickles."""
        system = self._system
        meta = {
            "system": type(system).__name__,
            "dt": system.dt,
            "dtype": system.dtype.name,
            "channels": self._channels,
            "gaps": self._gaps,
            "count": self._count,
        }
        arrays: dict[str, Any] = {name: getattr(system, name) for name in "ABCD"} | {"x": self._x, "last": self._last}
        if isinstance(system, ScaledSystem):
            meta |= {"rule": _rule_name(system.rule), "switch": system.switch}
        elif system.derivative is not None:
            arrays |= {"derivative_C": system.derivative.C, "derivative_D": system.derivative.D}
        _files.write_state(path, "Predictor", FORMAT, meta, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Predictor:
        """A predictor that goes on where the saved one stood."""
        meta, arrays = _files.read_state(path, "Predictor", FORMAT)
        try:
            common = {name: arrays[name] for name in "ABCD"} | {"dt": meta["dt"], "dtype": np.dtype(meta["dtype"])}
            system: System | ScaledSystem
            if meta["system"] == "ScaledSystem":
                system = ScaledSystem(**common, rule=getattr(discretize, meta["rule"]), switch=meta["switch"])
            else:
                has = "derivative_C" in arrays
                rate = Readout(arrays["derivative_C"], float(arrays["derivative_D"])) if has else None
                system = System(**common, derivative=rate)
            made = cls(system, channels=meta["channels"], gaps=meta["gaps"])
            made._x[:], made._last[:], made._count = arrays["x"], arrays["last"], int(meta["count"])
        except (KeyError, AttributeError, ValueError, TypeError) as error:
            raise ValueError(f"{os.fspath(path)!r} is a damaged Predictor file: {error}") from error
        return made

    def _moments(self, value: ArrayLike) -> Array:
        """`value` as (time, channels), checked for type, shape and size but not for gaps."""
        array = _checks.numbers("value", value, self._system.dtype)
        width = self._channels or 1
        single = 0 if self._channels is None else 1
        if array.ndim not in (single, single + 1) or (self._channels is not None and array.shape[-1] != width):
            shapes = "a number or (time,)" if self._channels is None else f"({width},) or (time, {width})"
            raise ValueError(f"value must be {shapes}, got shape {array.shape}")
        array = array.reshape(-1, width)
        present = array[~np.isnan(array)]
        if present.size:
            _checks.in_range("value", present, self._system.dtype)
        return array

    def _feed(self, data: Array) -> None:
        if len(data) == 1:
            x = self._step(data[0])
        else:
            state: Any = ScaledState(self._x, self._count) if isinstance(self._system, ScaledSystem) else self._x
            _, final = run(self._system, np.ascontiguousarray(data.T), state=state)
            x = final.x if isinstance(final, ScaledState) else final
        self._x, self._last, self._count = x, data[-1].copy(), self._count + len(data)

    def _feed_with_gaps(self, data: Array, missing: Array) -> None:
        before = (self._x, self._last, self._count)
        try:
            for moment, gone in zip(data, missing, strict=True):
                fill = self._last if self._gaps == "hold" else np.atleast_1d(self.predict())
                self._feed(np.where(gone, fill, moment)[None, :])
        except BaseException:
            self._x, self._last, self._count = before
            raise

    def _step(self, now: Array) -> Array:
        system = self._system
        A, B = (system.A, system.B) if isinstance(system, System) else system.at(self._count + 1)[:2]
        x: Array = self._x @ A.T + now[:, None] * B
        if not np.isfinite(x).all():
            raise ValueError(f"value {now} overflows the memory in {system.dtype}; rescale the data")
        return x

    def _readout(self) -> Readout:
        if isinstance(self._system, ScaledSystem):
            return self._system.readout(max(1, self._count))
        return self._system.readout

    def _read(self, readout: Readout) -> Any:
        y = self._x @ readout.C + self._x.dtype.type(readout.D) * self._last
        return float(y[0]) if self._channels is None else y


def _rule_name(rule: discretize.Rule) -> str:
    name = getattr(rule, "__name__", "")
    if getattr(discretize, name, None) is not rule:
        raise ValueError(f"cannot save a system with the custom rule {rule!r}; use one of prophecy.discretize")
    return name
