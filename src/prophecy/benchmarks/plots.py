"""Time against series, samples and order: the figures of `docs/speed.md`, drawn from result files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prophecy.tables import style

Held = tuple[int | None, int | None, int | None]

# What grows in each panel, what is held (series, samples, order) on CPU and GPU, and few series drawn beside many.
PANELS: tuple[tuple[str, str, Held, Held, Held | None], ...] = (
    ("series", "series", (None, 4096, 64), (None, 4096, 64), None),
    ("samples", "samples in each series", (64, None, 64), (8192, None, 64), (4, None, 64)),
    ("order", "order N", (256, 4096, None), (8192, 16384, None), None),
)
POWERS = (8, 16, 32, 64, 128, 256)  # orders with a tick of their own
LINES = (
    ("seconds", "prophecy", "ours", "-", 2.2),
    ("SciPy FFT", "SciPy FFT", "autoregression", "--", 1.4),
    ("copy", "copying the array", "paper", ":", 1.6),
)


def draw(results: list[dict[str, Any]], out: Path) -> list[Path]:
    """One figure for each result that has scaling points: `speed-cpu.png`, `speed-gpu.png`."""
    out.mkdir(parents=True, exist_ok=True)
    made = []
    for result in results:
        if result.get("scaling"):
            kind = "gpu" if "gpu" in result["experiment"] else "cpu"
            made.append(_figure(result, kind, out / f"speed-{kind}.png"))
    return made


def _figure(result: dict[str, Any], kind: str, path: Path) -> Path:
    import matplotlib.pyplot as plt

    with style.use():
        figure, axes = plt.subplots(1, 3, figsize=(style.WIDE, style.HEIGHT), layout="constrained", sharey=True)
        for axis, (name, label, cpu, gpu, few) in zip(axes, PANELS, strict=True):
            held = gpu if kind == "gpu" else cpu
            points = _points(result, held, name)
            for key, text, colour, dash, width in LINES:
                if points and all(key in row for row in points):
                    line = [row[name] for row in points], [row[key] for row in points]
                    axis.plot(*line, dash, color=style.COLOURS[colour], lw=width, label=text, marker="o", ms=3)
            if few and kind == "gpu":
                rows = _points(result, few, name)
                line = [row[name] for row in rows], [row["seconds"] for row in rows]
                (drawn,) = axis.plot(*line, "-", color=style.COLOURS["LegT"], lw=1.8, marker="s", ms=3)
                axis.legend([drawn], ["prophecy, 4 series"], loc="lower right", fontsize=9, frameon=False)
            axis.set(xscale="log", yscale="log", xlabel=label)
            if name == "order" and points:
                axis.set_xticks([row[name] for row in points if row[name] in POWERS], minor=False)
                axis.minorticks_off()
                axis.xaxis.set_major_formatter("{x:g}")
            axis.set_title(_held(held), fontsize=10, fontweight="normal")
        axes[0].set_ylabel("seconds")
        axes[0].legend(loc="upper left", fontsize=9, frameon=False)
        where = result.get("device") or f"{result['machine']['cores']} CPU cores"
        dtype = result["scaling"][0]["dtype"]
        figure.suptitle(
            f"Time grows in proportion to series and samples, once there is enough to do ({where}, {dtype})",
            x=0.01,
            ha="left",
            fontsize=12,
        )
        figure.savefig(path, dpi=160)
        plt.close(figure)
    return path


def _points(result: dict[str, Any], held: Held, name: str) -> list[dict[str, Any]]:
    """The checked points of a panel, in order, the faster of two measurements of the same."""
    keys = ("series", "samples", "order")
    fitting = [
        row
        for row in result["scaling"]
        if "seconds" in row and all(want is None or row[key] == want for key, want in zip(keys, held, strict=True))
    ]
    best: dict[int, dict[str, Any]] = {}
    for row in sorted(fitting, key=lambda row: -float(row["seconds"])):
        best[row[name]] = row
    return [best[value] for value in sorted(best)]


def _held(held: Held) -> str:
    words = [
        f"{value:,} {name}".replace(",", " ") for value, name in zip(held, ("series", "samples"), strict=False) if value
    ]
    return ", ".join([*words, f"N = {held[2]}"] if held[2] else words)
