"""Beyond the paper: hundreds of steps, many variables, chaos included, from the context alone."""

import itertools
from typing import Any

import numpy as np

from reproduction import forecast_cases as work
from reproduction.framework import Ask, Cell, Experiment, Line, Outcome, Picture, Result, Table, Unit, Verdict
from reproduction.rows import Json, Parts, Rows, means, number, row

# Samples per Lyapunov time, noise in standard deviations, share of missing values; γ of White Signals.
CASES = ((15, 0.0, 0.0), (30, 0.0, 0.0), (100, 0.0, 0.0), (30, 0.01, 0.0), (30, 0.05, 0.0), (30, 0.01, 0.3))
CUTOFFS = (1.0, 2.0)
METHODS = (work.OURS, *work.BASELINES)
NOISES = (0.0, 0.01)  # at which equations are shown


class ForecastPage(Experiment):
    name = "forecast"
    title = "Many steps ahead, many variables"
    reference = "Sec. 5: instabilities when predicting several steps"
    place = 230
    functions = 2
    introduction = (
        "A one-step predictor fed with its own output is unstable. prophecy.forecast solves the dynamics from the "
        "context instead: vector fields whose flow carries every sample to the next, maps of a short memory, waves "
        "that neither grow nor fade, repetition. The candidate that forecasts the last part of the context best "
        "continues it. Ten systems are integrated from their equations; 512 samples are seen, ten Lyapunov times are "
        "predicted, errors grow e-fold in each. Valid prediction time: until the sMAPE over variables first passes "
        "30 %, at most 10. Variables are also forecast one at a time, without the others; what the forecast knows "
        "about the system is printed as equations; and 10 000 free steps are compared with the truth by statistics."
    )

    def units(self, ask: Ask) -> list[Unit]:
        seeds = range(ask.seed, ask.seed + self.size(ask))
        listed = [Unit(f"system|{s}|{seed}", {"system": s, "seed": seed}) for s in work.SYSTEMS for seed in seeds]
        listed += [Unit(f"climate|{s}", {"system": s}) for s in work.SYSTEMS]
        listed += [Unit(f"white|{c:g}|{seed}", {"cutoff": c, "seed": seed}) for c in CUTOFFS for seed in seeds]
        listed += [Unit(f"equations|{s}|{n:g}", {"system": s, "noise": n}) for s in work.SYSTEMS for n in NOISES]
        return listed

    def compute(self, ask: Ask, unit: Unit) -> Json:
        kinds: dict[str, Any] = {"white": work.white_case, "system": system_cases}
        kinds |= {"equations": work.equations_case, "climate": work.climate_case}
        return kinds[unit.name.partition("|")[0]](**unit.arguments)

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        for name in [name for name in parts if name.startswith("system|")]:
            parts = {**parts, **parts[name]}
        rows: Rows = []
        coverage, methods, curves = {}, {}, {}
        for rate, noise, missing in CASES:
            case = label(rate, noise, missing)
            bins = []
            for system in work.SYSTEMS:
                mine = [parts[name] for name in parts if name.startswith(f"{system}|{rate}|{noise:g}|{missing:g}|")]
                bins += [part["coverage"] for part in mine]
                for metric, method in itertools.product(("vpt", "smape"), METHODS):
                    rows.append(row(system, case, method, None, metric, [part[metric][method] for part in mine]))
                for metric in ("coverage", "seconds"):
                    rows.append(row(system, case, work.OURS, None, metric, [np.mean(part[metric]) for part in mine]))
                methods[f"{system}|{case}"] = mine[0]["method"]
                curves[f"{system}|{case}"] = mine[0]["curve"] if rate == 30 else None
            coverage[case] = np.mean(bins, axis=0).tolist()
        for cutoff in CUTOFFS:
            mine = [parts[name] for name in parts if name.startswith(f"white|{cutoff:g}|")]
            for method in METHODS:
                values = [value for part in mine for value in part[method]]
                rows.append(row("White Signal", cutoff, method, None, "periods", values))
                rows.append(row("White Signal", cutoff, method, None, "fewest periods", min(values)))
        alone = {s: [parts[n] for n in parts if n.startswith(f"alone|{s}|")] for s in work.SYSTEMS}
        for (system, mine), metric in itertools.product(alone.items(), ("vpt", "baseline")):
            each = [np.mean(part[metric]) for part in mine]
            rows.append(row(system, "one variable alone", metric, None, "vpt alone", each))
        coverage["one variable alone"] = np.mean(
            [tenths for mine in alone.values() for part in mine for tenths in part["coverage"]], axis=0
        ).tolist()
        climate = {s: parts[f"climate|{s}"] for s in work.SYSTEMS}
        for system, mine in climate.items():
            for metric in ("spectrum", "spectrum_floor", "histogram", "histogram_floor"):
                rows.append(row(system, "10 000 steps", work.OURS, None, metric, mine[metric]))
        equations = {s: {f"{n:g}": parts[f"equations|{s}|{n:g}"] for n in NOISES} for s in work.SYSTEMS}
        kept = {key: curve for key, curve in curves.items() if curve is not None}
        details = {"coverage": coverage, "methods": methods, "curves": kept}
        details |= {"alone": {s: mine[0] for s, mine in alone.items()}, "climate": climate, "equations": equations}
        return Outcome(rows, details)

    def tables(self, result: Result) -> list[Table]:
        first = [_overview(result), _systems(result)]
        return [*first, _alone(result), _equations(result), _climate(result), _white(result)]

    def pictures(self, result: Result) -> list[Picture]:
        from reproduction import forecast_pictures as draw

        details = result["details"]
        return [
            Picture("forecast-gallery", draw.GALLERY, lambda: draw.gallery(details["curves"], details["methods"])),
            Picture("forecast-alone", draw.ALONE, lambda: draw.alone(details["alone"])),
            Picture("forecast-climate", draw.CLIMATE, lambda: draw.climate(details["climate"])),
            Picture("forecast-systems", draw.DOTS, lambda: draw.dots(result["rows"])),
            Picture("forecast-coverage", draw.COVERAGE, lambda: draw.coverage(details["coverage"])),
        ]

    def verdicts(self, result: Result) -> list[Verdict]:
        rows = result["rows"]
        medians = {label(*case): {m: median(rows, label(*case), m, "vpt") for m in METHODS} for case in CASES}
        ahead = {case: found[work.OURS] / max(found[m] for m in work.BASELINES) for case, found in medians.items()}
        covers = [float(np.mean(bins)) for bins in result["details"]["coverage"].values()]
        fewest = [r["mean"] for r in rows if r["metric"] == "fewest periods" and r["method"] == work.OURS]
        clean = medians[label(30)][work.OURS]
        alone = [median(rows, "one variable alone", method, "vpt alone") for method in ("vpt", "baseline")]
        spectra = [median(rows, "10 000 steps", work.OURS, metric) for metric in ("spectrum", "spectrum_floor")]
        return [
            Verdict(
                "Dynamics solved in context predict chaos for several Lyapunov times.",
                clean >= 3.5,
                f"Median valid prediction time {clean:.1f} of 10 Lyapunov times, 30 samples each, without noise.",
            ),
            Verdict(
                "At other rates, with noise and with gaps they stay ahead of copying, repetition and autoregression.",
                min(ahead.values()) > 1,
                "Median valid prediction time over that of the best baseline: "
                + ", ".join(f"{case} {number(ratio)}" for case, ratio in ahead.items())
                + ".",
            ),
            Verdict(
                "Intervals of level 0.9 hold values as they are measured about as often as they say (0.86 to 0.95).",
                all(0.86 <= value <= 0.95 for value in covers),
                "Coverage over all steps: "
                + ", ".join(f"{case} {np.mean(bins):.2f}" for case, bins in result["details"]["coverage"].items())
                + ".",
            ),
            Verdict(
                "One variable alone is followed for several Lyapunov times.",
                alone[0] >= 3.5,
                f"Median over systems, mean over their variables: {alone[0]:.1f}; best baseline {alone[1]:.1f}.",
            ),
            Verdict(
                "10 000 free steps keep the spectrum.",
                spectra[0] <= 0.1,
                f"Median Hellinger distance {spectra[0]:.3f}; two true runs are {spectra[1]:.3f} apart.",
            ),
            Verdict(
                "White Signals are known for a full period of their highest frequency.",
                min(fewest) >= 1,
                f"The worst origin reached {min(fewest):.2f} periods with an error under 0.3 standard deviations.",
            ),
        ]


