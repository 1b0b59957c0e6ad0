"""`Prophecy.explain`: what a stream is predicted from, in words and numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from prophecy.streams.channels import Channels
from prophecy.streams.limits import AS_NOISE, DIFFERENCE, ERROR_ROUNDING, QUARTER, THEN, VALUE, WINDOW
from prophecy.streams.members import BANK, SEASONAL
from prophecy.streams.readouts import members
from prophecy.streams.settings import Settings

MENTIONED = 5
DOUBTED = 0.95
"""Share of the change forecast by the members below which the sentence about shrinkage is given."""


def explained(stream: Channels, series: int, gaps: str) -> str:
    """Which members one series is predicted by, with their errors; seasons, time, resolution; where its derivative
    comes from."""
    if stream.count < 2:
        return f"{stream.count} values seen: nothing to choose by yet."
    record = stream.records[series]
    shares, scales = stream.shares()[series], record["scale"]
    error = _plain(float(np.sqrt(record["error_scale"])), record, stream)
    copy = _plain(float(np.sqrt(scales[0])), record, stream)
    as_much = f", {copy / error:.3g} times as much" if error > 0.0 and copy > 0.0 else ""
    lines = [
        f"{stream.count} values seen. Recent predictions are {_off(error)} (root mean square); copying the last value "
        f"would be {_off(copy)}{as_much}.",
        f"It mixes {np.count_nonzero(shares)} members, each weighted by how well it has predicted lately. Those that "
        "count most:",
    ]
    for i in np.argsort(-shares)[:MENTIONED]:
        if shares[i] >= 0.01:
            lines.append(f"  {shares[i]:4.0%}  {_name(int(i))}: {_off(_plain(np.sqrt(scales[i]), record, stream))}")
    lines += _about_shrinkage(record)
    lines += _about_seasons(stream, record, shares[BANK:])
    lines.append(_about_slope(stream.slope()[1][series], float(shares[BANK:].sum())))
    lines += _about_time(stream, record)
    lines += _about_sensor(record, stream.settings)
    missing = record["gap"] - record["doubts"]
    if missing:
        lines.append(f"{missing} values are missing; the memory goes on with {_filling(gaps)}.")
    return "\n".join(lines)


def _plain(error: float, record: Any, stream: Channels) -> float:
    """An error, 0 where it is not more than rounding makes of the newest value."""
    largest = max(abs(float(record["last"])), float(np.abs(record["lag"]).max()))
    return 0.0 if error <= ERROR_ROUNDING * largest else float(error)


def _off(error: float) -> str:
    return f"off by {error:.3g}" if error > 1e-99 else "exact, to rounding"


def _about_shrinkage(record: Any) -> list[str]:
    full = float(record["shrink_ahead"][0])
    moved = float(record["change"]) / full if full else 1.0
    if moved > DOUBTED:
        return []
    came = min(max(float(record["shrink_sums"][0] / record["shrink_sums"][1]), 0.0), 1.0)
    return [
        f"Of the changes its members forecast {came:.0%} came lately, so only {moved:.0%} of the next one is predicted."
    ]


def _about_seasons(stream: Channels, record: Any, shares: Any) -> list[str]:
    periods = [float(period) for period in record["season_periods"] if period > 0.0]
    if not periods:
        return []
    named = [f"{period:.6g} samples{_span(period * stream.dt) if stream.stamped else ''}" for period in periods]
    strengths = ", ".join(f"{strength:.2f}" for strength in record["season_strength"][: len(periods)])
    which = "A season of" if len(named) == 1 else "Seasons of"
    lines = [f"{which} {' and '.join(named)} was seen (share of the power {strengths})."]
    if not record["season_on"]:
        return [lines[0] + " Using it does not help at present, so it is left out."]
    said = f"Seasonal members count for {shares.sum():.0%} of the forecast"
    alone, together = record["season_sums"]
    if alone > 0.0:
        said += f"; with them its mean absolute error is {together / alone:.0%} of what it would be without"
    return [*lines, said + "."]


def _about_slope(leaning: Any, seasonal: float) -> str:
    """What the derivative comes from most: a readout, the path to the forecast, or the season."""
    best = int(np.argmax(leaning))
    path = max(1.0 - float(np.sum(leaning)), 0.0) if np.any(leaning) else 0.0
    sources = [
        ((1.0 - seasonal) * leaning[best], f"on the {members()[best].name}"),
        ((1.0 - seasonal) * path, "on the way from the value before the newest to the forecast of the next"),
        (seasonal, "on what the season's slope at this phase was before"),
    ]
    share, source = max(sources)
    return f"Its derivative leans most ({share:.0%}) {source}."


def _span(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= length:
            return f" ({_counted(seconds / length, unit)})"
    return f" ({_counted(seconds, 'seconds')})"


def _counted(number: float, unit: str) -> str:
    text = f"{number:.6g}"
    return f"{text} {unit[:-1] if text == '1' else unit}"


def _about_time(stream: Channels, record: Any) -> list[str]:
    if not stream.stamped:
        return []
    step = _counted(stream.dt, "seconds")
    if stream.is_irregular:
        return [f"Times are irregular; values are brought to steps of {step}, the typical interval."]
    line = f"Times lie on a grid of {step}."
    unit = float(stream.clocks["unit"][0])
    if unit > 0.0:
        line += f" Stamps are rounded to whole multiples of {_counted(unit, 'seconds')}."
    errors = stream.samples["reading"][0]
    if stream.samples["compared"][0] > QUARTER:
        line += (
            " They jitter, and values are corrected for having been taken at these very times."
            if errors[THEN] < stream.settings.clock.better * errors[AS_NOISE]
            else " They jitter, and so little depends on it that they are taken for noise."
        )
    return [line]


def _about_sensor(record: Any, settings: Settings) -> list[str]:
    lines = []
    rests, tick = record["alarm_weight"][DIFFERENCE][0], record["alarm_middle"][DIFFERENCE][:2]
    repeat = tick[0] == 0.0 and rests * settings.alarms.repeating >= record["alarm_seen"] >= WINDOW
    if repeat and tick[1] > 1e-3 * np.sqrt(record["scale"][0]):
        lines.append(f"Values come in ticks of {tick[1]:.6g}; no interval is narrower than one.")
    if record["same"] >= settings.stuck:
        lines.append(
            f"The last {record['same'] + 1} values are the same: a sensor at rest or stuck. "
            "Intervals stay as they were."
        )
    size, total = int(record["alarm_size"][VALUE]), float(record["alarm_seen"])
    if size > 4:
        for place, word in ((size - 1, "largest"), (0, "smallest")):
            share = record["alarm_weight"][VALUE][place] / total
            if share >= settings.alarms.piled and record["same"] + 1 < share * total:
                value = record["alarm_middle"][VALUE][place]
                lines.append(f"{share:.0%} of all values are {value:.6g}, the {word}: the sensor may saturate there.")
    return lines


def _name(index: int) -> str:
    member = members()[index]
    if member.degree is not None or member.name in SEASONAL:
        return member.name
    words = re.sub(r"(\d+) lags", r"the last \1 values", member.name).replace("2 alternations", "how they alternate")
    return f"a regression on {words.replace('samples', 'values')}"


def names() -> tuple[str, ...]:
    """What each member of the bank predicts from."""
    return tuple(_name(index) for index in range(len(members())))


def _filling(gaps: str) -> str:
    return "its own predictions" if gaps == "predict" else "the last value"
