r"""Theorem 1 and Corollary 1: the error of the derivative against the bound as N grows, with and without periodicity.

Everything here is in continuous time and exact: a sinusoid goes through a linear system as a sinusoid, so the output of
FouT for a sum of them follows from the frequency response C (iω - A)⁻¹ B + D, without any step in time. Window θ = 1.

The periodic signals are those whose k-th derivative is (2π)^k Σ_m sin(2πmt)/m, a sawtooth of 512 harmonics: bounded,
with jumps, so that the (k+1)-th derivative is not.
"""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import bounds, derivative, fout
from prophecy.constructions import series_derivative
from prophecy.system import Continuous
from reproduction import style
from reproduction.framework import Ask, Cell, Experiment, Line, Outcome, Result, Slip, Table, Unit, Verdict
from reproduction.rows import Json, Parts, Rows, find, means, number, row

ORDERS = (5, 9, 17, 33, 65, 129)
SMOOTHNESS = (3, 4, 5)
HARMONICS, GRID = 512, 4096
OFF_PERIOD = (0.3, 1.7, 2.5)  # frequencies, in cycles per window, that do not fit into the window
SINES = (0.3, 2.5)  # those drawn
WINDOWS = 10  # time t of Corollary 1, in windows


class Theory(Experiment):
    name = "theory"
    title = "The error bounds, and what they need"
    reference = "Theorem 1 and Corollary 1"
    place = 80
    given = (("harmonics", HARMONICS), ("orders", list(ORDERS)))
    introduction = (
        "Theorem 1 says that the alternative FouT construction (Prop. 2) approximates the derivative with an error "
        "of $O(L/N^{k-2})$ for any signal with a bounded k-th derivative. Its lemma integrates by parts and leaves "
        "out the boundary terms, which vanish only if the signal repeats with the window. Left: signals that do. "
        "Beside: sines that do not, although every derivative of theirs is bounded, so that the bound holds them to "
        "any k."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit(f"N = {order}", {"order": order}) for order in ORDERS]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        basis = fout(unit.arguments["order"], 1.0)
        systems = {"Prop. 2": series_derivative(basis), "Prop. 1": derivative(basis)}
        value: dict[str, Any] = {}
        harmonics = np.arange(1, HARMONICS + 1)
        for name, system in systems.items():
            gap = error_response(system, harmonics.astype(float))
            for k in SMOOTHNESS:
                size = coefficients(k)
                value[f"{name}|{k}"] = float(np.abs(_synthesise(size * gap)).max())
                # The error integrated from 0, over ten windows: every term is periodic, so one window tells all.
                primitive = _synthesise(size * gap / (2j * np.pi * harmonics))
                value[f"value, {name}|{k}"] = float(np.abs(primitive - primitive[0]).max())
            band = harmonics > (unit.arguments["order"] - 1) // 2
            value[f"above, {name}"] = float((np.abs(gap[band]) / (2 * np.pi * harmonics[band])).max())
            for frequency in OFF_PERIOD:
                response = error_response(system, np.array([frequency]))[0]
                value[f"{name}|{frequency} cycles"] = float(abs(response) / (2 * np.pi * frequency))
        return value

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows = []
        for order in ORDERS:
            part = parts[f"N = {order}"]
            for k in SMOOTHNESS:
                signal, limit = f"periodic, k = {k}", lipschitz(k)
                steepest = bounds.derivative_bound(order, k, limit, 1.0)
                rows.append(row(signal, k, "bound", order, "|u' - u'_N|", steepest))
                most = bounds.value_bound(float(WINDOWS), order, k, limit, 1.0)
                rows.append(row(signal, k, "bound", order, "|u - u_N|", most))
                for name in ("Prop. 2", "Prop. 1"):
                    rows.append(row(signal, k, name, order, "|u' - u'_N|", part[f"{name}|{k}"]))
                    rows.append(row(signal, k, name, order, "|u - u_N|", part[f"value, {name}|{k}"]))
            for f in OFF_PERIOD:
                for k in SMOOTHNESS:
                    # u = sin(2πft) has |u^(k)| ≤ (2πf)^k; divided by the size of u', 2πf.
                    most = bounds.derivative_bound(order, k, (2 * np.pi * f) ** (k - 1), 1.0)
                    rows.append(row("sine", f, f"bound, k = {k}", order, "|u' - u'_N| / |u'|", most))
                for name in ("Prop. 2", "Prop. 1"):
                    rows.append(row("sine", f, name, order, "|u' - u'_N| / |u'|", part[f"{name}|{f} cycles"]))
        above = max(part["above, Prop. 2"] for part in parts.values())
        return Outcome(rows, {"above": above, "corollary": corollary(), "index": index_readings()})

    caption = (
        "Error of the derivative against N (points) and the bound of Theorem 1 with its constants (lines). "
        "Left: largest error on periodic signals whose k-th derivative is bounded and no higher one. Others: "
        "sines whose period does not fit the window, error relative to the derivative; the bound falls below "
        "what is measured, Prop. 2 grows, and Prop. 1 stays where the edge of the window puts it."
    )
    alt = (
        "Error against N: on periodic signals it stays below the bound and falls alongside; on sines that do "
        "not fit it grows past it."
    )

    def draw(self, result: Result) -> Any:
        rows = result["rows"]
        figure, axes = style.figure(1, 1 + len(SINES), height=4.2)
        colours = dict(zip(SMOOTHNESS, style.SEQUENCE, strict=False))
        for k, colour in colours.items():
            own = [r for r in rows if r["dataset"] == f"periodic, k = {k}" and r["metric"] == "|u' - u'_N|"]
            for method, options in (("bound", {"linestyle": "-"}), ("Prop. 2", {"linestyle": "none", "marker": "o"})):
                axes[0].plot(ORDERS, [r["mean"] for r in own if r["method"] == method], color=colour, **options)
        axes[0].set(title="Period = window", ylabel=r"largest $|u' - u'_N|$")
        for axis, f in zip(axes[1:], SINES, strict=True):
            for k, colour in colours.items():
                axis.plot(ORDERS, [_sine(rows, f, f"bound, k = {k}", n) for n in ORDERS], color=colour)
            measured = {"Prop. 2": {"color": style.INK}, "Prop. 1": {"color": style.MUTED, "markerfacecolor": "white"}}
            for method, options in measured.items():
                axis.plot(ORDERS, [_sine(rows, f, method, n) for n in ORDERS], linestyle="none", marker="o", **options)
            axis.set(title=f"Sine, {f:g} cycles per window", ylabel=r"$|u' - u'_N|\;/\;|u'|$")
        for axis in axes:
            axis.set(xscale="log", yscale="log", xlabel="states N")
            axis.set_xticks(ORDERS, [str(n) for n in ORDERS])
            axis.minorticks_off()
        _legend(figure, colours)
        return figure

    def tables(self, result: Result) -> list[Table]:
        lines: list[Line] = []
        found = means(result["rows"], "parameter", "order", "metric", "method")
        for k, order in itertools.product(SMOOTHNESS, ORDERS):
            line: Line = [f"k = {k}", str(order)]
            for metric in ("|u' - u'_N|", "|u - u_N|"):
                limit, value = (found[k, order, metric, method] for method in ("bound", "Prop. 2"))
                line += [number(limit), number(value), _share(value, limit)]
            lines.append(line)
        header = ["signal", "N", "Theorem 1", "measured", "ratio", f"Cor. 1, t = {WINDOWS}θ", "measured", "ratio"]
        periodic = Table("Prop. 2 on periodic signals: the bound, the error, and error / bound.", header, lines)
        return [periodic, _off_period(result["rows"])]

    def verdicts(self, result: Result) -> list[Verdict]:
        rows = result["rows"]
        within, within_value = _ratios(rows, "|u' - u'_N|"), _ratios(rows, "|u - u_N|")
        slopes = {k: slope(rows, k) for k in SMOOTHNESS}
        sines = [_sine(rows, f, "Prop. 2", ORDERS[-1]) / _sine(rows, f, "Prop. 2", ORDERS[0]) for f in OFF_PERIOD]
        beyond = [
            _sine(rows, f, "Prop. 2", n) / _sine(rows, f, f"bound, k = {k}", n)
            for f, k, n in itertools.product(OFF_PERIOD, SMOOTHNESS, ORDERS)
        ]
        listed = ", ".join(f"{slopes[k]:.2f} (k = {k})" for k in SMOOTHNESS)
        return [
            Verdict(
                "Theorem 1: the error of the derivative is $O(L/N^{k-2})$.",
                max(within) <= 1 and all(slopes[k] <= 2 - k + 0.1 for k in SMOOTHNESS),
                f"Error / bound lies between {number(min(within))} and {number(max(within))}, and the error falls as "
                f"N to the power {listed}: at least as fast as promised. Without the condition it exceeds the bound in "
                f"{sum(b > 1 for b in beyond)} of {len(beyond)} cases, up to {number(max(beyond))} times: on sines of "
                f"{', '.join(f'{f:g}' for f in OFF_PERIOD)} cycles per window the error of Prop. 2 grows "
                f"{', '.join(number(s) for s in sines)}-fold from N = {ORDERS[0]} to {ORDERS[-1]}.",
                condition="the signal repeats with the window θ.",
            ),
            Verdict(
                "Corollary 1: the integrated error is $O(Lt/N^{k-2})$.",
                max(within_value) <= 1,
                f"After {WINDOWS} windows error / bound is at most {number(max(within_value))}; the error is periodic "
                f"and does not grow with t at all.",
                condition="the signal repeats with the window, and u(0) = 0 or u(0) is added.",
            ),
            Verdict(
                "The proof's tail of ideal Fourier coefficients bounds the error of the SSM, too.",
                result["details"]["above"] <= 1.0,
                "The proof argues with the coefficients of the signal; the SSM's states differ from them above its "
                "band. There $|iω - H| ≤ ω$ suffices, and the largest ratio over all N and 512 "
                f"harmonics is {result['details']['above']:.4f}.",
                ours=True,
            ),
        ]

    def slips(self, result: Result) -> list[Slip]:
        rows = result["rows"]
        last = {m: [_sine(rows, f, m, ORDERS[-1]) for f in OFF_PERIOD] for m in ("Prop. 1", "Prop. 2")}
        return [
            Slip(
                "Lemma 1 and Theorem 1 hold for any signal with a bounded k-th derivative.",
                "The lemma drops the boundary terms of an integration by parts; it needs a signal with period θ.",
                f"At N = {ORDERS[-1]} the relative error of Prop. 2 on three sines that do not fit the window is "
                f"{', '.join(number(v) for v in last['Prop. 2'])}.",
            ),
            Slip(
                "FouT recovers u(t) at the newest edge of the window (Sec. 3).",
                "A Fourier series at the edge converges to $(u(t) + u(t-θ))/2$, so the construction estimates "
                "$(u̇(t) + u̇(t-θ))/2$ and cannot beat a fraction of copying on signals that do not "
                "repeat.",
                f"At N = {ORDERS[-1]} the relative error of Prop. 1 on those sines is "
                f"{', '.join(number(v) for v in last['Prop. 1'])}, and |1 − e^(−iωθ)|/2 is "
                f"{', '.join(number(abs(1 - np.exp(-2j * np.pi * f)) / 2) for f in OFF_PERIOD)}.",
            ),
            Slip(
                "Corollary 1 bounds $|u(t) - u_N(t)|$ with $u_N(t) = ∫_0^t u̇_N$.",
                "The integral starts at 0, the signal at u(0): the bound is for u(t) − u(0).",
                f"u = cos 2πt, N = 9, k = 5, t = ¼: the difference is {number(result['details']['corollary'][0])}, the "
                f"bound {number(result['details']['corollary'][1])}.",
            ),
            Slip(
                "Prop. 2 has $C_k = -2√2 π n$ with n undefined; its proof ends with $-2√2 π k$, k the index.",
                "n is the frequency, half the index: k = 2, 4, 6, … would double the derivative.",
                f"On sin 2πt, N = 9, the estimate with n is {number(result['details']['index'][0])} and with k "
                f"{number(result['details']['index'][1])} times the true derivative.",
            ),
        ]


