"""What the command line tells whoever waits; a module of its own, so that setting it up loads nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable

_tell: Callable[[str], None] | None = None


def to_stderr() -> None:
    """From now on, say once on stderr when something has to be compiled first."""
    global _tell
    _tell = lambda text: print(f"prophecy: {text}", file=sys.stderr, flush=True)  # noqa: E731


def compiling() -> None:
    """Called before anything is compiled."""
    global _tell
    tell, _tell = _tell, None
    if tell is not None:
        tell("compiling the predictor for this machine, once; this takes some seconds")
