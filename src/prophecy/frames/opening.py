"""Files as bytes: what kind they are (by content, not by name), unpacked, and examined without consuming anything."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

HEAD = 1 << 20  # bytes read to recognise a file: some ten thousand rows
LARGEST_HEAD = 1 << 26  # a single line longer than this is no table


MARKUP = re.compile(rb"<(!--|(!doctype|\?xml|html|head|meta|body|table|div|svg)\b)", re.IGNORECASE)


class Replay(io.RawIOBase):
    """A stream whose beginning can be examined before it is read."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._held = stream, b""

    def head(self, size: int) -> bytes:
        """At least `size` bytes from here on, fewer only where the stream ends."""
        while len(self._held) < size:
            more = self._stream.read(max(1 << 16, size - len(self._held)))
            if not more:
                break
            self._held += bytes(more)
        return self._held[:size]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int = -1) -> bytes:
        if self._held:
            data = self._held if size < 0 else self._held[:size]
            self._held = self._held[len(data) :]
            return data + self._stream.read() if size < 0 else data
        return bytes(self._stream.read(size))


@dataclass
class Opened:
    """kind: csv, jsonl, json, parquet, npy or excel. size: bytes, 0 if unknown. plain: a file on the disk, as it is."""

    path: str
    kind: str
    stream: Replay
    raw: BinaryIO
    size: int
    plain: bool = False

    def position(self) -> int:
        """Bytes of the file consumed, for a progress bar."""
        return self.raw.tell() if self.size and not self.raw.closed else 0

    def whole(self) -> io.BytesIO:
        """Everything at once, for formats that are read from their end."""
        return io.BytesIO(self.stream.read())


def open_bytes(source: str | bytes) -> Opened:
    """Open a file, stdin for `-`, or a text table that is in memory; unpack gzip, zstd, bzip2 and xz."""
    if isinstance(source, bytes):
        raw: Any = io.BytesIO(source)
        _refuse_markup("the table", source[:256])
        if (called := other_than_text(source)) is not None:
            raise ValueError(f"the table is {called}, and text is read here; save it as CSV")
        return Opened("the table", "csv", Replay(raw), raw, 0)
    path = source
    if path != "-" and Path(path).is_dir():
        raise ValueError(f"{path} is a folder; name a file")
    raw = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115 (closed with the process)
    size = os.fstat(raw.fileno()).st_size if path != "-" else 0
    stream, plain = Replay(raw), size > 0
    with explained(path):
        for _ in range(2):  # a .gz of a .zst, and no further
            opener = next((one for first, one in PACKED.items() if stream.head(8).startswith(first)), None)
            if opener is not None:
                stream, plain = Replay(opener(stream)), False
        return Opened(path, _kind(path, stream), stream, raw, size, plain)


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

KINDS = {b"PAR1": "parquet", b"\x93NUMPY": "npy", b"PK\x03\x04": "excel"}
"""What a file is, by its first bytes; others are text."""

UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # marks that such text begins with

CALLED = {"parquet": "a Parquet file", "npy": "an .npy file", "excel": "an Excel file"}


def other_than_text(head: bytes) -> str | None:
    """What something is called that is no text, by its first bytes; None for text."""
    others = {first: CALLED[kind] for first, kind in KINDS.items()} | dict.fromkeys(PACKED, "packed")
    return next((called for first, called in others.items() if head.startswith(first)), None)


ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".npy": "npy", ".xlsx": "excel"}


def _kind(path: str, stream: Replay) -> str:
    magic, ending = stream.head(8), Path(path).suffix.lower()
    for first, kind in KINDS.items():
        if magic.startswith(first):
            return kind
    if magic == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise ValueError(f"{path} is an old Excel file (.xls); save it as .xlsx or CSV")
    if ending in ENDINGS:
        raise ValueError(f"{path} is not {CALLED[ENDINGS[ending]]}: it begins with {magic!r}; name it for what it is")
    start = _refuse_markup(path, stream.head(256))
    return {b"{": "jsonl", b"[": "json"}.get(start[:1], "csv")


def _refuse_markup(path: str, head: bytes) -> bytes:
    """The first characters; a page of HTML or XML is no table, whatever it is called."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if MARKUP.match(start):
        raise ValueError(
            f"{path} is a page of HTML or XML, not a table, perhaps one that asks for a log-in; open it in a browser, "
            "and save the table itself as CSV"
        )
    return start


def encoding_of(path: str, head: bytes) -> str:
    """utf-8, utf-16 (by its mark), or where it is neither but has no control codes Windows-1252 or Latin-1."""
    if head.startswith(UTF_16):
        try:
            head[: len(head) // 2 * 2].decode("utf-16")
        except UnicodeDecodeError:
            raise ValueError(f"{path} begins like UTF-16 text but is not; save it as CSV (UTF-8)") from None
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(head)
        if b"\x00" not in head:
            return "utf-8"
        error: object = "it holds zero bytes"
    except UnicodeDecodeError as problem:
        error = problem
    if re.search(rb"[\x00-\x08\x0e-\x1f\x7f]", head) is None:
        windows = re.search(rb"[\x80-\x9f]", head) and not re.search(rb"[\x81\x8d\x8f\x90\x9d]", head)
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
    except (EOFError, OSError, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{path} is damaged: {error}; get or pack it again") from error