def corollary(order: int = 9, k: int = 5, t: float = 0.25) -> list[float]:
    """u = cos 2πt: |u(t) - ∫ u'_N| and the printed bound. Prop. 2 is exact here, so the integral is u(t) - u(0)."""
    gap = error_response(series_derivative(fout(order, 1.0)), np.array([1.0]))[0]
    integral = np.cos(2 * np.pi * t) - 1.0 - float(np.real(gap / (2j * np.pi) * (np.exp(2j * np.pi * t) - 1.0)))
    limit = bounds.value_bound(t, order, k, (2 * np.pi) ** k, 1.0)
    return [abs(float(np.cos(2 * np.pi * t) - integral)), limit]


def index_readings(order: int = 9) -> list[float]:
    """Size of the estimated derivative of sin 2πt over the true one: C with the frequency n, and with the index k."""
    system = series_derivative(fout(order, 1.0))
    both = (system, Continuous(A=system.A, B=system.B, C=2.0 * system.C, D=0.0))
    return [float(abs(2j * np.pi - error_response(s, np.array([1.0]))[0]) / (2 * np.pi)) for s in both]


def _sine(rows: Rows, frequency: float, method: str, order: int) -> float:
    return float(find(rows, dataset="sine", parameter=frequency, method=method, order=order)["mean"])


