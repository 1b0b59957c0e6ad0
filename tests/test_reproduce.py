"""The reproduction runs in pieces, survives anything, and says clearly what is wrong with what it was asked."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from reproduction import registry, runner
from reproduction.framework import Ask, Experiment, Outcome, Unit
from reproduction.rows import agrees, chunks, row

NAMES = {
    "fig-van-der-pol",
    "fig-order-filtered",
    "fig-order-white",
    "fig-training",
    "fig-context",
    "fig-signals",
    "table-signals",
    "table-odes",
    "theory",
    "discretisation",
    "legs",
    "baselines",
    "fout-search",
    "reconstruction",
    "trained",
    "further-signals",
    "solvers",
    "gating",
    "layers",
    "several-steps",
    "convolution",
}
ROOT = Path(__file__).parents[1]
ROW = {"dataset", "parameter", "method", "order", "metric", "mean", "std", "paper_mean", "paper_std"}


class Toy(Experiment):
    """Squares of numbers, one piece per ten, counting its calls."""

    name = "toy"
    title = "Squares"
    reference = "none"
    place = 1
    functions = 30

    def __init__(self) -> None:
        self.calls: list[str] = []

    def units(self, ask: Ask) -> list[Unit]:
        return [Unit(f"{a}+{n}", {"first": a, "count": n}) for a, n in chunks(self.size(ask), 10)]

    def compute(self, ask: Ask, unit: Unit) -> object:
        self.calls.append(unit.name)
        first, count = unit.arguments["first"], unit.arguments["count"]
        return [(ask.seed + k) ** 2 / 3 for k in range(first, first + count)]

    def gather(self, ask: Ask, parts: Mapping[str, object]) -> Outcome:
        values = [value for part in parts.values() for value in part]  # type: ignore[attr-defined]
        return Outcome([row("numbers", None, "square", None, "mse", values)])


@pytest.fixture
def toy() -> Toy:
    return Toy()


def mean(path: Path) -> float:
    return float(json.loads(path.read_text())["rows"][0]["mean"])


def test_a_missing_gpu_is_named_before_any_work(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(ValueError, match="device 'cuda' is not available"):
        runner.reproduce(["fig-signals", "fig-training"], Ask(device="cuda"), tmp_path)
    assert not list(tmp_path.iterdir())


def test_every_experiment_of_the_paper_is_there() -> None:
    assert set(registry.experiments()) >= NAMES


def test_the_list_of_experiments_loads_with_numpy_and_scipy_alone() -> None:
    code = (
        "import sys\n"
        "from reproduction import registry\n"
        "assert registry.experiments()\n"
        "heavy = {'matplotlib', 'torch', 'pandas', 'rich', 'typer', 'nengo', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_a_second_run_computes_nothing(toy: Toy, tmp_path: Path) -> None:
    (first,) = runner.compute([toy], Ask(), tmp_path)
    stamp = first.read_bytes()
    toy.calls.clear()
    (second,) = runner.compute([toy], Ask(), tmp_path)
    assert toy.calls == []
    assert second.read_bytes() == stamp


def test_only_what_changed_is_computed_again(toy: Toy, tmp_path: Path) -> None:
    runner.compute([toy], Ask(functions=20), tmp_path)
    toy.calls.clear()
    runner.compute([toy], Ask(functions=35), tmp_path)
    assert toy.calls == ["20+10", "30+5"]
    toy.calls.clear()
    runner.compute([toy], Ask(functions=35, seed=1), tmp_path)
    assert len(toy.calls) == 4


def test_a_new_version_or_new_settings_compute_everything_again(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner.compute([toy], Ask(), tmp_path)
    for change in ("version", "settings"):
        toy.calls.clear()
        if change == "version":
            runner.compute([toy], Ask(), tmp_path, version="99.0")
        else:
            monkeypatch.setattr(Toy, "settings", lambda self, ask: {"new": 1})
            runner.compute([toy], Ask(), tmp_path)
        assert len(toy.calls) == 3, change


def test_a_run_that_failed_half_way_is_taken_up_where_it_stopped(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = mean(runner.compute([toy], Ask(), tmp_path / "whole")[0])
    plain = Toy.compute

    def failing(self: Toy, ask: Ask, unit: Unit) -> object:
        if unit.name == "20+10":
            raise KeyboardInterrupt
        return plain(self, ask, unit)

    monkeypatch.setattr(Toy, "compute", failing)
    with pytest.raises(KeyboardInterrupt):
        runner.compute([toy], Ask(), tmp_path / "broken")
    assert not (tmp_path / "broken" / "toy.json").exists()
    monkeypatch.setattr(Toy, "compute", plain)
    toy.calls.clear()
    assert mean(runner.compute([toy], Ask(), tmp_path / "broken")[0]) == whole
    assert toy.calls == ["20+10"]


def test_the_tables_come_first_and_each_page_is_announced_when_its_file_is_there(toy: Toy, tmp_path: Path) -> None:
    class Early(Toy):
        name = "early"
        place = 9
        early = True

    second = Early()
    told: list[str] = []

    def finished(experiment: Experiment) -> None:
        assert (tmp_path / f"{experiment.name}.json").exists()
        told.append(experiment.name)

    paths = runner.compute([toy, second], Ask(), tmp_path, finished=finished)
    assert told == ["early", "toy"]
    assert [path.stem for path in paths] == ["toy", "early"], "files are returned in the report's order"


def test_damaged_files_are_computed_again(toy: Toy, tmp_path: Path) -> None:
    (result,) = runner.compute([toy], Ask(), tmp_path)
    before = mean(result)
    piece = sorted((tmp_path / "cache" / "toy").iterdir())[0]
    piece.write_text(piece.read_text()[:20])
    result.write_text("{")
    toy.calls.clear()
    runner.compute([toy], Ask(), tmp_path)
    assert len(toy.calls) == 1
    assert mean(result) == before


@pytest.mark.parametrize(
    ("names", "ask", "jobs", "message"),
    [
        (["tabel-signals"], Ask(), 1, "unknown experiment 'tabel-signals'; did you mean 'table-signals'"),
        (["zzz"], Ask(), 1, "unknown experiment 'zzz'; known are reconstruction"),
        ([], Ask(functions=0), 1, "functions must be at least 1, got 0"),
        ([], Ask(seed=-1), 1, "seed must lie between 0 and 2147483647, got -1"),
        ([], Ask(seed=2**31), 1, "seed must lie between 0 and 2147483647, got 2147483648"),
        ([], Ask(), 0, "jobs must be at least 1, got 0"),
    ],
)
def test_bad_wishes_are_named(tmp_path: Path, names: list[str], ask: Ask, jobs: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runner.reproduce(names, ask, tmp_path, jobs)
    assert not list(tmp_path.iterdir()), "nothing was written"


def test_an_unwritable_folder_is_named_before_any_work(toy: Toy, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot write to .*file.*--out"):
        runner.compute([toy], Ask(), tmp_path / "file" / "sub")
    assert toy.calls == []


def test_a_missing_extra_is_named_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"fig-training needs torch; install it with: pip install"):
        runner.reproduce(["fig-signals", "fig-training"], Ask(functions=1), tmp_path)
    assert not list(tmp_path.iterdir())


SCRIPT = (
    "import sys\n"
    "from reproduction import runner\n"
    "from reproduction.framework import Ask\n"
    "if __name__ == '__main__':\n"
    "    runner.reproduce(['table-signals'], Ask(functions=50), sys.argv[1], int(sys.argv[2]))\n"
)
PLACES = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
ENVIRONMENT = {**os.environ, "PYTHONPATH": PLACES, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def pieces(out: Path) -> int:
    """Finished ones: a file that is being written has a name that begins with a dot."""
    return sum(not path.name.startswith(".") for path in (out / "cache").glob("*/*.json"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed")
    (out / "run.py").write_text(SCRIPT)
    subprocess.run([sys.executable, str(out / "run.py"), str(out), "1"], check=True, env=ENVIRONMENT)
    return out


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_at_any_moment_the_next_run_ends_with_the_numbers_of_one_undisturbed_process(
    tmp_path: Path, undisturbed: Path, jobs: int
) -> None:
    command = [sys.executable, str(undisturbed / "run.py"), str(tmp_path), str(jobs)]
    targets, moments = [1, pieces(undisturbed) // 2], random.Random()
    while targets:
        process = subprocess.Popen(command, env=ENVIRONMENT, start_new_session=True)
        while process.poll() is None and pieces(tmp_path) < targets[0]:
            time.sleep(0.002)
        time.sleep(moments.uniform(0.0, 0.03))
        process.send_signal(signal.SIGKILL)
        if process.wait() == -signal.SIGKILL:
            del targets[0]
        else:  # it had ended before the kill: begin afresh
            assert process.returncode == 0
            shutil.rmtree(tmp_path / "cache")
    subprocess.run(command, check=True, env=ENVIRONMENT)
    ours, theirs = (json.loads((out / "table-signals.json").read_text()) for out in (tmp_path, undisturbed))
    assert ours["rows"] == theirs["rows"]
    assert ours["details"] == theirs["details"]


def started(out: Path) -> "subprocess.Popen[str]":
    """A long run of the command with two processes that has finished its first piece."""
    pytest.importorskip("typer")
    command = [sys.executable, "-m", "reproduction", "table-signals", "--functions", "4000", "--jobs", "2"]
    process = subprocess.Popen(
        [*command, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
        # Where the tests themselves run in the background, Ctrl-C is ignored from the start, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while process.poll() is None and not pieces(out):
        time.sleep(0.01)
    return process


def test_ctrl_c_stops_at_once_and_says_how_to_go_on(tmp_path: Path) -> None:
    process = started(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "run the same command again" in errors
    assert "Traceback" not in errors
    assert pieces(tmp_path), "what was finished is kept"


def test_a_worker_that_dies_is_reported_and_costs_nothing_finished(tmp_path: Path) -> None:
    process = started(tmp_path)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        process.kill()
        process.communicate()
        pytest.skip("children are looked up in /proc")
    workers = [pid for pid in children.read_text().split() if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]
    os.kill(int(workers[0]), signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2, errors
    assert "a worker process died" in errors.replace("\n", " ")
    assert pieces(tmp_path)


def test_rows_follow_the_schema_and_refuse_what_is_no_number() -> None:
    line = row("White", 1.0, "LegT", 33, "mse", [1.0, 3.0], (2.0, 0.5))
    assert set(line) == ROW
    assert (line["mean"], line["std"]) == (2.0, 1.0)
    with pytest.raises(ArithmeticError, match="LegT"):
        row("White", 1.0, "LegT", 33, "mse", [float("nan")])


@pytest.mark.parametrize(
    ("ours", "paper", "std", "same"),
    [(1.1, 1.0, 0.2, True), (1.3, 1.0, 0.2, False), (1.14, 1.0, None, True), (0.8, 1.0, None, False)],
)
def test_agreement_is_one_standard_deviation_or_fifteen_percent(
    ours: float, paper: float, std: float | None, same: bool
) -> None:
    assert agrees(row("x", None, "m", None, "mse", ours, (paper, std))) is same


def test_a_row_the_paper_does_not_have_agrees_with_nothing() -> None:
    assert agrees(row("x", None, "m", None, "mse", 1.0)) is None
