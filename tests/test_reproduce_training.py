"""The trained runs are the models they say: same numbers as the package, right gradients, independent seeds."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from prophecy import legt, next_value, run, signals  # noqa: E402
from prophecy.engines.torch_lifted import impulse_responses  # noqa: E402
from prophecy.nn.memory import discretised  # noqa: E402
from reproduction import switching, trained_runs  # noqa: E402
from reproduction.framework import Ask  # noqa: E402
from reproduction.trained import __main__ as command  # noqa: E402
from reproduction.trained import common, memories, perceptron, readouts, selective  # noqa: E402

SMALL = common.TrainingPlan(order=4, samples=400, steps=3, batch=3, pool=6, functions=2, checks=2)


@pytest.fixture(autouse=True)
def one_thread():  # type: ignore[no-untyped-def]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(("samples", "start"), [(2, 0), (9, 4), (500, 250), (501, 17), (64, 0)])
def test_convolution_and_features_equal_stepping_the_system(samples: int, start: int) -> None:
    system = next_value(legt(5, window=float(1000)), dt=1.0)
    u = np.random.default_rng(0).normal(size=(3, samples))
    A, B, inputs = torch.tensor(system.A), torch.tensor(system.B), torch.tensor(u)
    columns = impulse_responses(A, B, samples)
    kernel, D = torch.tensor(system.C) @ columns, torch.tensor(system.D)
    ahead = common.convolve(inputs, common.spectrum(inputs, start), kernel, D, start)
    expected, _ = run(system, u, engine="step")
    np.testing.assert_allclose(ahead.numpy(), expected[:, start:-1], atol=1e-11)
    read = common.features(A, B, inputs, start, piece=2) @ torch.tensor(np.append(system.C, system.D))
    np.testing.assert_allclose(read.numpy(), expected[:, start:-1], atol=1e-11)


def test_gradients_flow_through_all_four_and_are_right() -> None:
    rng = np.random.default_rng(1)
    u = torch.tensor(rng.normal(size=(2, 13)))

    def predict(A, B, C, D):  # type: ignore[no-untyped-def]
        less, step = discretised("bilinear", A, B, torch.as_tensor(0.1, dtype=A.dtype))
        columns = impulse_responses(less + torch.eye(A.shape[-1], dtype=A.dtype), step, 13)
        return common.convolve(u, common.spectrum(u, 6), C @ columns, D, 6)

    basis = legt(3, window=2.0)
    inputs = [torch.tensor(x, requires_grad=True) for x in (basis.A, basis.B, rng.normal(size=3), np.float64(0.7))]
    assert torch.autograd.gradcheck(predict, inputs)


def test_free_running_weights_equal_feeding_the_system_with_its_own_output() -> None:
    rng = np.random.default_rng(2)
    system = next_value(legt(3, window=40.0), dt=1.0)
    w = rng.normal(size=4)
    A, B = torch.tensor(system.A)[None], torch.tensor(system.B)[None]
    rows = readouts.free_weights(A, B, torch.tensor(w)[None], 5)[0].numpy()
    x, u = rng.normal(size=3), 0.4
    z, said = np.append(x, u), []
    for _ in range(5):
        u = float(w[:-1] @ x + w[-1] * u)
        said.append(u)
        x = system.A @ x + system.B * u
    np.testing.assert_allclose(rows @ z, said, rtol=1e-12)


def test_a_convolution_before_the_layer_equals_convolving_the_input() -> None:
    system = next_value(legt(4, window=400.0), dt=1.0)
    u = np.random.default_rng(3).normal(size=(2, 60))
    taps = np.array([0.9, 0.2, -0.3, 0.1])
    before = np.stack([np.convolve(row, taps)[:60] for row in u])
    expected, _ = run(system, before, engine="step")
    y = torch.tensor(run(system, u, engine="step")[0])[None]
    made = readouts.Readouts(SMALL, [readouts.Variant("v", "construction", taps=4)], [0], torch.device("cpu"))
    with torch.no_grad():
        made.taps["v"].copy_(torch.tensor(taps)[None])
        errors = made._convolved("v", y, torch.zeros_like(y))
    np.testing.assert_allclose(errors[0].numpy(), expected[:, 3:], atol=1e-12)


def test_the_untouched_construction_scores_what_the_package_scores() -> None:
    plan = common.TrainingPlan(steps=1, functions=4, batch=2, pool=2)
    result = readouts.train(plan, "radians", [0], variants=readouts.PAPER[:1])
    u = signals.mixed(4, seed=common.EVALUATION_SEED)
    y, _ = run(next_value(legt(32, window=10.0), dt=1e-3), u)
    first = trained_runs.stats(result, "mixed, held out", "II", 0)
    assert first[0] == pytest.approx(np.abs(y[:, 5000:-1] - u[:, 5001:]).mean(), rel=1e-9)
    assert trained_runs.stats(result, "mixed, held out", "I", 0)[0] == pytest.approx(first[0], rel=1e-12)


def test_the_solved_readout_has_the_least_squared_error_on_its_pool() -> None:
    plan = common.TrainingPlan(order=6, samples=300, steps=0, batch=3, pool=5, functions=2, checks=1)
    result = readouts.train(plan, "radians", [0], variants=readouts.PAPER[:1])
    pool = common.training_pool(plan, "radians", 0)
    system = next_value(legt(6, 1.0), 1.0 / 300)
    z = common.features(torch.tensor(system.A), torch.tensor(system.B), torch.tensor(pool), plan.start).numpy()
    rows, wanted = z.reshape(-1, 7), pool[:, plan.start + 1 :].ravel()
    weights = np.linalg.lstsq(rows, wanted, rcond=1e-13)[0]
    lines = common.evaluation_sets(plan, "radians")["linear"]
    held = common.features(torch.tensor(system.A), torch.tensor(system.B), torch.tensor(lines), plan.start).numpy()
    expected = np.abs(held @ weights - lines[:, plan.start + 1 :]).mean()
    assert trained_runs.solved(result, "linear") == pytest.approx(expected, rel=1e-4)


def test_every_pass_uses_every_function_once() -> None:
    plan = common.TrainingPlan(pool=10, batch=4)
    batches = common.Batches(plan, 0)
    seen = [batches.next() for _ in range(6)]
    assert [len(batch) for batch in seen] == [4, 4, 2, 4, 4, 2]
    for one_pass in (seen[:3], seen[3:]):
        assert sorted(np.concatenate(one_pass).tolist()) == list(range(10))


@pytest.mark.parametrize("module", [readouts, memories])
def test_a_seed_does_not_depend_on_its_neighbours(module) -> None:  # type: ignore[no-untyped-def]
    alone = module.train(SMALL, "radians", [1])["history"][-1]["scores"]
    together = module.train(SMALL, "radians", [0, 1])["history"][-1]["scores"]
    for score in alone:
        twin = next(s for s in together if all(s[k] == score[k] for k in ("dataset", "variant", "seed")))
        if score["mae"] is None:
            assert twin["mae"] is None
        else:
            assert twin["mae"] == pytest.approx(score["mae"], rel=1e-6)


def test_training_the_discrete_memory_at_the_papers_rate_blows_up() -> None:
    plan = common.TrainingPlan(samples=4000, steps=10, batch=6, pool=12, functions=3, checks=2)
    found = trained_runs.stats(memories.train(plan, "radians", [0]), "mixed, held out", "IV discrete")
    assert found is None or found[0] > 1.0


def test_the_selective_ssm_is_causal_and_starts_at_copying() -> None:
    torch.manual_seed(0)
    model = selective.SelectiveSSM(3, 2)
    u = torch.randn(2, 40)
    assert torch.equal(model(u), u)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        whole, part = model(u), model(u[:, :25])
    torch.testing.assert_close(whole[:, :25], part)


def test_the_selective_ssm_is_its_recurrence_written_out() -> None:
    torch.manual_seed(1)
    model = selective.SelectiveSSM(2, 3)
    with torch.no_grad():
        model.read.weight.normal_()
        u = torch.randn(1, 12)
        said = model(u)
        past = torch.stack([torch.cat([u[:, :1].expand(-1, i), u], 1)[:, :12] for i in range(4)], -1)
        x = torch.zeros(2, 3)
        for k in range(12):
            h = torch.nn.functional.silu(model.embed(past[0, k]))
            step = torch.nn.functional.softplus(model.step(h))
            x = torch.exp(-step[:, None] * torch.exp(model.decay)) * x + (step * h)[:, None] * model.into(h)
            y = x @ model.out(h) + model.skip * h
            expected = u[0, k] + model.read(y * torch.nn.functional.silu(model.gate(h)))[0]
            assert float(said[0, k]) == pytest.approx(float(expected), abs=1e-5)


def test_networks_trained_side_by_side_are_those_trained_alone() -> None:
    z = np.random.default_rng(0).normal(size=(30, 4))
    data = [(z, z[:, :2] ** 2)]
    plan = perceptron.PerceptronPlan(hidden=5, steps=20)
    both, _ = perceptron._trained(plan, data, [3, 4], torch.device("cpu"))
    alone, _ = perceptron._trained(plan, data, [4], torch.device("cpu"))
    first = torch.tensor(z)[None]
    with torch.no_grad():
        twin = both(torch.cat([first, first]))[1]
        torch.testing.assert_close(twin, alone(first)[0], rtol=1e-6, atol=1e-8)


def test_all_runs_in_miniature_write_files_that_say_where_they_were_made(tmp_path: Path) -> None:
    command.main(["--out", str(tmp_path), "--small", "--seeds", "0"])
    names = {path.stem for path in tmp_path.glob("*.json")}
    assert names == set(command.runs())
    for path in tmp_path.glob("*.json"):
        result = json.loads(path.read_text())
        assert result["run"] == path.stem
        assert result["seconds"] > 0
        assert {"prophecy", "python", "torch", "numpy"} <= set(result["versions"])
        assert result["device"].startswith("CPU")


def test_a_finished_run_is_skipped_and_an_unknown_one_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "selective.json").write_text("{}")
    command.main(["selective", "--out", str(tmp_path), "--small"])
    assert "selective: there already" in capsys.readouterr().out
    assert (tmp_path / "selective.json").read_text() == "{}"
    with pytest.raises(SystemExit):
        command.main(["nonsense", "--out", str(tmp_path)])
    assert "unknown run 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["readouts-radians", "readouts-cycles", "memories-radians", "memories-cycles"])
def test_the_committed_runs_have_the_papers_size_and_name_their_device(name: str) -> None:
    run_ = trained_runs.committed(name)
    assert run_ is not None
    plan = {key: value for key, value in run_["plan"].items() if key != "checks"}
    assert plan == {
        "order": 32, "samples": 10_000, "steps": 8_000, "batch": 128, "pool": 1_000, "learning_rate": 2e-3,
        "functions": 128,
    }  # fmt: skip
    assert run_["seeds"] == [0, 1, 2]
    assert "H200" in run_["device"]
    assert run_["history"][-1]["step"] == 8_000


def test_the_committed_construction_is_what_this_package_computes_now() -> None:
    run_ = trained_runs.committed("readouts-radians")
    u = signals.filtered_noise(0.1, 128, seed=common.EVALUATION_SEED)
    y, _ = run(next_value(legt(32, 1.0), 1e-4), u)
    expected = np.abs(y[:, 5000:-1] - u[:, 5001:]).mean()
    assert run_ is not None
    assert trained_runs.stats(run_, "Filtered Noise", "II")[0] == pytest.approx(expected, rel=1e-5)


def test_full_means_the_papers_size_and_a_quick_look_is_cut_down() -> None:
    assert trained_runs.plan(Ask(full=True)) == common.FULL == common.TrainingPlan()
    assert trained_runs.plan(Ask()) == common.SHORT
    assert trained_runs.plan(Ask(functions=10)).steps == common.SHORT.steps // 10


def test_a_missing_gpu_is_named() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(ValueError, match="device 'cuda' is not available"):
        readouts.train(SMALL, "radians", [0], "cuda")


def test_a_diverged_number_is_none_in_the_file() -> None:
    assert common.finite(math.nan) is None
    assert common.finite(math.inf) is None
    assert command.rounded({"a": [1.23456789e-7, 3, None, "x"]}) == {"a": [1.23457e-7, 3, None, "x"]}


def test_the_data_of_the_gate_and_of_its_rival_are_the_same() -> None:
    data = switching.sequences(3, 0.05, switching.SEED)
    again = switching.sequences(3, 0.05, switching.SEED)
    np.testing.assert_array_equal(data.seen, again.seen)


def test_a_seed_that_has_diverged_has_no_mean() -> None:
    def run(error: float | None) -> dict[str, object]:
        scores = [{"dataset": "a", "variant": "I", "seed": s, "mae": e} for s, e in enumerate((0.5, error))]
        return {"history": [{"step": 0, "scores": scores}]}

    assert trained_runs.stats(run(1.5), "a", "I") == (1.0, 0.5, 1.5)
    for gone in (None, 2.7e201, float("nan")):
        assert trained_runs.stats(run(gone), "a", "I") is None
