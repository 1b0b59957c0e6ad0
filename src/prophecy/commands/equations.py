"""`prophecy equations`: the differential equations that a file's columns obey."""

import textwrap
from pathlib import Path

import numpy as np
import typer

from prophecy._arrays import Array
from prophecy.commands import _options
from prophecy.commands._common import say
from prophecy.commands.forecast import read
from prophecy.frames.columns import Hints
from prophecy.frames.names import printable, series_title
from prophecy.frames.source import Source
from prophecy.laws.equations import Equations
from prophecy.tables.pictures import Line, Panel, Picture, save

MOST_POINTS = 2_000  # drawn for each variable
MOST_ROWS = 32  # from a row to that compared with it
SHARE = 0.5  # of the standard deviation that a variable moves in as many rows, in the median of the variables
SUBSTEPS = 8  # of the Runge-Kutta rule in a row: enough for a picture, where a row's step is seldom more than a radian


@_options.command
def equations(
    file: str,
    asked: Hints,
    joint: bool = False,
    dt: float | None = None,
    errors: bool = False,
    context: int = 100_000,
    plot: Path | None = None,
) -> None:
    """Print the differential equations that the rows obey, if there are any.

    Examples:
      prophecy equations lorenz.csv --joint --dt 0.02
      prophecy equations pendulum.csv --joint --column angle --column speed --plot field.png --errors

    With --joint, needed where there are several, all columns are variables of one system. Derivatives are per unit of a
    numeric time column. With dates they are per day, hour, minute or second, whichever is the longest that is no longer
    than a row; without times, per row. The unit is printed. --dt sets the time between two rows instead.
    """
    if dt is not None and not (np.isfinite(dt) and dt > 0):
        raise typer.BadParameter(f"--dt must be a positive time, got {dt:g}")
    found, _ = read(file, asked, context)
    if not joint and len(found.table.roles.values) > 1:
        raise typer.BadParameter(
            f"{', '.join(found.table.roles.values)}: add --joint if they are one system, or choose one --column"
        )
    from prophecy.forecasting import forecast  # the models, when the file has been read

    drawn: list[Panel] = []
    solved = 0
    for name, source in found.sources.items():
        title = series_title(name, ", ".join(source.names))
        spacing, unit = source.spacing() if dt is None else (dt, "unit of --dt")
        answer = forecast(source.series.values, 1).equations(spacing, source.names)
        if answer is None:
            say(f"{title}: no equations fit these rows; `prophecy forecast` uses other models")
            continue
        say(f"{title}: derivatives are per {unit}, {spacing:g} between rows")
        if len(found.sources) > 1:
            print(f"# {printable(title)}")
        print("\n".join(printable(line) for line in answer.lines(errors)))
        drawn += panels(title, unit, source, answer) if plot is not None else []
        solved += 1
    if plot is not None and drawn:
        save(Picture(f"Equations of {Path(file).name}", drawn), plot)
    if not solved:
        raise typer.Exit(1)


def panels(title: str, unit: str, source: Source, answer: Equations) -> list[Panel]:
    """A panel for each variable: mean slopes of the data over those of the field; its rows where it has no equation.

    unit: of the time that rates are per.
    """
    values, names = source.series.values, list(source.names)
    lines = dict(zip(answer.names, answer.lines(), strict=False))  # relations between variables follow
    seen = [names.index(name) for name in answer.names if name in names]
    whole = len(seen) == len(answer.names)
    apart, field, data = slopes(answer, values[:, seen]) if whole else (0, values, values)
    over = f"{title}: slopes of data over those of the field, {'row to row' if apart == 1 else f'over {apart} rows'}"
    made = []
    for place, name in enumerate(names):
        constant = np.nanmin(values[:, place]) == np.nanmax(values[:, place])
        equation = lines.get(name, f"{name} is constant" if constant else f"{name}: no equation")
        equation = textwrap.shorten(equation, 110, placeholder=" …")
        if not whole or place not in seen:
            made.append(Panel(equation, [Line(f"{name}, by row", np.arange(len(values)), values[:, place])]))
            continue
        x, y = field[:, seen.index(place)], data[:, seen.index(place)]
        ends = np.array([np.nanmin(x), np.nanmax(x)])
        dots = Line(f"{over}, per {unit}", x, y, dots=True)
        made.append(Panel(equation, [dots, Line("equal", ends, ends, "forecast")]))
    return made


def slopes(answer: Equations, values: Array) -> tuple[int, Array, Array]:
    """Mean slopes of field and data from rows to later ones, each (points, variables), and how many rows later.

    The field's are those of its path from the row itself, so they are the data's wherever the equations hold, however
    far apart rows are; over several rows, since noise hides the slope from one row to the next of a slow variable.
    """
    spread = np.nanstd(values, axis=0)
    apart = 1
    while apart < min(MOST_ROWS, len(values) // 4):
        moved = np.sqrt(np.nanmean((values[apart:] - values[:-apart]) ** 2, axis=0))
        if np.median(moved / np.where(spread > 0, spread, 1.0)) >= SHARE:
            break
        apart += 1
    first = np.unique(np.linspace(0, len(values) - 1 - apart, MOST_POINTS).astype(int))
    state, step = values[first], answer.dt / SUBSTEPS
    with np.errstate(all="ignore"):  # a path may leave: its point is not drawn
        for _ in range(SUBSTEPS * apart):
            a = answer(state)
            b = answer(state + step / 2 * a)
            c = answer(state + step / 2 * b)
            state = state + step / 6 * (a + 2 * b + 2 * c + answer(state + step * c))
    path = np.where(np.isfinite(state), state, np.nan)
    time = apart * answer.dt
    return apart, (path - values[first]) / time, (values[first + apart] - values[first]) / time
