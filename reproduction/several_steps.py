"""Open question: several steps ahead. Feeding back, direct readouts, a clipped spectrum, and the loop behind it."""

import itertools
from typing import Any

import numpy as np
from scipy.linalg import schur

from prophecy import next_value
from prophecy.system import System
from reproduction import paper, style
from reproduction.framework import Ask, OpenQuestion, Outcome, Result, Table, Unit, Verdict
from reproduction.rows import Array, Json, Parts, joined, listed, means, named, number, row

ORDERS = (5, 9, 17, 33, 65, 97)
STEPS = (1_000, 10_000, 100_000)  # samples per window
DATASETS = ((paper.WHITE, 1.0), (paper.FILTERED, 0.3))
SIGNALS = tuple(named(*dataset) for dataset in DATASETS)
AHEAD = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
ORIGINS = tuple(range(6_000, 9_000, 250))  # samples after which a forecast begins; each is scored against what came
ORDER, SPACING = 33, 5  # states; distance in samples of the pairs a direct readout is solved from
RIDGES = (1e-9, 1e-6, 1e-3, 1e-1)
"""Of the direct readout, relative to the features' mean squares; chosen on the last quarter of the pairs."""
COPY = "copying"
FED = tuple(f"fed back, {kind}" for kind in paper.BASES)
CLIPPED, DIRECT, SERIES = "fed back, LegT, clipped", "direct, solved in context", "direct, constructed"
METHODS = (COPY, *FED, CLIPPED, SERIES, DIRECT)
LOST = 1.0
"""A forecast is lost where its root mean squared error passes that of the mean of the signal, 1 standard deviation."""


