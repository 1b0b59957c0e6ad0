"""Arrays of what streams know: fresh ones, and the check of those from a file, before any number reaches the step."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy._arrays import Array
from prophecy.streams import limits as n
from prophecy.streams import members as m
from prophecy.streams.kernels import entry
from prophecy.streams.record import CLOCK_FIELDS, FIELDS, LAYOUTS, SAMPLE_FIELDS, Field
from prophecy.streams.settings import DEFAULT, Settings

Records = NDArray[np.void]

DTYPES = {name: np.dtype(fields) for name, fields in LAYOUTS.items()}
RECORD, CLOCK, SAMPLES, TABLE = DTYPES.values()


# Fresh ones.


def fresh(count: int, table: NDArray[np.void], hold: bool = False) -> Records:
    """Records of `count` streams that have seen nothing."""
    records = np.zeros(count, dtype=RECORD)
    records["hold"] = hold
    entry.begin_all(records, table)
    return records


def rings(count: int) -> Array:
    """Room for the last `RING` values of `count` streams: (count, RING); memory is taken as it is written to."""
    return np.zeros((count, n.RING))


def fresh_times(count: int, dt: float | None) -> tuple[Records, Records]:
    """Clocks and samples of `count` streams that have seen nothing."""
    clocks, samples = np.zeros(count, dtype=CLOCK), np.zeros(count, dtype=SAMPLES)
    clocks["given"], clocks["dt"], samples["newest"] = dt is not None, dt or 0.0, np.nan
    return clocks, samples


# Those of a file.


def require(records: Records, name: str, fine: Any, rule: str) -> None:
    """Refuse records of which a field is not `fine`, naming stream, field, rule and value; ValueError."""
    if fine.all():
        return
    place = tuple(int(i) for i in np.argwhere(~fine)[0])
    value = records[name][place] if len(place) >= records[name].ndim else records[name][place].sum()
    where = f"{name}{list(place[1:]) if len(place) > 1 else ''} of stream {place[0]}"
    raise ValueError(f"{where} {rule}, got {value}")


def _within_limits(records: Records, fields: tuple[Field, ...]) -> None:
    """Refuse numbers outside the limits of their fields, and NaN where it means nothing."""
    for field in fields:
        values = records[field.name]
        fine = (values >= field.low) & (values <= field.high) | (np.isnan(values) & field.missing)
        require(records, field.name, fine, f"must lie between {field.low:g} and {field.high:g}")


def check(records: Records, table: NDArray[np.void]) -> None:
    """Refuse records that no stream could have reached, naming stream, field and value; ValueError."""
    if records.dtype != RECORD:
        raise ValueError(f"records must have {RECORD.itemsize} bytes each and the fields of this version")
    _within_limits(records, FIELDS)
    t, periods = table[0], records["season_periods"]
    for name in ("weight", "shrink_weight"):
        require(records, name, np.abs(records[name].sum(axis=1) - 1.0) < 1e-9, "must add up to 1")
    # Members whose season was put to sleep or woke since the last value had less of the prior when they learned.
    prior = t["prior"][records["season_on"]]
    least, most = t["seasons"]["joined"] * t["share"] * np.minimum(prior, t["prior"][1]), np.sign(prior)
    fine = (records["weight"] >= least) & (records["weight"] <= most)
    require(records, "weight", fine, "must be at least the share, and 0 while a member sleeps")
    limits = {"doubts": "gap", "same": "learned", "learned": "known", "known": "count", "crossed": "count"}
    for name, most in limits.items():
        require(records, name, records[name] <= records[most], f"must be at most {most}")
    require(
        records, "season_periods", (periods == 0) | (periods > n.SHORTEST - 1), f"must be 0 or above {n.SHORTEST - 1}"
    )
    require(records, "season_on", (records["season_on"] == 0) | (periods[:, 0] > 0), "must be 0 without a season")
    used = np.arange(n.CENTROIDS) < records["alarm_size"][..., None]
    rising = np.diff(records["alarm_middle"]) >= 0.0
    require(records, "alarm_middle", rising | ~used[..., 1:], "must not fall")
    require(records, "alarm_weight", (records["alarm_weight"] >= 1.0) | ~used, "must be 1 or more where it is used")
    squares = np.add.reduceat(records["factor"] ** 2, m.PLACES, axis=1)
    require(records, "factor", (squares <= n.FACTOR**2).all(axis=1), f"must have a size of at most {n.FACTOR:g}")
    positive = (records["scale"][:, : m.BANK] > 0.0).all(axis=1) & (records["error_scale"] > 0.0)
    require(records, "error_scale", positive | (records["learned"] == 0), "and all scales must be positive by now")
    relative = records["feature"][:, : m.LAGS] == records["lag"] - records["last"][:, None]
    relative &= records["feature"][:, :1] == 0.0
    require(records, "feature", relative | (records["count"] == 0)[:, None], "must be the lag less the newest value")


def check_times(clocks: Records, samples: Records, count: int, settings: Settings = DEFAULT) -> None:
    """Refuse clocks and samples that no stream could have reached; ValueError."""
    if (clocks.dtype, samples.dtype, clocks.shape, samples.shape) != (CLOCK, SAMPLES, (count,), (count,)):
        sizes = f"{CLOCK.itemsize} and {SAMPLES.itemsize}"
        raise ValueError(f"clocks and samples must be {count} records of {sizes} bytes with the fields of this version")
    _within_limits(clocks, CLOCK_FIELDS)
    _within_limits(samples, SAMPLE_FIELDS)
    # Where no stamp came but the first, once or several times, there is no step yet.
    stamped = np.arange(n.RECENT) < clocks["count"][:, None]
    several = ((clocks["recent"] != clocks["recent"][:, :1]) & stamped).any(axis=1)
    require(clocks, "dt", (clocks["dt"] > 0.0) | ~several & (clocks["irregular"] == 0), "must be positive by now")
    longest = (settings.clock.longest_hole + 1.0) * clocks["dt"]
    near = np.abs(clocks["last"] - clocks["grid"]) <= longest
    require(clocks, "grid", near | ~several | (clocks["dt"] == 0.0), "must be near the newest stamp")
