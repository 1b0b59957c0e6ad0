"""Pictures of forecasts, tracks and backtests: a matplotlib figure, a Plotly figure, or a page on disk."""

from __future__ import annotations

import os
import warnings
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

Where = str | os.PathLike[str] | None


def plot_forecast(made: Forecast, path: Where, interactive: bool, history: int | None = None, **look: Any) -> Any:
    """history: rows of the past to show; dark, width: as of `drawn`."""
    panels = of_forecast(made, source_of(made), history=history)
    return drawn(Picture("", panels, made.explain().splitlines()), path, interactive, **look)


def plot_forecasts(
    many: Mapping[str, Forecast], path: Where, interactive: bool, history: int | None = None, **look: Any
) -> Any:
    sources = {name: source_of(made) for name, made in many.items()}
    return drawn(Picture("", of_forecasts(many, sources, history)), path, interactive, **look)


def plot_backtest(result: Backtest, path: Where, interactive: bool, **look: Any) -> Any:
    return drawn(Picture("", of_backtest(result)), path, interactive, **look)


def plot_track(track: Any, path: Where, interactive: bool, last: int = 400, **look: Any) -> Any:
    """last: how many of the newest rows to show."""
    series = track.source.series
    rows = len(series.values)
    shown = slice(max(0, rows - last), rows)
    parts = [np.asarray(part).reshape(rows, -1)[shown].T for part in (series.values, *track[:3])]
    x, names = moments(series.times, rows)[shown], track.source.names[:MOST]
    rows_of = zip(names, *parts, strict=False)
    panels = [of_track(x, truth, mean, low, high, track.level, name) for name, truth, mean, low, high in rows_of]
    return drawn(Picture("", panels), path, interactive, **look)


def drawn(picture: Picture, path: Any, interactive: bool, dark: bool = False, width: float = 9.0) -> Any:
    """A figure of matplotlib's, or (interactive) Plotly's; or, where a path is given, nothing but the file.

    dark: for a dark background. width: inches (matplotlib).
    """
    if isinstance(path, bool):  # plot(True) of version 0.2
        warnings.warn("plot(True) is now plot(interactive=True)", DeprecationWarning, stacklevel=4)
        path, interactive = None, path
    if path is not None:
        return save(picture, Path(path), dark, width)
    if interactive:
        from prophecy.tables.draw_plotly import figure

        return figure(picture, dark)
    from prophecy.tables.draw_matplotlib import figure as still

    return still(picture, dark, width)


def save(picture: Picture, path: Path, dark: bool = False, width: float = 10.0) -> None:
    """PNG or SVG, or one HTML page that can be zoomed and hovered over and needs nothing else, written atomically."""
    kind = path.suffix.lower()
    if kind not in ENDINGS:
        raise ValueError(f"a picture must end in {', '.join(ENDINGS)}, got {path.name!r}; choose one of these")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"folder {str(path.parent)!r} does not exist; create it first")
    if kind == ".html":
        from prophecy.tables.draw_plotly import page

        _files.write_atomic(path, page(picture).encode())
        return
    from prophecy.tables.draw_matplotlib import image

    _files.write_atomic(path, image(picture, kind[1:], dark, width))
