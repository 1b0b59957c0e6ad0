"""Panels drawn by matplotlib, without touching the user's settings or windows."""

from __future__ import annotations

import io
from typing import Any

from prophecy.frames.names import for_matplotlib
from prophecy.tables.pictures import DARK, LIGHT, Colours, Panel, Picture

DPI = 160  # of pictures on disk: sharp on a slide


def figure(picture: Picture, dark: bool = False, width: float = 9.0) -> Any:
    """A matplotlib Figure; in a notebook it shows itself."""
    from matplotlib.figure import Figure

    colours = DARK if dark else LIGHT
    tall = 3.4 if len(picture.panels) == 1 else 2.5
    heights = [max(0.9, tall * panel.height) for panel in picture.panels]
    made = Figure(figsize=(width, sum(heights) + 0.5), layout="constrained", facecolor=colours["paper"])
    axes = made.subplots(len(heights), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    named: set[str] = set()
    for axis, panel in zip(axes, picture.panels, strict=True):
        axis.set_facecolor(colours["paper"])
        axis.set_title(for_matplotlib(panel.title), loc="left", fontsize=11, color=colours["ink"])
        axis.tick_params(colors=colours["muted"], labelsize=9, length=0)
        axis.grid(axis="y", color=colours["grid"], linewidth=0.7)
        axis.set_axisbelow(True)
        axis.spines[:].set_visible(False)
        axis.margins(x=0.01)
        _lines(axis, panel, colours)
        _legend(axis, named, colours)
    return made


def image(picture: Picture, kind: str, dark: bool = False, width: float = 10.0) -> bytes:
    """The bytes of a PNG or SVG."""
    made, buffer = figure(picture, dark, width), io.BytesIO()
    made.savefig(buffer, format=kind, dpi=DPI, facecolor=made.get_facecolor())
    return buffer.getvalue()


def _lines(axis: Any, panel: Panel, colours: Colours) -> None:
    for band in panel.bands:
        fill = {"color": colours["forecast"], "alpha": band.alpha, "linewidth": 0}
        axis.fill_between(band.x, band.lower, band.upper, label=for_matplotlib(band.name), **fill)
    for line, look in panel.looks(colours):
        style = look.shape[0] if look.shape is not None else "--" if look.dashed else "-"
        size = {"markersize" if look.shape is not None else "linewidth": look.size}
        label = for_matplotlib(line.name)
        axis.plot(line.x, line.y, style, color=look.colour, label=label, solid_capstyle="round", **size)
    if panel.now is not None:
        axis.axvline(panel.now, color=colours["muted"], linewidth=0.8, linestyle=":")
    for first, last in panel.spans:
        axis.axvspan(first, last, color=colours["flagged"], alpha=0.12, linewidth=0)
    if panel.threshold is not None:
        axis.axhline(panel.threshold, color=colours["flagged"], linewidth=0.9, linestyle="--")
    ends = panel.limits()
    if ends is not None:
        axis.set_ylim(*ends)
    if panel.log:
        axis.set_yscale("log")
    if any(line.x.dtype.kind == "M" for line in panel.lines):
        import matplotlib.dates

        locator = matplotlib.dates.AutoDateLocator(minticks=4, maxticks=9)
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(matplotlib.dates.ConciseDateFormatter(locator))
        axis.xaxis.get_offset_text().set_color(colours["muted"])


def _legend(axis: Any, named: set[str], colours: Colours) -> None:
    """What no panel above has named."""
    handles, labels = axis.get_legend_handles_labels()
    once = {name: handle for name, handle in zip(labels, handles, strict=True) if name not in named}
    named |= {*once}
    order = sorted(once, key=lambda name: (name != "observed", "%" in name))
    if order:
        axis.legend(
            [once[name] for name in order], order, loc="lower right", bbox_to_anchor=(1.0, 1.0),
            ncols=min(len(once), 5), frameon=False, fontsize=9, labelcolor=colours["ink"], handlelength=1.4,
            borderaxespad=0.2, columnspacing=1.2,
        )  # fmt: skip
