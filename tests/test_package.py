"""The package: what it exports, what importing it costs, and that its words match its code."""

from __future__ import annotations

import inspect
import json
import os
import pydoc
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import prophecy

ROOT = Path(__file__).parent.parent
NAMES = {
    "Basis",
    "Failure",
    "Fleet",
    "Forecast",
    "Forecasts",
    "Predictor",
    "Prophecy",
    "System",
    "backtest",
    "derivative",
    "forecast",
    "forecast_many",
    "fout",
    "legs",
    "legt",
    "next_value",
    "run",
}


def test_the_public_names_are_these() -> None:
    assert set(prophecy.__all__) == NAMES
    assert all(hasattr(prophecy, name) for name in NAMES)


@pytest.mark.parametrize("name", ["ScaledBasis", "exact", "foud", "fout_as_printed", "series_derivative", "step_bytes"])
def test_names_of_the_last_version_still_work_and_say_where_they_live_now(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"prophecy\.{name} is now prophecy\.\w+\.{name}"):
        assert callable(getattr(prophecy, name))


def test_no_public_name_hides_a_module() -> None:
    modules = {path.stem for path in Path(prophecy.__file__).parent.iterdir()}
    assert not modules & {*prophecy.__all__, "exact"}


@pytest.mark.parametrize("name", ["forecast", "forecast_many", "backtest", "Prophecy"])
def test_signatures_and_help_fit_a_screen(name: str) -> None:
    found = getattr(prophecy, name)
    assert len(str(inspect.signature(found))) < (400 if name == "forecast" else 600)
    assert len(pydoc.render_doc(prophecy.forecast)) < 3_000


def _loaded_by(imports: str) -> set[str]:
    """The modules a fresh interpreter loads for these imports, beyond those it starts with."""
    code = f"import sys; old = {{*sys.modules}}; {imports}; print(*({{*sys.modules}} - old))"
    return {*subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()}


def test_importing_prophecy_loads_nothing_yet() -> None:
    assert not {"numpy", "scipy", "prophecy.streams"} & _loaded_by("import prophecy")


def test_names_and_modules_are_there_before_they_are_loaded() -> None:
    code = "import prophecy; print(prophecy.fading.lagt.__name__, {*prophecy.__all__} <= {*dir(prophecy)})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "lagt True\n"


def test_streams_and_forecasts_load_numpy_and_scipy_alone() -> None:
    """NumPy itself loads charset_normalizer where it happens to be installed; what they load is theirs."""
    ours = _loaded_by("from prophecy import Prophecy, Predictor, run, next_value, forecast, forecast_many, backtest")
    theirs = _loaded_by(
        "; ".join(f"import {m}" for m in sorted(ours) if re.fullmatch(r"(numpy|scipy)(\.[a-z]\w*)*", m))
    )
    foreign = {m.split(".")[0] for m in ours - theirs}
    foreign = {m for m in foreign if m not in sys.stdlib_module_names and not m.startswith(("_", "cython"))}
    assert foreign <= {"prophecy", "numpy", "scipy"}, foreign


def test_the_version_is_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == prophecy.__version__ == metadata.version("hippo-prophecy")
    assert f"## {prophecy.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {prophecy.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_size_of_the_wheel_is_the_one_stated() -> None:
    """benchmarks/results/packages.json is made by tools/packages.py; CONTRIBUTING.md says what is in it."""
    found = json.loads((ROOT / "benchmarks/results/packages.json").read_text())
    page = " ".join((ROOT / "CONTRIBUTING.md").read_text().split())
    for name, words in (("wheel", "The wheel has"), ("sdist", "the sdist, with tests, docs and benchmarks,")):
        made = found[name]
        assert f"{words} {made['bytes'] / 1e3:.0f} kB in {made['files']}" in page
    assert found["wheel"]["bytes"] < 3_000_000  # LARGEST of tools/packages.py; two variants of the kernels
    assert found["tried"]
    assert all(line.endswith(": works") for line in found["tried"])


def test_types_are_shipped_and_the_licence_is_there() -> None:
    assert (ROOT / "src/prophecy/py.typed").exists()
    assert "MIT License" in (ROOT / "LICENSE").read_text()


def test_the_base_requires_four_libraries_and_frames_and_pictures_are_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = {"numpy", "scipy", "threadpoolctl", "narwhals"}
    assert {re.split(r"[<>=]", d)[0] for d in project["dependencies"]} == base


def test_the_time_convention_stands_word_for_word_beside_the_reference_and_every_engine_refers_to_it() -> None:
    lines = [
        "# x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].",
        "x = A @ x + B * u[k]",
        "y[k] = C @ x + D * u[k]",
    ]
    engines = ROOT / "src/prophecy/engines"
    said = [
        ROOT / "docs/notation.md",
        ROOT / "src/prophecy/nn/__init__.py",
        engines / "__init__.py",
        engines / "step.py",
    ]
    assert all(line in path.read_text() for path in said for line in lines)
    helpers = {"_threads", "_triton_selective", "selective", "torch_scan"}
    for path in sorted(engines.glob("*.py")):
        if path not in said and path.stem not in helpers:
            assert re.search(r"`(engines\.step|lifting|torch_lifted)`|C A\^j B", path.read_text()), path.name


def test_a_forecast_from_the_command_line_loads_neither_the_reproduction_nor_the_benchmarks(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["value", *(str(k % 7) for k in range(60))]))
    code = (
        "import sys; from prophecy.cli import main\n"
        f"sys.argv = ['prophecy', 'forecast', {str(table)!r}, '--horizon', '3']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "prophecy.tables.forecasting" in loaded
    assert not [name for name in loaded if name.startswith(("reproduction", "benchmarks"))]


def test_a_build_without_a_c_compiler_stops_at_once_and_says_what_to_install(tmp_path: Path) -> None:
    pytest.importorskip("mesonbuild")
    setup = [sys.executable, "-m", "mesonbuild.mesonmain", "setup", str(tmp_path / "build"), str(ROOT)]
    kept = {name: value for name, value in os.environ.items() if name not in ("CC", "CFLAGS", "CC_LD")}
    done = subprocess.run(setup, env={**kept, "PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "Building prophecy needs a C compiler, and none was found" in said
    assert "apt install gcc" in said
    assert not list((tmp_path / "build").rglob("*.c"))


def test_what_was_called_mean_is_point_and_says_so():
    u = np.sin(np.arange(40) / 3.0)
    fleet = prophecy.Fleet()
    answers = fleet.observe(["a"] * 40, u)
    for made in (prophecy.Prophecy().follow(u), answers, fleet.recent("a"), fleet.predict(["a"])):
        with pytest.warns(DeprecationWarning, match=f"{type(made).__name__}.mean is now {type(made).__name__}.point"):
            assert np.array_equal(made.mean, made.point, equal_nan=True)
