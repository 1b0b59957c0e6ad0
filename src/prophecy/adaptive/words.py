"""What a bank is doing, in words."""

from __future__ import annotations

import numpy as np

from prophecy.adaptive.members import members
from prophecy.adaptive.stream import Stream
from prophecy.adaptive.timed import DEGREES, STEPS

MENTIONED = 5


def explained(stream: Stream, series: int, gaps: str) -> str:
    """Which members one series is predicted by, with their errors, and where its derivative comes from."""
    if stream.count < 2:
        return f"{stream.count} values seen: nothing to choose by yet."
    record = (stream.records if stream.timed is None else stream.timed.records)[series]
    shares, scales = stream.shares()[series], record["scale"]
    error = float(np.sqrt(record["error_scale"]))
    lines = [
        f"{stream.count} values seen; the forecast has erred by {error:.3g} (root mean square, discounted) lately.",
        f"It mixes {len(shares)} members; those that count for most:",
    ]
    for i in np.argsort(-shares)[:MENTIONED]:
        if shares[i] >= 0.01:
            lines.append(f"  {shares[i]:4.0%}  {_name(stream, int(i))}: has erred by {np.sqrt(scales[i]):.3g}")
    copy = float(np.sqrt(scales[0]))
    lines.append(
        f"Copying the last value would have erred by {copy:.3g}, {copy / max(error, 1e-300):.3g} times as much."
    )
    if stream.timed is None:
        leaning = stream.slope()[1][series]
        best = int(np.argmax(leaning))
        lines.append(f"Its derivative leans most ({leaning[best]:.0%}) on the {members()[best].name}.")
    if record["gap"]:
        lines.append(f"{record['gap']} values are missing; the memory goes on with {_filling(gaps)}.")
    return "\n".join(lines)


def names(stream: Stream) -> tuple[str, ...]:
    """What each member predicts from."""
    return tuple(_name(stream, index) for index in range(stream.shares().shape[1]))


def _name(stream: Stream, index: int) -> str:
    if stream.timed is None:
        member = members()[index]
        return member.name if member.degree is not None else f"solved in context from {member.name}"
    if index == 0:
        return "copying the last value"
    steps, degree = STEPS[(index - 1) // len(DEGREES)], DEGREES[(index - 1) % len(DEGREES)]
    return f"LegT memory of {steps * stream.timed.typical:.4g} seconds, degree {degree}"


def _filling(gaps: str) -> str:
    return "its own predictions" if gaps == "predict" else "the last value"
