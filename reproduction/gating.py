"""Open question: gating. A constructed gate against none and against a trained selective SSM."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from reproduction import baselines, style, switching, trained_runs
from reproduction.framework import Ask, OpenQuestion, Outcome, Result, Table, Unit, Verdict
from reproduction.rows import Json, Parts, distinct, held, means, number, ratio, row
from reproduction.switching import RATES, SEED, SINCE
from reproduction.trained_runs import GPU, SHORT

CONSTRUCTED = {
    "no gate": (False, False),
    "forget gate only": (False, True),
    "input gate only": (True, False),
    "constructed gate": (True, True),
}
"""Whether outliers are kept out, and whether a switch empties the memory."""
GATE = "constructed gate"
TRIVIAL: dict[str, Callable[[switching.Array], switching.Array]] = {
    "copying": baselines.copy,
    "median of the last 5": switching.running_median,
}
"""What anyone would try first: neither memory nor gate."""
PREDICTORS = TRIVIAL | {name: partial(switching.predict, clip=c, forget=f) for name, (c, f) in CONSTRUCTED.items()}
SHOWN = 0.05  # the outlier rate at which the time since the switch is drawn
FRESH = 4  # samples after a switch within which the gate, which needs three of them, has hardly seen it
SETTLED = 24  # samples after a switch from which a model counts as settled


class Gating(OpenQuestion):
    name = "gating"
    title = "What does a gate buy?"
    reference = "Sec. 5; Mamba, Griffin"
    place = 151
    functions = 400
    torch = True
    given = (("length", switching.LENGTH), ("order", switching.ORDER), ("window", switching.WINDOW))
    data = (f"{trained_runs.FOLDER}/selective.json",)
    question = (
        "Modern state-space models choose by the input what to let in and what to forget. Does the construction gain "
        "from such a gate, can the gate be constructed too, and how close does it come to one that is trained?"
    )
    method = (
        "Data: three slow sines and a level, all redrawn at random switches (one in 150 samples), noise 0.05, and "
        "outliers of standard deviation 5 on 0 to 20 % of the samples; 512 samples each.",
        "Memory: LegT, N = 16, window 24, with the readout that is exact for parabolas. No gate: just that. Beside it, "
        "without a memory: copying, and the median of the last five values.",
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

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit(name) for name in (*PREDICTORS, "short run")]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        if unit.name in PREDICTORS:
            return switching.scores(PREDICTORS[unit.name], self.size(ask), RATES, SINCE, SEED + ask.seed)
        from reproduction.trained import selective

        with trained_runs.one_thread():
            steps, scored = trained_runs.shortened(ask, selective.SHORT.steps, selective.SHORT.sequences)
            return selective.train(replace(selective.SHORT, steps=steps, sequences=scored), [0], ask.device)

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        curves: dict[str, Any] = {name: [parts[name]] for name in (*TRIVIAL, *CONSTRUCTED)}
        runs = {SHORT: parts["short run"], GPU: trained_runs.committed("selective")}
        for label, run in runs.items():
            for model in run["models"]:
                curves.setdefault(trained_name(model, label), []).append(model)
        rows = [
            row("switches and outliers", rate, name, None, "mse", [m["mse"][index] for m in found])
            for name, found in curves.items()
            for index, rate in enumerate(RATES)
        ]
        drawn = {
            name: {"mse": [m["mse"] for m in found], "since": [m["mse since"][RATES.index(SHOWN)] for m in found]}
            for name, found in curves.items()
        }
        origins = {label: trained_runs.origin(run) for label, run in runs.items()}
        return Outcome(rows, {"curves": drawn, "origins": origins})

    caption = (
        "Left: mean squared error against the clean next value, divided by that without a gate, against the share of "
        "outliers; the samples of the switches themselves are left out. Right: error against the samples since the "
        f"last switch, at {100 * SHOWN:g} % outliers. Means over seeds. The input gate alone diverges and lies above "
        "the left panel. {told}."
    )
    alt = (
        "Two panels of lines: the constructed gate removes most of what outliers cost, a running median comes close to "
        "it and passes it where outliers are many, trained models win in the first samples after a switch and lose "
        "afterwards; copying is best without outliers."
    )

    def draw(self, result: Result) -> Any:
        curves = result["details"]["curves"]
        figure, (left, right) = style.figure(1, 2, height=4.2)
        shown = [name for name in curves if not name.endswith(SHORT)]
        base = np.mean(curves["no gate"]["mse"], axis=0)
        colours = [
            *(style.INK, style.COLOURS["line"], style.COLOURS["copy"], style.SEQUENCE[4], style.SEQUENCE[1]),
            *(style.COLOURS["LegT"], "#cc79a7", "#009e73"),
        ]
        for name, colour in zip(shown, colours, strict=False):
            line = "-" if name in CONSTRUCTED else ":" if name in TRIVIAL else "--"
            look = {"linestyle": line, "marker": "o", "color": colour}
            left.plot(range(len(RATES)), np.mean(curves[name]["mse"], axis=0) / base, label=name, **look)
            right.plot(SINCE, np.nanmean(np.array(curves[name]["since"], dtype=float), axis=0), **look)
        left.set_xticks(range(len(RATES)), [f"{100 * r:g} %" for r in RATES])
        left.set(yscale="log", xlabel="outliers", ylabel="MSE / MSE without a gate")
        left.set_ylim(0.02, 5)
        right.set(xscale="log", yscale="log", xlabel="samples since the switch", ylabel="MSE")
        right.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
        right.minorticks_off()
        return style.legended(figure, left, 2)

    def tables(self, result: Result) -> list[Table]:
        found = {name: means(result["rows"], "parameter", method=name) for name in distinct(result["rows"], "method")}
        lines = [[name, *map(number, mse.values()), number(settled(result, name))] for name, mse in found.items()]
        header = ["model", *(f"{100 * r:g} %" for r in RATES), f"settled, {100 * SHOWN:g} %"]
        caption = f"Mean squared error by share of outliers; last: {SETTLED} samples or more after a switch."
        return [Table(caption, header, lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        mean = means(result["rows"], "method", "parameter")
        gain = {r: mean["no gate", r] / mean[GATE, r] for r in RATES}
        alone = [mean["input gate only", r] for r in RATES]
        ahead = {name: [r for r in RATES if mean[GATE, r] < mean[name, r]] for name in TRIVIAL}
        made = [
            Verdict(
                "The construction gains from a constructed gate.",
                held(sum(g > 1 for g in gain.values()), len(gain)),
                "With both parts its error falls by a factor of "
                + ", ".join(f"{number(g)} ({100 * r:g} %)" for r, g in gain.items())
                + " at these shares of outliers. The input gate alone diverges: it never lets a switch in, and its "
                f"mean squared error is {number(min(alone))} to {number(max(alone))}.",
            ),
            Verdict(
                "The constructed gate beats what needs no memory at all.",
                held(sum(map(len, ahead.values())), len(ahead) * len(RATES)),
                "; ".join(f"{name}: beaten at {_shares(rates)} outliers" for name, rates in ahead.items())
                + f". Mean squared error at {100 * RATES[0]:g} % and {100 * RATES[-1]:g} %: "
                + ", ".join(
                    f"{number(mean[name, RATES[0]])} and {number(mean[name, RATES[-1]])} ({name})"
                    for name in (*TRIVIAL, GATE)
                )
                + ".",
            ),
        ]
        full = [n for n in distinct(result["rows"], "method") if n.endswith(GPU)]
        return [*made, _has_to_be_trained(result, mean, full)]


def _has_to_be_trained(result: Result, mean: Mapping[tuple[str, float], float], full: list[str]) -> Verdict:
    """Whether, over all samples and once settled, the trained models win against everything that is not trained."""
    untrained = [*TRIVIAL, *CONSTRUCTED]
    best = {r: min(untrained, key=lambda name: mean[name, r]) for r in RATES}
    wins = [min(mean[n, r] for n in full) < mean[best[r], r] for r in RATES]
    calm = {name: settled(result, name) for name in (*untrained, *full)}
    rest = min(untrained, key=lambda name: calm[name])
    wins.append(min(calm[n] for n in full) < calm[rest])
    lost = [f"{best[r]} at {100 * r:g} %" for r, won in zip(RATES, wins, strict=False) if not won]
    over = {n: [mean[GATE, r] / mean[n, r] for r in RATES] for n in full}
    return Verdict(
        "A gate has to be trained to be any good.",
        held(sum(wins), len(wins)),
        f"Over all samples a trained model is best at {sum(wins[:-1])} of {len(RATES)} shares of outliers"
        + (f" (better untrained: {', '.join(lost)})" if lost else "")
        + ". The constructed gate has "
        + "; ".join(
            f"{ratio(min(v))} to {ratio(max(v))} times the error of the {n} (up to "
            f"{number(_worst(result, n))} times in the first {FRESH} samples after a switch)"
            for n, v in over.items()
        )
        + f". {SETTLED} samples or more after a switch, at {100 * SHOWN:g} % outliers, the best untrained is the "
        f"{rest}: {number(calm[rest])}, against " + ", ".join(f"{number(calm[n])} ({n})" for n in full) + ".",
    )


def _worst(result: Result, name: str) -> float:
    """The constructed gate's error over a model's right after a switch: the largest ratio over the first ages."""
    curves = result["details"]["curves"]
    gate, other = (np.mean(np.array(curves[n]["since"], dtype=float), axis=0) for n in (GATE, name))
    return float(max(g / o for g, o, age in zip(gate, other, SINCE, strict=True) if age <= FRESH))


def _shares(rates: list[float]) -> str:
    return ", ".join(f"{100 * r:g} %" for r in rates) or "no share of"


def trained_name(model: Mapping[str, Any], label: str) -> str:
    return f"selective SSM, {model['channels'] * model['states']} states, {label}"


def settled(result: Result, name: str) -> float:
    values = [
        model[i] for model in result["details"]["curves"][name]["since"] for i, s in enumerate(SINCE) if s >= SETTLED
    ]
    return float(np.mean([v for v in values if v is not None]))
