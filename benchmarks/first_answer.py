"""How long a newcomer waits: the README's Python and commands in fresh processes, imports included.

    python -m benchmarks first_answer

A wheel is built and installed into an environment of its own: an editable install looks for changed sources whenever
it is loaded. Wall and processor seconds of each, the median and the least of several runs; the
first run, which may read files from disk, is not counted.
"""

from __future__ import annotations

import re
import resource
import site
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Options, load, option, single
from benchmarks.speed.measure import machine

ROOT = Path(__file__).parent.parent
SENSOR = ROOT / "examples" / "sensor.csv"


def wheel(folder: Path) -> list[Path]:
    """The wheel of this checkout, built into a folder."""
    build = ROOT / "build" / f"wheel-cp{sys.version_info.major}{sys.version_info.minor}"  # not the editable one's
    make = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*make, f"-Cbuild-dir={build}", "-w", str(folder), str(ROOT)], check=True)
    return list(folder.glob("*.whl"))


def installed(folder: Path) -> str:
    """The interpreter of an environment with the wheel, and with the dependencies of this one."""
    venv.create(folder / "env")
    (packages,) = (folder / "env").glob("lib/python3*/site-packages")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", packages, *wheel(folder)], check=True)
    (packages / "rest.pth").write_text(
        "\n".join(site.getsitepackages() + [path for path in sys.path if "site-p" in path])
    )
    return str(folder / "env" / "bin" / "python")


def commands(python: str) -> dict[str, list[str]]:
    code = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)[0]
    line = [python, "-m", "prophecy.cli"]
    return {
        "the README's Python": [python, "-c", code],
        "prophecy --help": [*line, "--help"],
        "prophecy forecast": [*line, "forecast", str(SENSOR), "--horizon", "48"],
        "prophecy forecast --plot": [*line, "forecast", str(SENSOR), "--horizon", "48", "--plot", "out.html"],
    }


def seconds(command: list[str], folder: str) -> tuple[float, float]:
    """Wall and processor time of one run."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(options: Options) -> dict[str, Any]:
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands(installed(Path(folder))).items():
            runs = np.array([seconds(command, folder) for _ in range(options.runs + 1)][1:])
            found[name] = {
                kind: {"median": round(float(np.median(column)), 3), "least": round(float(column.min()), 3)}
                for kind, column in zip(("wall", "processor"), runs.T, strict=True)
            }
    return {"runs": options.runs, "machine": machine(), "load": round(load(), 1), "seconds": found}


if __name__ == "__main__":
    single(__doc__, measured, option("--runs", type=int, default=9))
