"""Trained against constructed: how far training moves the readout, by which optimiser, from where, on which targets."""

from dataclasses import asdict
from typing import Any

from reproduction import style, trained_runs
from reproduction.framework import Ask, Experiment, Line, Outcome, Picture, Result, Table, Unit, Verdict
from reproduction.rows import Json, Parts, number, row
from reproduction.trained_runs import GPU, SHORT, Run, cell, datasets, stats

GROUPS: dict[str, tuple[str, ...]] = {
    "construction": ("II",),
    "Adam": ("I", "I, rate 2e-5", "I, decaying rate", "III", "III, decaying rate", "copy start"),
    "AdamW": ("I, AdamW", "III, AdamW"),
    "SGD": ("I, SGD", "III, SGD", "III, SGD, rate 0.2"),
    "random memory": ("random memory, copy start", "random memory, random readout", "random, all trained"),
    "own output": ("I, teacher 0.5", "I, teacher 0.1", "I, teacher 0.02", "III, teacher 0.1"),
}
SHORT_VARIANTS = ("I", "III", "I, decaying rate", "I, SGD", "I, AdamW", "I, teacher 0.1", "random memory, copy start")
FOLLOWED = ("I", "I, decaying rate", "I, SGD", "I, AdamW", "I, teacher 0.02", "III", "copy start")
OWN_OUTPUT = ("I, teacher 0.1", "I, teacher 0.02", "III, teacher 0.1")
MIXED = "mixed, held out"
ARRIVED = 0.1  # share of its first distance below which a trained readout counts as arrived at the construction


