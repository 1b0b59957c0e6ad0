"""`prophecy equations`: the differential equations that a file's columns obey."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from prophecy.commands import _options
from prophecy.commands._common import guarded, say
from prophecy.commands.forecast import read
from prophecy.frames.columns import Hints
from prophecy.frames.names import printable, series_title

EXAMPLES = """
Examples:
  prophecy equations lorenz.csv --joint --dt 0.02
  prophecy equations pendulum.csv --joint --column angle --column speed --errors

With --joint all columns are variables of one system. Derivatives are per unit of a numeric time column. With dates they
are per day, hour, minute or second, whichever is the longest that is no longer than a row; without times, per row. The
unit is printed. --dt sets the time between two rows instead. `prophecy forecast --joint --plot`
draws what they predict.
"""


@_options.reading
def equations(
    file: _options.File,
    asked: Hints,
    joint: Annotated[
        bool, typer.Option("--joint", help="The columns are variables of one system; needed where there are several.")
    ] = False,
    dt: Annotated[float | None, typer.Option(help="Time between two rows, in the unit wanted.")] = None,
    errors: Annotated[bool, typer.Option("--errors", help="Print the standard error of every coefficient.")] = False,
    context: Annotated[int, typer.Option(min=8, help="Use at most this many of the last rows.")] = 100_000,
) -> None:
    """Print the differential equations that the rows obey, if there are any."""
    with guarded("equations"):
        _options.check(level=0.9, out=None, plot=None, file=file)
        if dt is not None and not (np.isfinite(dt) and dt > 0):
            raise typer.BadParameter(f"--dt must be a positive time, got {dt:g}")
        found, _ = read("equations", file, asked, context)
        if not joint and len(found.table.roles.values) > 1:
            raise typer.BadParameter(
                f"{', '.join(found.table.roles.values)}: add --joint if they are one system, or choose one --column"
            )
        from prophecy.forecasting import forecast  # the models, when the file has been read

        solved = 0
        for name, source in found.sources.items():
            title = series_title(name, ", ".join(source.names))
            spacing, unit = source.spacing() if dt is None else (dt, "unit of --dt")
            answer = forecast(source.series.values, 1).equations(spacing, source.names)
            if answer is None:
                say("equations", f"{title}: no equations fit these rows; `prophecy forecast` uses other models")
                continue
            say("equations", f"{title}: derivatives are per {unit}, {spacing:g} between rows")
            if len(found.sources) > 1:
                print(f"# {printable(title)}")
            print("\n".join(printable(line) for line in answer.lines(errors)))
            solved += 1
        if not solved:
            raise typer.Exit(1)
