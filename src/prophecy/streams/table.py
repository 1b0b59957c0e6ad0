"""The constants of the step in one record, for compiled code: what follows from the members, and all settings."""

from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from prophecy.bases import legt
from prophecy.discretize import bilinear
from prophecy.streams.members import (
    AROUND,
    LAGS,
    LEVELS,
    LINE,
    NORMAL,
    ORDER,
    PLACES,
    ROW,
    SEASON,
    SOLVED,
    STRIDES,
    WINDOWS,
)
from prophecy.streams.readouts import Readout, averaging, prior, readouts
from prophecy.streams.rows import TABLE
from prophecy.streams.settings import Group, Settings

_LEVELS = np.array(LEVELS)


def _put_settings(into: Any, settings: Group) -> None:
    """Write the numbers into such a record."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, Group):
            _put_settings(into[field.name], value)
        else:
            into[field.name] = value


@lru_cache(maxsize=64)
def between(level: float) -> tuple[int, float]:
    """A level among the tracked ones: the quantile above it, and how far it is there from the one below, or from 0.

    Straight lines over the normal quantiles; beyond the last one in proportion to it, and more than 1.
    """
    normal = float(ndtri((1.0 + level) / 2.0))
    above = min(int(np.searchsorted(NORMAL, normal)), len(NORMAL) - 1)
    start = NORMAL[above - 1] if above > 0 and normal <= NORMAL[above] else 0.0
    return above, (normal - start) / (NORMAL[above] - start)


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
    t["raise_by"], t["lower_by"] = np.exp(settings.rate * _LEVELS), np.exp(settings.rate * (_LEVELS - 1.0))
    made.flags.writeable = False
    return made


def _about_members(t: Any, readouts: list[Readout], settings: Settings) -> None:
    windows = np.array([readout.member.window for readout in readouts])
    t["gain"] = [readout.member.gain for readout in readouts]
    t["prior"] = prior(settings.prior_solved, settings.seasonal.bank)
    t["averaging"] = [averaging(int(window)) for window in windows]
    t["bias_rate"] = np.minimum(1.0 - settings.discount, 1.0 / windows)
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
        # Features are relative to the newest value: weight -1 on lag 1 is the straight line, no weight the copy; from
        # the mean of this phase to that of the next is what the season did.
        if member.start == LINE:
            t["start"][r, 0] = -1.0
        elif member.start == SEASON:
            now = member.features.index(AROUND + 6)
            t["start"][r, now], t["start"][r, now + 1] = -1.0, 1.0
