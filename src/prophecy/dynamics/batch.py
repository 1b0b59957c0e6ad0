"""Many series: shared among processes, failures kept apart, BLAS held to one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import current_process, get_all_start_methods, get_context
from threading import current_thread, main_thread
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks, _machine
from prophecy._forecast import Failure, Forecast

_CHUNKS = 8  # pieces of work per process: small enough to share evenly, large enough to send cheaply


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
    jobs = min(_machine.cores() if jobs is None else _checks.whole("jobs", jobs), len(batch))
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
        return Failure.of(index, error)
