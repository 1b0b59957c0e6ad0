"""Fig. 1e: error of LegT against the context length k, for several N, on White Signal."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from prophecy.reproduce import paper
from prophecy.reproduce.framework import Ask, Experiment, Json, Outcome, Picture, Result, Unit, Verdict, number, row

ORDERS = (9, 17, 33, 65, 96)
CUTOFFS = (0.3, 1.0, 2.0)
BIN, ZOOM = 100, 1000
EARLY, LATE = slice(1, 10), slice(50, 99)
"""Bins of 100 samples: k = 100 … 1 000 and k = 5 000 … 9 900."""


class FigContext(Experiment):
    name = "fig-context"
    title = "Error against the context length"
    reference = "Fig. 1e"
    place = 50
    functions = 1000
    modules = ("reproduce/paper",)
    introduction = (
        "How the error of LegT falls as more of the signal is seen. The state starts at zero, as if the signal had "
        "been zero before; the kink this leaves in the window makes every memory ring, faster the larger it is. The "
        "paper does not say which γ it used, so three are shown. Oscillating “longer” can mean more oscillations or "
        "later settling; both are measured."
    )

    def settings(self, ask: Ask) -> dict[str, Json]:
        return {"orders": list(ORDERS), "γ": list(CUTOFFS)}

    def units(self, ask: Ask) -> list[Unit]:
        return paper.function_units({paper.WHITE: CUTOFFS}, self.size(ask), 50)

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = paper.unit_signal(ask, unit)
        value: dict[str, Any] = {}
        for order in ORDERS:
            errors = paper.predict("LegT", order, u)[:, :-1] - u[:, 1:]
            size = np.abs(errors)
            bins = size[:, : BIN * (size.shape[1] // BIN)].reshape(len(u), -1, BIN).mean(axis=2)
            value[str(order)] = {
                "sum": bins.sum(axis=0).tolist(),
                "squares": (bins**2).sum(axis=0).tolist(),
                "zoom": size[:, :ZOOM].sum(axis=0).tolist(),
                "early": bins[:, EARLY].mean(axis=1).tolist(),
                "late": bins[:, LATE].mean(axis=1).tolist(),
                "turns": (np.diff(np.sign(errors), axis=1) != 0).sum(axis=1).tolist(),
            }
        return {"count": len(u), "orders": value}

    def gather(self, ask: Ask, parts: Mapping[str, Json]) -> Outcome:
        curves: dict[str, Any] = {}
        rows = []
        for cutoff in CUTOFFS:
            pieces = [part for name, part in parts.items() if name.startswith(f"{paper.WHITE} {cutoff}, ")]
            count = sum(piece["count"] for piece in pieces)
            for order in ORDERS:
                own = [piece["orders"][str(order)] for piece in pieces]
                mean, square, zoom = (np.sum([p[k] for p in own], axis=0) / count for k in ("sum", "squares", "zoom"))
                std = np.sqrt(np.maximum(square - mean**2, 0.0))
                curves[f"{cutoff}|{order}"] = {"mean": mean.tolist(), "std": std.tolist(), "zoom": zoom.tolist()}
                for metric in ("early", "late", "turns"):
                    values = [value for p in own for value in p[metric]]
                    rows.append(row(paper.WHITE, cutoff, "LegT", order, METRICS[metric], values))
        return Outcome(rows, {"curves": curves})

    def pictures(self, result: Result) -> list[Picture]:
        return [
            Picture(
                "fig-context",
                f"Top: mean absolute error over 100 samples after k, mean ± std over {result['functions']} functions. "
                "Bottom: the first 1 000 samples one by one, for three orders.",
                lambda: _draw(result["details"]["curves"]),
            )
        ]

    def verdicts(self, result: Result) -> list[Verdict]:
        mean = {(r["parameter"], r["order"], r["metric"]): r["mean"] for r in result["rows"]}
        gains = {
            (c, n): mean[c, n, METRICS["early"]] / mean[c, n, METRICS["late"]]
            for c, n in itertools.product(CUTOFFS, ORDERS)
        }
        turns = {c: [mean[c, n, METRICS["turns"]] for n in ORDERS] for c in CUTOFFS}
        falling = [key for key, gain in gains.items() if gain > 1]
        told = "; ".join(
            f"γ = {c:g}: " + ", ".join(f"{number(gains[c, n])} (N = {n})" for n in ORDERS) for c in CUTOFFS
        )
        settle = {c: [settling(result["details"]["curves"][f"{c}|{n}"]["mean"]) for n in ORDERS] for c in CUTOFFS}
        more = all(b > a for c in CUTOFFS for a, b in itertools.pairwise(turns[c]))
        later = all(b >= a for c in CUTOFFS for a, b in itertools.pairwise(settle[c]))
        return [
            Verdict(
                "For all N, the model gets better with a longer context (Sec. 4).",
                True if len(falling) == len(gains) else (None if falling else False),
                f"Error at k = 100 … 1 000 divided by that at k = 5 000 … 9 900: {told}. Below 1, N is too small for "
                f"the window, whatever the context.",
            ),
            Verdict(
                "Larger states oscillate longer and need more samples to stabilise (Sec. 4).",
                True if more and later else (None if more or later else False),
                f"More oscillations with every larger N: {'yes' if more else 'no'}. Sign changes of the error: "
                + "; ".join(f"γ = {c:g}: " + _listed(turns[c]) for c in CUTOFFS)
                + f". Later settling with every larger N: {'yes' if later else 'no'}. Samples until the error stays "
                "within twice its level over the last fifth: "
                + "; ".join(f"γ = {c:g}: " + _listed(settle[c]) for c in CUTOFFS)
                + ".",
            ),
        ]


def settling(mean: list[float]) -> float:
    """Samples until a curve of bins stays within twice its median over the last fifth of the sequence."""
    values = np.array(mean)
    above = np.flatnonzero(values > 2 * np.median(values[4 * len(values) // 5 :]))
    return float(BIN * (above[-1] + 1)) if above.size else 0.0


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:.0f} (N = {n})" for n, value in zip(ORDERS, values, strict=True))


METRICS = {
    "early": "mae, k from 100 to 1 000",
    "late": "mae, k from 5 000 to 9 900",
    "turns": "sign changes of the error",
}


def _draw(curves: dict[str, Any]) -> Any:
    from matplotlib import colormaps

    from prophecy.reproduce import style

    figure, axes = style.figure(2, len(CUTOFFS), height=3.2)
    shades = dict(zip(ORDERS, colormaps["viridis_r"](np.linspace(0.08, 0.95, len(ORDERS))), strict=True))
    for axis, zoom, cutoff in zip(axes[: len(CUTOFFS)], axes[len(CUTOFFS) :], CUTOFFS, strict=True):
        axis.set_yscale("log")
        zoom.set_yscale("log")
        for order in ORDERS:
            line = curves[f"{cutoff}|{order}"]
            k = BIN * (np.arange(len(line["mean"])) + 0.5)
            style.band(axis, k, line["mean"], line["std"], shades[order], label=f"N = {order}")
            if order in (17, 33, 65):
                zoom.plot(np.arange(1, ZOOM + 1), line["zoom"], color=shades[order], linewidth=1.2)
        axis.set(title=f"White Signal γ = {cutoff:g}", xlim=(0, paper.SAMPLES), xlabel="context length k")
        zoom.set(xlim=(0, ZOOM), xlabel="context length k")
    axes[0].set_ylabel("mean absolute error")
    axes[len(CUTOFFS)].set_ylabel("mean absolute error")
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=5, loc="outside upper center")
    return figure


EXPERIMENT = FigContext()
