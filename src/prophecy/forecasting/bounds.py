"""Bounds that hold a distribution inside without flattening it."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy._forecast import PROBABILITIES
from prophecy.forecasting.settings import DEFAULT, Settings
from prophecy.laws.context import Context

Array = NDArray[np.float64]
Bounds: TypeAlias = tuple[float | None, float | None] | None

_MIDDLE = len(PROBABILITIES) // 2


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

    Without bounds, variables that were never negative in the context stay so, except where the path of a law (law:
    whether one was found) leads below zero: a height or a temperature may, and the law says so. No interval loses its
    width.
    """
    if limits is not None:
        return _squeezed(grid, *limits, settings.bound_share), np.clip(point, *limits), _said(point, context, *limits)
    never = np.asarray((context.full >= 0).all(axis=0)) & context.varying
    touched = never & (grid.min(axis=(0, 1)) < 0)
    if law:
        touched &= point.min(axis=0) >= 0
    if not touched.any():
        return grid, point, ()
    grid, point = grid.copy(), np.where(touched, np.maximum(point, 0.0), point)
    grid[:, :, touched] = _squeezed(grid[:, :, touched], 0.0, np.inf, settings.bound_share)
    count = int(touched.sum())
    several = "1 variable was" if count == 1 else f"{count} variables were"
    which = "The series was" if len(never) == 1 else several
    return grid, point, (f"{which} never negative, so the forecast is not either; bounds= sets other limits.",)


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
