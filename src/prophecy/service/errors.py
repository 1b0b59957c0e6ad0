"""Answers that refuse: what was wrong, where, and the way out. None of them has a path of the machine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response


def dumped(content: Any) -> bytes:
    """JSON as short as it gets; a NaN that slipped through is an error here rather than in the reader."""
    return json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(eq=False)
class Problem(Exception):
    """A request that is answered with an error and has changed nothing. row: of the body, from 1; field: of the row."""

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

    def response(self, headers: Mapping[str, str] | None = None) -> Response:
        """The answer, with the headers of its status: when to come back, and how to identify oneself."""
        found = dict(headers or {})
        if self.retry_after is not None:
            found["Retry-After"] = str(max(1, round(self.retry_after + 0.5)))
        if self.status == 401:
            found["WWW-Authenticate"] = 'Bearer realm="prophecy"'
        return Response(dumped(self.answer()), self.status, found, "application/json")


def bad(error: str, way_out: str, row: int | None = None, field: str | None = None) -> Problem:
    return Problem(400, error, way_out, row, field)


def again(error: str, way_out: str = "send the batch again", seconds: float = 1.0) -> Problem:
    return Problem(503, error, way_out, retry_after=seconds)


def stopping(error: str = "the service is stopping") -> Problem:
    return again(error, "send the batch again to the next one")


def shown(value: object, most: int = 60) -> str:
    """A value inside a message: its repr, shortened, so that a body is not sent back whole."""
    text = repr(value)
    return text if len(text) <= most else text[: most - 1] + "…"
