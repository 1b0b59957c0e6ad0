"""The constants of the step in one record, for compiled code: what follows from the members, and all settings."""

from dataclasses import astuple, fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from prophecy.bases import legt
from prophecy.discretize import bilinear
from prophecy.streams import members as m
from prophecy.streams.readouts import averaging, members, prior
from prophecy.streams.rows import TABLE
from prophecy.streams.settings import Settings


def between(level: float) -> float:
    """The normal quantile that a level is known by: this share of all normal values lies between minus it and it."""
    return float(ndtri((1.0 + level) / 2.0))


@lru_cache(maxsize=16)
def table(settings: Settings) -> NDArray[np.void]:
    """The constants of the step as an array of one `TABLE` record."""
    made = np.zeros(1, dtype=TABLE)
    made[[field.name for field in fields(settings)]] = astuple(settings)
    t: Any = made[0]
    fixed = members()[: m.FIXED]
    ahead, advance = t["short"].reshape(m.LAGS, -1), t["long"].reshape(len(m.WINDOWS), m.ORDER, -1)
    for i, member in enumerate(fixed[: m.SHORTS]):
        ahead[: len(member.ahead), i] = member.ahead
        t["reach"][i // m.ROW] = len(member.ahead)
        t["short_slope"][: len(member.slope), i] = member.slope
    for i, window in enumerate(m.WINDOWS):
        pair = bilinear(legt(m.ORDER, float(window)).A, legt(m.ORDER, float(window)).B, 1.0)
        t["steady"][i] = np.linalg.solve(np.eye(m.ORDER) - pair.A, pair.B)
        t["block_of"][i] = i * advance[0].size
        advance[i, :, : m.ORDER] = pair.A.T
        for j, member in enumerate(fixed[m.SHORTS + i * m.LONGS :][: m.LONGS]):
            advance[i, :, m.ORDER + j] = pair.A.T @ member.ahead
            t["long_slope"][i, : len(member.slope), j] = member.slope
    t["prior"] = prior(settings.prior_solved, settings.seasons.bank)
    t["averaging"] = [averaging(member.window) for member in fixed]
    t["bias_rate"] = np.minimum(1.0 - settings.discount, 1.0 / np.array([member.window for member in fixed]))
    t["sloped"] = [len(member.slope) > 0 for member in fixed]
    for name in ("gain", "slope_gain", "slope_bias", "slope_left"):
        t[name] = [getattr(member, name) for member in fixed]
    t["stride"], t["place"] = m.STRIDES, m.PLACES
    for r, solved in enumerate(m.SOLVED):
        count = len(solved.features)
        t["index"][r, :count] = solved.features
        t["used"][r], t["forgetting"][r] = count, settings.solved_memory[r]
        # Lags before the first value repeat it: equations with them are wrong and would be remembered for long.
        t["longest"][r] = max(feature for feature in solved.features if feature < m.LAGS)
        t["needed"][r] = t["longest"][r] + settings.equations * count
        # Features are relative to the newest value: weight -1 on lag 1 is the straight line, no weight the copy; from
        # the mean of this phase to that of the next is what the season did.
        if solved.start == m.LINE:
            t["start"][r, 0] = -1.0
        elif solved.start == m.SEASON:
            now = solved.features.index(m.AROUND + 6)
            t["start"][r, now], t["start"][r, now + 1] = -1.0, 1.0
    levels = np.array(m.LEVELS)
    t["raise_by"], t["lower_by"] = np.exp(settings.rate * levels), np.exp(settings.rate * (levels - 1.0))
    made.flags.writeable = False
    return made
