"""Timestamps: where a value lies on the stream's grid, how many steps are missing before it, and by how much it is off.

One rule for all streams. The grid (its step and its phase) follows the stamps as a phase-locked loop does: slowly, so
that noise in single stamps averages out. A stamp within `off` of a place on the grid belongs to it, and the places
passed over are gaps. Where one stamp in five belongs to no place, the times are irregular: then values are brought to
the grid by interpolation (`kernels/irregular.py`), and the grid is looked for again every 32 values. Clocks also do:

- a stamp that is not after the newest one is late; after `late` late ones in a row the clock was set back, and the
  stream goes on from there, with a step for each of them;
- the steps of a hole are walked as far as values have earned them (`earned`, `most_walked`), the rest is passed over:
  the cost of a value is bounded;
- a hole of more than `longest_hole` steps means a clock that was set forward: its value is the next one. If the stamps
  after it are as before, it was wild, and the clock is set back at once. `late` such holes in a row mean another unit
  (nanoseconds where dt was given in seconds): a new grid;
- stamps rounded to whole units (seconds, for steps of 1.333 s) that are an even grid's within the rounding are that
  grid's, also where several values have one stamp;
- another rate (32 intervals in a row of two steps or more, or stamps between the places) starts a new grid from the
  last values.

Every stream has a clock of its own, a record of plain numbers that `kernels.clock` reads and writes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophecy.streams.fields import REAL, WHOLE, Field, record_type, require, within
from prophecy.streams.limits import JITTER, MOST, RECENT
from prophecy.streams.settings import DEFAULT, Settings
from prophecy.streams.times import LARGEST_TIME

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
    Field("walked", WHOLE, (), 0, MOST, "steps", "steps of holes taken lately, less what values have earned since"),
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
