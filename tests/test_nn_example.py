"""The training example: shortened it runs and starts where it says."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest

for extra in ("torch", "statsmodels", "matplotlib"):
    pytest.importorskip(extra)

from benchmarks import training as example  # noqa: E402
from examples import train_layer as delay  # noqa: E402


def test_the_delay_line_trains_every_start_and_draws_its_curves(tmp_path, monkeypatch):
    for name, value in (("BATCH", 2), ("WIDTH", 2), ("ORDER", 4)):
        monkeypatch.setattr(delay, name, value)
    result = delay.run(steps=10, seeds=1, length=200, delay=50)
    assert all(len(curves[0]) == 2 and np.isfinite(curves).all() for curves in result["losses"].values())
    delay.draw(result, tmp_path / "delay.png")
    assert (tmp_path / "delay.png").stat().st_size > 10_000


def test_shortened_it_trains_every_start_in_both_models(monkeypatch):
    train = example.train
    short = [
        example.Task(task.name, task.values[:, :500], 100.0, 100, 300) for task in example.tasks(0, example.mauna_loa())
    ]
    monkeypatch.setattr(example, "tasks", lambda seed, record: short)
    monkeypatch.setattr(example, "train", lambda model, task: train(model, task, steps=2))
    monkeypatch.setattr(example, "SEEDS", 1)
    options = Namespace(co2=None)
    result = example.result([example.unit(job) for job in example.cases(options)], options)
    for task, kinds in result["scores"].items():
        assert set(kinds) == {"one layer", "two gated blocks"}, task
        for starts in kinds.values():
            assert set(starts) == set(example.STARTS)
            assert all(np.isfinite(pair).all() and len(pair) == 2 for pairs in starts.values() for pair in pairs)
        one = kinds["one layer"]
        assert one["copying"][0][0] == pytest.approx(1.0, abs=1e-3)  # copying is the unit
        assert one["construction"][0][0] < one["random C"][0][0]
