"""The picture of `prophecy equations`: how fast the data move beside how fast the field moves them."""

from __future__ import annotations

import io
import textwrap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.frames.names import for_matplotlib
from prophecy.frames.source import Source
from prophecy.laws.equations import Equations

Array = NDArray[np.float64]

MOST_POINTS = 2_000  # drawn for each variable
MOST_ROWS = 32  # from a row to that compared with it
SHARE = 0.5  # of the standard deviation that a variable moves in as many rows, in the median of the variables
SUBSTEPS = (
    8  # of the Runge-Kutta rule in a row: a picture's width is three digits, a row's step seldom more than a radian
)


class Panel(NamedTuple):
    """One system of a file: its title, the unit of time of its rates, its rows and its equations."""

    title: str
    unit: str
    source: Source
    equations: Equations


def drawn(systems: list[Panel], kind: str) -> bytes:
    """A picture in a format of matplotlib: one row for each system, one panel for each variable."""
    from matplotlib.figure import Figure

    most = max(len(system.source.names) for system in systems)
    figure = Figure(figsize=(3.2 * most, 3.5 * len(systems)), layout="constrained")
    parts: Any = figure.subfigures(len(systems), 1, squeeze=False)
    for part, system in zip(parts[:, 0], systems, strict=True):
        _system(part, system, part.subplots(1, most, squeeze=False)[0])
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=150)
    return buffer.getvalue()


def _system(part: Any, system: Panel, panels: Any) -> None:
    title, unit, source, answer = system
    values = source.series.values
    lines = dict(zip(answer.names, answer.lines(), strict=False))  # relations between variables follow
    seen = [source.names.index(name) for name in answer.names if name in source.names]
    whole = len(seen) == len(answer.names)
    apart, field, data = slopes(answer, values[:, seen]) if whole else (0, values, values)
    over = "from row to row" if apart == 1 else f"over {apart} rows"
    said = f"mean slopes {over}, per {unit}" if whole else "the rows; the field has variables that they do not hold"
    part.suptitle(for_matplotlib(f"{textwrap.shorten(title, 60, placeholder=' …')}: {said}"), fontsize="small")
    for place, panel in enumerate(panels):
        panel.set_visible(place < len(source.names))
        if place >= len(source.names):
            continue
        name = source.names[place]
        constant = np.nanmin(values[:, place]) == np.nanmax(values[:, place])
        equation = lines.get(name, f"{name} is constant" if constant else f"{name}: no equation")
        if whole and place in seen:
            here = seen.index(place)
            panel.plot(field[:, here], data[:, here], ".", markersize=2)
            ends = [float(np.nanmin(field[:, here])), float(np.nanmax(field[:, here]))]
            panel.plot(ends, ends, "k-", linewidth=0.8)
            panel.set_xlabel("field", fontsize="small")
            panel.set_ylabel("data", fontsize="small")
        else:
            panel.plot(values[:, place])
            panel.set_xlabel("row", fontsize="small")
            panel.set_ylabel(for_matplotlib(name), fontsize="small")
        wrapped = textwrap.wrap(textwrap.shorten(equation, 160, placeholder=" …"), 44)
        panel.set_title("\n".join(map(for_matplotlib, wrapped)), loc="left", fontsize="x-small")


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
