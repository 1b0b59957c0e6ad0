"""Forecasts of many series on their way to a file: noted as they are made, written in the order of the input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy._forecast import Forecast
from prophecy.commands._journal import Journal
from prophecy.commands._write import as_table, free_names, sink
from prophecy.frames.roles import Roles
from prophecy.frames.source import Source


def note(journal: Journal, title: str, made: Forecast, names: Sequence[str], quantiles: Sequence[float]) -> None:
    """A finished series, all of its columns."""
    parts: dict[str, Any] = {"point": made.point, "lower": made.lower, "upper": made.upper}
    parts |= {f"q{q:g}": made.quantile(float(q)) for q in quantiles}
    rows = np.stack([np.asarray(values, np.float64).reshape(-1, len(names)) for values in parts.values()])
    journal.add(title, rows, {"names": list(names), "parts": list(parts)})


def write(journal: Journal, out: Path, roles: Roles, units: dict[str, Source], horizon: int) -> None:
    """The file that was asked for; series of one key stand beside each other."""
    with sink(out) as batch:
        for _, some in groupby(units.items(), key=lambda unit: unit[1].key):
            series = list(some)
            columns = _columns(journal, [title for title, _ in series], horizon)
            if columns and batch is not None:
                batch(as_table(_table(columns, roles, series[0][1], horizon)))


def _columns(journal: Journal, titles: Iterable[str], horizon: int) -> dict[str, dict[str, NDArray[np.float64]]]:
    """The parts of every column of some series; none of those that failed."""
    found: dict[str, dict[str, NDArray[np.float64]]] = {}
    for kept in filter(None, map(journal.first, titles)):
        names, parts = (kept.about.get(name, []) for name in ("names", "parts"))
        if len(kept.rows) != len(parts) * horizon * len(names):
            raise ValueError(f"{journal.path} does not fit the input; leave out --resume to start afresh")
        rows = kept.rows.reshape(len(parts), horizon, len(names))
        found |= {name: dict(zip(parts, rows[:, :, i], strict=True)) for i, name in enumerate(names)}
    return found


def _table(columns: dict[str, Any], roles: Roles, source: Source, horizon: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if roles.key is not None:
        made[roles.key] = [str(source.key)] * horizon
    ahead = source.series.after(horizon)
    if roles.clock is None:
        made["step"] = list(range(1, horizon + 1))
    elif ahead is None:
        made |= {name: [None] * horizon for name in roles.clock.columns}
    else:
        made |= roles.clock.write(ahead)
    names = free_names(list(next(iter(columns.values()))), roles.values, list(made))
    nothing = np.full(horizon, np.nan)
    for (column, part), name in names.items():
        values = columns[column][part] if column in columns else nothing
        made[name] = np.where(np.isfinite(values), values, np.nan)
    return made
