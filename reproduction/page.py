"""HTML of the report: jinja2 templates, and figures whose colours follow the reader's light or dark."""

import colorsys
import re
from collections.abc import Iterable, Mapping
from html import escape as _escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from reproduction.framework import Cell, Table

WORDS = {"good": "holds", "condition": "with a condition", "open": "in part", "bad": "does not hold"}
DOTS = {"good": "●", "condition": "◆", "open": "◐", "bad": "○"}

NEUTRAL = {"#ffffff": "#14171c", "#000000": "#e6e8eb", "#1b1f24": "#e6e8eb", "#6b7280": "#9aa3af", "#e5e7eb": "#2d333b"}
"""Dark forms of paper, ink, muted and grid; the other colours are made lighter."""


def prose(text: str) -> Markup:
    """Text for the page: `code`, $formulas$, minus signs, and no break inside 10 000 or N = 65.

    >>> prose("k < 1 000, N = 65, -2e-3") == "k &lt; 1\\u202f000, N\\u00a0=\\u00a065, \\u22122e-3"
    True
    >>> str(prose("as $x^2$, by `f`"))
    'as <i>x<sup>2</sup></i>, by <code>f</code>'
    """
    made = []
    for index, part in enumerate(re.split(r"\$([^$]+)\$", text)):
        made.append(_formula(part) if index % 2 else _plain(part))
    return Markup("".join(made))


def _formula(text: str) -> str:
    """Slanted, what follows `_` and `^` below and above the line; symbols are written as they are: √, θ, u̇."""
    shown = _escape(text.replace("-", "\u2212"), quote=False)
    for mark, tag in (("_", "sub"), (r"\^", "sup")):
        shown = re.sub(mark + r"(?:\{([^}]*)\}|(\w))", rf"<{tag}>\1\2</{tag}>", shown)
    return f"<i>{shown}</i>"


def _plain(text: str) -> str:
    kept = re.sub(r"(?<=\d) (?=\d{3}(?!\d))", "\u202f", re.sub(r"(?<![\w-])-(?=\d)", "\u2212", text))
    kept = _escape(re.sub(r"\b(\w) = (?=[\d−-])", "\\1\u00a0=\u00a0", kept))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", kept)


def render(**content: Any) -> str:
    folder = Path(__file__).parent / "templates"
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["prose"] = prose
    template = environment.from_string((folder / "report.html").read_text(encoding="utf-8"))
    style = (folder / "style.css").read_text(encoding="utf-8")
    return template.render(style=style, words=WORDS, dots=DOTS, **content)


def lines(content: Table) -> dict[str, Any]:
    """A table as the template wants it: a name that repeats in the first column is shown once."""
    rows, before = [], None
    for line in content.rows:
        same = line[0] == before
        cells = [_cell(cell, "wrap" if place == 1 else "") for place, cell in enumerate(line)]
        if same:
            cells[0] = {"text": "", "mark": "again", "chip": False}
        rows.append({"first": not same, "cells": cells})
        before = line[0]
    return {"caption": content.caption, "header": content.header, "rows": rows}


def _cell(cell: Cell | str, kind: str) -> dict[str, Any]:
    if isinstance(cell, str):
        return {"text": cell, "mark": kind, "chip": False}
    return {"text": cell.text, "mark": cell.mark, "chip": True}


def inline(svg: str, name: str, alt: str) -> str:
    """matplotlib's SVG for the page: scaled by it, described, its ids unique, its colours variables."""
    text = svg[svg.index("<svg") :]
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    prefix = re.sub(r"\W", "-", name)
    text = re.sub(r'id="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'(xlink:href|href)="#([^"]+)"', rf'\1="#{prefix}-\2"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    text = re.sub(r"(?<=[ :;\"])(#[0-9a-f]{6})\b", lambda found: f"var({variable(found[1])},{found[1]})", text)
    return text.replace("<svg", f'<svg id="figure-{prefix}" role="img" aria-label="{_escape(alt)}"', 1)


def again(name: str, svg: str, alt: str) -> str:
    """The figure `name` of this page a second time, without its drawing."""
    prefix = re.sub(r"\W", "-", name)
    box = re.search(r'viewBox="([^"]+)"', svg)
    shape = box[1] if box else "0 0 720 300"
    return f'<svg viewBox="{shape}" role="img" aria-label="{_escape(alt)}"><use href="#figure-{prefix}"/></svg>'


def variable(colour: str) -> str:
    return f"--c{colour[1:]}"


def palette(figures: Iterable[str]) -> str:
    """CSS: every colour of the figures, and its dark form."""
    used = sorted({colour for svg in figures for colour in re.findall(r"var\(--c[0-9a-f]{6},(#[0-9a-f]{6})\)", svg)})
    light = "".join(f"{variable(c)}:{c};" for c in used)
    night = "".join(f"{variable(c)}:{dark(c)};" for c in used)
    return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{night}}}}}"


def dark(colour: str) -> str:
    """A colour for a dark page: the same hue, light enough for a contrast of 4.5 with the background.

    >>> dark("#ffffff"), dark("#0072b2") > "#0072b2"
    ('#14171c', True)
    """
    if colour in NEUTRAL:
        return NEUTRAL[colour]
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    while contrast(_hex(hue, lightness, saturation), NEUTRAL["#ffffff"]) < 4.5 and lightness < 1.0:
        lightness = min(1.0, lightness + 0.02)
    return _hex(hue, lightness, saturation)


def _hex(hue: float, lightness: float, saturation: float) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, lightness, saturation))


def contrast(one: str, other: str) -> float:
    """The ratio WCAG defines, from 1 (none) to 21.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def tally(marks: Mapping[str, int]) -> str:
    """ "3 hold, 1 does not hold": what the dots say, in words."""
    return ", ".join(f"{count} {WORDS[mark]}" for mark, count in marks.items() if count)
