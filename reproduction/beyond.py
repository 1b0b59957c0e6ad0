"""Beyond the paper: one model without settings beside the paper, the baselines and the floor, noise or not."""

import itertools
from typing import Any

import numpy as np

from prophecy import signals
from prophecy.evaluation import coverage, mean_squared_error
from prophecy.streams import Prophecy
from reproduction import baselines, paper, style
from reproduction.framework import Ask, Cell, Experiment, Line, Outcome, Result, Table, Unit, Verdict, marked
from reproduction.rows import Array, Json, Parts, Rows, best_rows, chunks, joined, means, number, row

WHITE = {f"White γ = {cutoff:g}": cutoff for cutoff in (0.3, 1.0, 2.0)}
FILTERED = {f"Filtered α = {constant:g}": constant for constant in (0.05, 0.1, 0.3)}
EQUATIONS = ("Van der Pol", "Bernoulli")
NOISE = (1e-3, 1e-2, 1e-1)  # standard deviations added to the signals of `NOISY`
NOISY = ("White γ = 1", "White γ = 2", "Van der Pol")
OURS, PAPER, FLOOR, CONTEXT, HINDSIGHT = "Prophecy", "paper", "floor", "best baseline in context", "best in hindsight"
METHODS = (PAPER, "copy", "line", CONTEXT, HINDSIGHT, OURS)
CALIBRATION = ("coverage", "alarms 1", "alarms 2", "alarms 3")
SIZE = 10  # functions in a piece, which is what a kill can lose
ROUNDING = 1e-33  # squared error that float64 leaves of values of size 0.5: stands for "rounding" among the floors


