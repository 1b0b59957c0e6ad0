"""Arrays of what streams know: fresh ones, and the check of those from a file, before any number reaches the step."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.streams import members as m
from prophecy.streams.kernels import entry
from prophecy.streams.limits import RECENT, RING, SHORTEST
from prophecy.streams.record import (
    AHEAD_FIELDS,
    CLOCK_FIELDS,
    FIELDS,
    LAYOUTS,
    SAMPLE_FIELDS,
    WAITING_FIELDS,
    WHOLE,
    Field,
)
from prophecy.streams.settings import DEFAULT, Settings

Records = NDArray[np.void]

DTYPES = {name: np.dtype(fields) for name, fields in LAYOUTS.items()}
RECORD, CLOCK, SAMPLES, AHEAD, WAITING, TABLE = DTYPES.values()


def offsets(dtype: np.dtype[Any], start: int = 0) -> dict[str, int]:
    """Where each field begins, in bytes; those of a record in a record are `group.field`."""
    found: dict[str, int] = {}
    for name in dtype.names or ():
        kind, at = dtype.fields[name][:2]  # type: ignore[index]
        inner = offsets(kind, start + at) if kind.names else {}
        found |= {f"{name}.{each}": place for each, place in inner.items()} if inner else {name: start + at}
    return found


def check_layout(dtypes: dict[str, Any]) -> None:
    """Refuse records that NumPy lays out otherwise than the compiler did."""
    compiled = entry.layout()
    for name, dtype in dtypes.items():
        if compiled[name] != [dtype.itemsize, *offsets(dtype).values()]:
            raise ImportError(f"{name} is laid out otherwise than when prophecy was compiled; build it again")


check_layout(DTYPES)


class Limits:
    """The limits of all numbers of a record, in their order: one table for what a file may hold and for what is written
    to one."""

    def __init__(self, fields: tuple[Field, ...]) -> None:
        self.fields = fields
        sizes = [prod(field.shape) for field in fields]
        self._low, self._high = (np.repeat([getattr(f, end) for f in fields], sizes) for end in ("low", "high"))
        self._whole, self._missing = (
            np.repeat(some, sizes) for some in zip(*((f.kind == WHOLE, f.missing) for f in fields), strict=True)
        )

    def _numbers(self, records: Records) -> NDArray[np.float64]:
        real, whole = (records.view(kind).reshape(len(records), -1) for kind in (np.float64, np.int64))
        return np.where(self._whole, whole, real)

    def _outside(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        fine = (numbers >= self._low) & (numbers <= self._high) | (np.isnan(numbers) & self._missing)
        return np.asarray(~fine)

    def check(self, records: Records) -> None:
        """Refuse numbers outside their limits, and NaN where it means nothing; ValueError."""
        if not self._outside(self._numbers(records)).any():
            return
        for field in self.fields:
            values = records[field.name]
            fine = (values >= field.low) & (values <= field.high) | (np.isnan(values) & field.missing)
            require(records, field.name, fine, f"must lie between {field.low:g} and {field.high:g}")

    def settle(self, records: Records) -> None:
        """Bring numbers inside their limits, in place. Streams stay there by themselves; one from a forged file, which
        was inside when it was read, may leave them with its next value."""
        numbers = self._numbers(records)
        outside = self._outside(numbers)
        if outside.any():
            nearest = np.clip(np.nan_to_num(numbers, posinf=np.inf, neginf=-np.inf), self._low, self._high)
            for kind, chosen in ((np.float64, outside & ~self._whole), (np.int64, outside & self._whole)):
                records.view(kind).reshape(len(records), -1)[chosen] = nearest[chosen]


RECORDS, CLOCKS, ALL_SAMPLES = map(Limits, (FIELDS, CLOCK_FIELDS, SAMPLE_FIELDS))
STATES, WAITINGS = Limits(AHEAD_FIELDS), Limits(WAITING_FIELDS)


def settle(records: Records, clocks: Records, samples: Records) -> None:
    """Bring everything that streams know inside the limits of a file, in place."""
    for limits, some in ((RECORDS, records), (CLOCKS, clocks), (ALL_SAMPLES, samples)):
        limits.settle(some)
    clocks["dt"][(clocks["dt"] <= 0.0) & ~_has_one_stamp(clocks)] = 1.0  # what the step takes for it
    lost = _off_grid(clocks)
    clocks["grid"][lost] = clocks["last"][lost]


def require(records: NDArray[np.void], name: str, fine: Any, rule: str) -> None:
    """Refuse records of which a field is not `fine`, naming stream, field, rule and value; ValueError."""
    if fine.all():
        return
    place = tuple(int(i) for i in np.argwhere(~fine)[0])
    value = records[name][place] if len(place) >= records[name].ndim else records[name][place].sum()
    where = f"{name}{list(place[1:]) if len(place) > 1 else ''} of stream {place[0]}"
    raise ValueError(f"{where} {rule}, got {value}")


def fresh(count: int, table: NDArray[np.void], hold: bool = False) -> Records:
    """Records of `count` streams that have seen nothing."""
    records = np.zeros(count, dtype=RECORD)
    records["hold"] = hold
    entry.begin_all(records, table)
    return records


def rings(count: int) -> NDArray[np.float64]:
    """Room for the last `RING` values of `count` streams: (count, RING); memory is taken as it is written to."""
    return np.zeros((count, RING))


def check(records: Records, table: NDArray[np.void]) -> None:
    """Refuse records that no stream could have reached, naming stream, field and value; ValueError."""
    RECORDS.check(records)
    t = table[0]
    require(records, "weight", np.abs(records["weight"].sum(axis=1) - 1.0) < 1e-9, "must add up to 1")
    # Members whose season was put to sleep since the last value had less of the prior when they learned.
    least = 0.999 * t["share"] * np.minimum(t["prior"][records["season_on"]], t["prior"][1])
    require(records, "weight", records["weight"] >= least, "must be at least the share")
    for name in ("learned", "known", "gap"):
        require(records, name, records[name] <= records["count"], "must be at most count")
    require(records, "learned", records["learned"] <= records["known"], "must be at most known")
    require(records, "shrink_weight", np.abs(records["shrink_weight"].sum(axis=1) - 1.0) < 1e-9, "must add up to 1")
    periods = records["season_periods"]
    require(records, "season_periods", (periods == 0) | (periods > SHORTEST - 1), f"must be 0 or above {SHORTEST - 1}")
    require(records, "season_on", (records["season_on"] == 0) | (periods[:, 0] > 0), "must be 0 without a season")
    learned = records["learned"] > 0
    positive = (records["scale"][:, : m.BANK] > 0.0).all(axis=1) & (records["error_scale"] > 0.0)
    require(records, "error_scale", positive | ~learned, "and all scales must be positive by now")
    began = records["count"] > 0
    newest = records["lag"][:, 0] == records["last"]
    require(records, "lag", newest | ~began, "must begin with the newest value")
    relative = records["feature"][:, : m.LAGS] == records["lag"] - records["last"][:, None]
    require(records, "feature", relative | ~began[:, None], "must be the lag less the newest value")


def fresh_clocks(count: int, dt: float | None) -> NDArray[np.void]:
    """Clocks of `count` streams that have seen nothing."""
    clocks = np.zeros(count, dtype=CLOCK)
    clocks["given"], clocks["dt"] = dt is not None, dt or 0.0
    return clocks


def check_clocks(clocks: NDArray[np.void], count: int, settings: Settings = DEFAULT) -> None:
    """Refuse clocks no stream could have reached; ValueError."""
    if clocks.dtype != CLOCK or clocks.shape != (count,):
        raise ValueError(f"clocks must be {count} records of {CLOCK.itemsize} bytes")
    CLOCKS.check(clocks)
    require(clocks, "jumps", clocks["jumps"] <= settings.clock.late, f"must be at most {settings.clock.late}")
    require(clocks, "dt", (clocks["dt"] > 0.0) | _has_one_stamp(clocks), "must be positive by now")
    require(clocks, "grid", ~_off_grid(clocks, settings), "must be near the newest stamp")


def _has_one_stamp(clocks: NDArray[np.void]) -> NDArray[np.bool_]:
    """Clocks that know no stamp but the first, come once or several times: there is no step yet."""
    other = (clocks["recent"] != clocks["last"][:, None]) & (np.arange(RECENT) < clocks["count"][:, None])
    return np.asarray(~other.any(axis=1) & (clocks["irregular"] == 0))


def _off_grid(clocks: NDArray[np.void], settings: Settings = DEFAULT) -> NDArray[np.bool_]:
    """Clocks whose grid is farther from the newest stamp than the longest hole."""
    near = np.abs(clocks["last"] - clocks["grid"]) <= (settings.clock.longest_hole + 1.0) * clocks["dt"]
    return np.asarray(~near & (clocks["dt"] > 0.0) & (clocks["count"] > 0))


def fresh_samples(count: int) -> NDArray[np.void]:
    """Samples of `count` streams that have seen nothing."""
    samples = np.zeros(count, dtype=SAMPLES)
    samples["newest"] = np.nan
    return samples


def check_samples(samples: NDArray[np.void], series: int) -> None:
    """Refuse samples no stream could have; ValueError."""
    if samples.dtype != SAMPLES or samples.shape != (series,):
        raise ValueError(f"samples must be {series} records of {SAMPLES.itemsize} bytes, got shape {samples.shape}")
    ALL_SAMPLES.check(samples)
