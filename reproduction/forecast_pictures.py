"""Drawings of the page `forecast`."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np

from reproduction import style
from reproduction.forecast_cases import BASELINES, OURS, SYSTEMS
from reproduction.rows import distinct, means

GALLERY = (
    "First variable of eight systems: three Lyapunov times of context, then ten ahead. Black (white on a dark "
    "page): what happened. Purple: the forecast with its interval of level 0.9. Last two panels: with observation "
    "noise of 1 % and 5 %."
)
ALONE = (
    "The first variable of each system forecast from its own past alone: three Lyapunov times of context, ten ahead. "
    "Black (white on a dark page): what happened. Purple: the forecast with its interval of level 0.9; the valid time "
    "is in the corner."
)
CLIMATE = (
    "Spectra of 10 000 free steps (purple, dashed) and of 10 000 true ones from another start, first variable; the "
    "Hellinger distance over all variables is in the corner."
)
DOTS = "Valid prediction time of each system; bars reach from the best baseline to the forecast."
COVERAGE = "Share of values, with the noise of the context, inside the intervals of level 0.9; mean over systems."

SHOWN = (
    ("Lorenz", "30 per Lyapunov time"),
    ("Rössler", "30 per Lyapunov time"),
    ("Thomas", "30 per Lyapunov time"),
    ("forced Duffing, hidden phase", "30 per Lyapunov time"),
    ("food chain", "30 per Lyapunov time"),
    ("Mackey–Glass", "30 per Lyapunov time"),
    ("Lorenz", "30 per Lyapunov time, noise 1%"),
    ("Halvorsen", "30 per Lyapunov time, noise 5%"),
)
SHORT = {"copy": "copy", "repetition": "repetition", "linear autoregression": "linear"}


def gallery(curves: Mapping[str, Any], methods: Mapping[str, str]) -> Any:
    figure, axes = style.figure(4, 2, height=2.1)
    for axis, (system, case) in zip(axes, SHOWN, strict=True):
        _continued(axis, curves[f"{system}|{case}"])
        noise = case.partition("noise ")[2]
        axis.set_title(system + (f", noise {noise}" if noise else ""), fontsize=11)
        method = methods[f"{system}|{case}"].partition(", ")[0]
        axis.text(0.99, 1.03, method, transform=axis.transAxes, ha="right", fontsize=7.5, color=style.MUTED)
        axis.margins(y=0.08)
    return _finished(figure, axes, "Lyapunov times")


def _continued(axis: Any, curve: Mapping[str, Any]) -> tuple[Any, Any]:
    """Three Lyapunov times of context, ten ahead with their interval; what was and what came."""
    past, truth = np.array(curve["past"]), np.array(curve["truth"])
    before, ahead = np.linspace(-3, 0, len(past), endpoint=False), np.linspace(0, 10, len(truth), endpoint=False)
    colour = style.COLOURS["prophecy"]
    axis.fill_between(ahead, curve["lower"], curve["upper"], color=colour, alpha=0.18, linewidth=0)
    axis.plot(before, past, color=style.COLOURS["truth"], linewidth=1.1)
    axis.plot(ahead, truth, color=style.COLOURS["truth"], linewidth=1.1, label="what happened")
    axis.plot(ahead, curve["mean"], color=colour, linewidth=1.4, linestyle=(0, (4, 2)), label="forecast")
    axis.axvline(0, color=style.MUTED, linewidth=0.8)
    axis.set_xlim(-3, 10)
    return past, truth


def _finished(figure: Any, axes: Any, below: str) -> Any:
    for axis in axes[-2:]:
        axis.set_xlabel(below)
    return style.legended(figure, axes[0], 2, "lower center")


def dots(rows: list[Mapping[str, Any]]) -> Any:
    cases = distinct([r for r in rows if r["metric"] == "vpt"], "parameter")
    figure, axes = style.figure(1, len(cases), height=4.2, sharey=True)
    places = np.arange(len(SYSTEMS))[::-1]
    for axis, case in zip(axes, cases, strict=True):
        found = means(rows, "dataset", "method", parameter=case, metric="vpt")
        ours = [found[s, OURS] for s in SYSTEMS]
        best = [max(found[s, m] for m in BASELINES) for s in SYSTEMS]
        axis.hlines(places, best, ours, color=style.COLOURS["prophecy"], alpha=0.35, linewidth=5)
        axis.plot(ours, places, "o", color=style.COLOURS["prophecy"], markersize=7, label="forecast")
        axis.plot(best, places, "|", color=style.INK, markersize=10, markeredgewidth=2, label="best baseline")
        axis.set(title=case.replace(" per Lyapunov time", " per L.t.").replace(", ", ",\n"), xlim=(-0.4, 10.6))
        axis.title.set_fontsize(10)
        axis.set_xticks([0, 5, 10])
    axes[0].set_yticks(places, [name.replace(", ", ",\n") for name in SYSTEMS], fontsize=8.5)
    figure.supxlabel("valid prediction time, Lyapunov times", fontsize=11)
    return style.legended(figure, axes[0], 2, "upper right")


def coverage(bins: Mapping[str, list[float]]) -> Any:
    figure, (axis,) = style.figure(1, 1, width=7.5, height=3.4)
    for colour, (case, values) in zip(cycle(style.SEQUENCE), bins.items(), strict=False):
        width = 10 / len(values)
        axis.plot((np.arange(len(values)) + 0.5) * width, values, color=colour, label=case)
    axis.axhline(0.9, color=style.INK, linestyle=":", linewidth=1.2)
    axis.set(xlabel="Lyapunov times ahead", ylabel="share inside", ylim=(0.5, 1.01), xlim=(0, 10))
    axis.legend(loc="lower right", fontsize=9)
    return figure


def _grid(count: int, height: float) -> Any:
    """Two panels beside each other, as many rows as it takes; one left over is not shown."""
    figure, axes = style.figure(-(-count // 2), 2, height=height)
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes


def alone(found: Mapping[str, Any]) -> Any:
    figure, axes = _grid(len(found), 1.9)
    for axis, (system, one) in zip(axes, found.items(), strict=False):
        both = np.concatenate(_continued(axis, one["curve"]))
        low, high = both.min(), both.max()
        axis.set_ylim(1.25 * low - 0.25 * high, 1.25 * high - 0.25 * low)
        axis.set_title(system, fontsize=10, loc="left")
        axis.set_title(f"{one['vpt'][0]:.1f}", fontsize=9, loc="right", color=style.MUTED)
    return _finished(figure, axes, "Lyapunov times")


def climate(found: Mapping[str, Any]) -> Any:
    figure, axes = _grid(len(found), 1.9)
    for axis, (system, one) in zip(axes, found.items(), strict=False):
        if one["truth"] is not None:
            axis.loglog(one["periods"], one["truth"], color=style.COLOURS["truth"], linewidth=1.6, label="true run")
            dashed = {"linestyle": (0, (4, 2)), "linewidth": 1.6, "label": "free run"}
            axis.loglog(one["periods"], one["free"], color=style.COLOURS["prophecy"], **dashed)
            top = max(one["truth"])
            axis.set_ylim(max(min(one["truth"]) / 3, 1e-9 * top), 4 * top)
        axis.set_title(system, fontsize=10, loc="left")
        axis.set_title(f"{one['spectrum']:.3f}", fontsize=9, loc="right", color=style.MUTED)
    return _finished(figure, axes, "cycles per Lyapunov time")
