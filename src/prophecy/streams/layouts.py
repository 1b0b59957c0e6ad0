"""Layouts of the structs that compiled code works on: the records of streams, and the table of all constants.

Plain lists, without NumPy: tools/structs.py writes the C structs from them when the package is built, `rows` makes
dtypes of the same lists, and `kernels.entry` compares sizes and offsets at import.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from prophecy.streams import members as m
from prophecy.streams.fields import REAL, WHOLE, Field
from prophecy.streams.record import AHEAD_FIELDS, CLOCK_FIELDS, FIELDS, SAMPLE_FIELDS, WAITING_FIELDS
from prophecy.streams.settings import DEFAULT, Group

_S, _W, _L = len(m.SOLVED), len(m.WINDOWS), len(m.LEVELS)
_REAL = (
    *(("short", m.LAGS * m.padded(m.SHORTS)), ("long", _W * m.ORDER * m.padded(m.ORDER + m.LONGS))),
    *(
        ("steady", (_W, m.ORDER)),
        ("prior", m.MEMBERS),
        ("gain", m.FIXED),
        ("averaging", m.FIXED),
        ("bias_rate", m.FIXED),
    ),
    *(("short_slope", (m.LAGS, m.SHORTS)), ("long_slope", (_W, m.ORDER, m.LONGS)), ("slope_gain", m.FIXED)),
    *(("slope_bias", m.FIXED), ("slope_left", m.FIXED), ("forgetting", _S), ("needed", _S), ("start", (_S, m.WIDTH))),
    *(("raise_by", _L), ("lower_by", _L)),
)
_WHOLE = (("longest", _S), ("sloped", m.FIXED))
_PLACE = (
    *(("reach", m.padded(m.SHORTS) // m.ROW), ("block_of", _W), ("index", (_S, m.WIDTH))),
    *(("used", _S), ("stride", _S), ("place", _S)),
)


def _of_settings(settings: Group) -> list[Any]:
    """Fields of a record for these numbers; those of a group are a record in a record."""
    found: list[Any] = []
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, Group):
            found.append((field.name, _of_settings(value)))
        elif isinstance(value, tuple):
            found.append((field.name, REAL, (len(value),)))
        else:
            found.append((field.name, WHOLE if field.type == "int" else REAL, ()))
    return found


def _placed(kind: str, sizes: Any) -> list[Any]:
    return [(name, kind, shape if isinstance(shape, tuple) else (shape,)) for name, shape in sizes]


TABLE = [*_placed(REAL, _REAL), *_placed(WHOLE, _WHOLE), *_placed("u8", _PLACE), *_of_settings(DEFAULT)]
"""All constants of the step in one record: what follows from the members, and the settings under their own names.

short (lags, members): weights of the short members on the lags; `reach`: how many lags each block of them reads.
long (windows, order, order + members): z - x₁ du to the new z and to the predictions. steady: x₁. gain: noise gains.
short_slope, long_slope: derivative readouts per sample; slope_gain: their noise gains; slope_bias: the leading error of
a slope over that of the same member's prediction; slope_left: noise variance left in the member's averaged errors.
index (solved, width), used: the features of each solved member; stride, place: where its factor's rows are; longest:
its oldest lag; needed: samples before it predicts by its own readout.
"""


def _layout(some: tuple[Field, ...]) -> list[Any]:
    return [(field.name, field.kind, field.shape) for field in some]


def leaves(layout: list[Any]) -> list[str]:
    """All fields in their order; those of a record in a record are `group.field`."""
    inner = (
        [f"{name}.{leaf}" for leaf in leaves(kind)] if isinstance(kind, list) else [name] for name, kind, *_ in layout
    )
    return [leaf for some in inner for leaf in some]


LAYOUTS: dict[str, list[Any]] = {
    "Record": _layout(FIELDS),
    "Clock": _layout(CLOCK_FIELDS),
    "Samples": _layout(SAMPLE_FIELDS),
    "Ahead": _layout(AHEAD_FIELDS),
    "Waiting": _layout(WAITING_FIELDS),
    "Table": TABLE,
}
"""The C structs by name: what NumPy makes a dtype of, and tools/structs.py a struct."""
