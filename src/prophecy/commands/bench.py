"""`prophecy bench`: where the benchmarks live."""

from __future__ import annotations

from prophecy.commands.reproduce import CONTEXT, elsewhere

__all__ = ["CONTEXT", "bench"]


def bench() -> None:
    """Say where the benchmarks live: in the repository, not in the installed package."""
    elsewhere(
        "Benchmarks are",
        """  python -m benchmarks                what there is, what it needs and how long it takes
  python -m benchmarks NAME           one of them
  python -m benchmarks.speed          how fast this is here, beside peers and ceilings""",
    )
