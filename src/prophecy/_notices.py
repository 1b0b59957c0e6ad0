"""The one-line notice before something is compiled; a module of its own, so that setting it up loads nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def _log(text: str) -> None:
    import logging

    logging.getLogger("prophecy").warning(text)


_tell: Callable[[str], None] | None = _log
"""Prints the notice; None once it was printed. In a Python session that is the logger "prophecy", whose warnings appear
on stderr unless it is set otherwise; the command line prints. With PROPHECY_QUIET set there is no notice."""


def to_stderr() -> None:
    """From now on, print once on stderr when something has to be compiled first."""
    global _tell
    _tell = lambda text: print(f"prophecy: {text}", file=sys.stderr, flush=True)  # noqa: E731


def compiling(kept: bool) -> None:
    """Called before anything is compiled; prints the first time only. kept: whether the next start will find it."""
    global _tell
    tell, _tell = _tell, None
    processes = sys.modules.get("multiprocessing.process")
    worker = processes is not None and processes.parent_process() is not None
    if tell is None or worker or os.environ.get("PROPHECY_QUIET"):  # of several processes the first one prints
        return
    if kept:
        tell("compiling the predictor for this machine, once; this takes a minute or two of one core")
    else:
        tell(
            "compiling the predictor for this machine, which takes a minute or two of one core; the cache folder "
            "cannot be written (or others could write to it), so every start will: PROPHECY_CACHE names another"
        )