def _share(value: float, limit: float) -> Cell:
    return Cell(number(value / limit), "good" if value <= limit else "bad")


def _off_period(rows: Rows) -> Table:
    lines: list[Line] = []
    for f, order in itertools.product(OFF_PERIOD, ORDERS):
        value = _sine(rows, f, "Prop. 2", order)
        limits = [_sine(rows, f, f"bound, k = {k}", order) for k in SMOOTHNESS]
        cells = [cell for limit in limits for cell in (number(limit), _share(value, limit))]
        last = number(_sine(rows, f, "Prop. 1", order))
        lines.append([f"sine, {f:g} cycles", str(order), number(value), *cells, last])
    bound = [name for k in SMOOTHNESS for name in (f"Theorem 1, k = {k}", "ratio")]
    caption = "Without periodicity, relative to the derivative: Prop. 2, the bound for three k, error / bound; Prop. 1."
    return Table(caption, ["signal", "N", "Prop. 2", *bound, "Prop. 1"], lines)


def error_response(system: Continuous, frequencies: NDArray[np.float64]) -> NDArray[np.complex128]:
    """iω minus the system's response at ω = 2π frequency: what is left of the derivative of e^{iωt}."""
    omega = 2j * np.pi * frequencies
    eye = np.eye(system.order)
    states = np.concatenate(
        [np.linalg.solve(w[:, None, None] * eye - system.A, system.B[None, :, None])[..., 0] for w in _pieces(omega)]
    )
    return np.asarray(omega - (states @ system.C + system.D), dtype=np.complex128)


