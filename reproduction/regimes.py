"""What Prophecy uses and when: one signal through four regimes, and how long a change of regime takes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy import signals
from prophecy.streams import Prophecy
from prophecy.streams.readouts import members
from reproduction import style
from reproduction.framework import Ask, Experiment, Outcome, Result, Table, Unit, Verdict
from reproduction.rows import Array, Json, Parts, means, number, row

LENGTH = 400  # samples of a regime
REGIMES = ("smooth", "noise of 0.1", "random walk", "smooth again")
KINDS = ("last 1–9 samples", "last 4–32 samples", "memories of 48–192", "memories of 256–1024", "solved in context")
CHANGES = ("smooth → noise of 0.1", "noise of 0.1 → smooth", "Filtered Noise → smooth", "smooth → step → smooth")
STATED = 64  # samples within which docs/prophecy.md says that a change is over


class Regimes(Experiment):
    name = "regimes"
    title = "Beyond the paper: what Prophecy uses, and when"
    reference = "Changes of regime"
    place = 205
    functions = 40
    introduction = (
        "A signal that is smooth, then noisy, then a random walk, then smooth again, and the share that each kind of "
        "member has in the forecast. Nobody tells the model that anything has changed. The table measures how long a "
        "change takes: the first sample after which the mean squared error over 20 samples, averaged over functions, "
        "stays within 1.3 of its final level (more where the functions are too few to tell), or below 1e-22 where "
        "nothing is random."
    )

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit("story")] + [Unit(change, {"change": change}) for change in CHANGES]

    def compute(self, ask: Ask, unit: Unit) -> Json:
        if not unit.arguments:
            return _story(ask.seed)
        u, change, smooth = changed(unit.arguments["change"], self.size(ask), ask.seed)
        error = np.mean((u[:, 1:] - Prophecy().predict_all(u)[:, :-1]) ** 2, axis=0)[change - 1 :]
        running = np.convolve(error, np.ones(20) / 20, "valid")
        # Of few functions the average over 20 samples strays by itself: four standard errors are allowed.
        within = max(1.3, 1.0 + 4.0 * float(np.sqrt(2.0 / (20 * len(u)))))
        limit = 1e-22 if smooth else within * float(np.mean(error[500:]))
        late = np.flatnonzero(running > limit)
        return {"samples": int(late[-1]) + 1 if len(late) else 0, "final": float(np.mean(error[500:])), "limit": limit}

    def gather(self, ask: Ask, parts: Parts) -> Outcome:
        rows = [row(change, None, "Prophecy", None, "samples", float(parts[change]["samples"])) for change in CHANGES]
        rows += [row(change, None, "Prophecy", None, "final mse", parts[change]["final"]) for change in CHANGES]
        return Outcome(rows, {"story": parts["story"]})

    caption = (
        "Top: the signal and the interval of level 0.9, one step ahead. Middle: which kinds of members the forecast is "
        "made of. Bottom: the size of its errors, averaged over ten samples, and of copying the last value."
    )
    alt = "Three strips over time: signal with interval, shares of members, errors on a log scale."

    def draw(self, result: Result) -> Any:
        story = result["details"]["story"]
        u, errors = np.array(story["u"]), np.array(story["errors"])
        time = np.arange(len(u))
        figure, (top, middle, bottom) = style.figure(3, 1, height=2.3, sharex=True)
        ends = story["lower"][:-1], story["upper"][:-1]
        top.fill_between(time[1:], *ends, color=style.COLOURS["ours"], alpha=0.25, lw=0)
        top.plot(time, u, color=style.COLOURS["truth"], linewidth=0.9)
        low, high = u.min(), u.max()
        top.set(ylim=(low - 0.2 * (high - low), high + 0.35 * (high - low)), ylabel="signal")
        for i, regime in enumerate(REGIMES):
            top.text((i + 0.5) * LENGTH, high + 0.2 * (high - low), regime, ha="center", va="center", fontsize=10)
            for axis in (top, middle, bottom):
                axis.axvline(i * LENGTH, color=style.COLOURS["paper"], linewidth=0.8, linestyle=":")
        colours = ("#E69F00", "#F0E442", "#56B4E9", "#0072B2", style.COLOURS["ours"])
        middle.stackplot(time, np.array(story["shares"]).T, labels=KINDS, colors=colours, linewidth=0)
        middle.set(ylim=(0, 1), ylabel="share", xlim=(0, len(u)))
        middle.legend(
            ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.22), fontsize=9, columnspacing=1.2, handlelength=1.2
        )
        for heights, name in ((np.diff(u), "copy"), (errors, "ours")):
            size = np.sqrt(np.convolve(heights**2, np.ones(10) / 10, "same"))
            label = "copying the last value" if name == "copy" else "Prophecy"
            bottom.plot(time[1:], np.maximum(size, 1e-16), color=style.COLOURS[name], linewidth=1.4, label=label)
        bottom.set(yscale="log", ylabel="error", xlabel="sample", ylim=(1e-16, 10))
        bottom.legend(loc="lower center", ncols=2, fontsize=9)
        return figure

    def tables(self, result: Result) -> list[Table]:
        found = means(result["rows"], "dataset", "metric")
        lines = [[c, f"{found[c, 'samples']:.0f}", number(found[c, "final mse"])] for c in CHANGES]
        return [Table("", ["change", "samples until it is over", "MSE from then on"], lines)]

    def verdicts(self, result: Result) -> list[Verdict]:
        longest = max(r["mean"] for r in result["rows"] if r["metric"] == "samples")
        evidence = f"The longest of {len(CHANGES)} kinds takes {longest:.0f}."
        return [Verdict(f"A change of regime is over within {STATED} samples.", longest <= STATED, evidence)]


def changed(change: str, count: int, seed: int) -> tuple[Array, int, bool]:
    """(count, 3000) that change at sample 1500, that sample, and whether nothing is random afterwards."""
    smooth = signals.white_signal(2.0, count, 3000, seed=seed)
    draws = [np.random.default_rng((seed + i, 79)).normal(size=3000) for i in range(count)]
    noisy = smooth + 0.1 * np.stack(draws)
    half = 1500
    if change == "smooth → noise of 0.1":
        return np.concatenate([smooth[:, :half], noisy[:, half:]], axis=1), half, False
    if change == "noise of 0.1 → smooth":
        return np.concatenate([noisy[:, :half], smooth[:, half:]], axis=1), half, True
    if change == "Filtered Noise → smooth":
        before = signals.filtered_noise(0.1, count, half, seed=seed)
        after = smooth[:, half:] - smooth[:, half - 1 : half] + before[:, -1:]
        return np.concatenate([before, after], axis=1), half, True
    return smooth + (np.arange(3000) >= half), half, True


def _story(seed: int) -> Json:
    rng = np.random.default_rng((seed, 80))
    smooth = signals.white_signal(2.0, 1, 4 * LENGTH, seed=seed)[0]
    noisy = smooth + 0.1 * rng.normal(size=smooth.shape)
    walk = np.cumsum(0.05 * rng.normal(size=LENGTH)) + smooth[2 * LENGTH]
    last = smooth[3 * LENGTH :] - smooth[3 * LENGTH] + walk[-1]
    u = np.concatenate([smooth[:LENGTH], noisy[LENGTH : 2 * LENGTH], walk, last])
    kind = _kinds()
    model, shares, parts = Prophecy(), [], []
    for value in u:
        model.observe(float(value))
        ahead = model.predict()
        parts.append((ahead.point, ahead.lower, ahead.upper))
        mixed = model.shares()
        shares.append([round(float(mixed[kind == i].sum()), 3) for i in range(len(KINDS))])
    mean, lower, upper = (np.array(part) for part in zip(*parts, strict=True))
    drawn = {"u": u, "lower": np.maximum(lower, -9.0), "upper": np.minimum(upper, 9.0)}
    rounded = {name: part.round(4).tolist() for name, part in drawn.items()}
    errors = [float(f"{error:.3e}") for error in u[1:] - mean[:-1]]
    return {**rounded, "errors": errors, "shares": shares}


def _kinds() -> NDArray[np.int64]:
    def kind(index: int) -> int:
        member = members()[index]
        if member.degree is None:
            return 4
        if member.window > 32:
            return 3 if member.window > 192 else 2
        return 0 if member.window == member.degree + 1 else 1

    return np.array([kind(i) for i in range(len(members()))])
