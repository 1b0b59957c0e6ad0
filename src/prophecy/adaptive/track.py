"""What was said of every value before it came, as `Prophecy.follow` hands it back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.source import Source

Array = NDArray[np.float64]


class Track(NamedTuple):
    """What `Prophecy.follow` saw, each of the shape of its input.

    mean, lower, upper: what was predicted of each value before it came (NaN before the first); score: how surprising it
    was when it came; alarm: 0, or how unusual it made the recent stretch for this stream (see `Prophecy.alarm`). A
    value that came later than its successors (by its timestamp) is not taken in, and all of these are NaN.
    """

    mean: Array
    lower: Array
    upper: Array
    score: Array
    alarm: Array


class Followed(Track):
    """A track that knows what was followed. source: the values, their times and the kind of frame they came in."""

    source: Source
    level: float

    @property
    def index(self) -> Any:
        """The times of the rows, where there are some; in the order of time, missing grid times among them."""
        return self.source.past()

    def to_frame(self) -> Any:
        """A frame of the kind that came in: a row for each time, with what was said of it before it came."""
        from prophecy.tables.framing import track_frame

        return track_frame(self)

    def plot(self, interactive: bool = False, **options: Any) -> Any:
        """Every value with what was said about it before it came: a matplotlib figure, or (interactive) Plotly's."""
        from prophecy.tables.pictures import plot_track

        return plot_track(self, interactive, **options)
