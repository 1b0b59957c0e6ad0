"""Files as bytes: what kind they are (by content, not by name), and unpacked."""

import bz2
import codecs
import gzip
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

MARKUP = re.compile(rb"<(!--|(!doctype|\?xml|html|head|meta|body|table|div|svg)\b)", re.IGNORECASE)


class Opened(NamedTuple):
    """A file as it is, unpacked. kind: csv, jsonl, json, parquet, npy or excel."""

    path: str
    kind: str
    data: bytes


def open_bytes(source: str | bytes) -> Opened:
    """A file, stdin for `-`, or a text table that is in memory; gzip, zstd, bzip2 and xz are unpacked."""
    if isinstance(source, bytes):
        _refuse_markup("the table", source)
        if (called := other_than_text(source)) is not None:
            raise ValueError(f"the table is {called}, and text is read here; save it as CSV")
        return Opened("the table", "csv", source)
    path = source
    if path != "-" and Path(path).is_dir():
        raise ValueError(f"{path} is a folder; name a file")
    with explained(path):
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        for _ in range(2):  # a .gz of a .zst, and no further
            unpack = next((one for first, one in PACKED.items() if data.startswith(first)), None)
            data = data if unpack is None else unpack(io.BytesIO(data)).read()
        return Opened(path, _kind(path, data), data)


def _zstd(stream: Any) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd")


PACKED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": _zstd,
}
"""What unpacks a file, by its first bytes."""

KINDS = {
    b"PAR1": ("parquet", "a Parquet file"),
    b"\x93NUMPY": ("npy", "an .npy file"),
    b"PK\x03\x04": ("excel", "an Excel file"),
}
"""What a file is and is called, by its first bytes; others are text."""

ENDINGS = {".parquet": b"PAR1", ".pq": b"PAR1", ".npy": b"\x93NUMPY", ".xlsx": b"PK\x03\x04"}  # how such files begin
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # marks that such text begins with


def other_than_text(head: bytes) -> str | None:
    """What something is called that is no text, by its first bytes; None for text."""
    called = {first: called for first, (_, called) in KINDS.items()} | dict.fromkeys(PACKED, "packed")
    return next((called[first] for first in called if head.startswith(first)), None)


def _kind(path: str, data: bytes) -> str:
    ending = Path(path).suffix.lower()
    for first, (kind, _) in KINDS.items():
        if data.startswith(first):
            return kind
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        raise ValueError(f"{path} is an old Excel file (.xls); save it as .xlsx or CSV")
    if ending in ENDINGS:
        called = KINDS[ENDINGS[ending]][1]
        raise ValueError(f"{path} is not {called}: it begins with {data[:8]!r}; give it the right extension")
    return {b"{": "jsonl", b"[": "json"}.get(_refuse_markup(path, data)[:1], "csv")


def _refuse_markup(path: str, data: bytes) -> bytes:
    """The first characters; a page of HTML or XML is no table, whatever it is called."""
    start = data[:256].lstrip(b"\xef\xbb\xbf \t\r\n")
    if MARKUP.match(start):
        raise ValueError(
            f"{path} is a page of HTML or XML, not a table, perhaps one that asks for a log-in; open it in a browser, "
            "and save the table itself as CSV"
        )
    return start


def encoding_of(path: str, data: bytes) -> str:
    """utf-8, utf-16 (by its mark), or where it is neither but has no control codes Windows-1252 or Latin-1."""
    if data.startswith(UTF_16):
        try:
            data[: len(data) // 2 * 2].decode("utf-16")
        except UnicodeDecodeError:
            raise ValueError(f"{path} begins like UTF-16 text but is not; save it as CSV (UTF-8)") from None
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(data)  # the last character may be cut
        if b"\x00" not in data:
            return "utf-8"
        error: object = "it holds zero bytes"
    except UnicodeDecodeError as problem:
        error = str(problem)
    if re.search(rb"[\x00-\x08\x0e-\x1f\x7f]", data) is None:
        windows = re.search(rb"[\x80-\x9f]", data) and not re.search(rb"[\x81\x8d\x8f\x90\x9d]", data)
        return "cp1252" if windows else "latin-1"
    raise ValueError(f"{path} is neither text nor a known format ({error}); save it as CSV (UTF-8) or Parquet")


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Errors of readers, reworded to name the file."""
    try:
        yield
    except ValueError as error:
        if str(error).startswith(path):
            raise
        raise ValueError(f"{path}: {error}") from error
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{path} is damaged: {error}; get or pack it again") from error
