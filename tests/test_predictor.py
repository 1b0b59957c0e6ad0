"""Predictor: streaming equals running, predict changes nothing, files are whole, gaps follow the policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophecy import Predictor, fout, legs, legt, next_value, run
from prophecy.system import Readout, System

SYSTEMS = {
    "legt": next_value(legt(9, 200.0), 1.0),
    "fout": next_value(fout(9, 200.0), 1.0),
    "legs": next_value(legs(9), 1.0),
    "float32": next_value(legt(5, 200.0), 1.0).astype(np.float32),
}
values = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=60)


@pytest.mark.parametrize("name", SYSTEMS)
def test_streaming_predictions_are_those_of_the_run(name: str) -> None:
    system = SYSTEMS[name]
    u = np.sin(np.arange(150) / 9).astype(system.dtype)
    expected, _ = run(system, u, "step")
    p = Predictor(system)
    found = []
    for value in u:
        p.observe(value)
        found.append(p.predict())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 if system.dtype == np.float64 else 1e-4)


@given(data=values, cuts=st.lists(st.integers(0, 60), max_size=3), name=st.sampled_from(["legt", "legs"]))
def test_one_by_one_equals_arrays_of_any_sizes(data: list[float], cuts: list[int], name: str) -> None:
    one, many = Predictor(SYSTEMS[name]), Predictor(SYSTEMS[name])
    for value in data:
        one.observe(value)
    for piece in np.split(np.array(data), sorted(min(c, len(data)) for c in cuts)):
        if len(piece):
            many.observe(piece)
    scale = max(1.0, np.abs(data).max())
    assert one.count == many.count == len(data)
    np.testing.assert_allclose(many.state, one.state, atol=1e-11 * scale)
    assert many.predict() == pytest.approx(one.predict(), abs=1e-9 * scale)


@given(data=values)
def test_predict_and_derivative_change_nothing(data: list[float]) -> None:
    p = Predictor(SYSTEMS["legt"])
    p.observe(data)
    state, first = p.state, (p.predict(), p.derivative())
    for _ in range(3):
        assert (p.predict(), p.derivative()) == first
    np.testing.assert_array_equal(p.state, state)


def test_channels_have_memories_of_their_own() -> None:
    u = np.random.default_rng(0).standard_normal((40, 3))
    together = Predictor(SYSTEMS["legt"], channels=3)
    together.observe(u[:25])
    for row in u[25:]:
        together.observe(row)
    for c in range(3):
        alone = Predictor(SYSTEMS["legt"])
        alone.observe(u[:, c])
        assert together.predict()[c] == pytest.approx(alone.predict(), abs=1e-12)
        assert together.derivative()[c] == pytest.approx(alone.derivative(), abs=1e-12)
    assert together.state.shape == (3, 9)


def test_the_derivative_is_in_units_per_second() -> None:
    for dt in (1.0, 1e-3):
        p = Predictor(next_value(legt(5, 200 * dt), dt))
        p.observe(3.0 * dt * np.arange(1000))
        assert p.derivative() == pytest.approx(3.0, rel=1e-6)
        scaled = Predictor(next_value(legs(3), dt))
        scaled.observe(3.0 * dt * np.arange(3000))
        assert scaled.derivative() == pytest.approx(3.0, rel=0.01)


def test_reset_forgets_everything() -> None:
    p = Predictor(SYSTEMS["legs"])
    p.observe([1.0, 2.0, 5.0])
    p.reset()
    assert p.predict() == 0.0
    assert p.count == 0


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("channels", [None, 2])
def test_a_loaded_predictor_goes_on_as_if_never_stopped(name: str, channels: int | None, tmp_path: Any) -> None:
    system = SYSTEMS[name]
    u = np.random.default_rng(3).standard_normal((50, channels or 1)).astype(system.dtype)
    u = u if channels else u[:, 0]
    p = Predictor(system, channels, gaps="hold")
    p.observe(u[:30])
    p.save(tmp_path / "p.npz")
    q = Predictor.load(tmp_path / "p.npz")
    for value in u[30:]:
        p.observe(value)
        q.observe(value)
    np.testing.assert_array_equal(p.predict(), q.predict())
    np.testing.assert_array_equal(p.derivative(), q.derivative())
    assert q.system.dtype == system.dtype
    q.observe(np.full_like(u[0], np.nan))  # the policy was saved too


def test_saving_is_atomic_and_holds_no_pickles(tmp_path: Any, monkeypatch: Any) -> None:
    p = Predictor(SYSTEMS["legt"])
    p.observe(1.0)
    path = tmp_path / "p.npz"
    p.save(path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    p.observe(2.0)
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        p.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


def test_other_files_are_refused_by_what_they_are(tmp_path: Any) -> None:
    from prophecy import _files

    path = tmp_path / "x.npz"
    for content in (b"", b"hello", b"PK\x03\x04broken"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not a saved Predictor"):
            Predictor.load(path)
    np.savez(path, a=np.ones(3))
    with pytest.raises(ValueError, match="is not a saved Predictor"):
        Predictor.load(path)
    _files.write_state(path, "Prophecy", 1, {})
    with pytest.raises(ValueError, match=r"holds a saved Prophecy, not a Predictor; load it with Prophecy\.load"):
        Predictor.load(path)
    _files.write_state(path, "Predictor", 99, {})
    with pytest.raises(ValueError, match="saved in format 99"):
        Predictor.load(path)
    _files.write_state(path, "Predictor", 1, {"system": "System"})
    with pytest.raises(ValueError, match="damaged Predictor file"):
        Predictor.load(path)
    with pytest.raises(FileNotFoundError):
        Predictor.load(tmp_path / "none.npz")
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        Predictor(SYSTEMS["legt"]).save(tmp_path / "no" / "p.npz")


def test_gaps_are_refused_held_or_predicted() -> None:
    u = np.sin(np.arange(60) / 7)
    gappy = u.copy()
    gappy[[20, 21, 22, 40]] = np.nan
    with pytest.raises(ValueError, match="value is NaN at moment 20 of 60"):
        Predictor(SYSTEMS["legt"]).observe(gappy)

    held, filled = Predictor(SYSTEMS["legt"], gaps="hold"), Predictor(SYSTEMS["legt"])
    held.observe(gappy)
    copy = u.copy()
    copy[20:23], copy[40] = u[19], u[39]
    filled.observe(copy)
    assert held.predict() == pytest.approx(filled.predict(), abs=1e-12)

    own, by_hand = Predictor(SYSTEMS["legt"], gaps="predict"), Predictor(SYSTEMS["legt"])
    own.observe(gappy)
    for value in gappy:
        by_hand.observe(by_hand.predict() if np.isnan(value) else value)
    assert own.predict() == pytest.approx(by_hand.predict(), abs=1e-12)


def test_a_float32_predictor_stays_one_when_it_fills_gaps_itself(tmp_path) -> None:
    p = Predictor(SYSTEMS["float32"], gaps="predict")
    for value in (1.0, 2.0, np.nan, 3.0):
        p.observe(value)
    assert p.state.dtype == np.float32
    p.observe([np.nan, 4.0])
    p.save(tmp_path / "state.npz")
    assert Predictor.load(tmp_path / "state.npz").predict() == p.predict()


def test_a_gap_in_one_channel_leaves_the_others_alone() -> None:
    p = Predictor(SYSTEMS["legt"], channels=2, gaps="hold")
    p.observe([[1.0, 5.0], [np.nan, 6.0]])
    alone = Predictor(SYSTEMS["legt"])
    alone.observe([5.0, 6.0])
    assert p.predict()[1] == pytest.approx(alone.predict(), abs=1e-12)


def test_a_channel_without_a_value_so_far_is_fed_zeros() -> None:
    p, alone = Predictor(SYSTEMS["legt"], channels=2, gaps="predict"), Predictor(SYSTEMS["legt"])
    for k in range(5):
        p.observe([1.0 + k, np.nan])
    p.observe([3.0, 7.0])
    alone.observe([0.0] * 5 + [7.0])
    assert p.predict()[1] == pytest.approx(alone.predict(), abs=1e-12)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("3", TypeError, "value must hold real numbers"),
        (None, TypeError, "value must hold real numbers"),
        (1j, TypeError, "value must be real"),
        (np.float16(1), TypeError, "float16"),
        (np.inf, ValueError, "value must be finite"),
        ([1.0, -np.inf], ValueError, "value must be finite"),
        (1e300, ValueError, r"value holds 1e\+300"),
        (np.ones((2, 3)), ValueError, r"value must be a number or \(time,\), got shape \(2, 3\)"),
        ([1.0, np.nan], ValueError, "value is NaN at moment 1"),
    ],
)
def test_after_an_error_the_predictor_is_as_it_was(value: Any, error: Any, message: str) -> None:
    p = Predictor(SYSTEMS["legt"])
    p.observe([1.0, 2.0])
    state, prediction = p.state, p.predict()
    with pytest.raises(error, match=message):
        p.observe(value)
    np.testing.assert_array_equal(p.state, state)
    assert p.predict() == prediction
    assert p.count == 2


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="system must be a System"):
        Predictor("legt")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="gaps must be one of 'raise', 'hold', 'predict', got 'skip'"):
        Predictor(SYSTEMS["legt"], gaps="skip")
    with pytest.raises(ValueError, match="channels must be at least 1"):
        Predictor(SYSTEMS["legt"], channels=0)
    with pytest.raises(ValueError, match=r"\(2,\) or \(time, 2\), got shape \(3,\)"):
        Predictor(SYSTEMS["legt"], channels=2).observe([1.0, 2.0, 3.0])
    bare = Predictor(System(A=np.eye(2) / 2, B=np.ones(2), C=np.ones(2), D=0.0))
    with pytest.raises(ValueError, match="no derivative readout"):
        bare.derivative()


def test_an_empty_array_is_refused() -> None:
    for channels in (None, 2):
        with pytest.raises(ValueError, match="value must"):
            Predictor(SYSTEMS["legt"], channels).observe([])


def test_a_long_gap_stays_within_the_range_seen() -> None:
    u = np.sin(np.arange(1300) / 40)
    u[1000:] = np.nan
    p = Predictor(next_value(legt(33, 2000.0), 1.0), gaps="predict")
    p.observe(u)
    assert abs(p.predict()) < 1000  # fed with itself without a bound this system is at 8e15 by now
    assert np.abs(p.state).max() < 10


def test_gaps_before_the_first_value_are_skipped() -> None:
    p = Predictor(SYSTEMS["legs"], gaps="hold")
    p.observe([np.nan, np.nan, 5.0, 5.0])
    assert p.count == 2
    assert p.predict() == pytest.approx(5.0)


def test_a_file_with_any_two_bytes_changed_is_refused_or_sound(tmp_path: Any) -> None:
    p = Predictor(SYSTEMS["legt"])
    p.observe([1.0, 2.0])
    path = tmp_path / "p.npz"
    p.save(path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(300):
        broken = bytearray(whole)
        for at in rng.integers(0, len(whole), 2):
            broken[at] = rng.integers(0, 256)
        path.write_bytes(bytes(broken))
        try:
            q = Predictor.load(path)
        except ValueError:
            continue  # anything else that is raised fails the test
        assert np.isfinite(q.predict())


@pytest.mark.parametrize(
    ("meta", "arrays"),
    [
        ({"count": -5}, {}),
        ({"count": 2.7}, {}),
        ({"count": 2**70}, {}),
        ({"channels": 10**12}, {}),
        ({}, {"low": np.array([1.0]), "high": np.array([-1.0])}),
        ({}, {"low": np.array([1.0]), "high": np.array([np.inf])}),
        ({"system": "junk"}, {}),
        ({"dtype": "float16"}, {}),
        ({"gaps": "skip"}, {}),
        ({}, {"x": np.full((1, 9), np.nan)}),
        ({}, {"x": np.zeros(9)}),
        ({}, {"last": np.array([np.inf])}),
        ({}, {"A": np.zeros((2, 2))}),
    ],
)
def test_a_tampered_file_is_refused(meta: dict[str, Any], arrays: dict[str, Any], tmp_path: Any) -> None:
    from prophecy import _files

    path = tmp_path / "p.npz"
    Predictor(SYSTEMS["legt"]).save(path)
    header, content = _files.read_state(path, "Predictor", 1)
    _files.write_state(path, "Predictor", 1, header | meta, **(content | arrays))
    with pytest.raises(ValueError, match="damaged Predictor file"):
        Predictor.load(path)


def test_a_system_keeps_its_derivative_readout_through_astype() -> None:
    system = SYSTEMS["float32"]
    assert isinstance(system, System)
    assert isinstance(system.derivative, Readout)
    assert system.derivative.C.dtype == np.float32
