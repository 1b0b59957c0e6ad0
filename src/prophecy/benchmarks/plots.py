"""Time against series, samples and order: `python -m prophecy.benchmarks.plots [RESULTS] [OUT]` draws the figures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from prophecy.benchmarks.table import FOLDER, load
from prophecy.reproduce import style

Held = tuple[int | None, int | None, int | None]

AXES: dict[str, tuple[str, dict[str, Held]]] = {
    "series": ("series", {"cpu": (None, 4096, 64), "gpu": (None, 4096, 64)}),
    "samples": ("samples in each series", {"cpu": (64, None, 64), "gpu": (64, None, 64)}),
    "order": ("order N", {"cpu": (256, 4096, None), "gpu": (8192, 4096, None)}),
}
LINES = (
    ("seconds", "prophecy", "ours", "-", 2.2),
    ("SciPy FFT", "SciPy FFT", "autoregression", "--", 1.4),
    ("copy", "copying the array", "paper", ":", 1.4),
)


def figure(result: dict[str, Any], out: Path) -> None:
    """Three panels, one for each thing that grows, with everything else held."""
    import matplotlib.pyplot as plt

    kind = "gpu" if "gpu" in result["experiment"] else "cpu"
    with style.use():
        shape, axes = plt.subplots(1, 3, figsize=(style.WIDE, style.HEIGHT), layout="constrained")
        for axis, (name, (label, held)) in zip(axes, AXES.items(), strict=True):
            points = [row for row in result["scaling"] if _fits(row, held[kind]) and "seconds" in row]
            points.sort(key=lambda row: int(row[name]))
            for key, text, colour, dash, width in LINES:
                if points and all(key in row for row in points):
                    x, y = [row[name] for row in points], [row[key] for row in points]
                    axis.plot(x, y, dash, color=style.COLOURS[colour], lw=width, label=text, marker="o", ms=3)
            axis.set(xscale="log", yscale="log", xlabel=label)
            axis.set_title(_held(held[kind]), fontsize=10, fontweight="normal")
        axes[0].set_ylabel("seconds")
        axes[0].legend(frameon=False, fontsize=9)
        where = result.get("device") or f"{result['machine']['cores']} CPU cores"
        shape.suptitle(
            f"Time grows in proportion to the data ({where}, {points[0]['dtype']})", x=0.01, ha="left", fontsize=12
        )
        shape.savefig(out, dpi=160)
        plt.close(shape)


def _fits(row: dict[str, Any], held: Held) -> bool:
    return all(want is None or row[key] == want for key, want in zip(("series", "samples", "order"), held, strict=True))


def _held(held: Held) -> str:
    words = [
        f"{value:,} {name}".replace(",", " ")
        for value, name in zip(held[:2], ("series", "samples"), strict=True)
        if value
    ]
    return ", ".join([*words, f"N = {held[2]}"] if held[2] else words)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("docs/images")
    out.mkdir(parents=True, exist_ok=True)
    for result in load(folder):
        if result.get("scaling"):
            kind = "gpu" if "gpu" in result["experiment"] else "cpu"
            figure(result, out / f"speed-{kind}.png")
            print(out / f"speed-{kind}.png")


if __name__ == "__main__":
    main()
