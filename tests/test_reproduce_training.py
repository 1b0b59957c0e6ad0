"""The trained layer is the system of Eq. (5), its gradients are right, and the paper's claims about training hold."""

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from prophecy import legt, next_value, run, signals  # noqa: E402
from prophecy.reproduce import training  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():  # type: ignore[no-untyped-def]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(("samples", "start"), [(2, 0), (9, 4), (500, 250), (501, 17), (64, 0)])
def test_convolution_equals_stepping_the_system(samples: int, start: int) -> None:
    system = next_value(legt(5, window=float(1000)), dt=1.0)
    u = np.random.default_rng(0).normal(size=(3, samples))
    columns = training.impulse_responses(torch.tensor(system.A), torch.tensor(system.B), samples)
    inputs = torch.tensor(u)
    ahead = training.convolve(
        inputs, training.spectrum(inputs, start), torch.tensor(system.C) @ columns, torch.tensor(system.D), start
    )
    expected, _ = run(system, u, engine="step")
    np.testing.assert_allclose(ahead.numpy(), expected[:, start:-1], atol=1e-11)


def test_untrained_layer_scores_what_the_package_scores() -> None:
    plan = training.Plan(steps=1, functions=4, batch=2)
    layers = training.Layers(plan, [0], torch.device("cpu"))
    u = signals.mixed(4, seed=training.EVALUATION_SEED)
    y, _ = run(next_value(legt(32, window=10.0), dt=1e-3), u)
    errors = layers.errors(torch.tensor(u)[None], ["II"])[0, 0].detach().numpy()
    np.testing.assert_allclose(errors, y[:, 5000:-1] - u[:, 5001:], atol=1e-10)


def test_gradients_flow_through_all_four_and_are_right() -> None:
    rng = np.random.default_rng(1)
    u = torch.tensor(rng.normal(size=(2, 13)))

    def predict(A, B, C, D):  # type: ignore[no-untyped-def]
        columns = training.impulse_responses(*training.bilinear(A, B, 0.1), 13)
        return training.convolve(u, training.spectrum(u, 6), C @ columns, D, 6)

    basis = legt(3, window=2.0)
    inputs = [torch.tensor(x, requires_grad=True) for x in (basis.A, basis.B, rng.normal(size=3), np.float64(0.7))]
    assert torch.autograd.gradcheck(predict, inputs)


def test_white_signals_on_the_device_are_those_of_the_package() -> None:
    draws = np.stack([np.random.RandomState(s).normal(size=(2, 5001))[:, :16] for s in (3, 4)], axis=1)
    ours = training._white(torch.tensor([[0.72], [0.72]], dtype=torch.float64), torch.tensor(draws), 10_000)
    np.testing.assert_allclose(ours.numpy(), signals.white_signal(0.72, 2, seed=3), atol=1e-12)


def test_batches_are_a_third_of_each_kind_and_reproducible() -> None:
    first = training.mixed_batch(8, 300, torch.Generator().manual_seed(5))
    again = training.mixed_batch(8, 300, torch.Generator().manual_seed(5))
    assert first.shape == (8, 300)
    assert torch.equal(first, again)
    assert np.abs(np.diff(first[2::3].numpy(), 16, axis=1)).max() < 1e-6, "every third is a polynomial of degree 15"


def test_a_seed_does_not_depend_on_its_neighbours() -> None:
    plan = training.Plan(order=4, samples=400, steps=3, batch=3, functions=2, checks=2)
    alone = training.train(plan, [1])["history"][-1]["scores"]
    together = training.train(plan, [0, 1])["history"][-1]["scores"]
    for score in alone:
        twin = next(s for s in together if all(s[k] == score[k] for k in ("dataset", "setting", "seed")))
        if score["mae"] is None:
            assert twin["mae"] is None
        else:
            assert twin["mae"] == pytest.approx(score["mae"], rel=1e-6)


@pytest.fixture(scope="module")
def short_run() -> dict[tuple[str, str], float | None]:
    torch.set_num_threads(1)
    plan = training.Plan(samples=4000, steps=40, batch=6, functions=6, checks=2)
    last = training.train(plan, [0])["history"][-1]["scores"]
    return {(s["dataset"], s["setting"]): s["mae"] for s in last}


def test_starting_at_the_construction_beats_a_random_start(short_run: dict[tuple[str, str], float]) -> None:
    for dataset in {dataset for dataset, _ in short_run}:
        for setting in ("I", "II", "IV"):
            assert short_run[dataset, setting] < 0.2 * short_run[dataset, "III"], (dataset, setting)


def test_training_the_discrete_memory_at_the_papers_rate_blows_up(
    short_run: dict[tuple[str, str], float | None],
) -> None:
    worst = short_run["mixed, held out", "IV discrete"]
    assert worst is None or worst > 1.0


def test_the_plain_entry_writes_a_readable_file(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "training.json"
    training.main(["--out", str(out), "--steps", "1", "--batch", "1", "--functions", "1", "--seeds", "0"])
    result = json.loads(out.read_text())
    assert result["steps_done"] == 1
    assert {score["setting"] for score in result["history"][-1]["scores"]} == set(training.SETTINGS)


def test_full_means_the_papers_size_and_a_quick_look_is_cut_down() -> None:
    from prophecy.reproduce import fig_training
    from prophecy.reproduce.framework import Ask

    assert fig_training._plan(Ask(full=True)) == training.FULL == training.Plan()
    assert fig_training._plan(Ask()) == training.SHORT
    assert fig_training._plan(Ask(functions=10)).steps == training.SHORT.steps // 10


def test_a_missing_gpu_is_named() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(ValueError, match="device 'cuda' is not available"):
        training.train(training.Plan(steps=1), [0], "cuda")
