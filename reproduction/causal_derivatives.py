"""Derivatives from the past alone: ours beside a difference, a Savitzky–Golay endpoint and a Kalman filter."""

from typing import Any

import numpy as np
from scipy.linalg import solve_discrete_are
from scipy.signal import lfilter

from prophecy import signals
from prophecy.streams import Prophecy
from prophecy.streams.readouts import least_squares
from reproduction import style
from reproduction.framework import Ask, Experiment, Line, Outcome, Result, Table, Unit, Verdict, marked
from reproduction.rows import Array, Json, Parts, Rows, best_of, means, number, row

NOISE = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
SIGNALS = ("White γ = 1", "White γ = 2", "Van der Pol")
WINDOWS = (2, 3, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513)
DEGREES = (1, 2, 3, 4, 5)
LOUDNESS = tuple(10.0**power for power in range(-18, 1))
"""Variance of the jerk, per sample, over that of the noise: what a constant-acceleration filter has to be told."""

OURS, DIFFERENCE = "Prophecy", "difference"
SMOOTHED, KALMAN = "Savitzky–Golay in hindsight", "Kalman in hindsight"
LEARNED = "Kalman in context"
METHODS = (DIFFERENCE, SMOOTHED, LEARNED, KALMAN, OURS)


class Derivatives(Experiment):
    name = "derivatives"
    title = "Beyond the paper: causal derivatives"
    reference = "The other half of the construction, made useful"
    place = 210
    functions = 10
    introduction = (
        "The derivative at the newest sample, from the past alone. Prophecy weighs its exact derivative readouts by "
        "their estimated noise and bias and is told nothing. The Savitzky–Golay endpoint has its window and degree, "
        "and the constant-acceleration Kalman filter its one parameter, set to what turned out best; the filter also "
        "appears with that parameter chosen in context, by its own past innovations."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit(f"{name} + {noise:g}", {"signal": name, "noise": noise}) for name in SIGNALS for noise in NOISE]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        signal, noise = unit.arguments["signal"], unit.arguments["noise"]
        clean, slope, dt = clean_and_slope(signal, self.size(ask), ask.seed)
        draws = [np.random.default_rng((ask.seed + i, 78)).normal(size=clean.shape[1]) for i in range(len(clean))]
        u = clean + noise * np.stack(draws)
        value = {DIFFERENCE: _errors(np.diff(u, prepend=u[:, :1]) / dt, slope)}
        for name, estimate in savitzky_golay_slopes(u, dt).items():
            value[f"{SMOOTHED}: {name}"] = _errors(estimate, slope)
        for name, estimate in constant_acceleration(u, dt).items():
            value[f"{KALMAN}: {name}"] = _errors(estimate, slope)
        value[LEARNED] = _errors(filters_in_context(u, dt), slope)
        value[OURS] = _errors(prophecy_slopes(u, dt), slope)
        value["truth"] = _errors(np.zeros_like(slope), slope)
        return value

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows: Rows = []
        chosen: dict[str, dict[str, str]] = {}
        for name, values in parts.items():
            signal, noise = name.split(" + ")
            relative = {key: np.sqrt(np.array(v) / np.array(values["truth"])) for key, v in values.items()}
            keys = {method: best_of(values, method) for method in METHODS}  # by the squares, not by their roots
            chosen[name] = {method: key.split(": ")[-1] for method, key in keys.items()}
            rows += [row(signal, float(noise), m, None, "relative rms", relative[key]) for m, key in keys.items()]
        return Outcome(rows, {"chosen": chosen})

    caption = (
        "Root mean squared error of the causal derivative over Prophecy's, against the noise added; above 1 is worse. "
        "One-sided differences are 10 to 1000 times worse and left out, as are signals without noise, where the others "
        "are too: see the table."
    )
    alt = "Error over Prophecy's against noise."

    def draw(self, result: Result) -> Any:
        rows = result["rows"]
        looks = {
            SMOOTHED: (style.COLOURS["Savitzky–Golay"], "^", "--"),
            LEARNED: (style.COLOURS["autoregression"], "s", "-"),
            KALMAN: (style.COLOURS["local trend"], "v", "--"),
            OURS: (style.COLOURS["ours"], "*", "-"),
        }
        figure, axes = style.figure(1, len(SIGNALS), height=3.6, sharey=True)
        for axis, signal in zip(axes, SIGNALS, strict=True):
            shown = [(noise, found) for s, noise, found in _cases(rows) if s == signal and noise]
            for name, (colour, marker, line) in looks.items():
                heights = [found[name] / found[OURS] for _, found in shown]
                size = 12 if name == OURS else 7
                axis.plot(range(len(shown)), heights, line, color=colour, marker=marker, markersize=size, label=name)
            axis.set(yscale="log", title=signal, xlabel="noise added")
            axis.set_xticks(range(len(shown)), [f"{noise:g}" for noise, _ in shown])
            axis.set_yticks([0.8, 1, 1.5, 2, 5, 10], ["0.8", "1", "1.5", "2", "5", "10"])
            axis.minorticks_off()
        axes[0].set_ylabel("error / Prophecy's error")
        return style.legended(figure, axes[0], 4)

    def tables(self, result: Result) -> list[Table]:
        lines: list[Line] = []
        for signal, noise, found in _cases(result["rows"]):
            honest = min(found[name] for name in (DIFFERENCE, LEARNED, OURS))
            chosen = result["details"]["chosen"][f"{signal} + {noise:g}"]
            cells = marked([found[m] for m in METHODS], honest)
            lines.append([f"{signal} + {noise:g}", *cells, chosen[SMOOTHED]])
        caption = "Error of the derivative relative to its size; marked: the best that knows nothing in advance."
        return [Table(caption, ["signal", *METHODS, "Savitzky–Golay's best"], lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        cases = _cases(result["rows"])
        honest = {f"{s} + {n:g}": f[OURS] / min(f[DIFFERENCE], f[LEARNED]) for s, n, f in cases}
        tuned = {f"{s} + {n:g}": f[OURS] / min(f[SMOOTHED], f[KALMAN]) for s, n, f in cases}
        worst, hardest = max(honest, key=lambda k: honest[k]), max(tuned, key=lambda k: tuned[k])
        won = sum(ratio <= 1 for ratio in tuned.values())
        return [
            Verdict(
                "Prophecy's derivative beats a difference and a Kalman filter tuned in context, or nearly (5 %).",
                honest[worst] < 1.05,
                f"Its error is {number(min(honest.values()))} ({min(honest, key=lambda k: honest[k])}) to "
                f"{honest[worst]:.2f} ({worst}) of the better one's.",
            ),
            Verdict(
                "It needs no setting to match those tuned in hindsight.",
                tuned[hardest] <= 1.15 if won * 2 >= len(tuned) else False,
                f"It is ahead of both the best Savitzky–Golay endpoint and the best Kalman filter in {won} of "
                f"{len(tuned)} cases and behind by a factor of {tuned[hardest]:.2f} at most ({hardest}).",
            ),
        ]


def clean_and_slope(signal: str, count: int, seed: int) -> tuple[Array, Array, float]:
    """(count, samples) without noise, the true derivative per second, and the step."""
    if signal == "Van der Pol":
        time = np.linspace(0.0, 20.0, signals.SAMPLES)
        u = signals.van_der_pol()
        slope = 7.0 * (1.0 - u * u) * np.sin(time)
        return np.tile(u, (count, 1)), np.tile(slope, (count, 1)), float(time[1] - time[0])
    u = signals.white_signal(float(signal.split("= ")[1]), count, seed=seed)
    turn = 2j * np.pi * np.fft.rfftfreq(u.shape[1], signals.DT)
    return u, np.fft.irfft(np.fft.rfft(u, axis=1) * turn, u.shape[1], axis=1), signals.DT


def savitzky_golay_slopes(u: Array, dt: float) -> dict[str, Array]:
    """The slope at the end of polynomials fitted to the last samples, for every window and degree."""
    return {
        f"window {window}, degree {degree}": np.asarray(
            lfilter(least_squares(window, degree, 0.0, 1), [1.0], u, axis=-1) / dt, dtype=np.float64
        )
        for window in WINDOWS
        for degree in DEGREES
        if degree < window
    }


def constant_acceleration(u: Array, dt: float) -> dict[str, Array]:
    """The velocity of a steady-state Kalman filter of constant acceleration, for every `LOUDNESS`."""
    velocities, _ = _filtered(np.atleast_2d(u))
    return {f"q = {q:.0e}": velocities[i].reshape(np.shape(u)) / dt for i, q in enumerate(LOUDNESS)}


def filters_in_context(u: Array, dt: float) -> Array:
    """At every sample the velocity of the filter whose innovations have been smallest so far."""
    velocities, innovations = _filtered(np.atleast_2d(u))
    best = np.cumsum(innovations**2, axis=-1).argmin(axis=0)
    return np.asarray(np.take_along_axis(velocities, best[None], axis=0)[0] / dt, dtype=np.float64)


def _filtered(u: Array) -> tuple[Array, Array]:
    step = np.array([[1.0, 1.0, 0.5], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    seen, jerk = np.array([[1.0, 0.0, 0.0]]), np.array([[1 / 6], [0.5], [1.0]])
    gains = []
    for q in LOUDNESS:
        covariance = solve_discrete_are(step.T, seen.T, q * (jerk @ jerk.T) + 1e-6 * q * np.eye(3), np.eye(1))
        gains.append((covariance @ seen.T / (seen @ covariance @ seen.T + 1.0))[:, 0])
    gain = np.array(gains)
    x = np.zeros((len(gain), len(u), 3))
    x[:, :, 0] = u[:, 0]
    velocities, innovations = (np.empty((len(gain), *u.shape)) for _ in range(2))
    for k in range(u.shape[1]):
        x = x @ step.T
        innovations[:, :, k] = u[:, k] - x[:, :, 0]
        x = x + gain[:, None, :] * innovations[:, :, k, None]
        velocities[:, :, k] = x[:, :, 1]
    return velocities, innovations


def prophecy_slopes(u: Array, dt: float) -> Array:
    model = Prophecy(channels=len(u), dt=dt, context=1)
    slopes = np.empty_like(u)
    for k, moment in enumerate(u.T):
        model.observe(moment)
        slopes[:, k] = model.derivative()
    return slopes


def _errors(estimate: Array, slope: Array) -> list[float]:
    late = slice(slope.shape[1] // 2, None)
    return [float(error) for error in np.mean((estimate[:, late] - slope[:, late]) ** 2, axis=1)]


def _cases(rows: Rows) -> list[tuple[str, float, dict[str, float]]]:
    return [(s, n, means(rows, "method", dataset=s, parameter=n)) for s in SIGNALS for n in NOISE]
