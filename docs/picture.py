"""Draw the README's picture: python docs/picture.py. About half a minute; needs the `cli` extra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import prophecy
from prophecy import baselines, signals
from prophecy.chaos import lorenz
from prophecy.evaluation import mean_squared_error
from prophecy.tables import style

Array = NDArray[np.float64]

FUNCTIONS, CONTEXT, HORIZON, PER_LYAPUNOV, NOISE = 4, 512, 360, 30, 0.01


def one_step() -> list[tuple[str, dict[str, float]]]:
    """Root mean squared error one step ahead, over the second half, per signal and method."""
    noise = 1e-2 * np.random.default_rng(0).standard_normal((FUNCTIONS, signals.SAMPLES))
    cases = {
        "White Signal, γ = 1": signals.white_signal(1.0, FUNCTIONS),
        "Van der Pol": signals.van_der_pol()[None, :],
        "White Signal + 1 % noise": signals.white_signal(1.0, FUNCTIONS) + noise,
        "Filtered Noise, α = 0.1": signals.filtered_noise(0.1, FUNCTIONS),
    }
    paper = prophecy.next_value(prophecy.legt(65, 10.0), 1e-3)
    rows = []
    for name, u in cases.items():
        predictions = {
            "paper (LegT, N = 65)": prophecy.run(paper, u)[0],
            "copy the last value": baselines.copy(u),
            "straight line": baselines.line(u),
            "Prophecy()": prophecy.Prophecy().predict_all(u),
        }
        rows.append((name, {k: float(np.sqrt(mean_squared_error(u, y).mean())) for k, y in predictions.items()}))
    return rows


def draw_errors(axis: Any, rows: list[tuple[str, dict[str, float]]]) -> None:
    colours = {
        "paper (LegT, N = 65)": style.COLOURS["LegT"],
        "copy the last value": style.COLOURS["copy"],
        "straight line": style.COLOURS["line"],
        "Prophecy()": style.COLOURS["ours"],
    }
    for place, (_, errors) in enumerate(reversed(rows)):
        axis.plot([min(errors.values()), max(errors.values())], [place, place], color=style.GRID, lw=6, zorder=1)
        for method, error in errors.items():
            ours = method == "Prophecy()"
            axis.plot(
                error, place, "*" if ours else "o", ms=17 if ours else 9, color=colours[method], zorder=3 if ours else 2
            )
    floors = {0: baselines.innovation_floor(0.1) ** 0.5, 1: 1e-2}
    for place, floor in floors.items():
        axis.plot([floor, floor], [place - 0.28, place + 0.28], color=style.INK, lw=1.6, zorder=1)
    axis.plot([], [], color=style.INK, lw=1.6, label="nobody can do better")
    for method, colour in colours.items():
        ours = method == "Prophecy()"
        axis.plot([], [], "*" if ours else "o", ms=13 if ours else 8, color=colour, label=method)
    axis.set_xscale("log")
    axis.set_yticks(range(len(rows)), [name for name, _ in reversed(rows)])
    axis.set_ylim(-0.6, len(rows) - 0.4)
    axis.set_xlabel("error of the next value (root mean square)")
    axis.set_title("One step ahead, no settings")
    axis.legend(
        loc="upper center", bbox_to_anchor=(0.4, -0.2), ncols=3, frameon=False, handletextpad=0.3, columnspacing=1.2
    )


def draw_forecast(axis: Any) -> str:
    truth = lorenz.sample(CONTEXT + HORIZON, PER_LYAPUNOV, seed=2)
    noise = np.random.default_rng(0).standard_normal((CONTEXT, 3))
    seen = truth[:CONTEXT] + NOISE * truth.std(axis=0) * noise
    ahead = prophecy.forecast(seen, HORIZON)
    mean, lower, upper = (np.asarray(part)[:, 0] for part in (ahead.mean, ahead.lower, ahead.upper))
    time = (np.arange(len(truth)) - CONTEXT + 1) / PER_LYAPUNOV
    past, future = slice(CONTEXT - 150, CONTEXT), slice(CONTEXT, None)
    axis.plot(time[past], seen[past, 0], color=style.MUTED, lw=1.6, label="context (its end)")
    axis.plot(time[future], truth[future, 0], color=style.INK, lw=3.2, alpha=0.35, label="what happened")
    axis.fill_between(time[future], lower, upper, color=style.COLOURS["ours"], alpha=0.18, lw=0, label="90 % interval")
    axis.plot(time[future], mean, color=style.COLOURS["ours"], lw=1.6, label=f"forecast(context, {HORIZON})")
    axis.axvline(0, color=style.INK, lw=0.8)
    axis.set_xlim(time[past][0], time[-1])
    axis.set_xlabel("time in Lyapunov times (an error grows e-fold in each)")
    axis.set_title("Many steps ahead: Lorenz from 512 samples with 1 % noise")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4, frameon=False, handletextpad=0.5)
    return ahead.method


def main() -> None:
    target = Path(__file__).parent / "picture.png"
    with style.use():
        figure, (left, right) = style.figure(1, 2, width=15.0, height=4.6, width_ratios=[1, 1.35])
        draw_errors(left, one_step())
        draw_forecast(right)
        figure.savefig(target, dpi=110)
    print(target)


if __name__ == "__main__":
    main()
