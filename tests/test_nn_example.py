"""The training example: shortened it runs and starts where it says; the tutorial prints its committed numbers."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

for extra in ("torch", "statsmodels", "matplotlib"):
    pytest.importorskip(extra)

from benchmarks import training as example  # noqa: E402
from examples import train_layer as delay  # noqa: E402

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "benchmarks" / "results" / "training.json"


def test_the_delay_line_trains_every_start_and_draws_its_curves(tmp_path, monkeypatch):
    for name, value in (("BATCH", 2), ("WIDTH", 2), ("ORDER", 4)):
        monkeypatch.setattr(delay, name, value)
    result = delay.run(steps=10, seeds=1, length=200, delay=50)
    assert all(len(curves[0]) == 2 and np.isfinite(curves).all() for curves in result["losses"].values())
    delay.draw(result, tmp_path / "delay.png")
    assert (tmp_path / "delay.png").stat().st_size > 10_000
    found = json.loads((ROOT / "benchmarks" / "results" / "delay.json").read_text())
    page = (ROOT / "docs" / "tutorial-ssm.md").read_text()
    for start in delay.STARTS:
        curve = np.median(found["losses"][start], axis=0)
        cells = [f"{curve[i]:.2g}" for i in (0, 10, 30, -1)]
        assert f"| {start} | " + " | ".join(cells) + f" | {found['minutes'][start]:.2f} |" in page


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


def test_the_tutorials_table_is_the_committed_result():
    """Medians over the seeds, before and after training, as the page prints them."""
    found = json.loads(RESULT.read_text())
    page = (ROOT / "docs" / "tutorial-ssm.md").read_text()
    for task, kinds in found["scores"].items():
        for kind, starts in kinds.items():
            cells = [
                f"{np.median([c[0] for c in starts[s]]):.2g} → {np.median([c[-1] for c in starts[s]]):.2g}"
                for s in example.STARTS
            ]
            assert f"| {task}, {kind} | " + " | ".join(cells) in page
        lines = " / ".join(f"{np.median(values):.2g}" for values in found["untrained"][task].values())
        assert len(re.findall(rf"^\| {re.escape(task)}, .* \| {re.escape(lines)} \|$", page, re.MULTILINE)) == 2
