"""The constants of the step in one record, for compiled code: what follows from the members, and all settings."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from prophecy.bases import legt
from prophecy.discretize import bilinear
from prophecy.streams.fields import record_type
from prophecy.streams.members import (
    FIXED,
    LAGS,
    LEVELS,
    LONGS,
    MEMBERS,
    ORDER,
    PLACES,
    ROW,
    SHORTS,
    SOLVED,
    STRIDES,
    WIDTH,
    WINDOWS,
    Readout,
    averaging,
    members,
    padded,
    prior,
    readouts,
)
from prophecy.streams.settings import DEFAULT, Group, Settings

_S, _W, _L = len(SOLVED), len(WINDOWS), len(LEVELS)
_REAL = (
    *(("short", LAGS * padded(SHORTS)), ("long", _W * ORDER * padded(ORDER + LONGS)), ("steady", (_W, ORDER))),
    *(("prior", MEMBERS), ("gain", FIXED), ("averaging", FIXED), ("bias_rate", FIXED)),
    *(("short_slope", (LAGS, SHORTS)), ("long_slope", (_W, ORDER, LONGS)), ("slope_gain", FIXED)),
    *(("slope_bias", FIXED), ("slope_left", FIXED), ("forgetting", _S), ("needed", _S), ("start", (_S, WIDTH))),
    *(("raise_by", _L), ("lower_by", _L), ("normal", _L)),
)
_WHOLE = (("longest", _S), ("sloped", FIXED))
_PLACE = (
    *(("reach", padded(SHORTS) // ROW), ("block_of", _W), ("index", (_S, WIDTH))),
    *(("used", _S), ("stride", _S), ("place", _S)),
)


def _of_settings(settings: Group) -> list[Any]:
    """Fields of a record for these numbers; those of a group are a record in a record."""
    found: list[Any] = []
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, Group):
            found.append((field.name, record_type(_of_settings(value))))
        elif isinstance(value, tuple):
            found.append((field.name, np.float64, len(value)))
        else:
            found.append((field.name, np.int64 if field.type == "int" else np.float64))
    return found


def _put_settings(into: Any, settings: Group) -> None:
    """Write the numbers into such a record."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, Group):
            _put_settings(into[field.name], value)
        else:
            into[field.name] = value


TABLE = record_type(
    [(name, np.float64, shape) for name, shape in _REAL]
    + [(name, np.int64, shape) for name, shape in _WHOLE]
    + [(name, np.uint64, shape) for name, shape in _PLACE]
    + _of_settings(DEFAULT)
)
"""All constants of the step in one record: what follows from the members, and the settings under their own names.

short (lags, members): weights of the short members on the lags; `reach`: how many lags each block of them reads.
long (windows, order, order + members): z - x₁ du to the new z and to the predictions. steady: x₁. gain: noise gains.
short_slope, long_slope: derivative readouts per sample; slope_gain: their noise gains; slope_bias: the leading error of
a slope over that of the same member's prediction; slope_left: noise variance left in the member's averaged errors.
index (solved, width), used: the features of each solved member; stride, place: where its factor's rows are; longest:
its oldest lag; needed: samples before it predicts by its own readout. normal: quantiles of a normal law at `LEVELS`.
"""


@lru_cache(maxsize=64)
def between(level: float) -> tuple[int, bool, float]:
    """A level among the tracked ones: the quantile above it, whether one lies below, and how far it is from there.

    Straight lines over the normal quantiles; below the first and beyond the last one, in proportion.
    """
    knots, normal = ndtri((1.0 + LEVELS) / 2.0), float(ndtri((1.0 + level) / 2.0))
    above = min(int(np.searchsorted(knots, normal)), len(knots) - 1)
    inside = above > 0 and normal <= float(knots[above])
    start = float(knots[above - 1]) if inside else 0.0
    return above, bool(inside), (normal - start) / (float(knots[above]) - start)


@lru_cache(maxsize=16)
def table(settings: Settings) -> NDArray[np.void]:
    """The constants of the step as an array of one `TABLE` record."""
    short, long = readouts()
    made = np.zeros(1, dtype=TABLE)
    t: Any = made[0]
    _put_settings(t, settings)
    ahead, advance = t["short"].reshape(LAGS, -1), t["long"].reshape(len(WINDOWS), ORDER, -1)
    for i, readout in enumerate(short):
        ahead[: len(readout.ahead), i] = readout.ahead
        t["reach"][i // ROW] = readout.member.window
        if readout.slope is not None:
            t["short_slope"][: len(readout.slope), i] = readout.slope
    for i, window in enumerate(WINDOWS):
        pair = bilinear(legt(ORDER, float(window)).A, legt(ORDER, float(window)).B, 1.0)
        t["steady"][i] = np.linalg.solve(np.eye(ORDER) - pair.A, pair.B)
        t["block_of"][i] = i * advance[0].size
        advance[i, :, :ORDER] = pair.A.T
        for j, readout in enumerate(long[i]):
            advance[i, :, ORDER + j] = pair.A.T @ readout.ahead
            if readout.slope is not None:
                t["long_slope"][i, :, j] = readout.slope
    _about_members(t, [*short, *(r for window in long for r in window)], settings)
    _about_solved(t, settings)
    t["raise_by"], t["lower_by"] = np.exp(settings.rate * LEVELS), np.exp(settings.rate * (LEVELS - 1.0))
    t["normal"] = ndtri((1.0 + LEVELS) / 2.0)
    made.flags.writeable = False
    return made


def _about_members(t: Any, readouts: list[Readout], settings: Settings) -> None:
    windows = np.array([readout.member.window for readout in readouts])
    t["gain"] = [readout.member.gain for readout in readouts]
    t["prior"] = prior(members(), settings.prior_solved)
    t["averaging"] = [averaging(int(window)) for window in windows]
    t["bias_rate"] = np.minimum(settings.fastest_bias, 1.0 / windows)
    t["sloped"] = [readout.slope is not None for readout in readouts]
    for name in ("gain", "bias", "left"):
        t[f"slope_{name}"] = [0.0 if r.slope is None else getattr(r, name) for r in readouts]


def _about_solved(t: Any, settings: Settings) -> None:
    t["stride"], t["place"] = STRIDES, PLACES
    for r, member in enumerate(SOLVED):
        count = len(member.features)
        t["index"][r, :count] = member.features
        t["used"][r], t["forgetting"][r] = count, settings.solved_memory[r]
        # Lags before the first value repeat it: equations with them are wrong and would be remembered for long.
        t["longest"][r] = max(feature for feature in member.features if feature < LAGS)
        t["needed"][r] = t["longest"][r] + settings.equations * count
        # Features are relative to the newest value: weight -1 on lag 1 is the straight line, no weight the copy.
        t["start"][r, 0] = -float(member.start)
