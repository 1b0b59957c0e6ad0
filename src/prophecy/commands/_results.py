"""Forecasts of many series on their way to a file: written as they are made, kept through Ctrl-C, gone on with later.

Finished series are lines of JSON in `OUT.part`; when all are there they become OUT, in the order of the input.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from prophecy import _files
from prophecy._forecast import Forecast
from prophecy.commands._parts import check_plan, part_of
from prophecy.commands._write import Writer, as_batch, free_names, output_kind
from prophecy.frames.roles import Roles
from prophecy.frames.source import Source


class Results:
    """plan: what is asked, as JSON; a part left by another plan is not gone on with."""

    def __init__(self, out: Path, plan: dict[str, Any], resume: bool) -> None:
        self.out = out
        self.path = part_of(out)
        self.done: set[str] = set()
        if resume and self.path.exists():
            self._go_on(plan)
        else:
            self.path.write_text(json.dumps(plan) + "\n")
        self._file = self.path.open("a", encoding="utf-8")

    def _go_on(self, plan: dict[str, Any]) -> None:
        lines = self.path.read_bytes().split(b"\n")[:-1]  # what follows the last line break was cut off
        try:
            kept = json.loads(lines[0])
        except (IndexError, ValueError):
            raise ValueError(f"{self.path} is no part of a forecast; delete it, or leave out --resume") from None
        check_plan(self.path, kept, plan)
        good = [lines[0]]
        for line in lines[1:]:
            try:
                self.done.add(json.loads(line)["title"])
            except (ValueError, KeyError, TypeError):
                break  # a power cut: from here on it is done again
            good.append(line)
        self.path.write_bytes(b"\n".join(good) + b"\n")

    def add(self, title: str, key: str, made: Forecast, names: Sequence[str], quantiles: Sequence[float]) -> None:
        """Note a finished series, all of its columns."""
        parts = {"point": made.point, "lower": made.lower, "upper": made.upper}
        parts |= {f"q{q:g}": made.quantile(float(q)) for q in quantiles}
        columns = {}
        for i, name in enumerate(names):
            columns[name] = {
                part: [float(v) if np.isfinite(v) else None for v in np.asarray(values).reshape(-1, len(names))[:, i]]
                for part, values in parts.items()
            }
        self._file.write(json.dumps({"title": title, "key": key, "columns": columns}) + "\n")
        self._file.flush()

    def _rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Key and columns, the series of one key together."""
        with self.path.open(encoding="utf-8") as file:
            next(file)
            key: str | None = None
            columns: dict[str, Any] = {}
            for line in file:
                row = json.loads(line)
                if columns and row["key"] != key:
                    yield str(key), columns
                    columns = {}
                key = row["key"]
                columns |= row["columns"]
            if columns:
                yield str(key), columns

    def finish(self, roles: Roles, sources: dict[str, Source], horizon: int) -> None:
        """Turn the parts into the file that was asked for."""
        self._file.close()
        with _files.replacing(self.out) as temporary:
            writer = Writer(temporary, output_kind(self.out))
            for key, columns in self._rows():
                writer.write(as_batch(self._table(key, columns, roles, sources[key], horizon)))
            writer.close()
        os.unlink(self.path)

    def _table(self, key: str, columns: dict[str, Any], roles: Roles, source: Source, horizon: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if roles.key is not None:
            made[roles.key] = [key] * horizon
        ahead = source.series.after(horizon)
        if roles.clock is None:
            made["step"] = list(range(1, horizon + 1))
        elif ahead is None:
            made |= {name: [None] * horizon for name in roles.clock.columns}
        else:
            made |= roles.clock.write(ahead)
        parts = list(next(iter(columns.values())))
        names = free_names(parts, roles.values, list(made))
        nothing = np.full(horizon, np.nan)
        for (column, part), name in names.items():
            found = columns.get(column)
            made[name] = nothing if found is None else np.array([np.nan if v is None else v for v in found[part]])
        return made

    def close(self) -> None:
        self._file.close()
