"""Of which kind an event is, from the rows before it, its own and those after it.

A further kind is a member of `Kind`, a test in `judged` at its place (the first that holds decides), and a shape in
`tables.panels.SHAPES`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.anomalies.rows import (
    APART,
    AROUND,
    CHANGED,
    JUMP,
    alike,
    change_of_size,
    held,
    longest_run,
    means_of,
    median,
    other_noise,
    rise_of,
    robust_deviation,
    run_at_end,
    size,
    split,
    step_at,
    step_of,
)
from prophecy.streams.settings import DEFAULT

Array: TypeAlias = NDArray[np.float64]

KEPT = 4096
"""Rows of an event that are kept, and rows before it; a season before it must lie within as many."""

FLAT = DEFAULT.stuck
"""Equal rows in a row that make a flat line: as many as the model takes for a sensor at rest or stuck."""

BRIEF = 3
"""Rows of a spike at most, wherever they lie; more are one where they lie apart from the rest together."""

SLOWLY = 3 * DEFAULT.alarms.slow
"""Rows before the first flagged one in which what is noticed slowly may have begun."""

LATELY = 60
"""Rows before the first flagged one that a change of noise is judged by: by then most of the 80 rows that the alarm
averages errors over are new ones."""


class Kind(StrEnum):
    """What happened; the text is what people read, in tables and files."""

    FLAT_LINE = "flat line"
    """A stretch of one value where there was none as long before; it begins and ends where the value does."""
    LOST_SEASON = "lost season"
    """The season after it differs from the one before it by more than twice what is usual, smoothly; it ends where the
    season is back."""
    SHIFT = "shift"
    """The median after it lies away from the median before it by more than rows usually do; where values rise or fall
    throughout, from where they would have gone."""
    SPIKE = "spike"
    """A row outside its interval, or several with ordinary ones between them, or some that lie apart together; then
    things are as before."""
    NOISE = "change of noise"
    """Errors of another size than usual; and whatever is none of the others."""


class FollowedRow(NamedTuple):
    """A row with its forecast error, interval, score and alarm."""

    row: int
    value: float
    residual: float
    lower: float
    upper: float
    score: float
    alarm: float


@dataclass
class Open:
    """An event whose kind is not known yet. rows: its own and those after it; same: how many of the newest are equal,
    those before the event among them and missing ones between them; standing: the last known value; over: no more rows
    came; noise: whether it is a change of noise, once that is known."""

    number: int
    first: int
    last: int
    worst: FollowedRow
    before: Array
    same: int
    standing: float
    rows: list[FollowedRow] = field(default_factory=list)
    over: bool = False
    noise: bool | None = None

    @property
    def newest(self) -> FollowedRow:
        return self.rows[-1]

    def flat(self) -> bool:
        """Whether the newest rows stand still, as they never did for half as long before."""
        moving = self.before[: max(len(self.before) + len(self.rows) - self.same, 0), 0]
        return self.same >= FLAT and longest_run(moving) < max(self.same / 2, FLAT)

    def noisy(self) -> bool:
        """Whether the newest rows still have errors of another size than those before it, as far as rows are kept."""
        if not APART <= len(self.rows) < KEPT:
            return False
        return other_noise(np.array([row.residual for row in self.rows[-APART:]]), self.before[-AROUND:, 1])


def append(event: Open, row: FollowedRow) -> None:
    missing = bool(np.isnan(row.value))
    event.same = event.same + 1 if missing or row.value == event.standing else 1
    event.standing = event.standing if missing else row.value
    if len(event.rows) >= KEPT:
        event.rows.pop(len(event.rows) // 2)  # a long flat line: its beginning and its end are kept
    event.rows.append(row)


def judged(event: Open, seasons: tuple[float, ...]) -> tuple[Kind, str, int, int]:
    """The kind of an event, a sentence about it, and its first and last row."""
    own = np.array([(row.value, row.residual) for row in event.rows])
    long = event.last - event.first + 1
    before, here = event.before, (event.first, event.last)
    flat = _flat_line(event, own[:, 0])
    if flat is not None:
        return flat
    period = round(seasons[0]) if seasons and len(before) >= 2 * round(seasons[0]) else 0
    usual, now = before[-AROUND:, 0], own[:, 0]
    rise = 0.0 if period else rise_of(usual)
    if rise:
        now = now - rise * (len(usual) + np.arange(len(now)))
        usual = usual - rise * np.arange(len(usual))
    if period:
        usual = (before[period:, 0] - before[:-period, 0])[-AROUND:]
        offset = np.arange(len(own))
        now = own[:, 0] - before[len(before) + offset % period - period, 0]
    deviation, after = robust_deviation(usual), now[min(long, len(now) - 1) :]
    ratio = size(after) / max(size(usual), 1e-300)
    jump = median(after) - median(usual)
    if (
        period
        and len(after) >= min(period, APART)
        and ratio > 2.0
        and alike(after) > 0.5
        and abs(jump) < 2.0 * deviation
    ):
        sentence = f"The rows after it differ from one season ({period} rows) before by {ratio:.3g} times as usual."
        return Kind.LOST_SEASON, sentence, *here
    if abs(jump) > JUMP * deviation and rise:
        return Kind.SHIFT, _about_jump(event, rise), *here
    step = step_of(before[:, 0], own[:, 0], long, period) if period and abs(jump) > 2.0 * deviation else 0.0
    stays = not period and len(after) >= APART and abs(jump) > max(2.0 * deviation, JUMP * means_of(usual, APART))
    if abs(jump) > JUMP * deviation or stays or 0.5 * abs(step) < jump * np.sign(step) < 2.0 * abs(step):
        level = median(own[min(long, len(own) - 1) :, 0])
        return Kind.SHIFT, f"The level moves by {step or jump:.4g}, to {level:.6g}, and stays there.", *here
    inside = event.worst.lower <= event.worst.value <= event.worst.upper
    later = change_of_size(own[long:, 1], before[-AROUND:, 1])
    if later > CHANGED or (inside and later < 1.0 / CHANGED):  # a row outside its interval is no sign of less noise
        return change_of_noise(event)
    slow = _slow_change(event, own[:, 0], period) if inside and not rise else None
    if slow is not None:
        return slow
    apart = median(now[:long]) - median(usual)
    if long > BRIEF and abs(apart) > JUMP * deviation:
        return Kind.SPIKE, f"{long} rows lie {apart:.4g} away from what is usual; then all is as before.", *here
    rows = [row for row in event.rows if row.row <= event.last]
    outside = [row for row in rows if not row.lower <= row.value <= row.upper]
    others = np.array([row.residual for row in rows if row.lower <= row.value <= row.upper])
    if not inside and (long <= BRIEF or not other_noise(others, before[-AROUND:, 1])):
        return Kind.SPIKE, _about_spikes(event.worst, len(outside)), outside[0].row, outside[-1].row
    return change_of_noise(event)


def _slow_change(event: Open, own: Array, period: int) -> tuple[Kind, str, int, int] | None:
    """A season that has ceased, or a level that has moved, while forecasts followed it: the alarm's slow means notice
    that up to `SLOWLY` rows late. None where neither did."""
    values = np.concatenate([event.before[:, 0], own])
    old, new = np.split(values, [max(len(event.before) - SLOWLY, 0)])
    width = period or AROUND
    if len(old) < 2 * width:
        return None
    seasons = old[len(old) % width :].reshape(-1, width)[-8:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a phase nothing may be known
        profile = np.nanmean(seasons, axis=0) if period else np.full(width, np.nanmean(seasons))
    usual, phase = (seasons - profile).ravel(), np.arange(len(new)) % width
    off, shape = new - profile[phase], (profile - profile.mean())[phase]
    start = event.first + len(own) - len(new)
    if period:
        begins = step_at(off * shape)
        now, known = off[begins:], np.isfinite(off[begins:])
        power = float(shape[begins:][known] @ shape[begins:][known])
        left = 1.0 + float(shape[begins:][known] @ now[known]) / max(power, 1e-300)
        if known.sum() >= min(period, APART) and left < 0.6:
            sentence = (
                f"The season of {period} rows has {max(left, 0.0):.0%} of its size from about row {start + begins} on."
            )
            return Kind.LOST_SEASON, sentence, min(start + begins, event.first), event.newest.row
    begins = step_at(off)
    now = off[begins:][np.isfinite(off[begins:])]
    moved = float(np.mean(now)) if len(now) else 0.0
    if len(now) >= APART and abs(moved) > JUMP * means_of(usual, min(len(now), len(usual) // 4)):
        word = "higher" if moved > 0 else "lower"
        sentence = f"The level is {abs(moved):.4g} {word} from about row {start + begins} on."
        return Kind.SHIFT, sentence, min(start + begins, event.first), event.newest.row
    return None


def change_of_noise(event: Open) -> tuple[Kind, str, int, int]:
    """The kind, the sentence, the first and the last row of what is a change of noise."""
    own = np.array([row.residual for row in event.rows])
    first, last = _noisy_rows(event, own)
    return Kind.NOISE, _about_noise(event.before[:, 1], own, last - event.first + 1), first, last


def _flat_line(event: Open, own: Array) -> tuple[Kind, str, int, int] | None:
    """A flat line that goes on, or one that the event's first rows end; None where there is none."""
    before, own = held(event.before[:, 0]), held(np.append(event.before[-1:, 0], own))[len(event.before[-1:]) :]
    if event.flat():
        end = event.newest.row
        start = end - event.same + 1
        until = "and still at the end" if event.over else f"to {end}"
        sentence = f"{event.same} rows are exactly {event.standing:.6g}, from row {start} {until}."
        return Kind.FLAT_LINE, sentence, min(start, event.first), end
    still = run_at_end(before)
    moved = np.flatnonzero(own != before[-1]) if still else np.zeros(1)
    lead = int(moved[0]) if len(moved) else 0
    start, end = event.first - still, event.rows[lead - 1].row if lead else event.first - 1
    run = end - start + 1
    if run < FLAT or longest_run(before[: len(before) - still]) >= max(run / 2, FLAT):
        return None
    sentence = f"{run} rows were exactly {before[-1]:.6g}, from row {start} to {end}."
    return Kind.FLAT_LINE, sentence, start, max(event.last, end)