def system_cases(system: str, seed: int) -> dict[str, Json]:
    """All cases of a system from one start, which have most of its integration in common, and its variables alone."""
    made = {
        f"{system}|{rate}|{noise:g}|{missing:g}|{seed}": work.chaos_case(system, rate, noise, seed, missing)
        for rate, noise, missing in CASES
    }
    return {**made, f"alone|{system}|{seed}": work.alone_case(system, seed)}


def label(rate: int, noise: float = 0.0, missing: float = 0.0) -> str:
    said = (f", noise {noise:.0%}" if noise else "") + (f", {missing:.0%} missing" if missing else "")
    return f"{rate} per Lyapunov time{said}"


def median(rows: Rows, case: str, method: str, metric: str) -> float:
    """Over systems, of the means over trajectories."""
    return float(np.median([*means(rows, "dataset", parameter=case, method=method, metric=metric).values()]))


def _overview(result: Result) -> Table:
    rows = result["rows"]
    lines: list[Line] = []
    for case in (label(*case) for case in CASES):
        for method in METHODS:
            mark = "best" if method == work.OURS else ""
            mean = np.mean([*means(rows, "dataset", parameter=case, method=method, metric="vpt").values()])
            times = f"{median(rows, case, method, 'vpt'):.2f} ({mean:.2f})"
            lines.append([case, method, Cell(times, mark), f"{median(rows, case, method, 'smape'):.1f}"])
    header = ["samples", "method", "valid prediction time, Lyapunov times: median (mean)", "median sMAPE"]
    return Table("Ten systems, 512 samples of context, ten Lyapunov times ahead.", header, lines)


