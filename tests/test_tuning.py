"""What makes the CPU fast must not change what it computes: settings, threads, streams."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController

import prophecy
from prophecy.engines import _threads, lifting, streams

ORDERS = [1, 2, 16, 33, 64]


def _system(order: int) -> prophecy.System:
    return prophecy.next_value(prophecy.legt(order, window=4.0 * order**2 + 8), dt=1.0)


def _error(found: object, expected: object) -> float:
    return float(np.linalg.norm(np.subtract(found, expected)) / max(np.linalg.norm(np.asarray(expected)), 1e-300))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sizes", [(16, 7), (32, 50), (100, 1000)])
@pytest.mark.parametrize("series", [1, lifting.FEW - 1, lifting.FEW, 61])
@pytest.mark.parametrize("threads", [1, 1 << 30])
def test_no_setting_changes_the_numbers(order: int, sizes: tuple[int, int], series: int, threads: int) -> None:
    system, random = _system(order), np.random.default_rng(order)
    u, x = random.standard_normal((series, 517)), random.standard_normal((series, order))
    expected, state = prophecy.run(system, u, engine="step", state=x)
    y = np.full_like(u, np.nan)
    lifting.run(system, u, x, y, *sizes, threads)
    assert _error(y, expected) < 1e-12
    assert _error(x, state) < 1e-11


@given(st.integers(1, 700), st.integers(1, 3))
def test_states_between_blocks_are_the_recurrence(blocks: int, series: int) -> None:
    random = np.random.default_rng(blocks)
    power = 0.4 * random.standard_normal((3, 3))
    added, x = random.standard_normal((series, blocks, 3)), random.standard_normal((series, 3))
    before, final = lifting._starts(added, x, power)
    for block in range(blocks):
        assert np.allclose(before[:, block], x, rtol=1e-11, atol=1e-11)
        x = x @ power.T + added[:, block]
    assert np.allclose(final, x, rtol=1e-11, atol=1e-11)


def test_a_run_may_write_over_its_input() -> None:
    system = _system(8)
    for series in (2, 40):
        u = np.random.default_rng(3).standard_normal((series, 300))
        expected, _ = prophecy.run(system, u, engine="lifted")
        prophecy.run(system, u, engine="lifted", out=u)
        assert np.array_equal(u, expected)


@given(st.integers(1, 5000), st.integers(1, 300), st.one_of(st.none(), st.integers(1, 600)))
def test_shares_cover_everything_once(count: int, least: int, most: int | None) -> None:
    shares = _threads.shares(count, least, most)
    covered = np.concatenate([np.arange(count)[share] for share in shares])
    assert np.array_equal(covered, np.arange(count))
    assert most is None or max(share.stop - share.start for share in shares) <= most
    assert (
        len(shares) == 1 or most is not None or min(share.stop - share.start for share in shares) >= min(least, count)
    )


def test_threads_leave_the_librarys_setting_as_it_was() -> None:
    def threads() -> set[int]:
        return {one["num_threads"] for one in ThreadpoolController().info() if one["user_api"] == "blas"}

    inside: list[set[int]] = []
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        _threads.over(lambda item: inside.append(threads()), list(range(4)))
        with pytest.raises(ZeroDivisionError):
            _threads.over(lambda item: 1 // item, [0, 1])
        assert threads() == {2}
    assert _threads.workers() == 1 or inside == [{1}] * 4


def test_runs_in_several_threads_at_once_agree() -> None:
    system = _system(16)
    u = np.random.default_rng(5).standard_normal((60, 400))
    expected, _ = prophecy.run(system, u, engine="lifted")
    outputs: list[np.ndarray] = []
    workers = [
        threading.Thread(target=lambda: outputs.append(prophecy.run(system, u, engine="lifted")[0])) for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(outputs) == 4
    assert all(np.array_equal(y, expected) for y in outputs)


SYSTEMS = {
    "LegT": prophecy.next_value(prophecy.legt(33, window=5000.0), dt=1.0),
    "FouT": prophecy.next_value(prophecy.fout(9, window=400.0), dt=1.0),
    "LegS": prophecy.next_value(prophecy.legs(24), dt=1.0),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_stream_of_numbers_is_the_step(name: str) -> None:
    system = SYSTEMS[name]
    u = np.random.default_rng(6).standard_normal(300)
    expected, _ = prophecy.run(system, u, engine="step")
    predictor = prophecy.Predictor(system)
    assert streams(system)
    found = []
    for value in u:  # NumPy numbers take the same path as Python's
        predictor.observe(value)
        found.append(predictor.predict())
    assert _error(found, expected) < 1e-12
    assert all(type(value) is float for value in found)


@pytest.mark.parametrize("name", SYSTEMS)
@settings(max_examples=20)
@given(data=st.data())
def test_looking_at_a_stream_in_any_way_changes_nothing(name: str, data: st.DataObject) -> None:
    system = SYSTEMS[name]
    values = np.random.default_rng(7).standard_normal(80).tolist()
    watched, plain = prophecy.Predictor(system, gaps="hold"), prophecy.Predictor(system, gaps="hold")
    looks = data.draw(st.lists(st.integers(0, 6), min_size=80, max_size=80))
    for value, look in zip(values, looks, strict=True):
        watched.observe(value)
        plain.observe(np.array([value]))  # the checked path
        if look == 1:
            assert _error(watched.state, plain.state) < 1e-10
        elif look == 2:
            assert watched.derivative() == pytest.approx(plain.derivative(), rel=1e-8, abs=1e-10)
        elif look == 3:
            watched = copy.deepcopy(watched)
        elif look == 4:
            watched = pickle.loads(pickle.dumps(watched))
        elif look == 5:
            watched.observe(float("nan"))
            plain.observe(float("nan"))
        assert watched.count == plain.count
        assert watched.predict() == pytest.approx(plain.predict(), rel=1e-10, abs=1e-10)


def test_a_stream_that_is_saved_goes_on_from_the_file(tmp_path: Path) -> None:
    predictor = prophecy.Predictor(SYSTEMS["LegT"])
    for k in range(29):
        predictor.observe(float(np.sin(0.3 * k)))
    predictor.save(tmp_path / "stream.npz")
    loaded = prophecy.Predictor.load(tmp_path / "stream.npz")
    assert loaded.count == 29
    for model in (predictor, loaded):
        model.observe(0.25)
    assert loaded.predict() == pytest.approx(predictor.predict(), rel=1e-12)


def test_an_error_in_a_stream_leaves_it_as_it_was() -> None:
    predictor = prophecy.Predictor(SYSTEMS["LegT"])
    for k in range(17):
        predictor.observe(0.1 * k)
    before = predictor.predict()
    for bad in (float("nan"), float("inf"), 1e200, "3", None):
        with pytest.raises((ValueError, TypeError)):
            predictor.observe(bad)  # type: ignore[arg-type]
    assert predictor.count == 17
    assert predictor.predict() == pytest.approx(before, rel=1e-13)


def test_unstable_and_narrow_systems_take_the_plain_step() -> None:
    unstable = prophecy.System(np.array([[1.5]]), np.ones(1), np.ones(1), 0.0)
    assert not streams(unstable)
    assert not streams(SYSTEMS["LegT"].astype(np.float32))
    predictor = prophecy.Predictor(unstable)
    for _ in range(10):
        predictor.observe(1.0)
    assert predictor.predict() == pytest.approx(sum(1.5**k for k in range(10)))


@pytest.mark.parametrize("order", [1, 2, 17, 70])
@pytest.mark.parametrize("series", [1, 64])
def test_the_scan_is_the_step_from_the_first_sample_on(order: int, series: int) -> None:
    system = prophecy.next_value(prophecy.legs(order), dt=1.0)
    u = np.random.default_rng(8).standard_normal((series, order + 30))
    expected, end = prophecy.run(system, u, engine="step")
    y, state = prophecy.run(system, u, engine="scan")
    assert _error(y, expected) < 1e-12
    assert _error(state.x, end.x) < 1e-11
