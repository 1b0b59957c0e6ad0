"""`python -m reproduction`: every figure and table of the paper, and a report."""

import os
import signal
from types import FrameType


def stop(number: int, frame: FrameType | None) -> None:
    os.write(2, b"Stopped before anything was begun.\n")
    os._exit(130)


if __name__ == "__main__":
    # Loading takes a moment, in which Ctrl-C has nothing to keep.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)
    from reproduction.command import main

    main()
