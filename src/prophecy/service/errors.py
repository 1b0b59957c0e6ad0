"""Answers that refuse: what was wrong, where, and the way out. None of them holds a path of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class Problem(Exception):
    """A request that is answered with an error and has changed nothing.

    status: of HTTP. row: which row of the body (the first is 1), field: which part of it, where that is known.
    """

    status: int
    error: str
    way_out: str
    row: int | None = None
    field: str | None = None
    retry_after: float | None = None

    def __str__(self) -> str:
        return self.error

    def answer(self) -> dict[str, Any]:
        """The body of the answer; parts that are not known are left out."""
        parts: dict[str, Any] = {"error": self.error, "row": self.row, "field": self.field, "way_out": self.way_out}
        if self.retry_after is not None:
            parts["retry_after"] = round(self.retry_after, 3)
        return {name: part for name, part in parts.items() if part is not None}

    def headers(self) -> dict[str, str]:
        """Headers that belong to the status: when to come back, and how to identify oneself."""
        found = {}
        if self.retry_after is not None:
            found["Retry-After"] = str(max(1, round(self.retry_after + 0.5)))
        if self.status == 401:
            found["WWW-Authenticate"] = 'Bearer realm="prophecy"'
        return found


def bad(error: str, way_out: str, row: int | None = None, field: str | None = None) -> Problem:
    """A body or parameter that cannot be used: 400."""
    return Problem(400, error, way_out, row, field)


def shown(value: object, most: int = 60) -> str:
    """A value inside a message: its repr, shortened, so that a body is not sent back whole."""
    text = repr(value)
    return text if len(text) <= most else text[: most - 1] + "…"
