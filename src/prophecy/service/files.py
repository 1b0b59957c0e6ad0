"""Parts of the page, from the package itself and from Plotly's; nothing comes from a network."""

import functools
import gzip
import hashlib
import re
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
    plain: bytes
    packed: bytes
    tag: str  # changes with the bytes


@functools.cache
def names() -> frozenset[str]:
    """The files there are; no other name is ever looked up."""
    folder = resources.files("prophecy.service") / "page"
    return frozenset(entry.name for entry in folder.iterdir() if entry.name.rpartition(".")[2] in TYPES) | {PLOTLY}


@functools.lru_cache(maxsize=64)
def part(name: str) -> Part:
    if name not in names():
        raise Problem(404, "not found", "the page is at /")
    package, folder = ("plotly", "package_data") if name == PLOTLY else ("prophecy.service", "page")
    plain = (resources.files(package) / folder / name).read_bytes()
    if name == "index.html":
        # Elements under the ids by which Plotly's script asks for its map styles; it would add them as an inline
        # <style> otherwise, which the page's policy refuses with a message in the console.
        ids = dict.fromkeys(re.findall(rb'getElementById\("([0-9a-f]{64})"\)', part(PLOTLY).plain))
        plain = plain.replace(b"<!-- styles -->", b"".join(b'<meta id="%b">' % one for one in ids))
    return Part(plain, gzip.compress(plain, 6, mtime=0), f'"{hashlib.sha256(plain).hexdigest()[:16]}"')


def answer(name: str, headers: Mapping[str, str]) -> Response:
    """A file, packed where the browser takes that; 304 where it has it already."""
    found = part(name)
    common = {"ETag": found.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=common)
    packed = "gzip" in headers.get("accept-encoding", "")
    common |= {"Content-Encoding": "gzip"} if packed else {}
    return Response(found.packed if packed else found.plain, 200, common, TYPES[name.rpartition(".")[2]])