def _systems(result: Result) -> Table:
    lines: list[Line] = []
    case = label(30)
    for system in work.SYSTEMS:
        mine = means(result["rows"], "metric", dataset=system, parameter=case, method=work.OURS)
        smapes = means(result["rows"], "method", dataset=system, parameter=case, metric="smape")
        least = min(smapes[m] for m in work.BASELINES)
        ours = Cell(f"{mine['smape']:.1f}", "good" if mine["smape"] <= 1.1 * least else "bad")
        line: Line = [system, result["details"]["methods"][f"{system}|{case}"], f"{mine['vpt']:.1f}", ours]
        lines.append([*line, f"{least:.1f}", f"{mine['coverage']:.2f}", f"{mine['seconds']:.2f}"])
    header = ["system", "chosen in context", "Lyapunov times", "sMAPE", "best baseline", "coverage", "CPU seconds"]
    return Table("The systems one by one, 30 samples per Lyapunov time, no noise.", header, lines)


def _alone(result: Result) -> Table:
    found = means(result["rows"], "dataset", "method", metric="vpt alone")
    lines: list[Line] = []
    for system, first in result["details"]["alone"].items():
        times, base = found[system, "vpt"], found[system, "baseline"]
        methods = "; ".join(dict.fromkeys(first["methods"]))
        lines.append([system, Cell(f"{times:.1f}", "good" if times > base else "bad"), f"{base:.1f}", methods])
    header = ["system", "Lyapunov times, mean over variables", "best baseline", "chosen in context (first trajectory)"]
    return Table("Every variable alone, 30 samples per Lyapunov time, no noise.", header, lines)


def _equations(result: Result) -> Table:
    lines: list[Line] = []
    for system, found in result["details"]["equations"].items():
        for noise, one in found.items():
            share = f"{float(noise):.0%}"
            for text in one["lines"] or [f"none: {one['method']}"]:  # a line for each variable
                lines.append([system, share, text])
                share = ""
    header = ["system", "noise", "what Forecast.equations() says"]
    return Table("The equations found from 512 samples, in the system's own units of time.", header, lines)


def _climate(result: Result) -> Table:
    found = means(result["rows"], "dataset", "metric", parameter="10 000 steps")
    lines: list[Line] = []
    for system, one in result["details"]["climate"].items():
        ours = found[system, "spectrum"]
        cells = [f"{found[system, m]:.3f}" for m in ("spectrum_floor", "histogram", "histogram_floor")]
        lines.append([system, one["method"], Cell(f"{ours:.3f}", "good" if ours <= 0.1 else "bad"), *cells])
    header = ["system", "method", "spectrum", "two true runs", "histogram", "two true runs"]
    return Table("Hellinger distances of 10 000 free steps from 10 000 true ones.", header, lines)


def _white(result: Result) -> Table:
    rows = means(result["rows"], "parameter", "method", "metric", dataset="White Signal")
    lines: list[Line] = [
        [f"γ = {c:g} Hz", m, f"{rows[c, m, 'periods']:.2f}", f"{rows[c, m, 'fewest periods']:.2f}"]
        for c in CUTOFFS
        for m in METHODS
    ]
    header = ["White Signal", "method", "periods, mean over origins", "fewest"]
    caption = "Periods of the highest frequency until the error passes 0.3 standard deviations (2 predicted)."
    return Table(caption, header, lines)