def _about_noise(before: Array, own: Array, long: int) -> str:
    """How the errors changed: over the event, or where it is brief over the rows around its first."""
    if long > BRIEF:
        noise = size(own[:long]) / max(size(before[-AROUND:]), 1e-300)
        if noise < 1.0 / CHANGED:
            return f"Noise, less: the errors of {long} rows are {noise:.2g} times their usual size."
        times = f"{noise:.3g} times their usual size" if noise < 1e6 else "far above their usual size"
        return f"Errors are {times} over {long} rows."
    lately = np.concatenate([before[-LATELY:], own])
    noise = size(lately) / max(size(before[:-LATELY][-2 * AROUND :]), 1e-300)
    for word, changed in (("less", noise < 1.0 / CHANGED), ("more", CHANGED < noise < 1e6)):
        if changed:
            return f"Noise, {word}: the errors of these {len(lately)} rows are {noise:.2g} times their usual size."
    return f"Inside its interval, but level and noise of the last {APART} rows are rare."


def _noisy_rows(event: Open, own: Array) -> tuple[int, int]:
    """Where errors began to be of another size, and where they ceased to be, or the last row kept: the alarm comes in
    the middle of it."""
    before = event.before[-AROUND:, 1]
    errors = np.concatenate([before, own])
    start = split(errors, min(len(before) + max(event.last - event.first + 1, APART), len(errors)))
    if start is None:
        return event.first, event.last
    first, last = event.first - len(before) + start, event.newest.row
    ends = split(errors[start:], len(errors) - start)
    if ends is not None:
        earlier, within, later = (size(part) for part in np.split(errors, [start, start + ends]))
        if (within - earlier) * (later - within) < 0.0:
            last = first + ends - 1
    return first, max(last, event.last)


