"""`prophecy forecast`: what a file's series will do next."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as RichTable

from prophecy._forecast import Forecast
from prophecy.adapters._ahead import SHORTEST, ahead
from prophecy.adaptive import Prophecy
from prophecy.commands import _io, _options, _plots, _times
from prophecy.commands._common import appearing, guarded, telling
from prophecy.commands._series import Tails, read_tails, remarking, title
from prophecy.dynamics import forecast as solve

Array: TypeAlias = NDArray[np.float64]

EXAMPLES = """Examples:

\b
  prophecy forecast power.csv --horizon 48 --plot power.png
  prophecy forecast sales.parquet --group shop --horizon 12 --out next.csv
  prophecy forecast lorenz.npy --joint --horizon 300 --plot lorenz.html
"""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="forecast", epilog=EXAMPLES)(forecast)


def forecast(
    file: _options.File,
    horizon: Annotated[int, typer.Option("--horizon", "-H", min=1, help="How many rows ahead.")],
    column: _options.Columns = None,
    time: _options.Time = None,
    group: _options.Group = None,
    level: _options.Level = 0.9,
    joint: Annotated[bool, typer.Option("--joint", help="All columns are variables of one system.")] = False,
    context: Annotated[int, typer.Option(min=8, help="Rows looked back at, at most.")] = 100_000,
    out: _options.Out = None,
    plot: _options.Plot = None,
) -> None:
    """Forecast the rows after the last one, with intervals, from the file alone."""
    with guarded("forecast"):
        _options.check(level=level, out=out, plot=plot, file=file)
        table = _io.open_table(file, column or (), time, group)
        tails = read_tails(remarking(table, "forecast"), context)
        answers = {key: _answer(tails, key, horizon, level, joint) for key in tails.groups}
        if out is not None:
            _write(out, tails, answers, horizon)
        if plot is not None:
            _draw(plot, tails, answers, level, file)
        _print(tails, answers, out)


def _answer(tails: Tails, key: str, horizon: int, level: float, joint: bool) -> dict[str, Any]:
    """A forecast per column (the joint one cut into columns)."""
    names, values = tails.table.roles.values, tails.values(key)
    if not joint or len(names) == 1:
        return {name: _single(values[:, i], horizon, level, title(key, name)) for i, name in enumerate(names)}
    whole = solve(values, horizon, level)
    return {name: _variable(whole, i) for i, name in enumerate(names)}


def _single(values: Array, horizon: int, level: float, name: str) -> Forecast:
    """One series; a few values are enough for the bank to say something, if not for dynamics."""
    try:
        if len(values) < SHORTEST:
            model = Prophecy()
            model.observe(values)
            return ahead(model, horizon, level)
        return solve(values, horizon, level)
    except ValueError as error:
        raise ValueError(f"series {name}: {error}") from None


def _variable(whole: Any, index: int) -> Any:
    parts = (np.asarray(part)[:, index] for part in (whole.mean, whole.lower, whole.upper))
    return type(whole)(*parts, level=whole.level, method=whole.method, notes=whole.notes)


def _write(out: Path, tails: Tails, answers: dict[str, dict[str, Any]], horizon: int) -> None:
    import pyarrow as pa

    roles = tails.table.roles
    with appearing(out) as temporary:
        writer = _io.Writer(temporary, out)
        for key, columns in answers.items():
            made: dict[str, Any] = {}
            if roles.group is not None:
                made[roles.group] = pa.array([key] * horizon)
            made[roles.time or "step"] = pa.array(_times.after(tails.times(key), horizon))
            for name, answer in columns.items():
                start = "" if len(columns) == 1 else f"{name}_"
                made |= {
                    f"{start}prediction": answer.mean,
                    f"{start}lower": answer.lower,
                    f"{start}upper": answer.upper,
                }
            writer.write(pa.RecordBatch.from_arrays([pa.array(value) for value in made.values()], names=list(made)))
        writer.close()


def _draw(plot: Path, tails: Tails, answers: dict[str, dict[str, Any]], level: float, file: str) -> None:
    from prophecy.reproduce import style

    panels = []
    for key, columns in answers.items():
        values, axis = tails.values(key), _times.axis(tails.times(key), tails.length(key))
        for i, (name, answer) in enumerate(columns.items()):
            shown = slice(-min(len(values), max(100, 3 * len(answer.mean))), None)
            ahead = _times.extended(axis, len(answer.mean))
            panels.append(
                _plots.Panel(
                    title(key, name), axis[shown], values[shown, i], answer.mean, answer.lower, answer.upper, ahead
                )
            )
    with style.use():
        figure = _plots.forecasts(panels, level)
        notes = [
            f"{key} {name}: {answer.explain()}" for key, columns in answers.items() for name, answer in columns.items()
        ]
        _plots.save(figure, plot, f"Forecast of {Path(file).name}", notes[: _plots.PANELS])


def _print(tails: Tails, answers: dict[str, dict[str, Any]], out: Path | None) -> None:
    """A table of what was forecast and how; on stdout, since it is the answer when no file was asked for."""
    shown = RichTable(box=None, pad_edge=False)
    for heading in ("series", "rows", "method", "first", "last"):
        shown.add_column(heading, justify="left" if heading in ("series", "method") else "right")
    for key, columns in list(answers.items())[:20]:
        for name, answer in columns.items():
            first, last = (_text(*end) for end in _ends(answer))
            shown.add_row(title(key, name), str(tails.length(key)), answer.method, first, last)
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(shown)
    if len(answers) > 20:
        console.print(f"… and {len(answers) - 20} more groups" + ("" if out else "; write them with --out"))


def _text(mean: float, lower: float, upper: float) -> str:
    digits = telling(lower, upper)
    return f"{mean:.{digits}g} [{lower:.{digits}g}, {upper:.{digits}g}]"


def _ends(answer: Any) -> list[tuple[float, float, float]]:
    rows = list(zip(answer.mean, answer.lower, answer.upper, strict=True))
    return [rows[0], rows[-1]]
