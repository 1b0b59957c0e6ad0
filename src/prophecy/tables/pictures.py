"""Pictures of forecasts, tracks and backtests: a matplotlib figure, a Plotly figure, or a page on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prophecy import _files
from prophecy._forecast import Forecast
from prophecy.tables.framing import source_of
from prophecy.tables.panels import MOST, Picture, moments, of_backtest, of_forecast, of_forecasts, of_track

if TYPE_CHECKING:
    from prophecy.tables.backtesting import Backtest

ENDINGS = (".png", ".svg", ".html")


def plot_forecast(
    made: Forecast, interactive: bool = False, *, history: int | None = None, dark: bool = False, width: float = 9.0
) -> Any:
    """history: rows of the past to show. dark: for a dark background. width: inches (matplotlib)."""
    panels = of_forecast(made, source_of(made), history=history)
    return draw(Picture("", panels), interactive, dark, width)


def plot_forecasts(
    many: Mapping[str, Forecast],
    interactive: bool = False,
    *,
    history: int | None = None,
    dark: bool = False,
    width: float = 9.0,
) -> Any:
    sources = {name: source_of(made) for name, made in many.items()}
    return draw(Picture("", of_forecasts(many, sources, history)), interactive, dark, width)


def plot_backtest(result: Backtest, interactive: bool = False, *, dark: bool = False, width: float = 9.0) -> Any:
    return draw(Picture("", of_backtest(result)), interactive, dark, width)


def plot_track(
    track: Any, interactive: bool = False, *, last: int = 400, dark: bool = False, width: float = 9.0
) -> Any:
    """last: how many of the newest rows to show."""
    series = track.source.series
    rows = len(series.values)
    shown = slice(max(0, rows - last), rows)
    x = moments(series.times, rows)[shown]
    panels = []
    for i, name in enumerate(track.source.names[:MOST]):
        truth, mean, lower, upper = (
            np.asarray(part).reshape(rows, -1)[shown, i] for part in (series.values, *track[:3])
        )
        panels.append(of_track(x, truth, mean, lower, upper, track.level, name))
    return draw(Picture("", panels), interactive, dark, width)


def draw(picture: Picture, interactive: bool = False, dark: bool = False, width: float = 9.0) -> Any:
    """A Plotly figure, or one of matplotlib's."""
    if interactive:
        from prophecy.tables.draw_plotly import figure

        return figure(picture, dark)
    from prophecy.tables.draw_matplotlib import figure as still

    return still(picture, dark, width)


def save(picture: Picture, path: Path, dark: bool = False) -> None:
    """PNG or SVG, or one HTML page that can be zoomed and hovered over and needs nothing else, written atomically."""
    kind = path.suffix.lower()
    if kind not in ENDINGS:
        raise ValueError(f"a picture must end in {', '.join(ENDINGS)}, got {path.name!r}")
    if kind == ".html":
        from prophecy.tables.draw_plotly import page

        _files.write_atomic(path, page(picture).encode())
        return
    from prophecy.tables.draw_matplotlib import image

    _files.write_atomic(path, image(picture, kind[1:], dark))
