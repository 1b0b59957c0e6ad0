"""What a newcomer waits for, and what the base package takes on disk.

`first_answer`, in seconds: the README's Python and commands in fresh processes, from a wheel in an environment of its
own (an editable install looks for changed sources whenever it is loaded). The first run is not counted.
`installed`, in megabytes: the files that the installer lists for each package, without byte code.
"""

import re
import resource
import site
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import numpy as np

from benchmarks.harness import Measurement, Options, Result, load, option
from benchmarks.speed.measure import machine

ROOT = Path(__file__).parent.parent
SENSOR = ROOT / "examples" / "sensor.csv"
EARLIER = ("numpy>=1.26", "scipy>=1.11.2", "numba==0.61.*", "threadpoolctl>=3.5", "platformdirs>=4", "narwhals>=2")
"""Requirements of 0.2.0; the package itself, of Python alone, is left out."""


def wheel(folder: Path) -> list[str]:
    build = ROOT / "build" / f"wheel-cp{sys.version_info.major}{sys.version_info.minor}"  # not the editable one's
    make = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*make, f"-Cbuild-dir={build}", "-w", str(folder), str(ROOT)], check=True)
    return [str(path) for path in folder.glob("*.whl")]


def install(requirements: list[str], folder: Path, *options: str) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *options]
    subprocess.run([*pip, *requirements], check=True)


def environment(folder: Path) -> str:
    """The interpreter of an environment with the wheel, and with the dependencies of this one."""
    venv.create(folder / "env")
    (packages,) = (folder / "env").glob("lib/python3*/site-packages")
    install(wheel(folder), packages, "--no-deps")
    others = site.getsitepackages() + [path for path in sys.path if "site-p" in path]
    (packages / "rest.pth").write_text("\n".join(others))
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


def seconds(command: list[str], folder: Path) -> tuple[float, float]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_answer(folder: Path, runs: int) -> Result:
    found = {}
    for name, command in commands(environment(folder)).items():
        took = np.array([seconds(command, folder) for _ in range(runs + 1)][1:])
        found[name] = {
            kind: {"median": round(float(np.median(column)), 3), "least": round(float(column.min()), 3)}
            for kind, column in zip(("wall", "processor"), took.T, strict=True)
        }
    return {"runs": runs, "machine": machine(), "load": round(load(), 1), "seconds": found}


def megabytes(requirements: list[str], folder: Path) -> Result:
    install(requirements, folder, "--no-compile", "--disable-pip-version-check")
    found = {}
    for package in metadata.distributions(path=[str(folder)]):
        paths = [Path(str(package.locate_file(file))) for file in package.files or ()]
        size = sum(path.stat().st_size for path in paths if path.is_file())
        found[f"{package.name} {package.version}"] = round(size / 1e6, 1)
    largest = dict(sorted(found.items(), key=lambda item: -item[1]))
    return {"megabytes": round(sum(found.values()), 1), "packages": largest}


def measured(options: Options) -> Result:
    base = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what == "seconds":
            return first_answer(folder, options.runs)
        return {
            "python": sys.version.split()[0],
            "now": megabytes([*wheel(folder), *base], folder / "now"),
            "0.2.0, dependencies alone": megabytes(list(EARLIER), folder / "earlier"),
        }


WHAT = option("what", choices=("seconds", "megabytes"))
BENCHMARK = Measurement(__doc__, measured, (WHAT, option("--runs", type=int, default=9)))
