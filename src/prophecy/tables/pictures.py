"""Pictures of forecasts, tracks and backtests: panels of lines and bands, drawn by matplotlib or Plotly, and small ones
in HTML for notebooks."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy import _files
from prophecy._arrays import Array
from prophecy._forecast import Failure, Forecast
from prophecy.frames.names import for_html
from prophecy.frames.source import Source
from prophecy.frames.times import Times
from prophecy.tables.forecasting import source_of

if TYPE_CHECKING:
    from prophecy.streams.track import Followed
    from prophecy.tables.backtesting import Backtest

Colours = dict[str, str]
Where = str | os.PathLike[str] | None

ENDINGS = (".png", ".svg", ".html")
DPI = 160  # of pictures on disk: sharp on a slide
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
    "spike": ("o", "circle"), "shift": ("s", "square"), "change of noise": ("^", "triangle-up"),
    "flat line": ("D", "diamond"), "lost season": ("P", "cross"),
}  # fmt: skip
"""Flagged rows by what happened, in matplotlib and in Plotly: shapes, which print and colour blindness leave apart."""

INNER = 0.5  # level of the darker band inside the interval: half of all values
PAST = 4  # rows of history drawn for each row ahead
LEAST = 120  # rows of history drawn at least, where there are that many
FEW = 40  # dots that are drawn large
MOST = 6  # panels drawn: a picture of more is a texture
LISTED = 8  # series listed in a notebook
RECENT = 200  # values of a stream drawn there
WIDE, HIGH = 320, 64  # pixels of a picture there


class Look(NamedTuple):
    """How a line is drawn: its width or that of dots, and the shape of dots, in matplotlib and in Plotly."""

    colour: str
    size: float
    dashed: bool = False
    shape: tuple[str, str] | None = None


class Line(NamedTuple):
    """role: observed, forecast, flagged or rival; `dots` marks every value instead of joining them; one without a name
    is not in the legend."""

    name: str
    x: NDArray[Any]
    y: Array
    role: str = "observed"
    dots: bool = False


class Band(NamedTuple):
    """An interval over time; the wider it is, the paler."""

    name: str
    x: NDArray[Any]
    lower: Array
    upper: Array
    alpha: float = 0.15


class Panel(NamedTuple):
    """One set of axes. now: where the past ends. spans: stretches of the axis, first and last, that are shaded.
    threshold: where a horizontal line is drawn."""

    title: str
    lines: Sequence[Line] = ()
    bands: Sequence[Band] = ()
    now: Any = None
    height: float = 1.0
    log: bool = False
    threshold: float | None = None
    spans: Sequence[tuple[Any, Any]] = ()

    def looks(self, colours: Colours) -> list[tuple[Line, Look]]:
        """Every line with its look; rivals have a colour each."""
        rivals = list(dict.fromkeys(line.name for line in self.lines if line.role == "rival"))
        made = []
        for line in self.lines:
            rival, flagged = line.role == "rival", line.role == "flagged"
            colour = RIVALS[rivals.index(line.name) % len(RIVALS)] if rival else colours.get(line.role, colours["ink"])
            shape = SHAPES.get(line.name, SHAPES["spike"]) if flagged else (".", "circle")
            large = flagged or len(line.x) <= FEW
            size = (6.0 if large else 3.2) if line.dots else 1.9 if line.role == "forecast" else 1.2
            made.append((line, Look(colour, size, rival, shape if line.dots else None)))
        return made

    def limits(self) -> tuple[float, float] | None:
        """Where the vertical axis ends: an interval wider than all it belongs to must not set the scale."""
        seen = _finite(line.y for line in self.lines)
        if not seen.size or np.ptp(seen) == 0 or self.log:
            return None
        low, high, size = seen.min(), seen.max(), np.ptp(seen)
        whole = _finite([seen, *(part for band in self.bands for part in band[2:4])])
        return float(max(whole.min(), low - size) - 0.04 * size), float(min(whole.max(), high + size) + 0.04 * size)

    def span(self) -> tuple[Any, ...]:
        """Where the horizontal axis begins and ends."""
        ends = [(line.x.min(), line.x.max()) for line in self.lines if len(line.x)]
        return (min(first for first, _ in ends), max(last for _, last in ends)) if ends else ()


class Picture(NamedTuple):
    """Panels below each other, what stands above them, and remarks for a page."""

    title: str
    panels: Sequence[Panel]
    remarks: Sequence[str] = ()
    table: Sequence[Sequence[str]] = ()


def _finite(parts: Iterable[Array]) -> Array:
    return np.concatenate([np.empty(0), *(part[np.isfinite(part)] for part in parts)])


def moments(times: Times | None, rows: int, first: int = 0) -> NDArray[Any]:
    """A time axis: what clocks on the wall show, or row numbers."""
    return np.arange(first, first + rows) if times is None else times.wall()


def of_forecast(made: Forecast, source: Source, title: str = "", history: int | None = None) -> list[Panel]:
    """The past, the point and its fan, a panel for each variable."""
    steps, rows = len(np.asarray(made.point)), len(source.series.values)
    shown = min(rows, max(LEAST, PAST * steps) if history is None else history)
    past, ahead = moments(source.series.times, rows)[rows - shown :], moments(source.series.after(steps), steps, rows)
    fan = [(made.level, 0.15, made.lower, made.upper)]
    if made.level > INNER + 0.1:
        fan.append((INNER, 0.26, *made.quantile(np.array([0.5 - INNER / 2, 0.5 + INNER / 2]))))
    panels = []
    for i, name in enumerate(source.names[:MOST]):
        # Lines and bands begin at the last value seen: nothing is uncertain there, and the eye can follow.
        last = _finite([source.series.values[-1:, i]])
        x = np.concatenate([past[-1:], ahead]) if len(last) else ahead

        def drawn(part: Any, last: Array = last, i: int = i) -> Array:
            return np.concatenate([last, _column(part, i)])

        lines = [Line("observed", past, source.series.values[rows - shown :, i])]
        lines.append(Line("forecast", x, drawn(made.point), "forecast"))
        bands = [Band(f"{100 * level:g} %", x, drawn(low), drawn(high), alpha) for level, alpha, low, high in fan]
        called = " · ".join(filter(None, (title, name if len(source.names) > 1 or not title else "")))
        panels.append(Panel(called, lines, bands, now=past[-1] if len(past) else None))
    return panels


def of_backtest(result: Backtest) -> list[Panel]:
    """The first series with what was forecast in every fold, and every model's mean absolute error in each of them."""
    source, horizon, (ours, *others) = result.source, result.horizon, result.models
    shown = max(0, result.cuts[0] - max(LEAST, PAST * horizon))
    axis = moments(source.series.times, len(source.series.values))
    lines, bands = [Line("observed", axis[shown:], source.series.values[shown:, 0])], []
    errors = {model: [score.mae for score in result.first(model)] for model in (ours, *others)}
    others.sort(key=lambda model: np.nan_to_num(np.mean(errors[model]), nan=np.inf))  # the best has the first colour
    for (model, fold), made in result.paths.items():
        x = axis[result.cuts[fold] : result.cuts[fold] + horizon]
        if model in (ours, *others[:1]):
            lines.append(Line(model, x, _column(made.point, 0), "forecast" if model == ours else "rival"))
        if model == ours:
            bands.append(Band(f"{100 * result.level:g} %", x, _column(made.lower, 0), _column(made.upper, 0)))
    cuts = axis[np.asarray(result.cuts)]
    scores = [Line(model, cuts, np.array(errors[model]), "rival", dots=True) for model in others]
    scores.append(Line(ours, cuts, np.array(errors[ours]), "forecast", dots=True))
    return [Panel(source.names[0], lines, bands), Panel("mean absolute error, by fold", scores, height=0.5)]


