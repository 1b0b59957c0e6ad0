"""Threads of our own instead of the matrix library's: one for each core, with the library kept to one thread each.

A product of a few hundred rows is too small to share between cores, a batch of series is not: each thread takes whole
groups of series, and nothing waits. Where the library's threads cannot be limited (see `_machine`), the work stays in
one thread and the library uses its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

from prophecy import _machine

T = TypeVar("T")


def workers() -> int:
    """How many threads `over` runs at once."""
    return _machine.cores() if _machine.blas_threads_can_be_set() else 1


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
    with _machine.ONE_BLAS_THREAD, ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(function, item) for item in items]:
            done.result()
