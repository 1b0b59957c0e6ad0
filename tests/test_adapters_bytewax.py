"""Streams as plain bytes, and inside bytewax: killed with -9 and resumed, each answer comes exactly once."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
import time

import numpy as np
import pytest

from prophecy import Prophecy
from prophecy.fleet import step_bytes
from prophecy.fleet.single import Single

FLOW = """
import sys, time
from pathlib import Path
import bytewax.operators as op
from bytewax.connectors.files import FileSink, FileSource
from bytewax.dataflow import Dataflow
from prophecy.adapters.bytewax import predict

def parsed(line):
    time.sleep({pause})
    key, at, value = line.split(",")
    return key, (float(at), float(value))

flow = Dataflow("plant")
rows = op.map("parse", op.input("in", flow, FileSource({source!r}, batch_size=3)), parsed)
answers = predict("predict", rows)

def written(item):
    key, answer = item
    return key, f"{{key}},{{answer.mean!r}},{{answer.score!r}},{{answer.next!r}}"

lines = op.map("format", answers, written)
op.output("out", lines, FileSink({target!r}))
"""


def values(count, seed=0):
    return np.random.default_rng(seed).standard_normal(count).cumsum()


@pytest.mark.parametrize("timed", [False, True])
def test_bytes_in_bytes_out_say_what_prophecy_says(timed):
    model, state = Prophecy(), None
    for k, value in enumerate(values(300).tolist()):
        at = 10.0 * k if timed else None
        track = model.follow([value], time=None if at is None else [at])
        state, answer = step_bytes(state, value, at)
        assert isinstance(state, bytes)
        np.testing.assert_array_equal(answer[:5], [float(part[0]) for part in track])
        ahead = model.predict()
        assert answer[5:] == ("taken", ahead.mean, ahead.lower, ahead.upper)
    assert len(state) < 120_000


def test_states_of_young_streams_are_small():
    state = None
    for k, value in enumerate(values(64)):
        state, _ = step_bytes(state, value, float(k))
    assert len(state) < 64 * 16 + 100


def test_bad_bytes_and_values_are_refused_and_the_state_stays():
    state, _ = step_bytes(None, 1.0)
    for bad in (b"x", state[:-1], state[:-5] + b"\0" * 5, bytes(200)):
        with pytest.raises(ValueError, match="state"):
            step_bytes(bad, 1.0)
    stream = Single(state)
    for value, at in ((math.inf, None), (1e80, None), (1.0, 5.0)):
        with pytest.raises(ValueError, match="must be"):
            stream.observe(value, at)
    assert stream.state() == state


def run(tmp_path, name, pause, kill_after=None):
    """The dataflow in a process of its own; killed so many seconds after its output began to grow, if asked to."""
    target = tmp_path / f"{name}.out"
    module = tmp_path / f"{name}.py"
    module.write_text(FLOW.format(source=str(tmp_path / "in.csv"), target=str(target), pause=pause))
    recovery = tmp_path / f"{name}.db"
    if not recovery.exists():
        recovery.mkdir()
        subprocess.run([sys.executable, "-m", "bytewax.recovery", str(recovery), "1"], check=True)
    command = [sys.executable, "-m", "bytewax.run", str(module) + ":flow", "-r", str(recovery), "-s", "0", "-b", "0"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    if kill_after is None:
        _, err = child.communicate(timeout=300)
        assert child.returncode == 0, err
    else:
        before = target.stat().st_size if target.exists() else 0
        for _ in itertools.takewhile(lambda _: child.poll() is None, itertools.count()):
            if target.exists() and target.stat().st_size > before:
                break
            time.sleep(0.01)
        time.sleep(kill_after)
        child.kill()  # SIGKILL; nothing where it has ended meanwhile
        child.communicate()
    return target.read_text().splitlines() if target.exists() else []


def by_key(lines):
    """The lines of each key in their order; between keys a dataflow promises none."""
    return {key: [line for line in lines if line.startswith(key)] for key in sorted({line[:1] for line in lines})}


def test_a_dataflow_killed_and_resumed_gives_each_answer_exactly_once(tmp_path):
    pytest.importorskip("bytewax")
    rng = random.Random(3)
    rows = [(rng.choice("abc"), k, value) for k, value in enumerate(values(600, 1).tolist())]
    (tmp_path / "in.csv").write_text("".join(f"{key},{k},{value!r}\n" for key, k, value in rows))
    whole = run(tmp_path, "whole", 0.0)
    models, expected = {}, []
    for key, k, value in rows:
        model = models.setdefault(key, Prophecy())
        track = model.follow([value], time=[float(k)])
        mean, score, ahead = float(track.mean[0]), float(track.score[0]), float(model.predict().mean)
        expected.append(f"{key},{mean!r},{score!r},{ahead!r}")
    assert by_key(whole) == by_key(expected)
    grown = []
    for _ in range(4):
        grown.append(len(run(tmp_path, "killed", 0.004, kill_after=rng.uniform(0.05, 0.4))))
    assert 0 < grown[0] < 600
    assert by_key(run(tmp_path, "killed", 0.0)) == by_key(expected)
