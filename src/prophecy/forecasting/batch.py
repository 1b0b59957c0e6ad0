"""Many series: shared among processes, failures kept apart, BLAS held to one thread."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from multiprocessing import current_process, get_all_start_methods
from threading import current_thread, main_thread
from typing import Any

from prophecy import _checks, _interrupts, _machine, _workers
from prophecy._forecast import Failure, Forecast


class Stopped(KeyboardInterrupt):
    """Ctrl-C in the middle of a batch; `finished` has the answers that were there, by the place of their series."""

    def __init__(self, finished: Mapping[Any, Forecast | Failure], total: int) -> None:
        super().__init__(f"stopped after {len(finished)} of {total} series, which are in this exception's `finished`")
        self.finished, self.total = finished, total


def in_order(
    one: Callable[[Any], Forecast], tasks: Sequence[Any], jobs: int | None, progress: Callable[[int, int], None] | None
) -> list[Forecast | Failure]:
    """one(task) for every task, in order, with a `Failure` where it raised; Ctrl-C raises `Stopped`."""
    jobs = min(_machine.cores() if jobs is None else _checks.whole("jobs", jobs), len(tasks))
    items, work = list(enumerate(tasks)), partial(_guarded, one)
    found: dict[int, Forecast | Failure] = {}
    alone: AbstractContextManager[Iterator[tuple[int, Forecast | Failure]]] = nullcontext(
        (place, work(item)) for place, item in enumerate(items)
    )
    try:
        with alone if jobs <= 1 else _workers.shared(work, items, jobs, _method()) as answers:
            for place, answer in answers:
                found[place] = answer
                if progress is not None:
                    progress(len(found), len(tasks))
                _interrupts.check()
    except KeyboardInterrupt:
        raise Stopped(dict(sorted(found.items())), len(tasks)) from None
    return [found[place] for place in range(len(tasks))]


def _method() -> str:
    """Processes where starting them is safe and possible; threads off the main thread, in daemons and without fork."""
    alone = current_thread() is main_thread() and not current_process().daemon
    return "fork" if alone and "fork" in get_all_start_methods() else "threads"


def _guarded(one: Callable[[Any], Forecast], item: tuple[int, Any]) -> Forecast | Failure:
    try:
        return one(item[1])
    except Exception as error:  # whatever it is, it is this series' alone; it is handed to the caller
        return Failure(item[0], error)
