"""Fig. 1d: the construction against training, settings I to IV on four evaluation sets, three seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib import resources
from typing import Any

from prophecy.reproduce.framework import (
    Ask,
    Cell,
    Experiment,
    Json,
    Outcome,
    Picture,
    Result,
    Slip,
    Table,
    Unit,
    Verdict,
    number,
    row,
)

SEEDS = (0, 1, 2)
SHORT, FULL = "short run", "full run"
SETTINGS = {
    "I": "construction, C and D trained",
    "II": "construction, untouched",
    "III": "C and D from N(0, I), trained",
    "IV": "construction, all trained",
}
DISCRETE = "IV discrete"
SAME = 0.02
"""Errors closer than this are called equal."""


class FigTraining(Experiment):
    name = "fig-training"
    title = "Construction against training"
    reference = "Fig. 1d"
    place = 40
    introduction = (
        "LegT with N = 32 as a layer: left at the construction (II), or trained by gradient descent from it (I, IV) or "
        "from a random readout (III), on whole sequences of sines, White Signals and Legendre polynomials. The full "
        "run has the paper's size and was made once on a GPU; its results file is part of the package. The short run "
        "was made now, with fewer steps and smaller batches."
    )

    def settings(self, ask: Ask) -> dict[str, Json]:
        """The plan of the run made now; needs torch."""
        _, training = _torch()
        training.torch_device(ask.device)
        return {"plan": asdict(_plan(ask)), "run": FULL if ask.full else SHORT}

    def units(self, ask: Ask) -> list[Unit]:
        if ask.device == "cuda":
            return [Unit("all seeds", {"seeds": list(SEEDS)})]
        return [Unit(f"seed {seed}", {"seeds": [seed]}) for seed in SEEDS]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        torch, training = _torch()
        threads = torch.get_num_threads()
        # Sums over threads come out differently from machine to machine and run to run; one thread does not.
        torch.set_num_threads(1)
        try:
            return training.train(_plan(ask), unit.arguments["seeds"], ask.device)
        finally:
            torch.set_num_threads(threads)

    def gather(self, ask: Ask, parts: Mapping[str, Json]) -> Outcome:
        runs = {FULL if ask.full else SHORT: _merged(list(parts.values()))}
        stored = committed()
        if stored is not None and FULL not in runs:
            runs[FULL] = stored
        rows = []
        for name, run in runs.items():
            final = run["history"][-1]["scores"]
            for dataset, setting in dict.fromkeys((s["dataset"], s["setting"]) for s in final):
                own = [s["mae"] for s in final if (s["dataset"], s["setting"]) == (dataset, setting)]
                finite = [value for value in own if value is not None]
                if finite:
                    rows.append(row(dataset, name, setting, run["plan"]["order"], "mae", finite))
        return Outcome(rows, {"runs": runs})

    def pictures(self, result: Result) -> list[Picture]:
        runs = result["details"]["runs"]
        final = "Mean absolute error after training; bars: mean over three seeds, whiskers: least and most; "
        return [
            Picture(
                "fig-training",
                final + "; ".join(f"{name}: {_size(run)}" for name, run in runs.items()) + ".",
                lambda: _bars(runs),
            ),
            Picture(
                "fig-training-course",
                f"The course of training, {_longest(runs)}: mean absolute error on the held-out sets, mean of three "
                f"seeds. The dashed line is the untouched construction.",
                lambda: _course(runs[_longest(runs)]),
            ),
        ]

    def tables(self, result: Result) -> list[Table]:
        runs = result["details"]["runs"]
        lines: list[list[Cell | str]] = []
        for name, run in runs.items():
            for dataset in _datasets(run):
                values = {setting: _stats(run, dataset, setting) for setting in SETTINGS}
                best = min(value[0] for value in values.values() if value is not None)
                lines.append([name, dataset, *(_cell(values[s], best) for s in SETTINGS)])
        caption = "Mean absolute error: mean (least … most) over seeds. Marked: the best."
        return [Table(caption, ["run", "evaluated on", *SETTINGS], lines), _discrete(runs)]

    def verdicts(self, result: Result) -> list[Verdict]:
        runs = result["details"]["runs"]
        name = _longest(runs)
        run, datasets = runs[name], _datasets(runs[name])
        mean = {(d, s): _stats(run, d, s)[0] for d in datasets for s in SETTINGS}
        ahead = [(d, s) for d in datasets for s in ("I", "II", "IV") if mean[d, "III"] > (1 + SAME) * mean[d, s]]
        gain = {d: min(mean[d, s] for s in ("I", "III", "IV")) / mean[d, "II"] for d in datasets}
        nothing = [d for d in gain if gain[d] >= 1 - SAME]
        listed = ", ".join(f"{number(gain[d])} ({d})" for d in gain)
        return [
            Verdict(
                "Starting at the construction (I, II, IV) beats a random start (III) (Sec. 4).",
                True if len(ahead) == 3 * len(datasets) else (None if ahead else False),
                f"At the end of the {name} III is behind by more than {100 * SAME:g} % in {len(ahead)} of "
                f"{3 * len(datasets)} comparisons: it has "
                + ", ".join(f"{number(mean[d, 'III'] / mean[d, 'II'])} ({d})" for d in datasets)
                + f" times the error of II. It gets there late: {_head_start(run)}.",
            ),
            Verdict(
                "Training does not improve on the untouched construction (II) (Sec. 4).",
                True if len(nothing) == len(gain) else (None if nothing else False),
                f"In the {name}, the best trained setting has {listed} times the error of II. The construction stays "
                f"best on lines; training gives that up for signals that N = 32 cannot follow.",
            ),
        ]

    def slips(self, result: Result) -> list[Slip]:
        runs = result["details"]["runs"]
        run = runs[_longest(runs)]
        first = next(check for check in run["history"] if check["step"] >= 1)
        values = [s["mae"] for s in first["scores"] if s["setting"] == DISCRETE and s["dataset"] == "mixed, held out"]
        told = "no number" if any(v is None for v in values) else number(max(values))
        return [
            Slip(
                "Setting IV trains the discrete A, B, C, D (App. E.3).",
                "With the learning rate of 2e-3, Adam's first step moves every entry of the discrete A by 2e-3, which "
                "makes it unstable. We train the continuous A and B instead, discretised at every step.",
                f"Trained as printed, the mean absolute error on the held-out mixed set after {first['step']} step"
                f"{'s' if first['step'] > 1 else ''} is {told}.",
            )
        ]


def _discrete(runs: dict[str, Any]) -> Table:
    datasets = _datasets(next(iter(runs.values())))
    lines: list[list[Cell | str]] = []
    for name, run in runs.items():
        values = [_stats(run, dataset, DISCRETE) for dataset in datasets]
        lines.append([name, *(Cell("diverged" if v is None else number(v[0]), "bad") for v in values)])
    caption = "Setting IV as printed, with the discrete weights trained: mean absolute error, mean over seeds."
    return Table(caption, ["run", *datasets], lines)


def committed() -> dict[str, Any] | None:
    """The full run that ships with the package."""
    file = resources.files("prophecy.reproduce") / "data" / "training_full.json"
    return json.loads(file.read_text()) if file.is_file() else None


def _torch() -> tuple[Any, Any]:
    try:
        import torch
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "fig-training needs torch; install it with: pip install 'hippo-prophecy[torch]'"
        ) from None
    from prophecy.reproduce import training

    return torch, training


def _plan(ask: Ask) -> Any:
    _, training = _torch()
    plan = training.FULL if ask.full else training.SHORT
    if ask.functions is None or ask.functions >= 100:
        return plan
    # A small --functions is a wish for a quick look: training is cut down in proportion.
    scored = max(4, plan.functions * ask.functions // 100)
    return replace(plan, steps=max(2, plan.steps * ask.functions // 100), functions=scored)


def _merged(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """One run out of runs of single seeds."""
    whole = {**parts[0], "seeds": [seed for part in parts for seed in part["seeds"]]}
    whole["seconds"] = sum(part["seconds"] for part in parts)
    whole["diverged"] = {name: step for part in parts for name, step in part["diverged"].items()}
    whole["history"] = [
        {"step": checks[0]["step"], "scores": [score for check in checks for score in check["scores"]]}
        for checks in zip(*(part["history"] for part in parts), strict=True)
    ]
    return whole


def _longest(runs: dict[str, Any]) -> str:
    return FULL if FULL in runs else SHORT


def _head_start(run: dict[str, Any], dataset: str = "mixed, held out") -> str:
    """How far III lies behind I on the way."""
    index = max(
        range(len(run["history"])), key=lambda i: run["history"][i]["step"] if run["history"][i]["step"] < 1000 else -1
    )
    ratio = _stats(run, dataset, "III", index)[0] / _stats(run, dataset, "I", index)[0]
    return f"after {run['history'][index]['step']} steps it has {number(ratio)} times the error of I ({dataset})"


def _size(run: dict[str, Any]) -> str:
    plan, minutes = run["plan"], run["seconds"] / 60
    return f"{plan['steps']} steps, batch {plan['batch']}, {run['device']}, {minutes:.1f} minutes"


def _datasets(run: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(score["dataset"] for score in run["history"][-1]["scores"]))


def _stats(run: dict[str, Any], dataset: str, setting: str, check: int = -1) -> Any:
    """(mean, least, most) over seeds, None if a seed has diverged."""
    scores = run["history"][check]["scores"]
    values = [s["mae"] for s in scores if (s["dataset"], s["setting"]) == (dataset, setting)]
    return None if any(v is None for v in values) else (sum(values) / len(values), min(values), max(values))


def _cell(stats: Any, best: float) -> Cell:
    if stats is None:
        return Cell("diverged", "bad")
    text = number(stats[0]) if stats[1] == stats[2] else f"{number(stats[0])} ({number(stats[1])} … {number(stats[2])})"
    return Cell(text, "best" if stats[0] == best else "")


def _shades() -> dict[str, str]:
    from prophecy.reproduce import style

    return dict(zip(SETTINGS, ("#56B4E9", style.COLOURS["LegT"], "#9ca3af", "#CC79A7"), strict=True))


def _bars(runs: dict[str, Any]) -> Any:
    from prophecy.reproduce import style

    figure, axes = style.figure(1, len(runs), width=style.WIDE, height=4.2, sharey=True)
    for axis, (name, run) in zip(axes, runs.items(), strict=True):
        axis.set_yscale("log")
        datasets = _datasets(run)
        for index, (setting, colour) in enumerate(_shades().items()):
            for place, dataset in enumerate(datasets):
                mean, least, most = _stats(run, dataset, setting)
                axis.bar(
                    place + (index - 1.5) * 0.2,
                    mean,
                    width=0.18,
                    color=colour,
                    yerr=[[max(mean - least, 0.0)], [max(most - mean, 0.0)]],
                    error_kw={"ecolor": style.INK, "elinewidth": 1.2, "capsize": 2},
                    label=f"{setting}: {SETTINGS[setting]}" if place == 0 else None,
                )
        labels = [dataset.replace(", held out", "\n(held out)").replace(" Noise", "\nNoise") for dataset in datasets]
        axis.set_xticks(range(len(datasets)), labels)
        axis.grid(axis="x", visible=False)
        axis.set_title(f"{name.capitalize()}: {run['plan']['steps']} steps")
    axes[0].set_ylabel("mean absolute error")
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=2, loc="outside upper center")
    return figure


def _course(run: dict[str, Any]) -> Any:
    from prophecy.reproduce import style

    datasets = _datasets(run)
    figure, axes = style.figure(1, len(datasets), height=3.4)
    steps = [check["step"] for check in run["history"]]
    for axis, dataset in zip(axes, datasets, strict=True):
        axis.set(yscale="log", title=dataset, xlabel="step")
        axis.set_xscale("symlog", linthresh=1)
        for setting, colour in _shades().items():
            values = [_stats(run, dataset, setting, index) for index in range(len(steps))]
            line = "--" if setting == "II" else "-"
            axis.plot(steps, [v[0] for v in values], color=colour, linestyle=line, label=setting)
        axis.title.set_fontsize(11)
    axes[0].set_ylabel("mean absolute error")
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=4, loc="outside upper center")
    return figure


EXPERIMENT = FigTraining()
