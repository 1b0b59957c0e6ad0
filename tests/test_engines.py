"""Engines: all of them compute the numbers of the plain step, from any state, at any length, split anywhere."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophecy import Predictor, System, fout, legs, legt, next_value, run
from prophecy.bases import fout_as_printed
from prophecy.discretize import Rule, backward, bilinear, zoh
from prophecy.engines import ENGINES, lifting, run_states, stream, usual
from prophecy.engines.kernels import entry
from prophecy.engines.lifting import block_matrix, lift
from prophecy.system import ScaledState, ScaledSystem

TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5}
# LegS reads small differences of its state before its pole, D/count times larger than the result: up to 8 digits of
# amplification at order 128 in the first samples, of which the plain step in float32 loses a few (measured 20 at most).
READOUT = {np.float64: 10, np.float32: 100}
LENGTHS = [1, 2, 63, 64, 65, 1000]
FAST = [name for name in ENGINES if name != "step"]


def system_of(order: int, family: str = "legt", dtype: Any = np.float64) -> System:
    make = {"legt": legt, "fout": fout, "printed": fout_as_printed}[family]
    order = order if family == "legt" else order | 1
    return next_value(make(order, float(max(64, 2 * order**2))), 1.0).astype(dtype)


def relative(found: Any, wanted: Any) -> float:
    scale = np.sqrt(np.mean(np.asarray(wanted, float) ** 2))
    return float(np.sqrt(np.mean((np.asarray(found, float) - wanted) ** 2)) / max(scale, 1e-300))


@pytest.mark.parametrize("engine", FAST)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", [1, 2, 3, 16, 33, 65, 128])
@pytest.mark.parametrize("family", ["legt", "fout"])
def test_engines_agree_with_the_step_from_any_state(engine: str, dtype: Any, order: int, family: str) -> None:
    system = system_of(order, family, dtype)
    rng = np.random.default_rng(order)
    for length in LENGTHS:
        u = rng.standard_normal((3, length)).astype(dtype)
        x = rng.standard_normal((3, system.order)).astype(dtype)
        expected, final = run(system, u, "step", x)
        y, state = run(system, u, engine, x)
        assert y.dtype == state.dtype == dtype
        assert relative(y, expected) < TOLERANCE[dtype]
        # LegT's slowest modes sum up the rounding of every step: states agree to a digit less than what is read off.
        assert relative(state, final) < TOLERANCE[dtype] * 10


@pytest.mark.parametrize("engine", FAST)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", [1, 65, 128])
def test_engines_agree_over_ten_thousand_samples_from_any_state(engine: str, dtype: Any, order: int) -> None:
    system = next_value(legt(order, 17.0), 1e-3).astype(dtype)
    rng = np.random.default_rng(1)
    u = np.cumsum(rng.standard_normal((2, 10_000)), axis=1).astype(dtype) / dtype(30)
    x = rng.standard_normal((2, order)).astype(dtype)
    # The float32 step itself strays by 1.2e-5 at order 128: the system's own numbers are those of its step in float64.
    expected, _ = run(system.astype(np.float64), u.astype(np.float64), "step", x.astype(np.float64))
    assert relative(run(system, u, engine, x)[0], expected) < TOLERANCE[dtype]


@given(
    engine=st.sampled_from([*ENGINES, "auto"]),
    order=st.integers(1, 40),
    length=st.integers(2, 300),
    cut=st.floats(0.01, 0.99),
    seed=st.integers(0, 1000),
)
def test_a_run_may_be_split_anywhere(engine: str, order: int, length: int, cut: float, seed: int) -> None:
    rng, system = np.random.default_rng(seed), system_of(order)
    u = rng.standard_normal((2, length))
    at = min(length - 1, max(1, int(cut * length)))
    whole, final = run(system, u, "step")
    first, middle = run(system, u[:, :at], engine)
    second, end = run(system, u[:, at:], engine, middle)
    np.testing.assert_allclose(np.concatenate([first, second], axis=1), whole, atol=1e-11)
    np.testing.assert_allclose(end, final, atol=1e-11)


@given(length=st.integers(1, 200), order=st.integers(1, 20))
def test_lifting_is_the_matrix_of_the_step(length: int, order: int) -> None:
    """Apply the step to unit inputs and unit states: its columns are the lifted blocks."""
    system = system_of(order)
    block = lift(system, length)
    pulse = np.zeros((1, length))
    pulse[0, 0] = 1
    np.testing.assert_allclose(block.kernel, run(system, pulse, "step")[0][0], atol=1e-13)
    y, x = run(system, np.zeros((order, length)), "step", np.eye(order))
    np.testing.assert_allclose(block.observe, y.T, atol=1e-13)
    np.testing.assert_allclose(block.power, x.T, atol=1e-13)
    np.testing.assert_allclose(block.reach[:, 0], run(system, pulse, "step")[1][0], atol=1e-13)


@pytest.mark.parametrize("rule", [bilinear, backward])
@pytest.mark.parametrize(
    ("order", "dtype"),
    [(1, np.float64), (2, np.float64), (33, np.float64), (128, np.float64), (9, np.float32), (64, np.float32)],
)
def test_the_scan_is_legs_by_the_step(rule: Rule, order: int, dtype: Any) -> None:
    system = next_value(legs(order), 1.0, memory=rule).astype(dtype)
    rng = np.random.default_rng(order)
    for length in (1, 2, 65) if order > 64 else (1, 2, 65, 300):
        u = np.cumsum(rng.standard_normal((3, length)), axis=1).astype(dtype)
        for seen in (0, 7, 2 * order):
            start = ScaledState(rng.standard_normal((3, order)).astype(dtype), seen)
            expected, final = run(system, u, "step", start)
            y, state = run(system, u, "scan", start)
            assert relative(y, expected) < TOLERANCE[dtype] * READOUT[dtype]
            assert relative(state.x, final.x) < TOLERANCE[dtype]
            assert state.seen == final.seen == seen + length


@given(length=st.integers(2, 120), cut=st.integers(1, 119), order=st.integers(1, 12))
def test_legs_may_be_split_anywhere(length: int, cut: int, order: int) -> None:
    system, u = next_value(legs(order), 1.0), np.sin(np.arange(length) / 5)
    cut = min(cut, length - 1)
    whole, end = run(system, u)
    first, middle = run(system, u[:cut])
    second, last = run(system, u[cut:], state=middle)
    np.testing.assert_allclose(np.concatenate([first, second]), whole, atol=1e-12)
    np.testing.assert_allclose(last.x, end.x, atol=1e-12)


def test_legs_alone_value_by_value_and_among_others_has_the_same_bits() -> None:
    system, u = next_value(legs(20), 1.0), np.random.default_rng(0).standard_normal((37, 90))
    together, (states, _) = run(system, u)
    for row in (0, 16, 36):
        predictor, alone = Predictor(system), []
        for value in u[row].tolist():
            predictor.observe(value)
            alone.append(predictor.predict())
        assert alone == together[row].tolist() == run(system, u[row])[0].tolist()
        np.testing.assert_array_equal(predictor.state, states[row])


@pytest.mark.parametrize("wrong", range(5))
def test_the_kernel_of_the_scan_refuses_arrays_that_do_not_fit(wrong: int) -> None:
    shapes = [(2, 5, entry.LANES), (2, 7, entry.LANES), (2, 7, entry.LANES), (5,), (7,)]
    entry.steps(*map(np.zeros, shapes), 0.5, 3)
    shapes[wrong] = (*shapes[wrong][:-1], shapes[wrong][-1] - 1)
    with pytest.raises(ValueError, match=r"shapes do not fit|groups of"):
        entry.steps(*map(np.zeros, shapes), 0.5, 3)


def test_legs_whose_readout_leaves_the_newest_value_out_runs_by_the_step() -> None:
    system, u = dataclasses.replace(next_value(legs(4), 1.0), D=0.0), np.sin(np.arange(50) / 5)
    np.testing.assert_allclose(run(system, u)[0], run(system, u, "step")[0], atol=1e-12)


def test_legs_under_a_hold_runs_by_the_step_and_says_so() -> None:
    system = next_value(legs(4), 1.0, memory=zoh)
    assert usual(system) == "step"
    with pytest.raises(ValueError, match="use engine='step'"):
        run(system, np.ones(5), "scan")
    y, _ = run(system, np.ones(50))
    np.testing.assert_allclose(y, 1, atol=1e-10)


def test_all_states_are_those_of_the_step() -> None:
    system, u = system_of(5), np.random.default_rng(0).standard_normal((2, 30))
    y, states = run_states(system, u)
    assert states.shape == (2, 30, 5)
    for k in (0, 7, 29):
        np.testing.assert_allclose(states[:, k], run(system, u[:, : k + 1], "step")[1], atol=1e-14)
    np.testing.assert_allclose(y, run(system, u, "step")[0], atol=1e-14)
    scaled = next_value(legs(3), 1.0)
    np.testing.assert_allclose(run_states(scaled, u[0])[1][-1], run(scaled, u[0])[1].x, atol=1e-13)


@pytest.mark.parametrize("engine", [*ENGINES, "auto"])
def test_a_memory_mapped_array_is_read_and_written_in_place(engine: str, tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((37, 333)).astype(np.float32)
    source = np.memmap(tmp_path / "u", np.float32, "w+", shape=data.shape)
    source[:] = data
    target = np.memmap(tmp_path / "y", np.float32, "w+", shape=data.shape)
    system = system_of(8, dtype=np.float32)
    y, _ = run(system, source, engine, out=target)
    assert y is target
    assert relative(np.asarray(target), run(system, data, "step")[0]) < 1e-5


def test_memory_stays_small_beside_input_and_output() -> None:
    import tracemalloc

    system = system_of(16, dtype=np.float32)
    u = np.zeros((4000, 2000), np.float32) + np.float32(0.5)
    y = np.empty_like(u)
    for engine in FAST:
        run(system, u[:2], engine)
        tracemalloc.start()
        run(system, u, engine, out=y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < u.nbytes / 2, (engine, peak)


@pytest.mark.parametrize("engine", [*ENGINES])
def test_dtypes_follow_the_system(engine: str) -> None:
    system = system_of(4)
    ones = np.arange(20)
    for u in (ones, ones.astype(np.float32), ones.astype(np.uint8), list(range(20))):
        y, x = run(system, u, engine)
        assert y.dtype == x.dtype == np.float64
        np.testing.assert_allclose(y, run(system, ones.astype(float), "step")[0], atol=1e-12)
    narrow = system.astype(np.float32)
    assert run(narrow, ones, engine)[0].dtype == np.float32
    with pytest.raises(TypeError, match=r"u is float64 but the system is float32; use u\.astype"):
        run(narrow, ones.astype(float), engine)


BAD = [
    (np.ones((2, 2, 2)), ValueError, r"u must be \(time,\) or \(series, time\), got shape \(2, 2, 2\)"),
    (np.empty(0), ValueError, "at least one sample"),
    (np.empty((0, 5)), ValueError, "at least one sample"),
    (3.0, ValueError, "u must be"),
    (np.ones(3, complex), TypeError, "u must be real"),
    (np.array(["a", "b"]), TypeError, "u must hold real numbers"),
    (np.array([1, None]), TypeError, "u must hold real numbers"),
    (np.ones(3, np.float16), TypeError, "float32 or float64, got float16"),
    (np.array([True, False]), TypeError, "u must hold real numbers"),
    ([1.0, np.nan, 2.0], ValueError, "u must be finite, got nan at index 1"),
    ([1.0, np.inf], ValueError, "u must be finite, got inf at index 1"),
    ([1.0, 1e300], ValueError, r"u holds 1e\+300, beyond"),
    ([[1.0, 2.0], [3.0]], ValueError, "u must be rectangular"),
    (np.ma.masked_array([1.0, 2.0], [True, False]), TypeError, "u is a masked array"),
]


@pytest.mark.parametrize(("u", "error", "message"), BAD)
@pytest.mark.parametrize("engine", ["step", "lifted", "auto"])
def test_bad_data_is_refused_by_name(u: Any, error: Any, message: str, engine: str) -> None:
    with pytest.raises(error, match=message):
        run(system_of(3), u, engine)


def test_nothing_is_written_when_the_data_is_refused() -> None:
    u = np.ones((3, 5000))
    u[2, 4000] = np.nan
    out = np.full_like(u, 7.0)
    for engine in ENGINES:
        with pytest.raises(ValueError, match=r"nan at index \(2, 4000\)"):
            run(system_of(3), u, engine, out=out)
    assert (out == 7.0).all()


def test_wrong_states_outputs_engines_and_systems_are_refused() -> None:
    system, u = system_of(3), np.ones((2, 5))
    with pytest.raises(ValueError, match=r"state must have shape \(2, 3\), got \(3,\)"):
        run(system, u, state=np.zeros(3))
    with pytest.raises(ValueError, match="state must be finite"):
        run(system, u[0], state=np.array([0, np.nan, 0]))
    with pytest.raises(ValueError, match=r"out must have shape \(2, 5\)"):
        run(system, u, out=np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"engine must be one of 'auto', 'step'.*got 'warp'"):
        run(system, u, "warp")
    scaled = next_value(legs(3), 1.0)
    assert isinstance(scaled, ScaledSystem)
    for engine in FAST:
        with pytest.raises(ValueError, match=f"LegS.* must be one of 'auto', 'step', 'scan', got '{engine}'"):
            run(scaled, u, engine)
    for seen in (-1, 2.5, "a"):
        with pytest.raises((TypeError, ValueError), match=r"state\.seen must be"):
            run(scaled, u, state=ScaledState(np.zeros((2, 3)), seen))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a ScaledState"):
        run(scaled, u, state=np.zeros((2, 3)))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="system must be a System"):
        run("system", u)  # type: ignore[call-overload]


def test_an_unstable_system_that_overflows_is_named() -> None:
    unstable = System(A=np.array([[1e10]]), B=np.ones(1), C=np.ones(1), D=0.0)
    for engine in ("step", "lifted", "auto"):
        with pytest.raises(ValueError, match="overflowed float64"):
            run(unstable, np.ones(200), engine)
    growing = System(A=np.array([[1.01]]), B=np.ones(1), C=np.ones(1), D=0.0)
    assert usual(growing) == "step"
    np.testing.assert_allclose(run(growing, np.ones(500), "lifted")[0], run(growing, np.ones(500))[0], rtol=1e-12)


def test_out_may_be_u_itself_but_not_overlap_it() -> None:
    system, u = system_of(4), np.random.default_rng(0).standard_normal(600)
    for engine in ENGINES:
        expected, data = run(system, u, "step")[0], u.copy()
        run(system, data, engine, out=data)
        np.testing.assert_allclose(data, expected, atol=1e-12)
    buffer = np.zeros(601)
    with pytest.raises(ValueError, match="out overlaps u"):
        run(system, buffer[:600], out=buffer[1:])
    frozen = np.zeros(600)
    frozen.setflags(write=False)
    with pytest.raises(ValueError, match="out must be writeable"):
        run(system, u, out=frozen)


@pytest.mark.parametrize("engine", [*ENGINES])
def test_layout_does_not_matter(engine: str) -> None:
    system, u = system_of(5), np.random.default_rng(0).standard_normal((6, 140))
    expected = run(system, u, "step")[0]
    wide = np.zeros((12, 280))
    wide[::2, ::2] = u
    for same in (
        np.asfortranarray(u),
        wide[::2, ::2],
        u[::-1][::-1],
        u.astype(">f8"),
        np.ascontiguousarray(u[:, ::-1])[:, ::-1],
    ):
        np.testing.assert_allclose(run(system, same, engine)[0], expected, atol=1e-12)


def test_the_callers_state_is_left_alone() -> None:
    system, x = system_of(3), np.ones((2, 3))
    for engine in ENGINES:
        run(system, np.ones((2, 40)), engine, x)
    assert (x == 1).all()


def test_the_place_of_a_bad_value_is_right_beyond_the_first_piece() -> None:
    u = np.zeros(4_500_001)
    u[-1] = np.nan
    with pytest.raises(ValueError, match="nan at index 4500000"):
        run(system_of(1), u)


def test_copies_and_pickles_are_frozen_and_equal() -> None:
    import copy
    import pickle

    for thing in (legt(4, 1.0), legs(4), fout(5, 1.0), system_of(4), next_value(legs(4), 1.0)):
        for again in (pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing)):
            np.testing.assert_array_equal(again.A, thing.A)
            assert not again.A.flags.writeable
            assert type(again) is type(thing)
    assert len(repr(system_of(64))) < 100


def test_a_system_that_does_not_fit_float32_is_refused() -> None:
    big = System(A=np.eye(1), B=np.ones(1), C=np.array([1e200]), D=0.0)
    with pytest.raises(ValueError, match="does not fit into float32"):
        big.astype(np.float32)


def test_lifted_matrices_kept_stay_bounded_over_many_lengths() -> None:
    system = system_of(64)
    for length in range(20, 60):
        block_matrix(system, length)
    assert block_matrix.cache_info().currsize <= lifting.KEPT
    assert block_matrix(system, 59) is block_matrix(system, 59)


@pytest.mark.parametrize("engine", ["step", "lifted"])
def test_a_float64_state_is_not_narrowed_silently(engine: str) -> None:
    system = system_of(4, dtype=np.float32)
    with pytest.raises(TypeError, match=r"state is float64 but the system is float32; use state\.astype"):
        run(system, np.ones(9, np.float32), engine, np.ones(4))
    y, _ = run(system, np.ones(9, np.float32), engine, [1.0, 0.0, 0.0, 0.0])  # plain numbers have no width
    assert y.dtype == np.float32


@pytest.mark.parametrize("order", range(1, 10))
def test_a_compiled_step_of_any_order_is_the_plain_one(order: int) -> None:
    rng = np.random.default_rng(order)
    A, x = rng.standard_normal((order, order)), rng.standard_normal(order)
    system = System(A / (2 * np.linalg.norm(A)), rng.standard_normal(order), rng.standard_normal(order), 0.3)
    made, u = stream(system, x, 5, -1.0, 1.0), rng.standard_normal(7)
    for value in u:
        made.take(float(value))
        x = system.A @ x + system.B * value
        np.testing.assert_allclose(made.next, system.C @ x + system.D * value, rtol=0, atol=1e-15)  # sums of order 1
    np.testing.assert_allclose(made.state(), x, rtol=0, atol=1e-15)
    assert (made.count, made.last) == (12, u[-1])
    assert (made.low, made.high) == (min(-1.0, u.min()), max(1.0, u.max()))