def of_track(x: NDArray[Any], parts: Iterable[Array], level: float, title: str = "") -> Panel:
    """Every value with the prediction made before it came. parts: values, means, lower and upper ends."""
    truth, mean, lower, upper = parts
    lines = [Line("predicted before seen", x, mean, "forecast"), Line("observed", x, truth, dots=len(x) <= 400)]
    return Panel(title, lines, [Band(f"{100 * level:g} %", x, lower, upper)])


def _column(values: Any, i: int) -> Array:
    array = np.asarray(values, dtype=np.float64)
    return np.asarray(array if array.ndim == 1 else array[:, i])


def plot_forecasts(
    many: Mapping[str, Forecast], path: Where, interactive: bool, history: int | None = None, **look: Any
) -> Any:
    """The first few series below each other. history: rows of the past to show; dark, width: as of `drawn`."""
    some = list(many.items())[:MOST]
    panels = [panel for name, made in some for panel in of_forecast(made, source_of(made), name, history)]
    remarks = [line for made in many.values() for line in made.explain().splitlines()] if len(many) == 1 else ()
    return drawn(Picture("", panels[:MOST], remarks), path, interactive, **look)


def plot_track(track: Followed, path: Where, interactive: bool, last: int = 400, **look: Any) -> Any:
    """last: how many of the newest rows to show."""
    series, names = track.source.series, track.source.names[:MOST]
    rows = len(series.values)
    shown = slice(max(0, rows - last), rows)
    parts = [np.asarray(part).reshape(rows, -1)[shown].T for part in (series.values, *track[:3])]
    x = moments(series.times, rows)[shown]
    panels = [of_track(x, (part[i] for part in parts), track.level, name) for i, name in enumerate(names)]
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
    from prophecy.tables.drawing import matplotlib_figure, plotly_figure

    return plotly_figure(picture, dark) if interactive else matplotlib_figure(picture, dark, width)


