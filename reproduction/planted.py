"""Changes planted into streams of everyday kinds: which of them `Prophecy` reports, how late, and what it reports
besides."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.streams import Prophecy
from reproduction import style
from reproduction.framework import Ask, Experiment, Outcome, Result, Table, Unit, Verdict
from reproduction.rows import Array, Json, Parts, Rows, distinct, held, means, row

ROWS, WHEN, WITHIN, WARM = 4032, 3000, 100, 500
"""Rows of a stream, where it changes, how soon a report must come to count, and rows that are for learning."""

RATE = 1e-3
"""Share of ordinary rows that may be flagged, as `prophecy anomalies --rate` has it: half by score, half by alarm."""

SHOWN = "daily, hourly readings"
CHANGES = ("spike", "shift", "noise, four times", "noise, a fifth", "flat line", "lost season")


def streams(seed: int) -> dict[str, tuple[Array, Array]]:
    """What a stream is without its noise, and the noise: their sum is the stream (summed up for a walk)."""
    rng = np.random.default_rng((seed, 83))
    k = np.arange(ROWS)
    day, none = 3.0 * np.sin(2 * np.pi * k / 24), np.zeros(ROWS)
    red = rng.standard_normal(ROWS)
    for i in range(1, ROWS):
        red[i] += 0.8 * red[i - 1]
    return {
        "white noise": (none, rng.standard_normal(ROWS)),
        "autoregressive": (none, red),
        "random walk": (none, rng.standard_normal(ROWS)),
        SHOWN: (day, 0.5 * rng.standard_normal(ROWS)),
        "heavy tails": (none, rng.standard_t(4, ROWS)),
        "thermometer, ticks of 0.1": (20 + day, 0.5 * rng.standard_normal(ROWS)),
    }


def changed(name: str, change: str, seed: int) -> Array | None:
    """The stream with the change at row `WHEN`; None where there is no season to lose."""
    calm, noise = streams(seed)[name]
    calm, noise = calm.copy(), noise.copy()
    size = float(np.std(noise))
    if change == "lost season":
        if not np.ptp(calm) > 0:
            return None
        calm[WHEN:] = np.mean(calm[:WHEN])
    if change.startswith("noise"):
        noise[WHEN:] *= 4.0 if change == "noise, four times" else 0.2
    u = np.cumsum(noise) if name == "random walk" else calm + noise
    if change == "spike":
        u[WHEN] += 8.0 * size
    elif change == "shift":
        u[WHEN:] += 8.0 * size
    if name.startswith("thermometer"):
        u = np.round(u, 1)
    if change == "flat line":
        u[WHEN:] = u[WHEN - 1]
    return np.asarray(u)


def flagged(u: Array, rate: float = RATE) -> NDArray[np.bool_]:
    track = Prophecy(context=1).follow(u)
    return np.asarray((track.score > -np.log10(rate / 2)) | (track.alarm >= 1 - rate / 2))


class Planted(Experiment):
    name = "alarms"
    title = "Beyond the paper: alarms"
    reference = "Changes planted into generated streams"
    place = 225
    functions = 10
    introduction = (
        f"Six kinds of change at row {WHEN} of streams of everyday kinds, {ROWS} rows each. A row is flagged where its "
        f"score or its alarm is rarer than half of {RATE:g}, as `prophecy anomalies` does it. A change is found when a "
        f"row is flagged within {WITHIN} rows of it; how late is the median over the streams where it was. Rows "
        f"{WARM} to {WHEN} are ordinary: what is flagged there is false. Spikes and shifts are 8 standard deviations "
        "of the noise. Nothing is told to the model, and one rule serves all."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit(name, {"stream": name}) for name in streams(0)]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        name, found, false = unit.arguments["stream"], {}, []
        for change in CHANGES:
            late = []
            for seed in range(self.size(ask)):
                u = changed(name, change, ask.seed + seed)
                if u is None:
                    break
                flags = np.flatnonzero(flagged(u))
                false.append(float(np.sum((flags >= WARM) & (flags < WHEN))) / (WHEN - WARM))
                after = flags[(flags >= WHEN) & (flags < WHEN + WITHIN)]
                late.append(float(after[0] - WHEN) if len(after) else -1.0)
            if late:
                found[change] = late
        story = {}
        if name == SHOWN:
            for change in CHANGES:
                u = changed(name, change, ask.seed)
                assert u is not None
                part = slice(WHEN - 96, WHEN + 96)
                story[change] = [u[part].round(3).tolist(), flagged(u)[part].tolist()]
        return {"late": found, "false": float(np.mean(false)), "story": story}

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows: Rows = []
        for name, part in parts.items():
            rows.append(row(name, None, "Prophecy", None, "false", part["false"]))
            for change, late in part["late"].items():
                hit = [rows_late for rows_late in late if rows_late >= 0]
                rows.append(row(name, change, "Prophecy", None, "found", len(hit) / len(late)))
                rows.append(row(name, change, "Prophecy", None, "late", float(np.median(hit)) if hit else -1.0))
        return Outcome(rows, {"story": parts[SHOWN]["story"]})

    caption = f"One stream ({SHOWN}) around each change (the dotted line); flagged rows are marked."
    alt = "Six panels: a daily curve with noise, each with another change at its middle and dots where it is flagged."

    def draw(self, result: Result) -> Any:
        story = result["details"]["story"]
        figure, axes = style.figure(2, 3, height=2.4, sharex=True, sharey=True)
        time = np.arange(-96, 96)
        for axis, (change, (u, flags)) in zip(np.ravel(axes), story.items(), strict=True):
            values, where = np.array(u), np.array(flags)
            axis.axvline(0, color=style.COLOURS["paper"], linewidth=0.9, linestyle=":")
            axis.plot(time, values, color=style.COLOURS["truth"], linewidth=1.0)
            axis.plot(time[where], values[where], "o", color=style.COLOURS["FouT"], markersize=5)
            axis.set_title(change)
        for axis in np.ravel(axes)[3:]:
            axis.set_xlabel("rows after the change")
        return figure

    def tables(self, result: Result) -> list[Table]:
        found = means(result["rows"], "dataset", "parameter", "metric")
        lines = []
        for name in distinct(result["rows"], "dataset"):
            cells = [
                f"{found[name, change, 'found']:.0%}"
                + f", {found[name, change, 'late']:.0f}" * (found[name, change, "found"] > 0)
                if (name, change, "found") in found
                else "–"
                for change in CHANGES
            ]
            lines.append([name, *cells, f"{found[name, None, 'false']:.2g}"])
        caption = "Share of changes found, and how many rows late; last, the share of ordinary rows flagged."
        return [Table(caption, ["stream", *CHANGES, "false"], lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        false = max(r["mean"] for r in result["rows"] if r["metric"] == "false")
        shares = [r["mean"] for r in result["rows"] if r["metric"] == "found"]
        all_found = sum(share == 1.0 for share in shares)
        return [
            Verdict(
                f"At most a share {RATE:g} of ordinary rows is flagged.",
                false <= RATE,
                f"At most {false:.2g}, over {len({r['dataset'] for r in result['rows']})} kinds of streams.",
            ),
            Verdict(
                "Every planted change is found.",
                held(all_found, len(shares)),
                f"Always in {all_found} of {len(shares)} pairs of stream and change, on average in "
                f"{np.mean(shares):.0%} of the streams.",
            ),
        ]
