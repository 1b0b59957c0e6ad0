"""What every group of settings has: positive finite numbers, limits where compiled code relies on them, a dtype."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

FACTOR = 1000.0
"""How many times larger or smaller than the default a setting from a file may be."""


@dataclass(frozen=True)
class Group:
    """Numbers that belong together: fields of type int, float or tuple[float, ...] (as many as the default has), and
    further groups. All numbers are positive and finite."""

    LIMITS: ClassVar[dict[str, tuple[float, float]]] = {}
    """Least and largest value of fields that places or loops of compiled code depend on, which checks no bounds, and of
    those that mean nothing elsewhere."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, Group):
                if type(value) is not type(field.default):
                    raise TypeError(f"{field.name} must be a {type(field.default).__name__}, got {value!r}")
            elif isinstance(field.default, tuple):
                object.__setattr__(self, field.name, self._several(field.name, value, len(field.default)))
            else:
                self._number(field.name, value, field.type == "int")

    def _several(self, name: str, value: Any, count: int) -> tuple[float, ...]:
        if not isinstance(value, tuple | list) or len(value) != count:
            raise TypeError(f"{name} must be {count} numbers, got {value!r}")
        for number in value:
            self._number(name, number, False)
        return tuple(value)

    def _number(self, name: str, value: Any, whole: bool) -> None:
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise TypeError(f"{name} must be a {'whole ' * whole}number, got {value!r}")
        if not (0 < value < math.inf):
            raise ValueError(f"{name} must be positive and finite, got {value}")
        least, most = self.LIMITS.get(name, (0.0, math.inf))
        if not (least <= value <= most):
            raise ValueError(f"{name} must lie between {least:g} and {most:g}, got {value}")

    def check_read(self, name: str = "settings") -> None:
        """Refuse settings from a file that are a thousand times off what the step was made for."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Group):
                value.check_read(f"{name}.{field.name}")
                continue
            several = value if isinstance(value, tuple) else (value,)
            usuals = field.default if isinstance(field.default, tuple) else (field.default,)
            for one, usual in zip(several, usuals, strict=True):
                if not usual / FACTOR <= one <= usual * FACTOR:
                    raise ValueError(
                        f"{name}.{field.name} must be within a factor of {FACTOR:g} of {usual}, got {one!r}"
                    )

    @classmethod
    def from_file(cls, found: Any, name: str = "settings") -> Any:
        """The settings a file holds, checked. One that it does not name came after it was written and has its default;
        one that is not known here is refused."""
        if not isinstance(found, dict):
            raise TypeError(f"{name} must be a mapping, got {type(found).__name__}")
        groups = {field.name: type(field.default) for field in fields(cls) if isinstance(field.default, Group)}
        given: dict[str, Any] = {
            str(key): groups[key].from_file(value, f"{name}.{key}") if key in groups else value
            for key, value in found.items()
        }
        unknown = sorted(set(given) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"{name} names {', '.join(unknown)}, which this version does not have")
        made = cls(**given)
        made.check_read(name)
        return made


def places(group: Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Where each number of a group is: the names of the groups it lies in, then its own."""
    found: list[tuple[str, ...]] = []
    for field in fields(group):
        value = getattr(group, field.name)
        found += places(value, (*path, field.name)) if isinstance(value, Group) else [(*path, field.name)]
    return found