class SeveralSteps(OpenQuestion):
    name = "several-steps"
    title = "Why are several steps unstable?"
    reference = "Sec. 5: instabilities when predicting several steps"
    place = 153
    functions = 10
    given = (("order", ORDER), ("origins", len(ORIGINS)), ("ahead", list(AHEAD)))
    question = (
        "The paper observed “instabilities when predicting multiple steps into the future”. Where do they come from, "
        "for which bases, and which way of looking further ahead avoids them?"
    )
    method = (
        "Fed with its own output Eq. (5) is a linear map of (x, u); its spectral radius is computed exactly against N, "
        "the samples per window and the basis: LegT, FouT as printed, FouT with the right frequencies.",
        "Fed back: that map iterated from 12 origins in each of ten functions, N = 33, the whole sequence as window.",
        "Clipped: the same with every eigenvalue beyond the unit circle moved back onto it, in the loop's Schur form.",
        "Direct, constructed: the last value, plus what the polynomial that LegT's state stands for adds over h "
        "samples beyond its window. Direct, solved: for each h the ridge readout of (x, u) over all pairs h apart in "
        "the context, the ridge chosen on the last quarter of them.",
        "Measured: root mean squared error over the signal's standard deviation, against h.",
    )
    doubts = (
        "Clipping the spectrum of a far from normal matrix is crude; a readout constrained to a stable loop while it "
        "is solved could feed back as well as the direct one. Longer windows than the sequence, or signals with period "
        "θ, would favour FouT."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit("radius", {}), *paper.function_units(DATASETS, self.size(ask), 10)]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        if unit.name == "radius":
            return {
                f"{kind}|{order}|{steps}": excess(next_value(paper.BASES[kind](order, 1.0), 1.0 / steps))
                for kind, order, steps in itertools.product(paper.BASES, ORDERS, STEPS)
                if order**2 / steps < 1.0
            }
        return {name: value.tolist() for name, value in errors(paper.unit_signal(ask, unit)).items()}

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows = []
        for key, value in parts["radius"].items():
            kind, order, steps = key.split("|")
            rows.append(row("closed loop", int(steps), kind, int(order), "radius - 1", value))
        for dataset, parameter in DATASETS:
            found = joined(parts, named(dataset, parameter))
            for method in METHODS:
                mean = np.sqrt(np.mean(np.array(found[method]), axis=0))
                for h, value in zip(AHEAD, mean, strict=True):
                    size = min(float(value), 1e12)
                    rows.append(row(f"{dataset} {parameter}", h, method, ORDER, "relative rms", size))
        return Outcome(rows)

    caption = (
        "Left: spectral radius of the closed loop, minus 1, against N; 10 000 samples per window, the paper's "
        "setting; values below 1e-9 are drawn at 1e-9 and are rounding. Others: error h samples ahead, in "
        "standard deviations of the signal; 1 (dotted) is what the mean of the signal would do. Errors beyond "
        "30 are off the axis."
    )
    alt = (
        "Left, LegT's radius rises to 0.1 above 1 while both FouT stay within 1e-4 of 1. Right, LegT fed back "
        "explodes within tens of steps; direct readouts stay bounded."
    )

    def draw(self, result: Result) -> Any:
        rows, found = result["rows"], _errors(result)
        figure, axes = style.figure(1, 1 + len(SIGNALS), height=4.1)
        for kind in paper.BASES:
            own = means(rows, "order", dataset="closed loop", method=kind, parameter=10_000)
            look = {"marker": style.MARKERS[kind], "color": style.COLOURS[kind], "label": kind}
            axes[0].plot([*own], [max(value, 1e-9) for value in own.values()], **look)
        axes[0].set(yscale="log", xlabel="states N", title="Closed loop", ylabel="radius − 1", ylim=(5e-10, 1))
        styles = {
            COPY: (style.COLOURS["copy"], "--"),
            **{name: (style.COLOURS[kind], "-") for name, kind in zip(FED, paper.BASES, strict=True)},
            CLIPPED: (style.COLOURS["LegT"], ":"),
            SERIES: (style.COLOURS["LegS"], "-"),
            DIRECT: (style.COLOURS["ours"], "-"),
        }
        for axis, signal in zip(axes[1:], SIGNALS, strict=True):
            axis.axhline(1.0, color=style.MUTED, linestyle=":", linewidth=1)
            for method, (colour, line) in styles.items():
                axis.plot(AHEAD, [found[signal, method, h] for h in AHEAD], line, color=colour, label=method)
            axis.set(xscale="log", yscale="log", xlabel="samples ahead", ylim=(1e-4, 30))
            axis.set_title(signal, fontsize=11)
        axes[1].set_ylabel("error, standard deviations")
        return style.legended(figure, axes[1], 4, fontsize=9)

    def tables(self, result: Result) -> list[Table]:
        radius = means(result["rows"], "method", "order", "parameter", dataset="closed loop")
        first = [
            [kind, str(order), *(number(radius.get((kind, order, steps))) for steps in STEPS)]
            for kind, order in itertools.product(paper.BASES, ORDERS)
        ]
        found = _errors(result)
        second = [
            [signal, method, *(number(found[signal, method, h]) for h in AHEAD)]
            for signal, method in itertools.product(SIGNALS, METHODS)
        ]
        loops = (
            "Spectral radius of the closed loop, minus 1, by samples per window. A dash: the rule is beyond its pole."
        )
        ahead = "Root mean squared error h samples ahead, in standard deviations; errors are cut at 1e12."
        return [
            Table(loops, ["basis", "N", *(f"{steps} samples" for steps in STEPS)], first),
            Table(ahead, ["signal", "method", *(f"h = {h}" for h in AHEAD)], second),
        ]

    def verdicts(self, result: Result) -> list[Verdict]:
        radius = means(result["rows"], "method", "order", "parameter", dataset="closed loop")
        legt65, printed, right = (radius[kind, 65, 10_000] for kind in paper.BASES)
        found = _errors(result)
        lost = {m: [next((h for h in AHEAD if found[s, m, h] > LOST), None) for s in SIGNALS] for m in METHODS}
        gain = [found[s, FED[0], 50] / found[s, DIRECT, 50] for s in SIGNALS]
        later = {m: {s: found[s, m, 200] for s in SIGNALS} for m in METHODS}
        return [
            Verdict(
                "Predicting several steps by feeding predictions back is unstable (Sec. 5).",
                None,
                f"For LegT it is: N = 65, errors grow by {number(100 * legt65)} % per step. FouT's loop is at its "
                f"edge: radius − 1 is {number(printed)} as printed and {number(right)} with the right frequencies, so "
                "it drifts instead of exploding.",
            ),
            Verdict(
                "Direct readouts solved in context avoid it.",
                all(value > 1 for value in gain) and all(found[s, DIRECT, 1000] < 10 for s in SIGNALS),
                f"50 samples ahead LegT fed back has {', '.join(number(g) for g in gain)} times the error of the "
                f"direct readout ({', '.join(SIGNALS)}); the direct one is lost after {_told(lost[DIRECT])} samples, "
                f"LegT fed back after {_told(lost[FED[0]])}.",
            ),
            Verdict(
                "Clipping the spectrum is enough.",
                all(later[CLIPPED][s] < 1.5 * later[DIRECT][s] for s in SIGNALS),
                f"200 samples ahead the clipped loop has {listed(later[CLIPPED])} standard deviations of error, the "
                f"direct readout {', '.join(map(number, later[DIRECT].values()))}, copying "
                f"{', '.join(map(number, later[COPY].values()))}.",
            ),
        ]


def loop(system: System) -> Array:
    """The map of (x, u) to what comes next when u is the system's own prediction: û = C x + D u, x' = A x + B û."""
    readout = np.append(system.C, system.D)
    carried = np.zeros((system.order + 1, system.order + 1))
    carried[:-1, :-1] = system.A
    return np.asarray(carried + np.outer(np.append(system.B, 1.0), readout), dtype=np.float64)


