"""Timestamps: where a value lies on the stream's grid, how many steps are missing before it, and by how much it is off.

One rule for all streams. The grid (its step and its phase) follows the stamps as a phase-locked loop does: slowly, so
that noise in single stamps averages out. A stamp within `off` of a place on the grid belongs to it, and the places
passed over are gaps. Where one stamp in five belongs to no place, the times are irregular: then values are brought to
the grid by interpolation (`irregular.py`), and the grid is looked for again every 32 values. What clocks do besides:

- a stamp that is not after the newest one is late; after `late` late ones in a row the clock was set back, and the
  stream goes on from there, with a step for each of them;
- a hole of more than `longest_hole` steps means a clock that was set forward: its value is the next one. If the stamps
  after it are as before, it was wild, and the clock is set back at once. `late` such holes in a row mean another unit
  (nanoseconds where dt was given in seconds): a new grid;
- stamps rounded to whole units (seconds, for steps of 1.333 s) that are an even grid's within the rounding are that
  grid's, also where several values have one stamp;
- another rate (32 intervals in a row of two steps or more, or stamps between the places) starts a new grid from the
  last values.

Every stream has a clock of its own, a record of plain numbers that compiled code reads and writes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import inner
from prophecy.adaptive.fields import REAL, WHOLE, Field, record_type, require, within
from prophecy.adaptive.grids import fit, rounded
from prophecy.adaptive.limits import MOST
from prophecy.adaptive.settings import DEFAULT, Settings
from prophecy.adaptive.times import LARGEST_TIME

RECENT = 128
"""Stamps and values kept as they came, to look for a grid anew and to start from there: 2 kB a stream."""

FINE, AGAIN, ANOTHER, NONE, TRUE = 0, 1, 2, 3, 4
"""What a check of the grid finds: nothing to do; the old grid, after irregular times; another grid; no grid; a grid,
but values truly taken at stamps that jitter about it."""

ON_GRID, RANDOM, JITTER = 0, 1, 2
"""How times are taken: as places of the grid; as irregular; as irregular, with a grid they jitter about."""

_FARTHEST = 1e7 * LARGEST_TIME
"""Bound of times: stamps of another unit than dt are moved "long ago", up to a million of the longest intervals."""

FIELDS = (
    Field("count", WHOLE, (), 0, MOST, "stamps", "stamps taken"),
    Field("given", WHOLE, (), 0, 1, "flag", "1 where the user gave the step"),
    Field("irregular", WHOLE, (), 0, JITTER, "code", "`ON_GRID`, `RANDOM` or `JITTER`"),
    Field("late", WHOLE, (), 0, MOST, "stamps", "stamps in a row before the newest"),
    Field("coarse", WHOLE, (), 0, MOST, "stamps", "intervals in a row of two steps or more"),
    Field("odd", WHOLE, (), 0, 1, "flag", "1 if anything but single steps came since the last check"),
    Field("jumps", WHOLE, (), 0, MOST, "stamps", "intervals in a row beyond `longest_hole`"),
    Field("dt", REAL, (), 0, 2 * LARGEST_TIME, "s", "the step, 0 before it is known"),
    Field("last", REAL, (), -_FARTHEST, _FARTHEST, "s", "the newest stamp"),
    Field("grid", REAL, (), -_FARTHEST, _FARTHEST, "s", "the newest place on the grid"),
    Field("off", REAL, (), 0, 1, "1", "share of recent stamps that were off the grid"),
    Field("jump", REAL, (), 0, 2 * LARGEST_TIME, "s", "the shortest of the last jumps"),
    Field("found", REAL, (), 0, 2 * LARGEST_TIME, "s", "the step that the last check found"),
    Field("start", REAL, (), -_FARTHEST, _FARTHEST, "s", "the newest place that the last check found"),
    Field("before", REAL, (), -_FARTHEST, _FARTHEST, "s", "the stamp before the first of the last jumps"),
    Field("unit", REAL, (), 0, 2 * LARGEST_TIME, "s", "what stamps are rounded to, 0 where that does not matter"),
    Field("fitted", REAL, (), 0, MOST, "stamps", "how many stamps phase and step are fitted over"),
    Field("mean_offset", REAL, (), -1e6, 1e6, "steps", "mean of the recent offsets from the grid"),
    Field("mean_square", REAL, (), 0, 1e12, "steps²", "mean square of the recent offsets"),
    Field("recent", REAL, (RECENT,), -_FARTHEST, _FARTHEST, "s", "the last stamps, at count modulo their number"),
)

CLOCK = record_type(FIELDS)


@inner
def check_due(t: Any, count: int) -> bool:
    """Whether the grid is checked after this many stamps."""
    if count > t.clock.first_checks:
        return count % t.clock.check_every == 0  # type: ignore[no-any-return]
    power = 1
    while power * 2 <= count:
        power *= 2
    return count >= 3 and (count == power or 2 * count == 3 * power)


@inner
def understood(c: Any, t: Any, time: float) -> tuple[float, float]:
    """How a stamp is read, nothing being changed: (seconds since the newest one, 0), or (0, steps) since the newest
    value where the clock was set; (0, 0) where it is late."""
    passed, dt = time - c.last, c.dt if c.dt > 0.0 else 1.0
    if passed > 0.0:
        return (0.0, 1.0) if is_far(c, t, time) else (passed, 0.0)
    if passed == 0.0 and c.unit > 0.0 and abs(time - c.grid - dt) <= slack(c, t):
        return dt, 0.0
    if c.jumps > 0 and 0.5 * dt < time - c.before <= t.clock.longest_hole * dt:
        return 0.0, max((time - c.before) / dt - c.jumps, 0.5)  # wild stamps, and the clock as it was
    return 0.0, float(t.clock.late) if c.late + 1 >= t.clock.late else 0.0


@inner
def is_far(c: Any, t: Any, time: float) -> bool:
    """Whether a stamp lies so far ahead that the clock must have been set."""
    return c.dt > 0.0 and time - c.last > t.clock.longest_hole * c.dt  # type: ignore[no-any-return]


@inner
def arrival(c: Any, s: Any, t: Any, time: float) -> float:
    """Seconds from the newest stamp to this one by the stream's own count, 0 where it is late, NaN for the first.

    Where the clock was set, the stamps kept are moved so that the difference to `time` is what is returned.
    """
    if c.count == 0:
        return math.nan
    passed, steps = understood(c, t, time)
    if passed == 0.0 and steps == 0.0:
        c.late += 1
        return 0.0
    far = is_far(c, t, time)
    if far:
        interval = time - c.last
        c.jump = interval if c.jumps == 0 else min(c.jump, interval)
        c.before = c.last if c.jumps == 0 else c.before
    c.jumps = c.jumps + 1 if far else 0
    if c.dt == 0.0:
        c.dt = passed if passed > 0.0 else 1.0
    return passed if passed > 0.0 else _moved(c, s, time, steps)


@inner
def _moved(c: Any, s: Any, time: float, steps: float) -> float:
    """The clock was set: let the newest value have come `steps` steps before `time`."""
    # Where stamps cannot tell steps apart, a step is what they can tell apart.
    c.dt = max(c.dt, 2.0 * np.spacing(abs(time)))
    passed = steps * c.dt
    shift(c, s, time - passed - c.last)
    if c.irregular == ON_GRID:
        c.grid = time - passed
    return passed  # type: ignore[no-any-return]


@inner
def shift(c: Any, s: Any, seconds: float) -> None:
    """Move all stamps kept."""
    c.last += seconds
    c.grid += seconds
    s.newest += seconds
    for i in range(RECENT):
        c.recent[i] += seconds


@inner
def respace(c: Any, t: Any) -> None:
    """Another unit: let the last values have come `jump` seconds apart, those before them long ago."""
    for i in range(min(c.count, RECENT)):
        far = 0.0 if i <= c.jumps else 4.0 * t.clock.longest_hole
        c.recent[(c.count - 1 - i) % RECENT] = c.last - (i + far) * c.jump


@inner
def note(c: Any, time: float) -> None:
    """A stamp was taken."""
    c.recent[c.count % RECENT] = time
    c.count += 1
    c.late, c.last = 0, time


@inner
def keep_twice(c: Any, t: Any) -> None:
    """A stamp equal to the newest was not taken: steps may be below the resolution of the stamps, which shows later."""
    c.recent[c.count % RECENT] = c.last
    c.count += 1
    c.odd = 1
    c.off += (1.0 - c.off) / min(t.clock.off_over, float(c.count))


@inner
def place(c: Any, t: Any, time: float) -> tuple[float, float]:
    """The place of the grid a stamp belongs to, in steps after the newest, and how many steps beside it it lies.

    Stamps rounded to more than a step may belong to several places: then it is the next one if that is among them.
    """
    steps = (time - c.grid) / c.dt if c.count > 0 and c.dt > 0.0 else 1.0
    whole = max(math.floor(steps + 0.5), 1.0)
    if abs(steps - 1.0) * c.dt <= slack(c, t):
        whole = 1.0
    return whole, steps - whole


@inner
def slack(c: Any, t: Any) -> float:
    """Seconds that a rounded stamp may be from its place."""
    return max(min(t.clock.most_rounded * c.unit, c.dt - 0.5 * c.unit), t.clock.rounded * c.unit)  # type: ignore[no-any-return]


@inner
def beside(c: Any, t: Any, offset: float) -> float:
    """Steps by which a stamp is off its place, 0 for what is rounding."""
    return 0.0 if abs(offset) <= t.clock.rounding or abs(offset) * c.dt <= slack(c, t) else offset


@inner
def follow_stamp(c: Any, t: Any, offset: float, whole: float) -> None:
    """Move grid and step towards a stamp `whole` steps on and `offset` beside."""
    c.coarse = c.coarse + 1 if whole > 1.0 else 0
    off = beside(c, t, offset)
    c.off += ((1.0 if abs(off) > t.clock.off else 0.0) - c.off) / min(t.clock.off_over, float(c.count))
    if whole > 1.0 or off != 0.0:
        c.odd = 1
    seen = _remembered(c, t, offset)
    c.grid += c.dt * (whole + min(2.0 * (2.0 * seen - 1.0) / (seen * (seen + 1.0)), 1.0) * offset)
    if c.given == 0:
        c.dt *= 1.0 + 6.0 / ((seen + 1.0) * (seen + 2.0)) * offset / whole


@inner
def _remembered(c: Any, t: Any, offset: float) -> float:
    """Over how many stamps the grid is fitted, with this one: fewer once the clock has drifted."""
    c.fitted += 1.0
    rate = 1.0 / min(c.fitted, t.clock.steady)
    c.mean_offset += (offset - c.mean_offset) * rate
    c.mean_square += (offset * offset - c.mean_square) * rate
    doubt = math.sqrt(0.5 * t.clock.drifted * c.mean_square / t.clock.steady)
    if c.fitted > t.clock.steady and abs(c.mean_offset) > doubt:
        c.fitted, c.mean_offset = t.clock.steady, 0.0
    return c.fitted  # type: ignore[no-any-return]


@inner
def begin_anew(c: Any, t: Any) -> None:
    """The step was found anew, from the last stamps."""
    c.fitted, c.mean_offset, c.mean_square = float(min(c.count, t.clock.fitted_over)), 0.0, 0.0


@inner
def check_grid(c: Any, t: Any, true: bool) -> int:
    """Whether the stamps still fit the grid, if a check is due; where not, `found` is the step to go on with, and
    `start` its newest place.

    true: whether values have turned out to be taken at their very stamps, where these jitter.
    """
    if c.jumps >= t.clock.late:
        respace(c, t)
        c.found, c.start, c.unit, c.jumps = c.jump, c.last, 0.0, 0
        return ANOTHER
    if c.odd == 0 or c.count < 3 or not check_due(t, c.count):
        return FINE
    young = c.count <= t.clock.first_checks
    fine = c.irregular == ON_GRID and c.off <= t.clock.irregular and c.coarse < t.clock.check_every
    if fine and (c.unit > 0.0 or not young):
        c.odd = 1 if c.coarse > 0 or c.off > 0.0 or true else 0
        return TRUE if true else FINE
    n = min(c.count, RECENT)
    times, found = np.empty(n), 0
    for i in range(n):
        times[i] = c.recent[(c.count - n + i) % RECENT]
        if i and times[i] < times[i - 1]:
            return FINE
    c.found, c.start, c.unit = rounded(t, times)
    if c.unit > 0.0:
        c.odd = 0
        return ANOTHER
    if fine and c.given == 1:
        c.odd = 1 if c.coarse > 0 or c.off > 0.0 or true else 0
        return TRUE if true else FINE
    for i in range(max(n - t.clock.fitted_over, 0), n):
        if found == 0 or times[i] > times[found - 1]:
            times[found] = times[i]
            found += 1
    return _verdict(c, t, true, times[:found], young) if found >= 3 else FINE


@inner
def _verdict(c: Any, t: Any, true: bool, times: Any, young: bool) -> int:
    """What the last stamps, in rising order, ask for."""
    c.found, off, miss = fit(t, times)
    c.start = c.last
    regular = off <= t.clock.regular
    same = abs(math.log(c.found / c.dt)) < (t.clock.changed if regular else 0.25 if young else 0.5)
    if regular and same:
        settled = c.irregular == RANDOM or miss < t.clock.regular_again or not true
        return AGAIN if c.irregular != ON_GRID and settled else FINE
    if not regular and same and c.irregular != ON_GRID:
        c.irregular = RANDOM
    if not regular and (len(times) < t.clock.fewest or (c.irregular == RANDOM and same)):
        return FINE
    return ANOTHER if regular else NONE


def fresh_clocks(count: int, dt: float | None) -> NDArray[np.void]:
    """Clocks of `count` streams that have seen nothing."""
    clocks = np.zeros(count, dtype=CLOCK)
    clocks["given"], clocks["dt"] = dt is not None, dt or 0.0
    return clocks


def check_clocks(clocks: NDArray[np.void], count: int, settings: Settings = DEFAULT) -> None:
    """Refuse clocks no stream could have reached; ValueError."""
    if clocks.dtype != CLOCK or clocks.shape != (count,):
        raise ValueError(f"clocks must be {count} records of {CLOCK.itemsize} bytes")
    within(clocks, FIELDS)
    require(clocks, "jumps", clocks["jumps"] <= settings.clock.late, f"must be at most {settings.clock.late}")
    require(clocks, "dt", (clocks["dt"] > 0.0) | (clocks["count"] <= 1), "must be positive by now")
