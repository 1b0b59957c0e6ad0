"""Of which kind an event is, from the rows before it, its own and those after it.

Three quantities are looked at: the **level** (values less their season or trend), the **season's size** (the share of
its shape that is missing) and the **noise** (the square root of the errors' sizes). Each is averaged over the rows
after the event and compared with those before it,

    z = (mean after - mean before) / (how much such means usually differ),

so that a random walk, whose level wanders by itself, needs a larger step than white noise does. The kind is that of the
largest z beyond `SURE`. Where none is, rows outside of their intervals are a shift if values stay where the farthest
went, and else a spike. What comes slowly is noticed late: where no row was outside, the same is asked of the rows since
the best place for a step within the last `SLOWLY`.

A further kind is a member of `Kind`, a series in `_quantities`, a sentence in `judged`, and a shape in
`tables.pictures.SHAPES`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from prophecy._arrays import Array
from prophecy.anomalies import rows as stats
from prophecy.anomalies.rows import APART, AROUND, SIDE, held, median, size
from prophecy.streams.prophecy import Prophecy
from prophecy.streams.settings import DEFAULT

KEPT = 4096  # rows of an event that are kept, and rows before it; a season before it must lie within as many
FLAT = DEFAULT.stuck  # equal rows that make a flat line: as many as the model takes for a sensor at rest or stuck
BRIEF = 3  # rows of a spike at most, wherever they lie; more are one where they lie apart from the rest together
SLOWLY = 3 * DEFAULT.alarms.slow  # rows before the first flagged one in which what is noticed slowly may have begun
SURE = 4.0  # usual differences of a mean that make a change: one in 16 000 of normal ones


class Kind(StrEnum):
    """What happened; the text is what people read, in tables and files."""

    FLAT_LINE = "flat line"  # one value where there was none as long before; begins and ends where the value does
    LOST_SEASON = "lost season"  # the season's size falls more than anything else changes; ends where it is back
    SHIFT = "shift"  # the level changes most; of values that rise or fall throughout, away from their line
    SPIKE = "spike"  # rows outside their intervals, alone or together; then things are as before
    NOISE = "change of noise"  # the errors' size changes most; and whatever is none of the others


class FollowedRow(NamedTuple):
    """A row with its forecast error, interval, score and alarm."""

    row: int
    value: float
    residual: float
    lower: float
    upper: float
    score: float
    alarm: float

    @property
    def outside(self) -> bool:
        return not self.lower <= self.value <= self.upper


class Verdict(NamedTuple):
    """The kind of an event, a sentence about it, its first and its last row."""

    kind: Kind
    sentence: str
    first: int
    last: int


@dataclass
class Open:
    """An event whose kind is not known yet. before: value and error of the rows before it; rows: its own and those
    after it; same: how many of the newest are equal, those before the event among them and missing ones between them;
    standing: the last known value; seasons: of the rows before it, where they are known (None: they are looked for);
    over: no more rows came; noise: whether it is a change of noise, once known."""

    number: int
    first: int
    last: int
    worst: FollowedRow
    before: Array
    same: int
    standing: float
    seasons: tuple[float, ...] | None = None
    rows: list[FollowedRow] = field(default_factory=list)
    over: bool = False
    noise: bool | None = None

    @property
    def long(self) -> int:
        return self.last - self.first + 1

    @cached_property
    def period(self) -> int:
        """The shorter season of the rows before it, if they hold it twice, or 0."""
        if self.seasons is None:
            model = Prophecy(context=1)
            model.observe(self.before[:, 0])
            self.seasons = model.seasons()
        period = round(self.seasons[0]) if self.seasons else 0
        return period if len(self.before) >= 2 * period else 0

    def append(self, row: FollowedRow) -> None:
        missing = bool(np.isnan(row.value))
        self.same = self.same + 1 if missing or row.value == self.standing else 1
        self.standing = self.standing if missing else row.value
        if len(self.rows) >= KEPT:
            self.rows.pop(len(self.rows) // 2)  # a long flat line: its beginning and its end are kept
        self.rows.append(row)

    def columns(self) -> Array:
        """Values and errors, (2, rows), of the rows before it, its own and those after it."""
        return np.concatenate([self.before, [(row.value, row.residual) for row in self.rows]]).T

    def flat(self) -> bool:
        """Whether the newest rows stand still, as they never did for half as long before."""
        moving = self.before[: max(len(self.before) + len(self.rows) - self.same, 0), 0]
        return self.same >= FLAT <= len(moving) and stats.longest_run(moving) < max(self.same / 2, FLAT)

    def noisy(self) -> bool:
        """Whether the newest rows still have errors of another size than those before it, as far as rows are kept."""
        if not APART <= len(self.rows) < KEPT:
            return False
        errors = np.append(self.before[:, 1], [row.residual for row in self.rows[-APART:]])
        return abs(stats.change_of_mean(np.sqrt(np.abs(errors)), len(self.before), len(self.before))[0]) > SURE / 2


def judged(event: Open) -> Verdict:
    """The kind of an event, what is said about it, and where it begins and ends."""
    if (flat := _flat_line(event)) is not None:
        return flat
    quantities, start, sudden = _quantities(event), len(event.before), True
    ends = dict.fromkeys(quantities, start + min(event.long, len(event.rows) - 1)) | {Kind.NOISE: start}
    found = {kind: stats.change_of_mean(series, start, ends[kind]) for kind, series in quantities.items()}
    if _strongest(found) is None and not event.worst.outside:
        start, sudden = max(start - SLOWLY, 0), False
        ends = {kind: start + stats.step_at(series[start:]) for kind, series in quantities.items()}
        found = {kind: stats.change_of_mean(series, start, ends[kind]) for kind, series in quantities.items()}
    kind = _strongest(found) or (_unsure(event, quantities[Kind.SHIFT], found) if event.worst.outside else None)
    apart = _apart(event, quantities[Kind.SHIFT])
    if kind is Kind.SPIKE or (kind is Kind.NOISE and apart and sudden):
        return _spike(event, apart)
    if kind is Kind.NOISE:
        return change_of_noise(event)
    if kind is None:
        sentence = f"Inside its interval, but level and noise of the last {APART} rows are rare."
        return Verdict(Kind.NOISE, sentence, event.first, event.last)
    begin = event.first if sudden else event.first - len(event.before) + ends[kind]
    if kind is Kind.SHIFT:
        sentence = _about_shift(event, found[kind][1], None if sudden else begin)
    else:
        left = max(1.0 - found[kind][1], 0.0)
        sentence = (
            f"The season of {event.period} rows has {left:.0%} of its size from about row {begin or event.first} on."
        )
    return Verdict(kind, sentence, min(begin, event.first), event.last if sudden else event.rows[-1].row)


def _quantities(event: Open) -> dict[Kind, Array]:
    """What a change of each kind is a change of the mean of."""
    (values, errors), start = event.columns(), len(event.before)
    level, made = values, {}
    if period := event.period:
        known = start - SLOWLY if start >= SLOWLY + 2 * period else start
        phase = (np.arange(len(values)) - known) % period
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a phase nothing may be known
            seasons = values[known % period : known].reshape(-1, period)[-8:]
            profile = np.nanmedian(seasons, axis=0)
            shape = profile - np.nanmean(profile)
            level = values - profile[phase]
            if len(seasons) > 1:  # each is compared with the others, as rows after it are
                level[known - seasons.size : known] *= len(seasons) / (len(seasons) - 1)
            made[Kind.LOST_SEASON] = -level * shape[phase] / np.nanmean(shape * shape)
    else:
        level = values - stats.rise_of(event.before[-AROUND:, 0]) * np.arange(len(values))
    return {**made, Kind.SHIFT: level, Kind.NOISE: np.sqrt(np.abs(errors))}


def _strongest(found: dict[Kind, tuple[float, float]]) -> Kind | None:
    """The kind of the largest change, if that is sure. A season that grows is none that is lost."""
    sizes = {kind: z if kind is Kind.LOST_SEASON else abs(z) for kind, (z, _) in found.items()}
    kind = max(sizes, key=lambda kind: sizes[kind])
    return kind if sizes[kind] > SURE else None


def _unsure(event: Open, level: Array, found: dict[Kind, tuple[float, float]]) -> Kind:
    """A shift where values stay nearer to the farthest row than to those before it, a spike else."""
    start = len(event.before)
    away = level[start + min(event.worst.row - event.first, len(event.rows) - 1)] - median(level[:start][-SIDE:])
    stays = len(event.rows) - event.long >= SIDE and found[Kind.SHIFT][1] / (away or np.inf) > 0.5
    return Kind.SHIFT if stays else Kind.SPIKE


def change_of_noise(event: Open) -> Verdict:
    """A change of noise, from where errors began to be of another size to where they ceased: it is noticed midway."""
    errors, known = event.columns()[1], min(len(event.before), AROUND)
    sizes = np.sqrt(np.abs(errors[len(event.before) - known :]))
    begin = stats.step_at(sizes[: known + max(event.long, APART)])
    ends = stats.step_at(sizes[begin:])
    first, last = event.first - known + begin, event.rows[-1].row
    earlier, within, later = (size(part) for part in np.split(sizes, [begin, begin + ends]))
    if (within - earlier) * (later - within) < 0.0 and abs(later - within) > abs(later - earlier):
        last = max(first + ends - 1, event.last)
    place = len(event.before) - event.first
    ratio = size(errors[place + first : place + last + 1]) / max(size(event.before[-AROUND:, 1]), 1e-300)
    times = f"{ratio:.3g} times" if ratio < 1e6 else "far above"
    sentence = f"Errors are {times} their usual size over {last - first + 1} rows."
    if ratio < 1.0:
        sentence = f"Less noise: the errors of {last - first + 1} rows are {ratio:.2g} times their usual size."
    return Verdict(Kind.NOISE, sentence, first, last)


def _flat_line(event: Open) -> Verdict | None:
    """A flat line that goes on, or one that the event's first rows end; None where there is none."""
    values, start = held(event.columns()[0]), len(event.before)
    before, own = values[:start], values[start:]
    if event.flat():
        end = event.rows[-1].row
        first = end - event.same + 1
        until = "and still at the end" if event.over else f"to {end}"
        sentence = f"{event.same} rows are exactly {event.standing:.6g}, from row {first} {until}."
        return Verdict(Kind.FLAT_LINE, sentence, min(first, event.first), end)
    still = stats.run_at_end(before)
    moved = np.flatnonzero(own != before[-1]) if still else np.zeros(1)
    lead = int(moved[0]) if len(moved) else 0
    first, end = event.first - still, event.rows[lead - 1].row if lead else event.first - 1
    run = end - first + 1
    moving = before[: len(before) - still]
    if run < FLAT or len(moving) < FLAT or stats.longest_run(moving) >= max(run / 2, FLAT):
        return None
    sentence = f"{run} rows were exactly {before[-1]:.6g}, from row {first} to {end}."
    return Verdict(Kind.FLAT_LINE, sentence, first, max(event.last, end))