class Beyond(Experiment):
    name = "beyond"
    title = "Beyond the paper: Prophecy"
    reference = "What one model without settings reaches"
    place = 200
    functions = 40
    introduction = (
        "Prophecy mixes exact systems over windows of 1 to 1024 samples with readouts solved in context, and is told "
        "nothing about the signal. Beside it: the best of the paper's models (chosen in hindsight), copying, a "
        "straight line, the best baseline with its settings chosen in context, and the best of all baselines and "
        "settings in hindsight: autoregressions up to order 16, Savitzky–Golay, local level and local trend. The floor "
        "is what no causal predictor can beat: the innovation variance of Filtered Noise, the variance of added noise, "
        "and rounding where there is none."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return [
            Unit(f"{s} + {n:g}, {first}+{count}", {"signal": s, "noise": n, "first": first, "count": count})
            for s, n in _cases()
            for first, count in chunks(1 if s in EQUATIONS and not n else self.size(ask), SIZE)
        ]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        u = series(**unit.arguments, seed=ask.seed)
        value = {"copy": _errors(u, baselines.copy(u)), "line": _errors(u, baselines.line(u))}
        for method, order in itertools.product(paper.BASES, paper.ORDERS):
            value[f"{PAPER}: {paper.label(method, order)}"] = _errors(u, paper.predict(method, order, u))
        for name, setting, y in baselines.everyone(u):
            value[f"{HINDSIGHT}: {name}, {setting}" if setting else f"{CONTEXT}: {name}"] = _errors(u, y)
        track = Prophecy(channels=len(u)).follow(u.T)
        value[OURS] = _errors(u, np.roll(track.point.T, -1, axis=1))  # of the value after each; the last is not read
        late, later = slice(u.shape[1] // 2, None), slice(u.shape[1] // 2 + 1, None)
        value["coverage"] = [
            coverage(v[later], lower[later], upper[later])
            for v, lower, upper in zip(u, track.lower.T, track.upper.T, strict=True)
        ]
        for score in (1, 2, 3):
            value[f"alarms {score}"] = np.mean(track.score[late] > score, axis=0).tolist()
        return value

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows: Rows = []
        chosen: dict[str, dict[str, str]] = {}
        for signal, noise in _cases():
            values = joined(parts, f"{signal} + {noise:g}")
            best, chosen[_label(signal, noise)] = best_rows(signal, noise, METHODS, values)
            rows += [*best, row(signal, noise, FLOOR, None, "mse", floor(signal, noise))]
            rows += [row(signal, noise, OURS, None, key, values[key]) for key in CALIBRATION]
        return Outcome(rows, {"chosen": chosen})

    caption = (
        "Mean squared error one step ahead, second half of 10 000 samples. Top: signals without noise, on "
        "thirty decades. Bottom: stochastic signals, divided by the floor that no causal predictor can pass."
    )
    alt = (
        "Points per signal and method: Prophecy lies near rounding on smooth signals and near the floor on "
        "stochastic ones."
    )

    def draw(self, result: Result) -> Any:
        rows = result["rows"]
        styles = {
            PAPER: (style.COLOURS["LegT"], "o", 9),
            "line": (style.COLOURS["line"], "_", 14),
            CONTEXT: (style.COLOURS["autoregression"], "s", 7),
            HINDSIGHT: (style.COLOURS["Savitzky–Golay"], "^", 8),
            OURS: (style.COLOURS["ours"], "*", 15),
        }
        figure, (top, bottom) = style.figure(2, 1, height=3.9)
        smooth = [case for case in _cases() if floor(*case) == ROUNDING]
        noisy = [case for case in _cases() if floor(*case) != ROUNDING]
        for axis, cases, divided in ((top, smooth, False), (bottom, noisy, True)):
            axis.set_yscale("log")
            for name, (colour, marker, size) in styles.items():
                found = [_values(rows, *case) for case in cases]
                heights = [values[name] / (values[FLOOR] if divided else 1.0) for values in found]
                options = {"markersize": size, "markeredgewidth": 2 if marker == "_" else 0, "label": name}
                axis.plot(range(len(cases)), heights, linestyle="none", marker=marker, color=colour, **options)
            axis.set_xticks(range(len(cases)), [_short(*case) for case in cases], fontsize=9)
            axis.margins(x=0.06)
            axis.grid(axis="x", visible=False)
        top.axhline(1e-22, color=style.COLOURS["floor"], linewidth=1.0, linestyle=":")
        top.annotate("our limit", (0, 1e-22), xytext=(-22, 4), textcoords="offset points", fontsize=9)
        top.set(ylabel="MSE", ylim=(1e-34, 1e-3))
        bottom.axhline(1.0, color=style.COLOURS["floor"], linewidth=1.4)
        bottom.annotate("floor", (0, 1.0), xytext=(-38, 4), textcoords="offset points", fontsize=9)
        bottom.set(ylabel="MSE / floor", ylim=(0.8, 3e2))
        bottom.set_yticks([1, 2, 5, 10, 100], ["1", "2", "5", "10", "100"])
        return style.legended(figure, top, 5)

    def tables(self, result: Result) -> list[Table]:
        errors = [_errors_table(result, smooth) for smooth in (True, False)]
        return [*errors, _calibration_table(result), _chosen_table(result)]

    def verdicts(self, result: Result) -> list[Verdict]:
        ours = {case: _values(result["rows"], *case) for case in _cases()}
        smooth = [(case, v[OURS]) for case, v in ours.items() if limit(*case) == 1e-22]
        noisy = {case: v[OURS] / v[FLOOR] for case, v in ours.items() if limit(*case) != 1e-22}
        worst = max(noisy, key=lambda case: noisy[case] / (limit(*case) / floor(*case)))
        lost = {case: v[OURS] / v[HINDSIGHT] for case, v in ours.items()}
        least = max(lost, key=lambda case: lost[case])
        coverage = means(result["rows"], "dataset", "parameter", metric="coverage")
        held = [coverage[case] for case in noisy]
        return [
            Verdict(
                "Signals without noise are predicted to rounding.",
                all(value <= 1e-22 for _, value in smooth),
                f"The largest mean squared error is {number(max(v for _, v in smooth))}; we set ourselves 1e-22.",
            ),
            Verdict(
                "Stochastic signals are predicted close to what no predictor can beat.",
                all(v[OURS] <= limit(*case) for case, v in ours.items()),
                f"Between {min(noisy.values()):.3f} and {max(noisy.values()):.3f} of the floor; nearest its limit is "
                f"{_label(*worst)} with {noisy[worst]:.3f} of {limit(*worst) / floor(*worst):.2f}.",
            ),
            Verdict(
                "No baseline is much better, even with its settings tuned in hindsight.",
                lost[least] <= 1.3,
                f"The most it loses is a factor of {lost[least]:.2f} ({_label(*least)}); we set ourselves 1.3.",
            ),
            Verdict(
                "Intervals of level 0.9 hold 88 to 92 % on stochastic signals.",
                all(0.88 <= c <= 0.92 for c in held),
                f"They hold {100 * min(held):.1f} to {100 * max(held):.1f} %.",
            ),
        ]


def series(signal: str, noise: float, first: int, count: int, seed: int) -> Array:
    """`count` functions of a signal with noise added: (count, samples)."""
    if signal in WHITE:
        clean = signals.white_signal(WHITE[signal], count, seed=seed + first)
    elif signal in FILTERED:
        clean = signals.filtered_noise(FILTERED[signal], count, seed=seed + first)
    else:
        one = signals.van_der_pol() if signal == "Van der Pol" else signals.bernoulli()
        clean = np.tile(one, (count, 1))
    if not noise:
        return clean
    # A generator per function, apart from those that drew the signals.
    draws = [np.random.default_rng((seed + first + i, 77)).normal(size=clean.shape[1]) for i in range(count)]
    return np.asarray(clean + noise * np.stack(draws), dtype=np.float64)


def floor(signal: str, noise: float) -> float:
    """What no causal predictor can beat; for signals without noise the rounding of numbers of size 1, 1e-33."""
    return noise**2 if noise else baselines.innovation_floor(FILTERED[signal]) if signal in FILTERED else ROUNDING


def limit(signal: str, noise: float) -> float:
    return 1.2 * noise**2 if noise else 1.15 * floor(signal, noise) if signal in FILTERED else 1e-22


def _cases() -> list[tuple[str, float]]:
    plain = [(signal, 0.0) for signal in (*WHITE, *EQUATIONS, *FILTERED)]
    return plain + [(signal, noise) for signal in NOISY for noise in NOISE]


def _label(signal: str, noise: float) -> str:
    return f"{signal} + {noise:g}" if noise else signal


def _errors(u: Array, y: Array) -> list[float]:
    return [float(error) for error in np.atleast_1d(mean_squared_error(u, y))]


def _values(rows: Rows, signal: str, noise: float) -> dict[str, float]:
    return means(rows, "method", dataset=signal, parameter=noise, metric="mse")


def _errors_table(result: Result, smooth: bool) -> Table:
    lines: list[Line] = []
    for case in _cases():
        if (floor(*case) == ROUNDING) != smooth:
            continue
        found = _values(result["rows"], *case)
        honest = min(found[name] for name in METHODS if name not in (PAPER, HINDSIGHT))
        unit, form = (1.0, number) if smooth else (found[FLOOR], _ratio)
        cells = marked([found[name] / unit for name in METHODS], honest / unit, form)
        shown = "rounding" if smooth else number(found[FLOOR])
        good = "good" if found[OURS] <= limit(*case) else "bad"
        lines.append([_label(*case), *cells, shown, Cell(form(limit(*case) / unit), good)])
    header = ["signal", *METHODS, FLOOR, "our limit"]
    what = "MSE of the next value" if smooth else "MSE of the next value, divided by the floor"
    return Table(f"{what}; marked: the best predictor that knows nothing in advance.", header, lines)


def _ratio(value: float) -> str:
    return f"{value:.3f}" if value < 10 else number(value)


def _calibration_table(result: Result) -> Table:
    lines = []
    for signal, noise in _cases():
        found = means(result["rows"], "metric", dataset=signal, parameter=noise, method=OURS)
        inside, *shares = (100 * found[key] for key in CALIBRATION)
        lines.append([_label(signal, noise), f"{inside:.1f} %", *(f"{share:.2f} %" for share in shares)])
    header = ["signal", "inside the interval of level 0.9", "score above 1", "above 2", "above 3"]
    return Table("Intervals and scores: 90 %, 10 %, 1 % and 0.1 % would be perfect.", header, lines)


def _chosen_table(result: Result) -> Table:
    chosen = result["details"]["chosen"]
    lines = [[_label(*case), *(chosen[_label(*case)][m] for m in (PAPER, CONTEXT, HINDSIGHT))] for case in _cases()]
    return Table("What turned out best of each kind.", ["signal", PAPER, CONTEXT, HINDSIGHT], lines)


def _short(signal: str, noise: float) -> str:
    if not noise:
        return signal.replace("Filtered ", "Filtered\n")
    return f"{signal.replace('Van der Pol', 'VdP').replace('γ = ', '')}\n+ {noise:g}"
