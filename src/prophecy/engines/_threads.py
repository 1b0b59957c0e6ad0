"""One thread for each core, each with whole groups of series; the matrix library is kept to one thread of its own.

A product of a few hundred rows is too small for the library to share between cores. Where its threads cannot be limited
(see `_machine`), the work stays in one thread and the library uses its own.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

from prophecy import _machine

T = TypeVar("T")


def workers() -> int:
    return _machine.cores() if _machine.blas_libraries() else 1


def shares(count: int, least: int, most: int | None = None) -> list[slice]:
    """`count` things cut into equal shares, a multiple of the workers unless that makes one smaller than `least`; none
    larger than `most`."""
    needed = 1 if most is None else -(-count // most)
    parts = max(needed, min(-(-needed // workers()) * workers(), count // least))
    edges = [count * part // parts for part in range(parts + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def over(function: Callable[[T], object], items: Sequence[T]) -> None:
    """Call the function with each item, on all cores. An exception in any call is raised once all calls have ended."""
    count = min(len(items), workers())
    if count <= 1:
        for item in items:
            function(item)
        return
    with _machine.ONE_BLAS_THREAD, ThreadPoolExecutor(count) as pool:
        list(pool.map(function, items))
