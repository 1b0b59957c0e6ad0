"""The machine this runs on: cores, threads of the matrix library. Each is asked for here alone."""

import os
from functools import cache
from threading import Lock
from typing import Any


def cores() -> int:
    """How many cores this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


@cache
def blas_libraries() -> tuple[Any, ...]:
    """The BLAS libraries loaded whose threads can be limited (Apple's Accelerate, for one, is none of them).

    Found once: looking for them takes 3 ms, setting their threads 0.03 ms.
    """
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(counts: list[int]) -> None:
    """Threads of each library, set by any thread: threadpoolctl lets only the first that ever did do so again."""
    from threadpoolctl import OpenBLASController

    # Versions before 3.7 have none.
    release = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
    release(force=True)
    for library, count in zip(blas_libraries(), counts, strict=True):
        library.set_num_threads(count)
    release(force=True)


class _OneThread:
    """Holds BLAS to one thread while anyone is inside; the first to enter limits, the last to leave restores.

    The matrices here are small: threads cost more than they bring, and much more once several processes compete
    (a forecast of Lorenz: 0.4 s with one thread, 3 s with the default).
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._before: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._before = [library.get_num_threads() for library in blas_libraries()]
                _set_threads([1] * len(self._before))

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                _set_threads(self._before)


ONE_BLAS_THREAD = _OneThread()
