"""The benchmarks check before they time, and say nothing about speed when a check fails."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import prophecy
from prophecy.benchmarks import cpu, measure, peers, runner
from prophecy.benchmarks.measure import Case, Entry

DOCS = Path(__file__).parent.parent / "docs"
RESULTS = DOCS.parent / "benchmarks" / "results"


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """The scripts that make tables of pages, and that of the page about speed."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("blocks"), importlib.import_module("speed")


def _case(error: float) -> Case:
    entries = [Entry("ours", "ours", 0.5, error), Entry("loop", "peer", 2.0), Entry("copy", "ceiling", 0.1)]
    return Case("toy", "toy: 100 samples", {"order": 2}, 100, 1e-6, entries, {"loop": 3.0, "copy": 0.5})


def test_ratios_are_peers_over_ours_and_shares_of_ceilings() -> None:
    case = _case(1e-9)
    assert case.ratios() == {"loop": 4.0, "copy": 0.2}
    text = measure.describe(case)
    assert "ours is 4×" in text
    assert "reaches 0.2 of it" in text
    assert "loop ≥ 3: 4 reached" in text
    assert "copy ≥ 0.5: 0.2 missed" in text


@pytest.mark.parametrize("error", [1e-3, float("nan"), float("inf")])
def test_no_speed_is_printed_when_the_check_fails(error: float) -> None:
    case = _case(error)
    assert not case.passed()
    assert "FAILED" in measure.describe(case)
    assert not any(word in measure.describe(case) for word in ("/s", "×", "reaches"))
    assert case.as_dict()["ratios"] == {}


def test_nan_anywhere_is_infinitely_wrong() -> None:
    assert measure.relative_error(np.array([1.0, np.nan]), np.ones(2)) == float("inf")
    assert measure.relative_error(np.array([1.0, 1.1]), np.ones(2)) == pytest.approx(0.1 / np.sqrt(2))


def test_contestants_take_turns() -> None:
    order: list[str] = []
    measure.in_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=2)
    assert order == ["a", "b", "a", "b", "a", "b"]


def test_every_peer_computes_the_same_predictions() -> None:
    system = cpu.system_of(12)
    u = np.random.default_rng(0).standard_normal((3, 400))
    expected, _ = prophecy.run(system, u, engine="step")
    assert measure.relative_error(peers.scipy_fft(system, u)(), expected) < 1e-12
    assert measure.relative_error(peers.scipy_dlsim(system, u[0])(), expected[0]) < 1e-12
    assert measure.relative_error(np.array(peers.plain_steps(system, u[1].tolist())), expected[1]) < 1e-12
    pytest.importorskip("torch")
    assert measure.relative_error(peers.torch_loop(system, u)(), expected) < 1e-12
    assert measure.relative_error(peers.torch_fft(system, u)(), expected) < 1e-12


def test_recursive_least_squares_learns_an_autoregression() -> None:
    values = [1.0, 0.5]
    for _ in range(1000):
        values.append(1.5 * values[-1] - 0.999 * values[-2])
    predicted = peers.recursive_least_squares(values, lags=2, forget=0.99)
    assert predicted[-2] == pytest.approx(values[-1], abs=1e-3 * max(map(abs, values[-20:])))


@pytest.mark.parametrize("name", ["batch-double", "stream-fout", "legs-batch"])
def test_the_cases_run_and_pass_their_checks(name: str) -> None:
    for module in ("torch", "river"):
        pytest.importorskip(module)
    case = cpu.CASES[name](1, True)
    assert case.passed()
    assert len(case.ratios()) >= 2


def test_the_command_lists_refuses_and_writes(tmp_path: Path) -> None:
    for module in ("typer", "river"):
        pytest.importorskip(module)

    def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
        code = "import typer; from prophecy.commands import bench; app = typer.Typer(); bench.register(app); app()"
        return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)

    listed = bench("--list")
    assert listed.stdout.split() == [*cpu.CASES, "prophecy", "csv", "scaling"]
    wrong = bench("no-such-case")
    assert wrong.returncode == 2
    assert "unknown benchmark 'no-such-case'" in wrong.stderr
    assert "stream-legt" in wrong.stderr
    ran = bench("stream-fout", "--quick", "--rounds", "1", "--json", str(tmp_path / "out.json"))
    assert ran.returncode == 0, ran.stderr
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["cases"][0]["passed"] is True
    assert "observe + predict" in ran.stdout


def test_the_table_tells_only_of_cases_that_passed(pages: tuple[ModuleType, ModuleType]) -> None:
    good, bad = _case(0.0).as_dict(), _case(1.0).as_dict()
    for case in (good, bad):
        case["settings"] = {"series": 10, "samples": 10, "order": 2, "dtype": "float64"}
    lines = pages[1].markdown([{"cases": [good, bad]}]).splitlines()
    assert len(lines) == 3
    assert "4 × loop" in lines[2]


@pytest.mark.skipif(not RESULTS.exists(), reason="only in a checkout")
@pytest.mark.parametrize("name", ["cpu.json", "gpu.json"])
def test_the_committed_results_are_checked_runs_with_their_settings(name: str) -> None:
    result = json.loads((RESULTS / name).read_text())
    assert result["version"]
    assert result["cases"]
    assert all(case["passed"] for case in result["cases"])


def test_a_result_keeps_the_cases_that_were_not_run_again() -> None:
    old = {"cases": [{"case": "a", "seconds": 1}, {"case": "b", "seconds": 2}], "scaling": [1], "machine": "old"}
    new = {"cases": [{"case": "b", "seconds": 3}, {"case": "c", "seconds": 4}], "scaling": [], "machine": "new"}
    made = runner.merged(old, new)
    assert made["cases"] == [{"case": "a", "seconds": 1}, {"case": "b", "seconds": 3}, {"case": "c", "seconds": 4}]
    assert (made["scaling"], made["machine"]) == ([1], "old")


def test_a_table_goes_between_the_marks_and_nowhere_else(tmp_path: Path, pages: tuple[ModuleType, ModuleType]) -> None:
    page, marks = tmp_path / "page.md", ("<!-- toy: python docs/toy.py -->", "<!-- /toy -->")
    page.write_text(f"before\n{marks[0]}\nold\n{marks[1]}\nafter\n")
    write = partial(pages[0].write, page, "toy.py", {"toy": lambda: "| new |"})
    assert write(["--check"]) == "page.md is not what the result files say; run python docs/toy.py"
    assert write([]) == 0
    assert page.read_text() == f"before\n{marks[0]}\n| new |\n{marks[1]}\nafter\n"
    assert write(["--check"]) == 0
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="once, found 0"):
        write([])
    assert page.read_text() == "no marks"
