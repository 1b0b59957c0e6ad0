"""What a stream knows: one record of fixed size, its fields with meaning, unit and limits, and the check of them all.

A batch is an array of records, saving is writing the array, and a record continues on any machine. Nothing that was
read from a file reaches the step before `check` has found it to be a record some stream could have reached.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.adaptive import members as m
from prophecy.adaptive.alarms import BLOCKS, LONG, QUANTITIES, RANKED
from prophecy.adaptive.fields import record_type
from prophecy.adaptive.folding import LONGEST, SHORTEST
from prophecy.adaptive.gaps import OCTAVES
from prophecy.adaptive.long_seasons import BLOCKS as BLOCKS_KEPT
from prophecy.adaptive.readings import TRIES
from prophecy.adaptive.season_check import LONGEST_REST
from prophecy.adaptive.seasonal import FEATURES as SEASON_FEATURES
from prophecy.adaptive.seasonal import MEMBERS as SEASONAL
from prophecy.adaptive.seasonal import STARTS
from prophecy.adaptive.seasons import FLAGS, RING
from prophecy.adaptive.sketch import CENTROIDS
from prophecy.adaptive.stamps import KINDS

Records = NDArray[np.void]

LARGEST = 1e75
"""Largest value taken in; its fourth power is a float64 still."""

MOST = 2**53
"""Largest count: whole numbers up to here are exact as float64."""

_MOVED = 1e80
"""Bound of anything linear in the values: the largest readout of any member magnifies less than 1e5 times."""

SQUARED = _MOVED**2
"""Bound of squared errors."""


SEASON_FACTORS = int(STARTS[-1])


class Field(NamedTuple):
    """A field of the record: numbers between `low` and `high`. kind: "f8" real, "i8" whole."""

    name: str
    kind: str
    shape: tuple[int, ...]
    low: float
    high: float
    unit: str
    meaning: str


_REAL, _WHOLE = "f8", "i8"
_SOLVED = (len(m.SOLVED),)

FIELDS = (
    Field("hold", _WHOLE, (), 0, 1, "flag", "1 where a gap repeats the last value, 0 where it is filled by prediction"),
    Field("count", _WHOLE, (), 0, MOST, "samples", "moments since the first value, gaps included"),
    Field("gap", _WHOLE, (), 0, MOST, "samples", "values missing since the last known one"),
    Field("known", _WHOLE, (), 0, MOST, "samples", "known values"),
    Field("spacing", _REAL, (), 1, MOST, "samples", "usual distance between known values"),
    Field("learned", _WHOLE, (), 0, MOST, "samples", "values learned from"),
    Field("last", _REAL, (), -LARGEST, LARGEST, "signal", "the newest value, or what stands in for it"),
    Field("change", _REAL, (), -_MOVED, _MOVED, "signal", "the next value, predicted, less the newest"),
    Field("mean", _REAL, (), -_MOVED, _MOVED, "signal", "running mean of the values"),
    Field("lag", _REAL, (m.LAGS,), -LARGEST, LARGEST, "signal", "the last values, newest first"),
    Field("feature", _REAL, (m.FEATURES,), -_MOVED, _MOVED, "signal", "lags and memories relative to the newest value"),
    Field("alternation", _REAL, (2,), -_MOVED, _MOVED, "signal", "filters that hold what alternates"),
    Field("prediction", _REAL, (m.MEMBERS,), -_MOVED, _MOVED, "signal", "the next change, as each member predicts it"),
    Field("weight", _REAL, (m.MEMBERS,), 0, 1, "probability", "belief in each member; they add up to 1"),
    Field("scale", _REAL, (m.MEMBERS,), 0, SQUARED, "signal²", "discounted mean squared error of each member"),
    Field("peak", _REAL, (m.MEMBERS,), 0, SQUARED, "signal²", "largest squared error in this block"),
    Field("last_peak", _REAL, (m.MEMBERS,), 0, SQUARED, "signal²", "largest squared error in the block before"),
    Field("error_scale", _REAL, (), 0, SQUARED, "signal²", "discounted mean squared error of the forecast"),
    Field("error_peak", _REAL, (), 0, SQUARED, "signal²", "its largest squared error in this block"),
    Field("last_error_peak", _REAL, (), 0, SQUARED, "signal²", "its largest squared error in the block before"),
    Field("quantile", _REAL, (len(m.LEVELS),), 0, 1e6, "root mean squares", "quantiles of its absolute errors"),
    Field("tail", _REAL, (), -1, 4, "1", "how much heavier the tail of its errors is than a normal one's"),
    Field("bias", _REAL, (m.FIXED,), -_MOVED, _MOVED, "signal", "average error of each constructed member"),
    Field("squared_bias", _REAL, (m.FIXED,), 0, SQUARED, "signal²", "average of its square"),
    Field("factor", _REAL, (m.FACTORS,), -1e107, 1e107, "1/signal", "square roots of the solved members' covariances"),
    Field("stretch", _REAL, _SOLVED, 1, 1e3, "1", "growth of each factor not yet applied to it"),
    Field("readout", _REAL, (len(m.SOLVED), m.WIDTH), -1e120, 1e120, "1", "weights of the solved members"),
    Field("power", _REAL, _SOLVED, 0, SQUARED, "signal²", "mean square of each solved member's features"),
    Field("usual", _REAL, _SOLVED, 0, SQUARED, "signal²", "squared error usual for each, over a long time"),
    Field("begun", _WHOLE, _SOLVED, 0, 1, "flag", "1 where a factor has its prior"),
    Field("pause", _WHOLE, _SOLVED, 0, 1e6, "samples", "for how long each learns nothing, after an outlier"),
    Field("drift", _REAL, (len(m.WINDOWS), m.ORDER), -_MOVED, _MOVED, "1", "what a slope of 1 since the gap adds to z"),
    Field("alternation_drift", _REAL, (2,), -_MOVED, _MOVED, "1", "what it adds to the alternations"),
    Field("same", _WHOLE, (), 0, MOST, "samples", "values equal to the newest, in a row before it"),
    Field("longest", _WHOLE, (), 0, MOST, "samples", "the most that ever were the same in a row, before those of now"),
    Field("rests", _WHOLE, (), 0, MOST, "1", "how often 16 differences or more in a row were 0, before those of now"),
    Field("tick", _REAL, (), 0, _MOVED, "signal", "common divisor of the differences so far"),
    Field("tick_hits", _WHOLE, (), 0, MOST, "samples", "differences in a row that were multiples of it"),
    Field("tick_misses", _WHOLE, (), 0, TRIES, "samples", "differences in a row that were not"),
    Field("stamps", _WHOLE, (), 0, MOST, "samples", "values that came off their grid"),
    Field("stamp_error", _REAL, (KINDS,), 0, SQUARED, "signal²", "mean squared errors of the readings of timestamps"),
    Field("gap_seen", _WHOLE, (OCTAVES,), 0, MOST, "1", "unusual gaps of 1, 2–3, 4–7, … steps so far"),
    Field("gap_error", _REAL, (OCTAVES,), 0, _MOVED, "signal", "largest recent error right after each kind"),
    Field("belief_ahead", _REAL, (2,), -_MOVED, _MOVED, "signal", "next change, as foretold and as far as believed"),
    Field("belief_weight", _REAL, (2,), 0, 1, "probability", "belief in each of them; they add up to 1"),
    Field("belief_scale", _REAL, (2,), 0, SQUARED, "signal²", "their discounted mean squared errors"),
    Field("belief_peak", _REAL, (2,), 0, SQUARED, "signal²", "largest squared error in this block"),
    Field("belief_last_peak", _REAL, (2,), 0, SQUARED, "signal²", "largest squared error in the block before"),
    Field("belief_sums", _REAL, (2,), -1e40, 1e40, "1", "changes that came, and foretold, times the foretold"),
    Field("season_periods", _REAL, (2,), 0, LONGEST, "samples", "seasons found, the shorter first; 0 for none"),
    Field("season_strength", _REAL, (2,), -2, 2, "1", "autocorrelations at the seasons"),
    Field("season_check", _WHOLE, (), 0, 2 * MOST, "samples", "count at which seasons are looked for next"),
    Field("season_on", _WHOLE, (), 0, 1, "flag", "1 while the seasonal members run"),
    Field("season_rest", _WHOLE, (), 0, LONGEST_REST, "checks", "checks to pass over, the members having been no use"),
    Field("season_rests", _WHOLE, (), 0, LONGEST_REST, "checks", "how many the last time"),
    Field("season_seen", _WHOLE, (), 0, MOST, "samples", "values the seasonal readouts have learned from"),
    Field("season_mixed", _WHOLE, (), 0, MOST, "samples", "values the seasonal mixture has learned from"),
    Field("season_since", _WHOLE, (), 0, MOST, "samples", "values learned from since the last check"),
    Field("season_moves", _REAL, (), 0, 1e300, "signal²", "sum of the squared differences since then"),
    Field("season_alone", _REAL, (), 0, 1e300, "signal²", "sum of the bank's own squared errors since then"),
    Field("season_power", _REAL, (), 0, SQUARED, "signal²", "mean square of the seasonal features"),
    Field("season_features", _REAL, (SEASON_FEATURES,), -_MOVED, _MOVED, "signal", "lags and seasons, less the newest"),
    Field("season_weights", _REAL, (3, SEASON_FEATURES), -1e120, 1e120, "1", "weights of the seasonal readouts"),
    Field("season_factor", _REAL, (SEASON_FACTORS,), -1e107, 1e107, "1/signal", "roots of their covariances"),
    Field("season_stretch", _REAL, (3,), 1, 2, "1", "what the roots are yet to be multiplied by"),
    Field("season_size", _REAL, (3,), 0, 1e240, "1/signal²", "sums of their squares when that was last done"),
    Field("season_errors", _REAL, (3,), 0, _MOVED, "signal", "their mean absolute errors"),
    Field("season_ahead", _REAL, (SEASONAL,), -_MOVED, _MOVED, "signal", "next change, by the bank and each member"),
    Field("season_mix", _REAL, (SEASONAL,), 0, 1, "probability", "belief in the bank and each seasonal member"),
    Field("season_scales", _REAL, (SEASONAL,), 0, SQUARED, "signal²", "their discounted mean squared errors"),
    Field("season_peak", _REAL, (SEASONAL,), 0, SQUARED, "signal²", "largest squared error in this block"),
    Field("season_last_peak", _REAL, (SEASONAL,), 0, SQUARED, "signal²", "largest squared error in the block before"),
    Field("season_sums", _REAL, (2,), 0, 1e300, "signal", "absolute errors since the check: the bank's, the mixture's"),
    Field(
        *("season_filled", _WHOLE, (RING // FLAGS,), 0, 2**FLAGS - 1, "flags"),
        "a bit for each place of the ring: 1 is missing",
    ),
    Field("season_blocks", _WHOLE, (), 0, MOST, "blocks", "means of 32 values taken so far"),
    Field("season_means", _REAL, (BLOCKS_KEPT,), -_MOVED, _MOVED, "signal", "the last of them, for long seasons"),
    Field("alarm", _REAL, (), 0, 1, "1 - probability", "how unusual the newest value makes the recent stretch"),
    Field("alarm_seen", _WHOLE, (), 0, MOST, "samples", "values ranked so far"),
    Field("alarm_error", _REAL, (), 0, _MOVED, "signal", "mean absolute error of all forecasts"),
    Field("alarm_exact", _WHOLE, (), 0, MOST, "samples", "exact predictions in a row until now"),
    Field("alarm_log", _REAL, (LONG,), -400, 400, "log signal", "logarithms of the last errors"),
    Field("alarm_sums", _REAL, (2,), -4e4, 4e4, "log signal", "sums of the last 20 and of the last 80 of them"),
    Field("alarm_other", _WHOLE, (), 0, 1, "flag", "1 while the noise is of another size than ever"),
    Field(
        "alarm_quantity",
        _REAL,
        (QUANTITIES,),
        -_MOVED,
        _MOVED,
        "signal",
        "error, difference, value, level, noise twice, sum, place",
    ),
    Field("alarm_tail", _REAL, (RANKED,), 0, 1, "probability", "ranks of error, difference, value, level, noise"),
    Field("alarm_size", _WHOLE, (QUANTITIES,), 0, CENTROIDS, "1", "centroids of each sketch in use"),
    Field("alarm_middle", _REAL, (QUANTITIES, CENTROIDS), -_MOVED, _MOVED, "signal", "centroids, in rising order"),
    Field("alarm_weight", _REAL, (QUANTITIES, CENTROIDS), 0, MOST, "values", "how many values each stands for"),
    Field("alarm_records", _WHOLE, (QUANTITIES, 2), 0, MOST, "values", "how many were the least, the largest so far"),
    Field("alarm_before", _REAL, (), -_MOVED, _MOVED, "signal", "mean of the last whole block of 20 values"),
    Field("alarm_change", _REAL, (), -_MOVED, _MOVED, "signal", "mean change from block to block"),
    Field("alarm_square", _REAL, (), 0, SQUARED, "signal²", "its mean square"),
    Field("alarm_drift", _REAL, (), -_MOVED, _MOVED, "signal", "drift a value, as far as it is certain"),
    Field("alarm_origin", _REAL, (), -_MOVED, _MOVED, "signal", "sum of these: how far the stream has drifted"),
    Field("alarm_block", _REAL, (BLOCKS,), 0, 100, "log10", "largest sum of ranks in each of the last blocks"),
    Field("alarm_place", _WHOLE, (), 0, BLOCKS - 1, "1", "the block of now"),
    Field("alarm_left", _WHOLE, (), 0, MOST, "samples", "values until it is full"),
)
"""All fields. A further one is one more line, if it starts at 0; the dtype, the check and the documentation follow."""

RECORD = record_type([(field.name, field.kind, field.shape) for field in FIELDS])

ERRORS = ("count", "gap", "learned", "last", "error_scale", "error_peak", "last_error_peak", "quantile", "tail")
"""The fields that calibration, intervals and scores use."""


def documented() -> str:
    """The fields as the table of docs/prophecy.md."""
    lines = ["| field | numbers | between | unit | meaning |", "|---|---|---|---|---|"]
    for field in FIELDS:
        shape = " × ".join(map(str, field.shape)) or "1"
        numbers = f"{shape}{', whole' if field.kind == _WHOLE else ''}"
        lines.append(
            f"| `{field.name}` | {numbers} | {field.low:g} … {field.high:g} | {field.unit} | {field.meaning} |"
        )
    size = f"{RECORD.itemsize} bytes in all."
    return "\n".join([*lines, "", size])


def fresh(count: int, table: NDArray[np.void], hold: bool = False) -> Records:
    """Records of `count` streams that have seen nothing."""
    records = np.zeros(count, dtype=RECORD)
    t = table[0]
    records["hold"] = hold
    records["spacing"] = 1.0
    records["weight"] = t["prior"]
    records["quantile"] = t["normal"]
    records["stretch"] = 1.0
    records["readout"] = t["start"]
    records["season_check"] = t["seasons"]["first_check"]
    records["season_mix"] = t["seasonal"]["prior"]
    records["belief_weight"] = t["belief_prior"]
    records["season_stretch"] = 1.0
    return records


def rings(count: int) -> NDArray[np.float64]:
    """Room for the last `RING` values of `count` streams: (count, RING); memory is taken as it is written to."""
    return np.zeros((count, RING))


def check(records: Records, table: NDArray[np.void]) -> None:
    """Refuse records that no stream could have reached, naming stream, field and value; ValueError."""
    within(records, FIELDS)
    t = table[0]
    _all(records, "weight", np.abs(records["weight"].sum(axis=1) - 1.0) < 1e-9, "must add up to 1")
    _all(records, "weight", records["weight"] >= 0.999 * t["share"] * t["prior"], "must be at least the share")
    bounded = (records["quantile"] >= t["lowest"]) & (records["quantile"] <= t["highest"])
    _all(records, "quantile", bounded, f"must lie between {t['lowest']} and {t['highest']}")
    for name in ("learned", "known", "gap"):
        _all(records, name, records[name] <= records["count"], "must be at most count")
    _all(records, "learned", records["learned"] <= records["known"], "must be at most known")
    for name in ("season_mix", "belief_weight"):
        _all(records, name, np.abs(records[name].sum(axis=1) - 1.0) < 1e-9, "must add up to 1")
    periods = records["season_periods"]
    _all(records, "season_periods", (periods == 0) | (periods > SHORTEST - 1), f"must be 0 or above {SHORTEST - 1}")
    _all(records, "season_on", (records["season_on"] == 0) | (periods[:, 0] > 0), "must be 0 without a season")
    learned = records["learned"] > 0
    for name in ("scale", "error_scale"):
        positive = records[name] > 0.0
        _all(records, name, positive | ~(learned[:, None] if positive.ndim > 1 else learned), "must be positive by now")
    began = records["count"] > 0
    newest = records["lag"][:, 0] == records["last"]
    _all(records, "lag", newest | ~began, "must begin with the newest value")
    relative = records["feature"][:, : m.LAGS] == records["lag"] - records["last"][:, None]
    _all(records, "feature", relative | ~began[:, None], "must be the lag less the newest value")
    _all(records, "pause", records["pause"] <= t["traces"], "must be at most what an outlier takes to leave")


def within(records: Records, fields: tuple[Field, ...]) -> None:
    """Refuse fields outside their limits; NaN is outside."""
    for field in fields:
        values = records[field.name]
        fine = (values >= field.low) & (values <= field.high)
        _all(records, field.name, fine, f"must lie between {field.low:g} and {field.high:g}")


def _all(records: Records, name: str, fine: Any, rule: str) -> None:
    if fine.all():
        return
    place = tuple(int(i) for i in np.argwhere(~fine)[0])
    value = records[name][place] if len(place) >= records[name].ndim else records[name][place].sum()
    where = f"{name}{list(place[1:]) if len(place) > 1 else ''} of stream {place[0]}"
    raise ValueError(f"{where} {rule}, got {value}")


if __name__ == "__main__":
    print(documented())
