"""Fig. 1e: error of LegT against the context length k, for several N, on White Signal."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from reproduction import paper, style
from reproduction.framework import Ask, Cell, Experiment, Line, Outcome, Result, Table, Unit, Verdict
from reproduction.rows import Array, Json, Parts, held, means, number, ratio, row

ORDERS = (9, 17, 33, 65, 96)  # Fig. 1e
CUTOFFS = (0.3, 1.0, 2.0)  # the paper does not say which γ it used: those of Table 1
POINTS, ZOOM = 120, 1000  # frequencies of the response drawn; samples of the enlarged panel
EARLY, LATE = slice(100, 1000), slice(5000, 9900)  # samples seen: little context, and much
METRICS = {
    "early": "mae, k from 100 to 1 000",
    "late": "mae, k from 5 000 to 9 900",
    "turns": "sign changes of the error",
}


class FigContext(Experiment):
    name = "fig-context"
    title = "Error against the context length"
    reference = "Fig. 1e"
    place = 50
    functions = 1000
    given = (("orders", list(ORDERS)), ("γ", list(CUTOFFS)))
    introduction = (
        "How the error of LegT falls as more of the signal is seen. The state starts at zero, as if the signal had "
        "been zero before; the kink this leaves in the window makes every memory ring, faster the larger it is. The "
        "paper does not say which γ it used, so three are shown. Oscillating “longer” can mean more oscillations or "
        "later settling; both are measured."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return paper.function_units([(paper.WHITE, cutoff) for cutoff in CUTOFFS], self.size(ask), 50)

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = paper.unit_signal(ask, unit)
        value: dict[str, Any] = {}
        for order in ORDERS:
            errors = paper.predict("LegT", order, u)[:, :-1] - u[:, 1:]
            size = np.abs(errors)
            smooth = over_oscillations(size, order)
            value[str(order)] = {
                "sum": smooth.sum(axis=0).tolist(),
                "squares": (smooth**2).sum(axis=0).tolist(),
                "zoom": size[:, :ZOOM].sum(axis=0).tolist(),
                "early": size[:, EARLY].mean(axis=1).tolist(),
                "late": size[:, LATE].mean(axis=1).tolist(),
                "turns": (np.diff(np.sign(errors), axis=1) != 0).sum(axis=1).tolist(),
            }
        return {"count": len(u), "orders": value}

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
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
                rows.append(row(paper.WHITE, cutoff, "LegT", order, "samples until settled", settling(mean)))
        return Outcome(rows, {"curves": curves})

    caption = (
        "Top: mean absolute error after k samples, averaged over two oscillations of the memory to show the "
        "trend; mean ± std over {functions} functions. Bottom: the first 1 000 samples one by one, "
        "for three orders, to show the oscillations. Bands that would reach below a tenth of the mean are cut "
        "there, for the logarithmic axis."
    )
    alt = (
        "Error against samples seen: it falls with context for orders that can follow the signal and "
        "oscillates more often the larger N is."
    )

    def draw(self, result: Result) -> Any:
        curves = result["details"]["curves"]
        from matplotlib import colormaps

        figure, axes = style.figure(2, len(CUTOFFS), height=3.2)
        shades = dict(zip(ORDERS, colormaps["viridis_r"](np.linspace(0.08, 0.95, len(ORDERS))), strict=True))
        for axis, zoom, cutoff in zip(axes[: len(CUTOFFS)], axes[len(CUTOFFS) :], CUTOFFS, strict=True):
            for panel in (axis, zoom):
                panel.set(yscale="log", xlabel="context length k")
            for order in ORDERS:
                line = curves[f"{cutoff}|{order}"]
                style.band(axis, points(), line["mean"], line["std"], shades[order], label=f"N = {order}")
                if order in (17, 33, 65):
                    zoom.plot(np.arange(1, ZOOM + 1), line["zoom"], color=shades[order], linewidth=1.2)
            axis.set(title=f"White Signal γ = {cutoff:g}", xlim=(0, paper.SAMPLES))
            zoom.set_xlim(0, ZOOM)
        for panel in axes[:: len(CUTOFFS)]:
            panel.set_ylabel("mean absolute error")
        return style.legended(figure, axes[0], 5)

    def tables(self, result: Result) -> list[Table]:
        found = _found(result)
        lines: list[Line] = []
        for cutoff, order in itertools.product(CUTOFFS, ORDERS):
            early, late, turns, settled = found[cutoff, order]
            factor = Cell(ratio(early / late), "good" if early > late else "bad")
            after = f"{settled:.0f}" if early > late else "–"
            lines.append([f"γ = {cutoff:g}", str(order), number(early), number(late), factor, f"{turns:.0f}", after])
        header = ["signal", "N", "k = 100 … 1 000", "k = 5 000 … 9 900"]
        header += ["early / late", "sign changes", "settled after"]
        caption = (
            "Mean absolute error early and late, how often the error changes sign, and the samples until it stays "
            "within twice its level over the last fifth."
        )
        return [Table(caption, header, lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        found = _found(result)
        gains = {key: early / late for key, (early, late, _, _) in found.items()}
        falling = {c: [n for n in ORDERS if gains[c, n] > 1] for c in CUTOFFS}
        told = "; ".join(f"γ = {c:g}: {_orders(falling[c])}" for c in CUTOFFS)
        count = sum(map(len, falling.values()))
        more, fewer = _larger(found, 2, {c: list(ORDERS) for c in CUTOFFS})
        later, sooner = _larger(found, 3, falling)
        return [
            Verdict(
                "For all N, the model gets better with a longer context (Sec. 4).",
                held(count, len(gains)),
                f"The error at k = 5 000 … 9 900 is below that at k = 100 … 1 000 for these N: {told}; up to "
                f"{number(max(gains.values()))} times. The others are too small to follow the signal over the window: "
                f"their error grows, up to {number(1 / min(gains.values()))} times."
                if count < len(gains)
                else f"The error falls by a factor of {number(min(gains.values()))} to {number(max(gains.values()))}.",
            ),
            Verdict(
                "Larger states oscillate longer and need more samples to stabilise (Sec. 4).",
                True if not (fewer or sooner) else (None if more or later else False),
                f"They oscillate more often in {more} of {more + len(fewer)} steps from one N to the next (at γ = 0.3 "
                f"the error changes sign {found[0.3, ORDERS[0]][2]:.0f} times with N = {ORDERS[0]} and "
                f"{found[0.3, ORDERS[-1]][2]:.0f} times with N = {ORDERS[-1]}), but of the {later + len(sooner)} "
                f"steps between orders that follow the signal {later} settle later{_example(found, sooner)}.",
            ),
        ]


def _found(result: Result) -> dict[tuple[float, int], list[float]]:
    """(γ, N) -> error early, error late, sign changes, samples until settled."""
    mean = means(result["rows"], "parameter", "order", "metric")
    names = (*METRICS.values(), "samples until settled")
    return {(c, n): [mean[c, n, name] for name in names] for c, n in itertools.product(CUTOFFS, ORDERS)}


def _larger(
    found: Mapping[tuple[float, int], list[float]], column: int, orders: Mapping[float, list[int]]
) -> tuple[int, list[tuple[float, int, int]]]:
    """How many steps to the next larger N increase a column, and the steps (γ, N, next N) that do not."""
    steps = [(c, a, b) for c in CUTOFFS for a, b in itertools.pairwise(orders[c])]
    failing = [(c, a, b) for c, a, b in steps if found[c, b][column] <= found[c, a][column]]
    return len(steps) - len(failing), failing


def _example(found: Mapping[tuple[float, int], list[float]], failing: list[tuple[float, int, int]]) -> str:
    if not failing:
        return ""
    c, a, b = failing[0]
    return f" (not so at γ = {c:g}: N = {a} takes {found[c, a][3]:.0f} samples and N = {b} takes {found[c, b][3]:.0f})"


def _orders(orders: list[int]) -> str:
    return "all" if len(orders) == len(ORDERS) else ", ".join(map(str, orders)) or "none"


def points() -> Any:
    """Context lengths at which the curves are drawn, evenly spaced in the angle arccos(1 - 2k/T)."""
    angles = np.linspace(0.05, np.pi - 0.05, POINTS)
    return paper.SAMPLES * (1 - np.cos(angles)) / 2


def over_oscillations(size: Array, order: int) -> Array:
    """Averages of the columns around `points`, each over two oscillations of a memory of this order.

    The start of the signal, at age k, is met by a Legendre polynomial of degree N: it oscillates N times as the angle
    arccos(1 - 2k/T) goes from 0 to π.
    """
    angles = np.arccos(1 - 2 * points() / paper.SAMPLES)
    edges = [np.clip(angles + sign * np.pi / order, 0, np.pi) for sign in (-1, 1)]
    time = size.shape[1]
    first, last = (np.round(paper.SAMPLES * (1 - np.cos(edge)) / 2).astype(int).clip(0, time) for edge in edges)
    first, last = np.minimum(first, time - 1), np.maximum(last, first + 1)
    total = np.concatenate([np.zeros((len(size), 1)), np.cumsum(size, axis=1)], axis=1)
    return np.asarray((total[:, last] - total[:, first]) / (last - first), dtype=np.float64)


def settling(mean: Array) -> float:
    """Samples until a curve over `points` stays within twice its median over the last fifth of the sequence."""
    k = points()
    above = np.flatnonzero(mean > 2 * np.median(mean[k > 0.8 * paper.SAMPLES]))
    return float(round(k[above[-1]])) if above.size else 0.0
