"""HTML of the report: one file, no outside asset, readable on a phone and in print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape as _escape

from prophecy.reproduce.framework import Cell, Slip, Table, Verdict

STYLE = """
:root{--ink:#1b1f24;--muted:#5b6472;--line:#e3e6ea;--soft:#f6f7f9;--accent:#0072b2;
--good:#0b6b47;--good-bg:#dff3e9;--bad:#9a3412;--bad-bg:#fde8d8;--open:#5b6472;--open-bg:#eceff3}
*{box-sizing:border-box}html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
body{margin:0;color:var(--ink);background:#fff;line-height:1.6;font-size:17px;
font-family:"Iowan Old Style","Palatino Linotype",Palatino,Charter,"Bitstream Charter",Georgia,serif}
h1,h2,h3,nav,table,figcaption,.chip,.meta,.kicker,.numbers,.tag{
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","DejaVu Sans",Arial,sans-serif}
h1{font-size:2.3rem;line-height:1.15;letter-spacing:-.02em;margin:.2rem 0 .6rem}
h2{font-size:1.55rem;line-height:1.25;letter-spacing:-.01em;margin:0 0 .4rem}
h3{font-size:1.05rem;margin:2rem 0 .6rem}
p{margin:.6rem 0;max-width:44rem}a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
.layout{display:grid;grid-template-columns:15rem minmax(0,1fr);max-width:84rem;margin:0 auto}
nav{position:sticky;top:0;align-self:start;height:100vh;overflow:auto;padding:2.2rem 1rem 2rem 1.5rem;font-size:.86rem}
nav b{display:block;margin:0 0 .8rem;font-size:.95rem}nav a{display:block;color:var(--muted);padding:.22rem 0}
nav a:hover{color:var(--accent)}nav hr{border:0;border-top:1px solid var(--line);margin:.7rem 0}
main{padding:2.2rem 2rem 5rem;min-width:0}
header.top{border-bottom:1px solid var(--line);padding-bottom:1.4rem;margin-bottom:1.8rem}
.lead{font-size:1.15rem;color:#333a44}.meta{color:var(--muted);font-size:.85rem}
.kicker{color:var(--accent);font-size:.8rem;font-weight:600;letter-spacing:.02em}
.numbers{display:flex;flex-wrap:wrap;gap:1rem;margin:1.4rem 0}
.numbers div{background:var(--soft);border-radius:.7rem;padding:.9rem 1.2rem;flex:1 1 11rem}
.numbers strong{display:block;font-size:1.9rem;line-height:1.1;letter-spacing:-.02em}
.numbers span{color:var(--muted);font-size:.86rem}
section{border-top:1px solid var(--line);padding:2.4rem 0 1rem}section:first-of-type{border-top:0;padding-top:0}
.scroll{overflow-x:auto;margin:1rem 0}
table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums;min-width:min(100%,34rem)}
caption{text-align:left;color:var(--muted);padding-bottom:.4rem}
th{text-align:left;font-weight:600;border-bottom:2px solid var(--ink);padding:.4rem .8rem .4rem 0;vertical-align:bottom}
td{border-bottom:1px solid var(--line);padding:.34rem .8rem .34rem 0;white-space:nowrap}
td:first-child{padding-right:1.4rem;border-bottom:0;white-space:normal;min-width:8.5rem}
caption span{display:block;max-width:min(46rem,88vw)}tbody tr:last-child td{border-bottom:1px solid #c9ced6}
tr.group td{border-top:1px solid #c9ced6}
.chip{display:inline-block;border-radius:.35rem;padding:.05rem .5rem}
.good .chip,.chip.good{background:var(--good-bg);color:var(--good)}
.bad .chip,.chip.bad{background:var(--bad-bg);color:var(--bad)}
.quiet .chip{color:var(--muted)}.best .chip{background:#e2effa;color:#00507d;font-weight:600}
.glance td,.glance th{padding:.25rem}.glance td:first-child,.glance th:first-child{padding-right:1.2rem}
.glance td{border:0}.glance .cell{display:block;border-radius:.4rem;padding:.35rem .6rem;min-width:7.2rem}
.glance .cell small{display:block;opacity:.85;font-size:.76rem}
.cell.good{background:var(--good-bg);color:var(--good)}.cell.bad{background:var(--bad-bg);color:var(--bad)}
ol.claims,ul.claims{list-style:none;padding:0;margin:1rem 0;max-width:52rem}
.claims li{display:grid;grid-template-columns:7.6rem minmax(0,1fr);gap:.2rem .9rem;padding:.6rem 0;
border-bottom:1px solid var(--line)}
.claims .tag{justify-self:start;align-self:start;border-radius:.35rem;padding:.1rem .55rem;font-size:.8rem;
font-weight:600}
.tag.good{background:var(--good-bg);color:var(--good)}.tag.bad{background:var(--bad-bg);color:var(--bad)}
.tag.open{background:var(--open-bg);color:var(--open)}
.claims p{margin:0}.claims .why{color:#3d4550;font-size:.95rem}
ol.slips{padding-left:1.3rem;max-width:50rem}ol.slips li{margin:.9rem 0;padding-left:.3rem}ol.slips p{margin:.15rem 0}
ol.slips .said{color:#3d4550}ol.slips .why{color:var(--muted);font-size:.92rem}
figure{margin:1.6rem 0}figure svg,figure img{max-width:100%;height:auto;display:block}
figcaption{color:var(--muted);font-size:.86rem;line-height:1.5;margin-top:.5rem;max-width:46rem}
details{margin:1rem 0}summary{cursor:pointer;color:var(--muted);font-size:.86rem;font-family:system-ui,sans-serif}
code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.88em}
@media(max-width:60rem){body{font-size:16px}.layout{display:block}main{padding:1.2rem 1rem 3rem}h1{font-size:1.8rem}
nav{position:static;height:auto;padding:.8rem 1rem;border-bottom:1px solid var(--line);display:flex;overflow-x:auto;
gap:1rem;white-space:nowrap}nav b,nav hr{display:none}.claims li{grid-template-columns:1fr}
td:first-child,.wrap{white-space:normal;min-width:5.2rem}td,th{padding-right:.55rem}table{font-size:.8rem}
.glance .cell{min-width:6.2rem;padding:.3rem .45rem}td:first-child{padding-right:.6rem}
figure{overflow-x:auto}figure svg,figure img{min-width:38rem}
figure::before,.scroll::before{content:"swipe sideways \\2194";display:block;position:sticky;left:0;width:8rem;
color:var(--muted);font:.72rem system-ui,sans-serif;margin-bottom:.3rem}}
@media print{nav{display:none}.layout{display:block}section{break-inside:avoid-page}}
"""


def escape(text: str) -> str:
    """Text for the page: 10 000 and N = 65 are not broken over two lines, and -2 has a minus sign.

    >>> escape("k < 1 000, N = 65, -2e-3") == "k &lt; 1\u202f000, N\u00a0=\u00a065, \u22122e-3"
    True
    """
    kept = re.sub(r"(?<=\d) (?=\d{3}(?!\d))", "\u202f", re.sub(r"(?<![\w-])-(?=\d)", "\u2212", text))
    return _escape(re.sub(r"\b(\w) = (?=[\d−-])", "\\1\u00a0=\u00a0", kept))


def document(title: str, links: Sequence[tuple[str, str] | None], body: str) -> str:
    """The whole file. `links` are (anchor, text); None draws a rule between groups."""
    menu = "".join("<hr>" if link is None else f'<a href="#{link[0]}">{escape(link[1])}</a>' for link in links)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{STYLE}</style></head>\n'
        f'<body><div class="layout"><nav><b>{escape(title)}</b>{menu}</nav>\n<main>{body}</main></div></body></html>\n'
    )


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph; what stands between backticks is code."""
    inner = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    return f'<p class="{kind}">{inner}</p>' if kind else f"<p>{inner}</p>"


def numbers(pairs: Iterable[tuple[str, str]]) -> str:
    """Large figures with a caption each."""
    inner = "".join(f"<div><strong>{escape(a)}</strong><span>{escape(b)}</span></div>" for a, b in pairs)
    return f'<div class="numbers">{inner}</div>'


def table(content: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in content.header)
    body, before = "", None
    for line in content.rows:
        # A name is shown once; its lines belong together.
        same = line[0] == before
        first = '<td class="again"></td>' if same else _cell(line[0])
        body += f"<tr>{first}" if same else f'<tr class="group">{first}'
        body += "".join(_cell(cell, "wrap" if place == 0 else "") for place, cell in enumerate(line[1:])) + "</tr>"
        before = line[0]
    caption = f"<caption><span>{escape(content.caption)}</span></caption>" if content.caption else ""
    return f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(cell: Cell | str, kind: str = "") -> str:
    if isinstance(cell, str):
        return f'<td class="{kind}">{escape(cell)}</td>' if kind else f"<td>{escape(cell)}</td>"
    return f'<td class="{escape(cell.mark)}"><span class="chip">{escape(cell.text)}</span></td>'


def glance(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[tuple[str, str, bool] | None]]]) -> str:
    """A grid of coloured cells: (value, small print, agrees)."""
    head = "<th></th>" + "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = ""
    for name, cells in rows:
        body += f"<tr><td>{escape(name)}</td>"
        for cell in cells:
            if cell is None:
                body += "<td></td>"
                continue
            mark = "good" if cell[2] else "bad"
            body += f'<td><span class="cell {mark}">{escape(cell[0])}<small>{escape(cell[1])}</small></span></td>'
        body += "</tr>"
    return (
        f'<div class="scroll"><table class="glance"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def claims(items: Iterable[tuple[Verdict, str | None]]) -> str:
    """Statements with their verdicts; a link leads to the page that decides them."""
    inner = ""
    for verdict, anchor in items:
        mark, word = {True: ("good", "holds"), False: ("bad", "does not hold"), None: ("open", "partly")}[verdict.holds]
        text = escape(verdict.statement)
        text = f'<a href="#{anchor}">{text}</a>' if anchor else text
        inner += f'<li><span class="tag {mark}">{word}</span><div><p>{text}</p>'
        inner += f'<p class="why">{escape(verdict.evidence)}</p></div></li>'
    return f'<ul class="claims">{inner}</ul>'


def slips(items: Iterable[tuple[Slip, str]]) -> str:
    inner = ""
    for slip, anchor in items:
        inner += f'<li><p class="said">{escape(slip.printed)}</p><p>{escape(slip.right)}</p>'
        inner += f'<p class="why">{escape(slip.evidence)} <a href="#{anchor}">See there.</a></p></li>'
    return f'<ol class="slips">{inner}</ol>'


def picture(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"
