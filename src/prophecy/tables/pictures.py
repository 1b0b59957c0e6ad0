"""Pictures of forecasts, tracks and backtests: panels of lines, bands and marks, drawn by matplotlib or Plotly."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy import _files
from prophecy._forecast import Forecast
from prophecy.frames.source import Source
from prophecy.frames.times import Times
from prophecy.tables.framing import source_of

if TYPE_CHECKING:
    from prophecy.tables.backtesting import Backtest

Array = NDArray[np.float64]
Colours = dict[str, str]
Where = str | os.PathLike[str] | None

ENDINGS = (".png", ".svg", ".html")

LIGHT: Colours = {
    "ink": "#1f2937", "muted": "#6b7280", "grid": "#e5e7eb", "paper": "#ffffff",
    "forecast": "#2563eb", "flagged": "#dc2626",
}  # fmt: skip
DARK: Colours = {
    "ink": "#e5e7eb", "muted": "#9ca3af", "grid": "#374151", "paper": "#111827",
    "forecast": "#60a5fa", "flagged": "#f87171",
}  # fmt: skip
RIVALS = ("#d97706", "#059669", "#9333ea", "#0891b2", "#be185d")

SHAPES: dict[str, tuple[str, str]] = {
    "spike": ("o", "circle"),
    "shift": ("s", "square"),
    "change of noise": ("^", "triangle-up"),
    "flat line": ("D", "diamond"),
    "lost season": ("P", "cross"),
}
"""Flagged rows by what happened, in matplotlib and in Plotly: shapes, which print and colour blindness leave apart."""

INNER = 0.5  # level of the darker band inside the interval: half of all values
PAST = 4  # rows of history drawn for each row ahead
LEAST = 120  # rows of history drawn at least, where there are that many
MOST = 6  # panels drawn: a picture of more is a texture


class Look(NamedTuple):
    """How a line is drawn. size: its width, or that of dots. shape: of dots, in matplotlib and in Plotly."""

    colour: str
    size: float
    dashed: bool = False
    shape: tuple[str, str] | None = None


@dataclass(frozen=True)
class Line:
    """role: observed, forecast, flagged or rival; `dots` marks every value instead of joining them; `listed`: in the
    legend."""

    name: str
    x: NDArray[Any]
    y: Array
    role: str = "observed"
    dots: bool = False
    listed: bool = True


@dataclass(frozen=True)
class Band:
    """An interval over time; the wider it is, the paler."""

    name: str
    x: NDArray[Any]
    lower: Array
    upper: Array
    inner: bool = False

    @property
    def alpha(self) -> float:
        return 0.26 if self.inner else 0.15


@dataclass(frozen=True)
class Panel:
    """One set of axes. now: where the past ends. bars: names and lengths, in place of lines. spans: stretches of the
    axis, first and last, that are shaded. threshold: where a horizontal line is drawn. alone: its horizontal axis is
    that of no other panel."""

    title: str
    lines: Sequence[Line] = ()
    bands: Sequence[Band] = ()
    marks: Sequence[Line] = ()
    now: Any = None
    bars: Sequence[tuple[str, float]] = ()
    height: float = 1.0
    log: bool = False
    threshold: float | None = None
    spans: Sequence[tuple[Any, Any]] = ()
    alone: bool = False

    def looks(self, colours: Colours) -> list[tuple[Line, Look]]:
        """Every line and mark with its look; rivals have a colour each."""
        rivals = list(dict.fromkeys(line.name for line in self.lines if line.role == "rival"))
        made = []
        for line in (*self.lines, *self.marks):
            rival = line.role == "rival"
            colour = RIVALS[rivals.index(line.name) % len(RIVALS)] if rival else colours.get(line.role, colours["ink"])
            flagged = line.role == "flagged"
            shape = SHAPES.get(line.name, SHAPES["spike"]) if flagged else (".", "circle")
            size = (6.0 if flagged else 3.2) if line.dots else 1.9 if line.role == "forecast" else 1.2
            made.append((line, Look(colour, size, rival, shape if line.dots else None)))
        return made

    def limits(self) -> tuple[float, float] | None:
        """Where the vertical axis should end: an interval wider than everything it belongs to must not set the
        scale."""
        seen = np.concatenate([line.y[np.isfinite(line.y)] for line in (*self.lines, *self.marks)] or [np.empty(0)])
        if not seen.size or np.ptp(seen) == 0 or self.log:
            return None
        low, high, size = seen.min(), seen.max(), np.ptp(seen)
        edges = [part[np.isfinite(part)] for band in self.bands for part in (band.lower, band.upper)]
        all_ = np.concatenate([seen, *edges])
        return float(max(all_.min(), low - size) - 0.04 * size), float(min(all_.max(), high + size) + 0.04 * size)


@dataclass(frozen=True)
class Picture:
    """Panels below each other, what stands above them, and remarks for a page."""

    title: str
    panels: Sequence[Panel]
    remarks: Sequence[str] = ()
    table: Sequence[Sequence[str]] = ()


def moments(times: Times | None, rows: int, first: int = 0) -> NDArray[Any]:
    """A time axis: what clocks on the wall show, or row numbers."""
    return np.arange(first, first + rows) if times is None else times.wall()


def of_forecast(made: Forecast, source: Source, title: str = "", history: int | None = None) -> list[Panel]:
    """The past, the point and its fan, a panel for each variable."""
    steps, rows = len(np.asarray(made.point)), len(source.series.values)
    shown = min(rows, max(LEAST, PAST * steps) if history is None else history)
    after = source.series.after(steps)
    # A single row has no step: nothing ahead has a date then, and rows are counted.
    past = moments(None if after is None else source.series.times, rows)[rows - shown :]
    ahead = moments(after, steps, rows)
    bands = [(f"{100 * made.level:g} %", made.lower, made.upper, False)]
    if made.level > INNER + 0.1:
        low, high = made.quantile(np.array([0.5 - INNER / 2, 0.5 + INNER / 2]))
        bands.append((f"{100 * INNER:g} %", low, high, True))
    panels = []
    for i, name in enumerate(source.names[:MOST]):
        # Lines and bands begin at the last value seen: nothing is uncertain there, and the eye can follow.
        last = source.series.values[-1:, i]
        last = last[np.isfinite(last)]
        x = np.concatenate([past[-1:], ahead]) if len(last) else ahead

        def joined(values: Any, i: int = i, last: Array = last) -> Array:
            return np.concatenate([last, _column(values, i)])

        lines = [
            Line("observed", past, source.series.values[rows - shown :, i]),
            Line("forecast", x, joined(made.point), "forecast"),
        ]
        fan = [Band(label, x, joined(low), joined(high), inner) for label, low, high, inner in bands]
        several = len(source.names) > 1 or not title
        parts = (title, name if several else "")
        panels.append(Panel(" · ".join(filter(None, parts)), lines, fan, now=past[-1] if len(past) else None))
    return panels


def of_backtest(result: Backtest) -> list[Panel]:
    """The first series with what was forecast in every fold, and every model's MASE (the MAE where it has none)."""
    source, horizon = result.source, result.horizon
    shown = max(0, result.cuts[0] - max(LEAST, PAST * horizon))
    axis = moments(source.series.times, len(source.series.values))
    lines, bands = [Line("observed", axis[shown:], source.series.values[shown:, 0])], []
    scores, ours = result.overall(), result.models[0]
    errors = {model: row["mae"] for model, row in scores.items() if model != ours and np.isfinite(row["mae"])}
    best = min(errors, key=lambda model: errors[model], default=None)
    for (model, fold), made in result.paths.items():
        x = axis[result.cuts[fold] : result.cuts[fold] + horizon]
        if model in (ours, best):
            lines.append(Line(model, x, _column(made.point, 0), "forecast" if model == ours else "rival"))
        if model == ours:
            bands.append(Band(f"{100 * result.level:g} %", x, _column(made.lower, 0), _column(made.upper, 0)))
    measure = "mase" if all(np.isfinite(row["mase"]) for row in scores.values()) else "mae"
    title = f"mean absolute {'scaled ' if measure == 'mase' else ''}error (less is better)"
    bars = [(model, row[measure]) for model, row in scores.items()]
    return [Panel(source.names[0], lines, bands), Panel(title, bars=bars, height=0.22 * len(bars))]


