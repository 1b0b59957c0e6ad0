"""Many keyed streams: a row of a table each, safe on disk, as fast as the cores go (docs/scale.md)."""

from prophecy.fleet.answers import Answers, Brief, Event, Predictions, Recent, Refused, Summary
from prophecy.fleet.fleet import Fleet
from prophecy.fleet.single import Answer, Single, step_bytes

__all__ = [
    "Answer", "Answers", "Brief", "Event", "Fleet", "Predictions", "Recent", "Refused", "Single", "Summary",
    "step_bytes",
]  # fmt: skip
