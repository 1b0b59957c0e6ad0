"""Many series: shared among processes, failures kept apart, BLAS held to one thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from multiprocessing import current_process, get_all_start_methods, get_context
from threading import Lock, current_thread, main_thread
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks
from prophecy._forecast import Failure, Forecast

_CHUNKS = 8  # pieces of work per process: small enough to share evenly, large enough to send cheaply


def cores() -> int:
    """How many cores this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


class _OneThread:
    """Holds BLAS to one thread while anyone is inside; the first to enter limits, the last to leave restores.

    The matrices here are small: threads cost more than they bring, and much more once several processes compete
    (Lorenz: 0.4 s with one thread, 3 s with the default).
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limit = _blas().limit(limits=1)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


@cache
def _blas() -> Any:
    """Found once: looking through the loaded libraries takes 3 ms, limiting them 0.03 ms."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")


ONE_THREAD = _OneThread()


def in_order(
    one: Callable[[ArrayLike], Forecast],
    contexts: Sequence[ArrayLike] | NDArray[np.floating[Any]],
    jobs: int | None,
    progress: Callable[[int, int], None] | None,
) -> list[Forecast | Failure]:
    """one(context) for every context, in order, with a `Failure` where it raised."""
    if not isinstance(contexts, Iterable) or isinstance(contexts, Mapping | str | bytes):
        raise TypeError(f"contexts must be an array or a list of contexts, got {type(contexts).__name__}")
    batch = list(np.asarray(contexts) if hasattr(contexts, "__array__") else contexts)
    jobs = min(cores() if jobs is None else _checks.order("jobs", jobs), len(batch))
    found: list[Forecast | Failure] = []
    with _mapped(partial(_guarded, one), list(enumerate(batch)), jobs) as answers:
        for answer in answers:
            found.append(answer)
            if progress is not None:
                progress(len(found), len(batch))
    return found


@contextmanager
def _mapped(
    one: Callable[[tuple[int, ArrayLike]], Forecast | Failure], items: list[tuple[int, ArrayLike]], jobs: int
) -> Iterator[Iterator[Forecast | Failure]]:
    if jobs <= 1:
        yield map(one, items)
        return
    with _pool(jobs) as pool:
        try:
            yield pool.map(one, items, chunksize=max(1, len(items) // (_CHUNKS * jobs)))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _pool(jobs: int) -> Executor:
    """Processes where starting them is safe and possible; threads off the main thread, in daemons and without fork."""
    alone = current_thread() is main_thread() and not current_process().daemon
    if alone and "fork" in get_all_start_methods():
        return ProcessPoolExecutor(jobs, mp_context=get_context("fork"))
    return ThreadPoolExecutor(jobs)


def _guarded(one: Callable[[ArrayLike], Forecast], item: tuple[int, ArrayLike]) -> Forecast | Failure:
    index, context = item
    try:
        return one(context)
    except Exception as error:  # whatever it is, it is this series' alone; it is handed to the caller
        return Failure(index, error)
