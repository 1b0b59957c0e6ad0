"""`python -m benchmarks`: what can be measured, what it needs, how long it takes, and which results are out of date."""

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
    from benchmarks.command import main

    main()
