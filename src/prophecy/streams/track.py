"""What `Prophecy.follow` returns: for every value its forecast, interval, score and alarm."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from prophecy._arrays import Array
from prophecy._renamed import renamed
from prophecy.frames.source import Source


class Track(NamedTuple):
    """What `Prophecy.follow` returns, each of the shape of its input.

    point, lower, upper: forecast and interval of each value, made before it came (NaN before the first); score: how
    surprising it was when it came; alarm: 0, or how unusual it made the recent stretch for this stream (see
    `Prophecy.alarm`). A value that came later than its successors (by its timestamp) is left out, and all of these
    are NaN.
    """

    point: Array
    lower: Array
    upper: Array
    score: Array
    alarm: Array

    @property
    def mean(self) -> Any:
        """`point`, as it was called in version 0.2."""
        return renamed(self, "mean", "point")


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
        from prophecy.tables.forecasting import track_frame

        return track_frame(self)

    def plot(self, path: str | os.PathLike[str] | None = None, *, interactive: bool = False, **options: Any) -> Any:
        """Every value with its forecast and interval: a matplotlib figure, or (interactive) Plotly's.

        path: a file to save instead, .png, .svg or .html. last: how many of the newest rows to show.
        """
        from prophecy.tables.pictures import plot_track

        return plot_track(self, path, interactive, **options)

    def explain(self) -> str:
        """How well the values were predicted, in sentences."""
        values = self.source.values
        off, inside = np.abs(values - self.point), (values >= self.lower) & (values <= self.upper)
        known = np.isfinite(off)
        if not known.any():
            return f"{len(values):,} values, none of which could be compared with a prediction."
        steps = np.abs(np.diff(values, axis=0))
        return (
            f"{len(values):,} values, each predicted from those before it. The mean absolute error is "
            f"{off[known].mean():.4g}; copying the last value would have had an error of {np.nanmean(steps):.4g}. "
            f"{inside[known].mean():.0%} lie inside the interval, which should hold {self.level:.0%}. "
            f"The highest score is {np.nanmax(self.score):.3g}, the highest alarm {np.nanmax(self.alarm):.6g}."
        )

    def __repr__(self) -> str:
        rows, width = self.source.series.values.shape
        channels = f" x {width} channels" if width > 1 else ""
        return f"<Followed: {rows:,} values{channels}, each with point, lower, upper, score and alarm>"

    def _repr_html_(self) -> str:
        from prophecy.tables.pictures import of_streams

        names = self.source.names
        return of_streams(repr(self), zip(names, self.source.series.values.T, strict=True), len(names))
