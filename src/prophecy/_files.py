"""Files that are either the old one or the new one, never half of either."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Read once, while nobody else is about: asking for the umask sets it for a moment.
_UMASK = os.umask(0)
os.umask(_UMASK)


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to a temporary file beside `path`, flush it to the disk, then rename it over `path`."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"folder {str(target.parent)!r} does not exist; create it first")
    handle, name = tempfile.mkstemp(prefix=".prophecy-", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_UMASK)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """`value` as JSON, atomically. NaN and infinities are refused: they are not JSON."""
    write_atomic(path, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())


def write_state(path: str | os.PathLike[str], kind: str, version: int, meta: dict[str, Any], **arrays: Any) -> None:
    """Named arrays and a JSON header in one `.npz`, atomically and without pickles."""
    header = json.dumps({"kind": kind, "version": version, **meta})
    buffer = io.BytesIO()
    np.savez(buffer, header=np.array(header), **arrays)
    write_atomic(path, buffer.getvalue())


# What np.load and json.loads raise on damaged bytes, as fuzzing found it.
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    NotImplementedError,
    RuntimeError,  # RecursionError is one
    OverflowError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_state(path: str | os.PathLike[str], kind: str, version: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `write_state` wrote, refusing any other file with a message that says what it is."""
    what = f"{os.fspath(path)!r}"
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop("header")))
        found, its_version = str(header.pop("kind")), header.pop("version")
    except FileNotFoundError:
        raise
    except _UNREADABLE as error:
        raise ValueError(f"{what} is not a saved {kind}: {type(error).__name__}: {error}") from error
    if type(its_version) is not int:
        raise ValueError(f"{what} is not a saved {kind}: its format {its_version!r} is no number")
    if found != kind:
        raise ValueError(f"{what} holds a saved {found}, not a {kind}; load it with {found}.load")
    if its_version != version:
        raise ValueError(
            f"{what} was saved in format {its_version} of {kind}, this version reads format {version}; "
            "save it again with the version that wrote it, or start afresh"
        )
    return header, arrays