def of_track(
    x: NDArray[Any],
    truth: Array,
    mean: Array,
    lower: Array,
    upper: Array,
    level: float,
    title: str = "",
    flags: NDArray[np.bool_] | None = None,
) -> Panel:
    """Every value with the prediction made before it came."""
    marks = [] if flags is None else [Line("flagged", x[flags], truth[flags], "flagged", dots=True)]
    lines = [Line("predicted before seen", x, mean, "forecast"), Line("observed", x, truth, dots=len(x) <= 400)]
    return Panel(title, lines, [Band(f"{100 * level:g} %", x, lower, upper)], marks)


def _column(values: Any, i: int) -> Array:
    array = np.asarray(values, dtype=np.float64)
    return np.asarray(array if array.ndim == 1 else array[:, i])


def plot_forecast(made: Forecast, path: Where, interactive: bool, history: int | None = None, **look: Any) -> Any:
    """history: rows of the past to show; dark, width: as of `drawn`."""
    panels = of_forecast(made, source_of(made), history=history)
    return drawn(Picture("", panels, made.explain().splitlines()), path, interactive, **look)


def plot_forecasts(
    many: Mapping[str, Forecast], path: Where, interactive: bool, history: int | None = None, **look: Any
) -> Any:
    """The first few series below each other."""
    some = list(many.items())[:MOST]
    panels = [panel for name, made in some for panel in of_forecast(made, source_of(made), name, history)]
    return drawn(Picture("", panels[:MOST]), path, interactive, **look)


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
