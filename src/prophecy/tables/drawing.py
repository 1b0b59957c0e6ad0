"""Panels drawn by matplotlib, without touching the user's settings, or by Plotly, as a figure or a page of its own."""

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from prophecy.frames.names import for_html, for_matplotlib
from prophecy.tables.pictures import DARK, LIGHT, Band, Colours, Line, Look, Panel, Picture

HEIGHT = 300  # pixels of a panel on a page
BETWEEN = 62  # pixels between two: an axis and a title
ABOVE = 64  # pixels above the first: the legend, on a phone in two lines, and a title
POINTS = 20_000  # of a line, beyond which the graphics card draws it


def matplotlib_figure(picture: Picture, dark: bool = False, width: float = 9.0) -> Any:
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
        _draw(axis, panel, named, colours)
    return made


def _draw(axis: Any, panel: Panel, named: set[str], colours: Colours) -> None:
    """A panel, and a legend of what none above has named. named: what they have; it grows."""
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


def plotly_figure(picture: Picture, dark: bool = False) -> Any:
    """A Plotly figure: zoom, hover, a legend whose entries switch series on and off in all panels."""
    from plotly.subplots import make_subplots

    colours, panels = DARK if dark else LIGHT, picture.panels
    heights = [int(HEIGHT * panel.height) for panel in panels]
    inside = sum(heights) + BETWEEN * (len(heights) - 1)
    # Zooming into one panel zooms into all where they show the same stretch.
    shared = len({panel.span() for panel in panels}) == 1
    made = make_subplots(
        rows=len(heights), cols=1, row_heights=heights, vertical_spacing=BETWEEN / inside, shared_xaxes=shared,
        subplot_titles=[for_html(panel.title) for panel in panels],
    )  # fmt: skip
    named: set[str] = set()
    for row, panel in enumerate(panels, start=1):
        # Bands are drawn first, below the lines, and come last in the legend.
        bands = [{**trace, "legendrank": 2000} for band in panel.bands for trace in _band(band, colours)]
        for trace in [*bands, *(_line(line, look) for line, look in panel.looks(colours))]:
            trace["showlegend"] = bool(trace.get("showlegend", True)) and trace["name"] not in named
            named |= {trace["name"]} if trace["showlegend"] else set()
            made.add_trace(trace, row=row, col=1)
    ink, clear = {"color": colours["ink"]}, "rgba(0,0,0,0)"
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top"}
    made.update_layout(
        height=inside + ABOVE + 40,
        template="none",
        paper_bgcolor=colours["paper"],
        plot_bgcolor=colours["paper"],
        font={"family": "system-ui, sans-serif", "size": 13, **ink},
        margin={"l": 44, "r": 34, "t": ABOVE, "b": 40},
        hovermode="x unified",
        hoverlabel={"bgcolor": colours["paper"], "bordercolor": colours["grid"], "font": ink},
        legend={**legend, "bgcolor": clear, "traceorder": "normal"},
        modebar={"orientation": "v", "bgcolor": clear, "color": colours["muted"]},
        dragmode="zoom",
    )
    made.update_xaxes(showgrid=False, zeroline=False, automargin=True, showticklabels=True)
    made.update_yaxes(gridcolor=colours["grid"], zeroline=False, automargin=True)
    for row, panel in enumerate(panels, start=1):
        place, ends = {"row": row, "col": 1}, panel.limits()
        if panel.now is not None:
            dotted = {"color": colours["muted"], "width": 1, "dash": "dot"}
            made.add_vline(x=_cells([panel.now])[0], line=dotted, **place)
        if panel.threshold is not None:
            made.add_hline(y=panel.threshold, line={"color": colours["flagged"], "width": 1, "dash": "dash"}, **place)
        for span in panel.spans:
            shade = {"fillcolor": _tint(colours["flagged"], 0.12), "line_width": 0, "layer": "below"}
            x0, x1 = _cells(span)
            made.add_vrect(x0=x0, x1=x1, **shade, **place)
        if panel.log:
            made.update_yaxes(type="log", **place)
        elif ends is not None:
            made.update_yaxes(range=ends, **place)
    made.update_annotations(font={"size": 14, **ink}, x=0.0, xanchor="left")
    return made


def _band(band: Band, colours: Colours) -> list[dict[str, Any]]:
    name, line = for_html(band.name), {"width": 0, "color": colours["forecast"]}
    base = {"type": "scatter", "x": _cells(band.x), "mode": "lines", "line": line, "legendgroup": name, "name": name}
    ends = [f"{low:.5g} … {high:.5g}" for low, high in zip(band.lower, band.upper, strict=True)]
    fill = {"fill": "tonexty", "fillcolor": _tint(colours["forecast"], band.alpha)}
    return [
        {**base, "y": _cells(band.lower), "showlegend": False, "hoverinfo": "skip"},
        {**base, "y": _cells(band.upper), **fill, "customdata": ends, "hovertemplate": "%{customdata}"},
    ]


def _line(line: Line, look: Look) -> dict[str, Any]:
    name = for_html(line.name)
    trace = {
        "type": "scattergl" if len(line.x) > POINTS else "scatter", "x": _cells(line.x), "y": _cells(line.y),
        "name": name, "legendgroup": name, "hovertemplate": "%{y:.5g}", "showlegend": bool(name),
    }  # fmt: skip
    if look.shape is not None:
        marker = {"color": look.colour, "size": 1.4 * look.size, "symbol": look.shape[1]}
        return {**trace, "mode": "markers", "marker": marker}
    dash = "dash" if look.dashed else "solid"
    return {**trace, "mode": "lines", "line": {"color": look.colour, "width": 1.25 * look.size, "dash": dash}}


def page(picture: Picture) -> str:
    """One HTML page with Plotly's script inside: it works offline, and is light or dark as the reader prefers."""
    import jinja2
    from plotly.offline import get_plotlyjs

    light, dark = (json.loads(plotly_figure(picture, choice).to_json()) for choice in (False, True))
    text = (resources.files("prophecy.tables") / "templates" / "page.html").read_text(encoding="utf-8")
    template = jinja2.Environment(autoescape=False, undefined=jinja2.StrictUndefined).from_string(text)
    return template.render(
        title=for_html(picture.title),
        table=[[for_html(cell) for cell in row] for row in picture.table],
        look=[_look_of(column) for column in zip(*picture.table, strict=True)],
        remarks=[for_html(line) for line in picture.remarks],
        script=get_plotlyjs(),
        figures=json.dumps({"light": light, "dark": dark}).replace("</", "<\\/"),
    )


def _look_of(column: Sequence[str]) -> str:
    """Sentences wrap and begin at the left, as words do; numbers and times end at the right."""
    if max(len(cell) for cell in column) > 30:
        return "text"
    return "" if any(character.isdigit() for cell in column[1:] for character in cell) else "word"


def _cells(values: Any) -> list[Any]:
    """Numbers and dates as JSON has them; NaN and infinities are gaps."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        return [None if text == "NaT" else text for text in np.datetime_as_string(array).tolist()]
    return [value if np.isfinite(value) else None for value in array.astype(np.float64).tolist()]


def _tint(colour: str, alpha: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"
