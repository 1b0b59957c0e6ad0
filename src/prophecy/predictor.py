"""Predictor: one system with a state, fed one value or one array at a time (Sec. 3)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from prophecy import _checks, _files
from prophecy._arrays import Reals
from prophecy.engines import run, stream, streams
from prophecy.system import NAMED, Readout, ScaledState, ScaledSystem, System

FORMAT = 1  # of saved files; other numbers are refused

# Scalars of these types, and integers that a float holds exactly, are handled as floats.
_NUMBERS = frozenset((np.float64, np.float32, np.int64, np.int32))
_WHOLE = 2**53


class Predictor:
    """A streaming predictor over one system.

    system: from `next_value` (or any `System`, `ScaledSystem`).
    channels: None for a stream of numbers, or how many numbers arrive at each moment; each has a memory of its own.
    gaps: what a NaN does. "raise" refuses it and changes nothing; "hold" repeats the last value; "predict" feeds the
        memory its own prediction, kept within one range of the values seen so far, because a predictor fed with itself
        may run away. Runs of NaN are gaps of that length; those before the first value are skipped.

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
            raise TypeError(f"system must be a System, such as next_value(basis, dt), got a {type(system).__name__}")
        self.system = system
        self.channels = None if channels is None else _checks.whole("channels", channels)
        self.gaps = _checks.choice("gaps", gaps, ("raise", "hold", "predict"))
        # Single numbers up to this size go to a stream of compiled steps, where it gives the numbers of the step.
        self._quick = _checks.largest(system.dtype) if channels is None and streams(system) else -1.0
        self.reset()

    def __repr__(self) -> str:
        return f"Predictor({self.system!r}, channels={self.channels}, gaps={self.gaps!r}, seen {self.count})"

    @property
    def count(self) -> int:
        """How many moments have been observed."""
        return self._count if self._stream is None else int(self._stream.count)

    @property
    def state(self) -> Reals:
        """A copy of the memory: (N,), or (channels, N)."""
        self._settle()
        return self._x[0].copy() if self.channels is None else self._x.copy()

    def reset(self) -> None:
        """Forget everything."""
        width = self.channels or 1
        self._x = np.zeros((width, self.system.order), self.system.dtype)
        self._last = np.zeros(width, self.system.dtype)
        self._low = np.full(width, np.inf, self.system.dtype)
        self._high = np.full(width, -np.inf, self.system.dtype)
        self._count = 0
        self._stream: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles, which leave the stream out."""
        self._settle()
        return self.__dict__.copy()

    def observe(self, value: ArrayLike) -> None:
        """Take in one moment, a number or (channels,), or many, (time,) or (time, channels). After an error the
        predictor is as it was."""
        kind: Any = type(value)
        number: Any = value
        if kind in _NUMBERS or (kind is int and -_WHOLE <= number <= _WHOLE):
            number, kind = float(number), float
        if kind is float and -self._quick <= number <= self._quick:
            if self._stream is None:
                low, high = float(self._low[0]), float(self._high[0])
                self._stream = stream(self.system, self._x[0], self._count, low, high)
            self._stream.take(number)
            return
        data = self._moments(value)
        self._settle()
        missing = np.isnan(data)
        if not missing.any():
            self._feed(data)
            self._note(data)
        elif self.gaps == "raise":
            moment = int(np.argwhere(missing)[0][0])
            raise ValueError(
                f"value is NaN at moment {moment} of {len(data)}; drop it, or use gaps='hold' or 'predict'"
            )
        else:
            self._feed_with_gaps(data, missing)

    def predict(self) -> Any:
        """The next value, a number or (channels,). Changes nothing."""
        if self._stream is not None:
            return self._stream.next
        system = self.system
        return self._read(system.readout if isinstance(system, System) else system.readout(max(1, self._count)))

    def derivative(self) -> Any:
        """The derivative at the newest value, in units per second. Changes nothing."""
        self._settle()
        if isinstance(self.system, ScaledSystem):
            return self._read(self.system.derivative(max(1, self._count)))
        if self.system.derivative is None:
            raise ValueError("this system has no derivative readout; make it with next_value or set System.derivative")
        return self._read(self.system.derivative)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write system and state to one file, atomically; it holds arrays and JSON, no pickles."""
        self._settle()
        system = self.system
        meta = {"system": type(system).__name__, "dt": system.dt, "dtype": system.dtype.name}
        meta |= {"channels": self.channels, "gaps": self.gaps, "count": self._count}
        arrays: dict[str, Any] = {name: getattr(system, name) for name in "ABCD"}
        arrays |= {"x": self._x, "last": self._last, "low": self._low, "high": self._high}
        if isinstance(system, ScaledSystem):
            if system.memory not in NAMED:
                raise ValueError(f"memory {system.memory!r} has no name in a file; use one of prophecy.discretize's")
            meta |= {"memory": system.memory.__name__, "corrected": system.corrected}
        elif system.derivative is not None:
            arrays |= {"derivative_C": system.derivative.C, "derivative_D": system.derivative.D}
        _files.write_state(path, "Predictor", FORMAT, meta, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Predictor:
        """A predictor that goes on where the saved one stood."""
        meta, arrays = _files.read_state(path, "Predictor", FORMAT)
        try:
            if (meta["channels"] or 1) != len(arrays["x"]):  # before room is made for them
                raise ValueError(f"it has {meta['channels']} channels, and x has {len(arrays['x'])}")
            made = cls(_system(meta, arrays), channels=meta["channels"], gaps=meta["gaps"])
            made._count = _checks.whole("count", meta["count"], least=0)
            if made._count > _WHOLE:
                raise ValueError(f"count must be at most {_WHOLE}, got {made._count}")
            for name in ("x", "last", "low", "high"):
                array, fresh = arrays[name], getattr(made, f"_{name}")
                if array.shape != fresh.shape or array.dtype != fresh.dtype:
                    raise ValueError(f"{name} must be {fresh.shape} {fresh.dtype}, got {array.shape} {array.dtype}")
                if np.isnan(array).any() or (name in ("x", "last") and not np.isfinite(array).all()):
                    raise ValueError(f"{name} must be finite, got {_checks.first_bad(array)}")
                setattr(made, f"_{name}", array.copy())
            never = (made._low == np.inf) & (made._high == -np.inf)
            if not (never | (np.isfinite(made._high) & (made._low <= made._high))).all():
                raise ValueError(f"low and high must be a range, got {made._low} and {made._high}")
        except (KeyError, AttributeError, ValueError, TypeError) as error:
            raise ValueError(f"{os.fspath(path)!r} is a damaged Predictor file: {error}") from error
        return made

    def _settle(self) -> None:
        """Bring what a stream holds into the state, as if the values had been stepped through."""
        live, self._stream = self._stream, None
        if live is not None:
            self._x, self._count = np.array(live.state())[None, :], int(live.count)
            self._last, self._low, self._high = (np.array([one]) for one in (live.last, live.low, live.high))

    def _moments(self, value: ArrayLike) -> Reals:
        """`value` as (time, channels), checked for type, shape and size but not for gaps."""
        dtype = self.system.dtype
        _checks.not_wider("value", value, dtype)
        array = _checks.real_array("value", value)
        width = self.channels or 1
        single = 0 if self.channels is None else 1
        if array.ndim not in (single, single + 1) or (self.channels is not None and array.shape[-1] != width):
            shapes = "a number or (time,)" if self.channels is None else f"({width},) or (time, {width})"
            raise ValueError(f"value must be {shapes}, got shape {array.shape}")
        if array.size == 0:
            raise ValueError(f"value must hold at least one moment, got shape {array.shape}")
        present = array[~np.isnan(array)]
        if present.size:
            _checks.in_range("value", present, dtype)
        return np.asarray(array, dtype).reshape(-1, width)

    def _feed(self, data: Reals) -> None:
        if len(data) == 1:
            x = self._step(data[0])
        elif isinstance(self.system, System):
            _, x = run(self.system, np.ascontiguousarray(data.T), state=self._x)
        else:
            _, (x, _) = run(self.system, np.ascontiguousarray(data.T), state=ScaledState(self._x, self._count))
        self._x, self._last, self._count = x, data[-1].copy(), self._count + len(data)

    def _feed_with_gaps(self, data: Reals, missing: Reals) -> None:
        """Clean stretches as they are, the moments between them one by one; after an error nothing has changed."""
        before = dict(self.__dict__)
        try:
            gone = missing.any(axis=1)
            edges = np.flatnonzero(np.diff(gone)) + 1
            for piece, holes in zip(np.split(data, edges), np.split(missing, edges), strict=True):
                self._note(piece)
                if not holes.any():
                    self._feed(piece)
                    continue
                for moment, hole in zip(piece, holes, strict=True):
                    if self._count or not hole.all():
                        self._feed(np.where(hole, self._fill(), moment)[None, :])
        except BaseException:
            self.__dict__.update(before)
            raise

    def _note(self, data: Reals) -> None:
        """Widen the range of values truly seen; NaN are passed over."""
        self._low = np.fmin(self._low, np.fmin.reduce(data, axis=0))
        self._high = np.fmax(self._high, np.fmax.reduce(data, axis=0))

    def _fill(self) -> Reals:
        """What stands in for a missing value."""
        if self.gaps == "hold" or not self._count:
            return self._last
        seen = self._low <= self._high  # a channel without a value so far keeps to zero
        low, high = np.where(seen, self._low, self._last), np.where(seen, self._high, self._last)
        filled = np.clip(np.atleast_1d(self.predict()), low - (high - low), high + (high - low))
        return np.asarray(filled, self.system.dtype)

    def _step(self, now: Reals) -> Reals:
        A, B, _, _ = self.system.at(self._count + 1)
        x: Reals = self._x @ A.T + now[:, None] * B
        if not np.isfinite(x).all():
            raise ValueError(f"value {now} overflows the memory in {self.system.dtype}; rescale the data")
        return x

    def _read(self, readout: Readout) -> Any:
        y = self._x @ readout.C + self._x.dtype.type(readout.D) * self._last
        return float(y[0]) if self.channels is None else y


def _system(meta: dict[str, Any], arrays: dict[str, Reals]) -> System | ScaledSystem:
    """The system a file describes, checked by its own constructor."""
    common = {name: arrays[name] for name in "ABCD"} | {"dt": meta["dt"], "dtype": np.dtype(meta["dtype"])}
    if meta["system"] == "ScaledSystem":
        memories = {rule.__name__: rule for rule in NAMED}
        return ScaledSystem(**common, memory=memories[meta["memory"]], corrected=bool(meta["corrected"]))
    if meta["system"] != "System":
        raise ValueError(f"unknown system {meta['system']!r}")
    has = "derivative_C" in arrays
    return System(**common, derivative=Readout(arrays["derivative_C"], float(arrays["derivative_D"])) if has else None)
