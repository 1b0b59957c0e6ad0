"""When things happened: a time column as an axis, and the times after its last one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Times: TypeAlias = NDArray[Any]


def axis(times: Sequence[Any] | None, count: int) -> Times:
    """Numbers or datetime64 for these cells; row numbers where there are none or they cannot be read."""
    if times is None or len(times) != count:
        return np.arange(count, dtype=np.float64)
    cells = np.asarray(times)
    if cells.dtype.kind in "iuf":
        return cells.astype(np.float64)
    if cells.dtype.kind == "M":
        return cells
    try:
        return np.array([float(cell) for cell in times])
    except (TypeError, ValueError):
        return _dates(list(times), count)


def _dates(times: list[Any], count: int) -> Times:
    import pandas as pd

    def read(**how: Any) -> Times | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that a format had to be guessed
                return np.asarray(pd.to_datetime(times, utc=True, **how).tz_localize(None), dtype="datetime64[ns]")
        except (TypeError, ValueError):
            return None

    iso = read(format="ISO8601")
    if iso is not None:
        return iso
    # 02/01 is a day in January or in February: one reading for all cells, and of two the one that spans less time.
    readings = [found for found in (read(), read(dayfirst=True)) if found is not None]
    if readings:
        return min(readings, key=np.ptp)
    mixed = read(format="mixed")
    return np.arange(count, dtype=np.float64) if mixed is None else mixed


def seconds(times: Any) -> NDArray[np.float64]:
    """An Arrow column of times as seconds, or whatever unit its numbers have."""
    cells = times.to_pylist()
    where = axis(cells, len(cells))
    if where.dtype.kind == "M":
        return np.asarray(where.astype("datetime64[ns]").astype(np.int64) / 1e9)
    if not _readable(cells):
        raise ValueError(f"the time column cannot be read as numbers or dates, it begins with {cells[0]!r}")
    return np.asarray(where, dtype=np.float64)


def _readable(cells: list[Any]) -> bool:
    try:
        float(cells[0])
    except (TypeError, ValueError):
        return False
    return True


def extended(where: Times, count: int) -> Times:
    """`count` further points of an axis: calendar steps (months …) where the dates have them, else even ones."""
    if len(where) < 2:
        return np.arange(1, count + 1) + where[-1] if where.dtype.kind != "M" else np.repeat(where[-1:], count)
    if where.dtype.kind == "M":
        import pandas as pd

        recent = pd.DatetimeIndex(where[-50:])
        steps = pd.infer_freq(recent) if len(recent) > 2 and recent.is_monotonic_increasing else None
        if steps is not None:
            return np.asarray(pd.date_range(recent[-1], periods=count + 1, freq=steps)[1:].to_numpy(), "datetime64[ns]")
    step = np.median(np.diff(where[-50:]).astype(np.float64))
    if where.dtype.kind == "M":
        return np.asarray(where[-1] + (np.arange(1, count + 1) * step).astype("timedelta64[ns]"))
    return np.asarray(where[-1] + np.arange(1, count + 1) * step)


def after(times: Sequence[Any] | None, count: int) -> list[Any]:
    """The next `count` cells of a time column, written the way its cells are; 1, 2, … without one."""
    if times is None or not len(times):
        return list(range(1, count + 1))
    where = axis(times, len(times))
    ahead = extended(where, count)
    if where.dtype.kind == "M":
        return _written(ahead, times[-1])
    whole = bool(np.all(ahead == np.round(ahead))) and "." not in str(times[-1])
    return [int(moment) if whole else float(moment) for moment in ahead]


def _written(ahead: Times, like: Any) -> list[str]:
    """Moments (UTC) in ISO format: only the date, a T or a space, and the time zone, as in the cell they follow."""
    import pandas as pd

    cell = str(like)
    if ":" not in cell and "T" not in cell and bool((ahead == ahead.astype("datetime64[D]")).all()):
        return [str(moment) for moment in ahead.astype("datetime64[D]")]
    zone = pd.to_datetime([like], format="mixed")[0].tzinfo
    moments = pd.DatetimeIndex(ahead)
    if zone is not None:
        moments = moments.tz_localize("UTC").tz_convert(zone)
    texts = [moment.isoformat(sep="T" if "T" in cell else " ") for moment in moments]
    return [text.removesuffix("+00:00") + "Z" for text in texts] if cell.endswith("Z") else texts


def remark(cells: list[Any], irregular: bool) -> str | None:
    """What is odd about the times of a series' rows, and what to do about it; None where nothing is."""
    where = axis(cells, len(cells))
    steps = np.diff(where).astype(np.float64)
    if len(steps) < 2 or not np.isfinite(steps).all():
        return None
    if (steps < 0).all():
        return "the times run backwards, and rows are taken in the order of the file; sort them first"
    if (steps <= 0).any():
        return "some times repeat or run backwards; tell series apart with --group, or sort the rows first"
    if not irregular and steps.max() > 1.5 * np.median(steps):
        return "the times are uneven, and rows are taken as evenly spaced"
    return None
