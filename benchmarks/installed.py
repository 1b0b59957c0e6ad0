"""What the base package takes on disk with all it depends on, now and before kernels were compiled ahead.

    python -m benchmarks installed

Each set of requirements is installed into a folder of its own, without byte code; sizes are those of the files that the
installer lists for each package. Version 0.2.0 compiled with Numba and needed LLVM.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.first_answer import ROOT, wheel
from benchmarks.harness import Options, single

EARLIER = ("numpy>=1.26", "scipy>=1.11.2", "numba==0.61.*", "threadpoolctl>=3.5", "platformdirs>=4", "narwhals>=2")
"""Requirements of 0.2.0; the package itself, of Python alone, is left out."""


def sizes(requirements: list[str], folder: Path) -> dict[str, Any]:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, "--target", folder, *requirements], check=True)
    found = {}
    for package in metadata.distributions(path=[str(folder)]):
        paths = [Path(str(package.locate_file(file))) for file in package.files or ()]
        bytes_ = sum(os.path.getsize(path) for path in paths if path.is_file())
        found[f"{package.name} {package.version}"] = round(bytes_ / 1e6, 1)
    largest = dict(sorted(found.items(), key=lambda item: -item[1]))
    return {"megabytes": round(sum(found.values()), 1), "packages": largest}


def measured(_: Options) -> dict[str, Any]:
    base = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours = [str(path) for path in wheel(folder)]
        return {
            "python": sys.version.split()[0],
            "now": sizes([*ours, *base], folder / "now"),
            "0.2.0, dependencies alone": sizes(list(EARLIER), folder / "earlier"),
        }


if __name__ == "__main__":
    single(__doc__, measured)
