"""Compiled code: both builds, layouts of records, arrays it refuses, threads, processes, what importing it loads."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from prophecy import Prophecy
from prophecy.streams.kernels import entry
from prophecy.streams.rows import (
    DTYPES,
    fresh,
    fresh_times,
    rings,
)
from prophecy.streams.settings import DEFAULT
from prophecy.streams.table import between, table

ROOT = Path(__file__).parents[1]


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)


NUMBERS = """
import hashlib, numpy as np
from prophecy import Prophecy, legs, next_value
from prophecy import run as run_system
from prophecy.streams.ahead import Ahead
from prophecy.laws import flow
from prophecy.laws.kernels import entry as laws
from prophecy.laws.flow import SparseField
from prophecy.streams.kernels import entry
rng = np.random.default_rng(0)
k = np.arange(3000)
u = 3 * np.sin(2 * np.pi * k / 24) + np.cumsum(rng.normal(size=3000)) / 9
holes = np.where(rng.random(3000) < 0.1, np.nan, np.round(u, 1))
irregular = np.cumsum(rng.exponential(size=3000))
found = hashlib.sha256()
for values, times in ((u, None), (holes, None), (u, irregular), (u, k + 0.1 * rng.random(3000))):
    model = Prophecy()
    for part in model.follow(values, time=times)[:5]:
        found.update(np.nan_to_num(part, nan=-1.0))
    for rows in (model._stream.records, model._stream.rings, model._stream.clocks):
        found.update(rows)
found.update(np.nan_to_num(Ahead(8, 0.9).advance(u), nan=-1.0))
functions = [flow.Function(kind, (1.0, -0.3), 2.0, (0.1, 0.0, 0.2, 0.0)) for kind in range(flow.ROOT + 1)]
terms = flow.polynomial_terms(2, 2, functions, 2)
theta, points = 0.05 * rng.normal(size=(terms.size, 2)), rng.normal(size=(70, 2))
field = SparseField(terms, theta, theta != 0)
ends, tangent = field.tangents(flow.EIGHTH, points, 3)
system = laws.eliminate(points, np.ones((70, 2)), ends[1:], tangent[1:], np.ones(2), 0.1)
shapes = terms.rates[None], terms.shifts[None], terms.bends[None]
path = flow.paths(terms, theta[None], shapes, flow.EIGHTH, points, 10, 1e-6, 50.0, ())
gains, season = np.linspace(0.1, 0.9, 40), (12, np.array([100, 200]), 20)
smoothed = laws.smooth(u[:300], gains, gains / 9, gains, gains / 5, np.ones(40), *season)
for part in (ends, tangent, path, *system[:2], laws.substitute(system.rows, np.ones(tangent.shape[2] - 2)), *smoothed):
    found.update(np.nan_to_num(np.ascontiguousarray(part), nan=-1.0))
