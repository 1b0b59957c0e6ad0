"""Draw the README's picture: python docs/picture.py [FILE]. Needs the `cli` extra."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
from blocks import ROOT  # and what lies beside the package

import prophecy
from prophecy.chaos import lorenz
from reproduction import style

CONTEXT, HORIZON, PER_LYAPUNOV, NOISE = 512, 360, 30, 0.01
AHEAD, TOP = 48, 28.0
SENSOR = ROOT / "examples" / "sensor.csv"


def draw_sensor(axis: Any) -> None:
    """The end of the example file, the reading that was unusual, and the two days after it."""
    table = pd.read_csv(SENSOR, parse_dates=["time"]).set_index("time").asfreq("h")["temperature"]
    values = table.to_numpy()
    ahead = prophecy.forecast(values, AHEAD)
    track = prophecy.Prophecy().follow(values)
    (worst,) = np.nonzero(track.score == np.nanmax(track.score))
    days = (np.arange(len(values) + AHEAD) - len(values)) / 24
    past, future = days[: len(values)], days[len(values) :]
    axis.plot(past, values, color=style.MUTED, lw=1.4, label="readings")
    axis.plot(
        past[worst], np.minimum(values[worst], TOP - 0.6), "^", ms=11, color=style.COLOURS["FouT"], label="a fault"
    )
    axis.annotate(f"{values[worst][0]:g} °C", (past[worst][0], TOP - 0.6), (9, -4), textcoords="offset points")
    axis.fill_between(future, ahead.lower, ahead.upper, color=style.COLOURS["ours"], alpha=0.18, lw=0)
    axis.plot(future, ahead.point, color=style.COLOURS["ours"], lw=1.8, label=f"forecast, {AHEAD} hours, 90 % interval")
    axis.axvline(0, color=style.INK, lw=0.8)
    axis.set_xlim(-14, future[-1])
    axis.set_ylim(10, TOP)
    axis.set_xlabel("days")
    axis.set_title("A sensor: greenhouse temperature, °C")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, frameon=False, handletextpad=0.5)


def draw_chaos(axis: Any) -> None:
    truth = lorenz.sample(CONTEXT + HORIZON, PER_LYAPUNOV, seed=2)
    noise = np.random.default_rng(0).standard_normal((CONTEXT, 3))
    seen = truth[:CONTEXT] + NOISE * truth.std(axis=0) * noise
    ahead = prophecy.forecast(seen, HORIZON)
    point, lower, upper = (np.asarray(part)[:, 0] for part in (ahead.point, ahead.lower, ahead.upper))
    time = (np.arange(len(truth)) - CONTEXT + 1) / PER_LYAPUNOV
    past, future = slice(CONTEXT - 150, CONTEXT), slice(CONTEXT, None)
    axis.plot(time[past], seen[past, 0], color=style.MUTED, lw=1.6, label="context (its end)")
    axis.plot(time[future], truth[future, 0], color=style.INK, lw=3.2, alpha=0.35, label="what happened")
    axis.fill_between(time[future], lower, upper, color=style.COLOURS["ours"], alpha=0.18, lw=0, label="90 % interval")
    axis.plot(time[future], point, color=style.COLOURS["ours"], lw=1.6, label=f"forecast(context, {HORIZON})")
    axis.axvline(0, color=style.INK, lw=0.8)
    axis.set_xlim(time[past][0], time[-1])
    axis.set_xlabel("Lyapunov times (an error grows e-fold in each)")
    axis.set_title("A chaotic system: Lorenz from 512 samples with 1 % noise")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4, frameon=False, handletextpad=0.5)


def main() -> None:
    target = sys.argv[1] if sys.argv[1:] else ROOT / "docs" / "picture.png"
    with style.use():
        figure, (left, right) = style.figure(1, 2, width=15.0, height=4.6, width_ratios=[1, 1.35])
        draw_sensor(left)
        draw_chaos(right)
        figure.savefig(target, dpi=110)
    print(target)


if __name__ == "__main__":
    main()
