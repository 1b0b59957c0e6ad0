"""`prophecy anomalies`: what is unusual in a file, row by row and as events."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray

from prophecy.anomalies import Events, flagged
from prophecy.commands import _options
from prophecy.commands._common import guarded, say
from prophecy.commands._journal import Journal, keeping
from prophecy.commands._show import console, show
from prophecy.commands._track import RowModel, RowPredictions, Series, follow, words
from prophecy.frames.columns import Hints
from prophecy.frames.table import Table, open_table
from prophecy.frames.times import Times
from prophecy.tables.pictures import Line, Panel, Picture, save

Array: TypeAlias = NDArray[np.float64]

PARTS = ("mean", "lower", "upper", "score", "alarm", "flagged", "event")
MOST = 20  # events listed: a screen of them
DRAWN = 3  # series in the picture, two panels each
SHADED = 200  # events shaded in a panel: more are a texture, and slow to draw
POINTS = 4096  # of a long series, that many are drawn, and all flagged ones up to as many again

EXAMPLES = """
Examples:
  prophecy anomalies sensor.csv --plot sensor.html
  prophecy anomalies machines.parquet --key machine --rate 1e-4 --out scored.csv

A row's score is -log10 of the probability of an error at least as large as its own, judged by the errors before
it; its alarm says how unusual it makes the recent stretch, by value, change, level and noise. A row is flagged where
either is rarer than half of --rate: where nothing strange happens, at most that share of rows is flagged. Flagged
rows near each other are one event, with its beginning, end and kind: spike, shift, change of noise, flat line, lost
season. Of files beyond 4 MB the answers so far are kept in OUT.part; after Ctrl-C, --resume goes on with the rest.
"""


class Watch(Series):
    """One series: its model, its events, and enough of the rest to draw it."""

    def __init__(self, title: str, bank: RowModel, rate: float) -> None:
        super().__init__(title, bank)
        self.count, self.events = 0, Events()
        self.when: dict[int, str] = {}
        self._rate, self._threshold = rate, -math.log10(rate / 2)
        self._stride = 1
        self._kept: list[tuple[int, Any, float, float]] = []
        self._flagged: list[tuple[int, Any, float, float]] = []

    def note(self, values: Array, times: Times | None, said: RowPredictions) -> dict[str, Array]:
        """The events of these rows, and those that are drawn."""
        flags = flagged(said.score, said.alarm, self._rate)
        self.count += int(flags.sum())
        axis = np.arange(self.rows, self.rows + len(values)) if times is None else times.wall()
        parts = (values, said.residual, said.lower, said.upper, np.nan_to_num(said.score), np.nan_to_num(said.alarm))
        numbers = self.events.add(np.column_stack(parts), self.rows, flags, self.bank.seasons())
        for k in np.flatnonzero(flags)[: max(0, POINTS - len(self._flagged))].tolist():
            self.when[self.rows + k] = times.text(k) if times is not None else f"{self.rows + k}"
            self._flagged.append((self.rows + k, axis[k], float(values[k]), float(said.score[k])))
        self._thin(values, said.score, axis)
        return {**said._asdict(), "flagged": flags.astype(np.float64), "event": numbers}

    def _thin(self, values: Array, score: Array, axis: NDArray[Any]) -> None:
        """Keep every so many-th row, fewer as the series grows."""
        while (self.rows + len(values)) // self._stride > POINTS:
            self._stride *= 2
        self._kept = [point for point in self._kept if point[0] % self._stride == 0]
        for k in range(-self.rows % self._stride, len(values), self._stride):
            self._kept.append((self.rows + k, axis[k], float(values[k]), float(score[k])))

    def panels(self) -> list[Panel]:
        """The series as kept, with every flagged row in its place, and the score of each row below it."""
        points = {row: (x, value, score) for row, x, value, score in [*self._kept, *self._flagged]}
        rows = sorted(points)
        x = np.array([points[row][0] for row in rows])
        values, scores = (np.array([points[row][part] for row in rows], dtype=np.float64) for part in (1, 2))
        flags = np.isin(rows, [row for row, *_ in self._flagged])
        ceiling = 4 * self._threshold  # what lies beyond is beyond doubt
        return [
            Panel(
                self.title,
                [Line("observed", x, values)],
                marks=self._marks(rows, x, values, flags),
                spans=self._spans(rows, x),
            ),
            Panel(
                f"score, cut at {ceiling:.0f}" if np.nanmax(scores, initial=0.0) > ceiling else "score",
                [Line("score", x, np.minimum(scores, ceiling), listed=False)],
                height=0.45,
                threshold=self._threshold,
            ),
        ]

    def _spans(self, rows: list[int], x: NDArray[Any]) -> list[tuple[Any, Any]]:
        """Where events of more than one row begin and end, as near as rows are drawn."""
        ends = [(event.first, event.last) for event in self.events.found if event.last > event.first]
        places = [np.searchsorted(rows, pair).clip(0, len(rows) - 1) for pair in ends[:SHADED]]
        return [(x[first], x[last]) for first, last in places]

    def _marks(self, rows: list[int], x: NDArray[Any], values: Array, flags: NDArray[np.bool_]) -> list[Line]:
        """Flagged rows, named by the kind of their event."""
        kind = np.full(len(rows), "flagged", dtype=object)
        for event in self.events.found:
            kind[(np.array(rows) >= event.first) & (np.array(rows) <= event.last)] = event.kind
        return [
            Line(name, x[flags & (kind == name)], values[flags & (kind == name)], "flagged", True)
            for name in dict.fromkeys(kind[flags].tolist())
        ]


@_options.reading
def anomalies(
    file: _options.File,
    asked: Hints,
    rate: Annotated[float, typer.Option(help="Share of ordinary rows flagged by mistake.")] = 1e-3,
    irregular: _options.Irregular = False,
    out: _options.Out = None,
    resume: _options.Resume = False,
    plot: _options.Plot = None,
) -> None:
    """Find what is unusual in a file: spikes, shifts, changes of noise, flat lines, lost seasons."""
    if not 0 < rate < 1:
        raise typer.BadParameter(f"--rate must lie between 0 and 1, got {rate:g}")
    with guarded("anomalies"):
        _options.check(0.9, out, plot, file, resume)
        table = open_table(file, asked)
        _options.check_irregular(irregular, 1, table)
        made = {"rate": rate, "irregular": irregular, "duplicates": asked.duplicates}
        with keeping("anomalies", file, table.size, asked, out, resume, **made) as journal:
            watches = _watch(table, rate, irregular, out, asked.duplicates == "mean", journal)
        counted = sum(watch.rows for watch in watches) // len(table.roles.values)
        say("anomalies", f"{Path(file).name}: {words([watch.bank.clock for watch in watches], counted, table)}")
        for watch in watches:
            watch.events.finish(watch.bank.seasons())
        if plot is not None:
            ranked = sorted(watches, key=lambda watch: -watch.count)[:DRAWN]
            panels = [panel for watch in ranked for panel in watch.panels()]
            save(Picture(f"Anomalies in {Path(file).name}", panels, [], _rows(watches)), plot)
        _show(watches)


def _watch(
    table: Table, rate: float, irregular: bool, out: Path | None, mean: bool, journal: Journal | None
) -> list[Watch]:
    def made(title: str) -> Watch:
        return Watch(title, RowModel(1 - rate, 1, irregular, journal, title), rate)

    return follow("anomalies", table, made, PARTS, out, mean)


def _rows(watches: list[Watch]) -> list[list[str]]:
    """The most unusual events of all series in the order they were noticed in, header first. `noticed`: the time of the
    first row that was flagged (a flat line may have begun before); rows count from 0, without the header."""
    lines = [["event", "series", "rows", "noticed", "kind", "what happened"]]
    events = [(watch, event) for watch in watches for event in watch.events.found]
    ranked = sorted(events, key=lambda pair: (-pair[1].score, -pair[1].alarm))[:MOST]
    for watch, event in sorted(ranked, key=lambda pair: (pair[0].title, pair[1].number)):
        rows = f"{event.first}" if event.first == event.last else f"{event.first} to {event.last}"
        noticed = next((row for row in range(event.first, event.row + 1) if row in watch.when), event.row)
        when = watch.when.get(noticed, f"{noticed}")
        lines.append([f"{event.number}", watch.title, rows, when, event.kind, event.sentence])
    return lines


def _show(watches: list[Watch]) -> None:
    found, rows = sum(watch.count for watch in watches), sum(watch.rows for watch in watches)
    events = sum(len(watch.events.found) for watch in watches)
    listed = f"; the {MOST} most unusual:" if events > MOST else ""
    of = f"{rows:,} row{'' if rows == 1 else 's'}"
    console().print(f"{found} of {of} flagged, in {events} event{'' if events == 1 else 's'}{listed}")
    lines = _rows(watches)
    if len(lines) > 1:
        show(lines, left=(1, 3, 4, 5))
