r"""Predictions h values ahead, for one series that arrives in pieces: readouts solved for exactly this distance.

A readout solved for h = 1 and rolled forward 24 times is wrong 24 times over. Here the members that are solved in
context, and the seasonal ones, learn the change from the newest value to the value h ahead itself, from the features
that the bank has. They are mixed as in the bank, together with the copy of the newest value and with the bank rolled
forward. The seasons are those that the bank has found.

**Never far behind copying.** Let C be the summed absolute errors of copying so far, E how much larger ours were, and P
the sum of |prediction - copy| over predictions not judged yet. An error can exceed that of the copy by at most
|prediction - copy|. Every prediction is moved towards the copy until E + P <= `allowed` C. Hence E <= `allowed` C at
every later time: the mean absolute error is never more than `allowed` above that of copying, on any series whatsoever.
"""

import numpy as np

from prophecy._arrays import Array
from prophecy.streams.channels import Channels
from prophecy.streams.kernels import entry
from prophecy.streams.members import AHEAD_MEMBERS
from prophecy.streams.rows import fresh
from prophecy.streams.settings import DEFAULT, Settings
from prophecy.streams.table import between, table


class Ahead:
    """Predictions `horizon` values ahead with intervals of one level; where the series is cut changes nothing."""

    def __init__(self, horizon: int, level: float, settings: Settings = DEFAULT) -> None:
        self._bank, far = Channels(1, None, False, 1, settings), fresh(1, table(settings))
        far["weight"] = 1.0 / AHEAD_MEMBERS
        self._farther = entry.Farther(self._bank.streams, far, between(level), horizon)

    def advance(self, values: Array) -> Array:
        """Take in values (time,); mean, half width and score of each, `horizon` values before it came: (3, time)."""
        made = np.empty((len(values), 3))
        self._farther.take(np.ascontiguousarray(values), made)
        return np.ascontiguousarray(made.T)

    @property
    def seasons(self) -> tuple[int, ...]:
        """The seasons whose lags are read, in values: none, one or two."""
        return tuple(round(float(period)) for period in self._bank.records["season_periods"][0] if period)
