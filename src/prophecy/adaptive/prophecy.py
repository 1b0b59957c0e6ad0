"""Prophecy: predict anything, one value at a time, with nothing to train and nothing to tune (docs/prophecy.md)."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks, _files
from prophecy._forecast import Forecast
from prophecy.adaptive import state
from prophecy.adaptive.bank import Bank
from prophecy.adaptive.clock import LONGEST_GAP, Clock
from prophecy.adaptive.context import Context
from prophecy.adaptive.timed import TimedBank
from prophecy.adaptive.words import explained

Array = NDArray[np.float64]

GAPS = ("predict", "hold", "raise")
LARGEST = 1e75
GROUP = 128
FORMAT = 1

REPLAYED = 256
RECHECKS = (16, 64, 256)
"""After this many values at irregular times the typical interval is looked at again, and the memories made anew if it
was misjudged."""


class Track(NamedTuple):
    """What `Prophecy.follow` saw, each of the shape of its input.

    mean, lower, upper: of the value *after* each one; score: how surprising each value was when it came.
    """

    mean: Array
    lower: Array
    upper: Array
    score: Array


class Prophecy:
    """A bank of exact systems and of readouts solved in context, mixed by how well each has predicted lately.

    channels: None for a stream of numbers, or how many numbers arrive at each moment; each is predicted on its own.
    dt: the regular step between values in seconds, the unit of `derivative`; by default the first interval between
        timestamps, or 1 where there are none.
    gaps: what a NaN does. "predict" goes on with the prediction, widening the interval for as long as the gap lasts;
        "hold" repeats the last value; "raise" refuses it and changes nothing.
    context: how many past values to keep for `forecast`.

    >>> model = Prophecy()
    >>> for k in range(200):
    ...     model.observe(np.sin(0.1 * k))
    >>> bool(abs(model.predict().mean - np.sin(20.0)) < 1e-10)
    True
    >>> bool(abs(model.derivative() - 0.1 * np.cos(19.9)) < 1e-8)
    True
    """

    def __init__(
        self, channels: int | None = None, *, dt: float | None = None, gaps: str = "predict", context: int = 2048
    ) -> None:
        self._channels = None if channels is None else _checks.order("channels", channels)
        self._dt = None if dt is None else _checks.positive("dt", dt)
        self._gaps = _checks.choice("gaps", gaps, GAPS)
        self._length = _checks.order("context", context)
        self.reset()

    @property
    def channels(self) -> int | None:
        return self._channels

    @property
    def dt(self) -> float:
        """The regular step in seconds."""
        return self._clock.step

    @property
    def count(self) -> int:
        """How many moments have been observed."""
        return self._count

    def reset(self) -> None:
        """Forget everything."""
        self._bank: Bank | TimedBank = Bank(self._channels or 1)
        self._context = Context(self._channels or 1, self._length)
        self._clock = Clock(self._dt)
        self._count = 0

    def observe(self, value: ArrayLike, time: ArrayLike | None = None) -> None:
        """Take in one moment, a number or (channels,), or many, (time,) or (time, channels). NaN is a gap.

        time: when each moment was, in seconds, increasing; from the first value on or never. Intervals that are whole
        multiples of the step are gaps; the first that is not makes the memories advance by the true intervals from
        there on. After an error everything is as it was.
        """
        moments = self._moments(value)
        times = self._clock.checked(time, len(moments), self._count)
        for k, moment in enumerate(moments):
            self._take(moment, None if times is None else float(times[k]))

    def predict(self, level: float = 0.9, time: float | None = None) -> Forecast:
        """The next value with an interval that holds it with probability `level`. Changes nothing.

        time: when the value is due, in seconds; one step (with irregular times, one typical interval) after the last by
        default. Before the first value the mean is 0, and before the second the interval is infinite.
        """
        mean, half = self._mean_and_half(_level(level), time)
        lower, upper, method = mean - half, mean + half, "memories mixed in context"
        if self._channels is None:
            return Forecast(float(mean[0]), float(lower[0]), float(upper[0]), level, method)
        return Forecast(mean, lower, upper, level, method)

    def derivative(self) -> Any:
        """The derivative at the newest value, in units per second: a number or (channels,). Changes nothing."""
        bank = self._bank
        if isinstance(bank, TimedBank):
            slope = bank.slope()
        else:
            slope = bank.slopes.slope(bank.features, bank.mixture.scales) / self._clock.step
        return float(slope[0]) if self._channels is None else slope

    def score(self, value: ArrayLike, time: float | None = None) -> Any:
        """How surprising `value` would be as the next one: -log10 of the probability of an error at least as large.

        On stochastic signals a score above s comes with probability 10^-s, for s up to 2 (docs/prophecy.md). A NaN
        scores NaN. Changes nothing.
        """
        moments = self._moments(value, refuse_gaps=False)
        if len(moments) != 1:
            raise ValueError(f"value must be one moment, got {len(moments)}; use follow for many")
        score = self._surprise(moments[0], time)
        return float(score[0]) if self._channels is None else score

    def predict_all(self, u: ArrayLike) -> Array:
        """One-step-ahead means for a whole array, (time,) or (series, time): y[..., k] predicts u[..., k + 1].

        Each series starts afresh and this model stays as it is; the numbers are those of observing one value at a time.
        """
        rows = _checks.series("u", u)
        flat = rows.reshape(-1, rows.shape[-1])
        ahead = np.empty(flat.shape)
        for first in range(0, len(flat), GROUP):
            some = flat[first : first + GROUP]
            model = Prophecy(len(some), gaps=self._gaps, context=1)
            for k, moment in enumerate(model._moments(some.T)):
                model._take(moment, None)
                ahead[first : first + GROUP, k] = model._mean(None)[0]
        return ahead.reshape(rows.shape)

    def follow(self, u: ArrayLike, level: float = 0.9, time: ArrayLike | None = None) -> Track:
        """Observe a whole array, (time,) or (channels, time), and say what was predicted and how surprising it was."""
        rows = _checks.series("u", u)
        if (rows.ndim == 1) != (self._channels is None):
            wanted = "(time,)" if self._channels is None else f"({self._channels}, time)"
            raise ValueError(f"u must be {wanted}, got shape {rows.shape}")
        level = _level(level)
        moments = self._moments(rows.T)
        times = self._clock.checked(time, len(moments), self._count)
        mean, half, score = (np.empty(moments.shape) for _ in range(3))
        for k, moment in enumerate(moments):
            when = None if times is None else float(times[k])
            score[k] = self._surprise(moment, when if self._count else None)
            self._take(moment, when)
            mean[k], half[k] = self._mean_and_half(level, None)
        return Track(*(part.T.reshape(rows.shape) for part in (mean, mean - half, mean + half, score)))

    def forecast(self, horizon: int, level: float = 0.9) -> Forecast:
        """The next `horizon` values from the context kept: (horizon,) or (horizon, channels). See `prophecy.forecast`.

        Values at irregular times are first brought to the typical interval by straight lines between them.
        """
        from prophecy.dynamics import forecast

        values = self._context.values()
        if isinstance(self._bank, TimedBank):
            times = self._context.times()
            grid = np.arange(times[-1], times[0], -self._bank.typical)[::-1]
            values = np.stack([np.interp(grid, times[~np.isnan(row)], row[~np.isnan(row)]) for row in values])
        return forecast(values[0] if self._channels is None else values.T, horizon, level)

    def explain(self, channel: int = 0) -> str:
        """Say in words and numbers which memories are in use and why."""
        series = self._channels or 1
        if not 0 <= channel < series:
            raise ValueError(f"channel must lie between 0 and {series - 1}, got {channel}")
        return explained(self._bank, channel, self._count, self._gaps)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, atomically; it holds arrays and JSON, no pickles."""
        bank, clock = self._bank, self._clock
        meta = {
            "channels": self._channels,
            "dt": self._dt,
            "step": clock.dt,
            "last_time": clock.last,
            "gaps": self._gaps,
            "context": self._length,
            "count": self._count,
            "typical": bank.typical if isinstance(bank, TimedBank) else None,
        }
        kept = {"context.values": self._context.values(), "context.times": self._context.times()}
        _files.write_state(path, "Prophecy", FORMAT, meta, **state.collect(bank), **kept)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Prophecy:
        """A model that goes on where the saved one stood."""
        meta, arrays = _files.read_state(path, "Prophecy", FORMAT)
        try:
            model = cls(meta["channels"], dt=meta["dt"], gaps=meta["gaps"], context=meta["context"])
            if meta["typical"] is not None:
                model._bank = TimedBank(model._channels or 1, _checks.positive("typical", meta["typical"]))
            state.restore(model._bank, arrays)
            model._bank.settle()
            model._context.refill(arrays["context.values"], arrays["context.times"])
            model._clock.dt, model._clock.last = meta["step"], meta["last_time"]
            model._count = int(meta["count"])
        except (KeyError, AttributeError, ValueError, TypeError, IndexError) as error:
            raise ValueError(f"{os.fspath(path)!r} is a damaged Prophecy file: {error}") from error
        return model

    def _moments(self, value: ArrayLike, refuse_gaps: bool = True) -> Array:
        """`value` as (time, channels), fully checked, so that what follows cannot fail half-way."""
        array = _checks.real_array("value", value)
        width = self._channels or 1
        single = 0 if self._channels is None else 1
        if array.ndim not in (single, single + 1) or (self._channels is not None and array.shape[-1] != width):
            shapes = "a number or (time,)" if self._channels is None else f"({width},) or (time, {width})"
            raise ValueError(f"value must be {shapes}, got shape {array.shape}")
        moments = array.reshape(-1, width).astype(np.float64)
        gone = np.isnan(moments)
        if refuse_gaps and self._gaps == "raise" and gone.any():
            first = int(np.argwhere(gone)[0][0])
            raise ValueError(
                f"value is NaN at moment {first} of {len(moments)}; drop it, or use gaps='predict' or 'hold'"
            )
        size = np.max(np.abs(moments), where=~gone, initial=0.0)
        if not size <= LARGEST:
            raise ValueError(f"value must be finite and at most {LARGEST:g} in size, got {size:g}; rescale the data")
        return moments

    def _take(self, moment: Array, time: float | None) -> None:
        known = ~np.isnan(moment)
        hold = self._gaps == "hold"
        if time is not None and isinstance(self._bank, Bank):
            missing = self._clock.missing(time)
            if missing is None:
                self._make_timed(time)
            for _ in range(min(missing or 0, LONGEST_GAP)):
                self._bank.observe(moment, np.zeros_like(known), hold)
        if isinstance(self._bank, TimedBank):
            last = self._clock.last
            self._bank.observe(moment, 0.0 if time is None or last is None else time - last, known, hold)
        elif known.all():
            self._bank.observe(moment)
        else:
            self._bank.observe(moment, known, hold)
        self._context.append(moment, 0.0 if time is None else time)
        self._clock.last = time
        self._count += 1
        if isinstance(self._bank, TimedBank) and self._count in RECHECKS and time is not None:
            self._recheck(time)

    def _make_timed(self, time: float) -> None:
        """Start over from the last values with memories for true intervals, the next of which ends at `time`."""
        times, values = self._context.times()[-REPLAYED:], self._context.values()[:, -REPLAYED:]
        intervals = np.diff(np.append(times, time))
        self._bank = TimedBank(self._channels or 1, float(np.median(intervals)))
        for k, moment in enumerate(values.T):
            after = float(intervals[k - 1]) if k else 0.0
            self._bank.observe(moment, after, ~np.isnan(moment), self._gaps == "hold")

    def _recheck(self, time: float) -> None:
        intervals = np.diff(self._context.times())
        if not isinstance(self._bank, TimedBank) or len(intervals) < 4:
            return
        if not 0.8 < np.median(intervals) / self._bank.typical < 1.25:
            self._make_timed(time + float(np.median(intervals)))

    def _mean(self, time: float | None) -> tuple[Array, Array]:
        """The forecast (series,) and how much wider than usual its interval is."""
        bank, clock = self._bank, self._clock
        if time is not None and clock.last is None:
            raise ValueError(f"time {time} means nothing to a model without timestamps; give them to observe first")
        if time is not None and not time > (clock.last or -np.inf):
            raise ValueError(f"time must lie after the last value's, {clock.last}, got {time}")
        held = np.where((bank.gap > 0) & (self._gaps == "hold"), 0.0, 1.0)
        if isinstance(bank, TimedBank):
            after = bank.typical if time is None or clock.last is None else time - clock.last
            return bank.last + held * bank.step(after), np.asarray(bank.spread(after) * (1.0 + bank.gap), np.float64)
        steps = 1.0 if time is None or clock.last is None else (time - clock.last) / clock.step
        return bank.last + held * bank.step * steps, np.asarray(max(steps, 1.0) * (1.0 + bank.gap), np.float64)

    def _mean_and_half(self, level: float, time: float | None) -> tuple[Array, Array]:
        mean, wider = self._mean(time)
        half = self._bank.calibration.half_width(level) * wider
        # No interval is narrower than the numbers themselves.
        return mean, np.maximum(half, np.spacing(np.abs(mean)))

    def _surprise(self, moment: Array, time: float | None) -> Array:
        mean, wider = self._mean(time)
        return self._bank.calibration.score((moment - mean) / wider)


def _level(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
    return float(level)
