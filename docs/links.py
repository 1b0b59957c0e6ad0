"""Check links without a network: `python docs/links.py [SITE]`, the built site by default.

In the built site every local link must lead to a file and, where it names one, to an element of that id; nothing that a
browser loads by itself (pictures, scripts, styles, fonts) may come from another
host. Links to other hosts are left alone.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).parent / "_build" / "html"
_LINK = re.compile(r"\]\(<?([^()\s>]+)>?\)")
_CODE = re.compile(r"^```.*?^```|^    .*?$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.*)$", re.MULTILINE)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, bool]] = []  # target, whether a browser loads it by itself

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if "href" in values:
            self.links.append(
                (values["href"], tag == "link" and values.get("rel") in ("stylesheet", "preload", "icon"))
            )
        if "src" in values:
            self.links.append((values["src"], True))


@cache
def _page(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken_in_site(site: Path) -> list[tuple[str, str, str]]:
    """(page, target, what is wrong) for every local link that leads nowhere and everything loaded from elsewhere."""
    found = []
    for path in sorted(site.rglob("*.html")):
        for target, loaded in _page(path).links:
            wrong = _wrong(path, target, loaded)
            if wrong:
                found.append((str(path.relative_to(site)), target, wrong))
    return found


def _wrong(path: Path, target: str, loaded: bool) -> str:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return "loaded from another host" if loaded and parts.scheme != "data" else ""
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not file.is_file():
        return "no such file"
    if parts.fragment and file.suffix == ".html" and unquote(parts.fragment) not in _page(file).ids:
        return "no such heading"
    return ""


def anchors(text: str) -> set[str]:
    """Names of the headings of a Markdown page, as GitHub and MyST make them."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    words = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in _HEADING.findall(plain)]
    return {re.sub(r"[^\w\- ]", "", word).replace(" ", "-") for word in words}


def broken_in_source(page: Path) -> list[tuple[str, str]]:
    """(target, what is wrong) for the local links of a Markdown page."""
    found = []
    for target in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        parts = urlsplit(target)
        if parts.scheme:
            continue
        file = page.parent / unquote(parts.path) if parts.path else page
        if not file.exists():
            found.append((target, "no such file"))
        elif (
            parts.fragment and file.suffix == ".md" and parts.fragment not in anchors(file.read_text(encoding="utf-8"))
        ):
            found.append((target, "no such heading"))
    return found


def main(arguments: list[str]) -> int:
    site = Path(arguments[0]) if arguments else SITE
    pages = len(list(site.rglob("*.html")))
    found = broken_in_site(site)
    for page, target, wrong in found:
        print(f"{page}: {target}: {wrong}")
    print(f"{pages} pages, {len(found)} broken links")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
