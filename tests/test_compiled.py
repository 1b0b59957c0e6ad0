"""Compiling once per machine: what is loaded when, the cache and its enemies, forks, many processes, no C compiler."""

from __future__ import annotations

import ast
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import prophecy
from prophecy import Prophecy
from prophecy._compiled import sources

TINY = """
from prophecy._compiled import kernel
from other import FACTOR

@kernel
def times(x):
    return FACTOR * x
"""
ASK = "from prophecy import _notices; _notices.to_stderr(); import tiny; print(tiny.times(2.0))"


def asking(code: Path):
    """A small compiled function in a folder of its own, asked in a fresh process; was it compiled, and what it said."""
    code.mkdir()
    (code / "tiny.py").write_text(TINY)
    (code / "other.py").write_text("FACTOR = 3.0\n")
    path = os.pathsep.join([str(code), *sys.path])

    said: list[str] = []

    def ask(cache: Path, code: str = ASK) -> tuple[bool, float]:
        environment = {**os.environ, "PROPHECY_QUIET": "", "PROPHECY_CACHE": str(cache), "PYTHONPATH": path}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("compiling") <= 1
        said.append(done.stderr)
        return "compiling the predictor for this machine" in done.stderr, float(done.stdout)

    ask.said = said
    return ask


@pytest.fixture
def tiny(tmp_path):
    return asking(tmp_path / "code")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The same, with a cache that was filled once; a test gets a copy of it, at a path that it names."""
    folder = tmp_path_factory.mktemp("compiled")
    ask = asking(folder / "code")
    assert ask(folder / "cache") == (True, 6.0)

    def copied(cache: Path):
        shutil.copytree(folder / "cache", cache)
        return ask

    return copied


def cached(folder: Path, ending: str) -> Path:
    (found,) = folder.rglob(f"*{ending}")
    return found


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_prophecy_loads_none_of_the_large_packages_and_using_it_loads_numba_alone():
    code = "import sys, prophecy\nheavy = {'numba', 'pandas', 'torch', 'narwhals', 'platformdirs'}\n"
    code += "print(sorted(heavy & {*sys.modules}))\nprophecy.Prophecy\nprint(sorted(heavy & {*sys.modules}))\n"
    code += "prophecy.Prophecy().observe(1.0)\nprint(sorted(heavy & {*sys.modules}))"
    assert run(code).splitlines() == ["[]", "[]", "['numba']"]


def test_the_second_start_compiles_nothing(tiny, tmp_path):
    assert tiny(tmp_path / "cache") == (True, 6.0)
    assert tiny(tmp_path / "cache") == (False, 6.0)
    made = cached(tmp_path / "cache", ".nbc")
    assert made.parent.stat().st_mode & 0o077 == 0 or made.parent.parent.stat().st_mode & 0o077 == 0


def test_a_change_in_another_file_is_noticed(tiny, tmp_path):
    """Numba looks at the file of the function alone; constants come from others."""
    assert tiny(tmp_path / "cache") == (True, 6.0)
    (tmp_path / "code" / "other.py").write_text("FACTOR = 5.0\n")
    assert tiny(tmp_path / "cache") == (True, 10.0)


def test_a_change_two_imports_away_is_noticed_and_one_in_a_file_nobody_imports_is_not(tiny, tmp_path):
    code = tmp_path / "code"
    (code / "other.py").write_text("from deeper import (\n    FACTOR,  # (thrice\n)\n")
    (code / "deeper.py").write_text("FACTOR = 3.0\n")
    (code / "apart.py").write_text("import tiny\n")
    assert tiny(tmp_path / "cache") == (True, 6.0)
    (code / "apart.py").write_text("import tiny, other\n")
    assert tiny(tmp_path / "cache") == (False, 6.0)
    (code / "deeper.py").write_text("FACTOR = 4.0\n")
    assert tiny(tmp_path / "cache") == (True, 8.0)


def imported_by_the_parser(file: Path, root: Path) -> set[Path]:
    """What `sources` reads from the text, from Python's own syntax tree: statements of the module's own level."""
    found = {file}
    for node in ast.parse(file.read_text()).body:
        package = node.module if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            whole = root.joinpath(*f"{package}.{alias.name}".strip(".").split("."))
            places = [whole, root.joinpath(*package.split("."))] if package else [whole]
            files = [end for place in places for end in (place.with_suffix(".py"), place / "__init__.py")]
            found |= {next(path for path in files if path.is_file())} if any(map(Path.is_file, files)) else set()
    return found


def test_the_sources_of_every_module_are_those_that_its_syntax_tree_imports():
    root = Path(prophecy.__file__).parents[1]
    modules = sorted((root / "prophecy").rglob("*.py"))
    direct = {file: imported_by_the_parser(file, root) for file in modules}
    assert any(len(files) > 5 for files in direct.values())
    for file in modules:
        whole = {file}
        while (more := set().union(*(direct[path] for path in whole))) != whole:
            whole = more
        assert sources(file, root) == sorted(whole)


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["empty", "truncated", "flipped", "noise"])
def test_a_damaged_cache_costs_the_compilation_and_nothing_else(compiled, tmp_path, ending, damage):
    """Entry 2 of the defects: a truncated library killed the interpreter, an empty one was believed for ever."""
    tiny = compiled(tmp_path / "cache")
    path = cached(tmp_path / "cache", ending)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    changed = {"empty": b"", "truncated": raw[: len(raw) // 2], "flipped": raw, "noise": os.urandom(5000)}
    path.write_bytes(bytes(changed[damage]))
    assert tiny(tmp_path / "cache") == (True, 6.0)


def test_a_cache_that_cannot_be_written_costs_the_compilation(tiny, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    for _ in range(2):
        assert tiny(tmp_path / "file" / "cache") == (True, 6.0)
        assert "the cache folder cannot be written" in tiny.said[-1]
        assert "once" not in tiny.said[-1]


def test_worker_processes_do_not_repeat_it(tiny, tmp_path):
    code = "import tiny, multiprocessing as m\nif __name__ == '__main__':\n"
    code += "    with m.get_context('fork').Pool(2) as pool: print(pool.map(tiny.times, [2.0, 3.0, 4.0])[0])"
    assert tiny(tmp_path / "cache", code) == (False, 6.0)


def test_a_python_session_is_told_once_that_it_waits_for_the_compiler_and_may_silence_it(tiny, tmp_path):
    plain = "import tiny; tiny.times(2); print(tiny.times(2.0))"
    assert tiny(tmp_path / "cache", plain) == (True, 6.0)
    assert "compiling the predictor for this machine, once" in tiny.said[-1]
    assert tiny(tmp_path / "cache", plain) == (False, 6.0)
    silenced = "import logging; logging.getLogger('prophecy').setLevel('ERROR'); " + plain
    assert tiny(tmp_path / "other", silenced) == (False, 6.0)
    assert tiny.said[-1] == ""


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions are of another kind here")
@pytest.mark.parametrize("where", ["folder", "parent", "above"])
def test_no_code_is_loaded_from_where_others_may_write(compiled, tmp_path, where):
    """Entry 2 of the defects. Cache files are pickles: one planted there must not even be opened."""
    cache = tmp_path / "above" / "cache"
    tiny = compiled(cache)
    assert not tiny(cache)[0]
    index = cached(cache, ".nbi")

    class Planted:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "planted code ran"),)

    index.write_bytes(pickle.dumps(Planted()))
    place = {"folder": index.parents[1], "parent": cache, "above": tmp_path / "above"}[where]
    assert place.is_relative_to(tmp_path / "above")
    place.chmod(0o777)
    assert tiny(cache) == (True, 6.0)
    assert not (tmp_path / "planted code ran").exists()


def test_twenty_processes_may_start_at_once_with_an_empty_cache(tmp_path):
    (tmp_path / "tiny.py").write_text(TINY)
    (tmp_path / "other.py").write_text("FACTOR = 3.0\n")
    environment = {
        **os.environ,
        "PROPHECY_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }
    started = [
        subprocess.Popen([sys.executable, "-c", ASK], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(20)
    ]
    said = [process.communicate() for process in started]
    assert [out for out, _ in said] == [b"6.0\n"] * 20, [err for out, err in said if out != b"6.0\n"][:1]
    assert len(list((tmp_path / "cache").rglob("*.nbi"))) == 1
    assert not list((tmp_path / "cache").rglob("*.tmp.*"))


def test_several_threads_may_compile_at_once(tiny, tmp_path):
    code = "import threading, tiny\nsaid = []\n"
    code += "all = [threading.Thread(target=lambda: said.append(tiny.times(2.0))) for _ in range(6)]\n"
    code += "[t.start() for t in all]; [t.join() for t in all]; assert said == [6.0] * 6, said; print(6.0)"
    assert tiny(tmp_path / "cache", code)[1] == 6.0


FORKED = """
import multiprocessing as mp, numpy as np, prophecy
u = np.cumsum(np.random.default_rng(0).normal(size=(8, 6000)), axis=1)
def predicted(k):
    return prophecy.Prophecy().predict_all(u[k:])[:, -50:]