def excess(system: System) -> float:
    return float(np.abs(np.linalg.eigvals(loop(system))).max() - 1.0)


def clipped(matrix: Array) -> Array:
    """Eigenvalues beyond the unit circle moved back onto it, in the Schur form: eigenvectors are nearly parallel."""
    triangle, vectors = schur(matrix, output="complex")
    values = np.diag(triangle)
    moved = triangle + np.diag(values / np.maximum(np.abs(values), 1.0) - values)
    return np.asarray(vectors @ moved @ vectors.conj().T).real


def states(system: System, u: Array) -> Array:
    """(x, u) after each sample: (series, time, N + 1)."""
    x = np.zeros((len(u), system.order))
    found = np.empty((*u.shape, system.order + 1))
    for k in range(u.shape[1]):
        x = x @ system.A.T + u[:, k : k + 1] * system.B
        found[:, k, :-1], found[:, k, -1] = x, u[:, k]
    return found


def errors(u: Array) -> dict[str, Array]:
    """Mean over origins of the squared error, in variances of the signal, by steps ahead: (series, len(AHEAD))."""
    size = u.std(axis=1)[:, None, None]
    index, ahead = np.array(ORIGINS), np.array(AHEAD)
    truth = u[:, index[:, None] + ahead]
    last = u[:, index]

    def scored(said: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.mean(((said - truth) / size) ** 2, axis=1)
        return np.asarray(np.nan_to_num(mean, nan=1e300, posinf=1e300), dtype=np.float64)

    found = {COPY: scored(np.repeat(last[..., None], len(ahead), axis=-1))}
    for name, kind in zip(FED, paper.BASES, strict=True):
        system = paper.system(kind, ORDER)
        z = states(system, u)
        found[name] = scored(_iterated(loop(system), system, z[:, index]))
        if kind == "LegT":
            found[CLIPPED] = scored(_iterated(clipped(loop(system)), system, z[:, index]))
            found[SERIES] = scored(last[..., None] + _beyond(z[:, index, :-1]))
            found[DIRECT] = scored(_direct(z, u))
    return found


def _iterated(matrix: Array, system: System, z: Array) -> Array:
    """Predictions after `AHEAD` steps of the closed loop: (series, origins, len(AHEAD))."""
    readout, said = np.append(system.C, system.D), []
    carried = readout.copy()
    for h in range(1, max(AHEAD) + 1):
        if h in AHEAD:
            said.append(z @ carried)
        with np.errstate(over="ignore", invalid="ignore"):
            carried = carried @ matrix
    return np.stack(said, axis=-1)


def _beyond(x: Array) -> Array:
    """Σ x_n (p_n(t, t + h) - p_n(t, t)): what LegT's polynomial adds beyond its window."""
    points = 1.0 + 2.0 * np.array(AHEAD) / paper.SAMPLES
    added = (np.polynomial.legendre.legvander(points, ORDER - 1) - 1.0) * np.sqrt(2 * np.arange(ORDER) + 1)
    return np.asarray(x @ added.T, dtype=np.float64)


def _direct(z: Array, u: Array) -> Array:
    """For each origin and h, the ridge readout of all pairs (z[k], u[k + h] - u[k]) with k + h up to the origin."""
    said = np.empty((len(u), len(ORIGINS), len(AHEAD)))
    for series, (known, values) in enumerate(zip(z, u, strict=True)):
        for o, origin in enumerate(ORIGINS):
            for i, h in enumerate(AHEAD):
                k = np.arange(500, origin - h + 1, SPACING)
                weights = solved(known[k], values[k + h] - values[k])
                said[series, o, i] = values[origin] + known[origin] @ weights
    return said


def solved(rows: Array, wanted: Array) -> Array:
    """Ridge weights, the ridge being the one that predicts the last quarter of the rows best from the others."""
    scale = np.sqrt(np.mean(rows**2, axis=0))
    scaled, early = rows / scale, 3 * len(rows) // 4
    first, cross = scaled[:early].T @ scaled[:early], scaled[:early].T @ wanted[:early]
    trials = [_ridge(first, cross, ridge * early) for ridge in RIDGES]
    late = [float(np.mean((scaled[early:] @ trial - wanted[early:]) ** 2)) for trial in trials]
    best = RIDGES[int(np.argmin(late))]
    whole = _ridge(scaled.T @ scaled, scaled.T @ wanted, best * len(rows))
    return np.asarray(whole / scale, dtype=np.float64)


def _ridge(moments: Array, cross: Array, ridge: float) -> Array:
    return np.asarray(np.linalg.solve(moments + ridge * np.eye(len(cross)), cross), dtype=np.float64)


def _errors(result: Result) -> dict[tuple[str, str, int], float]:
    return means(result["rows"], "dataset", "method", "parameter", metric="relative rms")


def _told(values: list[int | None]) -> str:
    return " and ".join("more than 1 000" if value is None else str(value) for value in values)
