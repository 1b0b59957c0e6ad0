"""Ctrl-C at moments of our choosing.

Python raises KeyboardInterrupt between any two instructions of the main thread: inside an executor's lock, which nobody
then releases; in a destructor, where it is printed and lost; while the interpreter shuts down. Here Ctrl-C only sets a
flag, and work asks for it between its pieces with `check`.

A library call holds Ctrl-C back while it shares work (`held`). A command does so from its beginning to its end
(`command`): if nothing has asked after `GRACE` seconds, the process says its last words and ends. That is safe where
everything that is kept survives a kill.
"""

import _thread
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

GRACE = 1.0  # seconds
INTERRUPTED, PIPE = 130, 141  # exit codes: 128 + the signals SIGINT and SIGPIPE, as shells report them

_pressed = _noticed = 0  # how often Ctrl-C came, and how many of these were raised
_waiting = False
_words: Callable[[], str] = lambda: "stopped"  # noqa: E731 (replaced by `last_words`)


def check() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was held back since the last check."""
    global _noticed
    if _pressed > _noticed:
        _noticed = _pressed
        raise KeyboardInterrupt


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Hold Ctrl-C back until the next `check`, at the latest until the end of the block.

    Elsewhere than on the main thread nothing needs to be held back; where a program has a handler of its own for
    Ctrl-C, that one stays in charge.
    """
    global _noticed
    if not (_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler):
        yield
        check()
        return
    before = signal.signal(signal.SIGINT, _press)
    try:
        yield
    except BaseException:
        _noticed = _pressed  # the block ends anyway
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    check()


@contextlib.contextmanager
def waiting() -> Iterator[None]:
    """Let Ctrl-C end a wait at once; for a block in which nothing else is under way."""
    global _waiting
    _waiting = True
    try:
        check()
        yield
    finally:
        _waiting = False


def command(run: Callable[[], object]) -> None:
    """Run a command that holds Ctrl-C back for the rest of this process, which ends when nothing asks for it in time.
    SIGTERM is the same to it, so that it ends with a sentence too.

    A command that Ctrl-C has stopped does not take the interpreter apart, which takes seconds on a loaded machine. One
    whose output nobody reads any more (`… | head`) ends without a word.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if _main_thread() and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _press_and_watch)
    try:
        try:
            run()
        finally:
            with contextlib.suppress(AttributeError, ValueError):  # no stdout, or a closed one
                sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        sys.exit(PIPE)
    except KeyboardInterrupt:
        _say_and_leave()
    except SystemExit as end:
        if _noticed and end.code == INTERRUPTED:
            _leave()
        raise


def discard_output() -> None:
    """Python must not flush into a closed pipe again when it ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def last_words(words: Callable[[], str]) -> Iterator[None]:
    """What a command says within this block if Ctrl-C ends it."""
    global _words
    before, _words = _words, words
    try:
        yield
    finally:
        _words = before


def _main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _press(number: int, frame: FrameType | None) -> None:
    global _pressed
    _pressed += 1
    if _waiting:
        check()


def _press_and_watch(number: int, frame: FrameType | None) -> None:
    if _pressed == _noticed:  # further ones change nothing
        # Not threading.Thread: starting one takes locks that the interrupted code may hold.
        _thread.start_new_thread(_watch, (_pressed + 1,))
    _press(number, frame)


def _watch(press: int) -> None:
    time.sleep(GRACE)
    if _noticed < press:
        _say_and_leave()


def _say_and_leave() -> None:
    os.write(2, f"{_words()}\n".encode(errors="replace"))
    _leave()


def _leave() -> None:
    processes = sys.modules.get("multiprocessing")
    for child in processes.active_children() if processes else ():
        child.kill()
    os._exit(INTERRUPTED)
