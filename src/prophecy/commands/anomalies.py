"""`prophecy anomalies`: what is unusual in a file, row by row and as events."""

import math
from pathlib import Path

import numpy as np

from prophecy.anomalies import Events, flagged
from prophecy.commands import _options
from prophecy.commands._common import show
from prophecy.commands.predict import FollowedFile, Series
from prophecy.frames.columns import Hints
from prophecy.frames.names import count
from prophecy.tables.pictures import Line, Panel, Picture, moments, save

PARTS = ("point", "lower", "upper", "score", "alarm", "flagged", "event")
MOST = 20  # events listed: a screen of them
POINTS = 4096  # rows drawn of a long series: more cannot be told apart in a picture
DRAWN = 3  # series in the picture, two panels each
SHADED = 200  # events shaded in a panel: more are a texture, and slow to draw


class Watch:
    """One series, its flagged rows and its events."""

    def __init__(self, series: Series, rate: float) -> None:
        said = series.said
        self.series, self.events, self._threshold = series, Events(), -math.log10(rate / 2)
        self.flags = flagged(said.score, said.alarm, rate)
        parts = (series.values, said.residual, said.lower, said.upper, *map(np.nan_to_num, (said.score, said.alarm)))
        numbers = self.events.add(np.column_stack(parts), 0, self.flags)
        self.events.finish()
        self.columns = {**said._asdict(), "flagged": self.flags.astype(np.float64), "event": numbers}
        self.count = int(self.flags.sum())

    def panels(self) -> list[Panel]:
        """Some of the rows, with every flagged row in its place, and the score of each row below it."""
        series, marked = self.series, np.flatnonzero(self.flags)[:POINTS]
        rows = np.union1d(np.arange(0, len(series.values), len(series.values) // POINTS + 1), marked)
        x = moments(series.times, len(series.values))[rows]
        values, scores, flags = series.values[rows], series.said.score[rows], self.flags[rows]
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
            Panel(series.title, [Line("observed", x, values), *marks], spans=spans),
            Panel(title, [score], height=0.45, threshold=self._threshold),
        ]


@_options.command
def anomalies(
    file: str,
    asked: Hints,
    rate: float = 1e-3,
    irregular: bool = False,
    out: Path | None = None,
    plot: Path | None = None,
) -> None:
    """Find what is unusual in a file: spikes, shifts, changes of noise, flat lines, lost seasons.

    Examples:
      prophecy anomalies sensor.csv --plot sensor.html
      prophecy anomalies machines.parquet --key machine --rate 1e-4 --out scored.csv

    A row's score is -log10 of the probability of an error at least as large as its own, judged by earlier errors. Its
    alarm says how unusual the latest rows are: their values, changes, level and noise. A row is flagged where either is
    rarer than half of --rate, so of ordinary rows at most that share is flagged. Flagged rows near each other are one
    event, with its rows (counted from 0) and a kind: spike, shift, change of noise, flat line, lost season.
    """
    found = FollowedFile(file, asked, 1 - rate, irregular=irregular)
    watches = [Watch(one, rate) for one in found.series]
    found.write([watch.columns for watch in watches], PARTS, out)
    lines = _rows(watches)
    if plot is not None:
        ranked = sorted(watches, key=lambda watch: -watch.count)[:DRAWN]
        panels = [panel for watch in ranked for panel in watch.panels()]
        save(Picture(f"Anomalies in {Path(file).name}", panels, [], lines), plot)
    rows, events = sum(len(watch.flags) for watch in watches), sum(len(watch.events.found) for watch in watches)
    listed = f"; the {MOST} most unusual:" if events > MOST else ""
    flagged_rows = sum(watch.count for watch in watches)
    print(f"{flagged_rows} of {count(rows, 'row')} flagged, in {count(events, 'event')}{listed}")
    if events:
        show(lines, left=(1, 3, 4, 5))


def _rows(watches: list[Watch]) -> list[list[str]]:
    """The most unusual events of all series in the order of the file, header first. `noticed`: the time of the
    first row that was flagged (a flat line may have begun before); rows count from 0, without the header."""
    lines = [["event", "series", "rows", "noticed", "kind", "what happened"]]
    events = [(watch, event) for watch in watches for event in watch.events.found]
    ranked = sorted(events, key=lambda pair: (-pair[1].score, -pair[1].alarm))[:MOST]
    for watch, event in sorted(ranked, key=lambda pair: (watches.index(pair[0]), pair[1].number)):
        rows = f"{event.first}" if event.first == event.last else f"{event.first} to {event.last}"
        row = next((row for row in range(event.first, event.row) if watch.flags[row]), event.row)
        when = f"{row}" if watch.series.times is None else watch.series.times.text(row)
        lines.append([f"{event.number}", watch.series.title, rows, when, event.kind, event.sentence])
    return lines
