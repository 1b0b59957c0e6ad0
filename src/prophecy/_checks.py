"""Argument checks. Every message names the argument, the value it got and the way out."""

import operator
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from prophecy._arrays import Array

SHORTEST = 2  # samples that a forecast of many steps needs: one alone has no difference to measure a width by


def whole(name: str, value: object, least: int = 1) -> int:
    """A count: a whole number of at least `least` (booleans and 3.0 are refused: they are usually mistakes)."""
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def positive(name: str, value: object) -> float:
    """A finite real number > 0 whose square is one too, such as a window or a step in seconds."""
    if isinstance(value, bool | np.bool_ | str | bytes | complex | np.complexfloating):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a real number, got {value!r} of type {type(value).__name__}") from None
    except OverflowError:
        number = float("inf")
    if not np.isfinite(number) or number <= 0:
        raise ValueError(f"{name} must be positive and finite, got {number}")
    if not 1e-150 < number < 1e150:
        raise ValueError(f"{name} must lie between 1e-150 and 1e150, got {number}; use another unit")
    return number


def real_array(name: str, value: ArrayLike) -> NDArray[Any]:
    """`value` as an array of float32, float64 or integers, without copying what is an array already."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; use {name}.filled(np.nan) where missing values are taken as NaN")
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} must be rectangular, got sequences of different lengths; pad or split them") from None
    kind = array.dtype.kind
    if kind == "c":
        raise TypeError(f"{name} must be real, got {array.dtype}; pass {name}.real or |{name}|")
    if kind not in "iuf":
        place = first_text(value)
        which = "" if place is None else f" ({value[place]!r} at index {place})"  # type: ignore[index]
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}{which}; convert it to floats first")
    if kind == "f" and array.dtype.itemsize not in (4, 8):
        raise TypeError(f"{name} must be float32 or float64, got {array.dtype}; use {name}.astype(np.float64)")
    return array


def first_text(value: object) -> int | None:
    """The place of the first cell of a list that is no number; None where there is none, and for arrays."""
    if not isinstance(value, list | tuple):
        return None
    return next((k for k, cell in enumerate(value) if isinstance(cell, str | bytes) or cell is None), None)


def shaped(name: str, value: ArrayLike, shape: Sequence[int]) -> Array:
    """A finite float64 array of exactly this shape; a fresh copy, so that nobody else can change it."""
    array = real_array(name, value)
    if array.shape != tuple(shape):
        raise ValueError(f"{name} must have shape {tuple(shape)}, got {array.shape}")
    array = np.array(array, dtype=np.float64, order="C")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {first_bad(array)}")
    return array


class Frozen:
    """A dataclass of arrays that are checked once, then read-only; copies and pickles go through its constructor."""

    B: NDArray[Any]

    def _freeze(self, dtype: DTypeLike = np.float64, **shapes: tuple[int, ...]) -> None:
        for name, shape in shapes.items():
            object.__setattr__(self, name, frozen(name, getattr(self, name), shape, dtype))

    def __reduce__(self) -> tuple[object, ...]:
        made = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return partial(type(self), **made), ()

    @property
    def order(self) -> int:
        """N, the number of states."""
        return len(self.B)


def frozen(name: str, value: ArrayLike, shape: Sequence[int], dtype: DTypeLike = np.float64) -> Any:
    """`shaped`, in this dtype and read-only; a float for the shape ()."""
    array = shaped(name, value, shape)
    with np.errstate(over="ignore"):
        made = array.astype(dtype)
    if not np.isfinite(made).all():
        raise ValueError(f"{name} does not fit into {made.dtype}: it holds values up to {np.abs(array).max():.3g}")
    made.setflags(write=False)
    return made if made.ndim else float(made)


def series(name: str, value: ArrayLike, several: str = "(series, time)") -> NDArray[Any]:
    """Data to run over: (time,) or `several`, at least one sample, values not yet checked."""
    array = real_array(name, value)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must be (time,) or {several}, got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must hold at least one sample, got shape {array.shape}")
    return array


def not_wider(name: str, value: ArrayLike, dtype: np.dtype[Any]) -> None:
    """A float64 array is never narrowed behind the caller's back; plain Python numbers have no width of their own."""
    if dtype == np.float32 and isinstance(value, np.ndarray) and value.dtype == np.float64:
        raise TypeError(
            f"{name} is float64 but the system is float32; use {name}.astype(np.float32) or the float64 system"
        )


def largest(dtype: np.dtype[Any]) -> float:
    """The largest magnitude accepted: its square is still a number, so no product of two overflows."""
    return float(np.sqrt(np.finfo(dtype).max))


def in_range(name: str, array: NDArray[Any], dtype: np.dtype[Any], offset: int = 0) -> None:
    """Refuse NaN, infinities and magnitudes whose squares overflow, naming the first; array[0] is row `offset`."""
    limit = largest(dtype)
    with np.errstate(invalid="ignore"):
        low, high = float(array.min()), float(array.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        bad = first_bad(array, offset)
        way_out = "drop or fill gaps first, or use a Predictor with gaps='hold'" if "nan" in bad else "drop it first"
        raise ValueError(f"{name} must be finite, got {bad}; {way_out}")
    if (worst := max(-low, high)) > limit:
        raise ValueError(f"{name} holds {worst:.3g}, beyond the ±{limit:.3g} that {dtype} can square; rescale the data")


def first_bad(array: NDArray[Any], offset: int = 0) -> str:
    """`nan at index (3, 17)`: the first value that is not finite, and where, if array[0] is row `offset`."""
    index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    value = array[index]
    index = (index[0] + offset, *index[1:]) if index else index
    return f"{value} at index {index[0] if len(index) == 1 else index}" if index else str(value)


def choice(name: str, value: object, options: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}")
    return value


def function(name: str, value: object, example: str) -> None:
    if not callable(value):
        raise TypeError(f"{name} must be a function, such as {example}, got {value!r}")


def seasons(value: float | Sequence[float] | None) -> Array | None:
    """Samples in each season as an array; None stays None."""
    if value is None:
        return None
    try:
        periods = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        periods = np.full(1, np.nan)
    if periods.ndim != 1 or not (np.isfinite(periods) & (periods >= 1)).all():
        raise ValueError(f"season must be a number of samples from 1 on, several, or None, got {value!r}")
    return periods
