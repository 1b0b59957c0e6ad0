"""Work shared among processes in a way that cannot hang: a pipe for each, and no thread, lock or queue between them."""

import contextlib
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from multiprocessing import connection, resource_tracker
from multiprocessing.reduction import ForkingPickler
from typing import Any, TypeVar

from prophecy import _interrupts

Item = TypeVar("Item")
Answer = TypeVar("Answer")

POLL = 0.1  # seconds between two looks for Ctrl-C


class WorkerDied(RuntimeError):
    """A process ended without an answer."""


@contextlib.contextmanager
def shared(
    work: Callable[[Item], Answer], items: Sequence[Item], jobs: int, method: str
) -> Iterator[Iterator[tuple[int, Answer]]]:
    """(place, work(item)) for all items, as they are finished, from so many workers.

    method: how processes start, "fork" or "spawn" (which sends work and items, so they must be picklable), or
    "threads". Leaving the block early, by Ctrl-C or an error of the work, ends processes at once.
    """
    with _interrupts.held():
        if method == "threads":
            with contextlib.closing(_in_threads(work, items, jobs)) as answers:
                yield answers
            return
        context: Any = multiprocessing.get_context(method)
        if method == "spawn":
            resource_tracker.ensure_running()  # it would let Ctrl-C through again
        crew: dict[Any, Any] = {}
        try:
            with _blocked():
                for _ in range(min(jobs, len(items))):
                    ours, theirs = context.Pipe()
                    process = context.Process(target=_serve, args=(theirs, work, items), daemon=True)
                    process.start()
                    theirs.close()
                    crew[ours] = process
            yield _answers(crew, len(items))
        finally:
            for process in crew.values():
                process.kill()
            for pipe, process in crew.items():
                process.join()
                pipe.close()


@contextlib.contextmanager
def _blocked() -> Iterator[None]:
    """What is started here never sees Ctrl-C, which a terminal sends to all processes of a command."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _answers(crew: dict[Any, Any], count: int) -> Iterator[tuple[int, Any]]:
    places = iter(range(count))
    busy: dict[Any, int] = {}
    for pipe in crew:
        busy |= _given(pipe, places)
    while busy:
        ready: list[Any] = connection.wait([*busy], timeout=POLL)
        for pipe in ready:
            with _alive():
                good, answer = pipe.recv()
            place = busy.pop(pipe)
            if not good:
                raise answer
            busy |= _given(pipe, places)
            yield place, answer
            _interrupts.check()
        _interrupts.check()


def _given(pipe: Any, places: Iterator[int]) -> dict[Any, int]:
    """The worker behind the pipe and the place of the item it now works on, if there is one left."""
    for place in places:
        with _alive():
            pipe.send(place)
        return {pipe: place}
    return {}


@contextlib.contextmanager
def _alive() -> Iterator[None]:
    try:
        yield
    except (EOFError, ConnectionError) as error:
        raise WorkerDied("a worker process died, perhaps for want of memory; try again with fewer jobs") from error


def _serve(pipe: Any, work: Callable[[Any], Any], items: Sequence[Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            pipe.send_bytes(_attempt(work, items[pipe.recv()]))


def _attempt(work: Callable[[Any], Any], item: Any) -> Any:
    try:
        return ForkingPickler.dumps((True, work(item)))
    except Exception as error:
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        with contextlib.suppress(Exception):
            return ForkingPickler.dumps((False, error))
        return ForkingPickler.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _in_threads(
    work: Callable[[Item], Answer], items: Sequence[Item], jobs: int
) -> Generator[tuple[int, Answer], None, None]:
    places = iter(range(len(items)))
    running: dict[Future[Answer], int] = {}
    with ThreadPoolExecutor(max(1, min(jobs, len(items)))) as pool:
        try:
            while True:
                for place in islice(places, jobs - len(running)):
                    running[pool.submit(work, items[place])] = place
                if not running:
                    return
                for future in wait(running, POLL, FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
                _interrupts.check()
        finally:
            for future in running:
                future.cancel()
