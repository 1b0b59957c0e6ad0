"""Fig. 1f and the six panels of Fig. 2: what the signals look like, and the predictions on top of them."""

from typing import Any

import numpy as np

from prophecy.evaluation import mean_absolute_error
from reproduction import paper, style
from reproduction.framework import Ask, Experiment, Outcome, Picture, Result, Unit, Verdict
from reproduction.rows import Json, Parts, number, row

PANELS = tuple(sorted(paper.CELLS, key=lambda cell: cell[0] != paper.FILTERED))
ORDER, SHIFT, SHOWN = 65, 0.1, 10  # N; by how much the truth is drawn higher, as in the paper; every tenth sample


class FigSignals(Experiment):
    name = "fig-signals"
    title = "The signals and their predictions"
    reference = "Fig. 1f and Fig. 2"
    place = 55

    def units(self, ask: Ask) -> list[Unit]:
        return paper.function_units(PANELS, 1, 1)

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = paper.unit_signal(ask, unit)
        value: dict[str, Any] = {"truth": u[0, ::SHOWN].tolist(), "mae": {}}
        for method in paper.BASES:
            y = paper.predict(method, ORDER, u)
            value[method] = np.concatenate([[0.0], y[0, :-1]])[::SHOWN].tolist()
            value["mae"][method] = mean_absolute_error(u, y).tolist()
        return value

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows, curves = [], {}
        for dataset, parameter in PANELS:
            part = parts[f"{dataset} {parameter}, 0+1"]
            curves[f"{dataset} {parameter}"] = {k: part[k] for k in ("truth", *paper.BASES)}
            rows += [row(dataset, parameter, m, ORDER, "mae", part["mae"][m]) for m in paper.BASES]
        return Outcome(rows, {"curves": curves})

    def pictures(self, result: Result) -> list[Picture]:
        curves = result["details"]["curves"]
        return [
            Picture(
                "fig-signals-examples",
                "Fig. 1f: one function of each process.",
                lambda: _examples(curves),
                "Two curves: rough Filtered Noise and a smooth White Signal.",
            ),
            Picture(
                "fig-signals",
                "Fig. 2: one function of each process (black, shifted up by 0.1 as in the paper, or nothing would be "
                f"seen) and its predictions one step ahead, N = {ORDER}.",
                lambda: _panels(curves),
                "Six panels of signals with predictions that follow them too closely to be told apart.",
            ),
            Picture(
                "fig-signals-errors",
                "What Fig. 2 cannot show: the absolute errors of the same predictions, averaged over "
                "neighbours. Grey: the context before T/2, which is not scored.",
                lambda: _errors(curves),
                "Six panels of absolute errors on a log scale, one line per method.",
            ),
        ]

    def verdicts(self, result: Result) -> list[Verdict]:
        means = {
            d: np.mean([r["mean"] for r in result["rows"] if r["dataset"] == d and r["method"] == "LegT"])
            for d in (paper.FILTERED, paper.WHITE)
        }
        ratio = float(means[paper.FILTERED] / means[paper.WHITE])
        return [
            Verdict(
                "White Signals are smoother and easier to predict than Filtered Noise (App. E.1).",
                ratio > 1,
                f"LegT's mean absolute error is {number(ratio)} times larger on the three Filtered Noise functions "
                f"shown.",
            )
        ]


def _examples(curves: dict[str, Any]) -> Any:
    figure, axes = style.figure(1, 2, height=2.9)
    for axis, (dataset, parameter) in zip(axes, ((paper.FILTERED, 0.05), (paper.WHITE, 2.0)), strict=True):
        truth = curves[f"{dataset} {parameter}"]["truth"]
        axis.plot(np.linspace(0, 10, len(truth)), truth, color=style.COLOURS["truth"], linewidth=1.3)
        axis.set(title=f"{dataset} {parameter:g}", xlabel="t in seconds", xlim=(0, 10))
    axes[0].set_ylabel("u(t)")
    return figure


def _panels(curves: dict[str, Any]) -> Any:
    figure, axes = style.figure(2, 3, height=2.9)
    for axis, (dataset, parameter) in zip(axes, PANELS, strict=True):
        lines = curves[f"{dataset} {parameter}"]
        times = np.linspace(0, 10, len(lines["truth"]))
        axis.plot(
            times, np.array(lines["truth"]) + SHIFT, color=style.COLOURS["truth"], linewidth=1.3, label="truth + 0.1"
        )
        axis.plot(times, lines["FouT"], color=style.COLOURS["FouT"], linewidth=1.3, label="FouT")
        dashes = (0, (4, 2))
        axis.plot(times, lines["LegT"], color=style.COLOURS["LegT"], linewidth=1.3, linestyle=dashes, label="LegT")
        inside = np.abs(np.array(lines["truth"])).max() * 1.25 + SHIFT
        axis.set(title=f"{dataset} {parameter:g}", xlim=(0, 10), ylim=(-inside, inside))
    for axis in axes[3:]:
        axis.set_xlabel("t in seconds")
    return style.legended(figure, axes[0], 3)


def _errors(curves: dict[str, Any]) -> Any:
    figure, axes = style.figure(2, 3, height=2.7, sharey="row")
    for axis, (dataset, parameter) in zip(axes, PANELS, strict=True):
        lines = curves[f"{dataset} {parameter}"]
        truth = np.array(lines["truth"])
        times = np.linspace(0, 10, len(truth))
        axis.set_yscale("log")
        axis.axvspan(0, 5, color=style.GRID, alpha=0.5, linewidth=0)
        for method in ("FouT as printed", "FouT", "LegT"):
            size = _local_mean(np.abs(np.array(lines[method]) - truth))
            axis.plot(times, size, color=style.COLOURS[method], linewidth=1.3, label=method)
        axis.set(title=f"{dataset} {parameter:g}", xlim=(0, 10))
    for axis in axes[3:]:
        axis.set_xlabel("t in seconds")
    for axis in axes[::3]:
        axis.set_ylabel("absolute error")
    return style.legended(figure, axes[0], 3)


def _local_mean(values: Any, width: int = 15) -> Any:
    """Averages over `width` neighbours: the error passes through zero all the time, which hides its size."""
    padded = np.pad(values, width // 2, mode="edge")
    return np.convolve(padded, np.full(width, 1 / width), mode="valid")
