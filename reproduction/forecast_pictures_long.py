"""Drawings of the page `forecast`: one variable alone, and the long run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reproduction import style

ALONE = (
    "The first variable of each system forecast from its own past alone: three Lyapunov times of context, ten ahead. "
    "Black (white on a dark page): what happened. Purple: the forecast with its interval of level 0.9; the valid time "
    "is in the corner."
)
CLIMATE = (
    "Spectra of 10 000 free steps (purple, dashed) and of 10 000 true ones from another start, first variable; the "
    "Hellinger distance over all variables is in the corner."
)


def _grid(count: int, height: float) -> Any:
    """Two panels beside each other, as many rows as it takes; one left over is not shown."""
    figure, axes = style.figure(-(-count // 2), 2, height=height)
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes


def alone(found: Mapping[str, Any]) -> Any:
    figure, axes = _grid(len(found), 1.9)
    colour = style.COLOURS["prophecy"]
    for axis, (system, one) in zip(axes, found.items(), strict=False):
        curve = one["curve"]
        past, truth = np.array(curve["past"]), np.array(curve["truth"])
        before, ahead = np.linspace(-3, 0, len(past), endpoint=False), np.linspace(0, 10, len(truth), endpoint=False)
        axis.fill_between(ahead, curve["lower"], curve["upper"], color=colour, alpha=0.18, linewidth=0)
        axis.plot(before, past, color=style.COLOURS["truth"], linewidth=1.1)
        axis.plot(ahead, truth, color=style.COLOURS["truth"], linewidth=1.1, label="what happened")
        axis.plot(ahead, curve["mean"], color=colour, linewidth=1.4, linestyle=(0, (4, 2)), label="forecast")
        axis.axvline(0, color=style.MUTED, linewidth=0.8)
        low, high = min(past.min(), truth.min()), max(past.max(), truth.max())
        axis.set(xlim=(-3, 10), ylim=(1.25 * low - 0.25 * high, 1.25 * high - 0.25 * low))
        axis.set_title(system, fontsize=10, loc="left")
        axis.set_title(f"{one['vpt'][0]:.1f}", fontsize=9, loc="right", color=style.MUTED)
    for axis in axes[-2:]:
        axis.set_xlabel("Lyapunov times")
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=2, loc="outside lower center")
    return figure


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
    for axis in axes[-2:]:
        axis.set_xlabel("cycles per Lyapunov time")
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=2, loc="outside lower center")
    return figure
