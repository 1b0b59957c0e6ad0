"""Files that are either the old one or the new one, never half of either."""

import contextlib
import io
import json
import math
import os
import secrets
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside `path` to write to; it takes the place of `path` when the block ends well.

    Otherwise it is removed. The file is flushed to the disk before its name changes and the folder after it, so that
    one of the two is there whole after a power cut. A symbolic link stays one: what it points to is replaced. A file
    that was there keeps its permissions. The temporary name ends as `path` does, for writers that go by it.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"folder {str(target.parent)!r} does not exist; create it first")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    temporary = target.with_name(f".prophecy-{secrets.token_hex(8)}.part{target.suffix}")
    temporary.touch(0o666 if mode is None else 0o600, exist_ok=False)  # less the umask
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(target)
        flush_folder(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path`, whole or not at all (see `replacing`)."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def flush_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, so that a new file survives a power cut."""
    if not hasattr(os, "O_DIRECTORY"):
        return  # Windows cannot open folders; its rename is flushed with the file
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """`value` as JSON, atomically. NaN and infinities are refused: they are not JSON."""
    write_atomic(path, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())


Place: TypeAlias = str | os.PathLike[str] | BinaryIO  # where a state is: a path, or a file open for bytes


def write_state(path: Place, kind: str, version: int, meta: dict[str, Any], **arrays: Any) -> None:
    """Named arrays and a JSON header in one `.npz`, without pickles; a path is written to atomically."""
    header = json.dumps({"kind": kind, "version": version, **meta})
    buffer = io.BytesIO()
    np.savez(buffer, header=np.array(header), **arrays)
    if isinstance(path, str | os.PathLike):
        write_atomic(path, buffer.getvalue())
    else:
        path.write(buffer.getvalue())


LARGEST_HEADER = 2**20  # bytes of a JSON header at most; a real one has some hundreds
MOST_ARRAYS = 64  # arrays in a file at most; a saved `Prophecy` has fewer than ten


def named(path: Place) -> str:
    """What messages call the place a state is read from."""
    return f"{os.fspath(path)!r}" if isinstance(path, str | os.PathLike) else "the open file"


def read_state(path: Place, kind: str, version: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `write_state` wrote, refusing any other file with a message that names what it is.

    No memory is allocated by a size that a header claims: arrays must be stored uncompressed, and are as large as the
    file holds.
    """
    what = named(path)
    try:
        arrays = _arrays(path)
        text = str(arrays.pop("header"))
        header = json.loads(text)
        found, its_version = str(header.pop("kind")), header.pop("version")
    except FileNotFoundError:
        raise
    except Exception as error:  # of zipfile, NumPy's reader of headers, tokenize, json: bytes can be wrong in any way
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"{what} is not a saved {kind}: {reason[:300]}") from error
    if type(its_version) is not int:
        raise ValueError(f"{what} is not a saved {kind}: its format {its_version!r} is no number")
    if found != kind:
        raise ValueError(f"{what} holds a saved {found}, not a {kind}; load it with {found}.load")
    if its_version != version:
        raise ValueError(
            f"{what} was saved in format {its_version} of {kind}, this version reads format {version}; "
            "load it with the version that wrote it, or start afresh and observe the values again"
        )
    return header, arrays


def _arrays(path: Place) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(path) as file:
        entries = file.infolist()
        if len(entries) > MOST_ARRAYS:
            raise ValueError(f"it holds {len(entries)} arrays, more than {MOST_ARRAYS}")
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("its arrays are compressed, which saved files never are")
        on_disk = os.path.getsize(path) if isinstance(path, str | os.PathLike) else path.seek(0, os.SEEK_END)
        if sum(entry.file_size for entry in entries) > on_disk:
            raise ValueError("its arrays claim more bytes than the file has")
        return {entry.filename.removesuffix(".npy"): _array(entry.filename, file.read(entry)) for entry in entries}


def _array(name: str, data: bytes) -> NDArray[Any]:
    """An array in NumPy's format, which must have exactly the size its header states."""
    if name == "header.npy" and len(data) > LARGEST_HEADER:
        raise ValueError(f"its header has {len(data)} bytes, more than {LARGEST_HEADER}")
    stream = io.BytesIO(data)
    major, _ = np.lib.format.read_magic(stream)
    reader = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = reader(stream, max_header_size=LARGEST_HEADER)
    rest = data[stream.tell() :]
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(rest):
        raise ValueError(f"{name} is {dtype} {shape} by its header, but has {len(rest)} bytes")
    flat = np.frombuffer(rest, dtype=dtype)
    return flat.reshape(shape, order="F" if fortran else "C").copy()
