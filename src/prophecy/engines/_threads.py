"""Threads of our own instead of the matrix library's: one for each core, with the library kept to one thread each.

A product of a few hundred rows is too small to share between cores, a batch of series is not: each thread takes whole
groups of series, and nothing waits. OpenBLAS, which NumPy's wheels carry, is told so through its own functions; where
they are not found (another library), the work stays in one thread and the library threads as it likes.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Control(NamedTuple):
    get: Callable[[], int]
    set: Callable[[int], None]


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def workers() -> int:
    """How many threads `over` runs at once."""
    return cores() if library() is not None else 1


def shares(count: int, least: int, most: int | None = None) -> list[slice]:
    """`count` things cut into equal shares, a multiple of the workers unless that makes one smaller than `least`; none
    larger than `most`."""
    parts = workers() if most is None else -(-count // most)
    parts = max(1, min(-(-parts // workers()) * workers(), count // least), 1 if most is None else -(-count // most))
    edges = [count * part // parts for part in range(parts + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def over(function: Callable[[T], object], items: Sequence[T]) -> None:
    """Call the function with each item, on all cores. An exception of any call is raised after all have ended."""
    count = min(len(items), workers())
    if count <= 1:
        for item in items:
            function(item)
        return
    with one_library_thread(), ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(function, item) for item in items]:
            done.result()


@lru_cache(maxsize=1)
def library() -> Control | None:
    """The functions that read and set how many threads NumPy's OpenBLAS uses, or None."""
    for module in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        try:
            handle = ctypes.CDLL(import_module(module).__file__)
        except (ImportError, OSError, TypeError):
            continue
        for prefix in ("scipy_openblas", "openblas"):
            for suffix in ("64_", "", "_64_"):
                found = _functions(handle, prefix, suffix)
                if found is not None:
                    return found
    return None


def _functions(handle: ctypes.CDLL, prefix: str, suffix: str) -> Control | None:
    try:
        get: Any = getattr(handle, f"{prefix}_get_num_threads{suffix}")
        put: Any = getattr(handle, f"{prefix}_set_num_threads{suffix}")
    except AttributeError:
        return None
    get.restype, get.argtypes = ctypes.c_int, []
    put.restype, put.argtypes = None, [ctypes.c_int]
    return Control(get, put)


_lock = threading.Lock()
_inside = 0
_before = 1


@contextmanager
def one_library_thread() -> Iterator[None]:
    """The library at one thread, where it can be told; of runs that overlap the last one restores the setting."""
    global _inside, _before
    control = library()
    if control is None:
        yield
        return
    with _lock:
        if _inside == 0:
            _before = control.get()
            control.set(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                control.set(_before)
