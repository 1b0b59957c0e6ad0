"""`Prophecy.explain`: what a stream is predicted from, in words and numbers."""

from typing import Any

import numpy as np

from prophecy.streams.channels import Channels
from prophecy.streams.limits import DIFFERENCE, ERROR_ROUNDING, ROUNDED, VALUE, WINDOW
from prophecy.streams.members import BANK
from prophecy.streams.readouts import members
from prophecy.streams.settings import Settings

MENTIONED = 5
DOUBTED = 0.95
"""Share of the change forecast by the members below which the sentence about shrinkage is given."""


def explained(stream: Channels, series: int, gaps: str) -> str:
    """Which members one series is predicted by, with their errors; seasons, time, resolution."""
    if stream.count < 2:
        return f"{stream.count} values seen: nothing to choose by yet."
    record, shares = stream.records[series], stream.shares()[series]
    rounding = ERROR_ROUNDING * max(abs(float(record["last"])), float(np.abs(record["lag"]).max()))
    errors = np.sqrt(np.append(record["error_scale"], record["scale"]))
    errors[errors <= rounding] = 0.0
    words = [f"off by {error:.3g}" if error > 1e-99 else "exact, to rounding" for error in errors]
    still = errors[0] > 1e-99 and record["same"] >= stream.settings.stuck  # members alone learn errors meanwhile
    recent, now = ("Before it stood still, predictions were", " now") if still else ("Recent predictions are", "")
    as_much = f", {errors[1] / errors[0]:.3g} times as much" if errors[:2].all() and not still else ""
    lines = [
        f"{stream.count} values seen. {recent} {words[0]} (root mean square); copying the last value"
        f"{now} would be {words[1]}{as_much}.",
        f"It mixes {np.count_nonzero(shares)} members, each weighted by how well it has predicted lately. Those that "
        "count most:",
    ]
    best = [i for i in np.argsort(-shares)[:MENTIONED] if shares[i] >= 0.01]
    lines += [f"  {shares[i]:4.0%}  {members()[i].name}: {words[1 + i]}" for i in best]
    full = float(record["shrink_ahead"][0])
    moved = float(record["change"]) / full if full else 1.0
    if moved <= DOUBTED:
        came = min(max(float(record["shrink_sums"][0] / record["shrink_sums"][1]), 0.0), 1.0)
        lines.append(f"The change its members forecast is cut to {moved:.0%}: {came:.0%} of such changes came true.")
    lines += _about_seasons(stream, record, shares[BANK:])
    lines += _about_time(stream)
    lines += _about_sensor(record, stream.settings)
    if missing := record["gap"] - record["doubts"]:
        filling = "its own predictions" if gaps == "predict" else "the last value"
        lines.append(f"Missing values: {missing}; the memory continues with {filling}.")
    return "\n".join(lines)


def _about_seasons(stream: Channels, record: Any, shares: Any) -> list[str]:
    periods = [float(period) for period in record["season_periods"] if period > 0.0]
    if not periods:
        return []
    named = [f"{period:.6g} samples{_span(period * stream.dt) if stream.stamped else ''}" for period in periods]
    strengths = " and ".join(f"{strength:.0%}" for strength in record["season_strength"][: len(periods)])
    which, explain = ("A season of", "explains") if len(named) == 1 else ("Seasons of", "explain")
    use = f"Seasonal members count for {shares.sum():.0%} of the forecast."
    if not record["season_on"]:
        use = "Seasonal members do not help at present, so they are left out."
    return [f"{which} {' and '.join(named)} {explain} {strengths} of the power. {use}"]


def _span(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= length:
            return f" ({_counted(seconds / length, unit)})"
    return f" ({_counted(seconds, 'seconds')})"


def _counted(number: float, unit: str) -> str:
    text = f"{number:.6g}"
    return f"{text} {unit[:-1] if text == '1' else unit}"


def _about_time(stream: Channels) -> list[str]:
    if not stream.stamped:
        return []
    step = _counted(stream.dt, "seconds")
    if stream.clocks["irregular"][0]:
        return [f"Times are irregular; values are brought to steps of {step}, the typical interval."]
    if stream.clocks["mean_square"][0] <= ROUNDED**2:
        return [f"Times lie on a grid of {step}."]
    came, told = stream.samples["beside"][0]
    true = came > 0.5 * told
    how = "and values are corrected to the grid" if true else "which is treated as noise of the timestamps"
    return [f"Times lie on a grid of {step}. They jitter, {how}."]


def _about_sensor(record: Any, settings: Settings) -> list[str]:
    lines = []
    rests, tick = record["alarm_weight"][DIFFERENCE][0], record["alarm_middle"][DIFFERENCE][:2]
    repeat = tick[0] == 0.0 and rests * settings.stuck >= record["alarm_seen"] >= WINDOW
    if repeat and tick[1] > 1e-3 * np.sqrt(record["scale"][0]):
        lines.append(f"Values come in ticks of {tick[1]:.6g}; no interval is narrower than one.")
    if record["same"] >= settings.stuck:
        lines.append(f"The last {record['same'] + 1} values are the same: constant or stuck. Intervals stay unchanged.")
    size, total = int(record["alarm_size"][VALUE]), float(record["alarm_seen"])
    for place, word in ((size - 1, "largest"), (0, "smallest")) if size > 4 else ():
        share, value = record["alarm_weight"][VALUE][place] / total, record["alarm_middle"][VALUE][place]
        if share >= settings.alarms.piled and record["same"] + 1 < share * total:
            lines.append(f"{share:.0%} of all values are {value:.6g}, the {word}: the sensor may saturate there.")
    return lines
