"""Which tests `make test` leaves to `make test-all`: python tools/slow.py LOG [--seconds 400] [--out tests/slow.txt]

LOG is the output of `pytest --durations=0 --durations-min=0.005`. Tests are taken slowest first until what is left
takes at most so many seconds in one process; a function with several cases counts as one. Those on the list that LOG
has no time of, as with `-m 'not slow'`, stay on it. `tests/conftest.py` gives those on the list the marker `slow`.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

LINE = re.compile(r"^\s*([\d.]+)s (?:call|setup|teardown)\s+(\S+?)(?:\[|$)")
LIST = Path(__file__).parent.parent / "tests" / "slow.txt"


def durations(log: str) -> Counter[str]:
    """Seconds of every test function."""
    found: Counter[str] = Counter()
    for line in log.splitlines():
        if match := LINE.match(line):
            found[match[2]] += float(match[1])  # type: ignore[assignment]
    return found


def slowest(found: Counter[str], seconds: float) -> list[str]:
    """Functions without which the others take at most so many seconds."""
    left, chosen = sum(found.values()), []
    for name, took in found.most_common():
        if left <= seconds:
            break
        chosen.append(name)
        left -= took
    return sorted(chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--out", type=Path, default=LIST)
    asked = parser.parse_args()
    found = durations(asked.log.read_text())
    if not found:
        parser.error(f"{asked.log} has no durations; run pytest with --durations=0 --durations-min=0.005")
    before = asked.out.read_text().splitlines()[1:] if asked.out.exists() else []
    chosen = slowest(found, asked.seconds)
    listed = sorted({*chosen, *(name for name in before if name not in found)})
    asked.out.write_text("\n".join([f"# Written by tools/{Path(__file__).name}.", *listed]) + "\n")
    saved = sum(found[name] for name in chosen)
    print(f"{len(chosen)} of {len(found)} functions are slow: {saved:.0f} of {sum(found.values()):.0f} s")


if __name__ == "__main__":
    main()
