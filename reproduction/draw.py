"""Figures that more than one page draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prophecy.tables import style


def paper_against_ours(rows: Iterable[Mapping[str, Any]]) -> Any:
    """One panel per data set and parameter: the paper's mean ± std in grey, ours in colour, per method and order."""
    lines = list(rows)
    panels = list(dict.fromkeys((line["dataset"], line["parameter"]) for line in lines))
    columns = 3
    count = -(-len(panels) // columns)
    figure, axes = style.figure(count, columns, height=2.9)
    for axis, (dataset, parameter) in zip(axes, panels, strict=False):
        group = [line for line in lines if (line["dataset"], line["parameter"]) == (dataset, parameter)]
        _panel(axis, group)
        axis.set_title(f"{dataset} {parameter}")
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    for axis in axes[::columns]:
        axis.set_ylabel("MSE")
    return figure


def _panel(axis: Any, group: list[Mapping[str, Any]]) -> None:
    axis.set_yscale("log")
    names = []
    for place, line in enumerate(group):
        if line["paper_mean"] is not None:
            low = min(line["paper_std"] or 0.0, line["paper_mean"] * 0.9)
            axis.errorbar(
                place - 0.14,
                line["paper_mean"],
                yerr=[[low], [line["paper_std"] or 0.0]],
                fmt="o",
                color=style.COLOURS["paper"],
                capsize=3,
            )
        low = min(line["std"] or 0.0, line["mean"] * 0.9)
        axis.errorbar(
            place + 0.14,
            line["mean"],
            yerr=[[low], [line["std"] or 0.0]],
            fmt=style.MARKERS[line["method"]],
            color=style.COLOURS[line["method"]],
            capsize=3,
        )
        short = {"LegT": "LegT", "FouT as printed": "FouT\nprinted", "FouT": "FouT\nright"}[line["method"]]
        names.append(f"{short}\n{line['order']}")
    axis.set_xticks(range(len(group)), names, fontsize=8)
    axis.grid(axis="x", visible=False)