class Trained(Experiment):
    name = "trained"
    title = "Trained against constructed"
    reference = "Fig. 1d, continued; the authors' further experiments"
    place = 45
    torch = True
    data = tuple(f"{trained_runs.FOLDER}/{run}.json" for run in ("readouts-radians", "memories-radians"))
    introduction = (
        "The same training as in Fig. 1d, with what the authors' code also has: the distance of the trained "
        "$C̄, D̄$ from the construction, SGD and AdamW beside Adam, random $Ā, B̄$ (Gaussian, "
        "spectral radius 0.99), and training on the model's own output. A teacher ratio of 0.1 means that each true "
        "value is followed by nine of the model's own, all ten predictions count, and every such run starts from the "
        "true past. Added by us: a learning rate that decays to zero along a cosine, a start at copying, and, as the "
        "mark to aim at, the readout with the least squared error on the same 1 000 functions, in closed form."
    )

    def settings(self, ask: Ask) -> dict[str, Json]:
        return super().settings(ask) | {"plan": asdict(trained_runs.plan(ask)), "variants": list(SHORT_VARIANTS)}

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit("seed 0")]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        return trained_runs.readouts(ask, SHORT_VARIANTS)

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        stored = [trained_runs.committed(f"{kind}-radians") for kind in ("readouts", "memories")]
        runs = {SHORT: parts["seed 0"], GPU: {**trained_runs.merged(stored), "distances": stored[0]["distances"]}}
        rows = []
        for name, run in runs.items():
            for dataset in datasets(run):
                known = dict.fromkeys(s["variant"] for s in run["history"][-1]["scores"])
                scored = {variant: values[0] for variant in known if (values := stats(run, dataset, variant))}
                for variant, error in {"solved": trained_runs.solved(run, dataset), **scored}.items():
                    rows.append(row(dataset, name, variant, run["plan"]["order"], "mae", error))
        return Outcome(rows, {"runs": runs})

    def pictures(self, result: Result) -> list[Picture]:
        run = result["details"]["runs"][GPU]
        return [
            Picture(
                "trained",
                "Mean absolute error on the held-out mixture (filled) and on Filtered Noise (open) at the end of "
                f"training, {GPU}: {trained_runs.origin(run)}. Lines span the seeds. The vertical lines are "
                "the construction and the readout solved in closed form on the same functions.",
                lambda: _ladder(run),
                "A dot plot: one row per way of training, error on a log scale; the solved readout is far to the left.",
            ),
            Picture(
                "trained-distance",
                "Euclidean distance of the trained C from the constructed one, and of D, during training; mean over "
                f"seeds, {GPU}.",
                lambda: _distance(run),
                "Distance against the training step on log axes: starts at the construction drift away, random starts "
                "do not come close.",
            ),
        ]

    def tables(self, result: Result) -> list[Table]:
        runs = result["details"]["runs"]
        lines: list[Line] = []
        for name, run in runs.items():
            known = {s["variant"] for check in run["history"] for s in check["scores"]}
            for variant in [v for group in GROUPS.values() for v in group if v in known]:
                radius, later = _free(run, variant)
                found = [cell(stats(run, dataset, variant)) for dataset in datasets(run)]
                lines.append([name, variant, *found, later, radius])
            solved = [number(trained_runs.solved(run, dataset)) for dataset in datasets(run)]
            lines.append([name, "solved in closed form", *solved, "–", "–"])
        header = ["run", "trained", *datasets(runs[GPU]), "mixed, 50 steps on its own output", "loop radius"]
        caption = (
            "Mean absolute error one step ahead: mean (least … most) over seeds; then after 50 steps on the model's "
            "own output, and the spectral radius of that closed loop (means over seeds)."
        )
        return [Table(caption, header, lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        run = result["details"]["runs"][GPU]
        base = {d: stats(run, d, "II")[0] for d in datasets(run)}
        best, solved = stats(run, MIXED, "I, decaying rate")[0], trained_runs.solved(run, MIXED)
        first, last = _gap(run, "III", 0), _gap(run, "III", -1)
        away = _gap(run, "I", -1)
        made = [
            Verdict(
                "Training moves the readout towards the construction.",
                towards(first, last),
                f"From a random start (III) the distance of C from the construction goes from {number(first)} to "
                f"{number(last)}; arriving would mean below {100 * ARRIVED:g} % of the start, a shorter way is in "
                f"part. From the construction (I) it grows to {number(away)}.",
                ours=True,
            ),
            Verdict(
                "What limits training is the optimiser, not the model.",
                solved < 0.1 * stats(run, MIXED, "I")[0],
                f"On the mixture, with the same state: {number(base[MIXED])} constructed, "
                f"{number(stats(run, MIXED, 'I')[0])} trained by Adam at the paper's rate, {number(best)} with a rate "
                f"that decays to zero, {number(solved)} solved in closed form on the same functions.",
                ours=True,
            ),
            Verdict(
                "The solved readout is better on the sets it never saw, too.",
                all(trained_runs.solved(run, d) < base[d] for d in base),
                "Solved over constructed: "
                + ", ".join(f"{number(trained_runs.solved(run, d) / base[d])} ({d})" for d in base if d != MIXED)
                + ".",
                ours=True,
            ),
        ]
        ratios = {v: _free(run, v) for v in ("I", "III", *OWN_OUTPUT) if _known(run, v)}
        radii = [_radius(run, name) for name in ratios if name in OWN_OUTPUT]
        if radii:
            told = ", ".join(f"{later} with radius {radius} ({name})" for name, (radius, later) in ratios.items())
            made.append(
                Verdict(
                    "Training on the model's own output makes several steps stable.",
                    max(radii) <= 1.0 or (None if min(radii) <= 1.0 else False),
                    f"Stable means a radius of at most 1. After 50 steps on its own output the error on the mixture "
                    f"is {told}; II has {_free(run, 'II')[1]} with radius {_free(run, 'II')[0]}.",
                    ours=True,
                )
            )
        return made

    def headline(self, result: Result) -> str:
        run = result["details"]["runs"][GPU]
        base, solved = stats(run, MIXED, "II")[0], trained_runs.solved(run, MIXED)
        return (
            "Yet the same state, read by weights solved in closed form instead of trained, has "
            f"{number(solved / base)} times the construction's error on held-out functions."
        )


def towards(first: float, last: float) -> bool | None:
    """Whether a distance has all but vanished (True), has shrunk (None, in part) or has not (False).

    >>> towards(5.0, 0.4), towards(5.0, 3.0), towards(5.0, 6.0)
    (True, None, False)
    """
    return last < ARRIVED * first or (None if last < first else False)


def _known(run: Run, variant: str) -> bool:
    return any(entry["variant"] == variant for entry in run["ahead"])


def _radius(run: Run, variant: str) -> float:
    radii = [entry["radius"] for entry in run["ahead"] if entry["variant"] == variant and entry["radius"] is not None]
    return sum(radii) / len(radii) if radii else float("inf")


def _free(run: Run, variant: str) -> tuple[str, str]:
    own = [entry for entry in run["ahead"] if entry["variant"] == variant]
    later = [entry["mae"][MIXED][-1] for entry in own]
    if not own or any(value is None for value in later):
        return "–", "–"
    return f"{_radius(run, variant):.4f}", number(sum(later) / len(later))


def _gap(run: Run, variant: str, index: int) -> float:
    values = run["distances"][index][variant]["C"]
    return float(sum(values) / len(values))


def _ladder(run: Run) -> Any:
    known = {s["variant"] for s in run["history"][-1]["scores"]}
    rows = [(group, v) for group, variants in GROUPS.items() for v in variants if v in known]
    figure, (axis,) = style.figure(1, 1, height=0.28 * len(rows) + 1.4)
    colours = dict(zip(GROUPS, (style.INK, *style.SEQUENCE), strict=False))
    for place, (group, variant) in enumerate(reversed(rows)):
        for dataset, face in ((MIXED, colours[group]), ("Filtered Noise", "white")):
            found = stats(run, dataset, variant)
            if found is None or found[0] > 1e3:
                axis.text(2.0, place, "diverged", fontsize=8, va="center", color=style.MUTED)
                continue
            axis.plot(found[1:], [place, place], color=colours[group], linewidth=1.2)
            axis.plot(found[0], place, "o", color=colours[group], markerfacecolor=face, markersize=7)
    for dataset, line in ((MIXED, "-"), ("Filtered Noise", "--")):
        axis.axvline(trained_runs.solved(run, dataset), color=style.COLOURS["ours"], linestyle=line, linewidth=1.4)
        axis.axvline(stats(run, dataset, "II")[0], color=style.INK, linestyle=line, linewidth=0.9)
    axis.text(trained_runs.solved(run, MIXED) * 1.3, len(rows) - 0.6, "solved", color=style.COLOURS["ours"], fontsize=9)
    axis.set_yticks(range(len(rows)), [variant for _, variant in reversed(rows)], fontsize=9)
    axis.set(xscale="log", xlabel="mean absolute error", xlim=(5e-10, 10), ylim=(-0.7, len(rows)))
    return figure


def _distance(run: Run) -> Any:
    figure, axes = style.figure(1, 2, height=3.6)
    marks = run["distances"]
    chosen = [v for v in FOLLOWED if v in marks[-1]]
    for axis, part, title in zip(axes, "CD", ("Distance of C", "Distance of D"), strict=True):
        for variant, colour in zip(chosen, style.SEQUENCE, strict=False):
            points = [(m["step"], sum(m[variant][part]) / len(m[variant][part])) for m in marks if m["step"]]
            axis.plot(*zip(*points, strict=True), color=colour, label=variant)
        axis.set(xscale="log", yscale="log", title=title, xlabel="step")
    return style.legended(figure, axes[0], 4)
