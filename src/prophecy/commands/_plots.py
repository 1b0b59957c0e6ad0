"""Pictures of predictions, forecasts and anomalies: PNG, SVG, or one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy import _files
from prophecy.reproduce import style

Array: TypeAlias = NDArray[np.float64]

ENDINGS = (".png", ".svg", ".html")
PANELS = 4  # series drawn; a picture of more is a texture


@dataclass
class Panel:
    """One series: where and what it was, what was said about it, and how wrong that was."""

    title: str
    where: NDArray[Any]
    truth: Array
    mean: Array
    lower: Array
    upper: Array
    ahead: NDArray[Any] | None = None
    flags: NDArray[np.bool_] | None = None
    scores: Array | None = None
    errors: dict[str, tuple[Array, Array]] = field(default_factory=dict)


def check_ending(path: Path | None) -> None:
    """Refuse a picture's name before any work is done."""
    if path is not None and path.suffix.lower() not in ENDINGS:
        raise ValueError(f"--plot must end in {', '.join(ENDINGS)}, got {path.name!r}")


def save(figure: Any, path: Path, title: str, lines: Sequence[str] = (), table: Sequence[Sequence[str]] = ()) -> None:
    """Write a figure atomically; HTML gets the title, a table (first row is the header) and remarks around it."""
    buffer, kind = io.BytesIO(), path.suffix.lower()
    figure.savefig(buffer, format="svg" if kind == ".svg" else "png", dpi=160)
    data = buffer.getvalue()
    _files.write_atomic(path, _page(data, title, lines, table) if kind == ".html" else data)


