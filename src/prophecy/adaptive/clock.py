"""Timestamps: where a value lies on the stream's grid, how many steps are missing before it, and by how much it is off.

One rule for all streams. The grid (its step and its phase) follows the stamps as a phase-locked loop does: slowly, so
that noise in single stamps averages out. A stamp within `OFF` of a place on the grid belongs to it, and the places
passed over are gaps. Where one stamp in five belongs to no place, the times are irregular: then values are brought to
the grid by interpolation (`irregular.py`), and the grid is looked for again every 32 values. What clocks do besides:

- a stamp that is not after the newest one is late; after `LATE` late ones in a row the clock was set back, and the
  stream goes on from there, with a step for each of them;
- a hole of more than `LONGEST_HOLE` steps means a clock that was set forward: its value is the next one. If the stamps
  after it are as before, it was wild, and the clock is set back at once. `LATE` such holes in a row mean another unit
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
from numpy.typing import ArrayLike, NDArray

from prophecy._compiled import inner
from prophecy.adaptive.fields import record_type
from prophecy.adaptive.times import LARGEST_TIME, seconds

Array = NDArray[np.float64]

OFF = 0.3
"""A stamp farther than this from every place on the grid, in steps, is off it: jitter of ± 25 % and the error of the
phase stay inside, random times are off in two cases of five."""

IRREGULAR, REGULAR = 0.2, 0.1
"""Share of stamps off the grid above which times are irregular, and below which a grid found anew is believed."""

CLOSE = 0.15
"""Largest mean distance from a grid found anew, in steps: any times are within half a step of one, 0.25 on average."""

EXACT = 1e-6
"""Offsets below this share of a step are rounding: the value is taken as lying on the grid."""

LATE = 4
LONGEST_HOLE = 2**17
"""Stamps in a row that must lie before the newest one for the clock to have been set back; steps of a hole beyond
which it was set forward: 36 hours at one value a second."""

RECENT = 128
"""Stamps and values kept as they came, to look for a grid anew and to start from there: 2 kB a stream."""

EVERY = 32
FIRST_LOOKS = 256
"""The grid is looked at after 3, 4, 6, 8, 12, 16, 24, … values up to 256, then every 32, if there was anything odd."""

LOOKED_AT = 64
"""Stamps a grid is looked for in: more would hide a rate that has just changed."""

STEADY, STEADIEST = 400.0, 16384.0
"""Stamps over which phase and step of the grid are fitted, at least and at most: by least squares over all since the
last time the clock drifted. Jitter of 10 % moves a phase fitted over 400 stamps by 0.6 % and from one stamp to the next
by 0.06 %, which where a signal moves by a thousand times its noise a step is noise as large as that."""

DRIFTED, SLIPPED = 16.0, 0.3
"""Square of the standard errors that the mean offset of the last 400 stamps lies from 0 where the clock has drifted;
units of rounded stamps it may lie there in any case: steps of nearly 4/3 units are off by 1/6 for hundreds of them."""

ROUNDED, MOST_ROUNDED = 0.65, 0.8
"""Units that a rounded stamp may be from its place: half a unit, and what the phase of the grid is not known by; more
where a place more or less would differ by more (steps of 1.3 units): then a fit of 400 stamps of steps of nearly 4/3
units has taken their errors, which drift with them, for part of the step, and is off by a third of a unit when they
wrap."""

EACH = 8
"""Intervals of either length from which on stamps are rounded: eight random holes in a grid are as evenly spaced as
rounding would have them about once in a thousand streams."""

SKIPPED = 0.2
"""Share of intervals of two units, or none, below which they are holes in a grid of one, or rows sent twice: a value
that is missing every ten steps is more likely than a step of 1.111 units, and stamps cannot tell them apart."""

CHANGED = 0.02
"""Share by which a step must differ to be another one: what was learned per step is void then."""

FEWEST = 16
"""Stamps before times may be called irregular."""

FINE, AGAIN, ANOTHER, NONE, TRUE = 0, 1, 2, 3, 4
"""What a look finds: nothing to do; the old grid, after irregular times; another grid; no grid; a grid, but values
truly taken at stamps that jitter about it."""

ON_GRID, RANDOM, JITTER = 0, 1, 2
"""How times are taken: as places of the grid; as irregular; as irregular, with a grid they jitter about."""

REGULAR_AGAIN = 1e-3
"""Mean distance from the grid, in steps, below which stamps no longer jitter."""

FORGET = 32.0
"""Stamps over which the share of those off the grid is averaged."""

PARTS = 6
"""Parts in which the typical interval is tried as a step: a sensor that reports every 2 to 6 steps of its clock."""

CLOCK = record_type(
    [
        ("count", np.int64),
        ("given", np.int64),
        ("irregular", np.int64),
        ("late", np.int64),
        ("coarse", np.int64),
        ("odd", np.int64),
        ("jumps", np.int64),
        ("dt", np.float64),
        ("last", np.float64),
        ("grid", np.float64),
        ("off", np.float64),
        ("jump", np.float64),
        ("found", np.float64),
        ("start", np.float64),
        ("before", np.float64),
        ("unit", np.float64),
        ("memory", np.float64),
        ("lean", np.float64),
        ("spread", np.float64),
        ("recent", np.float64, (RECENT,)),
    ]
)
"""count: stamps taken; given: 1 where the user said the step; irregular: `ON_GRID`, `RANDOM` or `JITTER`; late: stamps
in a row before the newest; coarse: intervals in a row of two steps or more; odd: 1 if anything but single steps came
since the last look; jumps: holes in a row beyond `LONGEST_HOLE`; dt: the step, 0 before it is known; last: the newest
stamp; grid: the newest place on the grid; off: share of stamps that were off it lately; jump: the shortest of the last
jumps, before: the stamp before the first of them; found, start: step and newest place the last look found; unit: what
stamps are rounded to, 0 where that is no matter; memory: stamps that phase and step are fitted over; lean, spread: mean
and mean square of their offsets lately, in steps; recent: the last stamps, at count modulo their number. Seconds
throughout."""


@inner
def look_due(count: int) -> bool:
    """Whether the grid is looked at after this many stamps."""
    if count > FIRST_LOOKS:
        return count % EVERY == 0
    power = 1
    while power * 2 <= count:
        power *= 2
    return count >= 3 and (count == power or 2 * count == 3 * power)


@inner
def understood(c: Any, time: float) -> tuple[float, float]:
    """How a stamp is read, nothing being changed: (seconds since the newest one, 0), or (0, steps) since the newest
    value where the clock was set; (0, 0) where it is late."""
    passed, dt = time - c.last, c.dt if c.dt > 0.0 else 1.0
    if passed > 0.0:
        return (0.0, 1.0) if is_far(c, time) else (passed, 0.0)
    if passed == 0.0 and c.unit > 0.0 and abs(time - c.grid - dt) <= slack(c):
        return dt, 0.0
    if c.jumps > 0 and 0.5 * dt < time - c.before <= LONGEST_HOLE * dt:
        return 0.0, max((time - c.before) / dt - c.jumps, 0.5)  # wild stamps, and the clock as it was
    return 0.0, float(LATE) if c.late + 1 >= LATE else 0.0


@inner
def is_far(c: Any, time: float) -> bool:
    """Whether a stamp lies so far ahead that the clock must have been set."""
    return c.dt > 0.0 and time - c.last > LONGEST_HOLE * c.dt  # type: ignore[no-any-return]


@inner
def arrival(c: Any, s: Any, time: float) -> float:
    """Seconds from the newest stamp to this one by the stream's own count, 0 where it is late, NaN for the first.

    Where the clock was set, the stamps kept are moved so that the difference to `time` is what is returned.
    """
    if c.count == 0:
        return math.nan
    passed, steps = understood(c, time)
    if passed == 0.0 and steps == 0.0:
        c.late += 1
        return 0.0
    far = is_far(c, time)
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
def respace(c: Any) -> None:
    """Another unit: let the last values have come `jump` seconds apart, those before them long ago."""
    for i in range(min(c.count, RECENT)):
        far = 0.0 if i <= c.jumps else 4.0 * LONGEST_HOLE
        c.recent[(c.count - 1 - i) % RECENT] = c.last - (i + far) * c.jump


@inner
def note(c: Any, time: float) -> None:
    """A stamp was taken."""
    c.recent[c.count % RECENT] = time
    c.count += 1
    c.late, c.last = 0, time


@inner
def keep_twice(c: Any) -> None:
    """A stamp equal to the newest was not taken: steps may be below the resolution of the stamps, which shows later."""
    c.recent[c.count % RECENT] = c.last
    c.count += 1
    c.odd = 1
    c.off += (1.0 - c.off) / min(FORGET, float(c.count))


@inner
def place(c: Any, time: float) -> tuple[float, float]:
    """The place of the grid a stamp belongs to, in steps after the newest, and how many steps beside it it lies.

    Stamps rounded to more than a step may belong to several places: then it is the next one if that is among them."""
    steps = (time - c.grid) / c.dt if c.count > 0 and c.dt > 0.0 else 1.0
    whole = max(math.floor(steps + 0.5), 1.0)
    if abs(steps - 1.0) * c.dt <= slack(c):
        whole = 1.0
    return whole, steps - whole


@inner
def slack(c: Any) -> float:
    """Seconds that a rounded stamp may be from its place."""
    return max(min(MOST_ROUNDED * c.unit, c.dt - 0.5 * c.unit), ROUNDED * c.unit)  # type: ignore[no-any-return]


@inner
def beside(c: Any, offset: float) -> float:
    """Steps by which a stamp is off its place, 0 for what is rounding."""
    return 0.0 if abs(offset) <= EXACT or abs(offset) * c.dt <= slack(c) else offset


@inner
def follow_stamp(c: Any, offset: float, whole: float) -> None:
    """Move grid and step towards a stamp `whole` steps on and `offset` beside."""
    c.coarse = c.coarse + 1 if whole > 1.0 else 0
    off = beside(c, offset)
    c.off += ((1.0 if abs(off) > OFF else 0.0) - c.off) / min(FORGET, float(c.count))
    if whole > 1.0 or off != 0.0:
        c.odd = 1
    seen = _remembered(c, offset)
    c.grid += c.dt * (whole + min(2.0 * (2.0 * seen - 1.0) / (seen * (seen + 1.0)), 1.0) * offset)
    if c.given == 0:
        c.dt *= 1.0 + 6.0 / ((seen + 1.0) * (seen + 2.0)) * offset / whole


@inner
def _remembered(c: Any, offset: float) -> float:
    """Over how many stamps the grid is fitted, with this one: fewer once the clock has drifted."""
    c.memory = min(c.memory + 1.0, STEADIEST)
    rate = 1.0 / min(c.memory, STEADY)
    c.lean += (offset - c.lean) * rate
    c.spread += (offset * offset - c.spread) * rate
    doubt = max(math.sqrt(0.5 * DRIFTED * c.spread / STEADY), SLIPPED * c.unit / c.dt)
    if c.memory > STEADY and abs(c.lean) > doubt:
        c.memory, c.lean = STEADY, 0.0
    return c.memory  # type: ignore[no-any-return]


@inner
def begin_anew(c: Any) -> None:
    """The step was found anew, from the last stamps."""
    c.memory, c.lean, c.spread = float(min(c.count, LOOKED_AT)), 0.0, 0.0


@inner
def look(c: Any, true: bool) -> int:
    """Whether the stamps still fit the grid, if it is time to look; where not, `found` is the step to go on with, and
    `start` its newest place.

    true: whether values have turned out to be taken at their very stamps, where these jitter.
    """
    if c.jumps >= LATE:
        respace(c)
        c.found, c.start, c.unit, c.jumps = c.jump, c.last, 0.0, 0
        return ANOTHER
    if c.odd == 0 or c.count < 3 or not look_due(c.count):
        return FINE
    young = c.count <= FIRST_LOOKS
    fine = c.irregular == ON_GRID and c.off <= IRREGULAR and c.coarse < EVERY
    if fine and (c.unit > 0.0 or not young):
        c.odd = 1 if c.coarse > 0 or c.off > 0.0 or true else 0
        return TRUE if true else FINE
    n = min(c.count, RECENT)
    times, found = np.empty(n), 0
    for i in range(n):
        times[i] = c.recent[(c.count - n + i) % RECENT]
        if i and times[i] < times[i - 1]:
            return FINE
    c.found, c.start, c.unit = rounded(times)
    if c.unit > 0.0:
        c.odd = 0
        return ANOTHER
    if fine and c.given == 1:
        c.odd = 1 if c.coarse > 0 or c.off > 0.0 or true else 0
        return TRUE if true else FINE
    for i in range(max(n - LOOKED_AT, 0), n):
        if found == 0 or times[i] > times[found - 1]:
            times[found] = times[i]
            found += 1
    return _looked(c, true, times[:found], young) if found >= 3 else FINE


@inner
def _looked(c: Any, true: bool, times: Any, young: bool) -> int:
    """What the last stamps, in rising order, ask for."""
    c.found, off, miss = fit(times)
    c.start = c.last
    regular = off <= REGULAR
    same = abs(math.log(c.found / c.dt)) < (CHANGED if regular else 0.25 if young else 0.5)
    if regular and same:
        settled = c.irregular == RANDOM or miss < REGULAR_AGAIN or not true
        return AGAIN if c.irregular != ON_GRID and settled else FINE
    if not regular and same and c.irregular != ON_GRID:
        c.irregular = RANDOM
    if not regular and (len(times) < FEWEST or (c.irregular == RANDOM and same)):
        return FINE
    return ANOTHER if regular else NONE


@inner
def rounded(times: Any) -> tuple[float, float, float]:
    """An even grid whose times, rounded to whole units, the newest of these are: its step, newest place and that unit;
    all 0 where there is none.

    Rounding makes two lengths of intervals, a unit apart, so evenly mixed that every stamp is within half a unit of a
    straight line. Holes in a grid of one unit look like that too if they come evenly; they are not so many then.
    """
    n = len(times)
    unit, fuzz = 0.0, max(1e-3 * (times[n - 1] - times[0]) / n, 8.0 * np.spacing(abs(times[n - 1])))
    for i in range(1, n):
        unit = _common(times[i] - times[i - 1], unit, fuzz)
    if not unit > fuzz:
        return 0.0, 0.0, 0.0
    first, shortest, longest = n - 1, math.inf, -math.inf
    while first > 0:
        interval = times[first] - times[first - 1]
        if max(longest, interval) - min(shortest, interval) > 1.5 * unit:
            break
        shortest, longest, first = min(shortest, interval), max(longest, interval), first - 1
    count, across, along, long = n - first, 0.0, 0.0, 0
    middle, mean = 0.5 * (count - 1), 0.0
    for i in range(count):
        mean += (times[first + i] - times[first]) / count
        if i and times[first + i] - times[first + i - 1] > shortest + 0.5 * unit:
            long += 1
    for i in range(count):
        across += (i - middle) * (times[first + i] - times[first] - mean)
        along += (i - middle) ** 2
    odd = count - 1 - long if shortest < 0.5 * unit else long if shortest < 1.5 * unit else count
    if min(long, count - 1 - long) < EACH or odd < SKIPPED * count:
        return 0.0, 0.0, 0.0
    dt = across / along
    for i in range(count):
        if abs(times[first + i] - times[first] - mean - dt * (i - middle)) > ROUNDED * unit:
            return 0.0, 0.0, 0.0
    return dt, times[first] + mean + dt * middle, unit


@inner
def _common(a: float, b: float, fuzz: float) -> float:
    """The largest number that both are multiples of, to within `fuzz` (Euclid)."""
    while b > fuzz:
        a, b = b, abs(a - math.floor(a / b + 0.5) * b)
    return a


@inner
def sort(x: Any, count: int) -> None:
    """The first `count` numbers of x in rising order, in place; there are few."""
    for i in range(1, count):
        value, j = x[i], i
        while j > 0 and x[j - 1] > value:
            x[j] = x[j - 1]
            j -= 1
        x[j] = value


@inner
def fit(times: Any) -> tuple[float, float, float]:
    """The coarsest grid these increasing times fit: its step, the share of them that are off it, and how far they are
    from it on average, in steps.

    Where none fits, the median interval, 1 and 1. Tried are the median interval and the shortest usual
    one, whole and in 2 to 6 parts.
    """
    n = len(times) - 1
    sorted_intervals, steps = np.empty(n), np.empty(2 * PARTS)
    for i in range(n):
        sorted_intervals[i] = times[i + 1] - times[i]
    sort(sorted_intervals, n)
    usual = 0.5 * (sorted_intervals[(n - 1) // 2] + sorted_intervals[n // 2])
    short = sorted_intervals[int(0.1 * (n - 1))]
    for parts in range(1, PARTS + 1):
        steps[parts - 1], steps[PARTS + parts - 1] = usual / parts, short / parts
    sort(steps, 2 * PARTS)
    for i in range(2 * PARTS - 1, -1, -1):
        dt, off, miss = _fit_step(times, steps[i])
        if dt > 0.0 and off <= REGULAR and miss < CLOSE:
            return dt, off, miss
    return usual, 1.0, 1.0


@inner
def _fit_step(times: Any, step: float) -> tuple[float, float, float]:
    """Least squares for a grid whose step is about `step`: the step, the share of times off it, the mean distance."""
    n = len(times)
    dt, start = step, 0.0
    for _ in range(3):
        place, mean_place, mean_time = 0.0, 0.0, 0.0
        for i in range(n):
            place += max(math.floor((times[i] - times[i - 1]) / dt + 0.5), 1.0) if i else 0.0
            mean_place += place / n
            mean_time += (times[i] - times[0]) / n
        place, across, along = 0.0, 0.0, 0.0
        for i in range(n):
            place += max(math.floor((times[i] - times[i - 1]) / dt + 0.5), 1.0) if i else 0.0
            across += (place - mean_place) * (times[i] - times[0] - mean_time)
            along += (place - mean_place) ** 2
        if not along > 0.0 or not across > 0.0:
            return 0.0, 1.0, 1.0
        place, off, miss, wide = 0.0, 0.0, 0.0, dt
        dt = across / along
        start = mean_time - dt * mean_place
        for i in range(n):
            place += max(math.floor((times[i] - times[i - 1]) / wide + 0.5), 1.0) if i else 0.0
            distance = abs((times[i] - times[0] - start) / dt - place)
            off += (1.0 if distance > OFF else 0.0) / n
            miss += distance / n
    return dt, off, miss


def fresh_clocks(count: int, dt: float | None) -> NDArray[np.void]:
    """Clocks of `count` streams that have seen nothing."""
    clocks = np.zeros(count, dtype=CLOCK)
    clocks["given"], clocks["dt"] = dt is not None, dt or 0.0
    return clocks


def checked(stamped: bool, time: ArrayLike | None, moments: int, count: int) -> Array | None:
    """`time` as (moments,) finite seconds; None where none are given."""
    if time is None:
        return None
    times = np.atleast_1d(seconds(time))
    if times.shape != (moments,):
        raise ValueError(f"time must be one number per moment, {moments} of them, got shape {np.shape(time)}")
    if count and not stamped:
        raise ValueError("time must be given from the first value on or not at all; call reset first")
    bad = ~(np.abs(times) <= LARGEST_TIME)
    if np.isnan(times).any():
        first = int(np.argmax(np.isnan(times)))
        raise ValueError(
            f"time must be finite, and is missing at moment {first} of {moments}; drop moments without one"
        )
    if bad.any():
        raise ValueError(
            f"time must be finite and at most {LARGEST_TIME:g} in size, got {times[int(np.argmax(bad))]}; rescale it"
        )
    return times


def check_clocks(clocks: NDArray[np.void], count: int) -> None:
    """Refuse clocks no stream could have reached; ValueError."""
    if clocks.dtype != CLOCK or clocks.shape != (count,):
        raise ValueError(f"clocks must be {count} records of {CLOCK.itemsize} bytes")
    for name, most in (
        ("given", 1),
        ("irregular", JITTER),
        ("odd", 1),
        ("count", 2**53),
        ("late", 2**53),
        ("coarse", 2**53),
        ("jumps", LATE),
    ):
        if not ((clocks[name] >= 0) & (clocks[name] <= most)).all():
            raise ValueError(f"{name} of a clock must lie between 0 and {most}, got {clocks[name]}")
    numbers = np.column_stack([clocks[name] for name in ("last", "grid", "start", "before", "recent")])
    # Stamps of another unit than dt are put "long ago", which is up to a million of the longest intervals.
    if not (np.abs(numbers) <= 1e7 * LARGEST_TIME).all() or not ((clocks["off"] >= 0) & (clocks["off"] <= 1)).all():
        raise ValueError(
            f"times of a clock must be at most {1e7 * LARGEST_TIME:g} in size, and off between 0 and 1, got "
            f"times up to {np.abs(numbers).max()} and off = {clocks['off']}"
        )
    for name, lowest, highest in (("memory", 0.0, STEADIEST), ("lean", -1e6, 1e6), ("spread", 0.0, 1e12)):
        if not ((clocks[name] >= lowest) & (clocks[name] <= highest)).all():
            raise ValueError(f"{name} of a clock must lie between {lowest:g} and {highest:g}, got {clocks[name]}")
    dt = clocks["dt"]
    for name in ("jump", "found", "unit"):
        if not ((clocks[name] >= 0) & (clocks[name] <= 2 * LARGEST_TIME)).all():
            raise ValueError(f"{name} of a clock must be positive, got {clocks[name]}")
    if not ((dt >= 0.0) & (dt <= 2 * LARGEST_TIME) & ((dt > 0.0) | (clocks["count"] <= 1))).all():
        raise ValueError(f"dt of a clock must be positive, got {dt}")