def save(picture: Picture, path: Path, dark: bool = False, width: float = 10.0) -> None:
    """PNG or SVG, or one HTML page that can be zoomed and hovered over and needs nothing else, written atomically."""
    from prophecy.tables.drawing import matplotlib_figure, page

    kind, image = path.suffix.lower(), io.BytesIO()
    if kind not in ENDINGS:
        raise ValueError(f"a picture must end in {', '.join(ENDINGS)}, got {path.name!r}; choose one of these")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"folder {str(path.parent)!r} does not exist; create it first")
    if kind == ".html":
        image.write(page(picture).encode())
    else:
        matplotlib_figure(picture, dark, width).savefig(image, format=kind[1:], dpi=DPI)
    _files.write_atomic(path, image.getvalue())


def svg(panel: Panel) -> str:
    """The lines and the widest band of a panel, small."""
    bands = panel.bands[:1]
    numbers = _finite([*(line.y for line in panel.lines), *(end for band in bands for end in (band.lower, band.upper))])
    if not numbers.size:
        return ""
    low, size = numbers.min(), np.ptp(numbers) or 1.0
    places = np.unique(np.concatenate([line.x for line in panel.lines]))

    def path(x: Any, y: Any, joint: str = "M") -> str:
        across = WIDE * np.searchsorted(places, x) / max(1, len(places) - 1)
        down = 4 + (HIGH - 8) * (1 - (y - low) / size)
        there = np.isfinite(down)
        joints = ("L" if k and there[k - 1] else joint for k in np.flatnonzero(there))
        return "".join(f"{mark}{a:.1f} {b:.1f}" for mark, a, b in zip(joints, across[there], down[there], strict=True))

    around = "".join(path(band.x, band.upper) + path(band.x[::-1], band.lower[::-1], "L") + "Z" for band in bands)
    lines = [(path(line.x, line.y), line.role == "forecast") for line in panel.lines]
    parts = [f'<path d="{around}" fill="#AA3377" fill-opacity=".2"/>'] if bands else []
    parts += [f'<path d="{line}" stroke="{"#AA3377" if ahead else "currentColor"}"/>' for line, ahead in lines]
    box = f'width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}"'
    return f'<svg {box} role="img" fill="none">{"".join(parts)}</svg>'


def of_forecasts(title: str, many: Mapping[str, Forecast | Failure]) -> str:
    """The first few series, each with its picture."""
    rows: list[tuple[str, str]] = []
    for key, made in list(many.items())[:LISTED]:
        if isinstance(made, Failure):
            rows.append((key, for_html(made.error)))
            continue
        source = source_of(made)
        names = source.names if not key else (key,)
        rows += [(name, svg(panel)) for name, panel in zip(names, of_forecast(made, source), strict=False)]
    return _listed(title, rows, max(len(many), len(rows)))


def of_streams(title: str, streams: Iterable[tuple[str, Any]], total: int) -> str:
    """Some streams with their recent values.

    >>> of_streams("a fleet", [("k", [1.0, 2.0, 4.0])], 1).count("<path")
    1
    """
    recent = [(key, np.asarray(y, dtype=np.float64)[-RECENT:]) for key, y in islice(streams, LISTED)]
    return _listed(title, [(key, svg(Panel(key, [Line(key, np.arange(len(y)), y)]))) for key, y in recent], total)


def _listed(title: str, pictures: Sequence[tuple[str, str]], total: int) -> str:
    rows = "".join(f"<tr><td>{for_html(name)}</td><td>{picture}</td></tr>" for name, picture in pictures)
    more = f"<tr><td>… and {total - len(pictures):,} more</td><td></td></tr>" if total > len(pictures) else ""
    return f"<p>{for_html(title)}</p><table>{rows}{more}</table>"
