"""Write the size of a stream into docs/record.md: python docs/prophecy_tables.py [--check].

The numbers that steer a stream say what half and twice of them does where they stand, in `streams/settings.py`.
"""

from __future__ import annotations

import sys

from blocks import ROOT, write

from prophecy.streams.limits import RING
from prophecy.streams.rows import CLOCK, RECORD, SAMPLES


def state() -> str:
    """Bytes of a stream."""
    size = RECORD.itemsize
    return (
        f"State: {size / 1e3:.1f} kB a series, so a million series need {size / 1e3:.0f} GB, plus a ring of "
        f"{RING} values ({8 * RING / 1e3:.1f} kB, taken as it fills), which seasons and `forecast` read, and "
        f"{(CLOCK.itemsize + SAMPLES.itemsize) / 1e3:.1f} kB of clock and samples."
    )


if __name__ == "__main__":
    tables = {"state": state}
    sys.exit(write(ROOT / "docs" / "record.md", "prophecy_tables.py", tables, sys.argv[1:]))
