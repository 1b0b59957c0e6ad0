"""Open question: gating. A constructed gate against none and against a trained selective SSM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from prophecy.reproduce import switching, trained_runs
from prophecy.reproduce.framework import (
    Ask,
    Cell,
    Json,
    OpenQuestion,
    Outcome,
    Picture,
    Result,
    Table,
    Unit,
    Verdict,
    number,
    row,
)
from prophecy.reproduce.trained_runs import GPU, SHORT

CONSTRUCTED = {
    "no gate": (False, False),
    "forget gate only": (False, True),
    "input gate only": (True, False),
    "constructed gate": (True, True),
}
"""Whether outliers are kept out, and whether a switch empties the memory."""
RATES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
SINCE = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
SEED = 5_000
SHOWN = 0.05
"""The outlier rate at which the time since the switch is drawn."""
SETTLED = 24
"""Samples after a switch from which a model counts as settled."""


class Gating(OpenQuestion):
    name = "gating"
    title = "What does a gate buy?"
    reference = "Sec. 5; Mamba, Griffin"
    place = 151
    functions = 400
    data = (f"{trained_runs.FOLDER}/selective.json",)
    question = (
        "Modern state-space models choose by the input what to let in and what to forget. Does the construction gain "
        "from such a gate, can the gate be constructed too, and how close does it come to one that is trained?"
    )
    method = (
        "Data: three slow sines and a level, all redrawn at random switches (one in 150 samples), noise 0.05, and "
        "outliers of standard deviation 5 on 0 to 20 % of the samples; 512 samples each.",
        "Memory: LegT, N = 16, window 24, with the readout that is exact for parabolas. No gate: just that.",
        "Constructed gate: a residual beyond five running medians is replaced by the prediction (input gate); three "
        "in a row with one sign make the memory forget all but them (forget gate). Constants chosen on other seeds.",
        "Trained: selective SSMs in the manner of Mamba, 4 × 4 = 16 states as above, and 16 × 16, on 8 192 sequences "
        "of the same kind with the clean next value as target, which the constructed gate never sees (GPU, three "
        "seeds).",
        "Measured: squared error against the clean next value, by outlier rate and by samples since the switch.",
    )
    doubts = (
        "The trained models know the distribution of switches and outliers; the gate knows nothing of it. On data "
        "from elsewhere the order may turn: a selective SSM that kept its lead on switches of a kind it was not "
        "trained on would change our mind. So would a constructed gate that tells a switch from an outlier in one "
        "sample, where ours needs three."
    )

    def settings(self, ask: Ask) -> dict[str, Json]:
        trained_runs.torch_for(self.name)
        return {"length": switching.LENGTH, "order": switching.ORDER, "window": switching.WINDOW}

    def units(self, ask: Ask) -> list[Unit]:
        return [*(Unit(name, {"gate": name}) for name in CONSTRUCTED), Unit("short run", {})]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        if "gate" in unit.arguments:
            clip, forget = CONSTRUCTED[unit.arguments["gate"]]

            def predict(u: switching.Array) -> switching.Array:
                return switching.predict(u, clip=clip, forget=forget)

            return switching.scores(predict, self.size(ask), RATES, SINCE, SEED + ask.seed)
        torch = trained_runs.torch_for(self.name)
        from prophecy.reproduce.trained import selective

        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            steps, scored = trained_runs.shortened(ask, selective.SHORT.steps, selective.SHORT.sequences)
            return selective.train(replace(selective.SHORT, steps=steps, sequences=scored), [0], ask.device)
        finally:
            torch.set_num_threads(threads)

    def gather(self, ask: Ask, parts: Mapping[str, Json]) -> Outcome:
        curves: dict[str, Any] = {name: [parts[name]] for name in CONSTRUCTED}
        origins = {}
        for label, run in ((SHORT, parts["short run"]), (GPU, trained_runs.committed("selective"))):
            if run is None:
                continue
            origins[label] = trained_runs.origin(run)
            for model in run["models"]:
                curves.setdefault(trained_name(model, label), []).append(model)
        rows = []
        for name, found in curves.items():
            for index, rate in enumerate(RATES):
                rows.append(row("switches and outliers", rate, name, None, "mse", [m["mse"][index] for m in found]))
        drawn = {
            name: {"mse": [m["mse"] for m in found], "since": [m["mse since"][RATES.index(SHOWN)] for m in found]}
            for name, found in curves.items()
        }
        return Outcome(rows, {"curves": drawn, "origins": origins})

    def pictures(self, result: Result) -> list[Picture]:
        told = "; ".join(f"{name}: {text}" for name, text in result["details"]["origins"].items())
        return [
            Picture(
                "gating",
                "Left: mean squared error against the clean next value, divided by that without a gate, against the "
                "share of outliers; the samples of the switches themselves are left out. Right: error against the "
                f"samples since the last switch, at {100 * SHOWN:g} % outliers. Means over seeds. {told}.",
                lambda: _draw(result["details"]["curves"]),
                "Two panels of lines: the constructed gate removes most of what outliers cost, loses to trained models "
                "in the first samples after a switch and wins afterwards.",
            )
        ]

    def tables(self, result: Result) -> list[Table]:
        names = list(dict.fromkeys(r["method"] for r in result["rows"]))
        lines: list[list[Cell | str]] = []
        for name in names:
            found = [r["mean"] for r in result["rows"] if r["method"] == name]
            lines.append([name, *(number(v) for v in found), number(settled(result, name))])
        header = ["model", *(f"{100 * r:g} %" for r in RATES), f"settled, {100 * SHOWN:g} %"]
        caption = f"Mean squared error by share of outliers; last: {SETTLED} samples or more after a switch."
        return [Table(caption, header, lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        mean = {(r["method"], r["parameter"]): r["mean"] for r in result["rows"]}
        gain = {r: mean["no gate", r] / mean["constructed gate", r] for r in RATES}
        made = [
            Verdict(
                "The construction gains from a constructed gate.",
                all(g > 1 for g in gain.values()),
                "Its error falls by a factor of "
                + ", ".join(f"{number(g)} ({100 * r:g} %)" for r, g in gain.items())
                + " at these shares of outliers.",
            )
        ]
        names = list(dict.fromkeys(r["method"] for r in result["rows"]))
        same = next((n for n in names if n.startswith("selective SSM, 16 states") and GPU in n), None)
        if same is not None:
            over = {r: mean["constructed gate", r] / mean[same, r] for r in RATES}
            calm = settled(result, "constructed gate") / settled(result, same)
            made.append(
                Verdict(
                    "A gate has to be trained to be any good.",
                    False if calm < 1 else None,
                    f"Over all samples the constructed gate has {number(min(over.values()))} to "
                    f"{number(max(over.values()))} times the error of a trained selective SSM of the same size, which "
                    f"reacts to a switch at once; {SETTLED} samples after one it has {number(calm)} times its error.",
                )
            )
        return made


def trained_name(model: Mapping[str, Any], label: str) -> str:
    """What a trained model is called on the page."""
    return f"selective SSM, {model['channels'] * model['states']} states, {label}"


def settled(result: Result, name: str) -> float:
    """Mean squared error long after a switch, over seeds and ages."""
    values = [
        model[i] for model in result["details"]["curves"][name]["since"] for i, s in enumerate(SINCE) if s >= SETTLED
    ]
    return float(np.mean([v for v in values if v is not None]))


def _draw(curves: Mapping[str, Any]) -> Any:
    from prophecy.reproduce import style

    figure, (left, right) = style.figure(1, 2, height=4.2)
    shown = [name for name in curves if not name.endswith(SHORT)]
    base = np.mean(curves["no gate"]["mse"], axis=0)
    colours = [style.COLOURS["copy"], style.SEQUENCE[4], style.SEQUENCE[1], style.COLOURS["LegT"], "#cc79a7", "#009e73"]
    for name, colour in zip(shown, colours, strict=False):
        line = "-" if name in CONSTRUCTED else "--"
        left.plot(
            range(len(RATES)), np.mean(curves[name]["mse"], axis=0) / base, line, marker="o", color=colour, label=name
        )
        late = np.nanmean(np.array(curves[name]["since"], dtype=float), axis=0)
        right.plot(SINCE, late, line, marker="o", color=colour)
    left.set_xticks(range(len(RATES)), [f"{100 * r:g} %" for r in RATES])
    left.set(yscale="log", xlabel="outliers", ylabel="MSE / MSE without a gate")
    left.set_ylim(0.02, 5)
    right.set(xscale="log", yscale="log", xlabel="samples since the switch", ylabel="MSE")
    right.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
    right.minorticks_off()
    figure.legend(*left.get_legend_handles_labels(), ncols=2, loc="outside upper center")
    return figure


EXPERIMENT = Gating()
