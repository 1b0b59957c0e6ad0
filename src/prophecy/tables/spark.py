"""Small pictures in HTML, for notebooks: what `_repr_html_` of forecasts, tracks and fleets shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prophecy._forecast import Failure, Forecast
from prophecy.frames.names import for_html
from prophecy.tables.framing import source_of

if TYPE_CHECKING:
    from prophecy.streams.track import Followed
    from prophecy.tables.forecasting import Forecasts

Array = NDArray[np.float64]

WIDE, HIGH = 320, 64  # pixels
PAST = 3  # values of the past shown for each value ahead
MOST = 8  # series listed


def svg(past: Any, point: Any = (), lower: Any = (), upper: Any = ()) -> str:
    """A line, and after it the forecast with its band.

    >>> svg([1, 2, 3], [4], [3], [5]).count("<path")
    3
    """
    past, point, lower, upper = (np.asarray(part, dtype=np.float64).reshape(-1) for part in (past, point, lower, upper))
    shown = np.concatenate([past, point, lower, upper])
    shown = shown[np.isfinite(shown)]
    if not shown.size:
        return ""
    low, high = float(shown.min()), float(shown.max())
    across = WIDE / max(1, len(past) + len(point) - 1)
    start = len(past) - 1 if len(past) else 0
    ahead = np.concatenate([past[-1:], point])

    def place(at: float, value: float) -> str:
        height = 0.5 if high == low else (value - low) / (high - low)
        return f"{at * across:.1f} {4 + (HIGH - 8) * (1 - height):.1f}"

    def line(first: float, values: Array) -> str:
        steps, down = [], False
        for at, value in enumerate(values.tolist(), 0):
            if np.isfinite(value):
                steps.append(f"{'L' if down else 'M'}{place(first + at, value)}")
            down = bool(np.isfinite(value))
        return "".join(steps)

    band = ""
    if len(lower) and np.isfinite(lower).all() and np.isfinite(upper).all():
        edge = [place(start + 1 + at, value) for at, value in enumerate(upper.tolist())]
        edge += [place(start + 1 + at, value) for at, value in reversed(list(enumerate(lower.tolist())))]
        band = f'<path d="M{"L".join(edge)}Z" fill="#AA3377" fill-opacity=".2"/>'
    return (
        f'<svg width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" role="img" fill="none">{band}'
        f'<path d="{line(0, past)}" stroke="currentColor" stroke-opacity=".65"/>'
        f'<path d="{line(start, ahead) if len(point) else ""}" stroke="#AA3377" stroke-width="1.6"/></svg>'
    )


def of_forecast(made: Forecast) -> str:
    """How it was made, and the picture of each variable."""
    source = source_of(made)
    pictures = [(name, _picture(made, i)) for i, name in enumerate(source.names[:MOST])]
    return _listed(repr(made).strip("<>").partition(";")[0], pictures, len(source.names))


def of_forecasts(made: Forecasts) -> str:
    """The first few series, each with its picture."""
    some = [
        (str(key), for_html(one.error) if isinstance(one, Failure) else _picture(one, 0))
        for key, one in list(made.items())[:MOST]
    ]
    return _listed(repr(made), some, len(made))


def _picture(made: Forecast, i: int) -> str:
    steps = np.size(made.point) if np.ndim(made.point) < 2 else len(np.asarray(made.point))
    parts = (made.point, made.lower, made.upper)
    ahead = [np.asarray(part, dtype=np.float64).reshape(steps, -1)[:, i] for part in parts]
    return svg(source_of(made).series.values[-PAST * max(steps, 20) :, i], *ahead)


def of_track(track: Followed) -> str:
    """The last values of each channel."""
    values = track.source.series.values
    some = [(name, svg(values[-200:, i])) for i, name in enumerate(track.source.names[:MOST])]
    return _listed(repr(track), some, values.shape[1])


def of_streams(title: str, streams: Iterable[tuple[str, Sequence[float]]], total: int) -> str:
    """Some streams of a fleet with their recent values."""
    return _listed(title, [(key, svg(values)) for key, values in streams], total)


def _listed(title: str, pictures: Sequence[tuple[str, str]], total: int) -> str:
    rows = "".join(f"<tr><td>{for_html(name)}</td><td>{picture}</td></tr>" for name, picture in pictures)
    more = f"<tr><td>… and {total - len(pictures):,} more</td><td></td></tr>" if total > len(pictures) else ""
    return f"<p>{for_html(title)}</p><table>{rows}{more}</table>"