def _about_jump(event: Open, rise: float) -> str:
    """A counter's reset, or its jump ahead."""
    values = np.array([row.value for row in event.rows])
    change = values[0] - event.before[-1, 0]
    word = "rising" if rise > 0 else "falling"
    moved = f"drops by {-change:.4g}" if change < 0 else f"jumps by {change:.4g}"
    goes_on = f", and goes on {word}" if (values[-1] - values[0]) * rise > 0 else ""
    return f"A {word} value {moved}, from {event.before[-1, 0]:.6g} to {values[0]:.6g}{goes_on}."


def season_is_back(lost: Open, event: Open, seasons: tuple[float, ...]) -> bool:
    """Whether the rows after `event` are those of the season that `lost` lost, but for their level."""
    period = round(seasons[0]) if seasons else 0
    if not period or len(lost.before) < 2 * period or len(event.rows) < min(period, APART):
        return False
    usual = lost.before[period:, 0] - lost.before[:-period, 0]
    place = np.array([row.row for row in event.rows]) - lost.first
    now = np.array([row.value for row in event.rows]) - lost.before[len(lost.before) + place % period - period, 0]
    return bool(size(now - median(now)) < 2.0 * size(usual[-AROUND:]))


def _about_spikes(row: FollowedRow, rows: int) -> str:
    """The farthest of so many rows outside their intervals."""
    others = f" It is the farthest of {rows} such rows." if rows > 1 else ""
    return f"{row.value:.6g}, where {row.lower:.6g} to {row.upper:.6g} was expected.{others}"
