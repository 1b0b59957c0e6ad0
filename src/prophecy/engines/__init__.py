"""Engines: ways to run a system over data. All of them compute the same numbers.

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

An engine is a function `engine(system, u, x, y)`: u (series, time) is read, x (series, N) holds the states before the
run and receives those after it, y (series, time) receives the predictions. A new engine is a file with such a function
and a line in `ENGINES` (constant systems) or `SCALED_ENGINES` (LegS; these also take the count of samples seen before).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from prophecy import _checks
from prophecy._arrays import Reals
from prophecy.engines import _threads, lifting, scan, step
from prophecy.engines.kernels import entry
from prophecy.system import ScaledState, ScaledSystem, System

Engine: TypeAlias = Callable[[System, Reals, Reals, Reals], None]
ScaledEngine: TypeAlias = Callable[[ScaledSystem, Reals, Reals, Reals, int], None]

ENGINES: dict[str, Engine] = {"step": step.run, "lifted": lifting.run}


def _extra(name: str, system: System, u: Reals, x: Reals, y: Reals) -> None:
    """An engine of the extra `torch`, imported when it is first run."""
    try:
        module = import_module(f"prophecy.engines.{name}_engine")
    except ModuleNotFoundError as error:
        way_out = "install it with: pip install 'hippo-prophecy[torch]'"
        raise ModuleNotFoundError(f"engine {name!r} needs {error.name!r}; {way_out}", name=error.name) from None
    module.run(system, u, x, y)


# Run by name only: "auto" does not load torch or start a GPU for anyone.
DEVICE_ENGINES: dict[str, Engine] = {name: partial(_extra, name) for name in ("torch", "triton")}
SCALED_ENGINES: dict[str, ScaledEngine] = {"step": step.run, "scan": scan.run}

__all__ = ["DEVICE_ENGINES", "ENGINES", "SCALED_ENGINES", "run", "run_states", "stream", "streams", "usual"]


@overload
def run(
    system: System, u: ArrayLike, engine: str = ..., state: ArrayLike | None = ..., *, out: Reals | None = ...
) -> tuple[Reals, Reals]: ...
@overload
def run(
    system: ScaledSystem, u: ArrayLike, engine: str = ..., state: ScaledState | None = ..., *, out: Reals | None = ...
) -> tuple[Reals, ScaledState]: ...
def run(
    system: System | ScaledSystem,
    u: ArrayLike,
    engine: str = "auto",
    state: ArrayLike | ScaledState | None = None,
    *,
    out: Reals | None = None,
) -> tuple[Reals, Reals | ScaledState]:
    """Predictions of a system over data, and its final state: y[..., k] predicts u[..., k + 1].

    u: (time,) or (series, time), integers, float32 or float64. Computation and results have the dtype of the *system*.
    engine: "step", "lifted" ("step", "scan" for LegS), or "auto": the faster one where it is right, see `usual`; with
        the extra `torch` also "torch" and, on a GPU, "triton".
    state: where an earlier run ended, (N,) or (series, N) (for LegS a `ScaledState`); zero if not given.
    out: an array (a memory map, say) for the predictions, shaped like u with the system's dtype.

    Beyond u and the result memory stays at a few megabytes: memory-mapped arrays are read and written in pieces.

    >>> from prophecy import legt, next_value
    >>> system = next_value(legt(order=4, window=64.0), dt=1.0)
    >>> y, state = run(system, np.ones(300))
    >>> bool(abs(y[-1] - 1) < 1e-3), state.shape
    (True, (4,))
    """
    data = _series(system, u)
    y = _output(system, data, out)
    scaled = isinstance(system, ScaledSystem)
    known: dict[str, Callable[..., None]] = {**SCALED_ENGINES} if scaled else {**ENGINES, **DEVICE_ENGINES}
    what = "engine of LegS, which changes with time," if scaled else "engine"
    name = _checks.choice(what, engine, ("auto", *known))
    x, count = _initial(system, data, state)
    _whole(data, system.dtype)
    rows, target = np.atleast_2d(data), np.atleast_2d(y)
    with np.errstate(over="ignore", invalid="ignore"):
        known[usual(system) if name == "auto" else name](system, rows, x, target, *([count] if scaled else []))
    _finite(system, x)
    if isinstance(system, System) and not lifting.is_stable(system):
        _finite(system, y)
    final = x if data.ndim == 2 else x[0]
    return y, ScaledState(final, count + data.shape[-1]) if scaled else final


def run_states(
    system: System | ScaledSystem, u: ArrayLike, state: ArrayLike | ScaledState | None = None
) -> tuple[Reals, Reals]:
    """Predictions and *all* states, (..., time, N), by the plain step; states[..., k, :] has seen u[k]."""
    data = _series(system, u)
    x, count = _initial(system, data, state)
    _whole(data, system.dtype)
    rows = np.atleast_2d(data)
    y, states = np.empty(rows.shape, system.dtype), np.empty((*rows.shape, system.order), system.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(rows.shape[1]):
            step.run(system, rows[:, k : k + 1], x, y[:, k : k + 1], count + k)
            states[:, k] = x
    _finite(system, x)
    return (y, states) if data.ndim == 2 else (y[0], states[0])


def usual(system: System | ScaledSystem) -> str:
    """The engine that "auto" takes for a system.

    "lifted", or "scan" for LegS. "step" where the system is unstable, because only the plain step grows exactly as it
    does, and for a LegS under a rule that the scan does not know.
    """
    if isinstance(system, System):
        return "lifted" if lifting.is_stable(system) else "step"
    return "scan" if scan.supports(system) else "step"


def streams(system: System | ScaledSystem) -> bool:
    """Whether a `stream` gives the numbers of the step: in float64, and not where rounding grows."""
    return system.dtype == np.float64 and usual(system) != "step"


def stream(system: System | ScaledSystem, x: Reals, count: int, low: float, high: float) -> Any:
    """One series of a system that `streams`, one value at a time, for `Predictor`: compiled steps, since calling NumPy
    takes longer than the step. x (N,): the state after `count` values between `low` and `high`."""
    if isinstance(system, ScaledSystem):
        return scan.Stream(system, x, count, low, high)
    return entry.Stream(_columns(system), system.B, system.C, system.D, x, count, low, high)


@lru_cache(lifting.KEPT)
def _columns(system: System) -> Reals:
    return np.ascontiguousarray(system.A.T)


def _series(system: System | ScaledSystem, u: ArrayLike) -> Reals:
    if not isinstance(system, System | ScaledSystem):
        raise TypeError(f"system must be a System or ScaledSystem, got {type(system).__name__}; see next_value")
    _checks.not_wider("u", u, system.dtype)
    return _checks.series("u", u)


def _output(system: System | ScaledSystem, data: Reals, out: Reals | None) -> Reals:
    if out is None:
        return np.empty(data.shape, system.dtype)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a NumPy array, got {type(out).__name__}")
    if out.shape != data.shape or out.dtype != system.dtype:
        raise ValueError(f"out must have shape {data.shape} and dtype {system.dtype}, got {out.shape} and {out.dtype}")
    if not out.flags.writeable:
        raise ValueError("out must be writeable, got a read-only array")
    same = out.__array_interface__["data"] == data.__array_interface__["data"] and out.strides == data.strides
    if np.may_share_memory(out, data) and not (same and out.dtype == data.dtype):
        raise ValueError("out overlaps u without being u; use u itself or memory of its own")
    return out


def _initial(system: System | ScaledSystem, data: Reals, state: ArrayLike | ScaledState | None) -> tuple[Reals, int]:
    series = data.shape[0] if data.ndim == 2 else 1
    if state is None:
        return np.zeros((series, system.order), system.dtype), 0
    count = 0
    if isinstance(system, ScaledSystem):
        if not isinstance(state, ScaledState):
            raise TypeError(
                f"state of a ScaledSystem must be a ScaledState (x, count), got {type(state).__name__}; "
                "pass what an earlier run returned"
            )
        count = _checks.whole("state.seen", state.seen, least=0)
        state = state.x
    elif isinstance(state, ScaledState):
        raise TypeError("state is a ScaledState but the system is constant; pass state.x")
    _checks.not_wider("state", state, system.dtype)
    x = _checks.shaped("state", state, (*data.shape[:-1], system.order))
    _checks.in_range("state", x, system.dtype)
    return x.astype(system.dtype).reshape(series, system.order), count


def _finite(system: System | ScaledSystem, x: Reals) -> None:
    if not np.isfinite(x).all():
        raise ValueError(f"the run overflowed {system.dtype}: the system is unstable or u too large; rescale u")


def _whole(data: Reals, dtype: np.dtype[Any]) -> None:
    """Look at all of u before anything is computed or written, a few megabytes at a time, on all cores."""
    rows = max(1, (1 << 20) // max(1, data.shape[-1])) if data.ndim == 2 else 1 << 20
    starts = range(0, len(data), rows)
    _threads.over(lambda start: _checks.in_range("u", data[start : start + rows], dtype, offset=start), starts)
