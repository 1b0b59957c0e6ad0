"""Rows into series: sorted by time, one row per time, missing grid times as NaN; `facts` lists what was done."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from prophecy._arrays import Array, Indices, Mask
from prophecy.frames.grid import Even, Grid, infer
from prophecy.frames.names import count
from prophecy.frames.times import Times, summer_time_ends

SHOWN = 3  # values of a doubled time that a message shows
LEAST = 16  # values of a variable that say how smooth it is
BETTER = 0.5  # of the error at times taken for even: noise, which no times explain, leaves about all of it
NEAR = 2.0  # steps between the values around a grid time, at most: farther apart it is a gap
DEGREE = 9  # of the splines: with twenty samples a turn they are read to 1e-9 of the range, those of degree 5 to 1e-7
OUTSIDE = 1e-6  # steps beyond the first or last value: rounding of times
HOLE = 10_000  # grid times: a hole longer than this and than all rows together ends what came before it
SHARED = ("columns", "time", "key")  # what `forecast` takes too; the rest is said to `read_table`


class WaysOut(NamedTuple):
    """How messages name what a caller may say: `--time 'Month'`, `time='Month'` or `?time=Month`.

    mean, zone: how to average rows of one time, and give local times their zone.
    """

    option: str
    called: dict[str, str]
    mean: str
    zone: str

    def __call__(self, name: str, value: str = "") -> str:
        name = self.called.get(name, name)
        value = "true" if name == "header" and self.option == "?" else value
        if self.option == "--":
            return f"--{name.replace('_', '-')}" + (f" {value!r}" if value else "")
        if self.option == "?":
            return f"?{name}={value}"
        said = f"{name}={value!r}" if value else f"{name}="
        return said if name in SHARED else f"prophecy.frames.collect.read_table(data, {said})"

    def keyed(self, *names: str) -> str:
        """How to name the columns that tell series apart."""
        if self.option == "=":
            return f"use forecast_many(data, horizon, key={names[0] if len(names) == 1 else list(names)!r})"
        return f"say {self('key', ' + '.join(names))}"


FRAMES = WaysOut(
    "=",
    {"column": "columns"},
    "average rows of one time with duplicates='mean'",
    "give them their time zone first, such as times.dt.tz_localize('Europe/Berlin', ambiguous='infer')",
)
ADDRESS = WaysOut("?", {"column": "value"}, "send one row for each time", "write them with their offset (+01:00)")


@dataclass(frozen=True, eq=False)
class Aligned:
    """A series on its grid.

    values: (rows, variables), NaN where a row was missing. times: of each row, None without times.
    grid: None without times or with a single row. regular: False where the times lie on no grid and rows are taken as
    evenly spaced all the same. facts: what was found and done, a few words each.
    """

    values: Array
    times: Times | None = None
    grid: Grid | None = None
    regular: bool = True
    facts: tuple[str, ...] = ()
    filled: int = 0

    def after(self, count: int) -> Times | None:
        """The times of the next `count` rows."""
        return None if self.times is None or self.grid is None else self.grid.after(self.times, count)

    def seasons(self, rows: int | None = None) -> tuple[int, ...]:
        """Periods that the calendar suggests, in rows, of which the series (or its first `rows`) has at least two."""
        rows = len(self.values) if rows is None else rows
        return () if self.grid is None or not self.regular else self.grid.seasons(rows)


def align(values: Array, times: Times | None, mean: bool = False, ways: WaysOut = FRAMES) -> Aligned:
    """(rows, variables) and their times as a series.

    mean: rows of one time are averaged; otherwise they are an error that shows them. ways: what that error proposes.
    """
    if times is None:
        return Aligned(values)
    found = ordered(values, times, mean, ways)
    if not len(found.rows):
        raise ValueError("no row has a time; leave the time column out, or correct it")
    values, times = average(values[found.rows], found.starts), times[found.rows[found.starts]]
    return _gridded(values, times, said(found.met))


class Ordered(NamedTuple):
    """rows: in the order of time, without those that have no time or say again what another has said. starts: where
    each time begins among them. met: how many of what was met, for `said`."""

    rows: Indices
    starts: Indices
    met: dict[str, int]


def ordered(values: Array, times: Times, mean: bool, ways: WaysOut) -> Ordered:
    """Rows by their times. mean: several rows of one time may differ; otherwise that is an error."""
    if bool((times.values[1:] > times.values[:-1]).all()) and not times[:1].missing.any():  # as most tables are
        return Ordered(np.arange(len(times)), np.arange(len(times)), {})
    rows = np.flatnonzero(~times.missing)
    met = {"lost": len(times) - len(rows)}
    order = np.argsort(times.values[rows], kind="stable")
    turned = np.diff(order) < 0
    met |= {"reversed": int(turned.any() and turned.all()), "sorted": int(turned.any() and not turned.all())}
    rows = rows[order]
    starts = _starts(times[rows])
    if len(starts) < len(rows):
        again = _repeated(values[rows], times[rows])
        met["again"], rows = int(again.sum()), rows[~again]
        starts = _starts(times[rows])
    sizes = np.diff(np.append(starts, len(rows)))
    met["several"] = int((sizes > 1).sum())
    if met["several"] and not mean:
        raise ValueError(_doubled(values[rows], times[rows], starts, sizes, ways))
    return Ordered(rows, starts, met)


def said(met: Mapping[str, int]) -> list[str]:
    """What was met while rows were put in order, in words."""
    words = {
        "lost": f"{count(met.get('lost', 0), 'row')} without a time left out",
        "reversed": "" if met.get("sorted") else "reversed (newest first)",
        "sorted": "sorted",
        "again": f"{count(met.get('again', 0), 'exact duplicate')} dropped",
        "several": f"{count(met.get('several', 0), 'time')} with several rows averaged",
    }
    return [text for name, text in words.items() if met.get(name) and text]


def _starts(times: Times) -> Indices:
    """The first row of each time, of times in order."""
    return np.flatnonzero(np.concatenate([[True], times.values[1:] != times.values[:-1]])[: len(times)])


def _repeated(values: Array, times: Times) -> Mask:
    """Which rows (in the order of time) say again what another row of their time has said."""
    again = np.zeros(len(values), dtype=bool)
    order = np.lexsort((*values.T, times.values))
    moments, rows = times.values[order], values[order]
    same = (rows[1:] == rows[:-1]) | (np.isnan(rows[1:]) & np.isnan(rows[:-1]))
    again[order[1:][(moments[1:] == moments[:-1]) & same.all(axis=1)]] = True
    return again


def average(values: Array, starts: Indices) -> Array:
    """Means of the rows from each start to the next, over what is there; NaN where nothing is.

    values: (rows, variables).
    """
    if len(starts) == len(values):
        return values
    there = np.isfinite(values)
    sums = np.add.reduceat(np.where(there, values, 0.0), starts, axis=0)
    counts = np.add.reduceat(there.astype(np.float64), starts, axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, sums / counts, np.nan)


def _doubled(values: Array, times: Times, starts: Indices, sizes: Indices, ways: WaysOut) -> str:
    """What is wrong with times (in order) of which some come more than once, and what can be done about it."""
    doubled = np.flatnonzero(sizes > 1)
    start, size = int(starts[doubled[0]]), int(sizes[doubled[0]])
    cut = " …" if values.shape[1] > SHOWN else ""
    rows = [", ".join(f"{one:.6g}" for one in row[:SHOWN]) + cut for row in values[start : start + min(size, SHOWN)]]
    shown = ", ".join(rows[:-1]) + (" and " if size <= SHOWN else ", ") + rows[-1] + (" …" if size > SHOWN else "")
    more = f" (and {count(len(doubled) - 1, 'further time')} likewise)" if len(doubled) > 1 else ""
    often = {2: "twice", 3: "three times"}.get(size, f"{size} times")
    found = f"{times.text(start)} comes {often}, with {shown}{more}"
    if summer_time_ends(times, starts[doubled]) and size == 2:
        return (
            f"{found}, as on the night when summer time ends: if these are local times, {ways.zone}; if not, "
            f"{ways.mean}"
        )
    return f"{found}; if a column tells series apart, {ways.keyed('…')}, or {ways.mean}"


def _gridded(values: Array, times: Times, facts: list[str]) -> Aligned:
    """Rows (in order, one per time) on the grid their times lie on, or on even steps where they lie on none."""
    if len(times) < 2:
        return Aligned(values, times, None, True, tuple(facts))
    grid, ticks = infer(times), times.ticks
    if grid is None:
        evened = _evened(values, times, _even_grid(float(ticks[-1] - ticks[0]) / (len(ticks) - 1), times), facts)
        if evened is not None:
            return evened
        grid = _even_grid(float(np.median(np.diff(ticks))), times)
        facts.append(
            f"times are uneven (the median step is {grid.words().removeprefix('every ')}): rows taken as evenly spaced"
        )
        return Aligned(values, times, grid, False, tuple(facts))
    place = grid.positions(times)
    holes = np.diff(place)
    beyond = np.flatnonzero(holes > max(HOLE, len(place)))
    if len(beyond):  # a clock that was not set yet, an archive and a new start
        start = int(beyond[-1]) + 1
        hole = f"a hole of {int(holes[start - 1]):,} steps"
        facts.append(f"{count(start, 'row')} before {hole} left out (from {times.text(start)})")
        values, times, place = values[start:], times[start:], place[start:] - place[start]
    if isinstance(grid.rule, Even) and grid.rule.jitter > 0:
        evened = _evened(values, times, grid, facts)
        if evened is not None:
            return evened
        facts.append(f"times up to {100 * grid.rule.jitter:.2g} % of a step off the grid taken as on it")
    size = int(place[-1]) + 1
    missing = size - len(place)
    whole = np.full((size, values.shape[1]), np.nan)
    whole[place] = values
    moments = np.concatenate([times.values[:1], grid.after(times[:1], size - 1).values])
    moments[place] = times.values
    facts += [f"{count(missing, 'missing time')} filled as {'a gap' if missing == 1 else 'gaps'}"] if missing else []
    return Aligned(whole, Times(moments, times.zone), grid, True, (grid.words(), *facts), missing)


def _even_grid(step: float, times: Times) -> Grid:
    return Grid(Even(step, step / times.per_second if times.dates else None), False)


def _evened(values: Array, times: Times, grid: Grid, facts: list[str]) -> Aligned | None:
    """The series at even times up to its last, read from curves through its values, where these are smooth enough for
    the distances of its times from a grid to count; None elsewhere."""
    assert isinstance(grid.rule, Even)
    at = np.asarray((times.ticks - times.ticks[-1]) / grid.rule.step, dtype=np.float64)
    places = np.arange(int(np.rint(at[0])), 1, dtype=np.float64)
    found = interpolated(values, at, places)
    if found is None:
        return None
    ahead = places * grid.rule.step
    moments = times.ticks[-1] + (np.rint(ahead).astype(np.int64) if times.dates else ahead)
    missing = int(np.isnan(found).all(axis=1).sum())
    facts.append("values read at even times from curves through them")
    facts += [f"{count(missing, 'even time')} in gaps"] if missing else []
    even = Times(moments.astype(times.values.dtype), times.zone)
    return Aligned(found, even, grid, True, (grid.words(), *facts), missing)


def interpolated(values: Array, at: Array, places: Array) -> Array | None:
    """(rows, variables) at grid times `places`, or None where they are better taken as they are.

    at: of each row, in steps of the grid, rising. Where values between their neighbours follow from these at the true
    times with less than half of the error that even times leave, in the median, their curves are read at the grid's
    times instead: splines through all values. Grid times in a gap are NaN.
    """
    from scipy.interpolate import make_interp_spline

    even = np.cumsum(np.maximum(np.rint(np.diff(at, prepend=at[0] - 1)), 1.0))
    out = np.full((len(places), values.shape[1]), np.nan)
    gains = []
    for variable, column in enumerate(values.T):
        there = np.isfinite(column)
        if there.sum() < LEAST:
            return None
        x, y = at[there], column[there]
        gains.append((_off(x, y), _off(even[there], y)))
        curve = np.asarray(make_interp_spline(x, y, k=DEGREE)(places))
        right = np.clip(np.searchsorted(x, places), 1, len(x) - 1)
        gap = (x[right] - x[right - 1] > NEAR) & (places > x[right - 1]) & (places < x[right])
        curve[gap | (places < x[0] - OUTSIDE) | (places > x[-1] + OUTSIDE)] = np.nan
        out[:, variable] = curve
    true, taken = np.array(gains).T
    spread = np.nanstd(values, axis=0)
    size = np.where(spread > 0, spread, 1.0)
    better = bool(np.sum(true / size) < BETTER * np.sum(taken / size))
    return out if better and np.isfinite(out).any(axis=0).all() else None


def _off(x: Array, y: Array) -> float:
    """How far every second value is from a curve through the others, in the median."""
    from scipy.interpolate import make_interp_spline

    return float(np.median(np.abs(make_interp_spline(x[::2], y[::2], k=3)(x[1:-1:2]) - y[1:-1:2])))
