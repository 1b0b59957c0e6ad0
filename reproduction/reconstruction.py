"""Eq. (2): the past reconstructed from the state, against the order and the age, for LegT, LegS and FouT."""

import itertools
from typing import Any

import numpy as np

from prophecy import fout, legs, legt, next_value, run
from reproduction import paper, style
from reproduction.framework import Ask, Experiment, Outcome, Result, Slip, Table, Unit, Verdict
from reproduction.rows import Array, Json, Parts, means, number, row

ORDERS = (5, 9, 17, 33, 65, 97)
KINDS = ("LegT", "LegS", "FouT")
CUTOFF = 1.0
AGES = np.arange(0, paper.SAMPLES, 25)  # in samples; 0 is now, the last nearly the start of the sequence
EDGE = 250  # samples from either end of the window that count as its edges
OTHER = "White Signal, three quarters of a period"
NAMES = {"White Signal, one full period": "10000", OTHER: "7500"}  # samples


class Reconstruction(Experiment):
    name = "reconstruction"
    title = "The past, read back from the state"
    reference = "Eq. (2), Sec. 2"
    place = 5
    functions = 10
    given = (("orders", list(ORDERS)), ("γ", CUTOFF))
    introduction = (
        "HiPPO's state holds the coefficients of the past in a basis, and Eq. (2) says that in the limit of "
        "infinitely many the past comes back: $u(s) = ∑_n x_n(t) p_n(t, s)$ for all $s ≤ t$. Here N is finite, "
        "the state is the discrete one the paper uses, and the sequence has just filled the window: White Signals with "
        "γ = 1, 10 000 samples. Its period is the window, so a Fourier series has every chance; after 7 500 samples, "
        "seen through a window of 7 500, it has not. What stays at 2e-3 is the discrete state's delay of half a sample."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit(f"{kind}, N = {n}", {"kind": kind, "order": n}) for kind in KINDS for n in ORDERS]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = paper.signal(paper.WHITE, CUTOFF, self.size(ask), ask.seed)
        kind, order = unit.arguments["kind"], unit.arguments["order"]
        return {f"{length}": curve(kind, order, u[:, :length]).tolist() for length in (paper.SAMPLES, 7_500)}

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows, curves, edge = [], {}, EDGE // 25
        for kind, order, name in itertools.product(KINDS, ORDERS, NAMES):
            found = parts[f"{kind}, N = {order}"][NAMES[name]]
            curves[f"{name}|{kind}|{order}"] = found
            rows.append(row(name, "inside", kind, order, "rms / rms of u", float(np.mean(found[edge:-edge]))))
            rows.append(row(name, "now", kind, order, "rms / rms of u", found[0]))
        return Outcome(rows, {"curves": curves})

    caption = (
        "Root mean squared error of the reconstruction, relative to the signal, against the age of what is "
        "reconstructed; N = 33 (thin) and 65 (thick), mean over {functions} functions. Left: the "
        "window holds a full period. Right: it does not, and FouT's series converges to the mean of both ends "
        "at either edge."
    )
    alt = (
        "Error against age on a log scale: LegT is most accurate in the middle and worst at the oldest edge; "
        "FouT is far worse when the window is not a period, above all at both edges."
    )

    def draw(self, result: Result) -> Any:
        curves = result["details"]["curves"]
        figure, axes = style.figure(1, 2, height=3.8, sharey=True)
        for axis, name in zip(axes, NAMES, strict=True):
            for kind, (order, width) in itertools.product(KINDS, ((33, 0.9), (65, 2.2))):
                values = curves[f"{name}|{kind}|{order}"]
                look = {"color": style.COLOURS[kind], "linewidth": width, "label": kind if order == 65 else None}
                axis.plot(AGES[: len(values)], np.maximum(values, 1e-12), **look)
            axis.set(yscale="log", xlabel="age in samples", title=name.removeprefix("White Signal, ").capitalize())
        axes[0].set_ylabel("relative error")
        return style.legended(figure, axes[0], 3)

    def tables(self, result: Result) -> list[Table]:
        found = means(result["rows"], "dataset", "method", "parameter", "order")
        lines = [
            [name, f"{kind}, {where}", *(number(found[name, kind, where, n]) for n in ORDERS)]
            for name, kind, where in itertools.product(NAMES, KINDS, ("inside", "now"))
        ]
        caption = "Relative error in the inside of the window and at its newest edge, against N."
        return [Table(caption, ["signal", "basis", *(f"N = {n}" for n in ORDERS)], lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        found = means(result["rows"], "parameter", "method", "order", dataset=OTHER)
        falls = {kind: [found["inside", kind, n] for n in ORDERS] for kind in KINDS}
        now = {kind: found["now", kind, 65] for kind in KINDS}
        return [
            Verdict(
                "The past can be reconstructed from the state as N grows (Eq. 2).",
                all(values[-1] < 0.1 * values[0] for values in falls.values()),
                f"{OTHER}: from N = 5 to 97 the relative error inside the window falls from "
                + ", ".join(f"{number(v[0])} to {number(v[-1])} ({k})" for k, v in falls.items())
                + ".",
            ),
            Verdict(
                "It holds for all s ≤ t, the newest value included (Sec. 3 evaluates it there).",
                None if now["FouT"] > 0.05 else True,
                f"{OTHER}: at the newest sample, N = 65, the relative error is {number(now['LegT'])} for LegT, "
                f"{number(now['LegS'])} for LegS and {number(now['FouT'])} for FouT, whose series converges to the "
                "mean of the window's two ends.",
            ),
        ]

    def slips(self, result: Result) -> list[Slip]:
        values = means(result["rows"], "order", dataset=OTHER, parameter="now", method="FouT").values()
        return [
            Slip(
                "Footnote 2 lets series and derivative change places if the derivatives converge absolutely, and "
                "assumes so throughout.",
                "At the newest edge they do not for FouT unless the signal repeats with the window: already the series "
                "itself converges to another value there.",
                f"Relative error at the newest sample for N = 5 … 97: {', '.join(number(v) for v in values)}.",
            )
        ]


def curve(kind: str, order: int, u: Array) -> Array:
    """Root mean squared error by age, over that of the signals, after all of u: (ages,)."""
    length = u.shape[1]
    ages = AGES[length > AGES]
    truth = u[:, length - 1 - ages]
    if kind == "LegS":
        basis = legs(order)
        _, state = run(next_value(basis, dt=1.0), u, engine="scan")
        said = basis.reconstruct(state.x, ages.astype(float), float(length))
    else:
        window = (legt if kind == "LegT" else fout)(order, 1.0)
        _, after = run(next_value(window, 1.0 / length), u, engine="lifted")
        said = window.reconstruct(after, ages / length)
    errors = np.sqrt(np.mean((said - truth) ** 2, axis=0) / np.mean(u**2))
    return np.asarray(errors, dtype=np.float64)
