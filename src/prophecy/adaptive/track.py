"""What `Prophecy.follow` returns: for every value its forecast, interval, score and alarm."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.source import Source

Array = NDArray[np.float64]


class Track(NamedTuple):
    """What `Prophecy.follow` returns, each of the shape of its input.

    mean, lower, upper: forecast and interval of each value, made before it came (NaN before the first); score: how
    surprising it was when it came; alarm: 0, or how unusual it made the recent stretch for this stream (see
    `Prophecy.alarm`). A value that came later than its successors (by its timestamp) is not taken in, and all of these
    are NaN.
    """

    mean: Array
    lower: Array
    upper: Array
    score: Array
    alarm: Array


class Followed(Track):
    """A track with its source: the values, their times and the kind of frame they came in."""

    source: Source
    level: float

    @property
    def index(self) -> Any:
        """The times of the rows, where there are some; in the order of time, missing grid times among them."""
        return self.source.past()

    def to_frame(self) -> Any:
        """A frame of the kind that came in: a row for each time, with its forecast, interval, score and alarm."""
        from prophecy.tables.framing import track_frame

        return track_frame(self)

    def plot(self, interactive: bool = False, **options: Any) -> Any:
        """Every value with its forecast and interval: a matplotlib figure, or (interactive) Plotly's."""
        from prophecy.tables.pictures import plot_track

        return plot_track(self, interactive, **options)