def _page(png: bytes, title: str, lines: Sequence[str], table: Sequence[Sequence[str]]) -> bytes:
    head, *rows = [[html.escape(cell) for cell in row] for row in table] or [[]]
    cells = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    grid = f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>" if head else ""
    remarks = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
    picture = base64.b64encode(png).decode()
    return _PAGE.format(title=html.escape(title), grid=grid, remarks=remarks, picture=picture).encode()


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }}
img {{ width: 100%; height: auto; }} h1 {{ font-size: 1.4rem; }} p {{ color: #4b5563; }}
table {{ border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem .9rem; text-align: right; border-bottom: 1px solid #e5e7eb; }}
th:first-child, td:first-child {{ text-align: left; }}
</style></head><body><h1>{title}</h1>{grid}
<img alt="{title}" src="data:image/png;base64,{picture}">{remarks}</body></html>
"""


def forecasts(panels: Sequence[Panel], level: float) -> Any:
    """The past in ink, what is to come in colour with its interval."""
    shown = panels[:PANELS]
    figure, axes = style.figure(len(shown), 1, height=3.4 if len(shown) == 1 else 2.4)
    colour = style.COLOURS["ours"]
    for axis, panel in zip(axes, shown, strict=True):
        ahead = panel.where if panel.ahead is None else panel.ahead
        axis.plot(panel.where, panel.truth, color=style.COLOURS["truth"], linewidth=1.2, label="observed")
        axis.fill_between(ahead, panel.lower, panel.upper, color=colour, alpha=0.18, linewidth=0, label=_percent(level))
        axis.plot(ahead, panel.mean, color=colour, label="forecast")
        axis.axvline(panel.where[-1], color=style.MUTED, linewidth=0.8, linestyle=":")
        _dress(axis, panel)
    _legend(axes[0])
    _more(figure, len(panels))
    return figure


def predictions(panels: Sequence[Panel], level: float, count: int) -> Any:
    """Per series: the last stretch with each value's prediction made before it was seen, and the error over time."""
    shown = panels[:PANELS]
    widths = {"width_ratios": [3, 2]}
    figure, axes = style.figure(len(shown), 2, width=12.0, height=3.8 if len(shown) == 1 else 2.6, gridspec_kw=widths)
    for left, right, panel in zip(axes[::2], axes[1::2], shown, strict=True):
        _stretch(left, panel, level)
        _error_curves(right, panel)
    axes[1].set_title("RMS error")
    _legend(axes[0])
    _legend(axes[1])
    _more(figure, count)
    return figure


def anomalies(panels: Sequence[Panel], threshold: float, count: int) -> Any:
    """Per series: the signal with its flagged points, and the surprise of each value below it."""
    shown = panels[:PANELS]
    ratios = {"height_ratios": [2.2, 1] * len(shown)}
    figure, axes = style.figure(2 * len(shown), 1, height=2.1, gridspec_kw=ratios)
    red = style.COLOURS["FouT"]
    for upper, lower, panel in zip(axes[::2], axes[1::2], shown, strict=True):
        assert panel.flags is not None
        assert panel.scores is not None
        upper.plot(panel.where, panel.truth, color=style.COLOURS["truth"], linewidth=1.0, label="observed")
        label = f"flagged ({int(panel.flags.sum())})"
        upper.plot(panel.where[panel.flags], panel.truth[panel.flags], "o", color=red, markersize=6, label=label)
        _dress(upper, panel)
        lower.sharex(upper)
        lower.margins(x=0.01)
        upper.tick_params(labelbottom=False)
        upper.xaxis.offsetText.set_visible(False)
        lower.vlines(panel.where, 0, panel.scores, color=style.MUTED, linewidth=0.8)
        lower.vlines(panel.where[panel.flags], 0, panel.scores[panel.flags], color=red, linewidth=1.2)
        lower.axhline(threshold, color=red, linewidth=0.9, linestyle="--")
        lower.set_ylim(0, 4 * threshold)  # what lies beyond is beyond doubt
        lower.set_ylabel("surprise")
        _legend(upper)
    _more(figure, count)
    return figure


def _stretch(axis: Any, panel: Panel, level: float) -> None:
    colour = style.COLOURS["ours"]
    axis.fill_between(
        panel.where, panel.lower, panel.upper, color=colour, alpha=0.18, linewidth=0, label=_percent(level)
    )
    axis.plot(panel.where, panel.mean, color=colour, linewidth=1.4, label="predicted before seen")
    axis.plot(panel.where, panel.truth, ".", color=style.COLOURS["truth"], markersize=3, label="observed")
    _dress(axis, panel)


def _error_curves(axis: Any, panel: Panel) -> None:
    looks = {"prophecy": ("ours", 1.8), "copy": ("copy", 1.2), "line": ("line", 1.2)}
    sizes = np.concatenate([size[size > 0] for _, size in panel.errors.values()])
    for name, (where, size) in panel.errors.items():
        colour, width = looks[name]
        drawn = size > 0 if len(sizes) else size == 0
        axis.plot(where[drawn], size[drawn], ".-", color=style.COLOURS[colour], linewidth=width, label=name)
    if len(sizes):
        axis.set_yscale("log")
    else:
        axis.set_yticks([0.0])
    if len(sizes) and sizes.max() < 20 * sizes.min():
        # Less than a decade and a bit: plain numbers at a few places instead of powers of ten.
        import matplotlib.ticker

        axis.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
        axis.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axis.set_xlabel("row")


def _dress(axis: Any, panel: Panel) -> None:
    axis.set_title(panel.title)
    axis.margins(x=0.01)
    seen = np.concatenate([panel.truth[np.isfinite(panel.truth)], panel.mean[np.isfinite(panel.mean)]])
    if len(seen) and np.ptp(seen) > 0:
        # Intervals of the first few values can be wider than anything that follows; they must not set the scale.
        low, high, spread = seen.min(), seen.max(), np.ptp(seen)
        axis.set_ylim(
            max(np.nanmin(panel.lower, initial=low), low - spread) - 0.05 * spread,
            min(np.nanmax(panel.upper, initial=high), high + spread) + 0.05 * spread,
        )
    if np.issubdtype(panel.where.dtype, np.datetime64):
        import matplotlib.dates

        locator = matplotlib.dates.AutoDateLocator()
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(matplotlib.dates.ConciseDateFormatter(locator))


def _legend(axis: Any) -> None:
    axis.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, handlelength=1.4, borderaxespad=0.2)


def _percent(level: float) -> str:
    return f"{100 * level:g} % interval"


def _more(figure: Any, count: int) -> None:
    if count > PANELS:
        figure.supxlabel(f"the first {PANELS} of {count} series", fontsize=10, color=style.MUTED)
