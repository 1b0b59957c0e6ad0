"""`prophecy matrices`: the right A and B (and C and D), in the scaling you need."""

from __future__ import annotations

import enum
import io
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray

from prophecy import _files, bases, conventions, fading
from prophecy.bases import Basis
from prophecy.commands._common import USAGE, guarded, say
from prophecy.constructions import next_value

Array: TypeAlias = NDArray[Any]

EXAMPLES = """
Examples:
  prophecy matrices legt --order 8 --window 1
  prophecy matrices legt --order 64 --window 2 --convention s4 --out legt.npz
  prophecy matrices fout --order 9 --window 1 --dt 0.01
  prophecy matrices legs-invariant --order 64 --window 1 --convention s4
"""


MAKERS: dict[str, Callable[[int, float], Basis]] = {
    "legt": bases.legt, "fout": bases.fout, "fout-as-printed": bases.fout_as_printed,
    "legs-invariant": fading.legs_invariant, "lagt": fading.lagt, "foud": fading.foud,
    "fourier-decay": fading.fourier_decay,
}  # fmt: skip
CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "s4": conventions.to_s4, "lmu": conventions.to_lmu, "hippo": conventions.to_hippo, "hippox": conventions.to_hippox,
}  # fmt: skip

Family = enum.StrEnum("Family", {
    "legt": "legt", "legs": "legs", "fout": "fout", "fout_as_printed": "fout-as-printed", "lagt": "lagt",
    "foud": "foud", "legs_invariant": "legs-invariant", "fourier_decay": "fourier-decay",
})  # fmt: skip
"""The memories."""

Convention = enum.StrEnum("Convention", ["ours", "s4", "lmu", "hippo", "hippox"])
"""Scalings; see `prophecy.conventions`."""


def matrices(
    family: Annotated[
        Family,
        typer.Argument(help="The memory: of a window (legt, fout), of everything (legs), or fading (the others)."),
    ],
    order: Annotated[int, typer.Option(help="How many states, N.")],
    window: Annotated[
        float | None, typer.Option(help="Length, or timescale, of the memory in seconds; legs has none.")
    ] = None,
    dt: Annotated[float | None, typer.Option(help="Step in seconds: adds the discrete next-value system.")] = None,
    convention: Annotated[Convention, typer.Option(help="Whose scaling; each but ours has its own unit of time.")] = (
        Convention.ours
    ),
    out: Annotated[Path | None, typer.Option(help="File to write: .npz has every digit; otherwise text.")] = None,
) -> None:
    """The matrices of a memory, continuous and (with --dt) discrete, ready to paste or load."""
    with guarded("matrices", USAGE):
        made, note = _collect(family, order, window, dt, convention)
        if note:
            say("matrices", note)
        if out is None:
            typer.echo(_text(made))
        else:
            _files.write_atomic(out, _archive(made) if out.suffix == ".npz" else f"{_text(made)}\n".encode())


def _collect(
    family: Family, order: int, window: float | None, dt: float | None, convention: Convention
) -> tuple[dict[str, Array], str]:
    """Matrices by name, and a remark about units where there is one to make."""
    if family.value == "legs":
        if window is not None:
            raise ValueError(f"window must not be given for legs, which remembers everything, got {window}")
        return _scaled(order, dt, convention)
    if window is None:
        raise ValueError(f"window must be given for {family.value}: the length of the memory in seconds")
    basis = MAKERS[family.value](order, window)
    theirs = _converted(basis, convention)
    made = {"A": theirs.A, "B": theirs.B}
    note = ""
    if convention is not Convention.ours:
        what = "timescale" if np.isinf(theirs.window) else "window"
        note = f"time in {convention.value}'s own unit, in which the {what} is {theirs.timescale:g}"
    if dt is not None:
        step = dt * theirs.timescale / window
        system = next_value(theirs, step)
        made |= {f"{name}_discrete": np.asarray(getattr(system, name)) for name in "ABCD"}
        note += f"; {dt:g} s is a step of {step:g} there" if note else ""
    return made, note


def _scaled(order: int, dt: float | None, convention: Convention) -> tuple[dict[str, Array], str]:
    if dt is not None:
        raise ValueError(
            "dt must not be given for legs: its discrete matrices change with every sample (ScaledSystem.at)"
        )
    basis = bases.legs(order)
    if convention is Convention.ours:
        return {"A": basis.A, "B": basis.B}, "x'(t) = (-A x(t) + B u(t))/t"
    if convention is Convention.lmu:
        raise ValueError("convention lmu has no legs; use ours, s4, hippox or hippo")
    if convention is Convention.hippo:
        pair = conventions.to_hippo(basis)
        assert isinstance(pair, tuple), "LegS converts to a pair"
        return {"A": pair[0], "B": pair[1]}, "x'(t) = (A x(t) + B u(t))/t: A carries its minus sign"
    theirs = _converted(fading.legs_invariant(order, 1.0), convention)
    note = f"x'(t) = A x(t) + B u(t): {convention.value} runs LegS without the 1/t (here: legs-invariant, timescale 1)"
    return {"A": theirs.A, "B": theirs.B}, note


def _converted(basis: Basis, convention: Convention) -> Basis:
    if convention is Convention.ours:
        return basis
    try:
        made = CONVERTERS[convention.value](basis)
    except TypeError:
        raise ValueError(f"convention {convention.value} has no {basis.name}; use ours") from None
    assert isinstance(made, Basis), "a basis with a window converts to one"
    return made


def _archive(made: dict[str, Array]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **made)  # type: ignore[arg-type]
    return buffer.getvalue()


def _text(made: dict[str, Array]) -> str:
    with np.printoptions(precision=8, suppress=True, linewidth=200, threshold=100_000):
        return "\n\n".join(f"{name} =\n{value + 0.0}" for name, value in made.items())
