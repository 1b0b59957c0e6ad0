"""Put the measured tables of docs/scale.md and docs/service.md together: python docs/scale.py [--check].

Reads, in benchmarks/results: fleet.json (benchmarks/fleet.py) and service.json (benchmarks/service.py).
"""

from __future__ import annotations

import sys

from blocks import ROOT, lines, results, write

YOUNG = "64"  # rows up to which a stream is saved as its values


def whole(number: float) -> str:
    """262 000 rather than 262,000.4."""
    return f"{number:,.0f}".replace(",", " ")


def fleet() -> str:
    """Values a second of fleets and of what one would write instead."""
    rows = [
        [name, whole(row["values_per_second"]), whole(row["values_per_cpu_second"]),
         f"{row['fleet_in_memory_is_faster_by']:.1f} ×"]
        for name, row in results("fleet.json")["rows"].items()
    ]  # fmt: skip
    return lines(["", "values a second", "per second of processor", "`Fleet` in memory is faster by"], rows)


def states() -> str:
    """What a stream of so many rows costs to put aside and to bring back."""
    rows = [
        [f"{count}, as values" if count == YOUNG else count, f"{row['save_us']:.0f} µs", f"{row['restore_us']:.0f} µs",
         whole(row["bytes"])]
        for count, row in results("fleet.json")["states"].items()
    ]  # fmt: skip
    return lines(["rows", "save", "restore", "bytes"], rows)


def service() -> str:
    """Rates and waiting times of the service."""
    found = results("service.json")
    memory, disk = found["sustained, in memory"], found["sustained, db"]
    one, eight = found["single values, db, 1 client"], found["single values, db, 8 clients"]
    live, slow = found["to a live reader"], found["slow readers"]

    def wait(times: dict[str, float], digits: int = 0) -> str:
        return f"{times['p50']:.{digits}f} ms (99 %: {times['p99']:.0f} ms)"

    rows = [
        [
            f"batches of {whole(memory['batch'])} values over {whole(memory['series'])} series, in memory",
            f"{whole(memory['values_a_second'])} values a second, {memory['share_of_ceiling']:.0%} of a `Fleet` "
            "without HTTP in the same run",
        ],
        [
            "the same with `--db`, on disk before each answer",
            f"{whole(disk['values_a_second'])} values a second, {disk['share_of_ceiling']:.0%}; a batch takes "
            + wait(disk["milliseconds_of_a_batch"]),
        ],
        ["one value at a time with `--db`, one client", wait(one["milliseconds"], 1)],
        [
            "one value at a time with `--db`, eight clients",
            f"{wait(eight['milliseconds'], 1)}, {whole(eight['values_a_second'])} values a second",
        ],
        [
            "from sending a value to a live reader having it",
            f"{wait(live['milliseconds'])}, 30 ms of it the pause between messages",
        ],
        [
            f"{slow['readers']} live readers that never read",
            f"the writer has {slow['share']:.2f} of its rate without them, once their sockets are full",
        ],
        [
            "memory",
            f"{memory['memory_mb']['at start']:.0f} MB at the start, {memory['memory_mb']['after']:.0f} MB with "
            f"{whole(memory['series'])} series and {whole(memory['values'])} values in the backlog",
        ],
    ]
    return lines(["", ""], rows)


def main(arguments: list[str]) -> str | int:
    pages = {"scale.md": {"fleet": fleet, "states": states}, "service.md": {"measured": service}}
    said = [write(ROOT / "docs" / page, "scale.py", tables, arguments) for page, tables in pages.items()]
    return next((words for words in said if words), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