def _pieces(values: NDArray[Any], size: int = 64) -> list[NDArray[Any]]:
    return [values[first : first + size] for first in range(0, len(values), size)]


def _synthesise(values: NDArray[np.complex128]) -> NDArray[np.float64]:
    """Re Σ_m c_m e^{2πimt} on a grid over one period."""
    spectrum = np.zeros(GRID // 2 + 1, dtype=np.complex128)
    spectrum[1 : len(values) + 1] = values * GRID / 2
    return np.asarray(np.fft.irfft(spectrum, n=GRID), dtype=np.float64)


def coefficients(k: int) -> NDArray[np.complex128]:
    """Of e^{2πimt}, m = 1 … 512, in the signal whose k-th derivative is a sawtooth."""
    return np.asarray(-1j * 1j**-k * np.arange(1.0, HARMONICS + 1) ** -(k + 1), dtype=np.complex128)


def lipschitz(k: int) -> float:
    """Largest absolute value of the k-th derivative of the periodic signal."""
    m = np.arange(1, HARMONICS + 1)
    return float(np.abs(_synthesise(coefficients(k) * (2j * np.pi * m) ** k)).max())


def slope(rows: Rows, k: int) -> float:
    """Exponent of N in the measured error, over the larger orders."""
    found = means(rows, "order", dataset=f"periodic, k = {k}", method="Prop. 2", metric="|u' - u'_N|")
    return float(np.polyfit(np.log(ORDERS[2:]), np.log([found[n] for n in ORDERS[2:]]), 1)[0])


def _ratios(rows: Rows, metric: str) -> list[float]:
    measured = means(rows, "parameter", "order", "method", metric=metric)
    return [measured[k, n, "Prop. 2"] / measured[k, n, "bound"] for k in SMOOTHNESS for n in ORDERS]


def _legend(figure: Any, colours: Mapping[int, str]) -> None:
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"linestyle": "none", "marker": "o"}
    handles = [Line2D([], [], color=colour, label=f"Theorem 1, k = {k}") for k, colour in colours.items()]
    handles += [Line2D([], [], color=colour, label=f"Prop. 2, k = {k}", **dot) for k, colour in colours.items()]
    handles += [
        Line2D([], [], color=style.INK, label="Prop. 2, sine", **dot),
        Line2D([], [], color=style.MUTED, markerfacecolor="white", label="Prop. 1, sine", **dot),
    ]
    figure.legend(handles=handles, ncols=4, loc="outside upper center")
