"""`python -m benchmarks`: what can be measured, what it needs, how long it takes, and which results are out of date."""

from prophecy import _interrupts


def main() -> None:
    from benchmarks.command import main  # takes a moment, in which Ctrl-C is held back already

    _interrupts.check()
    main()


if __name__ == "__main__":
    _interrupts.command(main)
