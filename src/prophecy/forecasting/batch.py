"""Many series: shared among processes, failures kept apart, BLAS held to one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import current_process, get_all_start_methods
from threading import current_thread, main_thread
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks, _interrupts, _machine, _workers
from prophecy._forecast import Failure, Forecast


class Stopped(KeyboardInterrupt):
    """Ctrl-C in the middle of a batch; `finished` has the answers that were there, by the place of their series."""

    def __init__(self, finished: Mapping[Any, Forecast | Failure], total: int) -> None:
        super().__init__(f"stopped after {len(finished)} of {total} series, which are in this exception's `finished`")
        self.finished, self.total = finished, total


def in_order(
    one: Callable[[ArrayLike], Forecast],
    contexts: Sequence[ArrayLike] | NDArray[np.floating[Any]],
    jobs: int | None,
    progress: Callable[[int, int], None] | None,
) -> list[Forecast | Failure]:
    """one(context) for every context, in order, with a `Failure` where it raised; Ctrl-C raises `Stopped`."""
    if not isinstance(contexts, Iterable) or isinstance(contexts, Mapping | str | bytes):
        raise TypeError(f"contexts must be an array or a list of contexts, got {type(contexts).__name__}")
    batch = list(np.asarray(contexts) if hasattr(contexts, "__array__") else contexts)
    jobs = min(_machine.cores() if jobs is None else _checks.whole("jobs", jobs), len(batch))
    found: dict[int, Forecast | Failure] = {}
    try:
        with _mapped(partial(_guarded, one), list(enumerate(batch)), jobs) as answers:
            for place, answer in answers:
                found[place] = answer
                if progress is not None:
                    progress(len(found), len(batch))
    except KeyboardInterrupt:
        raise Stopped(dict(sorted(found.items())), len(batch)) from None
    return [found[place] for place in range(len(batch))]


@contextmanager
def _mapped(
    one: Callable[[tuple[int, ArrayLike]], Forecast | Failure], items: list[tuple[int, ArrayLike]], jobs: int
) -> Iterator[Iterator[tuple[int, Forecast | Failure]]]:
    if jobs <= 1:
        yield _one_by_one(one, items)
        return
    with _workers.shared(one, items, jobs, _method()) as answers:
        yield answers


def _one_by_one(
    one: Callable[[tuple[int, ArrayLike]], Forecast | Failure], items: list[tuple[int, ArrayLike]]
) -> Iterator[tuple[int, Forecast | Failure]]:
    for item in items:
        yield item[0], one(item)
        _interrupts.check()


def _method() -> str:
    """Processes where starting them is safe and possible; threads off the main thread, in daemons and without fork."""
    alone = current_thread() is main_thread() and not current_process().daemon
    return "fork" if alone and "fork" in get_all_start_methods() else "threads"


def _guarded(one: Callable[[ArrayLike], Forecast], item: tuple[int, ArrayLike]) -> Forecast | Failure:
    index, context = item
    try:
        return one(context)
    except Exception as error:  # whatever it is, it is this series' alone; it is handed to the caller
        return Failure(index, error)
