"""Prophecy: predict anything, one value at a time, with nothing to train and nothing to tune (docs/prophecy.md)."""

from __future__ import annotations

import copy
import dataclasses
import os
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from prophecy import _checks, _files
from prophecy._arrays import Array
from prophecy._forecast import Forecast
from prophecy.frames.collect import read
from prophecy.frames.source import is_frame
from prophecy.streams.arguments import as_moments, checked_level, checked_times, step, without_none
from prophecy.streams.channels import Channels
from prophecy.streams.limits import RING
from prophecy.streams.settings import DEFAULT, Settings
from prophecy.streams.table import between
from prophecy.streams.track import Followed

GAPS = ("predict", "hold", "raise")
GROUP = 256
"""Series run at a time by `predict_all`: 9 MB of records and as much of rings, whatever the number of series."""

FORMAT = 13  # of saved files; others are refused
METHOD = "memories mixed in context"


class Prophecy:
    """A stream that is predicted value by value, by a bank of models mixed by how well each has predicted lately.

    channels: None for a stream of numbers, or how many numbers arrive at each moment; each is predicted on its own.
    dt: the regular step between values in seconds or as a timedelta, the unit of `derivative`; by default the first
        interval between timestamps, or 1 where there are none.
    gaps: what a NaN (or None) does. "predict" continues with the prediction, widening the interval while the gap
        lasts; "hold" repeats the last value; "raise" refuses it and changes nothing.
    context: how many past values `forecast` uses, at most the 4352 that every stream keeps.
    settings: other constants than the usual ones, for experiments.

    >>> model = Prophecy()
    >>> for k in range(200):
    ...     model.observe(np.sin(0.1 * k))
    >>> bool(abs(model.predict().point - np.sin(20.0)) < 1e-10)
    True
    >>> bool(abs(model.derivative() - 0.1 * np.cos(19.9)) < 1e-8)
    True
    """

    def __init__(
        self,
        channels: int | None = None,
        *,
        dt: Any = None,
        gaps: str = "predict",
        context: int = 2048,
        settings: Settings | None = None,
    ) -> None:
        self._channels = None if channels is None else _checks.whole("channels", channels)
        self._dt = None if dt is None else step(dt)
        self._gaps = _checks.choice("gaps", gaps, GAPS)
        self._length = _checks.whole("context", context)
        if self._length > RING:
            raise ValueError(
                f"context must be at most {RING}, the values every stream keeps, got {context}; "
                "for more, keep them yourself and call prophecy.forecast"
            )
        if settings is not None and not isinstance(settings, Settings):
            raise TypeError(f"settings must be a Settings or None, got {type(settings).__name__}")
        self._settings = settings or DEFAULT
        self.reset()

    def __repr__(self) -> str:
        return f"Prophecy(channels={self._channels}, dt={self._dt}, gaps={self._gaps!r}, context={self._length})"

    @property
    def channels(self) -> int | None:
        return self._channels

    @property
    def dt(self) -> float:
        """The regular step in seconds."""
        return self._stream.dt

    @property
    def count(self) -> int:
        """How many moments have been observed."""
        return self._stream.count

    def __copy__(self) -> Prophecy:
        return copy.deepcopy(self)

    def reset(self) -> None:
        """Forget everything."""
        self._stream = Channels(self._channels or 1, self._dt, self._gaps == "hold", self._length, self._settings)

    def observe(self, value: ArrayLike, time: ArrayLike | None = None) -> None:
        """Take in one moment, a number or (channels,), or many, (time,) or (time, channels). NaN is a gap.

        time: when each moment was, in seconds or as dates (datetime64, datetime); from the first value on or never.
        Stamps may jitter by a quarter of a step; steps passed over are gaps; a changed rate, irregular times, late
        values and clocks that are set are handled (docs/time.md). After an error everything is as it was.
        """
        if time is None and self._channels is None and self._stream.streams.take_number(value):
            return
        many = self._moments(value)
        self._stream.run(many, self._times(time, len(many)))

    def predict(self, level: float = 0.9, time: ArrayLike | None = None) -> Forecast:
        """The next value with an interval that holds it with probability `level`. Changes nothing.

        time: when the value is due, in seconds; one step (with irregular times, one typical interval) after the last by
        default. Before the first value everything is NaN, and before the second the interval is infinite. NaN also for
        a time that is not after the newest value's, as in the row that `follow` has for a late value.
        """
        if time is None and self._channels is None:
            only, wide = self._stream.streams.next_number(between(checked_level(level)))
            return Forecast.of_one(only, only - wide, only + wide, level, METHOD)
        mean, half, _ = self._stream.forecast(checked_level(level), self._times(time, 1))
        point, lower, upper = (self._as_asked(part) for part in (mean, mean - half, mean + half))
        return Forecast(point, lower, upper, level, METHOD, channels=self._channels is not None)

    def derivative(self) -> Any:
        """The derivative at the newest value, in units per second: a number or (channels,). Changes nothing."""
        slopes = np.empty(self._channels or 1)
        self._stream.streams.slopes(slopes)
        return self._as_asked(slopes / self._stream.dt)

    def score(self, value: ArrayLike, time: ArrayLike | None = None) -> Any:
        """How surprising `value` would be as the next one: -log10 of the probability of an error at least as large.

        value: a number, or (channels,); the score likewise. A NaN scores NaN. Changes nothing.

        On stochastic signals a score above s comes with probability 10^-s, for s up to 2 (docs/prophecy.md). It lies
        between 0 and 15; after n values it is at most log10(1 + n) or, unless they were predicted exactly, n/15 if
        that is more.
        """
        moments = self._moments(value, refuse_gaps=False)
        if len(moments) != 1:
            raise ValueError(f"value must be one moment, got {len(moments)}; use follow for many")
        return self._as_asked(self._stream.forecast(0.9, self._times(time, 1), moments[0])[2])

    def alarm(self) -> Any:
        """How unusual the newest value makes the recent stretch for this stream: 0, or 1 - the share of values that
        would be reported like this one on an ordinary stream. A number or (channels,). Changes nothing.

        The value, its change, and level and noise of the last 20 values are ranked among all the past. A persistent
        change is reported when it comes, not again while it lasts (docs/anomalies.md). NaN where the newest
        value is missing, as in `follow`.
        """
        return self._as_asked(self._stream.samples["alarm"].copy())

    def seasons(self, channel: int = 0) -> tuple[float, ...]:
        """The periods found in one channel, in samples, the shorter first: none, one or two."""
        periods = self._stream.records["season_periods"][self._series(channel)]
        return tuple(float(period) for period in periods if period > 0.0)

    def predict_all(self, u: ArrayLike) -> Array:
        """One-step-ahead means for a whole array, (time,) or (series, time): y[..., k] predicts u[..., k + 1].

        Each series starts afresh and this model stays as it is; the numbers are those of observing one value at a time.
        """
        rows = _checks.series("u", u)
        flat = rows.reshape(-1, rows.shape[-1])
        ahead = np.empty(flat.shape)
        for first in range(0, len(flat), GROUP):
            some = flat[first : first + GROUP]
            fresh = Prophecy(len(some), gaps=self._gaps, context=1, settings=self._settings)
            mean = fresh._stream.run(fresh._moments(some.T), None, 0.9)[0]
            ahead[first : first + GROUP, :-1] = mean[1:].T
            ahead[first : first + GROUP, -1] = fresh.predict().point
        return ahead.reshape(rows.shape)

    def follow(self, u: Any, level: float = 0.9, time: Any = None) -> Followed:
        """Observe a whole array, (time,) or (time, channels); returns the forecast of each value, made before it came,
        with interval, score and alarm. With times, each value is predicted for its own.

        u may be a pandas, Polars or Arrow series or frame, with times in its index or in the column `time`. Its rows
        are then sorted by time, and missing grid times are gaps, which have rows in the track.
        """
        source = read(u, time) if is_frame(u) else None
        if source is not None:
            times = source.series.times
            u, time = source.values, None if source.series.regular or times is None else times.values
        array = _checks.real_array("u", without_none(u))
        if array.ndim != (1 if self._channels is None else 2):
            wanted = "(time,)" if self._channels is None else f"(time, {self._channels})"
            raise ValueError(f"u must be {wanted}, got shape {array.shape}")
        moments = self._moments(array)
        mean, half, score, alarm = self._stream.run(moments, self._times(time, len(moments)), checked_level(level))
        parts = (mean, mean - half, mean + half, score, alarm)
        track = Followed(*(part.reshape(array.shape) for part in parts))
        track.source, track.level = source or read(array), level
        return track

    def forecast(self, horizon: int, level: float = 0.9) -> Forecast:
        """The next `horizon` values from the context kept: (horizon,) or (horizon, channels). See `prophecy.forecast`.

        It needs at least 2 values. Holes between timestamps are missing values, as NaN is; values at irregular times
        are those that were brought to the typical interval (docs/time.md).
        """
        from prophecy.forecasting import forecast

        if not self.count:
            raise ValueError("forecast needs a context, and nothing has been observed yet; observe some values first")
        if self._length < _checks.SHORTEST:
            raise ValueError(
                f"forecast needs {_checks.SHORTEST} values and this model keeps {self._length}; "
                f"make it with context={_checks.SHORTEST} or more, such as the default 2048"
            )
        values = self._stream.regular_context()
        return forecast(values[0] if self._channels is None else values.T, horizon, level)

    @property
    def members(self) -> tuple[str, ...]:
        """What each member of the bank predicts from."""
        from prophecy.streams.readouts import members

        return tuple(member.name for member in members())

    def member_predictions(self, channel: int = 0) -> Array:
        """The next value of one channel as each member predicts it: (members,)."""
        series, stream = self._series(channel), self._stream
        return np.asarray(stream.records["last"][series] + stream.records["prediction"][series], dtype=np.float64)

    def shares(self, channel: int = 0) -> Array:
        """How much each member counts in the forecast of one channel: (members,), adding up to 1."""
        return np.asarray(self._stream.shares()[self._series(channel)], dtype=np.float64)

    def explain(self, channel: int = 0) -> str:
        """Which memories are in use and why, in words and numbers."""
        from prophecy.streams.words import explained

        return explained(self._stream, self._series(channel), self._gaps)

    def _as_asked(self, numbers: Array) -> Any:
        """Numbers for all channels; of a stream of numbers a float."""
        return float(numbers[0]) if self._channels is None else numbers

    def _series(self, channel: int) -> int:
        series, place = self._channels or 1, _checks.whole("channel", channel, least=0)
        if place >= series:
            raise ValueError(f"channel must lie between 0 and {series - 1}, got {channel}")
        return place

    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write everything to one file, atomically: the four arrays of the stream and a JSON header, no pickles.

        path: a name, or a file open for bytes.
        """
        meta = {
            "channels": self._channels,
            "dt": self._dt,
            "gaps": self._gaps,
            "context": self._length,
            "count": self.count,
            "settings": dataclasses.asdict(self._settings),
        }
        _files.write_state(path, "Prophecy", FORMAT, meta, **self._stream.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str] | BinaryIO) -> Prophecy:
        """A model that continues where the saved one stopped. Every number of the file is checked before it is used."""
        meta, arrays = _files.read_state(path, "Prophecy", FORMAT)
        try:
            series = _checks.whole("channels", 1 if meta["channels"] is None else meta["channels"])
            if arrays["records"].shape != (series,):
                raise ValueError(f"{series} channels need as many records, got {arrays['records'].shape}")
            settings = Settings.of(meta["settings"])
            model = cls(meta["channels"], dt=meta["dt"], gaps=meta["gaps"], context=meta["context"], settings=settings)
            model._stream.restore(meta["count"], arrays)
        except (KeyError, AttributeError, ValueError, TypeError, IndexError, OverflowError) as error:
            raise ValueError(f"{_files.named(path)} is a damaged Prophecy file: {error}") from error
        return model

    def _times(self, time: ArrayLike | None, moments: int) -> Array | None:
        return checked_times(self._stream.stamped, time, moments, self.count)

    def _moments(self, value: ArrayLike, refuse_gaps: bool = True) -> Array:
        return as_moments(value, self._channels, refuse_gaps and self._gaps == "raise")


def of_rows(records: Any, rings: Any, clocks: Any, samples: Any, *, dt: float | None, count: int) -> Prophecy:
    """A `Prophecy` of one channel from the rows of a stream (`kernels.entry`), which it owns from then on. dt: the step
    the stream was made with; count: values it has seen."""
    model = Prophecy(dt=dt)
    model._stream.put(records, rings, clocks, samples, count)
    return model
