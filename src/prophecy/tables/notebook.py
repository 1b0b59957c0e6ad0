"""Small pictures in HTML, for notebooks: what `_repr_html_` of forecasts, tracks and fleets shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from prophecy._forecast import Failure, Forecast
from prophecy.frames.names import for_html
from prophecy.tables.framing import source_of
from prophecy.tables.pictures import Line, Panel, of_forecast

if TYPE_CHECKING:
    from prophecy.streams.track import Followed
    from prophecy.tables.forecasting import Forecasts

WIDE, HIGH = 320, 64  # pixels
MOST = 8  # series listed
VALUES = 200  # of a stream that are drawn
COLOUR = {"observed": "currentColor", "forecast": "#AA3377"}


def svg(panel: Panel) -> str:
    """The lines and the widest band of a panel."""
    shown = [
        *(line.y for line in panel.lines),
        *(part for band in panel.bands[:1] for part in (band.lower, band.upper)),
    ]
    numbers = np.concatenate([part[np.isfinite(part)] for part in shown] or [np.empty(0)])
    if not numbers.size:
        return ""
    low, size = numbers.min(), np.ptp(numbers) or 1.0
    places = np.unique(np.concatenate([line.x for line in panel.lines]))

    def path(x: Any, y: Any, joint: str = "M") -> str:
        across = WIDE * np.searchsorted(places, x) / max(1, len(places) - 1)
        down = 4 + (HIGH - 8) * (1 - (y - low) / size)
        steps, there = [], np.isfinite(down)
        for k in np.flatnonzero(there):
            steps.append(f"{'L' if k and there[k - 1] else joint}{across[k]:.1f} {down[k]:.1f}")
        return "".join(steps)

    parts = [
        f'<path d="{path(band.x, band.upper)}{path(band.x[::-1], band.lower[::-1], "L")}Z" fill="{COLOUR["forecast"]}" '
        'fill-opacity=".2"/>'
        for band in panel.bands[:1]
    ]
    parts += [f'<path d="{path(line.x, line.y)}" stroke="{COLOUR.get(line.role)}"/>' for line in panel.lines]
    box = f'width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}"'
    return f'<svg {box} role="img" fill="none">{"".join(parts)}</svg>'


def of_made(made: Forecast) -> str:
    """How it was made, and the picture of each variable."""
    source = source_of(made)
    panels = of_forecast(made, source)[:MOST]
    title = repr(made).strip("<>").partition(";")[0]
    return _listed(title, [(name, svg(panel)) for name, panel in zip(source.names, panels, strict=False)], len(panels))


def of_many(made: Forecasts) -> str:
    """The first few series, each with its picture."""
    some = [
        (str(key), for_html(one.error) if isinstance(one, Failure) else svg(of_forecast(one, source_of(one))[0]))
        for key, one in list(made.items())[:MOST]
    ]
    return _listed(repr(made), some, len(made))


def of_followed(track: Followed) -> str:
    """The last values of each channel."""
    columns = zip(track.source.names, track.source.series.values[-VALUES:].T, strict=True)
    return of_streams(repr(track), [(name, values) for name, values in list(columns)[:MOST]], len(track.source.names))


def of_streams(title: str, streams: Iterable[tuple[str, Any]], total: int) -> str:
    """Some streams with their recent values.

    >>> of_streams("a fleet", [("k", [1.0, 2.0, 4.0])], 1).count("<path")
    1
    """
    lines = [(key, Line(key, np.arange(len(y)), np.asarray(y, dtype=np.float64))) for key, y in streams]
    return _listed(title, [(key, svg(Panel(key, [line]))) for key, line in lines], total)


def _listed(title: str, pictures: Sequence[tuple[str, str]], total: int) -> str:
    rows = "".join(f"<tr><td>{for_html(name)}</td><td>{picture}</td></tr>" for name, picture in pictures)
    more = f"<tr><td>… and {total - len(pictures):,} more</td><td></td></tr>" if total > len(pictures) else ""
    return f"<p>{for_html(title)}</p><table>{rows}{more}</table>"
