"""Bounds that hold a distribution inside without flattening it."""

from typing import TypeAlias

import numpy as np

from prophecy._arrays import Array
from prophecy._forecast import PROBABILITIES
from prophecy.forecasting.settings import DEFAULT, Settings
from prophecy.laws.context import Context

Bounds: TypeAlias = tuple[float | None, float | None] | None

_MIDDLE = len(PROBABILITIES) // 2
_VISITS = 3  # of an end of the range, apart from each other, that make it a bound


def checked_bounds(bounds: Bounds) -> tuple[float, float] | None:
    """(low, high) with infinities for None."""
    if bounds is None:
        return None
    try:
        low, high = bounds
        limits = -np.inf if low is None else float(low), np.inf if high is None else float(high)
    except (TypeError, ValueError) as error:
        raise ValueError(f"bounds must be (low, high), each a number or None, got {bounds!r}") from error
    if not limits[0] < limits[1]:
        raise ValueError(f"bounds must be (low, high) with low below high, got {bounds!r}")
    return limits


def bounded(
    grid: Array,
    point: Array,
    context: Context,
    limits: tuple[float, float] | None,
    settings: Settings = DEFAULT,
    law: bool = False,
) -> tuple[Array, Array, tuple[str, ...]]:
    """Quantiles (probabilities, horizon, variables) and point (horizon, variables) inside the bounds, and notes.

    Without bounds, variables stay inside what they never pass (`_never_passed`), except where the path of a law (law:
    whether one was found) leads beyond: a height or a temperature may, and the law says so. No interval loses its
    width.
    """
    if limits is not None:
        return _squeezed(grid, *limits, settings.bound_share), np.clip(point, *limits), _said(point, context, *limits)
    low, high = np.array([_never_passed(column) for column in context.full.T]).T
    touched = context.varying & ((grid.min(axis=(0, 1)) < low) | (grid.max(axis=(0, 1)) > high))
    if law:
        touched &= ((point >= low) & (point <= high)).all(axis=0)
    if not touched.any():
        return grid, point, ()
    grid, point = grid.copy(), np.where(touched, np.clip(point, low, high), point)
    for v in np.nonzero(touched)[0]:
        grid[:, :, v] = _squeezed(grid[:, :, v], low[v], high[v], settings.bound_share)
    several = "1 variable was" if touched.sum() == 1 else f"{touched.sum()} variables were"
    which = "The series was" if len(touched) == 1 else several
    ends = sorted({end for end in (*low[touched], *high[touched]) if np.isfinite(end) and end})
    what = f"beyond {' or '.join(f'{end:g}' for end in ends)}" if ends else "negative"
    return grid, point, (f"{which} never {what}, so the forecast is not either; bounds= sets other limits.",)


def _never_passed(column: Array) -> tuple[float, float]:
    """Zero where a series was never negative, and an end of its range that it comes back to again and again, more often
    than to any other value: humidity at 100 %."""
    values, counts = np.unique(column, return_counts=True)
    visits = [np.sum(np.diff(column == end, prepend=False) & (column == end)) for end in (values[0], values[-1])]
    low, high = (counts[end] == counts.max() and visits[end] >= _VISITS for end in (0, -1))
    return values[0] if low else 0.0 if values[0] >= 0 else -np.inf, values[-1] if high else np.inf


def _said(point: Array, context: Context, low: float, high: float) -> tuple[str, ...]:
    """Notes where the context itself, or the point, lay outside the bounds."""
    notes = []
    seen = context.full[:, context.varying] if context.varying.any() else context.full
    outside = int(((seen < low) | (seen > high)).sum())
    if outside:
        values = "1 value" if outside == 1 else f"{outside} values"
        notes.append(f"{values} of {seen.size} in the context lie outside the bounds ({low:g}, {high:g}).")
    held = int(((point < low) | (point > high)).sum())
    if held:
        notes.append(f"The bounds hold the forecast at {held} of {point.size} steps.")
    return tuple(notes)


def _squeezed(grid: Array, low: float, high: float, share: float) -> Array:
    """Clipped, except that quantiles beyond a clipped median keep a share of their distance from it.

    A maximum (minimum) of functions that do not decrease in the probability does not decrease either; where the median
    lies inside, nothing but what lies outside is moved.
    """
    distance = share * (grid - grid[_MIDDLE])
    out = np.clip(grid, low, high)
    if np.isfinite(low):
        out[_MIDDLE + 1 :] = np.maximum(out[_MIDDLE + 1 :], low + distance[_MIDDLE + 1 :])
    if np.isfinite(high):
        out[:_MIDDLE] = np.minimum(out[:_MIDDLE], high + distance[:_MIDDLE])
    return np.clip(out, low, high)
