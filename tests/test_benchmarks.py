"""The benchmarks check before they time, and say nothing about speed when a check fails."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import blocks
import numpy as np
import pytest
import speed as speed_page

import prophecy
from benchmarks import catalogue, harness, stamps
from benchmarks.speed import cpu, measure, peers
from benchmarks.speed import run as speed
from benchmarks.speed.measure import Case, Entry
from reproduction import keys

DOCS = Path(__file__).parent.parent / "docs"
RESULTS = DOCS.parent / "benchmarks" / "results"


def _case(error: float) -> Case:
    entries = [Entry("ours", "ours", 0.5, error), Entry("loop", "peer", 2.0), Entry("copy", "ceiling", 0.1)]
    return Case("toy", "toy: 100 samples", {"order": 2}, 100, 1e-6, entries)


def test_ratios_are_peers_over_ours_and_shares_of_ceilings() -> None:
    case = _case(1e-9)
    assert case.ratios() == {"loop": 4.0, "copy": 0.2}
    text = measure.describe(case)
    assert "ours is 4×" in text
    assert "reaches 0.2 of it" in text


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
    predicted = peers.least_squares(np.array(values), (1, 2), forgetting=0.99)
    assert predicted[-2] == pytest.approx(values[-1], abs=1e-3 * max(map(abs, values[-20:])))


@pytest.mark.parametrize("name", ["batch-double", "stream-fout", "legs-batch"])
def test_the_cases_run_and_pass_their_checks(name: str) -> None:
    for module in ("torch", "river"):
        pytest.importorskip(module)
    case = cpu.CASES[name](1, True)
    assert case.passed()
    assert len(case.ratios()) >= 2


def test_the_command_refuses_and_writes(tmp_path: Path) -> None:
    pytest.importorskip("river")

    def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "benchmarks", "cpu", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=DOCS.parent, check=False)

    wrong = bench("no-such-case")
    assert wrong.returncode == 2
    assert f"unknown part 'no-such-case'; there are: {', '.join(cpu.CASES)}, scaling" in wrong.stderr
    ran = bench("stream-fout", "--quick", "--rounds", "1", "--out", str(tmp_path / "out.json"))
    assert ran.returncode == 0, ran.stderr
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["cases"][0]["passed"] is True
    assert "observe + predict" in ran.stdout


def test_the_table_tells_only_of_cases_that_passed() -> None:
    good, bad = _case(0.0).as_dict(), _case(1.0).as_dict()
    for case in (good, bad):
        case["settings"] = {"series": 10, "samples": 10, "order": 2, "dtype": "float64"}
    lines = speed_page.markdown([{"cases": [good, bad]}]).splitlines()
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
    made: dict[str, Any] = {
        "cases": [{"case": "a", "samples": 1}, {"case": "toy", "samples": 2}],
        "scaling": [1],
        "machine": "old",
    }
    for case in (_case(0.0), replace(_case(0.0), case="c")):
        speed.put(made, case.case, case, Namespace())
    assert [(case["case"], case["samples"]) for case in made["cases"]] == [("a", 1), ("toy", 100), ("c", 100)]
    assert (made["scaling"], made["machine"]) == ([1], "old")


def test_a_table_goes_between_the_marks_and_nowhere_else(
    tmp_path: Path,
) -> None:
    page, marks = tmp_path / "page.md", ("<!-- toy: python docs/toy.py -->", "<!-- /toy -->")
    page.write_text(f"before\n{marks[0]}\nold\n{marks[1]}\nafter\n")
    write = partial(blocks.write, page, "toy.py", {"toy": lambda: "| new |"})
    assert write(["--check"]) == "page.md is not what the result files say; run python docs/toy.py"
    assert write([]) == 0
    assert page.read_text() == f"before\n{marks[0]}\n| new |\n{marks[1]}\nafter\n"
    assert write(["--check"]) == 0
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="once, found 0"):
        write([])
    assert page.read_text() == "no marks"


def benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=DOCS.parent, check=False)


def test_every_benchmark_is_listed_with_what_it_needs_and_those_who_lack_it_are_refused(tmp_path: Path) -> None:
    listed = benchmarks("--data", str(tmp_path))
    assert listed.returncode == 0, listed.stderr
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(catalogue.BENCHMARKS)
    assert "chaos_dev.npz (python -m benchmarks.chaos_data FILE)" in listed.stdout
    refused = benchmarks("forecast_oracle", "--data", str(tmp_path))
    assert refused.returncode == 2
    assert "forecast_oracle needs" in refused.stderr
    assert "invalid choice: 'clmate'" in benchmarks("clmate").stderr
    assert "come after its name" in benchmarks("--rounds").stderr


def test_every_benchmark_is_a_module_and_every_result_file_has_its_benchmark() -> None:
    for benchmark in catalogue.BENCHMARKS.values():
        found = importlib.util.find_spec(benchmark.module)
        assert found is not None, benchmark.module
        asked = re.findall(r"(?<!\w)--[\w-]+", benchmark.arguments)
        if benchmark.module.startswith("examples."):
            assert all(f'"{option}"' in Path(found.origin).read_text() for option in asked)
            continue
        try:
            made = importlib.import_module(benchmark.module).BENCHMARK
        except ModuleNotFoundError:  # of a package that only this benchmark needs
            continue
        known = {name for names, _ in made.options for name in names} | {"--out"}
        known |= {"--jobs", "--subset"} if isinstance(made, harness.Benchmark) else set()
        assert {*asked} <= known, benchmark.module
    # Made by other commands: docs/benchmarks.md.
    others = {"coverage", "cpu-host", "lines", "mutants", "packages"}
    assert {path.stem for path in RESULTS.glob("*.json")} <= {*catalogue.BENCHMARKS, *others}


def _squared(case: int) -> int:
    return case * case


def _ran(monkeypatch: pytest.MonkeyPatch, *arguments: str, measure: object = _squared) -> None:
    monkeypatch.setattr(sys, "argv", ["toy", *arguments])
    sums = lambda rows, options: {"sum": sum(rows), "rows": rows, "of": options.of}  # noqa: E731
    cases = lambda options: range(options.of)  # noqa: E731
    harness.Benchmark("toy", cases, measure, sums, options=(harness.option("--of", type=int, default=7),)).run()


def test_rows_are_of_all_cases_in_their_order_or_of_every_nth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "toy.json"
    _ran(monkeypatch, "--jobs", "2", "--out", str(out))
    assert json.loads(out.read_text()) == {"sum": 91, "rows": [0, 1, 4, 9, 16, 25, 36], "of": 7}
    _ran(monkeypatch, "--subset", "3", "--out", str(out))
    assert json.loads(out.read_text())["rows"] == [0, 9, 36]
    assert list(tmp_path.iterdir()) == [out]


def _fails_at_five(case: int) -> int:
    if case == 5:
        raise ArithmeticError("five")
    return case * case


def test_a_run_that_was_stopped_goes_on_with_the_rows_it_has_unless_its_code_or_options_are_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, left = tmp_path / "toy.json", tmp_path / "toy.rows"
    monkeypatch.setenv(harness.UNFINISHED, "this code")
    with pytest.raises(ArithmeticError):
        _ran(monkeypatch, "--out", str(out), measure=_fails_at_five)
    assert left.read_text().splitlines()[1:] == ["0", "1", "4", "9", "16"]
    left.write_text(left.read_text().replace("\n16\n", "\n1000\n{"))  # rows are taken as they are; a cut one is not
    _ran(monkeypatch, "--out", str(out))
    assert json.loads(out.read_text())["rows"] == [0, 1, 4, 9, 1000, 25, 36]
    assert not left.exists()
    for name, value in (("--of", "6"), ("code", "other")):
        with pytest.raises(ArithmeticError):
            _ran(monkeypatch, "--out", str(out), measure=_fails_at_five)
        left.write_text(left.read_text().replace("\n16\n", "\n1000\n"))
        if name == "code":
            monkeypatch.setenv(harness.UNFINISHED, value)
        _ran(monkeypatch, "--out", str(out), *((name, value) if name != "code" else ()))
        assert json.loads(out.read_text())["rows"][4] == 16


def test_parts_replace_their_own_entry_of_a_result_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "toy.json"
    out.write_text(json.dumps({"one": 1, "two": 2}))
    toy = harness.Parts("toy", lambda options: {"one": lambda: 10, "three": lambda: 30}, facts=lambda _: {"keys": 5})
    monkeypatch.setattr(sys, "argv", ["toy", "one", "--out", str(out)])
    toy.run()
    assert json.loads(out.read_text()) == {"one": 10, "two": 2, "keys": 5}
    monkeypatch.setattr(sys, "argv", ["toy", "five", "--out", str(out)])
    with pytest.raises(SystemExit):
        toy.run()


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stamps, "FOLDER", tmp_path)
    monkeypatch.setattr(stamps, "BENCHMARKS", {name: catalogue.BENCHMARKS[name] for name in ("kills", "fleet", "cpu")})
    return tmp_path


def test_results_know_their_code_and_the_oldest_is_made_again_first(results: Path) -> None:
    for name, content in (("kills", {"stamp": "earlier", "a": 1}), ("fleet", [1, 2])):
        (results / f"{name}.json").write_text(json.dumps(content))
        stamps.stamp(name, results / f"{name}.json", 61.0)
    made = json.loads((results / "kills.json").read_text())
    assert (made["a"], made["stamp"]["seconds"], made["stamp"]["code"]) == (1, 61, stamps.code("kills"))
    assert json.loads((results / "fleet.json").read_text())["rows"] == [1, 2]
    assert stamps.stale() == {"cpu": "never made"}
    for name, date in (("kills", "2026-02-01"), ("fleet", "2026-01-01")):
        content = json.loads((results / f"{name}.json").read_text())
        content["stamp"] |= {"date": date, "code": "older"}
        (results / f"{name}.json").write_text(json.dumps(content))
    assert list(stamps.stale()) == ["cpu", "fleet", "kills"]
    assert "its code has changed" in stamps.stale()["fleet"]


@pytest.mark.parametrize("name", [name for name in catalogue.BENCHMARKS if name != "installed"])  # bytes on disk
def test_a_result_depends_on_the_package_also_where_other_processes_run_it(name: str) -> None:
    entry = catalogue.BENCHMARKS[name]
    reached = {m for start in (entry.module, *entry.starts) for m, _ in keys.closure(stamps.SOURCES, start, keys.WHOLE)}
    assert len([module for module in reached if module.startswith("prophecy.")]) > 10


def test_what_a_benchmark_imports_is_in_its_digest() -> None:
    reached = {name for name, _ in keys.closure(stamps.SOURCES, "benchmarks.kills", keys.WHOLE)}
    assert {"prophecy.fleet.slots", "prophecy._files"} <= reached
    assert not [name for name in reached if name.startswith("reproduction")]
    assert "reproduction.beyond" in {
        name for name, _ in keys.closure(stamps.SOURCES, "benchmarks.accuracy", keys.WHOLE)
    }


def test_a_table_says_when_and_by_which_commit_its_numbers_were_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "RESULTS", tmp_path)
    (tmp_path / "x.json").write_text(json.dumps({"stamp": {"date": "2026-11-16", "commit": "abc1234"}, "v": 3}))
    (tmp_path / "y.json").write_text("[4]")

    def table() -> str:
        return f"| {blocks.results('x.json')['v']} | {blocks.results('y.json')[0]} |"

    assert blocks.made(table) == (
        "| 3 | 4 |\n\n<small>`x.json`: 2026-11-16, commit abc1234;\n`y.json`: before 0.3, commit not recorded</small>"
    )
