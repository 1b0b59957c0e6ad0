"""Keyed streams inside a bytewax dataflow, with its recovery: `predict` is one operator.

Items are (key, value) or (key, (time, value)); each gives (key, Answer). The state of a stream is a snapshot of plain
bytes, so a dataflow that was killed goes on from its last snapshots; with a source that can go back and a sink that can
(bytewax's files and Kafka can), every answer is given exactly once.

    import bytewax.operators as op
    from bytewax.dataflow import Dataflow
    from prophecy.adapters.bytewax import predict

    flow = Dataflow("plant")
    rows = op.input("rows", flow, source)          # (key, (time, value))
    answers = predict("predict", rows)             # (key, Answer)
    op.output("out", answers, sink)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import bytewax.operators as op
from bytewax.operators import StatefulLogic

from prophecy.fleet.single import Answer, Single

Item = Any
"""A value, or (time, value)."""


class Logic(StatefulLogic[Item, Answer, bytes]):
    """One key's stream. A value that cannot be taken (text, infinite) stops the dataflow, unless `refused` is given:
    then refused(item, error) is called, and the item has no answer."""

    def __init__(
        self, state: bytes | None, dt: float | None, level: float, refused: Callable[[Item, Exception], None] | None
    ) -> None:
        self._stream, self._refused = Single(state, dt=dt, level=level), refused

    def on_item(self, value: Item) -> tuple[Iterable[Answer], bool]:
        time, number = value if isinstance(value, tuple) else (None, value)
        try:
            return (self._stream.observe(number, time),), StatefulLogic.RETAIN
        except (ValueError, TypeError) as error:
            if self._refused is None:
                raise
            self._refused(value, error)
            return (), StatefulLogic.RETAIN

    def snapshot(self) -> bytes:
        return self._stream.state()


def predict(
    step_id: str,
    up: Any,
    *,
    dt: float | None = None,
    level: float = 0.9,
    refused: Callable[[Item, Exception], None] | None = None,
) -> Any:
    """Predict every key's values: a stream of (key, value) or (key, (time, value)) gives one of (key, Answer).

    dt, level: as of `Fleet`. refused: called with an item that cannot be taken, and the reason.
    """
    return op.stateful(step_id, up, lambda state: Logic(state, dt, level, refused))


__all__ = ["Logic", "predict"]
