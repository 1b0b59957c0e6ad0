"""Compiling: Numba with options under which numbers do not depend on how they are asked for, and a safe cache.

Compiled code is kept in the user's cache folder (`PROPHECY_CACHE` moves it), in a folder named by a hash of the sources
it was made from, which are the file of the function and all that this file imports from the same code: Numba itself
does not notice a change in a function or constant that another file brings. Cached code
is code: a folder that somebody else could write to is not used, damaged files are passed over, and whatever goes wrong
costs the compilation and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile

from prophecy import _machine, _notices

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": False, "boundscheck": False}
"""No reordering of sums, no contraction into fused operations: one order of operations, one result to the last bit."""

_compiling = threading.RLock()


def inner(function: F) -> F:
    """Compile a function that other compiled functions call."""
    return numba.njit(**_OPTIONS)(function)  # type: ignore[no-any-return]


def part(function: F) -> F:
    """A piece of one other compiled function, written apart to be read. It is put there before anything is compiled:
    a function compiled by itself is optimised anew with every function that calls it, all that it calls included."""
    return numba.njit(inline="always", **_OPTIONS)(function)  # type: ignore[no-any-return]


def kernel(function: F) -> F:
    """Compile a function that Python calls, when it first does, or load it from the cache.

    With NUMBA_DISABLE_JIT=1 it stays Python, for debuggers and mutation runs (for records: `adaptive/fields.py`).
    """
    if config.DISABLE_JIT:
        return function
    dispatcher = numba.njit(**_OPTIONS)(function)
    dispatcher._cache = _Cache(function)
    plain = dispatcher.compile

    def compile(signature: Any) -> Any:
        with _compiling:
            before, config.SLP_VECTORIZE = config.SLP_VECTORIZE, 1  # eight numbers side by side become one vector
            try:
                return plain(signature)
            finally:
                config.SLP_VECTORIZE = before

    dispatcher.compile = compile
    return dispatcher  # type: ignore[no-any-return]


class _Cache:
    """Numba's cache of one function, looked for on first use, with every failure costing the compilation only."""

    cache_path = None

    def __init__(self, function: Any) -> None:
        self._function = function
        self._made: Any = None

    def _cache(self) -> Any:
        if self._made is None:
            with _compiling:
                self._made = _located(self._function)
        return self._made

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            context.refresh()
            found = self._cache() and self._cache().load_overload(signature, context)
        except Exception:  # whatever unpickling or linking damaged bytes raises
            found = None
        if not found:
            _notices.compiling(bool(self._cache()))
        return found or None

    def save_overload(self, signature: Any, result: Any) -> None:
        try:
            if self._cache():
                self._cache().save_overload(signature, result)
        except Exception:  # a full disk, a folder removed meanwhile
            self._made = False

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...


class _Sealed(IndexDataCacheFile):  # type: ignore[misc]
    """Data files that begin with their hash: bytes that a disk has changed are not run."""

    def _load_data(self, name: str) -> Any:
        from numba.core.caching import pickle

        data = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            raise OSError("damaged")
        return pickle.loads(data[32:])

    def _save_data(self, name: str, data: Any) -> None:
        packed = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(packed).digest() + packed)


def _located(function: Any) -> Any:
    """Numba's cache of a function in a folder of ours; False where there is no safe one."""
    folder = _folder(Path(function.__code__.co_filename), function.__module__.count("."))
    if folder is None:
        return False
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        cache = FunctionCache(function)
    finally:
        config.CACHE_DIR = before
    plain = cache._cache_file
    if not Path(plain._cache_path).is_relative_to(folder):
        return False
    cache._cache_file = _Sealed(plain._cache_path, plain._index_name.removesuffix(".nbi"), plain._source_stamp)
    return cache


@lru_cache(maxsize=64)
def _folder(file: Path, depth: int) -> Path | None:
    """Where code compiled from a file, so many packages deep, is kept; None where there is no safe place."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sources(file, file.parents[depth]):
        digest.update(source.read_bytes())
    folder = Path(os.path.realpath(_machine.cache_folder())) / "compiled" / digest.hexdigest()[:16]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if _only_ours(folder) else None
    except OSError:
        return None


_IMPORT = re.compile(r"^(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))", re.MULTILINE)


def sources(file: Path, root: Path) -> list[Path]:
    """A file and every file under a folder that it imports, directly or through another, in the order of their paths.

    Imports are read from the text, those that are not indented: what a compiled function can name comes through them,
    as it cannot import itself. What is not under the folder (numpy) is not followed.
    """
    found, waiting = set(), [file]
    while waiting:
        here = waiting.pop()
        if here in found:
            continue
        found.add(here)
        for package, names, modules in _IMPORT.findall(here.read_text(encoding="utf-8")):
            listed = re.sub(r"#[^\n]*|[()]", " ", names or modules).split(",")
            for name in (words.split()[0] for words in listed if words.split()):
                as_module = _module(root, f"{package}.{name}" if package else name)
                waiting += [path for path in (as_module or _module(root, package),) if path]
    return sorted(found)


def _module(root: Path, name: str) -> Path | None:
    """The file of a module under a folder, None where it is elsewhere."""
    place = root.joinpath(*name.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if name and path.is_file()), None)


def _only_ours(folder: Path) -> bool:
    """Whether nobody else can put a file there: not into it, nor by exchanging a folder above it."""
    if not hasattr(os, "getuid"):
        return True  # on Windows the user's cache folder is private to begin with
    for place in (folder, *folder.parents):
        status = place.stat()
        others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        # A sticky folder such as /tmp lets nobody rename or remove what belongs to another.
        harmless = not others or (place != folder and status.st_mode & stat.S_ISVTX)
        if not harmless or status.st_uid not in (os.getuid(), 0):
            return False
    return os.access(folder, os.W_OK)
