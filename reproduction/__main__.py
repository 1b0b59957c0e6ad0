"""`python -m reproduction`: every figure and table of the paper, and a report."""

from prophecy import _interrupts
from reproduction import STOPPED


def main() -> None:
    with _interrupts.last_words(lambda: STOPPED):
        from reproduction.command import main  # takes a moment, in which Ctrl-C is held back already

        _interrupts.check()
        main()


if __name__ == "__main__":
    _interrupts.command(main)
