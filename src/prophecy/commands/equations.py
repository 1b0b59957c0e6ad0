"""`prophecy equations`: the differential equations that a file's columns obey."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from prophecy import _files
from prophecy.commands import _options
from prophecy.commands._collect import collect
from prophecy.commands._common import epilog, guarded, say, series_title
from prophecy.commands._table import open_table
from prophecy.dynamics import forecast
from prophecy.dynamics.equations import Equations
from prophecy.frames.names import printable
from prophecy.frames.source import Source

Array = NDArray[np.float64]

PICTURES = (".png", ".svg")
"""Endings of --plot: a field has no page to zoom in."""

EXAMPLES = """
Examples:
  prophecy equations lorenz.csv --joint --dt 0.02
  prophecy equations pendulum.csv --joint --column angle --column speed --plot field.png --errors

With --joint all columns are variables of one system. Derivatives are per unit of a numeric time column; where times are
dates per day, hour, minute or second, the longest that rows are not closer than; per row otherwise; which is printed.
--dt says how much time lies between two rows instead.
"""

UNITS = (("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0), ("second", 1.0))
"""Units of time in which rates of dated rows are given, longest first, in seconds."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="equations", epilog=epilog(EXAMPLES))(equations)


def equations(
    file: _options.File,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="A variable; repeatable. All columns of numbers if not given."),
    ] = None,
    time: _options.Time = None,
    time_format: _options.TimeFormat = None,
    time_zone: _options.TimeZone = None,
    key: _options.Key = None,
    joint: Annotated[
        bool, typer.Option("--joint", help="The columns are variables of one system; needed where there are several.")
    ] = False,
    dt: Annotated[float | None, typer.Option(help="Time between two rows, in the unit wanted.")] = None,
    errors: Annotated[bool, typer.Option("--errors", help="Print the standard error of every coefficient.")] = False,
    context: Annotated[int, typer.Option(min=8, help="Use at most this many of the last rows.")] = 100_000,
    duplicates: _options.Doubled = _options.Duplicates.refuse,
    decimal: _options.Decimal = None,
    header: _options.Header = None,
    plot: Annotated[Path | None, typer.Option(help="Picture of field and data: .png or .svg.")] = None,
) -> None:
    """Print the equations that one trajectory through all rows obeys, where there are some."""
    with guarded("equations"):
        _options.check(level=0.9, out=None, plot=plot, file=file, endings=PICTURES)
        if dt is not None and not (np.isfinite(dt) and dt > 0):
            raise typer.BadParameter(f"--dt must be a positive time, got {dt:g}")
        asked = _options.asked(column, time, key, time_format, decimal, header, time_zone)
        found = collect(open_table(file, asked), context, duplicates is _options.Duplicates.mean)
        say("equations", f"{Path(file).name}: {found.words()}")
        if not joint and len(found.table.roles.values) > 1:
            raise typer.BadParameter(
                f"{', '.join(found.table.roles.values)}: add --joint if they are one system, or choose one --column"
            )
        panels: list[tuple[str, Source, Equations]] = []
        for name, source in found.sources.items():
            title = series_title(name, ", ".join(source.names))
            spacing, unit = _spacing(source, dt)
            answer = forecast(source.series.values, 1).equations(spacing, source.names)
            if answer is None:
                say("equations", f"{title}: no field explains these rows; `prophecy forecast` goes by other models")
                continue
            say("equations", f"{title}: derivatives are per {unit}, {spacing:g} between rows")
            if len(found.sources) > 1:
                print(f"# {printable(title)}")
            print("\n".join(printable(line) for line in answer.lines(errors)))
            panels.append((title, source, answer))
        if plot is not None and panels:
            _files.write_atomic(plot, _drawn(panels, plot.suffix.lower()[1:]))
        if not panels:
            raise typer.Exit(1)


def _spacing(source: Source, asked: float | None) -> tuple[float, str]:
    """Time between two rows and its unit: what was asked for, else that of the times."""
    times = source.series.times
    if asked is not None:
        return asked, "unit of --dt"
    if times is None or len(times.values) < 2:
        return 1.0, "row"
    since = times.values - times.values[0]
    if not times.dates:
        return _slope(since), "unit of the time column"
    seconds = _slope(since / np.timedelta64(1, "s"))
    unit, length = next((each for each in UNITS if each[1] <= seconds), UNITS[-1])
    return seconds / length, unit


def _slope(since: Array) -> float:
    """Time from row to row, by least squares: single distances vary with jitter and the lengths of months."""
    rows = np.arange(len(since)) - (len(since) - 1) / 2
    return float(rows @ since / (rows @ rows))


def _drawn(panels: list[tuple[str, Source, Equations]], kind: str) -> bytes:
    """Slopes of the data beside those of the field, one panel for each variable."""
    from matplotlib.figure import Figure

    most = max(len(source.names) for _, source, _ in panels)
    figure = Figure(figsize=(3.2 * most, 3.2 * len(panels)), layout="constrained")
    axes: Any = figure.subplots(len(panels), most, squeeze=False)
    for row, (title, source, answer) in zip(axes, panels, strict=True):
        values = source.series.values
        slopes = (values[2:] - values[:-2]) / (2 * answer.dt)
        seen = [source.names.index(name) for name in answer.names if name in source.names]
        whole = len(seen) == len(answer.names)
        field = answer(values[1:-1][:, seen]) if whole else None
        for place, panel in enumerate(row):
            panel.set_visible(place < len(source.names))
            if place >= len(source.names):
                continue
            name = source.names[place].replace("$", r"\$")
            if field is not None and place in seen:
                here = field[:, seen.index(place)]
                panel.plot(here, slopes[:, place], ".", markersize=2)
                ends = [float(np.nanmin(here)), float(np.nanmax(here))]
                panel.plot(ends, ends, "k-", linewidth=0.8)
                panel.set_xlabel(f"{name}' of the field")
                panel.set_ylabel(f"{name}' of neighbouring rows")
            else:
                panel.plot(values[:, place])
                panel.set_xlabel("row")
                panel.set_ylabel(name)
        row[0].set_title(title.replace("$", r"\$"), loc="left", fontsize="medium")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=150)
    return buffer.getvalue()
