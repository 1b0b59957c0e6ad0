"""What a picture shows, before anyone draws it: panels of lines, bands and marks over time or rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prophecy._forecast import Forecast
from prophecy.anomalies.kinds import Kind
from prophecy.frames.source import Source
from prophecy.frames.times import Times

if TYPE_CHECKING:
    from prophecy.tables.backtesting import Backtest

Array = NDArray[np.float64]

SHAPES: dict[str, tuple[str, str]] = {
    Kind.SPIKE: ("o", "circle"),
    Kind.SHIFT: ("s", "square"),
    Kind.NOISE: ("^", "triangle-up"),
    Kind.FLAT_LINE: ("D", "diamond"),
    Kind.LOST_SEASON: ("P", "cross"),
}
"""Flagged rows by what happened, in matplotlib and in Plotly: shapes, which print and colour blindness leave apart."""

INNER = 0.5  # level of the darker band inside the interval: half of all values
PAST = 4  # rows of history drawn for each row ahead
LEAST = 120  # rows of history drawn at least, where there are that many
MOST = 6  # panels drawn: a picture of more is a texture


@dataclass(frozen=True)
class Line:
    """role: observed, forecast or rival; `dots` marks every value instead of joining them; `listed`: in the legend."""

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


@dataclass(frozen=True)
class Panel:
    """One set of axes. now: where the past ends. bars: names and lengths, in place of lines. spans: stretches of the
    axis, first and last, that are shaded."""

    title: str
    lines: Sequence[Line] = ()
    bands: Sequence[Band] = ()
    marks: Sequence[Line] = ()
    now: Any = None
    bars: Sequence[tuple[str, float]] = ()
    height: float = 1.0
    log: bool = False
    threshold: float | None = field(default=None)  # where a horizontal line is drawn
    spans: Sequence[tuple[Any, Any]] = ()


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
    """The past, the mean and its fan, a panel for each variable."""
    mean = np.asarray(made.point, dtype=np.float64)
    columns = mean.reshape(len(mean), -1)
    rows = len(source.series.values)
    shown = min(rows, max(LEAST, PAST * len(mean)) if history is None else history)
    after = source.series.after(len(mean))
    # A single row has no step: nothing ahead has a date then, and rows are counted.
    past = moments(None if after is None else source.series.times, rows)[rows - shown :]
    ahead = after.wall() if after is not None else np.arange(rows, rows + len(mean))
    bands = [(f"{100 * made.level:g} %", made.lower, made.upper, False)]
    if made.level > INNER + 0.1:
        low, high = made.quantile(np.array([0.5 - INNER / 2, 0.5 + INNER / 2]))
        bands.append((f"{100 * INNER:g} %", low, high, True))
    panels = []
    for i in range(min(columns.shape[1], MOST)):
        # Lines and bands begin at the last value seen: nothing is uncertain there, and the eye can follow.
        start = source.series.values[-1:, i] if rows else np.empty(0)
        joined = len(start) == 1 and bool(np.isfinite(start[0]))
        x = np.concatenate([past[-1:], ahead]) if joined else ahead
        start = start if joined else np.empty(0)
        name = " · ".join(
            part for part in (title, source.names[i] if columns.shape[1] > 1 or not title else "") if part
        )
        panels.append(
            Panel(
                name,
                [
                    Line("observed", past, source.series.values[rows - shown :, i]),
                    Line("forecast", x, np.concatenate([start, columns[:, i]]), "forecast"),
                ],
                [
                    Band(label, x, _joined(start, low, i), _joined(start, high, i), inner)
                    for label, low, high, inner in bands
                ],
                now=past[-1] if len(past) else None,
            )
        )
    return panels


def of_forecasts(
    many: Mapping[str, Forecast], sources: Mapping[str, Source], history: int | None = None
) -> list[Panel]:
    """The first few series below each other."""
    panels: list[Panel] = []
    for name, made in many.items():
        panels += of_forecast(made, sources[name], name, history)
        if len(panels) >= MOST:
            break
    return panels[:MOST]


def of_backtest(result: Backtest) -> list[Panel]:
    """The first series with what was forecast in every fold, and every model's MASE (the MAE where it has none)."""
    source, horizon = result.source, result.horizon
    rows = len(source.series.values)
    shown = max(0, result.cuts[0] - max(LEAST, PAST * horizon))
    axis = moments(source.series.times, rows)
    lines = [Line("observed", axis[shown:], source.series.values[shown:, 0])]
    bands = []
    for fold, cut in enumerate(result.cuts):
        for model in result.models:
            made = result.paths.get((model, fold))
            if made is None or (model != result.models[0] and model != _best_rival(result)):
                continue
            x = axis[cut : cut + horizon]
            role = "forecast" if model == result.models[0] else "rival"
            lines.append(Line(model, x, _column(made.point, 0), role))
            if role == "forecast":
                bands.append(Band(f"{100 * result.level:g} %", x, _column(made.lower, 0), _column(made.upper, 0)))
    scores = result.overall()
    measure = "mase" if all(np.isfinite(row["mase"]) for row in scores.values()) else "mae"
    bars = [(model, row[measure]) for model, row in scores.items()]
    title = {"mase": "mean absolute scaled error (less is better)", "mae": "mean absolute error (less is better)"}[
        measure
    ]
    return [Panel(source.names[0], lines, bands), Panel(title, bars=bars, height=0.22 * len(bars))]


def _best_rival(result: Backtest) -> str | None:
    scores = {model: row["mae"] for model, row in result.overall().items() if model != result.models[0]}
    known = {model: mae for model, mae in scores.items() if np.isfinite(mae)}
    return min(known, key=lambda model: known[model]) if known else None


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
    return Panel(
        title,
        [Line("predicted before seen", x, mean, "forecast"), Line("observed", x, truth, dots=len(x) <= 400)],
        [Band(f"{100 * level:g} %", x, lower, upper)],
        marks,
    )


def limits(panel: Panel) -> tuple[float, float] | None:
    """Where the vertical axis should end: an interval wider than everything it belongs to must not set the scale."""
    seen = np.concatenate([line.y[np.isfinite(line.y)] for line in (*panel.lines, *panel.marks)] or [np.empty(0)])
    if not seen.size or np.ptp(seen) == 0 or panel.log:
        return None
    low, high, size = seen.min(), seen.max(), np.ptp(seen)
    ends = [(band.lower[np.isfinite(band.lower)], band.upper[np.isfinite(band.upper)]) for band in panel.bands]
    floor = min([low, *(part.min() for part, _ in ends if part.size)])
    ceiling = max([high, *(part.max() for _, part in ends if part.size)])
    return float(max(floor, low - size) - 0.04 * size), float(min(ceiling, high + size) + 0.04 * size)


def _column(values: Any, i: int) -> Array:
    array = np.asarray(values, dtype=np.float64)
    return np.asarray(array if array.ndim == 1 else array[:, i])


def _joined(start: Array, values: Any, i: int) -> Array:
    return np.concatenate([start, _column(values, i)])