if __name__ == "__main__":
    here = predicted(0)  # threads have run, and code is loaded, before the fork
    for method in ("fork", "spawn"):
        if method in mp.get_all_start_methods():
            with mp.get_context(method).Pool(2) as pool:
                there = pool.map(predicted, [0, 3])
            assert (there[0] == here).all() and (there[1] == here[3:]).all(), method
    print("the same")
"""


def test_forked_and_spawned_processes_predict_the_same(tmp_path):
    (tmp_path / "forked.py").write_text(FORKED)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, tmp_path / "forked.py"], env=environment, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "the same\n"), done.stderr


def test_a_machine_without_a_c_compiler_gives_the_same_numbers():
    """Entry 28 of the defects goes with it: PROPHECY_NATIVE is gone, whatever it is set to."""
    u = np.cumsum(np.random.default_rng(7).normal(size=300))
    code = "import numpy as np, prophecy; u = np.cumsum(np.random.default_rng(7).normal(size=300));"
    code += "print(prophecy.Prophecy().predict_all(u).tobytes().hex())"
    wanted = Prophecy().predict_all(u).tobytes().hex()
    for native in ("0", "false", "1"):
        assert run(code, PATH="", CC="no-such-compiler", PROPHECY_NATIVE=native).strip() == wanted


def test_the_command_line_says_once_that_it_compiles(tmp_path):
    """By predictions of two rows ahead, which compile less than those of the next."""
    np.save(tmp_path / "u.npy", np.sin(np.arange(50) / 5))
    code = f"import sys; sys.argv = ['prophecy', 'predict', {str(tmp_path / 'u.npy')!r}, '-H', '2']; "
    code += "from prophecy import cli; cli.main()"
    environment = {**os.environ, "PROPHECY_CACHE": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["PROPHECY_QUIET"] = ""
    for first in (True, False):
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("prophecy: compiling the predictor for this machine, once") == first


def test_the_step_as_plain_python_gives_the_numbers_of_the_compiled_one():
    """With Numba's compiler switched off fields of records are attributes: what mutation runs rely on."""
    code = (
        "import json, sys, numpy as np; from prophecy import Prophecy\n"
        "u = np.sin(np.arange(70) / 3) + 0.1 * np.cos(np.arange(70.0) ** 2); u[40:43] = np.nan\n"
        "track = Prophecy().follow(u)\n"
        "json.dump([np.nan_to_num(part, posinf=1e9).tolist() for part in track[:5]], sys.stdout)"
    )
    said = []
    for plain in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": plain}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said.append(np.array(json.loads(done.stdout)))
    np.testing.assert_allclose(said[1], said[0], rtol=1e-9, atol=1e-12)
    assert len(np.unique(said[0][0])) > 60
