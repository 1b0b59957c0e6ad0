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
    """kind: csv, jsonl, json, parquet, npy or excel. size: bytes, 0 if unknown. packed: the file is compressed."""

    path: str
    kind: str
    stream: Replay
    raw: BinaryIO
    size: int
    packed: bool = False
    file: bool = False  # it has a name on the disk

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
        return Opened("the table", "csv", Replay(raw), raw, 0)
    path = source
    if path != "-" and Path(path).is_dir():
        raise ValueError(f"{path} is a folder; name a file")
    raw = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115 (closed with the process)
    size = os.fstat(raw.fileno()).st_size if path != "-" else 0
    stream, packed = Replay(raw), False
    with explained(path):
        for _ in range(2):  # a .gz of a .zst, and no further
            opener = _unpacking(stream.head(8))
            if opener is None:
                break
            stream, packed = Replay(opener(stream)), True
        return Opened(path, _kind(path, stream), stream, raw, size, packed, path != "-")


def _unpacking(magic: bytes) -> Any:
    if magic[:2] == b"\x1f\x8b":
        return lambda stream: gzip.GzipFile(fileobj=stream)
    if magic[:3] == b"BZh":
        return lambda stream: bz2.BZ2File(stream)
    if magic[:6] == b"\xfd7zXZ\x00":
        return lambda stream: lzma.LZMAFile(stream)
    if magic[:4] == b"\x28\xb5\x2f\xfd":
        return _zstd
    return None


def _zstd(stream: Any) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd")


def _kind(path: str, stream: Replay) -> str:
    magic = stream.head(8)
    if magic[:4] == b"PAR1":
        return "parquet"
    if magic[:6] == b"\x93NUMPY":
        return "npy"
    if magic[:4] == b"PK\x03\x04":
        return "excel"
    if magic == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise ValueError(f"{path} is an old Excel file (.xls); save it as .xlsx or CSV")
    named = {".parquet": "a Parquet", ".pq": "a Parquet", ".npy": "an .npy", ".xlsx": "an Excel"}
    ending = Path(path).suffix.lower()
    if ending in named:
        raise ValueError(f"{path} is not {named[ending]} file: it begins with {magic[:8]!r}")
    start = _refuse_markup(path, stream.head(256))
    if start[:1] == b"{":
        return "jsonl"
    return "json" if start[:1] == b"[" else "csv"


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
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
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


class explained:
    """Errors of readers, reworded to name the file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, EOFError | gzip.BadGzipFile | lzma.LZMAError) or (
            isinstance(error, OSError) and error.errno is None
        ):
            raise ValueError(f"{self._path} is damaged: {error}") from error
        if isinstance(error, ValueError) and not str(error).startswith(self._path):
            raise ValueError(f"{self._path}: {error}") from error
