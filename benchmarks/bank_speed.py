"""Measure the bank's step beside an earlier commit's, on one core, in alternating rounds of one run.

    python -m benchmarks.bank_speed --earlier PATH/TO/EARLIER/src [--alone PATH] [--rounds N] [--rows N]

Each PATH is the `src` folder of a checkout: `--earlier` the C step of the first version, `--alone` a commit before
seasons and alarms joined the step. Times are those of the processor, so that other work on the machine counts little.
Each round starts one process per version and times, best of five within it: whole arrays, `observe` and `predict` one
by one, and 256 series at once; then a file of `--rows` rows goes through `prophecy predict`, with the peak of its
memory and its error. Writes benchmarks/results/bank_speed.json; `--text` writes the paragraphs of docs/prophecy.md
from it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from prophecy import __version__, _files
from prophecy.streams.limits import RING
from prophecy.streams.rows import RECORD

RESULTS = Path(__file__).parent / "results" / "bank_speed.json"
FILE = RESULTS.with_name("bank_file.json")  # a run with a file, of the bank alone
DOCUMENT = Path(__file__).parent.parent / "docs" / "prophecy.md"
SAMPLES = 50_000

MEASURE = """
import json, time
import numpy as np
from prophecy import Prophecy
n = {samples}
noise = np.random.default_rng(0).normal(size=n)
u = np.sin(np.arange(n) / 20) + 0.01 * noise
batch = u[: n // 64] + 0.01 * np.random.default_rng(1).normal(size=(256, n // 64))
some = u[: n // 5].tolist()
def best(work, per, times=5):
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append((time.process_time() - start) / per * 1e6)
    return min(found)
def one_by_one():
    model = Prophecy()
    for value in some:
        model.observe(value)
        model.predict()
Prophecy().observe(u[:100]), one_by_one()
print(json.dumps({{
    "array, observe": best(lambda: Prophecy(context=1).observe(u), n),
    "array, predict_all": best(lambda: Prophecy().predict_all(u), n),
    "256 series, predict_all": best(lambda: Prophecy().predict_all(batch), batch.size),
    "one by one, observe + predict": best(one_by_one, len(some)),
}}))
"""


def environment(src: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(src), "OMP_NUM_THREADS": "1"}


def on_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measured(src: Path) -> dict[str, float]:
    code = MEASURE.format(samples=SAMPLES)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(src), preexec_fn=on_one_core, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def file_case(src: Path, data: Path, out: Path, *options: str) -> dict[str, float]:
    """Seconds, peak megabytes and relative error of `prophecy predict` over a file, as a process of its own."""
    code = "import sys, time, resource; start = time.perf_counter()\n"
    code += "from prophecy import cli\ntry: cli.main()\nexcept SystemExit as stop: assert not stop.code\n"
    code += "print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    command = [sys.executable, "-c", code, "predict", str(data), "--out", str(out), *options]
    done = subprocess.run(command, env=environment(src), preexec_fn=on_one_core, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    from benchmarks.speed.csv_predict import accuracy

    seconds, peak = done.stderr.split()[-2:]
    return {"seconds": float(seconds), "peak_megabytes": float(peak) / 1e3, "relative_error": accuracy(out)}


def files(versions: dict[str, Path], rows: int) -> dict[str, Any]:
    from benchmarks.speed.csv_predict import write

    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "data.csv", Path(folder) / "out.parquet"
        write(data, rows)
        options = {"now": (), "earlier": ("--model", "quick")}
        return {name: file_case(src, data, out, *options[name]) for name, src in versions.items()}


def text(result: dict[str, Any]) -> str:
    """What docs/prophecy.md says about the cost."""
    names = {"earlier": "the C step of 0.1.0", "alone": "the bank alone", "now": "with seasons, alarms, ticks"}
    found = {heading: result["microseconds_a_value"][name] for name, heading in names.items()}
    lines = [f"| microseconds a value, one core | {' | '.join(found)} |", "|---|---|---|---|"]
    for case in result["microseconds_a_value"]["now"]:
        lines.append(f"| {case} | {' | '.join(f'{times[case]:.2f}' for times in found.values())} |")
    file, size = json.loads(FILE.read_text())["file"], RECORD.itemsize
    whole, quick = file["now"], file["earlier"]
    lines += [
        "",
        f"Processor time in one run (rounds: {result['rounds']}, best of five in each) on one core of a machine shared "
        f"with other work (load {result['load']:.0f}; benchmarks/results/bank_speed.json). Several series run in "
        "threads without the GIL.",
        "",
        f"A file of {file['rows']:,} rows through `prophecy predict --out`, the bank alone, on one core of that busy "
        f"machine (benchmarks/results/bank_file.json): {whole['seconds']:.0f} s and "
        f"{whole['peak_megabytes']:.0f} MB with the whole bank, whose error is {whole['relative_error']:.3f} of the "
        f"better of copy and straight line; the small bank that 0.1.0 had for long files took {quick['seconds']:.0f} s "
        f"and erred by {quick['relative_error']:.3f}. Memory does not grow with the file: it is read in pieces.",
        "",
        f"State: {size / 1e3:.1f} kB a series, so a million series need {size / 1e3:.0f} GB, plus a ring of "
        f"{RING} values ({8 * RING / 1e3:.1f} kB, taken as it fills), which seasons and `forecast` read, and 2.3 kB of "
        "clock and samples.",
    ]
    return "\n".join(lines)


def insert(result: dict[str, Any]) -> None:
    page = DOCUMENT.read_text()
    begin, end = "<!-- cost -->", "<!-- end of cost -->"
    before, after = page[: page.index(begin) + len(begin)], page[page.index(end) :]
    _files.write_atomic(DOCUMENT, f"{before}\n{text(result)}\n{after}".encode())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--earlier", type=Path)
    parser.add_argument("--alone", type=Path)
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=5_000_000, help="of the file; 0 for none")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    if asked.text:
        insert(json.loads(RESULTS.read_text()))
        return 0
    if asked.earlier is None:
        parser.error("--earlier must name the src folder of an earlier checkout")
    versions = {"now": Path(__file__).parent.parent / "src", "earlier": asked.earlier}
    timed = versions | ({"alone": asked.alone} if asked.alone else {})
    found: dict[str, dict[str, float]] = {name: {} for name in timed}
    for _ in range(asked.rounds):
        for name, src in timed.items():
            for case, microseconds in measured(src).items():
                found[name][case] = min(found[name].get(case, np.inf), microseconds)
    ratios = {
        name: {case: found["earlier"][case] / took for case, took in cases.items()} for name, cases in found.items()
    }
    result = {
        "version": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "load": os.getloadavg()[0],
        "rounds": asked.rounds,
        "microseconds_a_value": found,
        "times_as_fast_as_earlier": ratios,
        "file": {"rows": asked.rows, **files(versions, asked.rows)} if asked.rows else None,
    }
    _files.write_json(asked.out, result)
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