found.update(laws.window_products(u, 9, 20))
found.update(run_system(next_value(legs(32), 1.0), u.reshape(30, 100))[0])
print(entry.__file__.split("kernels")[1].split("entry")[0].strip("/\\\\"), found.hexdigest())
"""


def test_the_builds_for_any_processor_and_for_avx2_give_the_same_numbers_to_the_last_bit():
    wide = run(NUMBERS, PROPHECY_CPU="avx2")
    if "does not have AVX2" in wide.stderr:
        pytest.skip("a processor without AVX2")
    plain = run(NUMBERS, PROPHECY_CPU="baseline")
    assert plain.returncode == wide.returncode == 0, plain.stderr + wide.stderr
    (one, its), (other, theirs) = plain.stdout.split(), wide.stdout.split()
    assert (one, other) == ("baseline", "avx2")
    assert its == theirs


def test_a_build_that_there_is_not_is_refused():
    assert "PROPHECY_CPU must be baseline or avx2, got 'fast'" in run(NUMBERS, PROPHECY_CPU="fast").stderr


def test_the_structs_are_written_by_a_python_without_numpy_and_the_package(tmp_path):
    made, files = tmp_path / "structs.pxd", tmp_path / "structs.pxd.dep"
    code = f"import sys; sys.modules.update(numpy=None, scipy=None); sys.argv[1:] = {[str(made), str(files)]}\n"
    code += f"import runpy; runpy.run_path({str(ROOT / 'tools' / 'structs.py')!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(f"cdef struct {name}:" in made.read_text() for name in DTYPES)
    assert "record.py" in files.read_text()


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_places_every_field_where_c_does(name):
    """Numbers of eight bytes in one order leave a C compiler nothing to pad: equal sizes, which every call compares
    (below), are equal offsets."""
    at = 0
    for field, (kind, offset, *_) in DTYPES[name].fields.items():
        assert (offset, {one.itemsize for one in numbers_of(kind)}) == (at, {8}), field
        at += kind.itemsize
    assert at == DTYPES[name].itemsize


def numbers_of(kind: np.dtype) -> list[np.dtype]:
    """The numbers that a field is made of, those of records inside it included."""
    if kind.subdtype:
        return numbers_of(kind.subdtype[0])
    return [one for part in kind.fields.values() for one in numbers_of(part[0])] if kind.fields else [kind]


def made(series: int = 2) -> list[np.ndarray]:
    t = table(DEFAULT)
    return [fresh(series, t), rings(series), *fresh_times(series, None), t]


@pytest.mark.parametrize(
    ("place", "change"),
    [
        (0, lambda rows: rows[:1]),
        (0, lambda rows: rows[::-1]),
        (0, lambda rows: rows.tobytes()),
        (1, lambda rows: rows.astype(np.float32)),
        (1, lambda rows: rows[:, :-1].copy()),
        (1, lambda rows: rows.view(np.int64)),
        (2, lambda rows: np.zeros(2)),
        (3, lambda rows: rows.view("u1")),
        (4, lambda rows: rows[:0]),
    ],
)
def test_arrays_of_another_size_type_or_order_are_refused(place, change):
    rows = made()
    rows[place] = change(rows[place])
    with pytest.raises((ValueError, BufferError)):
        entry.Streams(*rows)


def test_streams_that_are_not_there_and_arrays_that_do_not_fit_are_refused_before_anything_changes():
    rows = made()
    streams, before = entry.Streams(*rows), [part.tobytes() for part in rows]
    which, values, out, passed = np.zeros(3, np.int64), np.ones(3), np.empty((3, 4)), np.empty(3)
    nothing = np.zeros(0)
    for wrong in (-1, 2):
        with pytest.raises(IndexError, match=f"stream {wrong} of 2"):
            streams.take(np.array([0, 1, wrong]), nothing, values, between(0.9), out, passed)
        with pytest.raises(IndexError, match=f"stream {wrong} of 2"):
            streams.ahead(np.array([0, 1, wrong]), values, values, between(0.9), np.empty((3, 3)))
    for given in (
        (which[:2], nothing, values, out, passed),
        (which.astype(np.int32), nothing, values, out, passed),
        (which, values[:2], values, out, passed),
        (which, nothing, values.astype(np.float32), out, passed),
        (which, nothing, values, out[:, :3], passed),
        (which, nothing, values, out.T.copy().T, passed),
        (which, nothing, values, out, passed[:2]),
    ):
        with pytest.raises((ValueError, BufferError)):
            streams.take(*given[:3], between(0.9), *given[3:])
    with pytest.raises(TypeError):
        streams.next_number((11, False, 0.5))
    assert [part.tobytes() for part in rows] == before


def test_a_copy_and_a_pickle_go_on_alone_with_the_same_numbers():
    u = np.cumsum(np.random.default_rng(1).normal(size=400))
    model = Prophecy()
    for value in u[:300].tolist():
        model.observe(value)
    others = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    wanted = model.follow(u[300:]).point
    for other in others:
        assert other.count == 300
        np.testing.assert_array_equal(other.follow(u[300:]).point, wanted)
        assert other.count == model.count == 400


def test_other_threads_run_while_a_stream_is_in_compiled_code():
    u = np.sin(np.arange(400_000) / 20)
    work = threading.Thread(target=lambda: Prophecy().observe(u))
    work.start()
    turns = 0
    while work.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 20


def test_threads_give_the_numbers_of_one():
    u = np.cumsum(np.random.default_rng(2).normal(size=(4000, 6)), axis=0)
    models = [Prophecy() for _ in range(6)]
    all_threads = [threading.Thread(target=model.observe, args=(u[:, i],)) for i, model in enumerate(models)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    together = Prophecy(6)
    together.observe(u)
    np.testing.assert_array_equal([model.predict().point for model in models], together.predict().point)


def test_importing_prophecy_and_using_it_loads_none_of_the_large_packages():
    code = "import sys, prophecy\nheavy = {'pandas', 'torch', 'narwhals', 'platformdirs'}\n"
    code += "prophecy.Prophecy().observe(1.0)\nprint(sorted(heavy & {*sys.modules}))"
    assert run(code).stdout.splitlines() == ["[]"]
