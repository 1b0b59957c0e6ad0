"""What a bank is doing, in words."""

from __future__ import annotations

import numpy as np

from prophecy.adaptive.bank import Bank
from prophecy.adaptive.timed import DEGREES, STEPS, TimedBank

MENTIONED = 5


def explained(bank: Bank | TimedBank, series: int, count: int, gaps: str) -> str:
    """Which members one series is predicted by, with their errors, and where its derivative comes from."""
    if count < 2:
        return f"{count} values seen: nothing to choose by yet."
    shares, scales = bank.mixture.shares()[series], bank.mixture.scales[series]
    error = float(np.sqrt(bank.calibration.scale[series]))
    lines = [f"{count} values seen; the forecast has erred by {error:.3g} (root mean square, discounted) lately."]
    lines.append(f"It mixes {len(shares)} members; those that count for most:")
    for i in np.argsort(-shares)[:MENTIONED]:
        if shares[i] >= 0.01:
            lines.append(f"  {shares[i]:4.0%}  {_name(bank, int(i))}: has erred by {np.sqrt(scales[i]):.3g}")
    copy = float(np.sqrt(scales[0]))
    lines.append(
        f"Copying the last value would have erred by {copy:.3g}, {copy / max(error, 1e-300):.3g} times as much."
    )
    if isinstance(bank, Bank):
        lines += _about_slope(bank, series)
    if bank.gap[series]:
        lines.append(f"{bank.gap[series]} values are missing; the memory goes on with {_filling(gaps)}.")
    return "\n".join(lines)


def _about_slope(bank: Bank, series: int) -> list[str]:
    shares = bank.slopes.shares(bank.mixture.scales)[series]
    best = int(np.argmax(shares))
    member = bank.table.members[bank.table.slopes.member[best]]
    return [f"Its derivative leans most ({shares[best]:.0%}) on the {member.name}."]


def _name(bank: Bank | TimedBank, index: int) -> str:
    if isinstance(bank, Bank):
        member = bank.table.members[index]
        return member.name if member.degree is not None else f"solved in context from {member.name}"
    if index == 0:
        return "copying the last value"
    steps, degree = STEPS[(index - 1) // len(DEGREES)], DEGREES[(index - 1) % len(DEGREES)]
    return f"LegT memory of {steps * bank.typical:.4g} seconds, degree {degree}"


def _filling(gaps: str) -> str:
    return "its own predictions" if gaps == "predict" else "the last value"
