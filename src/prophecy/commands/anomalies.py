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
from prophecy.commands._common import console, guarded, say, show
from prophecy.commands._track import POINTS, RowModel, RowPredictions, Series, Thinned, follow, words
from prophecy.frames.columns import Hints
from prophecy.frames.table import Table, open_table
from prophecy.frames.times import Times
from prophecy.tables.pictures import Line, Panel, Picture, save

Array: TypeAlias = NDArray[np.float64]

PARTS = ("point", "lower", "upper", "score", "alarm", "flagged", "event")
MOST = 20  # events listed: a screen of them
DRAWN = 3  # series in the picture, two panels each
SHADED = 200  # events shaded in a panel: more are a texture, and slow to draw

EXAMPLES = """
Examples:
  prophecy anomalies sensor.csv --plot sensor.html
  prophecy anomalies machines.parquet --key machine --rate 1e-4 --out scored.csv

A row's score is -log10 of the probability of an error at least as large as its own, judged by earlier errors. Its
alarm says how unusual the latest rows are: their values, changes, level and noise. A row is flagged where either is
rarer than half of --rate, so of ordinary rows at most that share is flagged. Flagged rows near each other are one
event, with a beginning, an end and a kind: spike, shift, change of noise, flat line, lost season.
"""


class Watch(Series):
    """One series: its model, its events, and enough of the rest to draw it."""

    def __init__(self, title: str, bank: RowModel, rate: float) -> None:
        super().__init__(title, bank)
        self.count, self.events = 0, Events()
        self.when: dict[int, str] = {}
        self._rate, self._threshold = rate, -math.log10(rate / 2)
        self._kept = Thinned()
        self._flagged: dict[int, tuple[Any, float, float]] = {}

    def note(self, values: Array, times: Times | None, axis: NDArray[Any], said: RowPredictions) -> dict[str, Array]:
        """The events of these rows, and those that are drawn."""
        flags = flagged(said.score, said.alarm, self._rate)
        self.count += int(flags.sum())
        parts = (values, said.residual, said.lower, said.upper, np.nan_to_num(said.score), np.nan_to_num(said.alarm))
        numbers = self.events.add(np.column_stack(parts), self.rows, flags, self.bank.seasons())
        for k in np.flatnonzero(flags)[: max(0, POINTS - len(self._flagged))].tolist():
            self.when[self.rows + k] = times.text(k) if times is not None else f"{self.rows + k}"
            self._flagged[self.rows + k] = (axis[k], float(values[k]), float(said.score[k]))
        self._kept.add(axis, values, said.score)
        return {**said._asdict(), "flagged": flags.astype(np.float64), "event": numbers}

    def panels(self) -> list[Panel]:
        """The series as kept, with every flagged row in its place, and the score of each row below it."""
        kept = zip(self._kept.rows.tolist(), zip(*self._kept.columns, strict=True), strict=True)
        points = dict(sorted({**dict(kept), **self._flagged}.items()))
        rows, (x, values, scores) = np.array(list(points)), map(np.array, zip(*points.values(), strict=True))
        flags = np.isin(rows, list(self._flagged))
        ceiling = 4 * self._threshold  # what lies beyond is beyond doubt
        title = f"score, cut at {ceiling:.0f}" if np.nanmax(scores, initial=0.0) > ceiling else "score"
        score = Line("", x, np.minimum(scores, ceiling))
        kind = np.full(len(rows), "flagged", dtype=object)
        for event in self.events.found:
            kind[(rows >= event.first) & (rows <= event.last)] = event.kind
        named = ((name, flags & (kind == name)) for name in dict.fromkeys(kind[flags].tolist()))
        marks = [Line(name, x[some], values[some], "flagged", True) for name, some in named]
        # Events of more than one row are shaded, as near as rows are drawn.
        ends = [(event.first, event.last) for event in self.events.found if event.last > event.first]
        places = [np.searchsorted(rows, pair).clip(0, len(rows) - 1) for pair in ends[:SHADED]]
        spans = [(x[first], x[last]) for first, last in places]
        return [
            Panel(self.title, [Line("observed", x, values), *marks], spans=spans),
            Panel(title, [score], height=0.45, threshold=self._threshold),
        ]


@_options.reading
def anomalies(
    file: _options.File,
    asked: Hints,
    rate: Annotated[float, typer.Option(help="Share of ordinary rows flagged by mistake.")] = 1e-3,
    irregular: _options.Irregular = False,
    out: _options.Out = None,
    plot: _options.Plot = None,
) -> None:
    """Find what is unusual in a file: spikes, shifts, changes of noise, flat lines, lost seasons."""
    if not 0 < rate < 1:
        raise typer.BadParameter(f"--rate must lie between 0 and 1, got {rate:g}")
    with guarded("anomalies"):
        _options.check(0.9, out, plot, file)
        table = open_table(file, asked)
        _options.check_irregular(irregular, 1, table)
        watches = _watch(table, rate, irregular, out, asked.duplicates == "mean")
        say("anomalies", f"{Path(file).name}: {words(watches, table)}")
        for watch in watches:
            watch.events.finish(watch.bank.seasons())
        if plot is not None:
            ranked = sorted(watches, key=lambda watch: -watch.count)[:DRAWN]
            panels = [panel for watch in ranked for panel in watch.panels()]
            save(Picture(f"Anomalies in {Path(file).name}", panels, [], _rows(watches)), plot)
        _show(watches)


def _watch(table: Table, rate: float, irregular: bool, out: Path | None, mean: bool) -> list[Watch]:
    def made(title: str) -> Watch:
        return Watch(title, RowModel(1 - rate, 1, irregular), rate)

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
