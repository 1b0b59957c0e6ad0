"""One look for every figure: colours that mean the same everywhere and survive colour blindness, print and projectors.

Colours are Okabe and Ito's. Use them by meaning, `COLOURS["LegT"]`; the report draws inside `with style.use():`.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

INK = "#1b1f24"
MUTED = "#6b7280"
GRID = "#e5e7eb"

COLOURS = {
    "truth": INK, "floor": INK, "paper": MUTED, "copy": "#9ca3af", "line": "#4b5563",
    "LegT": "#0072B2", "FouT": "#D55E00", "FouT as printed": "#E69F00", "LegS": "#009E73",
    "ours": "#AA3377", "prophecy": "#AA3377", "autoregression": "#56B4E9", "Savitzky–Golay": "#8c6d31",
    "local level": "#bcbddc", "local trend": "#756bb1",
}  # fmt: skip
"""A colour per meaning: methods of the paper, ours, baselines, the floor."""

MARKERS = {"LegT": "o", "FouT": "s", "FouT as printed": "D", "LegS": "^", "ours": "*"}

SEQUENCE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#6b7280")
"""For things without a meaning of their own, in this order."""

WIDE, HEIGHT = 10.0, 3.6
"""Inches: the page's full width, and the usual height."""

_RC: dict[str, Any] = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 11, "text.color": INK,
    "axes.titlesize": 12, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.labelsize": 11, "axes.labelcolor": INK, "axes.edgecolor": MUTED, "axes.linewidth": 0.8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": GRID, "grid.linewidth": 0.8, "legend.frameon": False, "legend.fontsize": 10,
    "xtick.color": MUTED, "ytick.color": MUTED, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "xtick.labelsize": 10, "ytick.labelsize": 10, "lines.linewidth": 1.8, "lines.markersize": 4.5,
    "figure.facecolor": "white", "figure.dpi": 100, "savefig.dpi": 200,
    "svg.fonttype": "path", "svg.hashsalt": "prophecy",
}  # fmt: skip


@contextlib.contextmanager
def use() -> Iterator[None]:
    """Matplotlib with this look, drawing to files only, and as before afterwards."""
    import matplotlib
    from matplotlib import pyplot

    before = matplotlib.get_backend()
    with matplotlib.rc_context(_RC):
        pyplot.switch_backend("agg")
        try:
            yield
        finally:
            pyplot.close("all")
            with contextlib.suppress(ImportError):
                pyplot.switch_backend(before)


def figure(rows: int = 1, columns: int = 1, width: float = WIDE, height: float = HEIGHT, **options: Any) -> Any:
    """(figure, axes) of the page's width; axes are a list in reading order. `height` is that of one row."""
    from matplotlib import pyplot

    made, axes = pyplot.subplots(
        rows, columns, figsize=(width, height * rows), squeeze=False, layout="constrained", **options
    )
    return made, list(axes.flat)


def legended(made: Any, axis: Any, columns: int, place: str = "upper center", **options: Any) -> Any:
    """The figure, with the legend of one of its axes outside of them."""
    made.legend(*axis.get_legend_handles_labels(), ncols=columns, loc=f"outside {place}", **options)
    return made


def band(axis: Any, x: Any, mean: Any, std: Any, colour: str, **options: Any) -> None:
    """A line with its ± std band; on log axes the band's lower edge stays above zero."""
    import numpy as np

    middle, width = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    low = np.maximum(middle - width, middle / 10) if axis.get_yscale() == "log" else middle - width
    axis.plot(x, middle, color=colour, **options)
    axis.fill_between(x, low, middle + width, color=colour, alpha=0.15, linewidth=0)


def plain_ticks(axis: Any) -> None:
    """On a log axis that spans less than two decades: ticks at 1, 2, 3, 5, 7 with their lines; else as usual."""
    from matplotlib import ticker

    low, high = axis.get_ylim()
    if high > 100 * low:
        return
    axis.yaxis.set_major_locator(
        ticker.LogLocator(subs=(1, 2, 3, 5, 7) if high > 4 * low else (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))
    )
    axis.yaxis.set_minor_locator(ticker.NullLocator())
    axis.yaxis.set_major_formatter(ticker.LogFormatterSciNotation(labelOnlyBase=False, minor_thresholds=(9, 9)))
