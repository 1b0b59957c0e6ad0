"""Put what was measured for docs/scale.md and docs/service.md together: python docs/scale.py [--check].

Reads, in benchmarks/results: fleet.json, kills.json, damaged.json, million.json and service.json, each made by
`python -m benchmarks NAME`.
"""

from __future__ import annotations

import sys
from textwrap import fill

from blocks import ROOT, lines, results, write

YOUNG = "64"  # rows up to which a stream is saved as its values


def whole(number: float) -> str:
    """262 000 rather than 262,000.4, on one line."""
    return f"{number:,.0f}".replace(",", "\N{NO-BREAK SPACE}")


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


def crashes() -> str:
    """What became of fleets that were killed, and of files that were damaged."""
    kills, damaged = results("kills.json"), results("damaged.json")
    files, forged = damaged["damaged"], damaged["forged"]
    lost, wrong = kills["acknowledged_and_lost"], kills["answered_otherwise_than_undisturbed"]
    sentences = [
        f"**Measured.** {whole(kills['kills'])} kills under load, over {whole(kills['rows'])} rows with wild times, "
        f"extreme values and eviction, lost {lost or 'no'} rows and changed {wrong or 'no'} answers.",
        f"Of {whole(sum(files.values()))} files with changed bytes {files['refused']} were refused,",
        f"{files['as after an earlier batch']} opened at the last whole batch before a damaged FILE-wal,",
        f"{files['set aside or reported']} set streams aside or were reported,",
        f"and {files['unchanged']} were unchanged.",
        f"Of {whole(sum(forged.values()))} forged states with right checksums {forged['refused']} were refused;",
        f"{whole(forged['ran'])} ran, each of their answers finite;",
        f"{forged.get('refused a state of its own later', 'none')} ran and refused a state of their own later.",
    ]
    return fill(" ".join(sentences), 180)


def opening() -> str:
    """What a fleet's file costs."""
    found = results("fleet.json")["rows"]["Fleet with its file"]
    return (
        f"Opening after a crash and closing took {found['open_after_a_crash_and_close_seconds']:.1f} s; "
        f"a key takes {whole(found['bytes_per_key_on_disk'])} bytes on disk."
    )


def million() -> str:
    """More keys than memory holds, and many short series."""
    found = results("million.json")
    streams, series = found["streams"], found["series"]
    first, *_, last = (each["values"] / each["seconds"] for each in streams["rounds"])
    memory = streams["largest_memory_of_the_process_bytes"] / 2**20
    sentences = [
        f"A million keys on two cores, {streams['seconds']:.0f} s: memory has room for",
        f"{whole(streams['streams_in_memory_at_most'])} streams, so every value loads its stream from disk.",
        f"That gives {whole(streams['values_per_second'])} values a second",
        f"({whole(first)} in the first round, {whole(last)} in the last),",
        f"with {whole(memory)} MiB of memory and {streams['bytes_on_disk_per_key']:.0f} bytes on disk for each key.",
        "Short series by `forecast_many` (12 to 36 values, 6 ahead):",
        f"{series['series_per_second_and_core']:.0f} a second and core,",
        f"so a million take {series['hours_for_a_million']:.1f} hours on two cores.",
        f"Other work ran on the machine: its load average was {streams['load_average']:.0f}.",
    ]
    return fill(" ".join(sentences), 180)


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
    pages = {
        "scale.md": {"crashes": crashes, "fleet": fleet, "opening": opening, "states": states, "million": million},
        "service.md": {"measured": service},
    }
    said = [write(ROOT / "docs" / page, "scale.py", tables, arguments) for page, tables in pages.items()]
    return next((words for words in said if words), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
