"""Parts of the page, from the package itself and from Plotly's; nothing comes from a network."""

from __future__ import annotations

import functools
import gzip
import hashlib
import re
import sys
from collections.abc import Mapping
from importlib import resources
from typing import NamedTuple

from starlette.responses import Response

from prophecy.service.errors import Problem

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
PLOTLY = "plotly.min.js"
PAGES = {"/": "index.html", "/docs": "docs.html", "/favicon.ico": "icon.svg"}


class Part(NamedTuple):
    """A file as it is sent: its bytes, packed and not, and a tag that changes with them."""

    plain: bytes
    packed: bytes
    tag: str


@functools.cache
def names() -> frozenset[str]:
    """The files there are; no other name is ever looked up."""
    folder = resources.files("prophecy.service") / "page"
    return frozenset(entry.name for entry in folder.iterdir() if entry.name.rpartition(".")[2] in TYPES) | {PLOTLY}


@functools.lru_cache(maxsize=64)
def part(name: str) -> Part:
    """A file of the page, read and packed once."""
    if name not in names():
        raise Problem(404, "not found", "the page is at /")
    folder = (
        resources.files("plotly") / "package_data" if name == PLOTLY else resources.files("prophecy.service") / "page"
    )
    plain = (folder / name).read_bytes()
    if name == "index.html":
        plain = plain.replace(b"<!-- styles -->", _taken().encode())
    return Part(plain, gzip.compress(plain, 6, mtime=0), f'"{hashlib.sha256(plain).hexdigest()[:16]}"')


def _taken() -> str:
    """Elements under the ids by which Plotly's script asks whether its map styles are there already.

    It would add them as an inline <style> otherwise, which the page's policy refuses with a message in the console.
    """
    found = re.findall(rb'getElementById\("([0-9a-f]{64})"\)', part(PLOTLY).plain)
    return "".join(f'<meta id="{one.decode()}">' for one in dict.fromkeys(found))


def answer(name: str, headers: Mapping[str, str]) -> Response:
    """A file, packed where the browser takes that; 304 where it has it already."""
    found = part(name)
    common = {"ETag": found.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=common)
    kind = TYPES[name.rpartition(".")[2]]
    if "gzip" in headers.get("accept-encoding", ""):
        return Response(found.packed, headers={**common, "Content-Encoding": "gzip"}, media_type=kind)
    return Response(found.plain, headers=common, media_type=kind)


def memory() -> float:
    """The largest resident memory of this process so far, in bytes; NaN where the system does not report it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return float("nan")
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
