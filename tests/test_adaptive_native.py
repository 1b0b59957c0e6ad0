"""The compiled step against its plain twin, and life without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from prophecy import signals
from prophecy.adaptive import Prophecy, native
from prophecy.adaptive.bank import Bank

needs_compiler = pytest.mark.skipif(not native.available(), reason="no C compiler here")

RNG = np.random.default_rng(0)
SERIES = {
    "smooth": signals.white_signal(1.0, samples=1000)[0],
    "noisy": signals.white_signal(1.0, samples=1000)[0] + 0.01 * RNG.normal(size=1000),
    "stochastic": signals.filtered_noise(0.1, samples=1000)[0],
    "walk": np.cumsum(RNG.normal(size=1000)),
    "steps": np.repeat(RNG.normal(size=20), 50),
    "constant, then noise": np.concatenate([np.full(400, 3.0), RNG.normal(size=600)]),
    "alternation": (-1.0) ** np.arange(1000),
    "decades": RNG.normal(size=1000) * 10.0 ** RNG.uniform(-12, 12, size=1000),
}


def plain(monkeypatch: pytest.MonkeyPatch, u: np.ndarray):
    with monkeypatch.context() as patch:
        patch.setattr(native, "bind", lambda bank: None)
        model = Prophecy()
        track = model.follow(u)
        assert not model._stream.bank._in_native
        return track, model


@needs_compiler
@pytest.mark.parametrize("name", SERIES)
def test_the_compiled_step_computes_what_the_plain_one_does(monkeypatch, name):
    """To a hundredth of the error being made: the sums run in another order, and mixing weighs what rounding made."""
    u = SERIES[name]
    wanted, reference = plain(monkeypatch, u)
    model = Prophecy()
    got = model.follow(u)
    assert model._stream.bank._in_native
    usual = np.maximum((wanted.upper - wanted.mean)[1:], 1e-13 * np.abs(u).max())
    assert np.quantile(np.abs(got.mean - wanted.mean)[1:] / usual, 0.99) < 0.02
    above_rounding = usual > 1e-12 * np.abs(u).max()
    if above_rounding.mean() > 0.5:
        assert np.median(np.abs(got.mean - wanted.mean)[1:] / usual) < 1e-6
        assert np.median(np.abs(got.score - wanted.score)) < 1e-6
    for mine, its in zip(model._stream.bank.learners, reference._stream.bank.learners, strict=True):
        np.testing.assert_array_equal(mine.count, its.count)


@needs_compiler
def test_one_value_at_a_time_and_a_whole_array_and_many_series_agree_to_the_last_bit():
    u = np.stack(list(SERIES.values()))
    together = Prophecy().predict_all(u)
    for row, y in zip(u, together, strict=True):
        model = Prophecy()
        alone = []
        for value in row:
            model.observe(float(value))
            alone.append(model.predict().mean)
        np.testing.assert_array_equal(alone, y)


@needs_compiler
@pytest.mark.parametrize("length", [1, 2, 63, 64, 65, 127, 2049])
def test_pieces_of_any_length_make_the_whole(length):
    u = np.tile(SERIES["noisy"], 3)[:2500]
    whole, pieces = Prophecy(), Prophecy()
    track = whole.follow(u)
    parts = [pieces.follow(u[first : first + length]) for first in range(0, len(u), length)]
    np.testing.assert_array_equal(np.concatenate([part.upper for part in parts]), track.upper)
    np.testing.assert_array_equal(pieces._stream.context.values(), whole._stream.context.values())


@needs_compiler
def test_values_and_gaps_may_alternate_between_the_two_steps(monkeypatch):
    u = SERIES["noisy"].copy()
    u[300:305] = u[700] = np.nan
    wanted, _ = plain(monkeypatch, u)
    got = Prophecy().follow(u)
    np.testing.assert_allclose(got.mean, wanted.mean, atol=1e-4)


@needs_compiler
def test_a_factor_beyond_its_bound_is_brought_down_from_the_compiled_step_too():
    bank = Bank(1)
    wave = np.where(np.arange(40_000) % 2, 1.0, -1.0)
    bank.observe(wave[:1])
    assert bank.feed(wave[None, 1:])
    assert np.isfinite(bank.solved.factor).all()
    size = np.einsum("srnm,srnm->sr", bank.solved.factor, bank.solved.factor) * bank.solved.power
    assert np.all(size < 1e17)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_sensor_that_sticks_for_long_leaves_intervals_as_they_were(monkeypatch, compiled):
    if not compiled:
        monkeypatch.setattr(native, "_library", lambda: None)
    rng, stuck = np.random.default_rng(1001), 60_000 if compiled else 6000
    u = np.concatenate([rng.normal(size=500), np.zeros(stuck), rng.normal(size=800)])
    track = Prophecy().follow(u)
    held = (track.lower[:-1] <= u[1:]) & (u[1:] <= track.upper[:-1])
    assert 0.86 < held[-700:].mean() < 0.94
    assert (track.score[-700:] > 2.0).mean() < 0.03


def test_no_code_is_loaded_from_where_others_may_write(tmp_path):
    if not hasattr(os, "getuid") or not native.available():
        pytest.skip("no compiled step here")
    code = "from prophecy.adaptive import native; print(native.available())"

    def available():
        environment = {**os.environ, "PROPHECY_CACHE": str(tmp_path)}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == "True\n"

    assert available()
    (made,) = (tmp_path / "native").iterdir()
    assert [path.stat().st_mode & 0o777 for path in (made.parent, made)] == [0o700, 0o700]
    for path in (made, made.parent):
        path.chmod(0o777)
        assert not available()
        path.chmod(0o700)
    assert available()


def test_everything_works_without_a_compiler(tmp_path):
    code = "from prophecy.adaptive import Prophecy, native; m = Prophecy(); m.observe([1.0, 2.0, 3.0, 4.0]); "
    code += "print(native.available(), round(m.predict().mean, 6))"
    for settings in ({"PROPHECY_NATIVE": "0"}, {"PATH": "", "CC": "no-such-compiler", "PROPHECY_CACHE": str(tmp_path)}):
        environment = {**os.environ, **settings}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split()[0] == "False", done
        assert float(done.stdout.split()[1]) > 4.0