def _apart(event: Open, level: Array) -> float:
    """How far more than a few rows lie away from those before them together; 0 where they do not."""
    before, own = level[: len(event.before)][-AROUND:], level[len(event.before) :][: event.long]
    apart = median(own) - median(before)
    together = abs(apart) > max(SURE * stats.robust_deviation(before), 2.0 * stats.robust_deviation(own))
    return apart if event.long > BRIEF and together else 0.0


def _spike(event: Open, apart: float) -> Verdict:
    """Rows that lie apart together, or those outside of their intervals."""
    if apart:
        sentence = f"{event.long} rows lie {apart:.4g} away from what is usual; after them values are as before."
        return Verdict(Kind.SPIKE, sentence, event.first, event.last)
    outside = [row.row for row in event.rows if row.row <= event.last and row.outside] or [event.worst.row]
    others = f" It is the farthest of {len(outside)} such rows." if len(outside) > 1 else ""
    row = event.worst
    sentence = f"{row.value:.6g}, where {row.lower:.6g} to {row.upper:.6g} was expected.{others}"
    return Verdict(Kind.SPIKE, sentence, outside[0], outside[-1])


def _about_shift(event: Open, amount: float, since: int | None) -> str:
    values, start = event.columns()[0], len(event.before)
    rise = 0.0 if event.period else stats.rise_of(event.before[-AROUND:, 0])
    if rise:
        earlier, later, word = values[start - 1], values[start], "rising" if rise > 0 else "falling"
        moved = f"{'drops' if later < earlier else 'rises'} by {abs(later - earlier):.4g} in one row"
        goes_on = f", and goes on {word}" if (values[-1] - later) * rise > 0 else ""
        return f"A {word} value {moved} ({rise:+.2g} is usual), from {earlier:.6g} to {later:.6g}{goes_on}."
    if since is not None:
        return f"The level is {abs(amount):.4g} {'higher' if amount > 0 else 'lower'} from about row {since} on."
    after = values[start + min(event.long, len(event.rows) - 1) :]
    to = "" if event.period else f", to {median(after):.6g},"
    return f"The level moves by {amount:.4g}{to} and stays there for {len(after)} rows or more."


def season_is_back(lost: Open, event: Open) -> bool:
    """Whether the rows after `event` are those of the season that `lost` lost, but for their level."""
    period = lost.period
    if not period or len(event.rows) < min(period, APART):
        return False
    usual = lost.before[period:, 0] - lost.before[:-period, 0]
    place = np.array([row.row for row in event.rows]) - lost.first
    now = np.array([row.value for row in event.rows]) - lost.before[len(lost.before) + place % period - period, 0]
    return bool(size(now - median(now)) < 2.0 * size(usual[-AROUND:]))
